"""A synthetic voice."""

import numpy as np
import pytest

from tests.voices import has_voices, spoken


@pytest.fixture(scope="session")
def sentence() -> np.ndarray:
    """[N] a sentence by a synthetic voice."""
    if not has_voices(["flite:slt"]):
        pytest.skip("flite is not installed")
    return spoken("The quick brown fox jumps over the lazy dog.", "flite:slt")
