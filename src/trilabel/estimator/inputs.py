"""What is given to the estimator, checked: labels as `Labels`, weights of samples, parameters."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from trilabel.errors import TrilabelError
from trilabel.labels import Labels


def labels_of(y: Any) -> Labels:
    """Samples × classes: an array or table of 1 present, 0 absent, NaN unknown; or sparse, +1 and −1 stored.

    In a sparse matrix what is not stored is unknown. `Labels` are taken as they are.

    >>> labels_of([[1, 0, float("nan")]]).to_signed()
    array([[ 1, -1,  0]], dtype=int8)
    """
    if y is None:
        raise TrilabelError("requires y to be passed, but the target y is None: give labels, samples × classes")
    if isinstance(y, Labels):
        return y
    if sp.issparse(y):
        return Labels.from_csr(y)
    if hasattr(y, "columns"):  # a table; its index may have duplicates
        return Labels.from_nan(y.to_numpy(np.float64, na_value=np.nan), map(str, y.columns))
    values = np.asarray(y)
    if values.dtype == object:
        try:
            values = values.astype(np.float64)  # None becomes NaN
        except (TypeError, ValueError) as error:
            raise TrilabelError(f"labels are 1, 0 or NaN ({error}); name the classes by a table's columns") from error
    if values.ndim == 1:
        raise TrilabelError(
            "y has one dimension, and should have a column for each class; for a single class give y.reshape(-1, 1)"
        )
    return Labels.from_nan(values)


def class_names(y: Any, classes: int) -> NDArray[Any]:
    """C: the names of the classes where y has them, as a table or `Labels` do, else their numbers."""
    if isinstance(y, Labels):
        return np.array(list(y.classes))
    return np.asarray(y.columns) if hasattr(y, "columns") else np.arange(classes)


def weights_of(sample_weight: Any, X: Any, labels: Labels) -> NDArray[np.float64] | None:
    """N weights of 0 or more, not all 0; None where all are equal."""
    check_consistent_length(X, labels.csr)
    if sample_weight is None:
        return None
    weights: NDArray[np.float64] = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise TrilabelError("all weights of samples are zero; give some a weight above 0")
    return None if (weights == weights[0]).all() else weights
