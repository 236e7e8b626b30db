"""Views of a batch are those of its images one at a time, random for each image and fixed by the generator."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import augment as oracle
from trilabel.data.augment import OPERATIONS, Views, cropped, erased, mirrored, randomly_changed

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
quick = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 2**40)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(count=6, size=16, seed=0):
    return torch.randint(0, 256, (count, 3, size, size), dtype=torch.uint8, generator=seeded(seed))


def test_plain_is_the_formula_at_every_pixel():
    images = batch(3, 5)
    got = Views(MEAN, STD).plain(images)
    expected = torch.tensor([oracle.normalized(image, MEAN, STD) for image in images])
    assert got.dtype == torch.float32
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@quick
@given(seeds, st.integers(1, 9))
def test_mirroring_turns_the_drawn_images_and_no_others(seed, count):
    images = batch(count, 7)
    got = mirrored(images, seeded(seed))
    for image, out, number in zip(images, got, torch.rand(count, generator=seeded(seed)), strict=True):
        assert out.tolist() == [[row[::-1] if number < 0.5 else row for row in plane] for plane in image.tolist()]


def test_about_half_of_the_images_are_mirrored():
    images = batch(1).expand(1000, -1, -1, -1)
    turned = (mirrored(images, seeded()) != images).flatten(1).any(1).sum()
    assert 430 < turned < 570


@quick
@given(seeds, st.floats(0.05, 0.99), st.integers(1, 4))
def test_crops_are_those_of_each_image_alone(seed, least, count):
    images = batch(count, 9)
    boxes = oracle.crop_boxes(count, least, seeded(seed))
    expected = torch.stack([oracle.crop(image.float(), box) for image, box in zip(images, boxes, strict=True)])
    torch.testing.assert_close(cropped(images, least, seeded(seed)), expected, rtol=0, atol=0.02)


@pytest.mark.parametrize("least", [0.08, 0.5, 0.9])
def test_crops_lie_inside_keep_their_share_and_differ(least):
    size, count = 64, 500
    ramp = (torch.arange(size) + 0.5) / size  # an image whose color tells where it was
    where = torch.stack((ramp.expand(size, size), ramp[:, None].expand(size, size), torch.zeros(size, size)))
    got = cropped(where.expand(count, -1, -1, -1), least, seeded())
    assert got.min() >= 0 and got.max() <= 1
    inner = slice(size // 4, 3 * size // 4)  # away from the rim, where positions are held at the outermost pixels
    steps = size // 2 - 1
    width = (got[:, 0, :, inner][:, 0, -1] - got[:, 0, :, inner][:, 0, 0]) / steps * size
    height = (got[:, 1, inner, :][:, -1, 0] - got[:, 1, inner, :][:, 0, 0]) / steps * size
    area, ratio = width * height, width / height
    assert (area > least - 1e-3).all() and (area < 1 + 1e-3).all()
    assert area.min() < least + 0.05 and area.max() > 0.95 and abs(area.mean() - (1 + least) / 2) < 0.05
    assert (ratio > 3 / 4 - 1e-2).all() and (ratio < 4 / 3 + 1e-2).all() and ratio.std() > 0.01


def test_a_crop_of_the_whole_area_is_the_image():
    images = batch(5)
    torch.testing.assert_close(cropped(images, 1.0, seeded()), images.float(), rtol=0, atol=0.01)
    views = Views(MEAN, STD, flip=False, crop=1.0)
    assert torch.equal(views.weak(images, seeded()), views.plain(images))


def test_weak_is_mirroring_then_cropping():
    images, views = batch(), Views(MEAN, STD, flip=True, crop=0.4)
    draw = seeded(3)
    expected = views.plain(cropped(mirrored(images, draw), 0.4, draw))
    assert torch.equal(views.weak(images, seeded(3)), expected)
    assert torch.equal(Views(MEAN, STD).weak(images, seeded(3)), views.plain(mirrored(images, seeded(3))))


def test_a_rectangle_of_each_image_is_erased():
    size, count = 50, 400
    images = torch.rand(count, 3, size, size, generator=seeded()) + 1
    got = erased(images, 0.33, seeded(1))
    gone = (got == 0).all(1)
    assert torch.equal((got == 0).any(1), gone), "in all channels alike"
    assert torch.equal(got[~gone[:, None].expand_as(got)], images[~gone[:, None].expand_as(got)])
    rows, columns = gone.any(2), gone.any(1)
    assert torch.equal(gone, rows[:, :, None] & columns[:, None, :]), "a rectangle"
    for lines in (rows, columns):
        assert ((lines[:, 1:] != lines[:, :-1]).sum(1) <= 2).all(), "in one piece"
    height, width = rows.sum(1), columns.sum(1)
    assert (height > 0).all() and (width > 0).all()
    assert ((height + 1) * (width + 1) >= 0.02 * size**2).all()
    assert ((height - 1) * (width - 1) <= 0.33 * size**2).all()
    share = (height * width / size**2).float()
    assert share.min() < 0.05 and share.max() > 0.28 and abs(share.mean() - 0.175) < 0.02
    assert len({tuple(line) for line in torch.stack((height, width, rows.int().argmax(1)), 1).tolist()}) > 300


@quick
@given(seeds, st.integers(1, 12))
def test_changes_are_those_of_each_image_alone(seed, count):
    images = batch(count, 12, seed)
    expected = oracle.changed(images, OPERATIONS, seeded(seed))
    assert torch.equal(randomly_changed(images, seeded(seed)), expected)


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_every_operation_keeps_shape_and_type_and_does_something(number):
    images = batch(4, 20)
    before = images.clone()
    changed = OPERATIONS[number](images)
    assert changed.shape == images.shape and changed.dtype == torch.uint8
    assert torch.equal(images, before), "and leaves its input alone"
    assert torch.equal(changed, images) == (number == 0)


def test_every_operation_is_drawn():
    picture = torch.rand(1, 3, 16, 16, generator=seeded()).mul(180).add(40).byte()
    expected = {tuple(operation(picture).flatten().tolist()) for operation in OPERATIONS}
    assert len(expected) == len(OPERATIONS)
    many = picture.expand(4000, -1, -1, -1)
    seen = {tuple(image.flatten().tolist()) for image in randomly_changed(many, seeded())}
    assert expected <= seen, "two draws, of which one may be the identity"


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_views_follow_from_the_generator_alone(kind):
    images, views = batch(), Views(MEAN, STD, crop=0.5)
    make = getattr(views, kind)
    before = images.clone()
    one = make(images, seeded(1))
    torch.manual_seed(99)
    assert torch.equal(one, make(images, seeded(1)))
    assert not torch.equal(one, make(images, seeded(2)))
    assert torch.equal(images, before)
    draw = seeded(1)
    make(images, draw)
    assert not torch.equal(one, make(images, draw)), "a generator moves on"


@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_every_image_has_its_own_draw(kind):
    images = batch(1).expand(16, -1, -1, -1)
    made = getattr(Views(MEAN, STD, crop=0.5), kind)(images, seeded())
    assert len({tuple(image.flatten().tolist()) for image in made}) == 16


@pytest.mark.parametrize("kind", ["weak", "strong"])
@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("crop", [1.0, 0.3])
@pytest.mark.parametrize("images", [batch(1, 8), batch(5, 33), torch.zeros(2, 3, 8, 8).byte(), batch(1, 1)])
def test_views_are_finite_numbers_of_the_same_shape(kind, flip, crop, images):
    made = getattr(Views(MEAN, STD, flip, crop), kind)(images, seeded(5))
    assert made.shape == images.shape and made.dtype == torch.float32 and made.isfinite().all()


def test_strong_is_the_weak_view_changed_and_erased():
    images, views = batch(8, 32), Views(MEAN, STD, flip=True, crop=1.0)
    draw = seeded(4)
    expected = erased(views.plain(randomly_changed(mirrored(images, draw), draw)), 0.33, draw)
    strong = views.strong(images, seeded(4))
    assert torch.equal(strong, expected)
    assert ((strong == 0).all(1).flatten(1).any(1)).all(), "the erased part has the mean color"


def test_nothing_is_erased_where_that_is_not_wanted():
    images = torch.randint(0, 256, (4, 3, 16, 16), dtype=torch.uint8, generator=seeded(3))
    views, draw = Views((0.5,) * 3, (0.25,) * 3, erase=0.0), seeded(4)
    expected = views.plain(randomly_changed(mirrored(images, draw), draw))
    assert torch.equal(views.strong(images, seeded(4)), expected)
    tiny = erased(torch.ones(200, 3, 16, 16), 0.01, seeded(5))
    assert (tiny == 0).float().mean() < 0.02
