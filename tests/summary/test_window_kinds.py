"""Windows begin and end in pauses of speech wherever there are such windows; else they are as without."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.speech.silence import gaps_of
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.content import content_of
from vidsum.summary.film import Film, objective_of
from vidsum.summary.objective import WEIGHTS
from vidsum.summary.selection import SelectedSegments, select
from vidsum.summary.units import Unit
from vidsum.summary.window_kinds import LONGER
from vidsum.types import Interval

FPS = 10.0
SHORTEST_S, LONGEST_S = 2.0, 5.0


def chosen(
    edges_s: list[float],
    words: list[Interval] | None,
    budget_s: float,
    seed: int = 0,
    **options: list[Interval],
) -> SelectedSegments:
    """Segments of a film with importance of any kind, of which nothing is said but `words`."""
    voices = () if words is None else (words,)
    rng, duration_s = np.random.default_rng(seed), edges_s[-1]
    rows = rng.normal(size=(round(2 * duration_s), 16)).astype(np.float32)
    features = Features.from_array(rows, fps=2.0, duration_s=duration_s, video_fps=FPS)
    importance = rng.uniform(0.3, 1, len(rows)).astype(np.float32)
    shots = Shots(np.array(edges_s), "test", video_fps=FPS)
    return select(features, shots, importance, budget_s, voices=voices, **options)


def is_said(time_s: float, words: list[Interval]) -> bool:
    return any(start_s + 1e-6 < time_s < end_s - 1e-6 for start_s, end_s in words)


def clean_windows(edges_s: list[float], words: list[Interval]) -> list[Interval]:
    """All windows of shots that begin and end in no word, by trying each pair of frames."""
    windows = list[Interval]()
    for low, high in pairwise(round(edge * FPS) for edge in edges_s):
        free = [frame for frame in range(low, high + 1) if not is_said(frame / FPS, words)]
        windows += [
            (first / FPS, last / FPS)
            for first, last in product(free, free)
            if SHORTEST_S * FPS <= last - first <= LONGEST_S * FPS
        ]
    return windows


FILMS = st.lists(st.integers(30, 120), min_size=4, max_size=8)
TALKS = st.lists(st.tuples(st.integers(1, 12), st.integers(4, 90)), min_size=4, max_size=30)


def film_of(lengths: list[int], talk: list[tuple[int, int]]) -> tuple[list[float], list[Interval]]:
    """Edges of shots, and words after pauses, of lengths in tenths of a second."""
    edges_s = (np.cumsum([0, *lengths]) / FPS).tolist()
    ends = np.cumsum(talk).reshape(-1, 2) / FPS
    return edges_s, [(start, end) for start, end in ends.tolist() if end < edges_s[-1]]


@given(FILMS, TALKS, st.integers(0, 999))
def test_no_edge_lies_in_speech_where_a_pause_is_in_reach(
    lengths: list[int], talk: list[tuple[int, int]], seed: int
) -> None:
    edges_s, words = film_of(lengths, talk)
    clean = clean_windows(edges_s, words)
    for start_s, end_s in chosen(edges_s, words, 0.3 * edges_s[-1], seed).segments:
        for edge_s, near in ((start_s, start_s + SHORTEST_S), (end_s, end_s - SHORTEST_S)):
            if is_said(edge_s, words):
                low, high = sorted((edge_s, near))
                assert not [span for span in clean if span[0] < high - 1e-6 and low + 1e-6 < span[1]]


@given(FILMS, TALKS, st.integers(0, 999), st.floats(0.05, 0.45))
def test_budget_and_lengths_hold(
    lengths: list[int], talk: list[tuple[int, int]], seed: int, fraction: float
) -> None:
    edges_s, words = film_of(lengths, talk)
    budget_s = fraction * edges_s[-1]
    segments = chosen(edges_s, words, budget_s, seed).segments
    sizes = [end_s - start_s for start_s, end_s in segments]
    assert 0 < sum(sizes) <= budget_s + 1e-9
    assert max(sizes) <= LONGER * LONGEST_S + 1e-9
    for segment, size in zip(segments, sizes, strict=True):
        assert size <= LONGEST_S + 1e-9 or not any(is_said(edge_s, words) for edge_s in segment)


@given(FILMS, TALKS, st.integers(0, 999))
def test_keep_and_drop_hold_in_speech(lengths: list[int], talk: list[tuple[int, int]], seed: int) -> None:
    edges_s, words = film_of(lengths, talk)
    kept = chosen(edges_s, words, 0.5 * edges_s[-1], seed, keep=[(1.0, 1.5)], drop=[(2.0, 2.5)])
    assert any(start_s <= 1.0 and end_s >= 1.5 for start_s, end_s in kept.segments)
    assert all(end_s <= 2.0 or start_s >= 2.5 for start_s, end_s in kept.segments)


@given(FILMS, st.integers(0, 999))
def test_speech_without_a_pause_changes_nothing(lengths: list[int], seed: int) -> None:
    edges_s, _ = film_of(lengths, [])
    budget_s, everything = 0.3 * edges_s[-1], [(-1.0, edges_s[-1] + 1.0)]
    without = chosen(edges_s, None, budget_s, seed).segments
    assert chosen(edges_s, [], budget_s, seed).segments == without
    assert chosen(edges_s, everything, budget_s, seed).segments == without


@pytest.mark.parametrize(("length_s", "is_whole"), [(7.5, True), (7.6, False)])
def test_a_sentence_may_be_half_longer_than_a_segment(length_s: float, is_whole: bool) -> None:
    pauses = [(11.0, 11.1), (11.1 + length_s, 11.2 + length_s)]
    elsewhere = [(0.0, 8.0), (25.0, 30.0)]
    segments = chosen([0, 30], gaps_of(pauses, 30.0), 8.0, drop=elsewhere).segments
    whole = (pytest.approx(11.1, abs=0.11), pytest.approx(11.1 + length_s, abs=0.21))
    assert (segments == (whole,)) == is_whole


@pytest.mark.parametrize(("before_s", "is_joined"), [(0.5, True), (0.4, False)])
def test_a_window_goes_on_over_a_cut_in_speech_unless_a_shot_would_flash_up(
    before_s: float, is_joined: bool
) -> None:
    cut_s = 9.9 + before_s
    words = gaps_of([(9.9, 10.0), (13.0, 13.1)], 25.0)
    segments = chosen([0, cut_s, 25], words, 4.0, drop=[(0.0, 7.5), (15.5, 25.0)]).segments
    assert (segments == ((pytest.approx(10.0, abs=0.11), pytest.approx(13.0, abs=0.11)),)) == is_joined


@pytest.mark.parametrize("edges", [0, 1, 2])
def test_an_edge_in_words_costs_as_much_as_a_shot(edges: int) -> None:
    n_frames, all_cuts = 200, np.arange(201)
    pauses = np.array([0, 10, 50, 60, 100, 200])
    none = np.zeros(n_frames, np.bool_)
    video = VideoFrames(np.array([0, n_frames]), none, none.copy(), 100, FPS)
    features = Features.from_array(np.eye(20, dtype=np.float32), fps=1.0, video_fps=FPS)
    content = content_of(features, [slice(0, 20)], np.full(20, -1))
    flat = np.arange(n_frames + 1, dtype=float)
    film = Film(video, flat, flat, [pauses, all_cuts], np.arange(0, n_frames, 10), content)
    units = [Unit(10, 50, 0), (Unit(60, 100, 0), Unit(60, 101, 0), Unit(61, 101, 0))[edges]]
    first, second = objective_of(film, dict.fromkeys(units, 0.0)).values
    longer = (units[1].size - 40) / FPS
    assert first - second + longer == pytest.approx(edges * WEIGHTS.cut)
