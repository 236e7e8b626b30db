"""Prototypes of each class: cluster centers of the class features of its known positives (HST and SARB)."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.methods.base import AllReduce

_MOST_OF_A_CLASS = 1000  # positives that its prototypes are made from, spread over the training images


class Prototypes(nn.Module):
    """K vectors for each class, and which classes have any."""

    vectors: Tensor  # C×K×D
    made: Tensor  # C: whether the class had a known positive to make prototypes from

    def __init__(self, labels: Labels, count: int, features: int) -> None:
        super().__init__()
        self.register_buffer("vectors", torch.zeros(labels.shape[1], count, features))
        self.register_buffer("made", torch.zeros(labels.shape[1], dtype=torch.bool))
        self._examples = _examples(labels)  # N×C: 1 + the place of each example in a list of all, class after class

    @staticmethod
    def memory_needed(labels: Labels, count: int, features: int) -> int:
        """Bytes: the vectors, and the examples that they are made from."""
        examples = int(labels.counts_per_class()[0].clip(max=_MOST_OF_A_CLASS).sum())
        return 4 * features * (labels.shape[1] * count + examples)

    def renew(
        self, batches: Iterable[tuple[Tensor, Tensor, Tensor | None]], all_reduce: AllReduce, how: str = "k-means"
    ) -> None:
        """Makes all prototypes again from (rows B, class features B×C×D, quadrants B×C or None) of all images.

        how: k-means: cluster centers. quadrants: the mean of the examples whose strongest cell lies in that quarter of
        the image; the mean of all where there is none.
        """
        places = self._examples.nnz
        found = torch.zeros(places, self.vectors.shape[2], device=self.vectors.device)
        quadrant = torch.full((places,), -1, device=self.vectors.device)
        for rows, features, quadrants in batches:
            part = self._examples[rows.cpu().numpy()].tocoo()
            image, label, place = (torch.from_numpy(v).to(found.device) for v in (*part.coords, part.data - 1))
            found[place] = features[image.long(), label.long()].float()
            quadrant[place] = 0 if quadrants is None else quadrants[image.long(), label.long()]
        found, quadrant = all_reduce(found, "sum"), all_reduce(quadrant, "max")
        vectors, kinds = found.cpu().numpy(), quadrant.cpu().numpy()
        cluster = k_means if how == "k-means" else _mean_by_kind
        ends = np.bincount(self._examples.indices, minlength=len(self.vectors)).cumsum()
        for number, (start, end) in enumerate(zip((0, *ends[:-1]), ends, strict=True)):
            seen = kinds[start:end] >= 0  # of images that could be read
            self.made[number] = bool(seen.any())
            if seen.any():
                made = cluster(vectors[start:end][seen], kinds[start:end][seen], self.vectors.shape[1])
                self.vectors[number] = torch.from_numpy(made).to(self.vectors)


def prototypes_due(epoch: int, start: int, every: int) -> bool:
    """Whether prototypes are made before this epoch: once `start` epochs are over, then after `every` further ones."""
    return (since := epoch - 1 - start) >= 0 and since % every == 0


def k_means(vectors: NDArray[np.float32], kinds: object, count: int) -> NDArray[np.float32]:
    """The centers of `count` clusters; where there are fewer vectors, these and repetitions of them."""
    from sklearn.cluster import KMeans  # takes a second to import, which only runs with prototypes should spend

    clusters = min(count, len(np.unique(vectors, axis=0)))
    centers = KMeans(clusters, n_init=10, random_state=0).fit(vectors).cluster_centers_
    return np.resize(centers, (count, vectors.shape[1])).astype(np.float32)


def _mean_by_kind(vectors: NDArray[np.float32], kinds: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    mean = vectors.mean(0)
    return np.stack([vectors[kinds == kind].mean(0) if (kinds == kind).any() else mean for kind in range(count)])


def _examples(labels: Labels) -> sp.csr_array:
    """N×C: of each class up to `_MOST_OF_A_CLASS` known positives, numbered from 1, class after class."""
    present = sp.csc_array(labels.csr > 0)
    kept = []
    for start, end in zip(present.indptr[:-1], present.indptr[1:], strict=True):
        number = min(end - start, _MOST_OF_A_CLASS)
        kept.append(present.indices[np.linspace(start, end - 1, number).astype(np.int64)])
    counts = [len(rows) for rows in kept]
    indptr = np.concatenate(([0], np.cumsum(counts)))
    rows = np.concatenate(kept) if kept else np.zeros(0, np.int64)
    numbered = sp.csc_array((np.arange(1, len(rows) + 1), rows, indptr), shape=labels.shape)
    return sp.csr_array(numbered)
