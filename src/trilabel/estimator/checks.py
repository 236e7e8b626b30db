"""Which of scikit-learn's checks of estimators do not hold for `TriLabelClassifier`, and why.

check_estimator(TriLabelClassifier(), expected_failed_checks=EXPECTED_FAILED_CHECKS)
"""

_LABELS = "its labels are 1 and 2; here a label is 1, 0 or NaN, and anything else is refused rather than guessed"
_COLUMNS = "it wants a column for absent and one for present; here probabilities are samples × classes"
_WEIGHTS = (
    "a weight multiplies a sample's gradient; a repeated sample also falls into other mini-batches and folds, so that "
    "the results are close but not equal"
)

EXPECTED_FAILED_CHECKS = {
    "check_estimators_dtypes": _LABELS,
    "check_sample_weights_pandas_series": _LABELS,
    "check_sample_weights_not_an_array": _LABELS,
    "check_sample_weights_shape": _LABELS,
    "check_sample_weights_not_overwritten": _LABELS,
    "check_fit2d_1feature": _LABELS,
    "check_estimator_sparse_array": _COLUMNS,
    "check_estimator_sparse_matrix": _COLUMNS,
    "check_sample_weight_equivalence_on_dense_data": _WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": _WEIGHTS,
}
