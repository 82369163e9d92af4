"""What ships answers as what is published does; the whole comparison is a benchmark."""

from pathlib import Path

import pytest

from docs.benchmarks.joined import known_clips
from docs.benchmarks.shipped_networks import compare
from tests.conftest import deep
from vidsum.errors import WeightsError
from vidsum.weights.recipes.sources import fetch_source


@pytest.mark.shared
@pytest.mark.weights
@pytest.mark.parametrize("number", [deep(0), deep(7), deep(19), deep(33)])
def test_shipped_network_gives_features_and_first_moments_of_the_published(shared: Path, number: int) -> None:
    try:
        fetch_source("efficientnet_lite0")
    except WeightsError as error:
        pytest.skip(f"no weights of efficientnet_lite0: {error}")
    cosines, is_same = compare(known_clips()[number])
    assert cosines.min() > 0.9999
    assert all(is_same)
