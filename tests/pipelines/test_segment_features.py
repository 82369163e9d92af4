"""Rows and classes of the segments of a video."""

import numpy as np
import pytest

from vidsum.pipelines.segment_features import segment_means, segment_objects
from vidsum.results.features import Features
from vidsum.types import FloatArray

SURE = 20.0  # a logit


@pytest.fixture
def features() -> Features:
    """Four seconds, two pictures each; the classes are 0, 0, 0, 0, 1, 1, 2, 2."""
    logits = SURE * np.eye(3, dtype=np.float32)[[0, 0, 0, 0, 1, 1, 2, 2]]
    return Features(
        np.arange(8, dtype=np.float32)[:, None], np.arange(8) / 2, 0.5, 0.5, 4.0, 25.0, logits=logits
    )


@pytest.mark.parametrize(
    ("segment", "shares"),
    [((0.0, 2.0), (1, 0, 0)), ((1.0, 3.0), (0.5, 0.5, 0)), ((2.0, 4.0), (0, 0.5, 0.5))],
)
def test_objects_of_a_segment_are_the_mean_of_its_pictures(
    features: Features, segment: tuple[float, float], shares: tuple[float, ...]
) -> None:
    objects = segment_objects(features, [segment])
    assert objects is not None
    np.testing.assert_allclose(objects, [shares], atol=1e-6)


def test_features_without_logits_have_no_objects() -> None:
    features = Features(np.ones((8, 1), np.float32), np.arange(8) / 2, 0.5, 0.5, 4.0, 25.0)
    assert segment_objects(features, [(0.0, 2.0)]) is None


@pytest.mark.parametrize(("segment", "mean"), [((0.0, 1.0), 0.5), ((1.05, 1.1), 2.0), ((3.9, 4.0), 7.0)])
def test_segment_without_a_picture_has_the_nearest(
    features: Features, segment: tuple[float, float], mean: float
) -> None:
    rows: FloatArray = segment_means(features.array, features, [segment])
    assert rows.tolist() == [[mean]]
