"""FiftyOne by its package: `make interop` runs these with FiftyOne itself, its database being in memory."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.support.fiftyone_in_memory import import_fiftyone
from tests.support.seen import rows
from trilabel.data import from_fiftyone, to_fiftyone
from trilabel.errors import TrilabelError
from trilabel.inference.predictions import Predictions


@pytest.fixture(scope="module")
def fo():
    return import_fiftyone()


@pytest.fixture
def samples(fo):
    """Three images: one with labels of each kind, one of validation with none listed, one with nothing."""

    def several(*names):
        return fo.Classifications(classifications=[fo.Classification(label=name) for name in names])

    box = fo.Detection(label="cat", bounding_box=[0.1, 0.2, 0.3, 0.4])
    found = fo.Dataset()
    found.add_samples(
        [
            fo.Sample("/a.jpg", tags=["train"], pos=several("cat", "dog"), neg=several("bird"), one=box),
            fo.Sample("/b.jpg", tags=["validation", "good"], pos=several()),
            fo.Sample("/c.jpg", tags=["train", "test"]),
        ]
    )
    found.default_classes = ["dog", "cat"]
    yield found
    found.delete()


@pytest.mark.interop
def test_labels_of_fields(samples):
    dataset = from_fiftyone(samples, "pos", "neg")
    assert dataset.classes == ["dog", "cat", "bird"] and list(dataset.ids) == samples.values("id")
    assert dataset.labels.to_signed().tolist() == [[1, 1, -1], [0, 0, 0], [0, 0, 0]]
    assert rows(dataset) == {"train": [0], "val": [1]} and dataset.paths == ["/a.jpg", "/b.jpg", "/c.jpg"]
    drawn = from_fiftyone(samples.match_tags("train"), "one")
    assert len(drawn) == 2 and np.allclose(drawn.boxes.xyxy, [[0.1, 0.2, 0.4, 0.6]]) and drawn.boxes.cls.tolist() == [1]
    with pytest.raises(TrilabelError, match="has no field 'nope', only id, filepath"):
        from_fiftyone(samples, "nope")
    with pytest.raises(TrilabelError, match="field 'filepath' holds str, not one of Classification"):
        from_fiftyone(samples, "filepath")


@pytest.mark.interop
def test_predictions_and_completed_labels_go_back(samples):
    dataset = from_fiftyone(samples, "pos", "neg")
    scores = np.array([[0.9, 0.1], [0.2, 0.7], [0.1, 0.1]], np.float32)
    assert to_fiftyone(Predictions(list(dataset.paths), ["cat", "dog"], scores), samples) == 3
    found = [[(one.label, one.confidence) for one in sample.trilabel.classifications] for sample in samples]
    assert found == [[("cat", 0.9)], [("dog", 0.7)], []]
    assert to_fiftyone(Predictions(["/b.jpg", "/x.jpg"], ["cat", "dog"], scores[:2]), samples, "p", threshold=0.95) == 1
    assert samples.count_values("p.classifications.label") == {}
    train = samples.match_tags("good")
    assert to_fiftyone(dataset, train, "done", "done_absent") == 1
    assert to_fiftyone(dataset, samples, "done", "done_absent") == 3
    assert samples.count_values("done.classifications.label") == {"cat": 1, "dog": 1}  # what FiftyOne counts
    assert from_fiftyone(samples, "done", "done_absent").labels == dataset.labels
    with pytest.raises(TrilabelError, match="none of the 1 images is in"):
        to_fiftyone(Predictions(["/x.jpg"], ["cat"], scores[:1, :1]), samples)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    with pytest.raises(TrilabelError, match="this needs FiftyOne; install it"):
        to_fiftyone(Predictions(["/x.jpg"], ["cat"], np.ones((1, 1), np.float32)), SimpleNamespace())
