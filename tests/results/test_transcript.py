"""Transcripts: their text formats, and how sure they are."""

from dataclasses import replace
from typing import get_args

import pytest

from vidsum.results.cues import join_words
from vidsum.results.transcript import (
    Segment,
    TextFormat,
    Transcript,
    Word,
    format_segments,
    language_changes,
    to_cue_words,
)

FORMATS: tuple[TextFormat, ...] = get_args(TextFormat)


def segment(start_s: float, end_s: float, text: str, probability: float = 0.5) -> Segment:
    return Segment(start_s, end_s, text, probability, 0.1, (Word(start_s, end_s, text, probability),))


LINES = (segment(0.5, 2.0, "Fish & chips <now>."), segment(3723.0494, 3725.9996, "Über\u00a0alles"))


def test_srt_has_numbers_and_times_with_commas() -> None:
    assert format_segments(LINES, "srt") == (
        "1\n00:00:00,500 --> 00:00:02,000\nFish & chips <now>.\n\n"
        "2\n01:02:03,049 --> 01:02:06,000\nÜber\u00a0alles\n"
    )


def test_vtt_has_times_with_points_and_escaped_texts() -> None:
    vtt = "WEBVTT\n\n00:00:00.500 --> 00:00:02.000\nFish &amp; chips &lt;now&gt;.\n\n01:02:03.049"
    assert format_segments(LINES, "vtt").startswith(vtt)


def test_txt_has_a_line_for_each_sentence() -> None:
    assert format_segments(LINES, "txt").splitlines() == [line.text for line in LINES]
    words = [Word(k, k + 1, text, 0.9) for k, text in enumerate(("It", "rains.", "Mr.", "Fox", "is", "wet."))]
    halves = [Segment(0, 4, "It rains. Mr. Fox", 0.9, 0.1, tuple(words[:4]))]
    halves.append(Segment(4, 6, "is wet.", 0.9, 0.1, tuple(words[4:]), uncertain=True))
    assert format_segments(halves, "txt").splitlines() == ["It rains.", "Mr. Fox is wet. (?)"]


def test_txt_of_speech_without_full_stops_has_a_line_between_pauses() -> None:
    spoken = (segment(0, 2, "it rains"), segment(2.5, 4, "all day"), segment(4, 5, "long"))
    assert format_segments(spoken, "txt").splitlines() == ["it rains", "all day long"]


def test_txt_of_no_segments_is_empty() -> None:
    assert format_segments((), "txt") == ""


@pytest.mark.parametrize("form", FORMATS)
def test_only_uncertain_text_has_a_question_mark(form: TextFormat) -> None:
    text = format_segments((replace(LINES[0], uncertain=True), LINES[1]), form)
    assert text.count("(?)") == 1
    assert ". (?)\n" in text


def test_document_of_a_transcript_is_read_back() -> None:
    other = replace(LINES[0], uncertain=True, language="de")
    transcript = Transcript((*LINES, other), "en", 1.0, 4000.0)
    assert Transcript.from_dict(transcript.to_dict()) == transcript


def test_segment_in_the_main_language_does_not_name_it() -> None:
    assert "language" not in Transcript(LINES, "en", 1.0, 4000.0).to_dict()["segments"][0]


def test_text_between_times_has_the_words_of_that_time() -> None:
    words = (Word(0.0, 0.4, "Who", 1.0), Word(0.5, 0.9, "is it?", 1.0), Word(1.2, 1.5, "Me.", 1.0))
    transcript = Transcript((Segment(0.0, 1.5, "Who is it? Me.", 1.0, 0.0, words),), "en", 1.0, 2.0)
    turns = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    assert [transcript.text_between(*turn) for turn in turns] == ["Who is it?", "Me.", ""]


def test_confidence_is_the_mean_over_time() -> None:
    halves = (segment(0, 3, "a", 0.9), segment(3, 4, "b", 0.4))
    assert Transcript(halves, "en", 1.0, 4.0).confidence == pytest.approx((0.9**3 * 0.4) ** (1 / 4))


def test_text_of_a_transcript_joins_its_segments() -> None:
    assert Transcript((segment(0, 3, "a"), segment(3, 4, "b")), "en", 1.0, 4.0).text == "a b"


