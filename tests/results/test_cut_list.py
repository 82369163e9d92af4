"""The cuts of results, and their names."""

from dataclasses import replace

import numpy as np
import pytest

from tests.results.made import MOMENTS
from vidsum.results.cut_list import Cut, best_time, cuts_of, length_of, name_cuts
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.moments import Highlights, Moment
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary
from vidsum.results.transcript import Segment, Transcript, Word

CURVE, TIMES = np.zeros(1, np.float32), np.zeros(1)
SUMMARY = Summary(
    ((0.0, 1.0), (2.0, 3.5)),
    (ScoredShot(0.0, 9.0, 0.5, True),),
    CURVE,
    TIMES,
    3.0,
    9.0,
    25.0,
    model="ridge",
    shot_method="kts",
)
SHOTS = Shots(np.array([0.0, 1.0, 3.5]), "kts")


def test_cuts_of_a_summary_are_its_segments_which_are_kept() -> None:
    cuts = [(cut.start_s, cut.end_s, cut.label, cut.is_kept) for cut in cuts_of(SUMMARY)]
    assert cuts == [(0.0, 1.0, "segment 1", True), (2.0, 3.5, "segment 2", True)]


def test_cuts_of_shots_are_all_shots() -> None:
    cuts = [(cut.start_s, cut.end_s, cut.label, cut.is_kept) for cut in cuts_of(SHOTS)]
    assert cuts == [(0.0, 1.0, "shot 1", False), (1.0, 3.5, "shot 2", False)]


def test_cuts_of_highlights_have_rank_and_score() -> None:
    (best,) = cuts_of(Highlights(CURVE, TIMES, 2.0, (Moment(1.0, 2.0, 0.3),), 9.0))
    assert (best.label, best.rank, best.score, best.evidence) == ("highlight 1", 1, 0.3, "")


def test_cuts_of_moments_are_named_by_query_and_rank() -> None:
    assert [cut.label for cut in cuts_of(MOMENTS)] == ["a bird & <b> (1)", "snow (1)"]
    assert [cut.query for cut in cuts_of(MOMENTS)] == ["a bird & <b>", "snow"]


def test_cuts_of_moments_have_the_probability_of_their_query() -> None:
    assert [cut.present for cut in cuts_of(MOMENTS)] == [0.7, None]


@pytest.mark.parametrize(
    ("searched", "evidence"), [(("picture", "speech"), ["picture", "speech"]), (("picture",), ["", ""])]
)
def test_evidence_of_moments_is_named_where_there_is_more_than_pictures(
    searched: tuple[str, ...], evidence: list[str]
) -> None:
    assert [cut.evidence for cut in cuts_of(replace(MOMENTS, evidence=searched))] == evidence


def test_length_of_a_result_is_of_its_video() -> None:
    assert (length_of(SUMMARY), length_of(SHOTS), length_of(MOMENTS)) == (9.0, 3.5, 10.0)


CUTS = [
    Cut(0.0, 2.0, "shot 1"),
    Cut(2.0, 4.0, "shot 2"),
    Cut(4.0, 5.0, "shot 3"),
    Cut(0.0, 2.0, "x (1)", "x"),
]
DESCRIBED = Descriptions((Description(0.0, 4.0, "a bird", 0.9),), "tags", 5.0)


def spoken() -> Transcript:
    """Three words and a long one, in the first two seconds."""
    said = ("Ask", "not", "what", "long" * 20)
    words = tuple(Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate(said))
    return Transcript((Segment(0.0, 2.0, f"Ask not, what {'long' * 20}", 0.9, 0.0, words),), "en", 1.0, 5.0)


def test_cut_is_named_by_its_words_then_by_its_description() -> None:
    names = [cut.label for cut in name_cuts(CUTS[:3], spoken(), DESCRIBED)]
    assert names == [f"Ask not, what {'long' * 11}l…", "a bird", "shot 3"]


def test_cut_of_a_query_keeps_its_name() -> None:
    assert name_cuts(CUTS[3:], spoken(), DESCRIBED) == CUTS[3:]


def test_cuts_keep_their_names_where_nothing_is_said_or_described() -> None:
    assert name_cuts(CUTS, None, None) == CUTS


def test_names_of_text_without_times_of_words_begin_with_sentences() -> None:
    """The first words stay together with the rest of the sentence."""
    cuts = [Cut(start, end, "shot") for start, end in ((0.0, 4.5), (4.5, 7.5), (7.5, 14.0), (14.0, 20.0))]
    said = [
        Segment(0.0, 4.0, "And so it was.", 0.9, 0.0),
        Segment(4.0, 8.0, "The earliest book.", 0.9, 0.0),
        Segment(8.0, 20.0, "a b c d e f g h i j", 0.9, 0.0),
    ]
    names = [cut.label for cut in name_cuts(cuts, Transcript(tuple(said), "en", 1.0, 20.0), None)]
    assert names == ["And so it was.", "The earliest book.", "a b c d e", "f g h i j"]


@pytest.mark.parametrize(
    ("scores", "best_s"),
    [([9, 0, 1, 5, 2, 9], 3.0), ([9, 0, 2, 1, 2, 9], 4.0), ([9, 0, 1, 1, 1, 9], 3.0)],
    ids=["highest inside", "later of two", "middle of three"],
)
def test_best_time_of_a_segment_is_of_its_highest_sample(scores: list[float], best_s: float) -> None:
    assert best_time(2.0, 5.0, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], scores) == best_s


def test_best_time_of_a_segment_without_samples_is_its_middle() -> None:
    assert best_time(2.0, 3.0, [0.0, 5.0], [1.0, 1.0]) == 2.5
