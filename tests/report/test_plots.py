"""Plots: what is drawn, read back from the figure."""

from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from PIL import Image

from trilabel.report import plots, similarity


def test_bars_have_the_heights_and_colors_of_their_series(tmp_path: Path) -> None:
    panel = plots.Bars("title", "mAP", {"one": [80.0, None], "two": [None, 60.5]}, reference=80.0)
    figure = plots.bars(["all", "some"], [panel, panel])
    axes = figure.axes[1]
    drawn = [
        (round(bar.get_x() + bar.get_width() / 2, 6), bar.get_height(), bar.get_facecolor()) for bar in axes.patches
    ]
    assert [(x, height) for x, height, _ in drawn] == [(0, 80.0), (1, 60.5)]  # a lone bar stands in the middle
    legend = figure.legends[0]
    colors = {
        text.get_text(): patch.get_facecolor() for text, patch in zip(legend.texts, legend.get_patches(), strict=True)
    }
    assert to_hex(colors["one"]) == to_hex(drawn[0][2]).lower()
    assert to_hex(colors["two"]) == to_hex(drawn[1][2]).lower()
    plots.save(figure, tmp_path / "bars.png")
    with Image.open(tmp_path / "bars.png") as picture:
        assert picture.size[0] > 500
    assert [file.name for file in tmp_path.iterdir()] == ["bars.png"]


def test_the_highest_point_of_a_line_is_not_cut_off() -> None:
    figure = plots.lines(
        [plots.Lines("t", "loss", {"a": [4.0, 4.6]}), plots.Lines("t", "loss", {"a": [0.0]})], ["s"] * 2
    )
    assert [axes.get_ylim() for axes in figure.axes] == [(0, pytest.approx(4.83)), (0, 1)]


def test_a_long_text_keeps_its_end() -> None:
    assert plots.keep_end("abcdef", 6) == "abcdef" and plots.keep_end("abcdefg", 6) == "…cdefg"


def test_names_in_plots_have_no_control_characters(tmp_path: Path) -> None:
    assert plots.keep_end("\x1b[31m$a$\n\u202e", 40) == "\\x1b[31m$a$\\n\\u202e"
    figure = similarity.label_matrix([("$\\frac{$", "\x1b\udc80", 1.0)], ["$\\frac{$", "\x1b\udc80"])
    plots.save(figure, tmp_path / "labels.png")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["$\\frac{$", "\\x1b\\udc80"]
