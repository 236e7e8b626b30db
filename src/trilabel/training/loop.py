"""The one training loop, on Lightning Fabric. It never sees a method's name.

All randomness is drawn from (seed, stage, epoch, step), so a run that was killed and resumed makes the same draws as
one that was not, and no generator state has to be saved.
"""

import json
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies import DDPStrategy
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.multiprocessing.spawn import ProcessRaisedException

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.formats.csv_table import writing as csv_write
from trilabel.data.images import ImageBatch, ImageSource, free_memory, in_order, open_images, to_device
from trilabel.data.side_tables import label_graph
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import is_shown, log, progress, shown, truncate_list
from trilabel.methods import Batch, Method, choose_method, create_method
from trilabel.models import FeatureClassifier, create_model
from trilabel.models.cuda_graphs import capture, release
from trilabel.models.scoring import score
from trilabel.recipes import resolve
from trilabel.training.diagnosis import Diagnosis, validation_histogram
from trilabel.training.optim import ModelEma, create_optimizer, learning_rate
from trilabel.training.relabelling import Relabelling, describe
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.signals import stop_children, stop_signals
from trilabel.training.stages import (
    WARM_UP,
    Stage,
    check_parts,
    check_validation,
    epoch_batches,
    plan_stages,
    split_for_training,
    validation_truth,
)
from trilabel.training.state import Progress, State

logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it greets every run with tips

_MOST_LABELS_ON_DEVICE = 2**26  # a byte each
_MOST_WEAK_LABELS_WRITTEN = 20_000_000  # a table of so many takes half a gigabyte and a minute
_RELABELLING = 2**31  # in the place of the process's number, which is never this: its draws are others than a step's
_STEPS_BETWEEN_LOOKS = 50  # on a GPU; each costs a few launches
MAY_CHANGE = {"cache", "workers", "save_minutes", "device", "patience", "epochs"}  # between start and resumption


def train(
    dataset: Dataset,
    recipe: str | Config,
    out: str | Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    source: Mapping[str, Any] | None = None,
) -> Run:
    """Trains on a data set and writes a run folder.

    recipe: a name (see `trilabel recipes`) or a Config.
    out: the run folder. An existing one is refused unless `resume` (go on where it stopped) or `overwrite`.
    source: how to read the data set again; kept in the run folder so that the command line can resume by folder alone.
    """
    config = resolve(recipe)
    if config.method == "auto":
        _, rows, _ = split_for_training(dataset, config)
        method, settings = choose_method(dataset.labels[rows])
        config = replace(config, method=method, settings=config.settings or settings)
        given = "".join(f" {name}={'none' if value is None else value}" for name, value in config.settings.items())
        log.info(f"method: {config.method}{given} (chosen by what is known; see `trilabel methods`)")
    accelerator = config.device if config.device != "auto" else ("cuda" if torch.cuda.is_available() else "cpu")
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise TrilabelError("device 'cuda' was asked for, but torch finds no GPU; use --device cpu or auto")
    prepare_torch()
    strategy: Any = "auto"
    if config.devices > 1:
        # Buffers stay per process: a method's own must not be overwritten; the model's are made equal before scoring.
        start = "popen" if "LOCAL_RANK" in os.environ else "spawn"
        strategy = DDPStrategy(broadcast_buffers=False, start_method=start)
    precision: Any = "bf16-mixed" if config.precision == "bf16" else "32-true"
    fabric = Fabric(accelerator=accelerator, devices=config.devices, strategy=strategy, precision=precision)
    folder = RunFolder(Path(out))
    try:
        fabric.launch(partial(_train, dataset, config, folder, resume, overwrite, source or {}, is_shown()))
    except ProcessRaisedException as error:  # of one of several processes, as the text of its traceback
        kind, _, message = str(error).strip().splitlines()[-1].partition(": ")
        if kind.endswith(TrilabelError.__name__):
            raise TrilabelError(message) from None
        raise RuntimeError(f"{kind}: {message} (in one of {config.devices} processes)") from error
    except KeyboardInterrupt:
        stop_children()  # Ctrl-C reaches them by itself, a signal to this process alone does not
        raise
    return folder.run()


