"""What the digits refuse."""

import pytest

from hippozoo.tasks.digits import load_digits


def test_an_unknown_view_is_refused():
    with pytest.raises(ValueError, match="choose from 'pixels'"):
        load_digits("columns")
