"""Class maps as pictures: what is drawn, read back from the figure; what is written, and under which names."""

import string
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from PIL import Image

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.activation import ClassActivation
from trilabel.labels import Labels
from trilabel.report import class_maps
from trilabel.report.class_maps import ClassPanel, ImagePanels, KnownAnnotations

CLASSES = ["cat", "dog", "hen"]
WIDE = np.full((40, 80, 3), 90, np.uint8)


def activation(name="a", probabilities=(0.25, 0.875, 0.5)):
    maps = np.zeros((3, 4, 5), np.float32)
    maps[0, 1, 3], maps[1, 0, 0], maps[2] = 2.0, 7.0, -1.0
    return ClassActivation(name, WIDE, np.array(probabilities, np.float32), maps)


# ---- what to show


def test_the_highest_scoring_classes_or_those_chosen():
    (row,) = class_maps.select_panels([activation()], CLASSES, top=2)
    assert [(panel.name, panel.probability) for panel in row.panels] == [("dog", 0.875), ("hen", 0.5)]
    assert np.array_equal(row.panels[0].map, activation().maps[1]) and row.image is WIDE
    (row,) = class_maps.select_panels([activation()], CLASSES, top=9)
    assert [panel.name for panel in row.panels] == ["dog", "hen", "cat"]
    (row,) = class_maps.select_panels([activation()], CLASSES, top=1, chosen=["hen", "cat"])
    assert [panel.name for panel in row.panels] == ["hen", "cat"]
    assert [panel.label for panel in row.panels] == [0, 0] and not any(len(panel.boxes) for panel in row.panels)
    with pytest.raises(TrilabelError, match=r"no class 'hens'; did you mean 'hen'\?"):
        list(class_maps.select_panels([activation()], CLASSES, top=1, chosen=["cat", "hens"]))


def test_labels_and_boxes_are_those_of_the_image_and_the_class_of_that_name():
    labels = Labels.from_signed(np.array([[1, 0], [-1, 1], [1, -1]], np.int8), ["hen", "cat"], ["a", "b", "c"])
    corners = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
    boxes = Boxes(np.array([1, 0, 1, 1]), np.array([1, 0, 0, 1]), corners)
    data = Dataset(labels.ids, ["a", "b", "c"], labels, boxes=boxes)
    known = KnownAnnotations(data, np.array([2, 1]), CLASSES)
    rows = list(class_maps.select_panels([activation("b"), activation("c")], CLASSES, 3, CLASSES, known))
    assert [[panel.label for panel in row.panels] for row in rows] == [[1, 0, -1], [-1, 0, 1]]
    assert [[len(panel.boxes) for panel in row.panels] for row in rows] == [[2, 0, 1], [0, 0, 0]]
    assert np.array_equal(rows[0].panels[0].boxes, corners[[0, 3]])
    assert np.array_equal(rows[0].panels[2].boxes, corners[[2]])
    without = KnownAnnotations(Dataset(labels.ids, ["a", "b", "c"], labels), np.array([1]), CLASSES)
    assert without.of("b", 0)[0] == 1 and len(without.of("b", 0)[1]) == 0


# ---- drawing


def test_heat_is_the_evidence_for_the_class_at_its_own_scale():
    flat = class_maps.heat(np.full((2, 2), 3.0, np.float32), 6, 4)
    assert flat.shape == (6, 4) and np.allclose(flat, 1)
    assert not class_maps.heat(np.full((3, 3), -2.0, np.float32), 5, 5).any()
    corner = np.full((4, 5), -9.0, np.float32)
    corner[0, 4] = 0.01
    values = class_maps.heat(corner, 40, 80)
    assert values.min() >= 0 and values.max() == 1
    assert np.unravel_index(values.argmax(), values.shape)[0] < 10
    assert np.unravel_index(values.argmax(), values.shape)[1] >= 64
    assert np.allclose(values, class_maps.heat(100 * corner, 40, 80))


def test_the_peak_is_the_center_of_the_first_highest_cell():
    assert class_maps.peak(activation().maps[0]) == ((3 + 0.5) / 5, (1 + 0.5) / 4)
    assert class_maps.peak(np.zeros((2, 2), np.float32)) == (0.25, 0.25)


def test_a_row_has_the_image_and_an_overlay_per_class():
    boxes = np.array([[0.25, 0.5, 0.75, 1.0]], np.float32)
    panels = [
        ClassPanel("do$g", 0.934, activation().maps[0], 1, boxes),
        ClassPanel("hen", 0.5, activation().maps[2], -1),
        ClassPanel("cat", 0.004, activation().maps[1]),
    ]
    figure = class_maps.draw([ImagePanels("some/image.jpg", WIDE, panels), ImagePanels("b", WIDE, panels[:1])])
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == [
        "some/image.jpg",
        "do$g 0.93 (is present)",
        "hen 0.50 (is absent)",
        "cat 0.00",
        "b",
        "do$g 0.93 (is present)",
        "",
        "",
    ]
    image, overlay, nothing, *_ = figure.axes
    assert len(image.images) == 1 and np.array_equal(image.images[0].get_array(), WIDE)
    (rectangle,) = [patch for patch in overlay.patches if isinstance(patch, Rectangle)]
    assert (*rectangle.get_xy(), rectangle.get_width(), rectangle.get_height()) == (0.25, 0.5, 0.5, 0.5)
    (mark,) = overlay.get_lines()
    assert mark.get_xydata().tolist() == [[0.7, 0.375]]
    assert not nothing.patches
    alpha = overlay.images[1].get_array()[..., 3]
    height, width = alpha.shape
    assert alpha.max() > 0.5 and alpha[-1, 0] == 0
    assert alpha[int(0.375 * height), int(0.7 * width)] > 0.9 * alpha.max()
    assert not nothing.images[1].get_array()[..., 3].any(), "without evidence nothing is laid over the image"
    assert overlay.images[1].get_extent() == overlay.images[0].get_extent()
    assert overlay.get_aspect() == 0.5


def test_a_class_name_is_shortened_only_where_there_is_no_room():
    panels = [
        ClassPanel(name, 0.5, activation().maps[0]) for name in ("triangle", "a name that is far too long for it")
    ]
    figure = class_maps.draw([ImagePanels("b", WIDE, panels)], inches=1.8)
    assert [axes.get_title() for axes in figure.axes] == ["b", "triangle 0.50", "a name that is…or it 0.50"]


# ---- writing


def test_a_picture_per_image_and_an_overview_of_the_first(tmp_path: Path):
    activations = [
        activation(name) for name in ["x/a.png", "y/a.png", "../../b", "overview", *string.ascii_letters[:8]]
    ]
    written = list(class_maps.write_pictures(class_maps.select_panels(activations, CLASSES, 1), tmp_path / "out"))
    names = [file.name for _, file in written]
    assert names[:4] == ["a.png", "a-2.png", "b.png", "overview-2.png"]
    assert [row.id for row, _ in written] == [each.id for each in activations]
    assert {file.name for file in (tmp_path / "out").iterdir()} == {*names, "overview.png"}
    assert len(set(names)) == len(activations) and [file.name for file in tmp_path.iterdir()] == ["out"]
    with Image.open(tmp_path / "out" / "overview.png") as overview, Image.open(written[0][1]) as one:
        assert overview.size[1] > 5 * overview.size[0] / 2 * 0.5 and one.size[0] > 800
    assert list(class_maps.write_pictures([], tmp_path / "none")) == [] and not (tmp_path / "none").exists()
