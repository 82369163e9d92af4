"""Moments that are said: sentences, passages, evidence, and both kinds together."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import real_weights
from vidsum.evidence.fusion import fuse
from vidsum.evidence.passages import encode_passages
from vidsum.evidence.protocol import Passage, encode_queries
from vidsum.evidence.spoken import iter_passages, speech_curve, speech_moments, split_sentences
from vidsum.results.moments import Moment, QueryMoments
from vidsum.results.settings import Evidence
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.types import FloatArray


def transcript(*words: tuple[float, float, str]) -> Transcript:
    """One segment of these words."""
    parts = tuple(Word(start, end, text, 0.9) for start, end, text in words)
    text = " ".join(word.text for word in parts)
    return Transcript((Segment(parts[0].start_s, parts[-1].end_s, text, 0.9, 0.0, parts),), "en", 1.0, 60.0)


def test_sentences_end_at_full_stops_and_pauses() -> None:
    rains, stays = ((0, 1, "It"), (1, 2, 'rains."')), ((2.1, 3, "We"), (3, 4.2, "stay"))
    recording = transcript(*rains, *stays, (7, 8, "at"), (8, 9, "home"))
    sentences = [Passage(0, 2, 'It rains."'), Passage(2.1, 4.2, "We stay"), Passage(7, 9, "at home")]
    assert split_sentences(recording) == sentences


def test_speech_without_full_stops_is_cut() -> None:
    recording = transcript(*((at, at + 1, f"w{at}") for at in range(50)))
    sentences = split_sentences(recording)
    assert " ".join(sentence.text for sentence in sentences) == recording.text
    assert max(sentence.end_s - sentence.start_s for sentence in sentences) <= 20


def test_a_translation_has_its_segments_as_sentences() -> None:
    segments = (Segment(0, 2, "One", 0.9, 0.0), Segment(2, 4, "two", 0.9, 0.0))
    assert split_sentences(Transcript(segments, "de", 1.0, 4.0, translated=True)) == [
        Passage(0, 2, "One"),
        Passage(2, 4, "two"),
    ]


@pytest.fixture
def no_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts mean the same, so that words alone decide."""
    encoder = SimpleNamespace(encode=lambda texts: np.ones((len(texts), 1), np.float32))
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: encoder)


def score(passages: Sequence[Passage], queries: Sequence[str]) -> FloatArray:
    """[M, P] how well passages fit queries."""
    encoded = encode_passages(passages)
    return np.stack([encoded.score(query) for query in encode_queries(queries)])


def test_what_is_uncertain_counts_less(no_meaning: None) -> None:
    words = (Word(0, 1, "of", 0.9), Word(1, 2, "it.", 0.9), Word(2, 3, "we", 0.3), Word(3, 4, "are.", 0.3))
    segments = (
        Segment(0, 2, "of it.", 0.9, 0.0, words[:2]),
        Segment(2, 4, "we are.", 0.3, 0.0, words[2:], uncertain=True),
    )
    sentences = split_sentences(Transcript(segments, "en", 1.0, 4.0))
    assert [sentence.certain for sentence in sentences] == [1, 0]
    first, together, second = score(list(iter_passages(sentences)), ["question"])[0]
    assert first == 1 > together > second > 0


def test_passages_are_runs_without_a_long_pause() -> None:
    one, two, three = Passage(0, 2, "a."), Passage(2.5, 4, "b."), Passage(9, 10, "c.")
    assert list(iter_passages([one, two, three])) == [one, Passage(0, 4, "a. b.", 2), two, three]
    long = [Passage(10.0 * at, 10.0 * at + 10, f"{at}") for at in range(6)]
    assert max(run.end_s - run.start_s for run in iter_passages(long)) == 30


def test_exact_words_count_the_more_the_rarer_they_are(no_meaning: None) -> None:
    texts = ["the harbour of Aarhus", "a harbour at night", "another harbour", "sailors sing", "the of and"]
    evidence = score([Passage(0, 1, text) for text in texts], ["Aarhus harbour", "the"])
    assert evidence.shape == (2, 5)
    aarhus, night, _, sailors, _ = evidence[0]
    assert aarhus > night > sailors == 1
    assert np.allclose(evidence[1], 1)  # stop words are no evidence
    assert score([Passage(0, 1, "the of and")], ["the"]).tolist() == [[1.0]]


PASSAGES = [Passage(0, 4, "a"), Passage(4, 6, "b"), Passage(0, 6, "a b", 2), Passage(8, 9.5, "c")]


