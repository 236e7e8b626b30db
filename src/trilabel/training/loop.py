"""The training loop, on one page. It never sees a method's name.

A run is a few stages, a stage some epochs, an epoch a pass over the training images in random batches. After each
epoch the validation images are scored, the best model is kept and a checkpoint saved. Everything that changes lies in
`job.state`, and every random draw comes from (seed, stage, epoch, step): a run can be killed anywhere and resumed.
"""

import time
from pathlib import Path

from torch import nn

from trilabel.errors import TrilabelError
from trilabel.log import log, progress
from trilabel.models.cuda_graphs import release
from trilabel.training.batches import epoch_order
from trilabel.training.exports import write_exports
from trilabel.training.finite import check_loss, check_weights
from trilabel.training.optim import learning_rate
from trilabel.training.record import EpochRecord
from trilabel.training.relabel_pass import relabel
from trilabel.training.saving import save, save_or_stop_if_due, stop_if_asked, sync_memory
from trilabel.training.setup import Job
from trilabel.training.signals import stop_signals
from trilabel.training.stage_setup import StageRun, enter
from trilabel.training.stages import Stage
from trilabel.training.survey import survey
from trilabel.training.time_left import time_left
from trilabel.training.validation import decide, out_of_patience, scoring_weights, validate

_STEPS_BETWEEN_CHECKS = 50  # of the loss, on a GPU; each costs a few launches


def fit(job: Job) -> None:
    """All stages, from wherever the run stands."""
    job.state.progress.continue_with(job.processes.count)
    try:
        with stop_signals() as job.signals:
            for number in range(job.state.progress.stage, len(job.stages)):
                run_stage(job, job.stages[number], job.best_file(number))
                if number + 1 < len(job.stages):
                    job.state.progress = job.state.progress.next_stage()
        if job.processes.is_first:
            write_exports(job.folder, job.labels, job.method, job.relabelling)
            job.folder.mark_finished(job.state.progress.records)
    finally:
        release(job.model.backbone)


def run_stage(job: Job, stage: Stage, best_file: Path) -> None:
    """Epochs of one stage: train, validate, keep the best, save. Ends with the weights that the next starts from."""
    now = job.state.progress
    if stage.warm_up and job.processes.is_first and (now.epoch, now.step) == (1, 0):
        job.state.save_weights(job.folder.start, None)
    run = enter(job, stage)
    while now.epoch <= stage.epochs and not out_of_patience(job, stage):
        train_epoch(job, run)
        end_epoch(job, run, best_file)
    job.state.wait_for_files()
    job.processes.barrier()
    if stage.warm_up:
        found = job.method.end_warm_up(job.processes.all_reduce)
        if found and job.processes.is_first:
            log.info(found)
        job.state.load_model(job.folder.start)
    else:
        job.state.load_weights(best_file)
    if best_file == job.folder.best:
        decide(job, run.model, run.val_images)


def train_epoch(job: Job, run: StageRun) -> None:
    """One pass over the training images (or the rest of one, after a restart inside an epoch)."""
    config, fabric, state, now, stage = run.config, job.fabric, job.state, job.state.progress, run.stage
    seed = (config.seed, now.stage, now.epoch)
    place = job.processes.rank, job.processes.count
    order, weights = epoch_order(
        len(run.images), config.batch_size, seed, *place, now.earlier, run.passes, run.images.blocks
    )
    # Where an epoch passes over the images several times, its labels are counted once, as they end up.
    last_pass = len(order) - -(-len(run.images) // (config.batch_size * job.processes.count))
    if now.step == 0:
        state.start_epoch()
        now.relabelled = relabel(job, stage, run.model, run.images)
        job.method.start_epoch(now.epoch)
        survey(job, stage, run.model, run.images)
    run.task.train()
    began, words = time.monotonic() - now.seconds, ""
    with progress(f"{stage.name}, epoch {now.epoch} of {stage.epochs}, steps", len(order)) as advance:
        advance(now.step)
        for images in run.images.batches(order[now.step :], skip_broken=config.broken == "skip"):
            done = (now.epoch - 1) * len(order) + now.step
            now.lr = learning_rate(config, stage.lr, done, len(order), stage.epochs)
            update = (now.step + 1) % config.accumulate == 0 or now.step + 1 == len(order)
            batches_in_update = min(config.accumulate, len(order) - now.step + now.step % config.accumulate)
            with fabric.no_backward_sync(run.task, enabled=not update):
                batch = job.make_batch(images, stage, now, job.method.views == 2, now.step / len(order))
                parts = run.task(batch)
                fabric.backward(weights[now.step] * parts["loss"] / batches_in_update)
            if update:
                update_weights(job, run.task, done // config.accumulate + 1)
            state.totals.left_out += len(images.failed)
            if len(images.positions):
                state.totals.add(parts, now.step, weights[now.step])
            if len(images.positions) and now.step >= last_pass:
                known = job.label_reader(images.positions, batch.rows) if job.relabelling else batch.labels
                truth = job.truth_reader(images.positions, batch.rows) if job.truth_reader else None
                state.diagnosis.note(now.epoch, images.positions, batch.rows, known, truth, parts)
            now.step += 1
            now.seconds = time.monotonic() - began
            if fabric.device.type == "cpu" or now.step % _STEPS_BETWEEN_CHECKS == 0:
                words = check_loss(job, order, wait=False)
            save_or_stop_if_due(job, order)
            advance(1, f"{words} {time_left(job, run, len(order))}".strip())
    if not job.processes.any(not state.totals.is_empty):
        raise TrilabelError("none of the training images could be read")
    check_loss(job, order, wait=True)
    now.seconds = time.monotonic() - began  # with what the device had still to do


def update_weights(job: Job, task: nn.Module, number: int) -> None:
    """One step of the optimizer, the `number`-th of the stage (from 1)."""
    optimizer, now = job.state.optimizer, job.state.progress
    for group in optimizer.param_groups:
        group["lr"] = now.lr * group["scale"]
    if job.config.clip_gradient is not None:
        nn.utils.clip_grad_norm_(task.parameters(), job.config.clip_gradient)
    optimizer.step()
    optimizer.zero_grad()
    if job.state.ema is not None:
        job.state.ema.update(number)


def end_epoch(job: Job, run: StageRun, best_file: Path) -> None:
    """Validates, keeps the model if it is the best so far, and saves."""
    state, now, processes = job.state, job.state.progress, job.processes
    check_weights(job, run.model)
    means, left_out = state.totals.means(processes)
    sync_memory(job)
    record = EpochRecord(
        stage=run.stage.name,
        epoch=now.epoch,
        loss=means.pop("loss"),
        parts=means,
        lr=now.lr,
        seconds=round(now.seconds, 3),
        images_left_out=left_out,
        relabelled=now.relabelled,
        **vars(state.diagnosis.summary(now.epoch, processes.all_reduce)),
    )
    with scoring_weights(job, run.model):
        record, scores = validate(job, record, run.model, run.val_images)
        better = now.best is None or record.metric(job.config.select) > now.best.metric(job.config.select)
        if better or not record.val or run.keeps_last:
            now.best, job.best_scores = record, scores
            if processes.is_first:
                job.folder.refuse_if_removed()
                state.save_weights(best_file, record)
    if processes.is_first:  # before the checkpoint that counts it
        job.folder.append_record(record, now.records)
    state.end_epoch()
    save(job)
    if processes.is_first:
        job.epoch_log(record, now.records)
        log.info(record.describe(run.stage.epochs, job.config.select))
    stop_if_asked(job)
