"""Evidence second by second against that of a whole video."""

import numpy as np
import pytest

from tests.archive.made import NAMES, use_live
from tests.grounding.colours import ENCODER
from vidsum.grounding.live import LiveEvidence
from vidsum.grounding.presence import OFFSET, SLOPE, evidence_curves
from vidsum.grounding.spaces import embed_video
from vidsum.models.scaling import logistic, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray

TEXTS = ["red", "blue", "green yellow"]


@pytest.fixture(autouse=True)
def _live(monkeypatch: pytest.MonkeyPatch) -> None:
    use_live(monkeypatch)
    monkeypatch.setattr("vidsum.grounding.spaces.mapped_rows", lambda features: unit_rows(features.array))
    monkeypatch.setattr("vidsum.grounding.spaces.name_embeddings", lambda extractor, device: NAMES)


def colours(count: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).uniform(10, 250, (count, 3)).astype(np.float32)


def logits(features: FloatArray) -> FloatArray:
    return np.asarray(10 * unit_rows(features) @ NAMES.T, np.float32)  # the temperature is 2


def test_seconds_are_the_clips_of_the_batch_run() -> None:
    rows = colours(40)
    queries = ENCODER.encode(TEXTS)
    live = LiveEvidence(queries)
    features = Features(rows, np.arange(40) / 2, 0.5, 0.5, 20.0, 2.0, "efficientnet_lite0", logits(rows))
    expected = logistic(SLOPE * evidence_curves(embed_video("vse", [features]), queries) + OFFSET)
    found = [live.present(part, logits(part)) for part in np.split(rows, 20)]
    assert np.allclose(np.stack(found, axis=1), expected, atol=1e-4)
    assert expected.min() < 0.1 < 0.2 < expected.max()
