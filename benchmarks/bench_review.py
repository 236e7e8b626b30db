"""The review page with many proposals and many people at once: how long pages and keys take, and how much memory.

python benchmarks/bench_review.py            (20,000 images × 200 classes)
python benchmarks/bench_review.py --full     (100,000 images × 1,000 classes)

A server in a process of its own, with scores made up; people who open pages, load their pictures and press keys, each
answer sent by itself. Exits with 1 where the first page takes a second or more, the 99th percentile of answers is
100 ms or more, or the server holds 1 GB or more.
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

TOKEN, PICTURES = "bench", 64
FIRST_PAGE, ANSWER, MEMORY = 1.0, 0.1, 1e9


def make_data(folder: Path, images: int, classes: int) -> None:
    """scores.npy, and a few photographs that all images share."""
    generator = np.random.default_rng(0)
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.float32, (images, classes))
    for start in range(0, images, 5000):
        scores[start : start + 5000] = generator.normal(-5, 2, (len(scores[start : start + 5000]), classes))
    scores.flush()
    for number in range(PICTURES):
        pixels = generator.integers(0, 256, (30, 40, 3), np.uint8)
        Image.fromarray(pixels).resize((1600, 1200), Image.Resampling.BICUBIC).save(folder / f"{number}.jpg")


def serve(folder: Path, port: int) -> None:
    """A server with one known positive per image."""
    from trilabel.data.dataset import Dataset
    from trilabel.labels import Labels
    from trilabel.review.proposals import Proposals
    from trilabel.review.serving import ReviewOptions, serving

    logits = np.load(folder / "scores.npy", mmap_mode="r")
    images, classes = logits.shape
    ids, names = (f"photo{number:07}.jpg" for number in range(images)), (f"class {n}" for n in range(classes))
    drawn = np.random.default_rng(1).integers(0, classes, images)
    labels = Labels.from_entries(np.arange(images), drawn, np.ones(images, np.int8), names, ids)
    paths = [str(folder / f"{number}.jpg") for number in range(PICTURES)]
    dataset = Dataset(labels.ids, [paths[number % PICTURES] for number in range(images)], labels)
    half = np.full(classes, 0.5)
    proposals = Proposals(labels, logits, 1.0, np.zeros(classes), half, half - 0.1, np.ones(images, bool), "bench")
    with serving(dataset, proposals, ReviewOptions(folder, folder / "answers.db", port=port), TOKEN) as (link, run):
        print(link, flush=True)
        run()


class Person(threading.Thread):
    """Opens sheets, loads their pictures, and presses a key every now and then."""

    def __init__(self, port: int, number: int, classes: int, until: float, pause: float) -> None:
        super().__init__()
        self.who, self._classes, self._until, self._pause = f"person-{number}", classes, until, pause
        self._draw = np.random.default_rng(number)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Origin": f"http://127.0.0.1:{port}", "Content-Type": "application/json"}
        self.pages, self.pictures, self.answers = list[float](), list[float](), list[float]()
        self._get(f"/?token={TOKEN}", [])

    def run(self) -> None:
        """Until the time is over."""
        while time.monotonic() < self._until:
            images = self._draw.random() < 0.5
            view = "images?order=uncertain&new=1" if images else f"grid/{self._draw.integers(self._classes)}?new=1"
            page = self._get(f"/by/{self.who}/{view}", self.pages)
            for source in re.findall(r'(?:src|data-src)="(/by/[^"]+/image/[^"]+)"', page)[:24]:
                self._get(source, self.pictures)
            sheet = re.search(r'data-sheet="([^"]*)"', page)
            for row, column in re.findall(r'data-row="(\d+)" data-column="(\d+)"', page)[:24]:
                self._answer(sheet[1] if sheet else "", "images" if images else "grid", int(row), int(column))
                time.sleep(self._draw.exponential(self._pause))
                if time.monotonic() > self._until:
                    return

    def _get(self, path: str, times: list[float]) -> str:
        start = time.perf_counter()
        while True:
            self._connection.request("GET", path, headers=self._headers)
            answer = self._connection.getresponse()
            body = answer.read()
            if cookie := answer.getheader("set-cookie"):
                self._headers["Cookie"] = cookie.partition(";")[0]
            if answer.status != 303:
                assert answer.status == 200, (path, answer.status, body[:200])
                times.append(time.perf_counter() - start)
                return body.decode("latin-1")
            path = str(answer.getheader("location"))

    def _answer(self, sheet: str, view: str, row: int, column: int) -> None:
        given = [{"row": row, "column": column, "value": 1 if self._draw.random() < 0.5 else -1}]
        body = json.dumps({"batch": f"{time.time_ns()}", "sheet": sheet, "view": view, "answers": given})
        start = time.perf_counter()
        self._connection.request("POST", f"/by/{self.who}/answers", body, self._headers)
        answer = self._connection.getresponse()
        assert answer.status == 200 and json.loads(answer.read())["saved"] == 1
        self.answers.append(time.perf_counter() - start)


def told(name: str, seconds: list[float]) -> str:
    """A line with the middle, the 99th percentile and the longest."""
    middle, late, longest = np.quantile(np.array(seconds), [0.5, 0.99, 1]) * 1000
    return (
        f"{name:<9} {len(seconds):>6,} ×   median {middle:>6.1f} ms   99 % {late:>6.1f} ms   longest {longest:>6.0f} ms"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="100,000 images × 1,000 classes")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=0.5, help="between the keys of one person, on average")
    parser.add_argument("--serve", nargs=2, metavar=("FOLDER", "PORT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Path(options.serve[0]), int(options.serve[1]))
        return 0
    images, classes = (100_000, 1_000) if options.full else (20_000, 200)
    with tempfile.TemporaryDirectory() as name:
        make_data(Path(name), images, classes)
        start = time.perf_counter()
        command = [sys.executable, __file__, "--serve", name, "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout
                port = int(re.search(r":(\d+)/", server.stdout.readline())[1])  # type: ignore[index]
                print(f"{images:,} images × {classes:,} classes, ready after {time.perf_counter() - start:.1f} s")
                return measure(server.pid, port, classes, options)
            finally:
                server.kill()


def measure(server: int, port: int, classes: int, options: argparse.Namespace) -> int:
    """Prints what was measured; 1 where something takes too long."""
    until = time.monotonic() + options.seconds
    first = Person(port, 0, classes, until, options.pause)
    first._get("/by/person-0/", home := [])
    first._get("/by/person-0/grid/7", page := [])
    print(f"first pages: home {home[0] * 1000:.0f} ms, a grid {page[0] * 1000:.0f} ms")
    people = [first, *(Person(port, number, classes, until, options.pause) for number in range(1, options.people))]
    memory = []
    for person in people:
        person.start()
    while any(person.is_alive() for person in people):
        memory.append(psutil.Process(server).memory_info().rss)
        time.sleep(0.2)
    kinds = {
        kind: [seconds for person in people for seconds in getattr(person, kind)]
        for kind in ("pages", "pictures", "answers")
    }
    print(f"{options.people} people at once, {len(kinds['answers']) / options.seconds:.0f} answers a second")
    for kind, seconds in kinds.items():
        print(told(kind, seconds))
    late, most = float(np.quantile(kinds["answers"], 0.99)), max(memory)
    print(f"memory of the server: {most / 1e6:.0f} MB at most, {memory[-1] / 1e6:.0f} MB at the end")
    missed = max(home + page) >= FIRST_PAGE or late >= ANSWER or most >= MEMORY
    print(f"{'missed' if missed else 'met'}: first pages under 1 s, answers under 100 ms (99 %), memory under 1 GB")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
