"""Histograms of probabilities: what is drawn, read back from the figure."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from trilabel.report import plots, probabilities
from trilabel.training.record import EpochRecord

RECORD = EpochRecord(
    stage="fine-tune",
    epoch=3,
    loss=0.5,
    probabilities={
        "known_positives": [0] * 5 + [3] + [0] * 13 + [9],
        "known_negatives": [700] + [1] * 19,
        "unknown": list(range(100_000, 100, -4995)),
    },
    val_probabilities={"positives": [1] * 10 + [3] * 10, "negatives": [50] + [0] * 19},
)


def test_every_kind_is_drawn_with_its_counts_and_positives_say_how_many_are_missed(tmp_path):
    figure = probabilities.histograms(RECORD)
    training, validation = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Training images, epoch 3", "Validation images, epoch 3"
    ]  # fmt: skip
    for axes, name in ((training, "probabilities"), (validation, "val_probabilities")):
        outlines = [patch for patch in axes.patches if not patch.get_fill()]
        for outline, counts in zip(outlines, getattr(RECORD, name).values(), strict=True):
            values, edges, _ = outline.get_data()
            assert values.tolist() == counts and np.allclose(edges, np.linspace(0, 1, 21))
        filled = [patch.get_data().values.tolist() for patch in axes.patches if patch.get_fill()]
        assert filled == list(getattr(RECORD, name).values())
        assert axes.get_yscale() == "log" and 0 < axes.get_ylim()[0] < 1
    assert [text.get_text() for text in training.get_legend().texts] == [
        "known positives (25.0 % below 0.5)", "known negatives", "unknown"
    ]  # fmt: skip
    assert [text.get_text() for text in validation.get_legend().texts] == ["positives (25.0 % below 0.5)", "negatives"]
    colors = {
        text.get_text().split(" (")[0]: handle.get_color()
        for axes in figure.axes
        for handle, text in zip(axes.get_legend().legend_handles, axes.get_legend().texts, strict=True)
    }
    assert colors["positives"] == colors["known positives"] != colors["known negatives"] == colors["negatives"]
    plots.save(figure, tmp_path / "p.png")
    with Image.open(tmp_path / "p.png") as picture:
        assert picture.size[0] > 1000


def test_without_validation_or_without_anything():
    only = replace(RECORD, val_probabilities={})
    assert len(probabilities.histograms(only).axes) == 1
    assert probabilities.has_some(only) and probabilities.has_some(RECORD)
    assert not probabilities.has_some(EpochRecord("fine-tune", 1, 0.5))
    nothing = replace(only, probabilities={"known_positives": [0] * 20, "unknown": [5] * 20})
    legend = probabilities.histograms(nothing).axes[0].get_legend()
    assert [text.get_text() for text in legend.texts] == ["known positives", "unknown"]


def test_without_held_out_images_it_says_what_was_scored():
    titles = [axes.get_title(loc="left") for axes in probabilities.histograms(RECORD, in_folds=True).axes]
    assert titles[1] == "Training images, each scored\nwithout having learned it, epoch 3"


def test_the_caption_tells_of_a_second_row_where_there_is_one():
    assert "second row" not in probabilities.caption([RECORD])
    assert "second row" in probabilities.caption([RECORD, hidden([4] + [0] * 19, [90] + [0] * 19)])


def test_no_bin_is_behind_the_legend():
    figure = probabilities.histograms(RECORD)
    figure.draw_without_rendering()
    for axes in figure.axes:
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0


@pytest.mark.parametrize(("counts", "share"), [([3, 1], 0.75), ([0, 0], None), ([0, 4], 0.0), ([1, 1, 1, 1], 0.5)])
def test_the_share_below_a_half(counts, share):
    assert probabilities.below_half(counts) == share


def hidden(positives, negatives, rest=0):
    """An epoch with hidden labels, and this many unknown ones beside them of which nobody knows."""
    unknown = (np.array(positives) + negatives).tolist()
    unknown[0] += rest
    counts = {"known_positives": [1] * 20, "known_negatives": [0] * 20, "unknown": unknown}
    counts |= {"hidden_positives": positives, "hidden_negatives": negatives}
    return replace(RECORD, probabilities=counts)


def test_hidden_labels_are_drawn_by_their_truth_and_over_the_epochs(tmp_path):
    early, late = [4] + [0] * 19, [1] + [0] * 18 + [3]
    negatives = [90] + [0] * 18 + [10]
    history = [RECORD, hidden(early, negatives), hidden(late, negatives)]  # the first of an earlier version
    figure = probabilities.histograms(history[-1], history)
    training, _, positives, others, scale = figure.axes
    assert [text.get_text() for text in training.get_legend().texts] == [
        "known positives (50.0 % below 0.5)", "known negatives",
        "hidden positives (25.0 % below 0.5)", "hidden negatives",
    ]  # fmt: skip
    assert positives.get_title(loc="left").endswith("hidden positives") and scale.get_ylabel().startswith("share")
    shares = positives.collections[0].get_array()
    assert shares.shape == (20, 3) and shares[:, 2].compressed().tolist() == [0.25, 0.75] and shares[0, 1] == 1
    assert shares.mask[:, 0].all() and others.collections[0].get_array()[19, 1] == pytest.approx(0.1)
    partly = probabilities.histograms(hidden(late, negatives, rest=5)).axes[0].get_legend()
    assert "unknown" in [text.get_text() for text in partly.texts]
    plots.save(figure, tmp_path / "p.png")


def test_without_hidden_positives_there_is_one_course():
    history = [replace(hidden([0] * 20, [5] * 20), val_probabilities={})] * 2
    titles = [axes.get_title(loc="left") for axes in probabilities.histograms(history[-1], history).axes]
    assert titles == ["Training images, epoch 3", "Unknown labels: hidden negatives", ""]