def prepare_torch() -> None:
    """Spares a machine without a GPU from looking for one at each step.

    Adam asks each time, and Fabric has torch open the driver's library for the answer, so that asking does not spoil
    processes that are forked later; where there is no driver, that only takes time.
    """
    if not torch.cuda.is_available():
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "0"


def _train(
    dataset: Dataset,
    config: Config,
    folder: RunFolder,
    resume: bool,
    overwrite: bool,
    source: Mapping[str, Any],
    show: bool,
    fabric: Fabric,
) -> None:
    """The work of one process."""
    with shown(show):
        _work(dataset, config, folder, resume, overwrite, source, fabric)


def _work(
    dataset: Dataset,
    config: Config,
    folder: RunFolder,
    resume: bool,
    overwrite: bool,
    source: Mapping[str, Any],
    fabric: Fabric,
) -> None:
    if fabric.is_global_zero:  # alone: the others would see what it writes next
        folder.check(resume, overwrite)
    training = Training(fabric, dataset, config, folder, resume)
    if resume:
        training.resume()
    elif fabric.is_global_zero:
        folder.make_empty()
        folder.describe(config, dataset.classes, training.model.backbone.image_size, training.labels, source)
    fabric.barrier()
    try:
        training.run()
    except BaseException:
        with suppress(Exception):  # what went wrong first is what counts
            training.close()
        raise
    training.close()
    if multiprocessing.parent_process() is not None and fabric.world_size > 1:
        # Left to the end of the process, the group's threads may still run when it ends, which aborts it.
        fabric.barrier()
        torch.distributed.destroy_process_group()


class Task(nn.Module):
    """Model and method as one module, so that several processes share the gradients of both."""

    def __init__(self, model: nn.Module, method: Method[Any]) -> None:
        super().__init__()
        self.model = model
        self.method = method

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """What the method's step gives."""
        if not len(batch.rows):
            # Every image was broken: nothing to learn, but the same step as the other processes. The method is not
            # told, or it would remember something of an image that is not there.
            nothing = self.model(batch.images).logits.sum() + sum(weights.sum() for weights in self.parameters())
            return {"loss": 0 * nothing}
        return self.method.step(self.model, batch)


