"""Everything that one process of a run works with, made once before the loop starts."""

import hashlib
import platform
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import nn

from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource, open_images
from trilabel.data.left_out import log_left_out
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods import METHODS, Method
from trilabel.models import Classifier, create_model, with_synced_batch_norm
from trilabel.models.scoring import Scores
from trilabel.training.agreement import Agreement
from trilabel.training.batches import BatchMaker, LabelReader, ViewMaker
from trilabel.training.checks import check_components, check_folds, check_memory, slow_head, too_short
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.distributed import Processes
from trilabel.training.epoch_log import EpochLog, open_log
from trilabel.training.relabelling import Relabelling
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import HELD_OUT, TrainingSplit, check_validation, validation_truth
from trilabel.training.stages import Stage, plan_stages
from trilabel.training.state import State

Member = tuple[nn.Module, Views]  # another run's model for an ensemble, and how it wants its images


@dataclass
class Job:
    """The parts of a run, in one process, which the loop's functions pass around.

    As it trains, only `state` and the last seven fields change.
    """

    fabric: Fabric
    processes: Processes
    config: Config
    folder: RunFolder
    model: Classifier
    method: Method[Any]
    images: ImageSource
    labels: Labels  # of `images`
    truth: Labels | None  # the same with nothing hidden, where labels were hidden on purpose
    val_images: ImageSource
    val_labels: Labels
    views: ViewMaker
    label_reader: LabelReader
    truth_reader: LabelReader | None
    relabelling: Relabelling | None
    members: list[Member]
    state: State
    agreement: Agreement
    left_out: list[str]  # what is wrong with each image that could not be opened
    signals: list[int] = field(default_factory=list)  # that asked the run to stop
    saved_at: float = field(default_factory=time.monotonic)
    features: tuple[ImageSource, ImageSource] | None = None  # of training and validation images, in linear stages
    reach: float = 1.0  # how far a linear stage that fits its head lets weights move
    best_scores: Scores | None = None  # of the validation images by the best epoch of the stage, if this process saw it
    told_long: bool = False  # whether it was said that the run takes hours
    recorded: bool = False  # whether the backbone's passes are replayed as CUDA graphs

    @cached_property
    def stages(self) -> list[Stage]:
        """All stages of the run."""
        return plan_stages(self.config, self.method.warm_up_epochs)

    @cached_property
    def epoch_log(self) -> EpochLog:
        """Notes each epoch for other programs."""
        return open_log(self.config, self.folder)

    @cached_property
    def make_batch(self) -> BatchMaker:
        """Makes the batches of training."""
        size, rank = self.images.size, self.processes.rank
        return BatchMaker(self.config, self.views, self.label_reader, self.relabelling, size, rank)

    @cached_property
    def val_truth(self) -> Labels | NDArray[np.int8]:
        """What validation scores are compared with."""
        return validation_truth(self.val_labels)

    @property
    def scoring_batch_size(self) -> int:
        """Images; without gradients more of them fit than in training, and a GPU wants many."""
        return (4 if self.fabric.device.type == "cuda" else 2) * self.config.batch_size

    def best_file(self, stage: int) -> Path:
        """Where the best model of a stage is kept."""
        final = stage + 1 == len(self.stages)
        return self.folder.best if final else self.folder.best_of(self.stages[stage].name)


def prepare(fabric: Fabric, split: TrainingSplit, config: Config, folder: RunFolder, resumes: bool) -> Job:
    """Makes the parts of a run. What cannot work is refused before anything slow.

    resumes: the run has a checkpoint, which holds its weights and what its head read off labels and files.
    """
    processes, device, dataset = Processes(fabric), fabric.device, split.dataset
    settings = check_components(config, split.labels, resumes, dataset.labels[split.val])
    if processes.is_first:
        _log_choices(config, settings, dataset)
    torch.manual_seed(config.seed)
    weights, read_off = (None, None) if resumes else (config.weights, split.labels)
    model = create_model(config, len(dataset.classes), config.image_size, weights, read_off)
    kind = METHODS[config.method]
    features = method_features(kind, model)
    check_memory(config, settings, split.labels, features, device, processes.on_this_machine)

    def create_method(train: NDArray[np.int64], val: NDArray[np.int64]) -> Method[Any]:
        return kind(settings, dataset.labels[train], features, dataset.labels[val])

    method = create_method(split.train, split.val)  # before the images, so that a table it cannot read is refused early
    images, train, unread = _open(processes, dataset, split.train, config, model.backbone.image_size)
    val_images, val, unread_val = _open(processes, dataset, split.val, config, model.backbone.image_size)
    left_out = [*unread, *unread_val]
    if processes.is_first:
        log_left_out(left_out, len(split.train) + len(split.val), folder.left_out)
    if len(train) < len(split.train) or len(val) < len(split.val):
        check_folds(config, len(train))
        method = create_method(train, val)
    labels, val_labels = dataset.labels[train], dataset.labels[val]
    _refuse_other_files(processes, train, val)
    if processes.is_first:
        check_validation(val_labels, config.select)
    for note in method.notes:
        log.info(note)
    model = _on_device(fabric, model, config)
    fabric.to_device(method)
    relabelling, members = _relabelling(fabric, config, labels, model)
    truth = None if dataset.truth is None else dataset.truth[train]
    diagnosis = fabric.to_device(Diagnosis(labels, truth))
    return Job(
        fabric=fabric,
        processes=processes,
        config=config,
        folder=folder,
        model=model,
        method=method,
        images=images,
        labels=labels,
        truth=truth,
        val_images=val_images,
        val_labels=val_labels,
        views=ViewMaker(config, model.backbone),
        label_reader=LabelReader(labels, device),
        truth_reader=None if truth is None else LabelReader(truth, device),
        relabelling=relabelling,
        members=members,
        state=State(model, method, relabelling, diagnosis, device),
        agreement=Agreement(processes),
        left_out=left_out,
    )


