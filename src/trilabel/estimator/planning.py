"""Parameters of the estimator, checked, and what follows from them and the samples: method, encoding, reach."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trilabel.errors import TrilabelError
from trilabel.estimator.encoding import WAVES, Encoded, Encoder, choose_waves
from trilabel.estimator.fitting import Plan, usual_batch_size, usual_epochs
from trilabel.estimator.network import check_needs_no_image
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods import check_method, choose_method
from trilabel.settings import read_as
from trilabel.training.reach import MOST_IMAGES, choose_reach
from trilabel.training.splits import validation_truth


@dataclass(frozen=True)
class Options:
    """The parameters of an estimator that shape a fit; None: to be chosen."""

    method: str | None
    settings: dict[str, Any]
    hidden: tuple[int, ...] | None
    fourier: bool
    epochs: int | None
    batch_size: int | None
    reach: float | None

    @classmethod
    def of(cls, estimator: Any) -> "Options":
        """Refuses values out of range."""
        given = estimator.hidden
        named = given if isinstance(given, str) else None
        if named not in (None, "auto", "fourier"):
            raise TrilabelError(f'hidden is "auto", "fourier" or sizes of layers such as (256,), not {given!r}')
        hidden = () if named else read_as(tuple[int, ...], tuple(np.atleast_1d(given).tolist()), "hidden")
        epochs, batch_size, reach = (
            None if (value := getattr(estimator, name)) == "auto" else read_as(kind, value, name)
            for name, kind in (("epochs", int), ("batch_size", int), ("reach", float))
        )
        for name, value in (
            ("epochs", epochs),
            ("batch_size", batch_size),
            *(("a layer of hidden", n) for n in hidden),
        ):
            if value is not None and value < 1:
                raise TrilabelError(f"{name} is at least 1, not {value}")
        if reach is not None and reach <= 0:
            raise TrilabelError(f"reach is above 0, not {reach}; lower regularizes more, 1 is the usual")
        if estimator.thresholds != "fitted" and not 0 < read_as(float, estimator.thresholds, "thresholds") < 1:
            raise TrilabelError(f'thresholds is "fitted" or a probability, not {estimator.thresholds}')
        method = None if estimator.method == "auto" else estimator.method
        settings = dict(estimator.settings or {})
        return cls(method, settings, None if named == "auto" else hidden, named == "fourier", epochs, batch_size, reach)


def make_plan(
    options: Options,
    X: Any,
    rows: NDArray[np.int64],
    labels: Labels,
    seed: int,
    device: torch.device,
    weighted: bool,
) -> tuple[Plan, Encoder]:
    """All that is left open, chosen by these rows of X, and their labels. weighted: whether they weigh differently."""
    X = X if len(rows) == X.shape[0] else X[rows]
    method, settings = options.method, options.settings
    if method is None:
        chosen = choose_method(labels, given=settings)
        method, settings = chosen.method, chosen.settings
        log.info(f"method: {method} (chosen by which labels are known) {chosen.note}".rstrip())
    check_needs_no_image(method, check_method(method, settings, labels), weighted)
    truth = validation_truth(labels)
    waves = WAVES if options.fourier else 0
    if options.hidden is None:
        waves = choose_waves(X, truth, seed)
    encoder = Encoder(X, waves, np.random.default_rng(seed))
    reach = options.reach
    if reach is None:
        some = np.sort(np.random.default_rng(0).permutation(len(labels))[:MOST_IMAGES])
        reach = 1.0 if options.hidden else choose_reach(Encoded(X, encoder, device, keep=False)(some), truth[some])
    log.info(f"features: {'random waves' if waves else 'linear'}, reach {reach:g}")
    batch_size = options.batch_size or usual_batch_size(len(labels))
    epochs = options.epochs or usual_epochs(len(labels), batch_size, labels.known_share == 1)
    return Plan(method, settings, options.hidden or (), reach, epochs, batch_size, seed), encoder
