"""Topics of a film, and importance that is compared within them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import fcluster, linkage

from vidsum.models.scaling import logit
from vidsum.results.features import Features
from vidsum.summary.film_topics import compare_within_topics, topics_of
from vidsum.summary.score import score
from vidsum.summary.settings import SHIPPED_MODEL, Selection
from vidsum.types import FloatArray, IntArray

DOG, BEACH = np.eye(2, 8, dtype=np.float32)


def rows_of(*topics: FloatArray, size: int = 4) -> FloatArray:
    return np.repeat(np.stack(topics), size, axis=0)


def means_of(importance: FloatArray, topics: IntArray) -> FloatArray:
    scores = logit(importance)
    return np.array([scores[topics == number].mean() for number in range(topics.max() + 1)])


def test_topic_that_comes_again_is_the_same() -> None:
    topics = topics_of(rows_of(DOG, BEACH, DOG), 4)
    assert topics[0] == topics[-1] != topics[5]


@pytest.mark.parametrize(("cosine", "count"), [(0.29, 2), (0.31, 1)])
def test_parts_are_of_a_topic_from_a_cosine_of_three_tenths_on(cosine: float, count: int) -> None:
    other = cosine * DOG + np.sqrt(1 - cosine**2) * BEACH
    assert len(set(topics_of(rows_of(DOG, other), 4))) == count


@pytest.mark.parametrize(("far", "near", "count"), [(0.0, 0.5, 2), (0.1, 0.58, 1)])
def test_part_joins_a_topic_by_its_mean_cosine_with_the_parts_of_it(
    far: float, near: float, count: int
) -> None:
    # neither by the nearest part, .5 in the first case, nor by the farthest, .1 in the second
    cosines = np.array([[1, 0.6, far], [0.6, 1, near], [far, near, 1]])
    rows = np.linalg.cholesky(cosines).astype(np.float32)
    assert len(set(topics_of(rows, 1))) == count


def test_loud_rows_weigh_no_more_than_others_of_their_part() -> None:
    part = np.stack([DOG, DOG, DOG, 100 * BEACH])
    topics = topics_of(np.vstack([part, rows_of(DOG)]), 4)
    assert topics[0] == topics[-1]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_film_of_a_part_is_a_topic(count: int) -> None:
    assert topics_of(np.eye(count, 8, dtype=np.float32), 4).tolist() == [0] * count


def test_longest_film_is_cut_into_a_thousand_parts() -> None:
    topics = topics_of(np.random.default_rng(0).normal(size=(2500, 40)).astype(np.float32), 1)
    assert (topics[: 2500 // 3 * 3].reshape(-1, 3) == topics[:2499:3, None]).all()


def test_film_of_black_pictures_has_topics() -> None:
    assert topics_of(np.zeros((12, 8), np.float32), 4).tolist() == [0] * 4 + [1] * 4 + [2] * 4


@given(st.integers(2, 60), st.integers(2, 8), st.integers(0, 1000))
def test_topics_are_those_of_average_linkage(count: int, dim: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances = 1 - (unit @ unit.T)[np.triu_indices(count, 1)].astype(np.float64)
    expected = fcluster(linkage(np.maximum(distances, 0), "average"), 0.7, "distance")
    topics = topics_of(rows)
    assert (
        len(set(zip(topics.tolist(), expected.tolist(), strict=True))) == len(set(topics)) == expected.max()
    )


@given(arrays(np.float32, st.tuples(st.integers(1, 40), st.just(3)), elements=st.floats(-1, 1, width=16)))
def test_topics_are_numbered_from_zero_without_gaps(rows: FloatArray) -> None:
    topics = topics_of(rows, 3)
    assert len(topics) == len(rows)
    assert set(topics.tolist()) == set(range(topics.max() + 1))


def test_no_topic_of_many_is_preferred() -> None:
    topics = np.repeat(np.arange(5), 4)
    importance = np.random.default_rng(0).uniform(0.1, 0.9, 20).astype(np.float32)
    means = means_of(compare_within_topics(importance, topics), topics)
    np.testing.assert_allclose(means, logit(importance).mean(), atol=1e-4)


@pytest.mark.parametrize(("largest", "left"), [(25, 0.0), (26, 1 / 15), (32, 7 / 15), (40, 1.0), (90, 1.0)])
def test_topics_count_as_far_as_the_film_is_of_a_single_subject(largest: int, left: float) -> None:
    topics = np.append(np.zeros(largest, np.int64), 1 + np.arange(100 - largest) % 4)
    importance = np.where(topics == 1, 0.8, 0.4).astype(np.float32)
    before, after = (
        means_of(curve, topics) for curve in (importance, compare_within_topics(importance, topics))
    )
    assert after[1] - after[0] == pytest.approx(left * (before[1] - before[0]), abs=1e-3)


@given(st.data(), st.integers(1, 30))
def test_order_within_a_topic_and_the_mean_stay(data: st.DataObject, count: int) -> None:
    importance = data.draw(arrays(np.float32, count, elements=st.floats(0.0625, 0.9375, width=32)))
    topics = np.unique(data.draw(arrays(np.int64, count, elements=st.integers(0, 4))), return_inverse=True)[1]
    compared = compare_within_topics(importance, topics)
    assert logit(compared).mean() == pytest.approx(logit(importance).mean(), abs=1e-3)
    for number in set(topics.tolist()):
        before, after = importance[topics == number], compared[topics == number]
        assert (np.diff(after[np.argsort(before, kind="stable")]) >= -1e-6).all()


def test_default_model_prefers_no_subject_of_a_film_of_many() -> None:
    rng = np.random.default_rng(0)
    sentences = np.linalg.qr(rng.normal(size=(384, 6)))[0].T.astype(np.float32)
    embeddings = np.repeat(sentences, 20, axis=0) + rng.normal(0, 0.01, (120, 384)).astype(np.float32)
    array = rng.normal(size=(120, 1280)).astype(np.float32)
    features = Features.from_array(array, 2.0, extractor="efficientnet_lite0")
    features = Features(**{**vars(features), "embeddings": embeddings})
    curve = score(features, None, Selection(model=SHIPPED_MODEL), 0.15)
    means = means_of(curve, np.repeat(np.arange(6), 20))
    assert np.ptp(means) < 0.05
