"""Runs that score the training images of a next round: their models, and the views of an image that these see."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.config import Config, TeacherViews
from trilabel.data.augment import Views
from trilabel.errors import TrilabelError
from trilabel.methods.posterior import PosteriorSettings
from trilabel.models import Classifier, Output
from trilabel.settings import settings_of
from trilabel.training import checkpoint
from trilabel.training.run_folder import RunFolder

_CROP = 0.6  # of the side of an image
_GRID = 3  # crops along each side
_HIGHEST = 2  # crops that count for a class
_LARGEST_LOGIT = 20.0  # beyond it one model would outweigh all others


class Teachers(nn.Module):
    """The mean logits of several models, over views of each image."""

    def __init__(self, models: Sequence[Classifier], views: TeacherViews, channels_last: bool = False) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)
        self.sizes = [model.backbone.image_size for model in models]
        self.prepare = [Views(model.backbone.mean, model.backbone.std).plain for model in models]
        self.views: TeacherViews = views
        self.channels_last = channels_last

    @property
    def image_size(self) -> int:
        """Pixels per side of the images that it takes; models for smaller ones see them made smaller."""
        return max(self.sizes)

    def forward(self, images: Tensor) -> Output:
        """B×3×S×S uint8 -> B×C logits; with crops B×2C, in the second half those of the whole images alone."""
        whole = self._score(images)
        if self.views == "mirror":
            return Output(whole, whole)
        crops = torch.stack([self._score(crop) for crop in crops_of(images)])
        both = (whole + crops.topk(_HIGHEST, dim=0).values.mean(0)) / 2
        return Output(torch.cat((both, whole), dim=1), whole)

    def _score(self, images: Tensor) -> Tensor:
        """B×C: the mean logits of all models, over image and mirror image."""
        logits = []
        for model, size, prepare in zip(self.models, self.sizes, self.prepare, strict=True):
            view = images.float()
            if images.shape[-1] != size:
                smaller = size < images.shape[-1]
                view = F.interpolate(view, (size, size), mode="bilinear", antialias=smaller)
            view = prepare(view)
            if self.channels_last:
                view = view.contiguous(memory_format=torch.channels_last)
            logits += [model(view).logits, model(view.flip(-1)).logits]
        return torch.stack([each.float().clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT) for each in logits]).mean(0)


def crops_of(images: Tensor) -> list[Tensor]:
    """Nine parts of each image on a grid, of 60 % of its side; they overlap."""
    size = images.shape[-1]
    side = max(1, round(_CROP * size))
    starts = [round(step * (size - side) / (_GRID - 1)) for step in range(_GRID)]
    return [images[..., top : top + side, left : left + side] for top in starts for left in starts]


def open_teachers(runs: Sequence[Path], classes: Sequence[str], config: Config) -> Teachers:
    """The models of runs on these classes; config: that of the run that they teach."""
    models = []
    for run in runs:
        model, about = RunFolder(run).classifier()
        if about.classes != list(classes):
            raise TrilabelError(f"{run}: a run on other classes cannot teach this one; train it on the same")
        models.append(model.to(memory_format=torch.channels_last) if config.channels_last else model)
    return Teachers(models, config.teacher_views, config.channels_last).eval()


def only_taught(config: Config) -> bool:
    """Whether nothing is trained but what finished runs teach: the method says at most how rates are found."""
    return bool(config.teachers) and config.rounds == 1


def method_in_words(config: Config) -> str:
    """The method of a run as people are told of it."""
    return "taught" if only_taught(config) else config.method


def check_teachers(runs: Sequence[str], classes: Sequence[str]) -> None:
    """Refuses folders that are no finished runs on these classes, before anything slow begins."""
    for run in runs:
        folder = RunFolder(Path(run))
        about = folder.read()
        if about.classes != list(classes):
            raise TrilabelError(f"{run}: a run on other classes cannot teach this one; train it on the same")
        about.require(["head"], folder.path)
        folder.best_record()


def posterior_settings(config: Config) -> PosteriorSettings:
    """How the rates of known labels are found: as the method does, if it is `posterior`."""
    given = config.settings if config.method == "posterior" else {}
    return settings_of(PosteriorSettings, given, "posterior")


def fitted_rates_of(runs: Sequence[Path]) -> Tensor | None:
    """2×C: the mean rates of known labels that these runs fitted; None if none did."""
    found = []
    for run in runs:
        if RunFolder(run).read().config.method == "posterior":
            tensors, _ = checkpoint.load(RunFolder(run).best, "method.")
            if tensors["method.fit_counts"].numel():  # empty where rates had another source
                found.append(tensors["method.rates"])
    return torch.stack(found).mean(0) if found else None
