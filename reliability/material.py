"""The small data set of all trials, as a person would have it: a folder of images and a table with holes in it."""

from pathlib import Path

SIZE = 32


def write_project(folder: Path, train: int = 32, val: int = 16, test: int = 16) -> Path:
    """Images of drawn scenes, labels.csv in which half of the labels are unknown, and a second table to merge."""
    from tests.support.project import write_images_and_table

    from trilabel.data.scenes import scenes

    table = write_images_and_table(folder, scenes(train=train, val=val, test=test, size=SIZE), prefix="photos/")
    other = table.iloc[::2, :5].rename(columns={table.columns[4]: "another class"})
    other.to_csv(folder / "other.csv", index=False)
    return folder
