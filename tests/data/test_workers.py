"""Processes that decode images leave signals to the process that started them."""

import signal
import sys

import pytest

from tests.support.stopped import forked_script
from trilabel.training import checkpoint

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process groups")

# Two workers decode files; in the third step of training a signal is sent to all processes, and again in the sixth.
_TRAIN = """
import os, signal, sys
os.setpgrp()
from tests.support.pictures import write_few
from trilabel.config import Config
from trilabel.log import shown
from trilabel.methods import METHODS
from trilabel.training.api import train
from trilabel.training.signals import graceful_termination

steps, step, number = [], METHODS["known-only"].step, signal.SIGINT

def stopping(self, model, batch):
    steps.append(None)
    if len(steps) % 3 == 0:
        os.killpg(0, number)
    return step(self, model, batch)

METHODS["known-only"].step = stopping
dataset, out = write_few(sys.argv[1]), sys.argv[1] + "/run"
config = Config(method="known-only", image_size=16, epochs=2, batch_size=2, workers=2, cache="none", device="cpu")
with graceful_termination(), shown():
    try:
        train(dataset, config, out)
    except KeyboardInterrupt:
        print("interrupted after", len(steps))
    number = signal.SIGTERM
    train(dataset, config, out, resume=True)
"""


def test_a_signal_to_all_processes_of_a_run_is_answered_once_and_the_step_is_finished(tmp_path):
    done = forked_script(_TRAIN, [tmp_path])
    assert done.returncode == 128 + signal.SIGTERM and done.stdout == "interrupted after 3\n", done.stderr
    assert done.stderr.count("stopping after this step") == 2, done.stderr
    assert done.stderr.count("stopped; resume with") == 2 and "Traceback" not in done.stderr
    assert checkpoint.load_state(tmp_path / "run" / "last.safetensors")["step"] == 6


# Without anything that catches signals: the process is interrupted as any other, and its workers end with it.
_READ = """
import os, signal, sys
os.setpgrp()
import torch
from tests.support.pictures import write_few
from trilabel.data.images import ImageSource, in_order

dataset = write_few(sys.argv[1])
source = ImageSource(dataset.paths, 16, torch.device("cpu"), 2)
for batch in source.batches(in_order(len(source), 2)):
    try:
        os.killpg(0, signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt:
        sys.exit(130)
"""


def test_workers_of_an_interrupted_process_say_nothing(tmp_path):
    done = forked_script(_READ, [tmp_path])
    assert (done.returncode, done.stderr) == (130, "")


# A worker that hangs is ended by the process that started it, and not by others.
_HANGING = """
import os, signal, sys, time
import torch
from torch.utils.data import DataLoader, Dataset
from trilabel.data.workers import ignore_signals, signals_held

class Slow(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        if index:
            time.sleep(3600)
        return torch.tensor(os.getpid())

with signals_held():
    batches = iter(DataLoader(Slow(), num_workers=1, worker_init_fn=ignore_signals))
worker = int(next(batches))
if os.fork() == 0:
    os.kill(worker, signal.SIGTERM)  # from another process
    os._exit(0)
os.wait()
os.kill(worker, 0)  # it is there
os.kill(worker, signal.SIGTERM)
while batches._workers[0].is_alive():
    time.sleep(0.01)
print(batches._workers[0].exitcode)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(signal, "sigwaitinfo"), reason="macOS")
def test_only_the_process_that_started_a_worker_ends_it():
    done = forked_script(_HANGING, [])
    assert done.stdout == "0\n", done.stderr
