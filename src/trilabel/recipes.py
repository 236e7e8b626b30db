"""Recipes: functions that return a full training configuration, under the names that users give.

A recipe of a paper has that paper's settings; where the paper searched over a grid, the value that is right for the
ImageNet weights at hand must be found on validation (the docstring names the grid).
"""

from collections.abc import Callable
from dataclasses import replace

from trilabel.config import Config
from trilabel.errors import TrilabelError


def small() -> Config:
    """A tiny network on 64-pixel images: minutes on a CPU, no weights needed."""
    return Config(
        epochs=12,
        batch_size=32,
        lr=4e-3,
        optimiser="adamw",
        weight_decay=1e-3,
        lr_schedule="one-cycle",
        channels_last=True,
    )


def fine_tune() -> Config:
    """Photographs: a pretrained ResNet-50 at 448 pixels. Give it weights: --weights FILE, or hub to download."""
    return Config(
        backbone="resnet50",
        image_size=448,
        batch_size=16,
        epochs=10,
        optimiser="adam",
        lr=2e-5,
        head_lr_scale=10,
        lr_schedule="cosine",
        ema=0.999,
        precision="bf16",
        channels_last=True,
    )


def _cole2021() -> Config:
    """ResNet-50 at 448 pixels, Adam, constant rate, mirroring only, 20 % of the training images to choose by (§6.1)."""
    return Config(
        method="assume-negative",
        backbone="resnet50",
        image_size=448,
        val="0.2",
        batch_size=16,
        epochs=10,
        linear_epochs=25,
        optimiser="adam",
        lr=1e-5,
    )


def cole2021_an() -> Config:
    """Cole 2021, table 1 (fine-tuned): AN, unknown counts as absent. Grid: lr 1e-2…1e-5, batch 8 or 16."""
    return _cole2021()


def cole2021_wan() -> Config:
    """Cole 2021, table 1 (fine-tuned): WAN, absents weigh 1 ÷ (classes − 1). Grid: lr 1e-2…1e-5, batch 8 or 16."""
    return replace(_cole2021(), settings={"weight": None})


def cole2021_an_ls() -> Config:
    """Cole 2021, table 1 (fine-tuned): AN-LS, smoothing 0.1 as released. Grid: lr 1e-2…1e-5, batch 8 or 16."""
    return replace(_cole2021(), settings={"smoothing": 0.1})


def cole2021_an_ls_linear_init() -> Config:
    """Cole 2021, table 1: AN-LS + LinearInit, 25 linear epochs on fixed features, then 5 of fine-tuning."""
    return replace(cole2021_an_ls(), plan="linear-then-fine-tune", linear_lr=1e-3, epochs=5)


def kim2022_an() -> Config:
    """Kim 2022, table 2 (end to end): naive AN, the baseline of large loss. Head learns 10 times as fast."""
    return replace(_cole2021(), head_lr_scale=10)


RECIPES: dict[str, Callable[[], Config]] = {
    "small": small,
    "fine-tune": fine_tune,
    "cole2021-an": cole2021_an,
    "cole2021-wan": cole2021_wan,
    "cole2021-an-ls": cole2021_an_ls,
    "cole2021-an-ls-linear-init": cole2021_an_ls_linear_init,
    "kim2022-an": kim2022_an,
}


def resolve(recipe: str | Config) -> Config:
    """A configuration from a recipe's name; a configuration stays what it is."""
    if isinstance(recipe, Config):
        return recipe
    if recipe not in RECIPES:
        raise TrilabelError(f"no recipe named {recipe!r}; there are: {', '.join(RECIPES)}")
    return RECIPES[recipe]()
