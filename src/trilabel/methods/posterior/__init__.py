"""An unknown label counts as what it most likely is, given that nobody named it."""

from trilabel.methods.posterior.method import Posterior
from trilabel.methods.posterior.settings import PosteriorSettings

__all__ = ["Posterior", "PosteriorSettings"]
