"""The torchmetrics face of the metrics: the same numbers, batch by batch, in copies, and in two processes."""

import math
import pickle

import pytest
import torch
from torchmetrics import MetricCollection

from tests.support import two_processes
from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.metrics.torchmetrics import Evaluation, MeanAveragePrecision


def drawn(images=40, classes=5):
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand(images, classes, generator=generator).round(decimals=1)  # with ties
    return scores, torch.randint(-1, 2, (images, classes), generator=generator)


def test_batch_by_batch_it_is_the_metric_of_all():
    scores, labels = drawn()
    metric = MeanAveragePrecision(5)
    for part in torch.arange(40).split(7):
        metric.update(scores[part], labels[part])
    expected = metrics.mean_average_precision(scores, labels)
    assert metric.compute().item() == pytest.approx(expected, abs=1e-7)
    assert pickle.loads(pickle.dumps(metric)).compute().item() == pytest.approx(expected, abs=1e-7)
    metric.reset()
    assert math.isnan(metric(scores[:1], labels[:1])) and not math.isnan(metric(scores, labels))


def test_every_number_by_name():
    scores, labels = drawn()
    metric = Evaluation(5, threshold=0.3)
    metric.update(scores, labels)
    expected = metrics.evaluate(scores, labels, threshold=0.3)
    found = metric.compute()
    assert found.keys() == expected.keys() - {"per_class_ap"}
    assert {name: value.item() for name, value in found.items()} == pytest.approx(
        {name: expected[name] for name in found}, abs=1e-6
    )
    assert math.isnan(Evaluation(2)(torch.rand(3, 2), torch.ones(3, 2, dtype=torch.int8))["mAP"])


def test_unknown_labels_count_nowhere():
    scores, labels = drawn()
    one, two = MeanAveragePrecision(5), MeanAveragePrecision(5)
    one.update(scores, labels)
    two.update(torch.where(labels == 0, 1 - scores, scores), labels)
    assert one.compute() == two.compute()


def test_an_image_that_is_seen_twice_counts_once_if_rows_are_given():
    scores, labels = drawn()
    once, twice, unnamed = (MeanAveragePrecision(5) for _ in range(3))
    once.update(scores, labels, torch.arange(40))
    again = torch.cat((torch.arange(40), torch.arange(9)))
    twice.update(scores[again], labels[again], again)
    unnamed.update(scores[again], labels[again])
    assert once.compute() == twice.compute() != unnamed.compute()
    assert unnamed.compute().item() == pytest.approx(metrics.mean_average_precision(scores[again], labels[again]))


def test_in_a_collection():
    scores, labels = drawn()
    both = MetricCollection([MeanAveragePrecision(5), Evaluation(5)])
    both.update(scores, labels)
    found = both.compute()
    assert found["MeanAveragePrecision"] == found["mAP"]


def test_what_does_not_fit_is_refused():
    with pytest.raises(TrilabelError, match=r"scores \(3, 4\) and labels \(3, 4\); both must be images × 5 classes"):
        MeanAveragePrecision(5).update(torch.rand(3, 4), torch.zeros(3, 4))
    with pytest.raises(TrilabelError, match="label value 2"):
        MeanAveragePrecision(2)(torch.rand(3, 2), torch.full((3, 2), 2))


@pytest.mark.parametrize("rows", [([0, 2, 4, 6, 8, 0], [1, 3, 5, 7, 9, 1]), ([*range(10)], [])])
def test_two_processes_have_the_metric_of_all_images(in_two, rows):
    scores, labels = drawn(10)
    expected = metrics.mean_average_precision(scores, labels)
    assert in_two(two_processes.mean_average_precision, (scores, labels, rows)) == pytest.approx([expected] * 2)
