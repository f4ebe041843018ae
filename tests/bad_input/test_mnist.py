"""Orders of pixels that there are not."""

import pytest

from hippozoo_studies.data.mnist import load_mnist


def test_an_unknown_order_names_the_choices():
    with pytest.raises(ValueError, match="order='random'"):
        load_mnist("random")
