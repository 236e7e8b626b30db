"""What the tests of formats look at: refusals, labels by image, rows of splits."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trilabel.data import Dataset
from trilabel.errors import TrilabelError


def refusal_of(read: Callable[..., Dataset]) -> Callable[..., str]:
    """A function that reads, expects to be refused in one line, and gives that line with ROOT for the path."""

    def refusal(path: Path, root: Path | None = None, **options: Any) -> str:
        with pytest.raises(TrilabelError) as caught:
            read(path, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value).replace(str(root or path), "ROOT")

    return refusal


def known(dataset: Dataset) -> dict[str, list[int]]:
    """The labels of each image."""
    return dict(zip(dataset.ids, dataset.labels.to_signed().tolist(), strict=True))


def rows(dataset: Dataset) -> dict[str, list[int]]:
    """The rows of each split."""
    return {name: index.tolist() for name, index in dataset.splits.items()}
