"""What reads a mutated file: every reader of data, images, run folders, specs and side tables, and the command line."""

import gzip
import io
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
from PIL import Image
from tests.data.formats import layouts

from reliability.material import SIZE
from reliability.target import Target, WrongEnd, command_line, read_data
from reliability.targets_of_runs import run_targets

CLASSES = ("cat", "dog", "stop sign")
_SPEC = """\
labels = ["all", "keep-share=0.5"]
seeds = [3, 4]
hide_seed = 7
[train]
epochs = 5
val = 0.2
precision = "bf16"
[search]
epochs = 1
budget = 3
grid = {lr = [1e-3, 1e-4]}
[rows.ROLE]
recipe = "cole2021-role"
[rows."LL, as they did"]
recipe = "kim2022-ll-ct"
as_published = true
labels = ["single-positive"]
settings.delta = 0.5
lr = 2e-5
search = "published"
[rows.own]
method = "hill"
head_settings.top = 0.1
search = {lr = [1.0], batch_size = [8, 16]}
"""
_SETTINGS = """\
--recipe=small
--method=known-only
--set=gamma=2
--set=head.top=0.1
--head=weldon
--epochs=3
--lr=0.1
--image-size=32
--stages=linear
--select=mAP
--relabel=score
"""


def make_targets(root: Path, made: Path) -> list[Target]:
    """All targets, their files below `root`. Nothing is trained: `write_run` has made the run, in `made`."""
    shutil.copytree(made, root / "run_folder")
    makers = (_formats, _compressed, _images, _files_of_comparisons, _side_tables)
    found = [target for maker in makers for target in maker(_new(root, maker.__name__.strip("_")))]
    return [*found, *run_targets(root / "run_folder")]


