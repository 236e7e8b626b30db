"""Histograms of probabilities: what is drawn, read back from the figure."""

import numpy as np
import pytest
from PIL import Image

from trilabel.report import plots, probabilities

RECORD = {
    "stage": "fine-tune",
    "epoch": 3,
    "probabilities": {
        "known_present": [0] * 5 + [3] + [0] * 13 + [9],
        "known_absent": [700] + [1] * 19,
        "unknown": list(range(100_000, 100, -4995)),
    },
    "val_probabilities": {"present": [1] * 10 + [3] * 10, "absent": [50] + [0] * 19},
}  # fmt: skip


def test_every_kind_is_drawn_with_its_counts_and_presents_say_how_many_are_missed(tmp_path):
    figure = probabilities.histograms(RECORD)
    training, validation = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Training images, epoch 3", "Validation images, epoch 3"
    ]  # fmt: skip
    for axes, name in ((training, "probabilities"), (validation, "val_probabilities")):
        outlines = [patch for patch in axes.patches if not patch.get_fill()]
        for outline, counts in zip(outlines, RECORD[name].values(), strict=True):
            values, edges, _ = outline.get_data()
            assert values.tolist() == counts and np.allclose(edges, np.linspace(0, 1, 21))
        filled = [patch.get_data().values.tolist() for patch in axes.patches if patch.get_fill()]
        assert filled == list(RECORD[name].values())
        assert axes.get_yscale() == "log" and 0 < axes.get_ylim()[0] < 1
    assert [text.get_text() for text in training.get_legend().texts] == [
        "known present (25.0 % below 0.5)", "known absent", "unknown"
    ]  # fmt: skip
    assert [text.get_text() for text in validation.get_legend().texts] == ["present (25.0 % below 0.5)", "absent"]
    colors = {
        text.get_text().split(" (")[0]: handle.get_color()
        for axes in figure.axes
        for handle, text in zip(axes.get_legend().legend_handles, axes.get_legend().texts, strict=True)
    }
    assert colors["present"] == colors["known present"] != colors["known absent"] == colors["absent"]
    plots.save(figure, tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as picture:
        assert picture.size[0] > 1000


def test_without_validation_or_without_anything():
    only = {name: value for name, value in RECORD.items() if name != "val_probabilities"}
    assert len(probabilities.histograms(only).axes) == 1
    assert probabilities.has_some(only) and probabilities.has_some(RECORD)
    assert not probabilities.has_some({"epoch": 1, "loss": 0.5}) and not probabilities.has_some({"probabilities": {}})
    nothing = {"epoch": 1, "probabilities": {"known_present": [0] * 20, "unknown": [5] * 20}}
    legend = probabilities.histograms(nothing).axes[0].get_legend()
    assert [text.get_text() for text in legend.texts] == ["known present", "unknown"]


@pytest.mark.parametrize(("counts", "share"), [([3, 1], 0.75), ([0, 0], None), ([0, 4], 0.0), ([1, 1, 1, 1], 0.5)])
def test_the_share_below_a_half(counts, share):
    assert probabilities.below_half(counts) == share