def method_features(kind: type[Method[Any]], model: Classifier) -> int:
    """The size of the features that a method is told of: those of classes, if it is for heads that have them."""
    return (kind.heads and model.head.class_size) or model.backbone.features


def _refuse_other_files(processes: Processes, train: NDArray[np.int64], val: NDArray[np.int64]) -> None:
    """Every process must read the same images, by their rows."""
    if not processes.all_equal(hashlib.sha256(train.tobytes() + b"/" + val.tobytes()).digest()):
        raise TrilabelError(
            f"{platform.node()} (rank {processes.rank}) reads {len(train)} training and {len(val)} validation images, "
            "other processes read others; give every machine the same files"
        )


def _on_device(fabric: Fabric, model: Classifier, config: Config) -> Classifier:
    if config.sync_batch_norm and fabric.world_size > 1:
        model = cast(Classifier, with_synced_batch_norm(model))
    if config.channels_last:
        model = model.to(memory_format=torch.channels_last)
    fabric.to_device(model)
    if config.compile:
        model.compile()
    return model


def _relabelling(
    fabric: Fabric, config: Config, labels: Labels, model: Classifier
) -> tuple[Relabelling | None, list[Member]]:
    """What relabels between epochs, and the models of other runs that help; nothing where that is not asked for."""
    if config.relabel == "none":
        return None, []
    relabelling = Relabelling(config.relabel, config.relabel_settings, labels)
    model.dropout = relabelling.training_dropout
    members = [_member(fabric, Path(run), labels, model) for run in relabelling.settings.runs]
    return fabric.to_device(relabelling), members


def _log_choices(config: Config, settings: Any, dataset: Dataset) -> None:
    for warning in [*too_short(config, settings), *slow_head(config)]:
        log.warning(warning)
    if config.weights is None and dataset.images is None:
        log.warning(
            f"no weights: the network ({config.backbone}) starts at random and knows only what these images teach it; "
            "on photographs expect far lower scores than with pretrained weights (`trilabel weights` lists them)"
        )
    elif config.weights is None and (config.backbone != "tiny" or config.stages != "fine-tune"):
        log.warning(f"{config.backbone} starts from random weights; --weights FILE or hub starts from trained ones")
    if HELD_OUT in dataset.splits and len(dataset.splits.get("val", ())):
        log.info(f"the epoch is chosen on {config.val} of the training images; --val val takes the data's own split")


def _open(
    processes: Processes, dataset: Dataset, rows: NDArray[np.int64], config: Config, size: int
) -> tuple[ImageSource, NDArray[np.int64], list[str]]:
    """The images of these rows that can be read, their rows, and what is wrong with each of the others."""
    first, device, several = processes.is_first, processes.fabric.device, processes.on_this_machine
    opened, errors = open_images(
        *dataset.images_of(rows), size, device, config.cache, config.workers, config.broken, first, several
    )
    left = np.delete(rows, [position for position, _ in errors])
    return opened, left, [message for _, message in errors]


def _member(fabric: Fabric, run: Path, labels: Labels, model: Classifier) -> Member:
    other, description = RunFolder(run).classifier()
    if description.classes != list(labels.classes):
        raise TrilabelError(f"{run}: a run on other classes cannot help to relabel here")
    if description.image_size != model.backbone.image_size:
        raise TrilabelError(
            f"{run}: a run on images of {description.image_size} pixels; these have {model.backbone.image_size}"
        )
    return fabric.to_device(other.eval()), Views(other.backbone.mean, other.backbone.std)
