"""What is done to features before anything is learned from them: scaled, of one length, perhaps through random waves.

Columns of dense features are brought to mean 0 and deviation 1; those of sparse ones, which stay sparse, are divided by
the root of their deviation, halfway to it: rare words then count for more, but not for too much. Samples are then
divided by their length, so that none has more to say than others.
"""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.labels import Labels
from trilabel.training.reach import MOST_IMAGES, draw_trial, left_out_precision

WAVES = 1_024
_NARROW = 3.0  # the kernel of two samples at the median distance is exp(−this ÷ 2): good from 70 to 300 features
_AT_ONCE = 2**22  # numbers of features that are dense at a time
_SAMPLE, _SAMPLE_NUMBERS, _PAIRS = 10_000, 2**26, 300  # samples that means and distances are taken of
_MOST_TRIED = 3_000  # samples on which waves are tried
_KEPT = 2**27  # numbers that are encoded once and kept, 4 bytes each


class Encoder(nn.Module):
    """B×D features of samples -> B×F numbers of mean 0 and mean square 1; fitted once, and never trained.

    waves: so many random directions, of which cosine and sine are taken (random Fourier features, Rahimi 2007): linear
        weights on them are those of a Gaussian kernel. 0: none.
    """

    center: Tensor  # D: mean of the samples once their columns and lengths are scaled
    scale: Tensor  # a number: what they are then multiplied by
    directions: Tensor  # D×waves
    wave_center: Tensor  # 2·waves
    wave_scale: Tensor

    def __init__(self, X: Any, waves: int, draw: np.random.Generator) -> None:
        super().__init__()
        scaler = StandardScaler(with_mean=False)
        for rows in gen_batches(X.shape[0], max(1, _AT_ONCE // X.shape[1])):
            scaler.partial_fit(X[rows])
        self.sparse = sp.issparse(X)
        self.shift: NDArray[np.float64] = np.zeros(X.shape[1]) if self.sparse else np.asarray(scaler.mean_)
        self.factor: NDArray[np.float64] = 1 / (np.sqrt(scaler.scale_) if self.sparse else np.asarray(scaler.scale_))
        count = max(2, min(_SAMPLE, _SAMPLE_NUMBERS // max(X.shape[1], 2 * waves)))
        sample = self._of_one_length(self.columns(X, draw.permutation(X.shape[0])[:count]))
        center, scale = _moments(sample)
        self.register_buffer("center", center)
        self.register_buffer("scale", scale)
        self.size: int = X.shape[1]
        if waves:
            sample = (sample - center) * scale
            distance = float(torch.pdist(sample[:_PAIRS]).square().median()) if len(sample) > 1 else 0.0
            directions = torch.from_numpy(draw.standard_normal((X.shape[1], waves), dtype=np.float32))
            self.register_buffer("directions", directions * math.sqrt(_NARROW / max(distance, 1e-6)))
            center, scale = _moments(self._waves(sample))
            self.register_buffer("wave_center", center)
            self.register_buffer("wave_scale", scale)
            self.size = 2 * waves
        self.waves = waves

    def columns(self, X: Any, rows: NDArray[np.int64] | slice) -> Tensor:
        """B×D: these rows, dense, with their columns scaled; in the precision of X, since columns may be far from 0."""
        chosen = X[rows]
        dense = chosen.toarray() if sp.issparse(chosen) else chosen
        return torch.from_numpy(((dense - self.shift) * self.factor).astype(np.float32))

    def forward(self, columns: Tensor) -> Tensor:
        """B×D of `columns` -> B×F."""
        found = (self._of_one_length(columns) - self.center) * self.scale
        return (self._waves(found) - self.wave_center) * self.wave_scale if self.waves else found

    def _of_one_length(self, columns: Tensor) -> Tensor:
        # The mean square of dense columns is 1: with D added, lengths still differ where there are few columns, or one.
        if self.sparse:
            return F.normalize(columns)
        return columns / (columns.square().sum(1, keepdim=True) + columns.shape[1]).sqrt()

    def _waves(self, features: Tensor) -> Tensor:
        angles = features @ self.directions
        return torch.cat((angles.cos(), angles.sin()), 1)


def _moments(features: Tensor) -> tuple[Tensor, Tensor]:
    """(means of the columns, 1 ÷ the deviation of all numbers)."""
    center = features.mean(0)
    spread = (features - center).square().mean().sqrt()
    return center, 1 / spread if spread > 1e-6 else torch.tensor(1.0)


class Encoded:
    """Samples as they are learned from: encoded once where they fit into memory, else batch by batch."""

    def __init__(self, X: Any, encoder: Encoder, device: torch.device, keep: bool = True) -> None:
        """keep: whether they are needed more than once."""
        self.X, self.encoder, self.device = X, encoder.to(device), device
        self._all: Tensor | None = None
        if keep and X.shape[0] * encoder.size <= _KEPT:
            parts = gen_batches(X.shape[0], max(1, _AT_ONCE // max(X.shape[1], encoder.size)))
            self._all = torch.cat([self._encode(rows) for rows in parts])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __call__(self, rows: NDArray[np.int64]) -> Tensor:
        """B×F on the device."""
        return self._encode(rows) if self._all is None else self._all[torch.from_numpy(rows).to(self.device)]

    @torch.no_grad()
    def _encode(self, rows: NDArray[np.int64] | slice) -> Tensor:
        encoded: Tensor = self.encoder(self.encoder.columns(self.X, rows).to(self.device))
        return encoded


def choose_waves(X: Any, truth: Labels | NDArray[np.int8], seed: int) -> int:
    """How many waves suit the samples: none for sparse features, else `WAVES`, unless AP is higher without.

    truth: known labels. AP is that of samples left out of a fit, of which more are tried where fewer labels are known;
    higher by half a standard error over classes.
    """
    if sp.issparse(X):
        return 0
    share = truth.known_share if isinstance(truth, Labels) else float((truth != 0).mean())
    most = min(MOST_IMAGES / max(share, 1e-9), _MOST_TRIED)
    trial = draw_trial(truth, fewest_classes=1, most_images=round(most))
    if trial is None:
        return WAVES
    precision = []
    for waves in (0, WAVES):
        encoder = Encoder(X[trial.images], waves, np.random.default_rng(seed))
        precision.append(left_out_precision(encoder(encoder.columns(X, trial.images)), trial)[0])
    gain = precision[0] - precision[1]
    return 0 if gain.mean() > 0.5 * gain.std() / math.sqrt(len(gain)) else WAVES
