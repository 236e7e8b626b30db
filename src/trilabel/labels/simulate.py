"""The label settings that the papers train under, by name: "keep-share=0.1", "single-positive", …

What they do is in `hiding`, whose functions can be called from here as well.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from trilabel.errors import TrilabelError
from trilabel.labels.hiding import (
    checked_share,
    dense_share,
    fixed_per_class,
    keep_share,
    noisy,
    noisy_plus,
    per_class,
    single_positive,
    some_images,
    tags,
)
from trilabel.labels.matrix import Labels

__all__ = [
    "SETTINGS",
    "LabelSetting",
    "apply",
    "apply_to_rows",
    "dense_share",
    "fixed_per_class",
    "keep_share",
    "noisy",
    "noisy_plus",
    "per_class",
    "single_positive",
    "some_images",
    "split_images",
    "tags",
]


class LabelSetting(NamedTuple):
    """A label setting as the command line knows it: its name, followed by `values`."""

    function: Callable[..., Labels]
    values: str  # how they are written on the command line
    parameters: dict[str, type[int] | type[float]]  # the parameters of the function, in order
    needs: int  # how many of them are required
    description: str


_SHARE: tuple[str, dict[str, type[int] | type[float]], int] = ("=SHARE", {"share": float}, 1)
SETTINGS: Mapping[str, LabelSetting] = {
    "keep-share": LabelSetting(
        keep_share,
        "=SHARE[,TIMES]",
        {"share": float, "positives_times": float},
        1,
        "keep each known label with this probability, present ones TIMES (1) as often as absent ones",
    ),
    "keep-share-per-image": LabelSetting(
        partial(keep_share, per_image=True), *_SHARE, "keep a share of each image's known labels, at least one"
    ),
    "dense-share": LabelSetting(dense_share, *_SHARE, "keep all labels of a share of the images, none of the rest"),
    "noisy": LabelSetting(noisy, *_SHARE, "flip a share of the known labels"),
    "noisy-plus": LabelSetting(noisy_plus, "", {}, 0, "keep one present label per image, make the rest absent"),
    "per-class": LabelSetting(per_class, *_SHARE, "keep all labels of a share of the classes, none of the rest"),
    "fixed-per-class": LabelSetting(
        fixed_per_class, "=COUNT", {"count": int}, 1, "keep this many present and absent labels of each class"
    ),
    "tags": LabelSetting(
        tags,
        "=RATE[,HIGHEST[,FULL]]",
        {"low": float, "high": float, "full": float},
        1,
        "keep present labels only, at a rate for each class; of a share FULL of the images keep all",
    ),
    "single-positive": LabelSetting(
        single_positive,
        "[=POSITIVES[,NEGATIVES]]",
        {"positives": int, "negatives": int},
        0,
        "keep this many present (1) and absent (0) labels per image",
    ),
}


_IMAGES = "images"  # the setting that leaves whole images out of training, before labels are hidden


def apply(labels: Labels, setting: str, seed: int | None = None) -> Labels:
    """Applies a setting written as text, such as "keep-share=0.1", "noisy-plus" or "single-positive=2,3".

    Without a seed, the setting's default is used.
    """
    name, equals, text = setting.partition("=")
    if name == _IMAGES:
        raise TrilabelError(f"{setting!r} leaves images out, not labels: pass it to `train --hide` or `compare`")
    if name not in SETTINGS:
        usages = ", ".join(each + SETTINGS[each].values for each in SETTINGS)
        raise TrilabelError(f"no label setting named {name!r}; there are: {usages}")
    function, values, parameters, needs, _ = SETTINGS[name]
    words = text.split(",") if equals else []
    options: dict[str, float] = {} if seed is None else {"seed": seed}
    unreadable = TrilabelError(f"label setting {setting!r} cannot be read; write {name}{values}")
    if not needs <= len(words) <= len(parameters):
        raise unreadable
    try:
        options |= {key: kind(word) for (key, kind), word in zip(parameters.items(), words, strict=False)}
    except ValueError:
        raise unreadable from None
    return function(labels, **options)


def split_images(setting: str) -> tuple[float | None, str]:
    """(share of the images to keep at all, the label setting of these): "images=0.1+single-positive" has both.

    >>> split_images("images=0.1+single-positive"), split_images("images=0.5"), split_images("noisy-plus")
    ((0.1, 'single-positive'), (0.5, ''), (None, 'noisy-plus'))
    """
    first, plus, rest = setting.partition("+")
    name, _, text = first.partition("=")
    if name != _IMAGES:
        return None, setting
    try:
        if plus and not rest:
            raise ValueError
        return checked_share(float(text)), rest
    except ValueError as error:
        says = f" ({error})" if isinstance(error, TrilabelError) else ""
        write = f"write {_IMAGES}=SHARE or {_IMAGES}=SHARE+SETTING"
        raise TrilabelError(f"{setting!r} cannot be read{says}; {write}") from None


def apply_to_rows(labels: Labels, rows: Any, setting: str, seed: int | None = None) -> Labels:
    """Applies a setting to these images only, in the order given; the others keep their labels.

    `rows` is any NumPy index of images (a split's row numbers, a mask) without duplicates.
    """
    rows = np.arange(len(labels))[rows]
    changed = apply(labels[rows], setting, seed)
    source = np.arange(len(labels))
    source[rows] = len(labels) + np.arange(len(rows))
    stacked = sp.vstack([labels.csr, changed.csr], format="csr")
    return Labels(stacked[source], labels.classes, labels.ids)
