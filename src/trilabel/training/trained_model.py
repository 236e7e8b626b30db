"""A classifier from its description and its weights, which may not belong together."""

from pathlib import Path

from trilabel.errors import TrilabelError, one_line
from trilabel.models import Classifier, create_model
from trilabel.training import checkpoint
from trilabel.training.description import RunDescription


def load_classifier(description: RunDescription, described: Path, weights: Path) -> Classifier:
    """The described model with the weights of a checkpoint; `described` is the file that the description is from."""
    tensors, _ = checkpoint.load(weights, "model.")
    classes = len(description.classes)
    if classes > weights.stat().st_size:  # before a head is made for them, as each has a weight of its own
        raise TrilabelError(f"{weights}: too small for the {classes:,} classes in {described.name}; restore both")
    try:
        classifier = create_model(description.config, classes, description.image_size)
    except Exception as error:  # timm and torch raise many kinds for a model that cannot be
        raise TrilabelError(
            f"{described}: the model cannot be made ({one_line(error)}); restore it or train again"
        ) from error
    try:
        classifier.load_state_dict(checkpoint.part("model", tensors))
    except RuntimeError as error:
        raise TrilabelError(
            f"{weights}: does not fit the model in {described.name} ({str(error).splitlines()[-1].strip()}); restore "
            "both files, or train again"
        ) from error
    return classifier