def test_moments_are_the_best_sentences_of_passages() -> None:
    moments = speech_moments("z", PASSAGES, np.array([0.2, 0.1, 0.6, 0.3], np.float32), 5)
    assert [(moment.start_s, moment.end_s) for moment in moments] == [(0, 4), (8, 9.5), (4, 6)]
    assert {moment.evidence for moment in moments} == {"speech"}
    expected = 1 / (1 + np.exp(-7.1 * (0.6 - 0.46)))
    assert moments[0].score == moments[0].present == pytest.approx(expected)
    assert len(speech_moments("z", PASSAGES, np.ones(4, np.float32), 1)) == 1


def test_quotations_come_first_and_may_span_sentences() -> None:
    texts = ["The tide was out.", "We walked to the", "old lighthouse. It rained."]
    sentences = [Passage(at, at + 1, text) for at, text in enumerate(texts)]
    evidence = np.array([0.9, 0.1, 0.1], np.float32)
    first, second, *_ = speech_moments("walked to an old light house", sentences, evidence, 5)
    assert (first.start_s, first.end_s) == (1, 3)
    assert first.score > 1 > float(first.present or 0) > 0.75
    assert (second.start_s, second.score) == (0, second.present)


def test_the_curve_is_that_of_the_best_passage_heard() -> None:
    curve = speech_curve(PASSAGES, np.array([0.2, 0.1, 0.6, 0.35], np.float32), np.arange(11.0), 1.0)
    assert curve.tolist() == pytest.approx([1, 1, 1, 1, 1, 1, 0, 0, 0.5, 0.5, 0])


FLAT = np.zeros(3, np.float32)


def seen_at(present: float | None, *found: tuple[float, float, float]) -> QueryMoments:
    return QueryMoments("q", tuple(Moment(*one) for one in found), FLAT, present)


def said_at(*found: tuple[float, float, float]) -> QueryMoments:
    moments = (Moment(*one, "speech", one[2], is_quoted=one[2] >= 1) for one in found)
    return QueryMoments("q", tuple(moments), FLAT, said=FLAT)


def order(answer: QueryMoments) -> list[float]:
    return [moment.start_s for moment in answer.moments]


def test_speech_comes_after_pictures_by_its_own_probability() -> None:
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.6), Moment(5, 6, 0.9, present=0.7)), FLAT, 0.7)
    said = said_at((2, 3, 0.9), (7, 8, 0.3), (8, 9, 0.1))
    answer = fuse(seen, [said], 5)
    assert order(answer) == [0, 5, 2, 7]
    assert [moment.present for moment in answer.moments] == [0.6, 0.7, 0.9, 0.3]
    assert [moment.score for moment in answer.moments] == [0.6, 0.6, 0.6, 0.3]
    assert answer.present == 0.7
    assert answer.said is FLAT
    assert order(fuse(seen, [said_at((2, 3, 0.9))], 1)) == [0]
    assert order(fuse(seen_at(0.3), [said_at((2, 3, 0.9))], 5)) == [2]


def test_the_best_sound_comes_before_weaker_pictures() -> None:
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.6), Moment(5, 6, 0.9, present=0.7)), FLAT, 0.7)
    sounds = QueryMoments("q", (Moment(2, 3, 0.8, "sound", 0.8), Moment(7, 8, 0.3, "sound", 0.3)), FLAT)
    assert order(fuse(seen, [sounds], 5)) == [2, 0, 5, 7]


def test_words_that_are_nearly_written_come_after_pictures() -> None:
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.3),), FLAT, 0.3)
    near, exact = Moment(2, 3, 1.7, "text", 0.7), Moment(4, 5, 1.6, "text", 0.6, is_quoted=True)
    answer = fuse(seen, [QueryMoments("q", (exact, near), FLAT)], 5)
    assert order(answer) == [4, 0, 2]


@given(
    st.lists(st.floats(0, 1), max_size=5),
    st.lists(st.tuples(st.sampled_from(["speech", "text"]), st.floats(0, 0.99)), max_size=9),
    st.integers(1, 5),
)
def test_words_push_no_picture_out_of_the_list(
    seen: list[float], words: list[tuple[Evidence, float]], top_k: int
) -> None:
    pictures = tuple(Moment(at, at + 1.0, 9.0 - at, present=value) for at, value in enumerate(seen))
    moments = [Moment(8, 9, value, kind, value) for kind, value in words]
    others = [
        QueryMoments("q", tuple(moment for moment in moments if moment.evidence == kind), FLAT)
        for kind in ("speech", "text")
    ]
    for ratio in (0.0, 0.5):
        listed = fuse(QueryMoments("q", pictures, FLAT, 0.5), others, top_k, ratio).moments[: len(pictures)]
        assert [moment.interval for moment in listed] == [one.interval for one in pictures[:top_k]]


