"""Named stacks with good defaults, built of layers, members and baselines.

`build_model` makes a model by the names of its layers, `recipe` one layer of a kind for stacks of one's own.
"""

from hippozoo._internal.extras import needs

needs("torch", extra="torch", feature="hippozoo.models")

from hippozoo.models.characters import explicit_characters
from hippozoo.models.recipes import RECIPES, build_model, recipe

__all__ = ["RECIPES", "build_model", "explicit_characters", "recipe"]
