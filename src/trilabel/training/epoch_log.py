"""The numbers of each epoch for other programs, on request: a CSV table, TensorBoard, Weights & Biases.

metrics.jsonl has all of it already; these are copies, which a run can do without.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.files import write_csv
from trilabel.training.record import EpochRecord
from trilabel.training.run_folder import RunFolder

EpochLog = Callable[[EpochRecord, int], None]  # takes the record of an epoch and its number, counted over all stages

_NEEDS = {"tensorboard": "tensorboard", "wandb": "wandb"}


def check_log(config: Config) -> None:
    """Refuses a log whose package is not installed, before anything slow begins."""
    if (package := _NEEDS.get(config.log)) is not None:
        try:
            __import__(package)
        except ImportError as error:
            raise TrilabelError(f"--log {config.log} needs the package {package}: pip install {package}") from error


def open_log(config: Config, folder: RunFolder) -> EpochLog:
    """What notes each epoch as the configuration asks for it."""
    match config.log:
        case "csv":
            return lambda record, number: _write_table(folder)
        case "tensorboard":
            return _tensorboard(folder.path / "tensorboard")
        case "wandb":
            return _wandb(config, folder.path)
        case "none":
            return lambda record, number: None


def numbers_of(record: EpochRecord) -> dict[str, float]:
    """The numbers of an epoch by name; those of validation begin with "val/", further parts of the loss with "loss/".

    >>> numbers_of(EpochRecord("linear", 1, 0.5, lr=0.1, val={"mAP": 0.7, "exact": None}))
    {'epoch': 1, 'loss': 0.5, 'lr': 0.1, 'seconds': 0.0, 'val/mAP': 0.7}
    """
    found: dict[str, Any] = {"epoch": record.epoch, "loss": record.loss, "lr": record.lr, "seconds": record.seconds}
    found |= {f"loss/{name}": value for name, value in record.parts.items()}
    found |= {f"val/{name}": value for name, value in record.val.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def _write_table(folder: RunFolder) -> None:
    """The whole table anew: after a resumed run it has no line twice."""
    history = folder.read_history()
    rows: list[Mapping[str, float]] = [numbers_of(record) for record in history]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[str(row.get(name, "")) for name in names] for row in rows]
    lines = [[record.stage, *row] for record, row in zip(history, cells, strict=True)]
    write_csv(folder.path / "metrics.csv", ["stage", *names], lines)


def _tensorboard(path: Path) -> EpochLog:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(path))

    def log(record: EpochRecord, number: int) -> None:
        for name, value in numbers_of(record).items():
            writer.add_scalar(f"{record.stage}/{name}", value, number)
        writer.flush()

    return log


def _wandb(config: Config, path: Path) -> EpochLog:
    import wandb

    run = wandb.init(
        project="trilabel", name=path.name, dir=str(path), id=path.name, resume="allow", config=config.to_json()
    )

    def log(record: EpochRecord, number: int) -> None:
        run.log({f"{record.stage}/{name}": value for name, value in numbers_of(record).items()}, step=number)

    return log