def test_quotations_precede_what_is_surely_seen() -> None:
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.99),), FLAT, 0.99)
    quoted = Moment(2, 3, 1.8, "speech", 0.8, is_quoted=True)
    answer = fuse(seen, [QueryMoments("q", (quoted, Moment(4, 5, 0.9, "speech", 0.9)), FLAT)], 5)
    assert order(answer) == [2, 0, 4]
    assert answer.moments[0].present == 0.8


def test_likely_speech_comes_after_pictures_that_probably_do_not_show_it() -> None:
    """The scales do not compare: for absent things, weak speech would come first as well."""
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.03),), FLAT, 0.03)
    assert order(fuse(seen, [said_at((2, 3, 0.9), (4, 5, 0.8))], 5, min_ratio=0.5)) == [0, 2, 4]


def test_the_weak_are_left_out_by_their_own_probability_not_that_of_their_place() -> None:
    seen = QueryMoments("q", (Moment(0, 1, 1.6, present=0.3),), FLAT, 0.3)
    said = said_at((2, 3, 0.9), (4, 5, 0.8), (6, 7, 0.44))
    every = fuse(seen, [said], 5)
    assert order(every) == [0, 2, 4, 6]
    strong = fuse(replace(seen, moments=(Moment(0, 1, 1.6, present=0.9),)), [said], 5, min_ratio=0.5)
    assert [(moment.start_s, moment.score) for moment in strong.moments] == [(0, 0.9), (2, 0.9), (4, 0.8)]
    quoted = said_at((8, 9, 1.98), (2, 3, 0.9), (6, 7, 0.44))
    assert order(fuse(seen, [quoted], 5, min_ratio=0.5)) == [8, 2]


@pytest.mark.parametrize(("certain", "first"), [(0.3, 0), (0.4, 2)])
def test_where_present_is_unknown_it_is_a_third(certain: float, first: float) -> None:
    sounds = QueryMoments("q", (Moment(2, 3, certain, "sound", certain),), FLAT)
    answer = fuse(seen_at(None, (0, 1, 1.7)), [sounds], 5)
    assert (answer.moments[0].start_s, answer.present) == (first, None)


@given(
    st.floats(0, 1) | st.none(),
    st.lists(st.tuples(st.integers(0, 9), st.floats(-1, 9)), max_size=5),
    st.lists(st.tuples(st.integers(0, 9), st.floats(0, 0.99)), max_size=5),
)
def test_scores_of_both_are_probabilities_and_fall(
    present: float | None, pictured: list[tuple[int, float]], spoken: list[tuple[int, float]]
) -> None:
    pictures = seen_at(present, *((at, at + 1.0, score) for at, score in pictured))
    said = said_at(*((at, at + 1.0, p) for at, p in sorted(spoken, key=lambda row: -row[1])))
    moments = fuse(pictures, [said], 10).moments
    scores = [moment.score for moment in moments]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [m.start_s for m in moments if m.evidence == "picture"] == [at for at, _ in pictured]
    assert len(moments) == len(pictured) + sum(score >= 0.2 for _, score in spoken)


@pytest.mark.deep
@pytest.mark.weights
def test_a_paraphrase_is_found() -> None:
    real_weights("minilm")
    texts = ["The bakery sells rye bread.", "He crossed the ocean on a ship.", "The numbers look bad."]
    passages = [Passage(at, at + 1, text) for at, text in enumerate(texts)]
    evidence = score(passages, ["a journey over the sea", "where to buy a loaf"])
    assert evidence.argmax(axis=1).tolist() == [1, 0]


def test_what_is_uncertain_throughout_is_not_searched() -> None:
    words = (Word(0, 3, "Humbu", 0.3), Word(3, 6, "tosh.", 0.3))
    segment = Segment(0, 6, "Humbu tosh.", 0.3, 0.0, words, uncertain=True)
    assert split_sentences(Transcript((segment,), "mn", 0.3, 9.0)) == []


def test_a_quotation_in_a_long_sentence_is_answered_by_its_clause() -> None:
    texts = ["we", "go", "home,"] * 12
    said = [
        (float(at), at + 0.9, text) for at, text in enumerate([*texts, "to", "see", "the", "sea", "again."])
    ]
    sentences = split_sentences(transcript(*said))
    passages = list(iter_passages(sentences))
    (moment, *_) = speech_moments("to see the sea again", passages, np.zeros(len(passages), np.float32), 5)
    assert moment.score > 1
    assert (moment.start_s, moment.end_s) == (36, 40.9)
