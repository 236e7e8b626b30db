"""The small data set of all trials, as a person would have it: a folder of images and a table with holes in it."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

SIZE = 32


def write_project(folder: Path, train: int = 32, val: int = 16, test: int = 16) -> Path:
    """Images of drawn scenes, labels.csv in which half of the labels are unknown, and a second table to merge."""
    from trilabel.data.scenes import scenes

    drawn = scenes(train=train, val=val, test=test, size=SIZE)
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
    table.insert(0, "image", [f"photos/{name}" for name in names])
    table["split"] = split
    table.to_csv(folder / "labels.csv", index=False)
    other = table.iloc[::2, :5].rename(columns={table.columns[4]: "another class"})
    other.to_csv(folder / "other.csv", index=False)
    return folder
