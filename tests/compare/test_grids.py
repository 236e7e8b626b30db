"""The values that papers searched: what a recipe says, and settings that its parts accept."""

import pytest

from trilabel.compare.changes import with_changes
from trilabel.compare.grids import published_grid
from trilabel.methods import METHODS
from trilabel.models import HEADS
from trilabel.recipes import RECIPES, resolve
from trilabel.settings import settings_of


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_published_grid_is_the_one_that_the_recipe_describes_and_its_parts_accept(recipe):
    grid, about, config = published_grid(recipe), RECIPES[recipe].__doc__ or "", resolve(recipe)
    assert bool(grid) == ("Grid:" in about)
    text = about.partition("Grid:")[2]
    for name, values in grid.items():
        word = {"batch_size": "batch"}.get(name, name.replace("settings.", "").replace("head_", "head."))
        assert word in text, (name, text)
        assert len(set(values)) == len(values) > 1
        for value in values:
            new = with_changes(config, {name: value}, recipe)
            settings_of(METHODS[new.method].Settings, new.settings, new.method)
            settings_of(HEADS[new.head].Settings, new.head_settings, new.head, "head")