class Training:
    """The parts of one run, and the loop over them."""

    def __init__(self, fabric: Fabric, dataset: Dataset, config: Config, folder: RunFolder, resume: bool) -> None:
        self.fabric, self.config, self.folder = fabric, config, folder
        self.shown = fabric.is_global_zero
        dataset, train_rows, val_rows = split_for_training(dataset, config)
        goes_on = resume and folder.last.is_file()
        check_parts(config, dataset.labels[train_rows], goes_on)  # refuse before anything slow
        torch.manual_seed(config.seed)
        if self.shown and config.weights is None and (config.backbone != "tiny" or config.stages != "fine-tune"):
            log.warning(f"{config.backbone} starts from random weights; --weights FILE or hub starts from trained ones")
        if self.shown and "held-out" in dataset.splits and len(dataset.splits.get("val", ())):
            log.info(
                f"the epoch is chosen on {config.val} of the training images; --val val takes the data's own split"
            )
        # A run that goes on has its weights, and what its head read off labels and files, in the checkpoint.
        weights, read_off = (None, None) if goes_on else (config.weights, dataset.labels[train_rows])
        self.model = create_model(config, len(dataset.classes), config.image_size, weights, read_off)
        self.images, train_rows = self._open(dataset, train_rows)
        self.val_images, val_rows = self._open(dataset, val_rows)
        self.labels, self.val_labels = dataset.labels[train_rows], dataset.labels[val_rows]
        if self.shown:
            check_validation(self.val_labels, config.select)
        self.val_truth = validation_truth(self.val_labels)
        features = self.model.backbone.features
        method = create_method(config.method, config.settings, self.labels, features, self.val_labels)
        if self.shown:
            for note in method.notes:
                log.info(note)
        self.truth = None if dataset.truth is None else dataset.truth[train_rows]
        backbone = self.model.backbone
        self.label_rows = label_reader(self.labels, fabric.device)
        self.truth_rows = None if self.truth is None else label_reader(self.truth, fabric.device)
        self.views = Views(backbone.mean, backbone.std, config.flip, config.crop, config.erase)
        if config.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        fabric.to_device(self.model)
        self.method: Method[Any] = fabric.to_device(method)
        if config.compile:
            self.model.compile()
        self.relabelling: Relabelling | None = None
        self.members: list[tuple[nn.Module, Views]] = []
        if config.relabel != "none":
            relabelling = Relabelling(config.relabel, config.relabel_settings, self.labels)
            self.members = [self._member(Path(run)) for run in relabelling.settings.runs]
            self.relabelling = fabric.to_device(relabelling)
        self.diagnosis = fabric.to_device(Diagnosis(self.labels, self.truth))
        self.state = State(self.model, self.method, self.relabelling, self.diagnosis, fabric.device)
        self.captured = False
        self.saved_at = time.monotonic()

    def _open(self, dataset: Dataset, rows: NDArray[np.int64]) -> tuple[ImageSource, NDArray[np.int64]]:
        """The images of these rows, and the rows that are left when troubled images are left out."""
        config, size, device = self.config, self.model.backbone.image_size, self.fabric.device
        opened, trouble = open_images(
            *dataset.images_of(rows), size, device, config.cache, config.workers, config.broken, self.shown
        )
        if trouble and self.shown:
            log.warning(f"{len(trouble)} of {len(rows)} images left out; the first: {trouble[0][1]}")
        return opened, np.delete(rows, [position for position, _ in trouble])

    # ---- the loop

    def run(self) -> None:
        """All stages, from wherever the run stands."""
        stages = plan_stages(self.config, self.method.warm_up_epochs)
        with stop_signals() as self.signals:
            for number, stage in enumerate(stages):
                if number < self.state.progress.stage:
                    continue
                final = number + 1 == len(stages)
                best_file = self.folder.best if final else self.folder.best_of(stage.name)
                self.run_stage(stage, best_file)
                if not final:
                    self.state.progress = Progress(number + 1, history=self.state.progress.history)
        self._write_what_was_learned()

    def close(self) -> None:
        """Lets go of what was recorded, and of the run's files once they are written, however the run ended."""
        release(self.model.backbone)
        self.state.wait_for_files()

    def run_stage(self, stage: Stage, best_file: Path) -> None:
        """Epochs of one stage: train, score, keep the best, save. Ends with the weights that the next starts from."""
        warm_up = stage.name == WARM_UP
        now = self.state.progress
        if warm_up and self.fabric.is_global_zero and now.epoch == 1 and now.step == 0:
            self.state.save_weights(self.folder.start, {})
        model, images, val_images = self._enter(stage)
        while now.epoch <= stage.epochs and (warm_up or not self._patience_spent()):
            self.run_epoch(stage, model, images)
            self.close_epoch(stage, model, val_images, best_file)
        self.state.wait_for_files()
        self.fabric.barrier()
        if warm_up:
            self.method.end_warm_up(self._all_reduce)
            self.state.load_model(self.folder.start)
        else:
            self.state.load_weights(best_file)

    def run_epoch(self, stage: Stage, model: nn.Module, images: ImageSource) -> None:
        """One pass over the training images (or the rest of one, after a restart inside an epoch)."""
        config, fabric, state, now = self.config, self.fabric, self.state, self.state.progress
        seed = [config.seed, now.stage, now.epoch]
        order = epoch_batches(len(images), config.batch_size, seed, fabric.global_rank, fabric.world_size)
        if now.step == 0:
            state.start_epoch()
            self.diagnosis.start_epoch(now.epoch)
            now.started = self.relabel(stage, model, images)
            self.method.start_epoch(now.epoch)
        self.task.train()
        begun, words = time.monotonic() - now.seconds, ""
        with progress(f"{stage.name} {now.epoch}/{stage.epochs}", len(order), self.shown) as advance:
            advance(now.step)
            for drawn in images.batches(order[now.step :], skip_broken=config.broken == "skip"):
                done = (now.epoch - 1) * len(order) + now.step
                now.lr = learning_rate(config, stage.lr, done, len(order), stage.epochs)
                for parameters in state.optimizer.param_groups:
                    parameters["lr"] = now.lr * parameters["scale"]
                due = (now.step + 1) % config.accumulate == 0 or now.step + 1 == len(order)
                group = min(config.accumulate, len(order) - now.step + now.step % config.accumulate)
                with fabric.no_backward_sync(self.task, enabled=not due):
                    batch = self.make_batch(stage, drawn)
                    parts = self.task(batch)
                    fabric.backward(parts["loss"] / group)
                if due:
                    if config.clip_gradient is not None:
                        nn.utils.clip_grad_norm_(self.task.parameters(), config.clip_gradient)
                    state.optimizer.step()
                    state.optimizer.zero_grad()
                    if state.mean is not None:
                        state.mean.update(done // config.accumulate + 1)
                now.left_out += len(drawn.failed)
                if len(drawn.positions):
                    state.note(parts)
                    truth = None if self.truth_rows is None else self.truth_rows(drawn.positions, batch.rows)
                    known = self.label_rows(drawn.positions, batch.rows) if self.relabelling else batch.labels
                    self.diagnosis.note(now.epoch, batch.rows, known, truth, parts)
                now.step += 1
                now.seconds = time.monotonic() - begun
                if fabric.device.type == "cpu" or now.step % _STEPS_BETWEEN_LOOKS == 0:
                    words = self._look(order, wait=False)
                    if due:
                        self._save_or_stop_if_due(order)
                advance(1, words)
        if not state.sums:
            raise TrilabelError("none of the training images could be read")
        self._look(order, wait=True)
        now.seconds = time.monotonic() - begun  # with what the device had still to do

    def make_batch(self, stage: Stage, drawn: ImageBatch) -> Batch:
        """Views of the images, and their labels on the device."""
        now, device = self.state.progress, self.fabric.device
        for position, message in drawn.failed:
            log.warning(f"left out of epoch {now.epoch}: {message} (image {self.labels.ids[position]!r})")
        seed = self._seed([self.config.seed, now.stage, now.epoch, now.step, self.fabric.global_rank])
        draw = torch.Generator().manual_seed(seed)
        rows = to_device(torch.from_numpy(drawn.positions), device)
        labels = self.label_rows(drawn.positions, rows)
        if self.relabelling is not None and stage.name != WARM_UP:
            labels = self.relabelling.fill(labels, rows)
        if not len(drawn.positions):  # every image was broken: a black one, so that the model has something to see
            black = torch.zeros((1, 3, self.images.size, self.images.size), dtype=torch.uint8, device=device)
            drawn = drawn._replace(images=black)
        images, strong = drawn.images, None
        if not stage.linear:
            two = self.method.views == 2
            images = self._laid_out(images)  # while it is small: views keep the layout, or nearly
            first = self.views.strong if self.config.augment == "strong" and not two else self.views.weak
            weak = self._laid_out(first(images, draw))
            strong = self._laid_out(self.views.strong(images, draw)) if two else None
            images = weak
        return Batch(images, strong, labels, rows, now.epoch, now.lr, stage.name == WARM_UP)

    def _laid_out(self, images: Tensor) -> Tensor:
        return images.contiguous(memory_format=torch.channels_last) if self.config.channels_last else images

    @torch.no_grad()
    def relabel(self, stage: Stage, model: nn.Module, images: ImageSource) -> dict[str, Any]:
        """Fills in easy unknown labels where that is due before this epoch; says how it went, for the record.

        Killed on the way, the run goes on from the end of the epoch before and does it all again: nothing is saved
        in between, and every draw comes from (seed, stage, epoch, batch).
        """
        now, fabric, relabelling = self.state.progress, self.fabric, self.relabelling
        if relabelling is None or stage.name == WARM_UP or not relabelling.due(now.epoch, stage.epochs):
            return {}
        with self._scoring_weights(model):
            model.eval()
            relabelling.forget()
            chunks = in_order(len(images), self.config.batch_size)[fabric.global_rank :: fabric.world_size]
            with progress("relabelling", len(chunks), self.shown) as advance:
                for done, drawn in enumerate(images.batches(chunks, skip_broken=self.config.broken == "skip")):
                    number = fabric.global_rank + done * fabric.world_size  # of the batch, whoever has it
                    self._seed([self.config.seed, now.stage, now.epoch, number, _RELABELLING])
                    if len(drawn.positions):
                        rows = to_device(torch.from_numpy(drawn.positions), fabric.device)
                        with fabric.autocast():
                            scores = [relabelling.scores(model, self._prepare(drawn.images))]
                            scores += [member(views.plain(drawn.images)).logits[None] for member, views in self.members]
                        relabelling.choose(torch.cat(scores), self.label_rows(drawn.positions, rows), rows)
                    if fabric.world_size == 1:
                        self._stop_if_asked()
                    advance(1)
            if fabric.world_size > 1:
                relabelling.sync(self._all_reduce)
        summary = relabelling.summary(self.truth)
        if self.shown:
            log.info(describe(summary, self.labels.known_share, now.epoch))
        return {"relabelled": summary}

    @contextmanager
    def _scoring_weights(self, model: nn.Module) -> Iterator[None]:
        """The weights to score with: the running mean where one is kept, and the first process's statistics."""
        self._sync_buffers(model)
        if self.state.mean is None:
            yield
            return
        self.state.mean.swap()
        self._sync_buffers(model)
        try:
            yield
        finally:
            self.state.mean.swap()

    def _member(self, run: Path) -> tuple[nn.Module, Views]:
        """Another run's model for an ensemble, and how it wants its images."""
        model, about = RunFolder(run).classifier()
        if list(about["classes"]) != list(self.labels.classes):
            raise TrilabelError(f"{run}: a run on other classes cannot help to relabel here")
        if about["image_size"] != self.model.backbone.image_size:
            raise TrilabelError(
                f"{run}: a run on images of {about['image_size']} pixels; these have {self.model.backbone.image_size}"
            )
        return self.fabric.to_device(model.eval()), Views(model.backbone.mean, model.backbone.std)

    def _seed(self, place: list[int]) -> int:
        """Seeds torch from where the run stands (see the top of this file); gives the seed."""
        seed = int(np.random.SeedSequence(place).generate_state(1, np.uint64)[0] >> np.uint64(1))
        torch.default_generator.manual_seed(seed)  # for dropout and the like
        if self.fabric.device.type == "cuda":  # torch.manual_seed asks for GPUs anew at each call, a millisecond
            torch.cuda.manual_seed(seed)
        return seed

    def close_epoch(self, stage: Stage, model: nn.Module, val_images: ImageSource, best_file: Path) -> None:
        """Scores the validation images, keeps the model if it is the best so far, and saves."""
        state, now, begun = self.state, self.state.progress, time.monotonic()
        record: dict[str, Any] = {"stage": stage.name, "epoch": now.epoch}
        self._stop_if_not_finite(model)
        totals = state.totals(self._all_reduce)
        record |= {name: float(totals[name] / totals["counted"]) for name in state.sums}
        if now.left_out:
            record["left_out"] = now.left_out
        record |= now.started
        self._sync_memory()
        record |= self.diagnosis.summary(now.epoch, self._all_reduce)
        record |= {"lr": now.lr, "seconds": round(now.seconds, 3)}
        with self._scoring_weights(model):
            if len(val_images):
                scores = self.score(model, val_images)
                good = ~scores[:, 0].isnan()  # images that could not be read
                if not good.all() and self.config.broken == "stop":
                    raise TrilabelError(f"the model gives NaN for validation after epoch {now.epoch}: lower --lr")
                truth = self.val_truth[good.numpy()]
                record["val"] = metrics.evaluate(scores[good], truth, threshold=0.0)
                record["val_probabilities"] = validation_histogram(scores[good], truth)
                if self.val_truth is not self.val_labels:
                    record["val_unknown_as_absent"] = True
                record["val_seconds"] = round(time.monotonic() - begun, 3)
            if now.best is None or not len(val_images) or self._value(record) > self._value(now.best):
                now.best = record
                if self.fabric.is_global_zero:
                    state.save_weights(best_file, record)
        now.history.append(record)
        state.end_epoch()
        self.save()
        if self.shown:
            self.folder.write_history(now.history)
            log.info(describe_epoch(record, stage.epochs, self.config.select))
        self._stop_if_asked()

    def score(self, model: nn.Module, images: ImageSource) -> Tensor:
        """N×C logits on the CPU (NaN for an image that had to be left out)."""
        fabric = self.fabric
        scores, failed = score(
            model,
            images,
            self._prepare,
            self.labels.shape[1],
            self._scored_at_once(),
            rank=fabric.global_rank,
            world=fabric.world_size,
            all_gather=fabric.all_gather,
            context=fabric.autocast,
            skip_broken=self.config.broken == "skip",
        )
        for _, message in failed:
            log.warning(f"left out of scoring: {message}")
        return scores

    def _scored_at_once(self) -> int:
        """Images; without gradients more of them fit than in training, and a GPU wants many."""
        return (4 if self.fabric.device.type == "cuda" else 2) * self.config.batch_size

    def _prepare(self, images: Tensor) -> Tensor:
        return images if images.is_floating_point() else self.views.plain(images)

    def _enter(self, stage: Stage) -> tuple[nn.Module, ImageSource, ImageSource]:
        """Sets up model, optimizer and running mean for a stage; gives its model and images."""
        config, model, images, val_images = self.config, self.model, self.images, self.val_images
        head = list(self.model.head.parameters())
        if stage.linear:
            images, val_images = self._summaries(images), self._summaries(val_images)
            trained: nn.Module = FeatureClassifier(self.model.head)
            groups = [(head, 1.0)]
        else:
            trained = model
            groups = [(list(model.backbone.parameters()), 1.0), (head, config.head_lr_scale)]
            self._capture()
        optimizer = create_optimizer(config, groups + self.method.parameter_groups(), stage.lr)
        self.task, optimizer = self.fabric.setup(Task(trained, self.method), optimizer)
        self.state.attach(optimizer, ModelEma(trained, config.ema) if config.ema else None)
        return trained, images, val_images

    def _capture(self) -> None:
        """Has the backbone's passes over a full batch replayed rather than launched (see `capture`)."""
        config, size, device = self.config, self.model.backbone.image_size, self.fabric.device
        if (
            device.type == "cuda"
            and self.fabric.world_size == 1
            and not (config.compile or self.captured)
            and config.accumulate == 1
        ):
            several = min(config.batch_size, len(self.images)) * self.method.views
            self.state.wait_for_files()  # their thread waits for the device, which recording does not bear
            capture(
                self.model.backbone,
                self._laid_out(torch.zeros(several, 3, size, size, device=device)),
                self.fabric.autocast,
            )
            self.captured = True

    @torch.no_grad()
    def _summaries(self, images: ImageSource) -> ImageSource:
        """What the head needs of each image, computed once without augmentation."""
        self.model.eval()
        chunks = in_order(len(images), self._scored_at_once())
        store: Tensor | None = None
        with progress("computing features", len(images), self.shown) as advance:
            for drawn in images.batches(chunks, skip_broken=True):
                for _, message in drawn.failed:
                    raise TrilabelError(f"{message}; the linear stage needs every image: replace it or take it out")
                if self.signals:  # nothing is lost yet
                    raise KeyboardInterrupt
                with self.fabric.autocast():
                    summary = self.model.head.reduce_features(self.model.backbone(self._prepare(drawn.images))).float()
                if store is None:
                    needed = len(images) * summary[0].numel() * summary.element_size()
                    if needed > free_memory(summary.device):
                        raise TrilabelError(
                            f"the linear stage keeps what head {self.config.head!r} needs of each image, "
                            f"{needed / 1e9:.0f} GB, more than is free; use --head gap, smaller images, or fine-tune"
                        )
                    store = summary.new_empty((len(images), *summary.shape[1:]))
                store[torch.from_numpy(drawn.positions).to(store.device)] = summary
                advance(len(drawn.positions))
        return ImageSource(torch.zeros(0, 1) if store is None else store, images.size, images.device, 0)

    # ---- watching and keeping it

    def _look(self, order: list[NDArray[np.int64]], wait: bool) -> str:
        """The mean loss so far in words; stops the run where a loss was not finite (see `State.look`)."""
        now = self.state.progress
        if not self.state.sums:  # no image of this epoch could be read so far
            return ""
        loss, bad = self.state.look(wait)
        if bad >= 0:
            ids = truncate_list([self.labels.ids[position] for position in order[bad].tolist()])
            raise TrilabelError(
                f"the loss is not finite in epoch {now.epoch}, step {bad + 1} of {len(order)} "
                f"(learning rate {now.lr:.2g}; images {ids}): lower --lr or set --clip-gradient{self._kept()}"
            )
        return "" if loss is None else f"loss {loss:.4f}"

    def _stop_if_not_finite(self, model: nn.Module) -> None:
        """Weights that are not finite are never saved."""
        lengths = torch._foreach_norm([parameter.detach() for parameter in model.parameters()])
        if not bool(torch.isfinite(torch.stack(lengths)).all()):
            raise TrilabelError(
                f"the weights are not finite after epoch {self.state.progress.epoch}: lower --lr or set "
                f"--clip-gradient{self._kept()}"
            )

    def _kept(self) -> str:
        self.state.wait_for_files()
        return f"; {self.folder.last} is from before that" if self.folder.last.is_file() else ""

    def _value(self, record: dict[str, Any]) -> float:
        """What the record's epoch is chosen by."""
        value = record["val"][self.config.select]
        return float("-inf") if value is None else float(value)

    def _patience_spent(self) -> bool:
        best, patience = self.state.progress.best, self.config.patience
        return best is not None and patience is not None and self.state.progress.epoch - 1 - best["epoch"] >= patience

    def resume(self) -> None:
        """Goes back to the last checkpoint; refuses other labels or settings than the run began with."""
        path, before = self.folder.path, self.folder.read()["config"].to_json()
        now = json.loads(json.dumps(self.config.to_json()))  # as `before` was read: lists for tuples
        changed = {name for name in before if before[name] != now[name]} - MAY_CHANGE
        if changed:
            raise TrilabelError(
                f"{path}: this run began with other settings ({', '.join(sorted(changed))}); start a new one"
            )
        if Labels.load(self.folder.labels) != self.labels:
            raise TrilabelError(f"{path}: the labels differ from those this run began with; start a new one")
        if self.folder.last.is_file():  # else it was stopped before its first checkpoint, and begins anew
            self.state.load(self.folder.last, first=self.fabric.is_global_zero)
            self._refuse_if_files_are_gone()
        if self.fabric.is_global_zero:
            self.folder.change_config(self.config)
            self.folder.write_history(self.state.progress.history)

    def _refuse_if_files_are_gone(self) -> None:
        """Stops before hours of training, rather than after them."""
        stages, now = plan_stages(self.config, self.method.warm_up_epochs), self.state.progress
        stage, final = stages[now.stage], now.stage + 1 == len(stages)
        needed = [self.folder.start] if stage.name == WARM_UP else []
        if now.best is not None:
            needed.append(self.folder.best if final else self.folder.best_of(stage.name))
        for file in needed:
            if not file.is_file():
                raise TrilabelError(f"{file}: gone, and the run needs it to go on; restore it or start a new run")

    def save(self) -> None:
        """Writes the checkpoint to go on from."""
        totals = self.state.totals(self._all_reduce)
        if self.fabric.is_global_zero:
            self.state.save(self.folder.last, totals)
        self.fabric.barrier()
        self.saved_at = time.monotonic()

    def _write_what_was_learned(self) -> None:
        """Writes, as of the best epoch, tables of the labels that were filled in and of how labels go together.

        What relabelling filled in goes before what the method did.
        """
        if not self.fabric.is_global_zero:
            return
        weak, graph = self.method.weak_labels(), self.method.label_graph()
        if self.relabelling is not None:
            count = self.relabelling.count()
            if not count:
                log.info("the best epoch has no weak labels (it may be from before relabelling): no table is written")
            if count > _MOST_WEAK_LABELS_WRITTEN:
                log.info(f"{count:,} weak labels: too many for a table, they are in {self.folder.best}")
            weak = self.relabelling.weak_labels() if 0 < count <= _MOST_WEAK_LABELS_WRITTEN else None
        if weak is not None:
            named = Labels.from_csr(weak, self.labels.classes, self.labels.ids)
            csv_write.write_known(named, self.folder.weak_labels)
        if graph is not None:
            label_graph.write(graph, self.labels.classes, self.folder.label_graph)

    def _save_or_stop_if_due(self, order: list[NDArray[np.int64]]) -> None:
        late = time.monotonic() - self.saved_at > 60 * self.config.save_minutes
        if self._any_process(late or bool(self.signals)):
            self._look(order, wait=True)  # from after a loss that was not finite, it would be of no use
            self._sync_memory()
            self.save()
            self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self._any_process(bool(self.signals)):
            self.state.wait_for_files()
            if self.shown:
                log.info(f"stopped; go on with: trilabel train --resume {self.folder.path}")
            raise KeyboardInterrupt if signal.SIGTERM not in self.signals else SystemExit(128 + signal.SIGTERM)

    # ---- several processes

    def _any_process(self, here: bool) -> bool:
        """Whether it is so in any process: all must save or stop at the same step."""
        if self.fabric.world_size == 1:
            return here
        return bool(self.fabric.all_reduce(torch.tensor(float(here), device=self.fabric.device), reduce_op="sum") > 0)

    def _all_reduce(self, value: Tensor, how: Literal["sum", "max"]) -> Tensor:
        return self.fabric.all_reduce(value.clone(), reduce_op=how) if self.fabric.world_size > 1 else value

    def _sync_memory(self) -> None:
        """Gives every process what the others' methods and diagnoses remember of their images."""
        if self.fabric.world_size > 1:
            self.method.sync(self._all_reduce)
            self.diagnosis.sync(self._all_reduce)

    def _sync_buffers(self, model: nn.Module) -> None:
        """Gives every process the first one's batch-norm statistics, so that all score the same model."""
        if self.fabric.world_size > 1:
            for buffer in model.buffers():
                torch.distributed.broadcast(buffer, src=0)


def label_reader(labels: Labels, device: torch.device) -> Callable[[NDArray[np.int64], Tensor], Tensor]:
    """A function that gives the labels of images, by their positions here and on the device, as B×C on the device.

    Labels that take little memory lie there whole, so that a step has nothing to copy.
    """
    if labels.shape[0] * labels.shape[1] <= _MOST_LABELS_ON_DEVICE:
        dense = torch.from_numpy(labels.to_signed()).to(device)
        return lambda positions, rows: dense[rows]
    return lambda positions, rows: to_device(labels.rows(positions), device)


def describe_epoch(record: dict[str, Any], epochs: int, select: str) -> str:
    """One line on an epoch for a person."""
    words = [f"{record['stage']} {record['epoch']}/{epochs}", f"loss {record['loss']:.4f}"]
    if "val" in record:
        shown = dict.fromkeys([select, "mAP", "CF1", "OF1"])
        words += [f"{name} {record['val'][name]:.4f}" for name in shown if isinstance(record["val"].get(name), float)]
    return "  ".join([*words, f"{record['seconds'] + record.get('val_seconds', 0):.1f} s"])
