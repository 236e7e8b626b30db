"""The commands that are killed, and what a person runs after a kill."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reliability.material import SIZE

_QUICK = ("--image-size", str(SIZE), "--workers", "0", "--batch-size", "8", "--lr", "0.003", "--cache", "none")
_EACH_STEP = ("--save-minutes", "0")  # a checkpoint after every step, so that runs resume inside epochs


@dataclass(frozen=True)
class Case:
    """A command; DATA, RUN and OUT stand for the folder of the data, a trained run, and what the command writes."""

    name: str
    words: tuple[str, ...]
    kind: Literal["train", "compare", "write"]
    suffix: str = ""  # of what it writes
    processes: int = 1
    overwrites: bool = False  # a finished run lies there before

    def arguments(self, data: Path, run: Path, out: Path) -> list[str]:
        """The command line."""
        places = {"DATA": str(data), "RUN": str(run), "OUT": str(out)}
        words = [*self.words, "--out", "OUT", *(["--overwrite"] if self.overwrites else [])]
        for name, place in places.items():
            words = [word.replace(name, place) for word in words]
        return words

    def again(self, arguments: list[str], out: Path, reference: Path) -> list[list[str]]:
        """What a person tries after a kill, one after the other, until one of them works."""
        config = out / "config.json"
        if self.overwrites and (not config.exists() or config.read_bytes() != (reference / config.name).read_bytes()):
            return [arguments]  # the run to replace is still there, or not even a new one
        if self.kind == "train":
            resumed = ["train", "--resume", str(out)]
            return [resumed, arguments] if config.exists() else [arguments, resumed]
        if self.words[0] == "predict":
            return [[*arguments, "--resume"]]
        return [arguments] if self.kind == "compare" or not out.exists() else [[*arguments, "--overwrite"]]


def _train(name: str, *words: str, processes: int = 1, overwrites: bool = False) -> Case:
    more = ("--devices", str(processes), "--device", "cpu") if processes > 1 else ()
    words = ("train", "DATA/labels.csv", *_QUICK, *words, *more)
    return Case(name, words, "train", processes=processes, overwrites=overwrites)


def _write(name: str, suffix: str, *words: str) -> Case:
    return Case(name, words, "write", suffix)


CASES = (
    _train("fine-tune", "--epochs", "3"),
    _train("linear", "--stages", "linear", "--epochs", "5"),
    _train("linear-then-fine-tune", "--stages", "linear-then-fine-tune", "--linear-epochs", "2", "--epochs", "2"),
    _train("relabelling", "--epochs", "3", "--relabel", "score", "--set", "relabel.threshold=0.2", *_EACH_STEP),
    _train("warm-up (CSL)", "--epochs", "2", "--method", "selective", "--set", "prior_epochs=2", *_EACH_STEP),
    _train("EMA, accumulate", "--epochs", "2", "--ema", "0.9", "--accumulate", "2", *_EACH_STEP),
    _train("memory: ROLE", "--epochs", "2", "--method", "role", *_EACH_STEP),
    _train("memory: IMCL", "--epochs", "2", "--method", "imcl", "--set", "memory=16", "warm_up=0", *_EACH_STEP),
    _train("memory: large-loss", "--epochs", "3", "--method", "large-loss", "--set", "mode=correct-for-good",
           "start=1"),
    _train("self-training", "--epochs", "2", "--method", "self-training", "--head", "saliency", *_EACH_STEP),
    _train("overwriting a run", "--epochs", "2", overwrites=True),
    _train("two processes", "--epochs", "2", *_EACH_STEP, processes=2),
    _train("two processes, CSL", "--epochs", "2", "--method", "selective", "--set", "prior_epochs=1", *_EACH_STEP,
           processes=2),
    _write("convert to a file", ".trilabel", "data", "convert", "DATA/labels.csv"),
    _write("convert to a table", ".csv", "data", "convert", "DATA/labels.csv", "--layout", "long"),
    _write("convert to a folder", "", "data", "convert", "DATA/labels.csv", "--to", "huggingface"),
    _write("merge", ".csv", "data", "merge", "DATA/labels.csv", "DATA/other.csv", "--conflict", "unknown"),
    _write("predict", ".csv", "predict", "RUN", "DATA/photos", "--workers", "0", "--batch-size", "8"),
    _write("predict as JSON", ".json", "predict", "RUN", "DATA/photos", "--workers", "0", "--batch-size", "8"),
    _write("export to a folder", "", "export", "RUN"),
    Case(
        "compare",
        ("compare", "DATA/labels.csv", "--recipes", "cole2021-an", "kim2022-ll-ct", "--labels", "keep-share=0.5",
         "--search", "lr=0.001,0.003", "--budget", "2", "--epochs", "2", *_QUICK[:-4], *_EACH_STEP),
        "compare",
    ),
)  # fmt: skip
