"""Transcripts: their text formats, and how sure they are."""

import math
from dataclasses import replace
from typing import get_args

import pytest

from vidsum.results.transcript import Segment, TextFormat, Transcript, Word, format_segments

FORMATS: tuple[TextFormat, ...] = get_args(TextFormat)


def segment(start_s: float, end_s: float, text: str, probability: float = 0.5) -> Segment:
    return Segment(start_s, end_s, text, probability, 0.1, (Word(start_s, end_s, text, probability),))


LINES = (segment(0.5, 2.0, "Fish & chips <now>."), segment(3723.0494, 3725.9996, "Über\u00a0alles"))


def test_format_segments() -> None:
    assert format_segments(LINES, "srt") == (
        "1\n00:00:00,500 --> 00:00:02,000\nFish & chips <now>.\n\n"
        "2\n01:02:03,049 --> 01:02:06,000\nÜber\u00a0alles\n"
    )
    vtt = "WEBVTT\n\n00:00:00.500 --> 00:00:02.000\nFish &amp; chips &lt;now&gt;.\n\n01:02:03.049"
    assert format_segments(LINES, "vtt").startswith(vtt)
    assert format_segments(LINES, "txt").splitlines() == [line.text for line in LINES]
    assert format_segments((), "txt") == ""


def test_format_segments_uncertain() -> None:
    lines = (replace(LINES[0], uncertain=True), LINES[1])
    for form in FORMATS:
        assert format_segments(lines, form).count("(?)") == 1
        assert ". (?)\n" in format_segments(lines, form)


def test_transcript_document() -> None:
    other = replace(LINES[0], uncertain=True, language="de")
    transcript = Transcript((*LINES, other), "en", 1.0, 4000.0)
    assert Transcript.from_dict(transcript.to_dict()) == transcript
    assert "language" not in transcript.to_dict()["segments"][0]


def test_text_between_turns() -> None:
    words = (Word(0.0, 0.4, "Who", 1.0), Word(0.5, 0.9, "is it?", 1.0), Word(1.2, 1.5, "Me.", 1.0))
    transcript = Transcript((Segment(0.0, 1.5, "Who is it? Me.", 1.0, 0.0, words),), "en", 1.0, 2.0)
    turns = ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))
    assert [transcript.text_between(*turn) for turn in turns] == ["Who is it?", "Me.", ""]


def test_transcript_confidence() -> None:
    halves = (segment(0, 3, "a", 0.9), segment(3, 4, "b", 0.4))
    transcript = Transcript(halves, "en", 1.0, 4.0)
    assert transcript.confidence == pytest.approx((0.9**3 * 0.4) ** (1 / 4))
    assert transcript.text == "a b"
    nothing = Transcript((), None, None, 4.0)
    assert (nothing.confidence, nothing.no_speech, nothing.text) == (0.0, 1.0, "")
    assert not math.isnan(transcript.no_speech)


def test_text_that_is_uncertain_throughout_is_no_subtitle() -> None:
    def part(start_s: float, end_s: float, text: str, *, uncertain: bool) -> Segment:
        return Segment(start_s, end_s, text, 0.4 if uncertain else 0.9, 0.0, (), uncertain)

    long = [part(5, 11, "Humbu", uncertain=True), part(11, 16, "tosh", uncertain=True)]
    short = part(20, 22, "perhaps", uncertain=True)
    segments = (part(0, 4, "Hello.", uncertain=False), *long, part(16, 20, "So.", uncertain=False), short)
    transcript = Transcript(segments, "en", 1.0, 30.0)
    assert transcript.doubtful == [tuple(long)]
    assert [segment.text for segment in transcript.trusted.segments] == ["Hello.", "So.", "perhaps"]
    assert "Humbu" not in transcript.as_text("srt")
    assert "perhaps (?)" in transcript.as_text("vtt")
    assert "Humbu (?)" in transcript.as_text("txt")
    alone = Transcript((short,), "en", 1.0, 30.0)
    assert alone.as_text("srt") == ""
