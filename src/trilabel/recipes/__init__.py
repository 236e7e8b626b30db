"""Recipes: functions that return a full training configuration, under the names that users give. One file per paper.

A recipe of a paper has that paper's settings. Where the paper searched over a grid, its docstring names the grid: the
right value depends on the weights and the data, and is found on validation.
"""

from difflib import get_close_matches

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.recipes import cole2021, durand2019, huynh2020, kim2022, own, wang2023
from trilabel.recipes._named import Recipe
from trilabel.recipes.own import fine_tune, linear_then_fine_tune, photos, small

__all__ = ["RECIPES", "Recipe", "fine_tune", "linear_then_fine_tune", "photos", "resolve", "small"]

RECIPES: dict[str, Recipe] = {
    name: recipe
    for family in (own, cole2021, kim2022, durand2019, huynh2020, wang2023)
    for name, recipe in family.RECIPES.items()
}


def resolve(recipe: str | Config) -> Config:
    """The configuration of a recipe's name; a configuration is returned as it is."""
    if isinstance(recipe, Config):
        return recipe
    if recipe not in RECIPES:
        close = get_close_matches(recipe, RECIPES, 4, 0.3) or ["small", "fine-tune"]
        raise TrilabelError(f"no recipe named {recipe!r}; try {', '.join(close)}; `trilabel recipes` lists all")
    return RECIPES[recipe]()
