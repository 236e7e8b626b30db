"""A small data set with proposals, made without a model, and the server that asks about it."""

import os
import random
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from trilabel.data.dataset import Dataset
from trilabel.labels import Labels
from trilabel.review.desk import Desk
from trilabel.review.proposals import Proposals
from trilabel.review.question_tables import QuestionTable
from trilabel.review.serving import ReviewOptions, serving
from trilabel.review.store import AnswerStore
from trilabel.review.survey import survey
from trilabel.review.views import Views

HOSTILE = "<script>document.title='owned'</script>\"'><img src=x onerror=alert(1)>\u202e\n"
CLASSES = ["bottle", "cat", "dining table", HOSTILE]
HOSTILE_IMAGE = "../../etc/<b onmouseover=alert(1)>\u202e&amp;'\".png"
_FILES = 24
TOKEN = "the-token-of-this-test"


def make_dataset(folder: Path, images: int = 120) -> Dataset:
    """Images of a few files, with numbers on them; a tenth of the labels is known."""
    ids = [f"photos/{number:03}.png" for number in range(images - 1)] + [HOSTILE_IMAGE]
    paths = [str(folder / f"{number % _FILES}.png") for number in range(images)]
    for number, path in enumerate(paths[:_FILES]):
        image = Image.new("RGB", (40 + number % 3 * 20, 48), (number * 7 % 256, number * 13 % 256, 120))
        ImageDraw.Draw(image).text((8, 16), str(number), fill="white")
        image.save(path)
    generator = np.random.default_rng(1)
    signed = generator.choice(np.array([-1, 0, 1], np.int8), (images, len(CLASSES)), p=[0.05, 0.9, 0.05])
    splits = {"train": np.arange(0, images, 2), "test": np.arange(1, images, 2)}
    return Dataset(ids, paths, Labels.from_signed(signed, CLASSES, ids), splits)


def make_proposals(dataset: Dataset, seed: int = 0) -> Proposals:
    """Random logits; present from 0.6 on, absent up to 0.3."""
    images, classes = len(dataset), len(dataset.classes)
    logits = np.random.default_rng(seed).normal(0, 2, (images, classes)).astype(np.float32)
    shifts = np.linspace(-0.5, 0.5, classes)
    held_out = np.ones(images, bool)
    limits = np.full(classes, 0.6), np.full(classes, 0.3)
    return Proposals(dataset.labels, logits, 0.9, shifts, *limits, held_out, "runs/made-up")


def make_desk(
    dataset: Dataset, store: Path, votes: int = 1, random_share: float = 0.0, table: QuestionTable | None = None
) -> Desk:
    """A desk for these."""
    proposals = make_proposals(dataset)
    found = survey(proposals)
    return Desk(proposals, found, Views(dataset, proposals, found, table), AnswerStore(store), votes, random_share)


class Servers:
    """Starts servers of one review at one address, in processes that can be killed."""

    def __init__(self, folder: Path, votes: int = 1) -> None:
        self.store, port = folder / "answers.db", free_port()
        self.address, self.link = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/?token={TOKEN}"
        command = [sys.executable, "-m", "tests.support.review_cases", str(folder), str(port), str(votes)]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._number = 0

    def start(self) -> None:
        """Starts a server; it listens."""
        assert self._parent.stdin and self._parent.stdout
        self._parent.stdin.write("start\n")
        self._parent.stdin.flush()
        told = self._parent.stdout.readline().strip()
        assert told.isdigit(), f"the server did not start: {told}"
        self._number = int(told)

    def kill(self) -> None:
        """Ends the server as a power failure of its process would."""
        os.kill(self._number, signal.SIGKILL)

    def close(self) -> None:
        """Ends everything."""
        with suppress(ProcessLookupError):
            self.kill()
        self._parent.communicate()


def _serve_again_and_again(folder: Path, port: int, votes: int) -> None:
    """For each line on standard input a server in a process of its own, whose number is printed when it listens.

    Forked, because importing takes longer than serving.
    """
    import uvicorn.protocols.http.h11_impl  # noqa: F401 (so that the children need not)

    import trilabel.review.app
    import trilabel.review.gate  # noqa: F401

    dataset = make_dataset(folder, 800)
    proposals = make_proposals(dataset)
    options = ReviewOptions(folder, folder / "answers.db", votes=votes, port=port)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        if os.fork() == 0:
            try:
                with serving(dataset, proposals, options, TOKEN) as (_, serve):
                    print(os.getpid(), flush=True)
                    serve()
            except BaseException as error:  # whoever waits for the number must not wait for ever
                print(repr(error), flush=True)
            finally:
                os._exit(0)


def free_port() -> int:
    """A port that nobody listens at, and that no connection is given by chance while the server is down."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise OSError("no free port")


if __name__ == "__main__":
    _serve_again_and_again(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
