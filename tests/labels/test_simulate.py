"""Label settings: equal to slow loops, equal to the released sampler, and honest about what they keep."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles import simulate as oracle
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate

quick = settings(max_examples=50, deadline=None)
shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9)
partial_labels = hnp.arrays(np.int8, shapes, elements=st.sampled_from([-1, 0, 1]))
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0])
seeds = st.integers(0, 2**32 - 1)

BY_SHARE = {
    "keep-share": oracle.keep_share,
    "keep-share-per-image": oracle.keep_share_per_image,
    "dense-share": oracle.dense_share,
    "noisy": oracle.noisy,
    "per-class": oracle.per_class,
}
EVERY = [*(f"{name}=0.4" for name in BY_SHARE), "noisy-plus", "fixed-per-class=3", "tags=0.2,0.9"]
EVERY += ["keep-share=0.3,4", "tags=0.2,0.9,0.5", "single-positive", "single-positive=2,3"]


def full(images=400, classes=30, seed=0):
    return Labels.from_signed(np.where(np.random.default_rng(seed).random((images, classes)) < 0.2, 1, -1))


@pytest.mark.parametrize("name", BY_SHARE)
@quick
@given(dense=partial_labels, share=shares, seed=seeds)
def test_settings_with_a_share_match_the_loops(name, dense, share, seed):
    labels = Labels.from_signed(dense)
    result = simulate.apply(labels, f"{name}={share!r}", seed)
    assert np.array_equal(result.to_signed(), BY_SHARE[name](dense, share, seed))
    assert result.ids == labels.ids and result.classes == labels.classes


@quick
@given(dense=partial_labels, seed=seeds)
def test_noisy_plus_matches_the_loops(dense, seed):
    result = simulate.noisy_plus(Labels.from_signed(dense), seed).to_signed()
    assert np.array_equal(result, oracle.noisy_plus(dense, seed))
    assert np.array_equal((result == 1).sum(1), (dense == 1).any(1))


@quick
@given(dense=partial_labels, seed=seeds, count=st.integers(0, 5))
def test_fixed_per_class_matches_the_loops(dense, seed, count):
    result = simulate.apply(Labels.from_signed(dense), f"fixed-per-class={count}", seed)
    assert np.array_equal(result.to_signed(), oracle.fixed_per_class(dense, count, seed))
    for sign in (-1, 1):
        assert np.array_equal((result.to_signed() == sign).sum(0), np.minimum((dense == sign).sum(0), count))


@quick
@given(dense=partial_labels, seed=seeds, rates=st.tuples(shares, shares).map(sorted))
def test_tags_match_the_loops(dense, seed, rates):
    result = simulate.apply(Labels.from_signed(dense), "tags={!r},{!r}".format(*rates), seed)
    assert np.array_equal(result.to_signed(), oracle.tags(dense, *rates, seed))


def test_tags_of_a_class_have_its_rate():
    labels = full(4000, 20)
    kept, absent = simulate.tags(labels, 0.1, 0.9).counts_per_class()
    rates = kept / labels.counts_per_class()[0]
    assert not absent.any() and rates.min() < 0.3 < 0.7 < rates.max()
    same = simulate.tags(labels, 0.5).counts_per_class()[0] / labels.counts_per_class()[0]
    assert np.all(abs(same - 0.5) < 0.1)


def test_tags_of_some_images_are_full_labels():
    labels = full(400, 20)
    kept = simulate.apply(labels, "tags=0.1,0.9,0.25")
    known, absent = kept.to_signed() != 0, kept.counts_per_image()[1]
    assert known.all(1).sum() == 100 and np.array_equal(absent > 0, known.all(1))


@pytest.mark.parametrize(("share", "times", "rates"), [(0.1, 5, (0.278, 0.056)), (0.3, 0.5, (0.167, 0.333))])
def test_positives_may_be_known_more_often_and_the_share_of_all_stays(share, times, rates):
    labels = full(4000, 20)  # a fifth is present: rate⁺ = times · share ÷ (0.2 · times + 0.8)
    kept = simulate.apply(labels, f"keep-share={share},{times}", seed=1)
    found = [kept.counts_per_class()[place].sum() / labels.counts_per_class()[place].sum() for place in (0, 1)]
    assert np.allclose(found, rates, atol=0.01) and abs(kept.known_share - share) < 0.01


def test_positives_are_known_at_most_always():
    kept = simulate.apply(full(400, 20), "keep-share=0.5,50", seed=1)
    present, _ = full(400, 20).counts_per_class()
    assert np.array_equal(kept.counts_per_class()[0], present) and abs(kept.known_share - 0.5) < 0.03


@quick
@given(dense=partial_labels, seed=seeds, positives=st.integers(0, 4), negatives=st.integers(0, 4))
def test_single_positive_matches_the_loops(dense, seed, positives, negatives):
    result = simulate.single_positive(Labels.from_signed(dense), seed, positives, negatives)
    assert np.array_equal(result.to_signed(), oracle.single_positive(dense, seed, positives, negatives))


@pytest.mark.parametrize(("positives", "negatives", "seed"), [(1, 0, 1200), (1, 1, 1200), (2, 3, 7)])
def test_single_positive_equals_the_released_sampler(positives, negatives, seed):
    reference = np.load(Path(__file__).parents[1] / "reference" / "observe.npz")
    labels = Labels.from_signed(reference["true"])
    expected = reference[f"pos{positives}_neg{negatives}_seed{seed}"]
    result = simulate.single_positive(labels, seed, positives, negatives)
    assert np.array_equal(result.to_signed(), expected)
    assert result == simulate.apply(labels, f"single-positive={positives},{negatives}", seed)
    other = simulate.single_positive(labels, seed + 1, positives, negatives)
    assert not np.array_equal(other.to_signed(), expected)


def test_single_positive_defaults_are_one_positive_and_seed_1200():
    reference = np.load(Path(__file__).parents[1] / "reference" / "observe.npz")
    labels = Labels.from_signed(reference["true"])
    for result in (simulate.single_positive(labels), simulate.apply(labels, "single-positive")):
        assert np.array_equal(result.to_signed(), reference["pos1_neg0_seed1200"])


def test_single_positive_of_coco_size():
    dense = np.full((82_081, 80), -1, np.int8)
    dense[np.arange(82_081), np.random.default_rng(0).integers(80, size=82_081)] = 1
    labels = Labels.from_signed(dense)
    assert np.array_equal(simulate.single_positive(labels).to_signed(), np.maximum(dense, 0))


@pytest.mark.parametrize("setting", EVERY)
def test_equal_seeds_give_equal_labels_and_others_do_not(setting):
    labels = full()
    before = labels.to_signed().copy()
    first = simulate.apply(labels, setting, 5)
    assert first == simulate.apply(labels, setting, 5)
    assert first != simulate.apply(labels, setting, 6)
    assert np.array_equal(labels.to_signed(), before), "the input changed"


def test_the_default_seed_is_zero_but_for_the_published_sampler():
    labels = full()
    for setting in EVERY:
        seed = 1200 if setting.startswith("single") else 0
        assert simulate.apply(labels, setting) == simulate.apply(labels, setting, seed)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("keep-share=0.5", [[1, 1, 0, 0], [-1, 1, -1, -1], [0, 1, -1, 0]]),
        ("keep-share-per-image=0.5", [[0, 1, 1, 0], [-1, 0, 0, -1], [1, 1, 0, 0]]),
        ("dense-share=0.5", [[0, 0, 0, 0], [-1, 1, -1, -1], [1, 1, -1, 1]]),
        ("noisy=0.25", [[-1, 1, -1, -1], [-1, 1, -1, -1], [-1, 1, -1, 1]]),
        ("noisy-plus", [[-1, -1, 1, -1], [-1, 1, -1, -1], [1, -1, -1, -1]]),
        ("per-class=0.5", [[0, 0, 1, -1], [0, 0, -1, -1], [0, 0, -1, 1]]),
        ("single-positive=1,1", [[0, 1, 0, -1], [-1, 1, 0, 0], [0, 1, -1, 0]]),
    ],
)
def test_labels_published_under_a_seed_stay_what_they_were(setting, expected):
    labels = Labels.from_signed([[1, 1, 1, -1], [-1, 1, -1, -1], [1, 1, -1, 1]])
    assert simulate.apply(labels, setting, 3).to_signed().tolist() == expected


def test_kept_shares_are_what_was_asked_for():
    labels = full(2000, 40)
    spread = 5 * np.sqrt(0.3 * 0.7 / labels.known)
    assert abs(simulate.keep_share(labels, 0.3).known_share - 0.3) < spread
    per_image = sum(simulate.keep_share(labels, 0.3, per_image=True).counts_per_image())
    assert (per_image == 12).all()
    images = sum(simulate.dense_share(labels, 0.3).counts_per_image())
    assert sorted(set(images)) == [0, 40] and (images == 40).sum() == 600
    classes = sum(simulate.per_class(labels, 0.3).counts_per_class())
    assert sorted(set(classes)) == [0, 2000] and (classes == 2000).sum() == 12
    noisy = simulate.noisy(labels, 0.3).to_signed()
    assert (noisy != labels.to_signed()).sum() == 24_000 and (noisy != 0).all()


def test_shares_are_of_what_is_known():
    labels = Labels.from_signed(np.diag(np.tile([1, -1], 5)))
    labels = Labels.from_signed(np.pad(labels.to_signed(), ((0, 90), (0, 40))))
    for seed in range(5):
        assert simulate.dense_share(labels, 0.5, seed).known == 5
        assert simulate.per_class(labels, 0.5, seed).known == 5
    assert simulate.keep_share(labels, 0.01, per_image=True).known == 10, "at least one of each image"


def test_every_label_of_an_image_is_as_likely_to_stay():
    labels = Labels.from_signed(np.ones((6000, 6), np.int8))
    expected, spread = 1000, 5 * np.sqrt(6000 / 6 * 5 / 6)
    for setting in ("single-positive", "noisy-plus", "keep-share-per-image=0.16"):
        present, _ = simulate.apply(labels, setting).counts_per_class()
        assert present.sum() == 6000 and (abs(present - expected) < spread).all(), setting


@pytest.mark.parametrize("setting", EVERY)
@quick
@given(data=st.data(), dense=partial_labels)
def test_apply_to_rows_walks_the_rows_in_the_order_given(setting, data, dense):
    labels = Labels.from_signed(dense)
    rows = np.array(data.draw(st.lists(st.integers(0, max(len(dense) - 1, 0)), unique=True)), np.int64)
    rows = rows[: len(dense)]
    expected = dense.copy()
    if len(rows):
        expected[rows] = simulate.apply(Labels.from_signed(dense[rows]), setting, 7).to_signed()
    result = simulate.apply_to_rows(labels, rows, setting, 7)
    assert np.array_equal(result.to_signed(), expected)
    assert result.ids == labels.ids and result.classes == labels.classes


def test_apply_to_rows_takes_a_mask_and_refuses_a_row_twice():
    labels = full(20, 5)
    mask = np.arange(20) % 3 == 0
    by_mask = simulate.apply_to_rows(labels, mask, "keep-share=0")
    assert by_mask == simulate.apply_to_rows(labels, np.flatnonzero(mask), "keep-share=0")
    assert by_mask.known == 13 * 5
    with pytest.raises(TrilabelError, match="twice"):
        simulate.apply_to_rows(labels, [3, 4, 3], "noisy-plus")


@pytest.mark.parametrize("text", ["", "keep", "keep_share=0.1", "Keep-Share=0.1", "=0.1", "single-positive:1"])
def test_an_unknown_setting_lists_all_settings(text):
    with pytest.raises(TrilabelError) as caught:
        simulate.apply(full(3, 3), text)
    message = str(caught.value)
    assert "\n" not in message and all(name in message for name in simulate.SETTINGS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("keep-share", "write keep-share=SHARE"),
        ("keep-share=", "'keep-share=' cannot be read"),
        ("keep-share=half", "'keep-share=half' cannot be read"),
        ("keep-share=0.1,2,3", "write keep-share=SHARE[,TIMES]"),
        ("keep-share=0.1,0", "cannot be kept 0.0 times as often"),
        ("tags=0.1,0.2,1.5", "a share must be between 0 and 1, not 1.5"),
        ("noisy-plus=0.1", "write noisy-plus"),
        ("single-positive=1.5", "write single-positive[=POSITIVES[,NEGATIVES]]"),
        ("single-positive=1,2,3", "write single-positive[=POSITIVES[,NEGATIVES]]"),
        ("single-positive=-1", "cannot keep -1 present and 0 absent labels"),
        ("noisy=1.01", "a share must be between 0 and 1, not 1.01"),
        ("fixed-per-class=-1", "cannot keep -1 labels of each class; give 0 or more"),
        ("tags=0.5,0.2", "rates of tags from 0.5 to 0.2: give the lower one first"),
        ("per-class=nan", "a share must be between 0 and 1, not nan"),
    ],
)
def test_a_setting_that_cannot_be_read_says_how_it_is_written(text, says):
    with pytest.raises(TrilabelError, match=re.escape(says)) as caught:
        simulate.apply(full(3, 3), text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [-0.01, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("name", BY_SHARE)
def test_shares_outside_zero_to_one_are_refused(name, share):
    with pytest.raises(TrilabelError, match="between 0 and 1"):
        simulate.apply(full(3, 3), f"{name}={share}")


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("setting", EVERY)
def test_seeds_that_no_generator_takes_are_refused(setting, seed):
    with pytest.raises(TrilabelError, match=f"not {seed}"):
        simulate.apply(full(3, 3), setting, seed)


def test_settings_describe_themselves_in_a_line():
    names = ["keep-share", "keep-share-per-image", "dense-share", "noisy", "noisy-plus", "per-class"]
    assert list(simulate.SETTINGS) == [*names, "fixed-per-class", "tags", "single-positive"]
    assert all(each.description and "\n" not in each.description for each in simulate.SETTINGS.values())


def test_leaving_images_out_is_not_hiding_labels():
    with pytest.raises(TrilabelError, match="leaves images out, not labels: pass it to `train --hide` or `compare`"):
        simulate.apply(full(3, 3), "images=0.5")