def _new(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    return folder


def _with_content(folder: Path) -> tuple[Path, ...]:
    return tuple(file for file in sorted(folder.rglob("*")) if file.is_file() and file.stat().st_size)


# ---- data


def _formats(root: Path) -> Iterator[Target]:
    for module in iter_modules(layouts.__path__):
        folder = _new(root, module.name)
        path: Path = import_module(f"tests.data.formats.layouts.{module.name}").write(folder)
        files = _with_content(folder)
        if files:
            yield Target(f"format {module.name}", files, partial(read_data, path), 8)
            yield Target(f"data inspect, {module.name}", files, partial(command_line, "data", "inspect", path))


def _compressed(root: Path) -> Iterator[Target]:
    for name in ("csv_wide", "csv_long", "csv_tags"):
        path: Path = import_module(f"tests.data.formats.layouts.{name}").write(_new(root, name))
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
        yield Target(f"compressed {name}", (packed,), partial(read_data, packed), 8)
    for name in ("csv_splits", "yolo", "coco"):
        folder = _new(root, f"archive_{name}")
        import_module(f"tests.data.formats.layouts.{name}").write(folder)
        archive = Path(shutil.make_archive(str(root / name), "zip", folder))
        yield Target(f"archive {name}", (archive,), partial(read_data, archive), 8)


# ---- images


def _images(root: Path) -> Iterator[Target]:
    y, x = np.mgrid[:40, :48]
    pixels = np.stack((5 * x, 6 * y, (x * y) % 256), 2).astype(np.uint8)
    color, gray = Image.fromarray(pixels), Image.fromarray(pixels[..., 2].astype(np.uint16) * 256)
    kinds: dict[str, tuple[Image.Image, dict[str, Any]]] = {
        "color.png": (color, {}),
        "palette.png": (color.convert("P"), {"transparency": 3}),
        "gray16.png": (gray, {}),
        "plain.jpg": (color, {"exif": _turned()}),
        "progressive.jpg": (color, {"progressive": True}),
        "cmyk.jpg": (color.convert("CMYK"), {}),
        "lossy.webp": (color, {}),
        "lossless.webp": (color, {"lossless": True}),
        "plain.tif": (color, {}),
        "packed.tif": (color, {"compression": "tiff_lzw"}),
        "gray16.tif": (gray, {}),
        "float.tif": (Image.fromarray(pixels[..., 0].astype(np.float32) / 255), {}),
        "moving.gif": (color, {"save_all": True, "append_images": [color.rotate(90)]}),
        "plain.bmp": (color, {}),
    }
    for name, (image, options) in kinds.items():
        path = root / name
        image.save(path, **options)
        yield Target(f"image {name}", (path,), partial(_decode, path), 8)


def _turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def _decode(path: Path) -> None:
    from trilabel.data.decode import check_image, decode

    check_image(str(path))
    image = decode(path, SIZE)
    if tuple(image.shape) != (3, SIZE, SIZE):
        raise WrongEnd(f"decoded as {tuple(image.shape)}")


# ---- specs, settings, results


def _files_of_comparisons(root: Path) -> Iterator[Target]:
    from trilabel.compare.checks import check_spec
    from trilabel.compare.spec_file import read_spec
    from trilabel.compare.store import read_result
    from trilabel.config import Config

    spec, settings, result = root / "spec.toml", root / "settings.txt", root / "result.json"
    spec.write_text(_SPEC)
    settings.write_text(_SETTINGS)
    result.write_text(
        '{"row": "a", "labels": "all", "seed": 0, "metrics": {"mAP": 0.5}, "validation": 0.5, "epoch": 1}'
    )
    base = Config(method="known-only", epochs=2, lr=3e-3, image_size=32, workers=0)
    # Rows of a spec are named, and may come from options too; settings are options, not a file.
    yield Target("spec.toml", (spec,), lambda: check_spec(read_spec(spec, base)), 30, named=False)
    yield Target("settings", (settings,), lambda: _parse_settings(settings), 10, named=False)
    yield Target("result.json", (result,), lambda: read_result(root), 8)


def _parse_settings(file: Path) -> None:
    """The lines as options of `trilabel train`, up to what is checked before data is read."""
    from trilabel.cli.arguments import UsageError
    from trilabel.cli.main import parse
    from trilabel.errors import TrilabelError
    from trilabel.methods import METHODS
    from trilabel.models import check_graph, check_head
    from trilabel.settings import settings_of

    words = file.read_bytes().decode(errors="surrogateescape").splitlines()
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            config = parse("train", ["scenes", *(word for word in words if word)]).chosen_config()  # type: ignore[attr-defined]
        except (SystemExit, UsageError):
            return
    if config.method not in METHODS:
        raise TrilabelError("no such method")
    settings_of(METHODS[config.method].Settings, config.settings, config.method)
    check_head(config.head, config.head_settings)
    check_graph(config.graph, config.graph_settings)


# ---- side tables


def _side_tables(root: Path) -> Iterator[Target]:
    from trilabel.data.merge.class_map import read_class_map
    from trilabel.data.side_tables import label_graph
    from trilabel.data.side_tables.class_vectors import read_vectors
    from trilabel.data.side_tables.side_information import read_groups
    from trilabel.labels.names import Names

    ids = Names([f"{number}.jpg" for number in range(6)])
    graph, groups, vectors, classes = (root / name for name in ("graph.csv", "groups.csv", "vectors.txt", "map.csv"))
    graph.write_text("label,neighbor,weight\ncat,dog,0.5\ndog,cat,0.25\nstop sign,dog,1\n")
    groups.write_text("image,group\n" + "".join(f"{name},{number % 2}\n" for number, name in enumerate(ids)))
    vectors.write_text("4 3\ncat 1 0 0\nDog 0 1 0\nstop 0 0 1\nsign 1e-3 .5 -2\n")
    classes.write_text("set,from,to\n,cat,feline\none,dog,\n,stop sign,sign\n")
    yield Target("label graph", (graph,), lambda: label_graph.from_file(graph, CLASSES), 10)
    yield Target("groups", (groups,), lambda: read_groups(groups, ids), 10)
    yield Target("class vectors", (vectors,), lambda: read_vectors(vectors, CLASSES, 3), 10)
    yield Target("class map", (classes,), lambda: read_class_map(classes), 10)
