"""`TriLabelClassifier`: present, absent and unknown labels of feature vectors, as a scikit-learn estimator."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.estimator.deciding import Recent, decided_by_folds, filled_in, plain
from trilabel.estimator.encoding import Encoded
from trilabel.estimator.fitting import Fitted, Samples, fit, fit_further, score
from trilabel.estimator.inputs import class_names, labels_of, weights_of
from trilabel.estimator.planning import Options, make_plan
from trilabel.estimator.scoring import known_map_scorer
from trilabel.labels import Labels
from trilabel.methods import METHODS
from trilabel.models.device import choose_device


class TriLabelClassifier(BaseEstimator):  # type: ignore[misc]
    """Multi-label classification of feature vectors whose labels are present, absent or unknown.

    X is dense or sparse, samples × features; no scaling is needed. y is samples × classes: 1 present, 0 absent, NaN
    unknown, as an array or a table; or a sparse matrix of +1 and −1 in which what is not stored is unknown.

    method: how to learn from unknown labels, by name (see `trilabel methods`); auto: chosen by which labels are known.
    settings: settings of the method, by name.
    hidden: () is linear; "fourier" a layer of 1,024 random waves that is not trained, which makes a linear fit one of a
        Gaussian kernel; (256,) a network with such hidden layers. auto: linear for sparse X, else fourier, unless
        cross-validation on the known labels shows that linear is better.
    epochs: passes over the samples; auto: 25, down to 8 for many samples, and to 5 where every label is known.
    batch_size: samples per step; auto: a twentieth, from 256 to 1,024.
    reach: how far weights move, which regularizes them: lower is stronger; auto: 1, unless cross-validation on the
        known labels shows that another is clearly better. Networks do not use it.
    thresholds: fitted: by class on samples left out of a fit, which also calibrates probabilities and takes about twice
        as long (longer for few samples); or a probability such as 0.5 for all.
    device: where to compute: cpu or cuda; auto: cuda if there is a GPU.
    random_state: seed of everything random.

    Fitted: `method_`, `settings_`, `hidden_`, `reach_` as they were chosen, `classes_`, `thresholds_` (probabilities of
    each class), `decisions_` (with the sentence that they rest on), and `transduction_`: 1 and 0, the known labels of
    the samples that it was fitted to, and what it makes of their unknown ones (sparse if y was).

    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> y = np.where(X[:, :3] > 0, 1.0, 0.0)
    >>> y[np.random.default_rng(1).random(y.shape) < 0.7] = np.nan
    >>> found = TriLabelClassifier(random_state=0).fit(X, y)
    >>> bool(found.score(X, X[:, :3] > 0) > 0.9)
    True
    """

    def __init__(
        self,
        method: str = "auto",
        settings: Mapping[str, Any] | None = None,
        hidden: Literal["auto", "fourier"] | int | Sequence[int] = "auto",
        epochs: Literal["auto"] | int = "auto",
        batch_size: Literal["auto"] | int = "auto",
        reach: Literal["auto"] | float = "auto",
        thresholds: Literal["fitted"] | float = "fitted",
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.settings = settings
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.reach = reach
        self.thresholds = thresholds
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from samples (X: N×D, y: N×C); whatever was learned before is forgotten.

        sample_weight: N numbers from 0, by which the gradients of samples are multiplied; those of 0 take no part.
        """
        X, labels, weights = self._checked(X, y, sample_weight, reset=True)
        options, device = Options.of(self), choose_device(self.device)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with _own_draws(seed, device):
            rows = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
            plan, encoder = make_plan(options, X, rows, labels[rows], seed, device, weights is not None)
            samples = _samples(Encoded(X, encoder, device), labels, weights)
            given = self.thresholds
            self.decisions_ = decided_by_folds(plan, samples) if given == "fitted" else plain(labels.shape[1], given)
            fitted = fit(plan, samples)
        self.method_, self.settings_, self.reach_ = plan.method, plan.settings, plan.reach
        self.hidden_ = "fourier" if encoder.waves else plan.hidden
        self.classes_ = class_names(y, labels.shape[1])
        self.encoder_, self.network_, self._plan = encoder, fitted.network, plan
        # What a method remembers of each sample is of no use for others.
        remembers = METHODS[plan.method].memory_needed(fitted.method.settings, samples.labels, encoder.size)
        self._method, self._seen = None if remembers else fitted.method, len(rows)
        self._recent = Recent.none(labels.shape[1])
        self.transduction_ = filled_in(fitted.network, samples.inputs, labels, self.decisions_, _is_sparse(y))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from more samples; the first call is `fit`, and should see a fair sample.

        How features are scaled, the method and its rates are those of the first. Weights move by as much as those of a
        fit would with so many samples more. Thresholds follow the samples of the last calls, scored before they are
        learned from.
        """
        if not hasattr(self, "network_"):
            return self.fit(X, y, sample_weight)
        X, labels, weights = self._checked(X, y, sample_weight, reset=False)
        if self._method is None:
            raise TrilabelError(
                f"method {self.method_!r} with these settings remembers each sample, and cannot go on with others; use "
                "fit, or another method, such as posterior"
            )
        if labels.shape[1] != len(self.classes_):
            raise TrilabelError(f"y has {labels.shape[1]} classes, and the first part had {len(self.classes_)}")
        device = choose_device(self.device)
        samples = _samples(Encoded(X, self.encoder_, device), labels, weights)
        fitted = Fitted(self.network_.to(device), self._method.to(device))
        if self.thresholds == "fitted":
            logits = torch.cat(list(score(fitted.network, samples.inputs, samples.rows)))
            self._recent = self._recent.and_then(logits, samples.labels)
            self.decisions_ = self._recent.decided(fitted.method.known_rates()) or self.decisions_
        with _own_draws(self._plan.seed + self._seen, device):
            fit_further(self._plan, fitted, samples, self._seen)
        self._seen += len(samples.rows)
        self.transduction_ = filled_in(fitted.network, samples.inputs, labels, self.decisions_, _is_sparse(y))
        return self

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """C: the probability from which each class counts as present."""
        return np.array(self.decisions_.thresholds)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """N×C: 1 where the probability reaches the threshold of the class, else 0."""
        return (self.decision_function(X) >= 0).astype(np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """N×C: the probability that each class is present."""
        probabilities: NDArray[np.float64] = self._calibrated(X).sigmoid().numpy()
        return probabilities

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """N×C: the logit of the probability less that of the threshold; from 0 on a class counts as present."""
        above: NDArray[np.float64] = (self._calibrated(X) - torch.from_numpy(self.thresholds_).logit()).numpy()
        return above

    def score(self, X: Any, y: Any) -> float:
        """Mean average precision over the known labels; nan where no class has known positives and negatives."""
        return known_map_scorer(self, X, y)

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, reset: bool
    ) -> tuple[Any, Labels, NDArray[np.float64] | None]:
        fewest = 2 if reset else 1
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=fewest
        )
        labels = labels_of(y)
        return X, labels, weights_of(sample_weight, X, labels)

    def _calibrated(self, X: Any) -> Tensor:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        device = choose_device(self.device)
        inputs = Encoded(X, self.encoder_, device, keep=False)
        logits = torch.cat(list(score(self.network_.to(device), inputs, np.arange(len(inputs)))))
        return self.decisions_.logits(logits.double())

    def __getstate__(self) -> dict[str, Any]:
        """On the CPU, so that it opens where there is no GPU."""
        state: dict[str, Any] = dict(super().__getstate__())
        for name in ("encoder_", "network_", "_method"):
            if isinstance(state.get(name), torch.nn.Module):
                state[name] = deepcopy(state[name]).cpu()
        return state

    def __sklearn_tags__(self) -> Any:
        """Multi-label. Not of type "classifier": for these scikit-learn refuses NaN in y before it splits samples."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.multi_output = tags.input_tags.sparse = True
        tags.target_tags.single_output = False
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        return tags


def _samples(inputs: Encoded, labels: Labels, weights: NDArray[np.float64] | None) -> Samples:
    """Those with a weight above 0."""
    rows = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
    return Samples(inputs, rows, labels[rows], None if weights is None else weights[rows])


def _is_sparse(y: Any) -> bool:
    return isinstance(y, Labels) or sp.issparse(y)


@contextmanager
def _own_draws(seed: int, device: torch.device) -> Iterator[None]:
    """Inside, torch draws from this seed; outside, as if nothing had been drawn."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
