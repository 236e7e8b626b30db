"""The input of the metrics: scores and labels checked, of one shape, as tensors or stored sparse."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.errors import TrilabelError

_NOTHING_ABSENT = (
    "the labels are 1 and 0, and 0 is unknown: nothing is known to be absent. If 0 is absent in yours, give 2 * y - 1"
)
_SPARSE_BELOW = 0.1  # known share under which stored labels are read one by one rather than unpacked


class HasSigned(Protocol):
    """A label matrix that can be written out as int8 N×C of +1/−1/0; `trilabel.Labels` is one."""

    def to_signed(self) -> NDArray[np.int8]: ...


Matrix: TypeAlias = NDArray[Any] | Tensor
LabelMatrix: TypeAlias = Matrix | HasSigned
Truth: TypeAlias = Tensor | sp.csr_array  # int8 +1/−1/0, or the known ones stored


def check_inputs(
    scores: Matrix, labels: LabelMatrix, names: Sequence[str] | None = None, needs_absent: bool = True
) -> tuple[Tensor, Truth]:
    """(scores N×C without NaN, labels N×C in +1/−1/0), dense labels on the device of the scores.

    needs_absent: to warn of arrays of 1 and 0.
    """
    table = as_tensor(scores)
    if table.ndim != 2 or not table.is_floating_point():
        raise TrilabelError(f"scores are {table.dtype} of shape {tuple(table.shape)}; give floats, images × classes")
    if names is not None and len(names) != table.shape[1]:
        raise TrilabelError(f"{len(names)} class names for scores of {table.shape[1]} classes; give one name per class")
    if table.numel() and bool(torch.isnan(table.max())):  # a maximum with NaN in it is NaN, and needs no memory
        row = int(torch.isnan(table.amax(dim=1)).nonzero()[0])
        column = int(torch.isnan(table[row]).nonzero()[0])
        named = names if names is not None else getattr(labels, "classes", None)
        name = f" ({named[column]!r})" if named is not None else ""
        raise TrilabelError(f"the score of image row {row}, class {column}{name} is NaN; check what produced it")
    truth = _truth(labels)
    if tuple(truth.shape) != tuple(table.shape):
        raise TrilabelError(
            f"scores are {tuple(table.shape)}, labels {tuple(truth.shape)}; rows and classes must agree"
        )
    if needs_absent and isinstance(labels, np.ndarray | Tensor) and truth.numel():
        low, high = truth.aminmax()
        if low == 0 and high == 1:
            warnings.warn(_NOTHING_ABSENT, stacklevel=3)
    return table, truth.to(table.device) if isinstance(truth, Tensor) else truth


def as_tensor(array: Matrix) -> Tensor:
    """The array as a tensor, without a copy where that is possible: not to be written to."""
    if isinstance(array, Tensor):
        return array.detach()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable.*")
        return torch.from_numpy(np.ascontiguousarray(array))


def _truth(labels: LabelMatrix) -> Truth:
    csr = getattr(labels, "csr", None)
    if csr is not None:
        sparse = csr.nnz < _SPARSE_BELOW * csr.shape[0] * csr.shape[1]
        return csr if sparse else torch.from_numpy(csr.toarray())
    signs = as_tensor(labels if isinstance(labels, np.ndarray | Tensor) else labels.to_signed())
    if signs.dtype == torch.bool:
        raise TrilabelError("true/false labels cannot express unknown; give +1, −1 and 0 (np.where(a, 1, -1))")
    if signs.numel():
        low, high = signs.aminmax()
        whole = not signs.is_floating_point() or bool((signs == signs.trunc()).all())
        if not (bool(low >= -1) and bool(high <= 1) and whole):
            bad = (signs != 0) & (signs != 1) & (signs != -1)
            place = tuple(int(i) for i in bad.nonzero()[0])
            value = signs[place].item()
            hint = "; give scores first, then labels" if 0 < value < 1 else ""
            raise TrilabelError(f"label value {value:g} at {place}: a label is +1, −1 or 0 (unknown){hint}")
    return signs.to(torch.int8)


class Known(NamedTuple):
    """The known labels one after the other: image, class, score, and whether it is present."""

    images: NDArray[np.int64]
    columns: NDArray[np.int64]
    scores: NDArray[np.float64]
    present: NDArray[np.bool_]


def known_labels(scores: Tensor, truth: Truth, largest: float) -> Known:
    """Of checked scores and labels (N×C), scores clipped to ± `largest`: infinite ones become numbers."""
    stored = sp.coo_array(truth.cpu().numpy() if isinstance(truth, Tensor) else truth)
    rows, columns = stored.coords
    values = to_float32(scores).cpu().numpy()[rows, columns].astype(np.float64)
    return Known(rows, columns, values.clip(-largest, largest), stored.data > 0)


def check_weights(weights: NDArray[np.float64] | None, known: int) -> NDArray[np.float64]:
    """One for each known label; where none are given all are 1."""
    if weights is None:
        return np.ones(known)
    if weights.shape != (known,) or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise TrilabelError(f"weights are {known:,} finite numbers of 0 or more here, one for each known label")
    return weights


def to_float32(scores: Tensor) -> Tensor:
    """The same values as float32 (float64 stays): NumPy has no bfloat16."""
    return scores if scores.dtype == torch.float64 else scores.float()
