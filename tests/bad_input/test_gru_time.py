"""A GRU knows two ways to take time."""

import pytest

from hippozoo.baselines import GRU


def test_time_has_two_kinds():
    with pytest.raises(ValueError, match="choose from None, 'feature', 'fading'"):
        GRU(3, 2, time="decay")  # pyright: ignore[reportArgumentType]
