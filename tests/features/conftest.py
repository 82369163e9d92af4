"""Fixtures for extractors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from vidsum.features.extractor import Spec
from vidsum.types import Picture

if TYPE_CHECKING:
    from tests.features import networks

RandomClips = Callable[..., Picture]


def make_clips(spec: Spec, count: int = 2) -> Picture:
    """[count, clip_frames, crop, crop, 3] random pixels."""
    side = spec.preprocessing.crop
    shape = (count, spec.clip_frames, side, side, 3)
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def random_clips() -> RandomClips:
    return make_clips


@pytest.fixture(scope="session")
def random_weights() -> Callable[[str], networks.Weights]:
    """Random weights of an extractor by its name, in the form of its checkpoint; each made once."""
    from tests.features import networks

    return cache(lambda name: networks.WEIGHTS[name]())
