"""Decoding images in the order of an epoch, from WebDataset, Arrow and Parquet shards, against files in a folder.

python benchmarks/bench_shards.py

Writes 600 JPEG files of noise (500 × 375) and the same images as shards, reads the index of each and decodes all in
the order that training would take them in, with room for a fifth of the row groups. Prints processor time and how much
memory grew, and exits with 1 where shards take more than 1.5 times as long as files.
"""

import argparse
import io
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

SHARDS, ROWS_IN_GROUP, SIZE, KEPT = 5, 40, 224, 10 << 20
MOST_TIME = 1.5


def write(root: Path, count: int) -> None:
    """The same images in four ways."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw, pictures = np.random.default_rng(0), []
    (root / "files").mkdir()
    for number in range(count):
        small = Image.fromarray(draw.integers(0, 256, (47, 63, 3), np.uint8)).resize(
            (500, 375), Image.Resampling.BICUBIC
        )
        out = io.BytesIO()
        small.save(out, "JPEG", quality=92)
        pictures.append(out.getvalue())
        (root / f"files/{number:05}.jpg").write_bytes(pictures[-1])
    for kind in ("tar", "parquet", "arrow"):
        (root / kind).mkdir()
    for shard, part in enumerate(np.array_split(np.arange(count), SHARDS)):
        with tarfile.open(root / f"tar/{shard}.tar", "w") as out_tar:
            for number in part.tolist():
                for end, content in (("jpg", pictures[number]), ("cls", b"0")):
                    info = tarfile.TarInfo(f"{number:05}.{end}")
                    info.size = len(content)
                    out_tar.addfile(info, io.BytesIO(content))
        table = pa.table({"image": [{"bytes": pictures[n], "path": None} for n in part], "label": ["x"] * len(part)})
        pq.write_table(table, root / f"parquet/{shard}.parquet", row_group_size=ROWS_IN_GROUP)
        with (
            pa.OSFile(str(root / f"arrow/{shard}.arrow"), "wb") as sink,
            pa.ipc.new_stream(sink, table.schema) as writer,
        ):
            writer.write_table(table, max_chunksize=ROWS_IN_GROUP)


def measure(kind: str, root: Path) -> None:
    """Prints seconds for the index, seconds for decoding, megabytes that memory grew, and the mean of all pixels."""
    from trilabel.archives import table_rows
    from trilabel.data import read
    from trilabel.data.blocks import blocks_of, shuffled
    from trilabel.data.decode import decode
    from trilabel.data.image_paths import find_images

    table_rows.KEPT_BYTES = KEPT
    start = time.process_time()
    folder = root / ("parquet" if kind == "parquet, any order" else kind)
    paths = find_images(folder) if kind == "files" else read(folder).paths
    index = time.process_time() - start
    decode(paths[0], SIZE)
    blocks = None if "any" in kind else blocks_of(paths)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    total = sum(float(decode(paths[row], SIZE).float().mean()) for row in shuffled(len(paths), [0], blocks))
    seconds = time.process_time() - start
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(index, seconds, growth, total / len(paths))


def main() -> int:
    """Measures each way in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--measure", nargs=2)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], Path(arguments.measure[1]))
        return 0
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), arguments.images)
        base = means = 0.0
        for kind in ("files", "tar", "arrow", "parquet", "parquet, any order"):
            command = [sys.executable, __file__, "--measure", kind, folder]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            index, seconds, growth, mean = map(float, told.split())
            base, means = base or seconds, means or mean
            assert abs(mean - means) < 1e-6
            missed |= seconds > MOST_TIME * base and "any" not in kind
            print(
                f"{kind:20} index {index:5.2f} s, {1000 * seconds / arguments.images:6.2f} ms an image, "
                f"{seconds / base:5.2f} × files, memory + {growth:4.0f} MB"
            )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
