"""`trilabel.load`: a trained model from a run, a model folder, or an exported file."""

from functools import partial
from pathlib import Path

import torch

from trilabel.inference.export.model_folder import DECISIONS, WEIGHTS, is_model_folder, read_folder
from trilabel.inference.export.onnx_file import open_onnx
from trilabel.inference.export.pt2_file import open_pt2
from trilabel.inference.predictor import Model
from trilabel.inference.trust import unfinished
from trilabel.models.device import choose_device
from trilabel.plugin_files import Files, listed
from trilabel.plugin_files import trust as trust_files
from trilabel.training.decisions import Decisions
from trilabel.training.run_folder import Run, RunFolder

_EXPORTED = (".onnx", ".pt2")


def load(run: str | Path | Run, device: str = "auto", trust: Files = ()) -> Model:
    """The model of a run's best epoch; or of a model folder, an .onnx or a .pt2 file that `export` wrote.

    trust: files that may run code: Python files of your own that hold the head of the run, if it is not one of ours,
        and .pt2 files. A run folder itself never runs a file.
    """
    trust_files(file for file in listed(trust) if file.suffix not in _EXPORTED)
    path = run.folder if isinstance(run, Run) else Path(run)
    where = choose_device(device)
    if path.suffix in _EXPORTED and path.is_file():
        model = _load_file(path, where, device != "auto", trust)
    elif is_model_folder(path):
        classifier, about, decisions = read_folder(path)
        model = Model(classifier, about.classes, where, about.config, str(path), decisions)
        model.files = tuple(path / name for name in (WEIGHTS, DECISIONS) if (path / name).is_file())
    else:
        model = _load_run(RunFolder(path), where)
    model.again = partial(_load_again, path, where.type, trust)
    return model


def _load_run(folder: RunFolder, device: torch.device) -> Model:
    classifier, about = folder.classifier()
    decisions = Decisions.load(folder.decisions, len(about.classes)) if folder.decisions.is_file() else None
    model = Model(classifier, about.classes, device, about.config, str(folder.path), decisions)
    model.annotations, model.seen_images = folder.annotations, folder.seen_images
    model.unfinished = lambda: unfinished(about.config, folder.read_history(), folder.best_record())
    model.files = tuple(file for file in (folder.best, folder.decisions) if file.is_file())
    return model


def _load_file(path: Path, device: torch.device, asked: bool, trust: Files) -> Model:
    if path.suffix == ".onnx":
        network, about = open_onnx(path, device, asked)
        device = torch.device("cpu")  # onnxruntime takes arrays from there
    else:
        network, about = open_pt2(path, device, trust)
    model = Model(network, about.classes, device, None, str(path), about.decisions)
    model.files = (path,)
    return model


def _load_again(path: Path, device: str, trust: Files, rank: int) -> Model:
    """In one of several processes, each of which has a GPU of its own."""
    return load(path, f"{device}:{rank}" if device == "cuda" else device, trust)
