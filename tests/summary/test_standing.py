"""Standing: which runs of sentences can be understood by themselves."""

from math import exp, inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.test_spoken import transcript
from tests.summary.standing_texts import CAST, LATE, OLD, QUESTION
from vidsum.results.sentences import SpokenSentence
from vidsum.summary.content_words import content_words
from vidsum.summary.standing import StandingRun, are_whole, pauses, runs_of, standing_runs


def spoken(*texts: str, every_s: float = 6.0) -> list[SpokenSentence]:
    """Return sentences, one every six seconds."""
    words = [
        (every_s * n + 0.5 * k, every_s * n + 0.5 * k + 0.4, word)
        for n, text in enumerate(texts)
        for k, word in enumerate(text.split())
    ]
    return transcript(*words).sentences(inf, 0.0)


def standing(first: int, last: int, *texts: str, is_english: bool = True) -> float:
    """Return the standing of one run of sentences."""
    runs = standing_runs(spoken(*texts), (0.0, 60.0), is_english=is_english)
    return next(run.standing for run in runs if (run.first, run.last) == (first, last))


@pytest.mark.parametrize(
    "loose",
    [
        "But letters of metal came late to the towns.",
        "Yes, letters of metal came late to us.",
        "of metal the towns made letters very late.",
    ],
)
def test_run_that_needs_what_is_before_stands_less(loose: str) -> None:
    assert standing(1, 1, OLD, loose, CAST) < standing(1, 1, OLD, LATE, CAST)


def test_run_that_ends_with_a_question_stands_less() -> None:
    assert standing(0, 1, OLD, QUESTION, CAST) < 0.8 * standing(0, 1, OLD, LATE, CAST)


def test_run_without_the_beginning_or_the_end_of_a_sentence_is_not_whole() -> None:
    texts = OLD, "letters of metal came late to the towns", CAST
    assert are_whole(texts).tolist() == [[True, True], [False, False], [False, True]]
    runs = runs_of(np.full((3, 3), 0.5, np.float32), spoken(*texts), (0.0, 60.0))
    assert [(run.first, run.last) for run in runs if run.is_whole] == [(0, 0), (0, 2)]


@pytest.mark.parametrize("second", ["iPhone sales came late here.", '"Letters came late."', "¿Cuándo?"])
def test_sentence_with_a_capital_has_its_beginning(second: str) -> None:
    assert are_whole([OLD, second, CAST])[1, 0]


def test_a_talk_in_small_letters_has_beginnings() -> None:
    assert are_whole([text.lower() for text in (OLD, LATE, CAST)]).all()


def test_run_without_an_end_is_worth_a_tenth() -> None:
    assert StandingRun(0, 1, 0.5, 0.4, is_whole=False).worth == pytest.approx(
        0.1 * StandingRun(0, 1, 0.5, 0.4).worth
    )


def test_standing_is_the_root_of_its_parts() -> None:
    marks = np.array([[0.5, 0.1, 0.3], [0.2, 0.4, 0.2]], np.float32)
    runs = runs_of(marks, spoken(OLD, LATE), (0.0, 60.0))
    both = next(run for run in runs if (run.first, run.last) == (0, 1))
    more = 1 - exp(-sqrt((0.5 + 0.2) * (0.1 + 0.4)))
    assert both.standing == pytest.approx((0.5 * 0.4 * more) ** 0.25)  # all words are new
    assert both.subject == pytest.approx(1 - 0.7 * 0.8)  # that a sentence states it
    assert both.worth == pytest.approx((0.5 * 0.4 * more * both.subject) ** 0.2)


def test_run_whose_next_sentence_goes_on_stands_less() -> None:
    assert standing(0, 1, OLD, LATE, "And they were cast in small rooms of the town.") < standing(
        0, 1, OLD, LATE, CAST
    )


def test_answer_stands_less_than_with_its_question() -> None:
    assert standing(1, 1, QUESTION, LATE) < standing(0, 1, QUESTION, LATE)


def test_question_near_the_end_makes_a_run_stand_less() -> None:
    begun, words = (OLD, LATE, CAST, OLD), "Who in town wondered about letters of metal"
    assert standing(0, 5, *begun, f"{words}?", CAST) < standing(0, 5, *begun, f"{words}.", CAST)


BEES = ("Every hive of bees makes honey in summer.", "Most bees fly very far for their honey.")
POTS = ("A potter turns clay on a wheel all day.", "Wet clay dries before a potter glazes any pots.")


def test_run_whose_words_are_new_stands_more() -> None:
    assert standing(2, 3, *BEES, *POTS) > standing(1, 2, *BEES, *POTS)
    assert standing(2, 3, *BEES, *POTS) > standing(2, 3, *POTS, *POTS)


def test_words_of_most_sentences_count_little_as_said_before() -> None:
    often, rarely = (
        ("Clay is old.", "Clay dries well.", "Clay breaks."),
        ("Clay is old.", "Lead melts.", "Tin shines."),
    )
    last = "Clay holds rainwater there."
    assert standing(3, 3, *often, last) > standing(3, 3, *rarely, last)


def test_runs_do_not_go_on_over_a_long_silence() -> None:
    runs = standing_runs(spoken(OLD, LATE, every_s=12.0), (0.0, 60.0), is_english=True)
    assert [(run.first, run.last) for run in runs] == [(0, 0), (1, 1)]


def test_speech_without_words_that_mean_something_has_runs() -> None:
    assert standing_runs(spoken("So it is.", "And so it was."), (0.0, 60.0), is_english=True)
    assert standing_runs([], (0.0, 60.0), is_english=True) == []


sentences_of = st.lists(
    st.sampled_from([OLD, LATE, CAST, QUESTION, "And they came.", "so late"]), max_size=12
)


@given(sentences_of, st.floats(0.0, 10.0), st.floats(1.0, 40.0), st.booleans())
def test_standing_is_a_fraction_and_lengths_are_in_the_range(
    texts: list[str], low_s: float, more_s: float, is_english: bool
) -> None:
    said = spoken(*texts) if texts else []
    for run in standing_runs(said, (low_s, low_s + more_s), is_english=is_english):
        assert 0 <= run.standing <= 1
        assert low_s <= said[run.last].end_s - said[run.first].start_s <= low_s + more_s


@given(sentences_of.filter(bool))
def test_pauses_at_both_ends_are_endless(texts: list[str]) -> None:
    silences_s = pauses(spoken(*texts))
    assert silences_s[0] == silences_s[-1] == inf


def test_words_of_scripts_without_blanks_are_known() -> None:
    texts = [
        "活字印刷术起源于古老的中国。",
        "活字用铜铸造可以排成书页。",
        "印刷的书页传到欧洲的城市。",
        "欧洲的城市用铜活字印书。",
    ]
    words = [(6.0 * n, 6.0 * n + 5, text) for n, text in enumerate(texts)]
    runs = standing_runs(transcript(*words).sentences(inf, 0.0), (0.0, 60.0), is_english=False)
    assert all(map(content_words, texts))
    assert runs[0].standing > runs[-1].standing  # its words are new


def test_sentences_without_words_of_a_subject_are_not_new() -> None:
    assert standing(1, 1, OLD, "So we do it as it is and so it is.", CAST) < 0.5
