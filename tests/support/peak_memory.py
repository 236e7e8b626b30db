"""How much memory a call takes, measured in a process of its own."""

import multiprocessing
import resource
from collections.abc import Callable
from multiprocessing.queues import SimpleQueue
from typing import Any

from tests.support import SECONDS_UNTIL_HUNG


def run_apart(call: Callable[[], Any]) -> tuple[Any, int]:
    """(what the call returns, megabytes by which the peak of memory rose), in a copy of this process."""
    context = multiprocessing.get_context("fork")  # a new process would take seconds to import torch
    answers: SimpleQueue[tuple[Any, int]] = context.SimpleQueue()
    process = context.Process(target=_measure, args=(call, answers))
    process.start()
    process.join(SECONDS_UNTIL_HUNG)
    assert process.exitcode == 0 and not answers.empty()
    return answers.get()


def _measure(call: Callable[[], Any], answers: "SimpleQueue[tuple[Any, int]]") -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = call()
    answers.put((found, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10))
