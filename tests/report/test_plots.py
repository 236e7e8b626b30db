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


def test_names_of_classes_keep_start_and_end_and_are_not_cut_inside_a_letter() -> None:
    assert plots.keep_ends("a person who rides a horse", 20) == "a person who r…horse"
    accent, family = "e\N{COMBINING ACUTE ACCENT}", "👨‍👩‍👧"
    for letters in range(6, 40):
        short = plots.keep_ends(accent * 20, letters)
        assert short.count("e") == short.count(accent) and "…\N{COMBINING ACUTE ACCENT}" not in short
        end = plots.keep_end(f"{family} {family} {family} bird", letters)
        assert set(end.removeprefix("…").split()) <= {family, "bird"}


def test_other_scripts_are_drawn_in_fonts_that_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "_OTHER_FONTS", ("No Such Font", "STIXGeneral"))
    plots.other_fonts.cache_clear()
    figure = plots.lines([plots.Lines("\N{DOUBLE-STRUCK ITALIC SMALL D}", "%", {"a": [1.0]})], ["x"])
    plots.save(figure, tmp_path / "lines.png")
    plots.other_fonts.cache_clear()
    assert figure.axes[0].yaxis.label.get_fontfamily() == ["sans-serif", "STIXGeneral"]


def test_a_caption_stands_below_the_figure(tmp_path: Path) -> None:
    sizes = []
    for caption in ("", "what it shows " * 30):
        figure = plots.lines([plots.Lines("t", "%", {"a": [1.0]})], ["x"])
        plots.save(figure, tmp_path / "lines.png", caption)
        with Image.open(tmp_path / "lines.png") as picture:
            sizes.append(picture.size)
    assert sizes[1][1] > sizes[0][1] + 50 and sizes[1][0] < 1.1 * sizes[0][0], "longer, not wider"
