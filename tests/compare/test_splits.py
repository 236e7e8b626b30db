"""Rows of the splits, worked out once."""

from dataclasses import replace

import numpy as np

from trilabel.compare import splits
from trilabel.compare.splits import TrainingSplits
from trilabel.training.splits import split_for_training


def test_rows_are_those_of_training_and_worked_out_once_per_setting(small_scenes, quick, monkeypatch):
    calls = []

    def counted(dataset, config):
        calls.append((config.train_split, config.val))
        return split_for_training(dataset, config)

    monkeypatch.setattr(splits, "split_for_training", counted)
    found = TrainingSplits(small_scenes)
    settings = [("train", "auto"), ("train", "0.25"), ("train", "none"), ("val", "test")]
    for _ in range(2):
        for train_split, val in settings:
            config = replace(quick, train_split=train_split, val=val, seed=len(calls))
            _, train, chosen_by = split_for_training(small_scenes, config)
            rows = found.of(config)
            assert np.array_equal(rows.train, train) and np.array_equal(rows.val, chosen_by)
    assert calls == settings
