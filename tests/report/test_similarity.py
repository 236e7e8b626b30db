"""Similar labels and images: heat map, rows of images and tables, read back."""

from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from PIL import Image

from trilabel.data.dataset import Dataset
from trilabel.labels import Labels
from trilabel.methods.imcl.omp import Neighbours
from trilabel.report import plots, similarity
from trilabel.report.similarity import SimilarImage, SimilarityRow

CLASSES = ["cat", "dog", "h,en", "o$wl"]
EDGES = [("cat", "cat", 1.0), ("cat", "dog", -0.5), ("dog", "cat", 0.25), ("o$wl", "cat", 0.125), ("h,en", "h,en", 9.0)]


def test_the_heat_map_has_the_weights_and_is_centered_at_0():
    axes = similarity.label_matrix(EDGES, CLASSES).axes[0]
    table = axes.images[0].get_array()
    nan = np.nan
    expected = [[1, -0.5, nan, nan], [0.25, nan, nan, nan], [nan, nan, 9, nan], [0.125, nan, nan, nan]]
    assert np.array_equal(np.ma.filled(table, nan), expected, equal_nan=True)
    assert axes.images[0].get_clim() == (-9, 9)
    assert [text.get_text() for text in axes.get_yticklabels()] == CLASSES
    assert [text.get_text() for text in axes.get_xticklabels()] == CLASSES


def test_of_many_classes_the_most_connected_are_shown(tmp_path):
    figure = similarity.label_matrix(EDGES, CLASSES, most=3)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["cat", "dog", "o$wl"], (
        "the weight for itself does not count"
    )
    assert axes.images[0].get_clim() == (-1, 1) and "3 of 4 classes" in axes.get_title(loc="left")
    plots.save(figure, tmp_path / "labels.png")
    names = [f"class {number}" for number in range(500)]
    chain = [(a, b, 1 + place / 500) for place, (a, b) in enumerate(pairwise(names))]
    axes = similarity.label_matrix(chain, names).axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == names[-41:-1]
    assert similarity.label_matrix([], CLASSES).axes[0].images[0].get_clim() == (-1, 1)
    assert similarity.label_matrix([("cat", "dog", 0.0)], CLASSES).axes[0].images[0].get_clim() == (-1, 1)


def test_rows_of_similar_images(tmp_path):
    image, other = np.zeros((20, 30, 3), np.uint8), np.full((40, 20, 3), 200, np.uint8)
    similar = [SimilarImage("b$", other, 0.5, 0.125), SimilarImage("c", image, 0.0, 1.0)]
    figure = similarity.image_neighbors([SimilarityRow("a", image, similar), SimilarityRow("d", other, [])])
    assert [axes.get_title() for axes in figure.axes] == ["a", "b$", "c", "d", "", ""]
    under = [axes.texts[0].get_text() for axes in figure.axes if axes.texts]
    assert under == ["", "labels 0.50  features 0.12", "labels 0.00  features 1.00", "no similar image"]
    assert np.array_equal(figure.axes[1].images[0].get_array(), other)
    plots.save(figure, tmp_path / "images.png")
    with Image.open(tmp_path / "images.png") as picture:
        assert picture.size[0] > 400
    alone = similarity.image_neighbors([SimilarityRow("d", other, [])])
    assert [axes.get_title() for axes in alone.axes] == ["d", ""]


def test_pairs_are_the_slots_in_use_and_pictures_those_of_the_data_set():
    index = torch.tensor([[2, 1], [0, 0], [1, 0]])
    labels, features = torch.tensor([[0.5, 0.0], [0.0, 0.0], [0.0, 1.0]]), torch.tensor([[0.25, 2.0], [0, 0], [0, 3]])
    found = list(similarity.pairs(Neighbours(index, [labels, features])))
    assert found == [(0, 2, 0.5, 0.25), (0, 1, 0.0, 2.0), (2, 0, 1.0, 3.0)]
    images = torch.arange(5, dtype=torch.uint8)[:, None, None, None].expand(5, 3, 4, 6)
    names = Labels.from_signed(np.zeros((5, 1), np.int8), ["cat"], list("abcde"))
    data = Dataset(names.ids, None, names, images=images)
    rows = similarity.first_rows(found, data, [4, 0, 3], limit=2)
    assert [row.id for row in rows] == ["e", "a"] and [row.image[0, 0, 0] for row in rows] == [4, 0]
    assert [(each.id, each.image.shape, each.image[0, 0, 0], *each[2:]) for each in rows[0].similar] == [
        ("d", (4, 6, 3), 3, 0.5, 0.25),
        ("a", (4, 6, 3), 0, 0.0, 2.0),
    ]
    assert rows[1].similar == [] and len(similarity.first_rows(found, data, [4, 0, 3], limit=9)) == 3


def test_tables_come_back(tmp_path):
    pairs = [('a"b', "日本.png", 0.5, 0.0), ("x,y", "z", 1 / 3, 2.0)]
    similarity.write_pairs(pairs, tmp_path / "images.csv")
    table = pd.read_csv(tmp_path / "images.csv")
    assert list(table.columns) == ["image", "similar", "label_weight", "feature_weight"]
    assert table.image.tolist() == ['a"b', "x,y"] and table.similar.tolist() == ["日本.png", "z"]
    np.testing.assert_allclose(table[["label_weight", "feature_weight"]], [[0.5, 0], [1 / 3, 2]], rtol=1e-5)
    assert [file.name for file in tmp_path.iterdir()] == ["images.csv"]
