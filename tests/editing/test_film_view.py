"""The units of a film, what a click takes of them, and where words are cut."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.editing.film_view import PictureCache, choose_pieces, split_units
from vidsum.errors import MissingError
from vidsum.results.sentences import SpokenSentence, SpokenWord

TIMES = np.arange(0, 60, 0.5)


def spoken(*spans: tuple[float, float]) -> list[SpokenSentence]:
    return [SpokenSentence((SpokenWord(start_s, end_s, " Said."),)) for start_s, end_s in spans]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.lists(st.floats(0, 300), max_size=20))
def test_units_cover_the_film_without_long_ones(lengths: list[int], ends: list[float]) -> None:
    edges = np.concatenate([[0], np.cumsum(lengths)]).astype(float).tolist()
    sentences = [(max(end - 1, 0), end) for end in sorted(ends)]
    units = split_units(edges, spoken(*sentences))
    assert (units[0][0], units[-1][1]) == (edges[0], edges[-1])
    assert all(before[1] == after[0] for before, after in pairwise(units))
    assert all(0 < end_s - start_s <= 15.001 for start_s, end_s in units)
    assert set(edges) <= {edge for unit in units for edge in unit}


def test_long_shot_is_split_where_sentences_end() -> None:
    assert split_units([0, 30], spoken((0, 8.5), (9, 20.25), (22, 29))) == [
        (0, 8.5),
        (8.5, 20.25),
        (20.25, 30),
    ]
    assert split_units([0, 12], spoken((0, 8.5))) == [(0, 12)]


def test_click_takes_the_best_piece_of_a_long_unit() -> None:
    curve = np.where((TIMES >= 20) & (TIMES < 23), 1, 0.1).astype(np.float32)
    (piece,) = choose_pieces([(10, 40)], curve, TIMES, [], 3.0)
    assert piece == (20, 23)
    assert choose_pieces([(10, 14)], curve, TIMES, [], 3.0) == [(10, 14)]


def test_piece_has_whole_sentences() -> None:
    curve = np.where((TIMES >= 20) & (TIMES < 23), 1, 0.1).astype(np.float32)
    said = spoken((12, 16), (19.4, 23.6), (30, 35))
    assert choose_pieces([(10, 40)], curve, TIMES, said, 3.0) == [(19.4, 23.6)]


def test_sentence_that_begins_far_from_a_piece_does_not_move_it() -> None:
    curve = np.where((TIMES >= 20) & (TIMES < 23), 1, 0.1).astype(np.float32)
    assert choose_pieces([(10, 40)], curve, TIMES, spoken((17.9, 25.1)), 3.0) == [(20, 23)]
    assert choose_pieces([(10, 40)], curve, TIMES, spoken((18.1, 24.9)), 3.0) == [(18.1, 24.9)]


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0.1, 20)), min_size=1, max_size=5), st.booleans())
def test_piece_lies_in_its_unit(spans: list[tuple[float, float]], has_curve: bool) -> None:
    units = [(start, start + length) for start, length in spans]
    curve, times = (
        (np.ones(len(TIMES), np.float32), TIMES) if has_curve else (np.zeros(0, np.float32), TIMES[:0])
    )
    for unit, piece in zip(
        units, choose_pieces(units, curve, times, spoken((3, 9), (10, 14)), 5.0), strict=True
    ):
        assert unit[0] <= piece[0] < piece[1] <= unit[1]


def test_pictures_are_decoded_once_and_together() -> None:
    requests = list[list[float]]()

    def read(video: Any, times_s: Any, side: int, quality: int) -> list[bytes]:
        requests.append(list(times_s))
        return [f"{time}".encode() for time in times_s]

    cache = PictureCache(None, [(n, n + 1.0) for n in range(10)], read)  # type: ignore[arg-type]
    assert [cache.picture(number) for number in (0, 1, 5, 2)] == [b"0.5", b"1.5", b"5.5", b"2.5"]
    assert cache.picture(9) == b"9.5"
    assert len(requests) == 2
    for number in (-1, 10):
        with pytest.raises(MissingError):
            cache.picture(number)
