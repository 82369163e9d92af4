"""Vectors as records of small integers."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.archive.made import unit
from vidsum.evidence.records import (
    ClassNames,
    pack_clips,
    pack_pieces,
    pack_rows,
    row_type,
    unpack_clips,
    unpack_rows,
    unpack_shares,
)
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings
from vidsum.models.scaling import softmax
from vidsum.types import FloatArray

NUMBERS = st.floats(-1, 1, width=32, allow_subnormal=False)
ROWS = arrays.arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=NUMBERS)


def video(seed: int, count: int = 20, classes: int = 30) -> ClipEmbeddings:
    rng = np.random.default_rng(seed)
    shares = softmax(rng.normal(size=(count, classes)).astype(np.float32) * 3)
    mixture = ClassMixture(shares, unit(rng, classes, 8))
    still = rng.random(count) < 0.3
    return ClipEmbeddings(
        unit(rng, count, 8), np.arange(count, dtype=np.float64), 1.0, count - 0.5, mixture, None, still
    )


@given(ROWS)
def test_pack_rows(rows: FloatArray) -> None:
    content = pack_rows(rows).tobytes()
    back = unpack_rows(np.frombuffer(content, row_type(rows.shape[1])))
    steps = np.abs(rows).max(axis=1, keepdims=True) / 127
    assert (np.abs(back - rows) <= steps / 2 + 1e-6).all()


@given(st.integers(0, 1000))
def test_pack_clips(seed: int) -> None:
    given_video = video(seed)
    assert given_video.objects is not None
    names = ClassNames(given_video.objects.names, np.zeros((0, 8), np.float32))
    back = unpack_clips(pack_clips(given_video), None, names, 19.5, 1.0)
    assert back.objects is not None
    shares, result = given_video.objects.probabilities, back.objects.probabilities
    assert np.allclose(result.sum(axis=1), 1, atol=1e-5)
    large = shares > 1e-5
    assert np.allclose(result[large], shares[large], rtol=0.06)
    assert (back.is_still == given_video.is_still).all()
    assert (back.timestamps == given_video.timestamps).all()


def test_pack_pieces() -> None:
    given_video = video(3)
    assert given_video.objects is not None
    records = pack_pieces(given_video, np.array([0, 7, 8]), np.eye(8, dtype=np.float32))
    assert records["shot"].tolist() == [0, 0, 0, 2, 2, 2, 2]  # without the shot of one clip
    spans = [*pairwise([0, 3, 6, 7]), *pairwise([8, 11, 14, 17, 20])]
    for number, (start, end) in enumerate(spans):
        assert np.allclose(unpack_rows(records)[number], given_video.rows[start:end].mean(axis=0), atol=0.01)
        mean = given_video.objects.probabilities[start:end].mean(axis=0)
        stored = records["class"][number]
        assert set(stored) == set(np.argsort(-mean)[:16])
        assert np.allclose(unpack_shares(records)[number], mean[stored], rtol=0.06, atol=1e-6)


def test_pieces_of_shots_of_one_clip_alone() -> None:
    records = pack_pieces(video(3, count=2), np.array([0, 1]), np.eye(8, dtype=np.float32))
    assert records["shot"].tolist() == [0, 1]
