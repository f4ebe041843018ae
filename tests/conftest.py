"""What all tests share: reproducible randomness, and hypothesis without a clock."""

import numpy as np
import pytest
from hypothesis import settings

# A shared machine has no reliable clock, and a failure must come back on the next run.
settings.register_profile("hippozoo", deadline=None, derandomize=True)
settings.load_profile("hippozoo")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240229)
