"""What would fail at the end of a comparison is refused before its first run."""

from dataclasses import replace

import numpy as np
import pytest

from trilabel.compare import Comparison, MethodRow, Spec
from trilabel.errors import TrilabelError


@pytest.mark.parametrize(
    ("changes", "options", "says"),
    [
        ({}, {"test": "tset"}, "no split named 'tset'"),
        ({}, {"test": "empty"}, "'empty' has no images to score"),
        ({}, {"test": "val"}, "a: images of split 'val' are also used to learn or to choose the epoch"),
        ({}, {"test": "train"}, "images of split 'train' are also used to learn"),
        ({}, {"published": ["voc2021"]}, "'voc2021'.*did you mean 'voc20"),
        ({"labels": ("single",)}, {}, "no label setting named 'single'"),
        ({"labels": ("keep-share=much",)}, {}, "cannot be read"),
        ({"search_labels": "single"}, {}, "no label setting named 'single'"),
        ({"seeds": (0, -1)}, {}, "a: seed must be 0 or more"),
        ({"rows": "aa"}, {}, "two rows are named 'a'"),
        ({"rows": "n"}, {}, "n: a search needs validation images"),
        ({"rows": "x"}, {}, "x: no setting of a run named 'lrr'"),
    ],
)
def test_a_comparison_that_would_fail_at_its_end_is_refused(small_scenes, base, tmp_path, changes, options, says):
    data = replace(small_scenes, splits={**small_scenes.splits, "empty": np.zeros(0, np.int64)})
    rows = {
        "a": MethodRow("a", base),
        "n": MethodRow("n", replace(base, val="none"), grid={"lr": (1e-3, 1e-2)}),
        "x": MethodRow("x", base, grid={"lrr": (1e-3, 1e-2)}),
    }
    spec = replace(Spec(()), **{**changes, "rows": tuple(rows[name] for name in changes.get("rows", "a"))})
    with pytest.raises(TrilabelError, match=says):
        Comparison(data, spec, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            lambda base: Spec((MethodRow("a", base, grid={"lr": (1e-3, 1e-2)}),), search={"val": "test"}),
            "val cannot be searched",
        ),
        (lambda base: Spec((MethodRow("a", base, grid={"val": ("test", "val")}),)), "a: val cannot be searched"),
        (lambda base: Spec((MethodRow("a", base, grid={"seed": (1, 2)}),)), "a: seed cannot be searched"),
        (
            lambda base: Spec((MethodRow("a", replace(base, settings={"dleta": 1})),)),
            "a: method 'known-only' has no setting",
        ),
        (lambda base: Spec((MethodRow("a", replace(base, head="gapp")),)), "a: no head named 'gapp'"),
        (lambda base: Spec((MethodRow("a", base, grid={"settings.gamma": (1, "x")}),)), "a: setting 'gamma' of method"),
    ],
)
def test_names_that_a_run_would_refuse_are_refused(small_scenes, base, tmp_path, spec, says):
    with pytest.raises(TrilabelError, match=says):
        Comparison(small_scenes, spec(base), tmp_path)


def test_the_validation_split_may_be_scored_if_other_images_choose_the_epoch(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Spec((MethodRow("a", replace(base, val="0.2")),)), tmp_path, test="val").run()
    assert "--split val" in cell.command


def test_a_row_that_cannot_learn_from_some_labels_is_told_before_the_first_run(small_scenes, base, tmp_path, caplog):
    """Where validation labels decide, too; the comparison goes on without it."""
    rows = [
        MethodRow("full sample", replace(base, method="posterior")),
        MethodRow("no sample", replace(base, method="posterior", val="none")),
        MethodRow("known", base),
    ]
    Comparison(small_scenes, Spec(tuple(rows), labels=("tags=0.5",)), tmp_path / "out")
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [message.partition(":")[0] for message in said] == ["no sample, tags=0.5", "known, tags=0.5"]
    assert "cannot be learned from positives alone. Use --method posterior --set rates=given" in said[0]
