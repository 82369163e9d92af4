"""How likely a query is true of a video: against a slow computation in a made-up space, and by real names."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import real_weights
from vidsum.grounding import presence
from vidsum.grounding.conse import ClassMixture, name_embeddings
from vidsum.grounding.presence import Background, evidence, load_background, packed, probabilities
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings, of_mixtures
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

SIZES = (7, 5)
"""Classes of the two networks of a made-up space."""
DIM = 6


def rows(seed: int, n: int, size: int, sharp: float = 1.0) -> FloatArray:
    """[n, size] probabilities."""
    scores = np.exp(sharp * np.random.default_rng(seed).standard_normal((n, size)))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True), np.float32)


def texts(seed: int, n: int) -> FloatArray:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, DIM)))


NAMES = [texts(seed, size) for seed, size in enumerate(SIZES)]
BACKGROUND = Background(
    texts(10, 9), tuple(rows(20 + size, 8, size) for size in SIZES), np.array([1.5, -0.5, 0.25])
)


def video_of(n_clips: int, seed: int = 30) -> ClipEmbeddings:
    mixtures = [
        ClassMixture(rows(seed + size, n_clips, size, 3.0), names)
        for names, size in zip(NAMES, SIZES, strict=True)
    ]
    return of_mixtures(mixtures, np.arange(n_clips, dtype=np.float64), float(n_clips))


def slow(video: ClipEmbeddings, queries: FloatArray) -> list[float]:
    """The evidence by loops over queries and clips."""

    def likelihood(query: FloatArray, clip: FloatArray, names: FloatArray) -> float:
        return float(
            np.log(sum(p * np.exp(10 * (query @ name)) for p, name in zip(clip, names, strict=True)))
        )

    def z(query: FloatArray, t: int) -> float:
        total = 0.0
        for mixture, clips in zip(video.mixtures, BACKGROUND.clips, strict=True):
            others = [likelihood(query, clip, mixture.names) for clip in clips]
            own = likelihood(query, mixture.probabilities[t], mixture.names)
            total += (own - np.mean(others)) / np.std(others)
        return total

    def e(query: FloatArray, t: int) -> float:
        others = [z(other, t) for other in BACKGROUND.queries]
        return float((z(query, t) - np.mean(others)) / np.std(others))

    found = []
    for query in queries:
        curve = [e(query, t) for t in range(len(video))]
        width = min(3, len(curve))
        found.append(max(np.mean(curve[t : t + width]) for t in range(len(curve) - width + 1)))
    return found


@pytest.mark.parametrize("n_clips", [1, 2, 3, 11])
def test_the_evidence_is_that_of_a_slow_computation(n_clips: int) -> None:
    video, queries = video_of(n_clips), texts(40, 4)
    np.testing.assert_allclose(
        evidence(video, queries, BACKGROUND), slow(video, queries), rtol=1e-3, atol=1e-4
    )


def test_many_queries_are_those_of_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    video, queries = video_of(5), texts(40, 9)
    whole = evidence(video, queries, BACKGROUND)
    monkeypatch.setattr(presence, "_AT_ONCE", 4)
    np.testing.assert_allclose(evidence(video, queries, BACKGROUND), whole, rtol=1e-5)
    assert len(evidence(video, queries[:0], BACKGROUND)) == 0


def test_a_background_without_variety_gives_finite_evidence() -> None:
    same = replace(
        BACKGROUND,
        queries=np.repeat(BACKGROUND.queries[:1], 4, axis=0),
        clips=tuple(np.repeat(part[:1], 4, axis=0) for part in BACKGROUND.clips),
    )
    assert np.isfinite(evidence(video_of(5), texts(40, 4), same)).all()


def test_the_probability_is_logistic_in_the_evidence_and_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "load_background", lambda sha256: BACKGROUND)
    video, queries = video_of(11), texts(40, 4)
    likely = probabilities(video, queries)
    assert likely is not None
    logit = 1.5 * np.array(slow(video, queries)) - 0.5 * np.log(11) + 0.25
    np.testing.assert_allclose(np.log(likely / (1 - likely)), logit, rtol=1e-3, atol=1e-3)


def test_a_space_without_class_probabilities_has_no_presence() -> None:
    part = texts(50, 5)
    assert probabilities(ClipEmbeddings((part,), np.arange(5.0), 1.0, 5.0), texts(40, 4)) is None


def test_a_packed_background_is_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = packed(BACKGROUND)
    assert [tensors[name].dtype.itemsize for name in ("queries", *CLASSIFIERS)] == [1, 1, 1]
    monkeypatch.setattr("vidsum.checkpoints.load_arrays", lambda name: tensors)
    load_background.cache_clear()
    read = load_background("of this test")
    load_background.cache_clear()
    np.testing.assert_allclose(read.queries, BACKGROUND.queries, atol=0.01)
    for part, own in zip(read.clips, BACKGROUND.clips, strict=True):
        np.testing.assert_allclose(part, own, atol=0.005)
        np.testing.assert_allclose(part.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(read.calibration, BACKGROUND.calibration)


def test_the_shipped_background_holds_the_captions_of_its_list() -> None:
    from vidsum import checkpoints

    background = load_background(checkpoints.sha256_of(presence.NAME))
    listed = Path(__file__).parents[2] / "docs" / "benchmarks" / "background_captions.txt"
    assert len(background.queries) == len(set(listed.read_text().splitlines()))
    assert [part.shape[1] for part in background.clips] == [400, 1000]
    slope, per_length, _ = background.calibration
    assert slope > 0 > per_length  # a long video has a good clip by chance


@pytest.mark.weights
def test_what_clips_show_is_likelier_than_what_they_do_not() -> None:
    for name in ("minilm", *CLASSIFIERS):
        real_weights(name)
    names = [name_embeddings(name, "cpu") for name in CLASSIFIERS]
    shown, absent = 340, 980  # zebra, volcano
    likely = np.full((8, 1000), 1e-4, np.float32)
    likely[:, shown] = 1
    flat = np.full((8, 400), 1 / 400, np.float32)
    mixtures = [
        ClassMixture(each / each.sum(axis=1, keepdims=True), of)
        for each, of in zip((flat, likely), names, strict=True)
    ]
    found = probabilities(of_mixtures(mixtures, np.arange(8.0), 8.0), names[1][[shown, absent]])
    assert found is not None
    assert found[0] > 0.5
    assert found[1] < 0.1
