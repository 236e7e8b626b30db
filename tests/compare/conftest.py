"""What the tests of comparisons share."""

from dataclasses import replace

import pytest

import trilabel as tl
from trilabel.compare import runs


@pytest.fixture
def base(quick):
    """One epoch of `quick`."""
    return replace(quick, epochs=1)


@pytest.fixture
def trained(monkeypatch):
    """The folders in which runs were started, in order."""
    folders = []

    def noted(dataset, config, folder, **options):
        folders.append(folder)
        return tl.train(dataset, config, folder, **options)

    monkeypatch.setattr(runs, "train", noted)
    return folders
