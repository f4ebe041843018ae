"""Named stacks with good defaults, built of layers, members and baselines.

>>> from hippozoo.layers import parameter_count
>>> from hippozoo.models import explicit_characters
>>> parameter_count(explicit_characters(params=25_000)) <= 25_000
True
"""

from hippozoo.models.characters import explicit_characters

__all__ = ["explicit_characters"]
