"""Which file of a run folder holds what."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunFiles:
    """The names of the files of a run."""

    path: Path
    part_of: Path | None = None  # the folder of the run that this is a first round of

    @property
    def to_resume(self) -> Path:
        """The folder to name where a stopped run is to be resumed."""
        return self.part_of or self.path

    @property
    def last(self) -> Path:
        """Everything needed to resume."""
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        """The model of the best epoch."""
        return self.path / "best.safetensors"

    def best_of(self, stage: str) -> Path:
        """The model of the best epoch of a stage that is not the last."""
        return self.path / f"best-{stage}.safetensors"

    @property
    def start(self) -> Path:
        """The model as it was before the warm-up."""
        return self.path / "start.safetensors"

    @property
    def weak_labels(self) -> Path:
        """A table of the labels that the method permanently assigned to unknown ones, as of the best epoch."""
        return self.path / "weak_labels.csv"

    @property
    def label_graph(self) -> Path:
        """A table of the relations between labels that the method learned, as of the best epoch."""
        return self.path / "label_graph.csv"

    @property
    def labels(self) -> Path:
        """The labels that the run learned from."""
        return self.path / "labels.npz"

    @property
    def decisions(self) -> Path:
        """How logits become probabilities, and from which one a class counts as present."""
        return self.path / "decisions.json"

    @property
    def out_of_fold(self) -> Path:
        """Scores of the training images by models that did not learn from them."""
        return self.path / "out_of_fold.npy"

    @property
    def out_of_fold_record(self) -> Path:
        """The record of the best epoch with metrics of these scores."""
        return self.path / "out_of_fold.json"

    @property
    def scores(self) -> Path:
        """Scores of all images of a data set."""
        return self.path / "scores.npy"

    @property
    def scores_done(self) -> Path:
        """Of which data set these are, and how many of its images are scored."""
        return self.path / "scores.json"

    @property
    def folds(self) -> Path:
        """Where models are trained on parts of the images."""
        return self.path / "folds"

    def fold_scores(self, number: int, of: int) -> Path:
        """Scores of the part of the images that such a model did not learn from."""
        return self.folds / f"{number}-of-{of}.npy"

    @property
    def validation_images(self) -> Path:
        """The ids of the images that choose the epoch: a list, one per line."""
        return self.path / "validation_images.json"

    @property
    def validation_scores(self) -> Path:
        """Scores of these images by the best model; of those that could be read."""
        return self.path / "validation_scores.npy"

    @property
    def validation_labels(self) -> Path:
        """The labels of the same images."""
        return self.path / "validation_labels.npz"

    @property
    def report(self) -> Path:
        """The page that shows all of it."""
        return self.path / "report.html"

    @property
    def completion(self) -> Path:
        """What completing the labels of a data set decided, and what it promises."""
        return self.path / "completion.json"

    @property
    def mistakes(self) -> Path:
        """Known labels that scores contradict, the most suspicious first."""
        return self.path / "mistakes.csv"

    @property
    def finished(self) -> Path:
        """There once a run has come to its end: how many epochs it has."""
        return self.path / "finished.json"

    @property
    def left_out(self) -> Path:
        """What is wrong with each image that could not be opened, one per line."""
        return self.path / "left_out.txt"

    @property
    def metrics(self) -> Path:
        """The records of all epochs, one per line."""
        return self.path / "metrics.jsonl"

    @property
    def targets(self) -> Path:
        """What the first round believes of the unknown labels, from which the last round learns."""
        return self.path / "targets.npz"

    @property
    def targets_summary(self) -> Path:
        """Numbers about these targets."""
        return self.path / "targets.json"
