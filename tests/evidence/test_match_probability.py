"""How likely a query is true of a video: against a slow computation, and by sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.conftest import real_weights
from tests.evidence.test_named_objects import (
    NAMES,
    Photographs,
    classes,
    evidence_named,
    photographs,  # noqa: F401  # a fixture
    texts,
)
from vidsum.evidence import match_probability
from vidsum.evidence.match_probability import (
    BARE,
    NAMED,
    Condition,
    MatchedQueries,
    QueryKind,
    WindowMatches,
    background_phrases,
    commonness,
    embed_background,
    kind_of,
    list_windows,
    match_windows,
    prepare_queries,
    usual_of,
    window_means,
)
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings, embed_queries, name_embeddings
from vidsum.grounding.vse_map import load_map
from vidsum.types import FloatArray

BACKGROUND = texts(11, 20)


def video_of(n_clips: int, *edges_s: float, is_named: bool = False) -> ClipEmbeddings:
    objects = ClassMixture(classes(1, n_clips), NAMES) if is_named else None
    shots_s = np.array([*edges_s, n_clips], float) if edges_s else None
    return ClipEmbeddings(texts(4, n_clips), np.arange(float(n_clips)), 1.0, n_clips, objects, shots_s)


def prepare(video: ClipEmbeddings, queries: FloatArray, kinds: Sequence[QueryKind] = ()) -> MatchedQueries:
    names = video.objects.names if video.objects else None
    return prepare_queries(kinds or ["noun"] * len(queries), queries, BACKGROUND, names)


def best_evidence(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    evidence = prepare(video, queries).clip_evidence(video, usual_of(video, BACKGROUND))
    return window_means(evidence, list_windows(video)).max(axis=1)


def probabilities(matches: WindowMatches) -> FloatArray:
    return 1 / (1 + np.exp(-matches.logits))


def test_usual_best_is_the_mean_of_the_best_windows_of_phrases(monkeypatch: pytest.MonkeyPatch) -> None:
    class Video(list[int]):
        rows = np.eye(2, dtype=np.float32)

    video: Any = Video([0, 1])
    means = np.array([[0.1, 0.9], [0.5, 0.3]])
    monkeypatch.setattr(match_probability, "list_windows", lambda _: None)
    monkeypatch.setattr(match_probability, "window_means", lambda *_: means)
    usual = match_probability.usual_of(video, np.array([[1, 0], [0.6, 0.8]], np.float32))
    assert usual.best * usual.deviation + usual.mean == pytest.approx((0.9 + 0.5) / 2)


@pytest.mark.parametrize(
    ("n_clips", "edges_s", "spans"),
    [
        (1, (), [(0, 1)]),
        (4, (), [(0, 4)]),
        (7, (), [(0, 5), (1, 6), (2, 7)]),
        (7, (0.0, 2.6, 3.4), [(0, 3), (3, 7)]),
        (9, (0.0, 6.0, 7.0), [(0, 5), (1, 6), (7, 9)]),  # a shot of one clip
        (2, (0.0, 1.0), [(0, 1), (1, 2)]),
    ],
)
def test_the_evidence_is_of_the_best_window_within_a_shot(
    n_clips: int, edges_s: tuple[float, ...], spans: list[tuple[int, int]]
) -> None:
    video, queries = video_of(n_clips, *edges_s), texts(5, 3)
    usual = [[float(phrase @ clip) for clip in video.rows] for phrase in BACKGROUND]
    mean = np.mean(usual)
    deviation = np.sqrt(np.mean([np.var([row[t] for row in usual]) for t in range(n_clips)]))

    def best(curve: list[float]) -> float:
        return max(sum(curve[first:after]) / (after - first) for first, after in spans)

    base = np.mean([best([(cosine - mean) / deviation for cosine in row]) for row in usual]) / 2
    expected = [
        best([(float(query @ clip) - mean) / deviation for clip in video.rows]) - base for query in queries
    ]
    np.testing.assert_allclose(best_evidence(video, queries), expected, atol=1e-4)


def test_named_objects_join_in(photographs: Photographs) -> None:  # noqa: F811
    bare, named, (query,) = video_of(4), video_of(4, is_named=True), texts(5, 1)
    assert named.objects is not None
    expected = [evidence_named(query, mixture, photographs) for mixture in named.objects.probabilities]
    (more,) = best_evidence(named, query[None]) - best_evidence(bare, query[None])
    assert more == pytest.approx(np.mean(expected) - 0.3, abs=0.02)  # the actions are not known


@pytest.mark.usefixtures("photographs")
def test_many_queries_are_those_of_a_few_at_a_time() -> None:
    video, queries = video_of(9, is_named=True), texts(6, 11)
    parts = [best_evidence(video, queries[start : start + 4]) for start in range(0, 11, 4)]
    np.testing.assert_allclose(np.concatenate(parts), best_evidence(video, queries), atol=1e-5)


@pytest.mark.usefixtures("photographs")
@pytest.mark.parametrize("is_named", [False, True])
def test_each_kind_of_query_has_its_curve(is_named: bool) -> None:
    video, vectors = video_of(4, is_named=is_named), texts(7, 2)
    kinds: list[QueryKind] = ["noun", "sentence"]
    matches = match_windows(video, prepare(video, vectors, kinds), usual_of(video, BACKGROUND))
    curves = [(NAMED if is_named else BARE)[kind] for kind in kinds]
    evidence, common = best_evidence(video, vectors), commonness(BACKGROUND, vectors)
    expected = [
        1 / (1 + np.exp(-slope * value - weight * usual - offset))
        for (slope, offset, weight), value, usual in zip(curves, evidence, common, strict=True)
    ]
    np.testing.assert_allclose([matches.best(Condition((n,))) for n in range(2)], expected, atol=1e-5)


def test_commonness_is_the_mean_cosine_with_other_phrases_in_deviations_of_theirs() -> None:
    def mean(vector: FloatArray, others: list[FloatArray]) -> float:
        return sum(float(vector @ phrase) for phrase in others) / len(BACKGROUND)

    usual = [
        mean(phrase, [*BACKGROUND[:number], *BACKGROUND[number + 1 :]])
        for number, phrase in enumerate(BACKGROUND)
    ]
    query = texts(5, 1)
    expected = (mean(query[0], [*BACKGROUND]) - np.mean(usual)) / np.std(usual)
    assert commonness(BACKGROUND, query)[0] == pytest.approx(expected, abs=1e-4)


def test_what_must_not_be_there_lowers_the_probability() -> None:
    video, vectors = video_of(6, 0.0, 3.0), texts(8, 2)
    matches = match_windows(video, prepare(video, vectors), usual_of(video, BACKGROUND))
    first, second = probabilities(matches)
    both = np.exp(Condition((0,), (1,)).log_present(matches.logits))
    np.testing.assert_allclose(both, first * (1 - second), atol=1e-6)


def test_what_is_seen_together_is_as_likely_as_the_least_likely_part() -> None:
    logits = np.array([[0.0, 2.0], [1.0, -1.0]], np.float32)
    present = np.exp(Condition((0, 1)).log_present(logits))
    np.testing.assert_allclose(present, 1 / (1 + np.exp([0.0, 1.0])), atol=1e-6)


def test_a_moment_has_the_probability_of_its_own_windows() -> None:
    present = np.array([[0.2, 0.9, 0.4]], np.float32)
    matches, query = (
        WindowMatches(np.log(present / (1 - present)), np.array([2.5, 7.0, 12.0])),
        Condition((0,)),
    )
    assert matches.best(query) == pytest.approx(0.9)
    assert matches.within(query, 0.0, 5.0) == pytest.approx(0.2)
    assert matches.within(query, 2.0, 12.0) == pytest.approx(0.9)
    assert matches.within(query, 13.0, 15.0) == pytest.approx(0.4)


def test_kinds() -> None:
    texts_of = {
        "noun": ("woman", "red cups", "a building"),
        "action": ("arm wrestling", "a dog running"),
        "phrase": ("two chairs and a desk", "a white cat on the sofa"),
        "sentence": ("a man in a hat walks by",),
    }
    assert {kind: {*map(kind_of, texts)} for kind, texts in texts_of.items()} == {k: {k} for k in texts_of}
    phrases = background_phrases()
    assert len(set(phrases)) == 200
    assert {kind_of(phrase) for phrase in phrases} == {*BARE}


@pytest.mark.deep
@pytest.mark.weights
def test_what_is_shown_is_likelier_than_what_is_not() -> None:
    real_weights("minilm")
    shown = ["a dog runs through the snow", "two children jump on a bed", "a man climbs a rock face"]
    others = ["a plate of sushi on a wooden table", "an aeroplane lands at night in the rain"]
    others.append("a woman plays the violin in a church")
    rows = load_map().simulate(embed_queries("vse", shown), np.zeros((3, 384), np.float32))
    named = np.full((9, 1000), 1 / 1000, np.float32)
    mixture = ClassMixture(named, name_embeddings())
    shots_s = np.array([0.0, 3, 6, 9])
    video = ClipEmbeddings(np.repeat(rows, 3, axis=0), np.arange(9.0), 1.0, 9.0, mixture, shots_s)
    queries = [*shown, *others]
    vectors = embed_queries("vse", queries)
    background = embed_background("vse")
    prepared = prepare_queries([*map(kind_of, queries)], vectors, background, mixture.names)
    matches = match_windows(video, prepared, usual_of(video, background))
    best = [matches.best(Condition((number,))) for number in range(6)]
    assert min(best[:3]) > max(best[3:])
    assert matches.within(Condition((1,)), 3.0, 6.0) > matches.within(Condition((1,)), 0.0, 3.0)
