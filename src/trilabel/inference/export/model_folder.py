"""A model folder: what a model needs and nothing of its training data, ready for a model hub.

config.json (classes, image size, components), model.safetensors, decisions.json (calibration and thresholds), and
README.md, the model card.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError, system_error
from trilabel.files import replacing, write_text
from trilabel.models import Classifier
from trilabel.training import checkpoint
from trilabel.training.decisions import Decisions
from trilabel.training.description import RunDescription, read_description, write_description
from trilabel.training.trained_model import load_classifier

DESCRIPTION, WEIGHTS, DECISIONS, CARD = "config.json", "model.safetensors", "decisions.json", "README.md"


def is_model_folder(path: Path) -> bool:
    """Whether this is a folder that `write_folder` wrote."""
    return all((path / name).is_file() for name in (DESCRIPTION, WEIGHTS))


def write_folder(
    folder: Path, classifier: Classifier, description: RunDescription, decisions: Decisions | None, card: str
) -> None:
    """Writes the files of a model; other files in the folder stay, as it may be a clone of a hub's repository."""
    config = Config.from_json(without_paths(description.config.to_json()))
    about = RunDescription(config, description.classes, description.image_size, {})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / WEIGHTS).unlink(missing_ok=True)  # until it is there again, this is no model
        (folder / DECISIONS).unlink(missing_ok=True)
        write_description(folder / DESCRIPTION, about)
        if decisions is not None:
            decisions.save(folder / DECISIONS)
        write_text(folder / CARD, card)
        with replacing(folder / WEIGHTS) as temporary:
            temporary.write_bytes(checkpoint.to_bytes(checkpoint.prefixed("model", classifier.state_dict()), {}))
    except OSError as error:
        raise system_error(error, folder, "export again") from error


def read_folder(folder: Path) -> tuple[Classifier, RunDescription, Decisions | None]:
    """What `write_folder` wrote."""
    if not is_model_folder(folder):
        raise TrilabelError(f"{folder}: not a model folder (no {DESCRIPTION} and {WEIGHTS} in it); export it again")
    description = read_description(folder / DESCRIPTION)
    classifier = load_classifier(description, folder / DESCRIPTION, folder / WEIGHTS)
    rules = folder / DECISIONS
    return classifier, description, Decisions.load(rules, len(description.classes)) if rules.is_file() else None


def without_paths(value: Any) -> Any:
    """The same with nothing but the last part of every path: folders of this machine are nobody's business.

    >>> without_paths({"weights": "/home/me/resnet50.safetensors", "lr": 0.1, "teachers": ["runs/a"]})
    {'weights': 'resnet50.safetensors', 'lr': 0.1, 'teachers': ['a']}
    """
    if isinstance(value, str):
        return re.split(r"[/\\]", value.rstrip("/\\"))[-1] if re.search(r"[/\\]", value) else value
    if isinstance(value, Mapping):
        return {key: without_paths(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(part) for part in value]
    return value
