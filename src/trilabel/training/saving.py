"""Regular checkpoints, and stopping so that the run can be resumed."""

import signal
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trilabel.log import log
from trilabel.plugin_files import trust_options
from trilabel.printable import command_line
from trilabel.training.finite import check_loss, check_weights
from trilabel.training.gradients import accumulated_gradients
from trilabel.training.setup import Job


def save(job: Job) -> None:
    """Writes the checkpoint to resume from."""
    if job.processes.is_first:
        job.folder.refuse_if_removed()
    job.agreement.finish()  # whatever was asked for is done with this
    gradients = accumulated_gradients(job.state.optimizer, job.processes)
    job.state.save(job.folder.last, job.processes, gradients)
    job.processes.barrier()
    job.saved_at = time.monotonic()


def sync_memory(job: Job) -> None:
    """Synchronizes what the methods and diagnoses of all processes remember of their images."""
    if job.processes.count > 1:
        job.method.sync(job.processes.all_reduce)
        job.state.diagnosis.sync(job.processes.all_reduce)


def save_or_stop_if_due(job: Job, order: Sequence[NDArray[np.int64]]) -> None:
    """After a step: saves if the last checkpoint is old, stops if a signal was received; nothing waits for a device."""
    late = time.monotonic() - job.saved_at > 60 * job.config.save_minutes
    if job.agreement.any(late or bool(job.signals), wait=job.state.progress.step == len(order)):
        check_loss(job, order, wait=True)  # a checkpoint after a loss that was not finite would be useless
        check_weights(job, job.model)
        save(job)
        stop_if_asked(job)


def stop_if_asked(job: Job) -> None:
    """Ends the run if any process received a signal; everything is on disk then."""
    # One number for all, whoever received it: the exit code of the run does not depend on who ends first.
    if received := job.processes.largest(max(job.signals, default=0)):
        job.state.wait_for_files()
        job.processes.barrier()  # those that write nothing must not end before, or the one that writes is ended too
        trust = trust_options(job.config.method, job.config.head)
        again = command_line("trilabel", "train", "--resume", job.folder.to_resume, *trust)
        log.info(f"stopped; resume with: {again}")
        raise KeyboardInterrupt if received == signal.SIGINT else SystemExit(128 + received)
