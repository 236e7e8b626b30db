import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes
from trilabel.data.scenes.canvas import Canvas, Dice, Pen
from trilabel.data.scenes.compose import Scenes, draw
from trilabel.data.scenes.things import CLASSES
from trilabel.errors import TrilabelError
from trilabel.models.tiny import TinyNet

# The bytes are promised to be the same everywhere; change these only when the drawings change on purpose.
SHA256_OF_16 = "27bef5a9c204529b350e70463c8cfd181ed52490123d0b3c64259f6dc9f131fe"


@pytest.fixture(scope="module")
def drawn() -> Scenes:
    return draw(600, seed=5)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return scenes(train=400, val=150, test=200)


def test_bytes_are_the_same_on_every_machine():
    first = draw(16, seed=0)
    content = first.images.tobytes() + first.present.tobytes() + first.boxes.xyxy.astype("<f4").tobytes()
    assert hashlib.sha256(content).hexdigest() == SHA256_OF_16


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**40), size=st.integers(32, 100), short=st.integers(1, 4), more=st.integers(1, 4))
def test_a_longer_set_starts_with_the_shorter_one(seed, size, short, more):
    few, many = draw(short, size, seed), draw(short + more, size, seed)
    assert few.images.shape == (short, 3, size, size)
    assert np.array_equal(few.images, many.images[:short])
    assert np.array_equal(few.present, many.present[:short])
    boxes = len(few.boxes.image)
    assert np.array_equal(few.boxes.xyxy, many.boxes.xyxy[:boxes])
    assert many.boxes.image[boxes] == short
    assert ((many.present.sum(1) >= 1) & (many.present.sum(1) <= 5)).all()


def test_seeds_and_scenes_differ(drawn):
    assert len({image.tobytes() for image in drawn.images}) == len(drawn.images)
    other = draw(20, seed=6)
    assert all((a != b).mean() > 0.5 for a, b in zip(drawn.images, other.images, strict=False))


def test_one_to_five_classes_and_several_objects(drawn):
    number = drawn.present.sum(1)
    assert set(number) == {1, 2, 3, 4, 5}
    assert len(drawn.boxes.image) > number.sum()  # some class is there more than once


def test_boxes_match_what_is_present(drawn):
    image, cls, xyxy = drawn.boxes.image, drawn.boxes.cls, drawn.boxes.xyxy
    present = np.zeros((600, len(CLASSES)), bool)
    for i, c in zip(image, cls, strict=True):
        present[i, c] = True
    assert np.array_equal(present, drawn.present)
    assert xyxy.dtype == np.float32 and image.dtype == cls.dtype == np.int64
    assert (xyxy >= 0).all() and (xyxy <= 1).all()
    assert (xyxy[:, 2:] - xyxy[:, :2] >= 2 / 64).all()
    assert (xyxy[:, 2:] - xyxy[:, :2]).max() < 0.95


def test_inside_of_a_box_differs_from_the_background(drawn):
    """The rows of the background hardly change from left to right: what is in a box must, against the same rows."""
    clear = 0
    for i, box in zip(drawn.boxes.image, drawn.boxes.xyxy, strict=True):
        x0, y0, x1, y1 = np.rint(box * 64).astype(int)
        rows = drawn.images[i, :, y0:y1].astype(float)
        background = np.median(rows, axis=2, keepdims=True)
        clear += np.abs(rows - background).max(0)[:, x0:x1].mean() > 25
    assert clear / len(drawn.boxes.image) > 0.9


def test_classes_that_belong_together_occur_together(drawn):
    present = drawn.present.astype(float)
    share = present.mean(0)
    lift = (present.T @ present / len(present)) / np.outer(share, share)

    def of(a, b):
        return lift[CLASSES.index(a), CLASSES.index(b)]

    assert min(of("moon", "star"), of("boat", "fish"), of("house", "car")) > 1.5
    assert of("moon", "umbrella") < 0.6
    assert (present.sum(0) > 20).all()


def test_every_pair_of_classes_can_meet():
    present = draw(1300, size=32, seed=1).present.astype(int)
    assert (present.T @ present > 0).all()


def test_objects_stay_in_view():
    canvas = Canvas(64)
    whole = Pen(canvas, Dice(0, 0), (0.5, 0.5), 0.2, 0.0)
    assert canvas.add(whole, lambda pen: pen.fill(pen.ellipse(0, 0, 0.5, 0.5), (255, 0, 0)), kind=3)
    before = canvas.pixels.copy()
    cover = Pen(canvas, Dice(0, 1), (0.5, 0.5), 0.2, 0.0)
    assert not canvas.add(cover, lambda pen: pen.fill(pen.box(-1, -1, 1, 1), (0, 255, 0)), kind=4)
    assert np.array_equal(canvas.pixels, before)
    ((kind, box),) = canvas.visible_boxes()
    assert kind == 3
    assert np.abs(box - [0.4, 0.4, 0.6, 0.6]).max() < 0.04


def test_polygon_is_the_distance_to_its_sides():
    pen = Pen(Canvas(64), Dice(0, 0), (0.5, 0.5), 0.5, 0.0)
    box = pen.box(-0.5, -0.25, 0.5, 0.25)
    assert np.allclose(box, np.maximum(np.abs(pen.u) - 0.5, np.abs(pen.v) - 0.25), atol=1e-6)
    circle = pen.ellipse(0.1, 0.2, 0.5, 0.5)
    assert np.allclose(circle, np.hypot(pen.u - 0.1, pen.v - 0.2) - 0.5, atol=1e-6)


def test_splits_are_disjoint_and_complete(dataset):
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 400, "val": 150, "test": 200}
    assert np.array_equal(np.sort(np.concatenate(list(dataset.splits.values()))), np.arange(750))


def test_every_split_has_both_answers_for_every_class(dataset):
    signed = dataset.labels.to_signed()
    for rows in dataset.splits.values():
        assert ((signed[rows] == 1).any(0) & (signed[rows] == -1).any(0)).all()


def test_data_set_holds_what_was_drawn(dataset):
    few = draw(10)
    assert dataset.images.dtype == torch.uint8 and dataset.images.shape == (750, 3, 64, 64)
    assert np.array_equal(dataset.images[:10].numpy(), few.images)
    assert np.array_equal(dataset.labels.to_signed()[:10] == 1, few.present)
    assert dataset.labels.known_share == 1 and tuple(dataset.classes) == CLASSES
    assert len(set(dataset.ids)) == 750 and dataset.paths is None
    assert dataset.boxes.image.max() == 749


@pytest.mark.parametrize(("wrong", "named"), [({"train": -1}, "-1.*train"), ({"size": 8}, "size is 8")])
def test_refusals_name_the_value(wrong, named):
    with pytest.raises(TrilabelError, match=named):
        scenes(**{"train": 1, "val": 0, "test": 0} | wrong)


def test_tiny_net_gives_a_map_and_learns_from_scenes():
    torch.manual_seed(0)
    net = TinyNet()
    drawn = draw(32, seed=2)
    images = (torch.from_numpy(drawn.images).float() / 255 - 0.5) / 0.25
    truth = torch.from_numpy(drawn.present).float()
    assert net(images).shape == (32, net.num_features, 8, 8)
    assert 100_000 <= sum(p.numel() for p in net.parameters()) <= 400_000
    head = torch.nn.Linear(net.num_features, len(CLASSES))
    optimizer = torch.optim.AdamW([*net.parameters(), *head.parameters()], lr=4e-3)
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(head(net(images).mean((2, 3))), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
