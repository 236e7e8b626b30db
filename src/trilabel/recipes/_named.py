"""What the recipes of the papers share."""

from collections.abc import Callable, Iterator

from trilabel.config import Config

Recipe = Callable[[], Config]
Recipes = Iterator[tuple[str, Recipe]]

BASELINE = "Give ImageNet --weights. A baseline."


def named(about: str, config: Config) -> Recipe:
    """A recipe that returns `config`, described by `about`: one of many that differ in little."""

    def recipe() -> Config:
        return config

    recipe.__doc__ = about
    return recipe
