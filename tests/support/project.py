"""A data set as a person would have it: a folder of images and a table with holes in it."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from trilabel.data.dataset import Dataset


def write_images_and_table(folder: Path, drawn: Dataset, prefix: str = "") -> pd.DataFrame:
    """photos/*.png, and labels.csv in which half of the labels but those of the test split are unknown."""
    (folder / "photos").mkdir(parents=True)
    assert drawn.images is not None
    names = [f"{name}.png" for name in drawn.ids]
    for name, image in zip(names, drawn.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(folder / "photos" / name)
    signed = drawn.labels.to_signed()
    hidden = np.random.default_rng(0).random(signed.shape) < 0.5
    hidden[drawn.rows_of("test")] = False
    table = pd.DataFrame(np.where(hidden, "", np.where(signed > 0, "1", "0")), columns=list(drawn.classes))
    split = np.empty(len(names), object)
    for name, rows in drawn.splits.items():
        split[rows] = name
    table.insert(0, "image", [prefix + name for name in names])
    table["split"] = split
    table.to_csv(folder / "labels.csv", index=False)
    return table
