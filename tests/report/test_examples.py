"""The course of single labels: what is drawn and printed is what was recorded, with gaps where nothing was."""

import numpy as np
import pytest
from PIL import Image

from trilabel.report import examples, plots
from trilabel.training.record import EpochRecord, Example

LOGITS = [[2.0, -1.0, -3.0], [3.0, 1.0, -4.0], [4.0, 0.5, -5.0]]


def record(epoch, *followed, stage="fine-tune"):
    return EpochRecord(stage, epoch, 0.5, examples=list(followed))


def history(truth=(1, 1, -1), targets=None):
    """Two images over three epochs; in the second epoch the first image has a further label, treated as present."""
    targets = targets or [[1, -1, -1], [1, 0, -1], [1, 1, -1]]
    found = []
    for epoch in (1, 2, 3):
        classes, known, true = ["cat", "dog", "cow"], [1, 0, 0], list(truth)
        logits, target = list(LOGITS[epoch - 1]), list(targets[epoch - 1])
        other = Example("b.jpg", classes, known, logits, true, target)
        if epoch == 2 and any(target):
            classes, known, logits, target = [*classes, "owl"], [*known, 0], [*logits, 1.5], [*target, 1]
            true = [*true, -1] if true else []
        found.append(record(epoch, Example("a.jpg", classes, known, logits, true, target), other))
    return found


def test_courses_have_a_value_for_every_epoch_and_gaps_elsewhere():
    found = examples.courses(history())
    assert list(found) == ["a.jpg", "b.jpg"]
    cat, dog, cow, owl = found["a.jpg"]
    assert [one.kind for one in (cat, dog, cow, owl)] == ["known positive", "hidden positive", *["true negative"] * 2]
    assert dog.logits == [-1.0, 1.0, 0.5] and dog.targets == [-1, 0, 1]
    assert dog.epochs_with(0) == [2] and dog.epochs_with(1) == [3] and cat.epochs_with(1) == []
    assert owl.logits == [None, 1.5, None] and owl.epochs_with(1) == [2]
    assert dog.losses() == pytest.approx(np.log1p(np.exp([-1.0, 1.0, 0.5])))
    assert cat.losses() == pytest.approx(np.log1p(np.exp([-2.0, -3.0, -4.0])))
    assert examples.courses([EpochRecord("linear", 1, 0.5)]) == {}, "as in runs of earlier versions"


def test_the_table_says_which_labels_were_treated_how_and_which_wrongly():
    header, rows = examples.table(history())
    assert header[0] == "image" and rows == [
        ["a.jpg", "cat", "dog", "dog (2)", "dog (3), owl (2; in truth absent)"],
        ["b.jpg", "cat", "dog", "dog (2)", "dog (3)"],
    ]  # fmt: skip
    assert examples.table(history(targets=[[], [], []]))[1] == []
    assert examples.table([EpochRecord("linear", 1, 0.5)])[1] == []


def test_the_picture_draws_losses_probabilities_and_marks(tmp_path):
    figure = examples.picture([*history(), record(1, *history()[0].examples, stage="more")])
    losses, first, *_ = figure.axes  # the last is the scale of colors
    lines = [line for line in losses.get_lines() if line.get_linestyle() != ":"]
    assert [line.get_ydata()[1] for line in lines] == pytest.approx(np.log1p(np.exp([-4, 1, -4, 1])))
    assert [text.get_text() for text in first.get_yticklabels()] == ["cat", "dog", "cow", "owl"]
    colors = first.collections[0].get_array()
    assert colors.shape == (4, 4) and colors[1, 1] == pytest.approx(1 / (1 + np.exp(-1)))
    assert colors.mask[3].tolist() == [True, False, True, True]
    marks = {
        (line.get_marker(), x, y) for line in first.get_lines() if line.get_linestyle() == "None"
        for x, y in line.get_xydata().tolist()
    }  # fmt: skip
    assert marks == {("X", 2, 1), ("o", 3, 1), ("o", 2, 3)}
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "known positive", "hidden positive", "true negative", "treated as present", "left out"
    ]  # fmt: skip
    plots.save(figure, tmp_path / "e.png")
    with Image.open(tmp_path / "e.png") as picture:
        assert picture.size[0] > 1000
    above = figure.legends[0].get_window_extent().y0
    assert all(above > axes.get_tightbbox().y1 for axes in figure.axes), "a caption has its place below"


def test_little_to_draw():
    one = Example(
        "$a_very/long/name/of/a/file/of/which/the/end/matters.jpg", ["a $class with a very long name"], [0], [1.0]
    )
    for course in (
        [record(1, one)],
        history(truth=(1, -1, -1), targets=[[], [], []]),
        [EpochRecord("linear", 1, 0.5), record(1, Example("a", ["cat"], [0], [0.0], [1]))],
    ):
        figure = examples.picture(course)
        figure.draw_without_rendering()
        ticks = figure.axes[0].get_xticks()
        assert all(tick == int(tick) for tick in ticks)