def test_transcript_without_segments_is_surely_no_speech() -> None:
    nothing = Transcript((), None, None, 4.0)
    assert (nothing.confidence, nothing.no_speech, nothing.text) == (0.0, 1.0, "")


def part(start_s: float, end_s: float, text: str, *, uncertain: bool) -> Segment:
    return Segment(start_s, end_s, text, 0.4 if uncertain else 0.9, 0.0, (), uncertain)


LONG_GUESS = (part(5, 11, "Humbu", uncertain=True), part(11, 16, "tosh", uncertain=True))
SHORT_GUESS = part(20, 22, "perhaps", uncertain=True)
GUESSED = Transcript(
    (part(0, 4, "Hello.", uncertain=False), *LONG_GUESS, part(16, 20, "So.", uncertain=False), SHORT_GUESS),
    "en",
    1.0,
    30.0,
)


def test_long_uncertain_text_is_doubtful() -> None:
    assert GUESSED.doubtful == [LONG_GUESS]
    assert [segment.text for segment in GUESSED.trusted.segments] == ["Hello.", "So.", "perhaps"]


def test_doubtful_text_is_no_subtitle() -> None:
    assert "Humbu" not in GUESSED.as_text("srt")


def test_doubtful_text_is_in_the_plain_text() -> None:
    assert "Humbu (?)" in GUESSED.as_text("txt")


def test_short_uncertain_text_is_a_marked_subtitle() -> None:
    assert "perhaps (?)" in GUESSED.as_text("vtt")


def test_transcript_that_is_all_uncertain_has_no_subtitles() -> None:
    assert Transcript((SHORT_GUESS,), "en", 1.0, 30.0).as_text("srt") == ""


def one_word_each(text: str, *parts: str) -> Segment:
    """A segment of such words of half a second each."""
    words = tuple(Word(n / 2, n / 2 + 0.5, part, 0.9) for n, part in enumerate(parts))
    return Segment(0, len(parts) / 2, text, 0.9, 0.1, words)


CHINESE = one_word_each("今日はよい", *"今日はよい")


def test_words_have_blanks_where_their_text_has_some() -> None:
    assert [piece.text for piece in to_cue_words([CHINESE])] == [" 今", "日", "は", "よ", "い"]
    assert format_segments([CHINESE], "srt").splitlines()[2] == "今日はよい"


def test_words_that_are_not_in_their_text_are_joined_by_blanks() -> None:
    assert join_words(to_cue_words([one_word_each("something else", "今", "日")])) == "今 日"


def test_text_without_words_is_timed_by_its_letters() -> None:
    pieces = to_cue_words([Segment(10, 20, "four fivex", 0.9, 0.1, uncertain=True)])
    spans = [(piece.start_s, piece.end_s, piece.text) for piece in pieces]
    assert spans == [(10, 14, " four"), (15, 20, " fivex (?)")]


def test_text_of_one_letter_has_the_time_of_its_segment() -> None:
    (letter,) = to_cue_words([Segment(10, 20, "a", 0.9, 0.1)])
    assert (letter.start_s, letter.end_s) == (10, 20)


def test_empty_text_has_no_words() -> None:
    assert to_cue_words([Segment(10, 20, "", 0.9, 0.1)]) == []


def test_vtt_has_times_of_words_where_they_are_asked_for() -> None:
    segment = one_word_each("We <go> now.", "We", "<go>", "now.")
    assert format_segments([segment], "vtt", with_words=True).splitlines()[2:] == [
        "00:00:00.000 --> 00:00:01.500",
        "We <00:00:00.500>&lt;go&gt; <00:00:01.000>now.",
    ]
    assert "<0" not in format_segments([segment], "vtt")


def test_changes_of_language_have_their_times() -> None:
    spans = [(0, 2, "en"), (2, 8, None), (8, 18, None), (18, 20, "en")]
    segments = tuple(replace(segment(low, high, "x"), language=language) for low, high, language in spans)
    assert language_changes(Transcript(segments, "de", 0.9, 20.0)) == [("en", "de", 2), ("de", "en", 18)]


def test_transcript_without_segments_has_no_changes_of_language() -> None:
    assert language_changes(Transcript((), None, None, 1.0)) == []
