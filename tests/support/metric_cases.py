"""Shared by the tests of metrics: scores and labels of many kinds, and scikit-learn's average precision."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
close = pytest.approx


class Sparse:
    """What the metrics rely on of `trilabel.Labels`."""

    def __init__(self, signed):
        self.csr, self.classes = sp.csr_array(signed.astype(np.int8)), [f"class {c}" for c in range(signed.shape[1])]

    def to_signed(self):
        return self.csr.toarray()


class OnlySigned:
    def __init__(self, signed):
        self.to_signed = lambda: signed


@st.composite
def problems(draw):
    """Few distinct scores, so that ties are common; infinite ones; any label, so that classes lack positives or all."""
    images, classes = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    score = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.25, 0.5, 0.75, 3.0, math.inf])
    sign = draw(st.sampled_from([st.sampled_from([-1, 0, 1]), st.just(0), st.sampled_from([-1, 1]), st.just(1)]))
    scores = draw(st.lists(score, min_size=images * classes, max_size=images * classes))
    signs = draw(st.lists(sign, min_size=images * classes, max_size=images * classes))
    dtype = draw(st.sampled_from(DTYPES))
    return torch.tensor(scores, dtype=dtype).view(images, classes), np.array(signs).reshape(images, classes)


def like_real(images, classes, seed, rounded=None):
    """Scores of a fair classifier for rare classes, most labels known, and one class without a positive."""
    rng = np.random.default_rng(seed)
    true = np.where(rng.random((images, classes)) < np.geomspace(0.003, 0.5, classes), 1, -1)
    true[:, 1] = -1
    scores = 1 / (1 + np.exp(3 - rng.normal(size=true.shape) - 2 * (true > 0)))
    labels = true * (rng.random(true.shape) < 0.8)
    return (scores if rounded is None else scores.round(rounded)).astype(np.float32), labels


def scikit_learn_ap(scores, labels):
    ap = np.full(scores.shape[1], np.nan)
    for c in range(scores.shape[1]):
        known = labels[:, c] != 0
        if (labels[known, c] > 0).any():
            ap[c] = average_precision_score(labels[known, c] > 0, scores[known, c])
    return ap
