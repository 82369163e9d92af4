"""Retrieval's measures against a slow direct count."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.lab.evaluation import vse
from vidsum.lab.evaluation.vse import measure, picture_ranks, text_ranks


def made(seed: int, n_pictures: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of small whole numbers, so that scores are often equal."""
    rng = np.random.default_rng(seed)
    picture_of = np.repeat(np.arange(n_pictures), rng.integers(1, 5, n_pictures))
    pictures, sentences = (
        rng.integers(-2, 3, (n, 3)).astype(np.float32) for n in (n_pictures, len(picture_of))
    )
    return pictures, sentences, picture_of


def slow_ranks(scores: list[list[float]], own: list[set[int]]) -> list[int]:
    """The place of the first right answer, where equal scores are in the worst order."""
    ranks = []
    for row, right in zip(scores, own, strict=True):
        order = sorted(range(len(row)), key=lambda answer: (-row[answer], answer in right))
        ranks.append(1 + next(place for place, answer in enumerate(order) if answer in right))
    return ranks


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_ranks_are_those_of_a_direct_count(seed: int, n_pictures: int) -> None:
    pictures, sentences, picture_of = made(seed, n_pictures)
    scores = [[float(np.dot(s, p)) for p in pictures] for s in sentences]
    assert text_ranks(pictures, sentences, picture_of).tolist() == slow_ranks(
        scores, [{int(p)} for p in picture_of]
    )
    own = [set(np.flatnonzero(picture_of == number).tolist()) for number in range(n_pictures)]
    columns = [list(column) for column in zip(*scores, strict=True)]
    assert picture_ranks(pictures, sentences, picture_of).tolist() == slow_ranks(columns, own)


def test_many_are_ranked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = made(3, 40)
    whole = text_ranks(*arrays), picture_ranks(*arrays)
    monkeypatch.setattr(vse, "_ROWS", 7)
    assert all(map(np.array_equal, (text_ranks(*arrays), picture_ranks(*arrays)), whole))


def test_equal_scores_are_no_success() -> None:
    same = np.ones((6, 3), np.float32)
    assert text_ranks(same, same, np.arange(6)).tolist() == [6] * 6
    assert picture_ranks(same, same, np.arange(6)).tolist() == [6] * 6


def test_measures_and_their_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vse, "_DRAWS", 300)
    rng = np.random.default_rng(0)
    picture_of = np.repeat(np.arange(60), 3)
    text, image, words = rng.integers(1, 30, 180), rng.integers(1, 30, 60), rng.integers(3, 20, 180)
    found = measure(text, image, picture_of, words)
    assert found.text_to_image.recall[5].value == sum(rank <= 5 for rank in text) / 180
    assert found.image_to_text.median_rank.value == np.median(image)
    assert found.image_to_text.n_queries == 60
    short = [rank for rank, count in zip(text, words, strict=True) if count <= 7]
    assert found.by_length["up to 7 words"].recall[1].value == np.mean([rank == 1 for rank in short])
    drawn = []
    for seed in range(300):
        pictures = np.random.default_rng(seed).integers(60, size=60)
        ranks = np.concatenate([text[picture_of == number] for number in pictures])
        drawn.append(((ranks <= 10).mean(), sorted(ranks)[math.ceil(len(ranks) / 2) - 1]))
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    recall, median = found.text_to_image.recall[10], found.text_to_image.median_rank
    assert (recall.low, recall.high) == pytest.approx((low[0], high[0]))
    assert (median.low, median.high) == pytest.approx((low[1], high[1]))
    assert recall.low < recall.value < recall.high
    twice = measure(np.stack([text, text]), np.stack([image, image]), picture_of, words)
    assert twice.text_to_image.recall == found.text_to_image.recall


def test_a_length_without_sentences_has_no_measures() -> None:
    ones = np.ones(3, np.int64)
    found = measure(ones, ones, np.arange(3), 9 * ones)
    assert [each is None for each in found.by_length.values()] == [True, False, True]
    assert found.as_json()["by_length"]["over 12 words"] is None
    figures = found.figures()
    assert figures["8 to 12 words R@1"] == "100.00 [100.00, 100.00]"
    assert figures["text to image median rank"] == "1 [1, 1]"
    assert "over 12 words R@1" not in figures
