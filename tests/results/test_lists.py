"""Cuts as CSV, subtitles and chapters."""

import csv
import io
import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.cuts import Cut, cuts_of
from vidsum.results.lists import to_chapters, to_csv, to_srt, to_vtt

MOMENTS = {
    "queries": [
        {"query": "a\nbird & <b>", "moments": [{"start_s": 8.0, "end_s": 9.5, "score": 1.25}]},
        {"query": "fog", "moments": []},
        {"query": "snow", "moments": [{"start_s": 2.0, "end_s": 9.0, "score": 0.5, "evidence": "said"}]},
    ]
}


def test_the_cuts_of_each_kind_of_document() -> None:
    spans = [{"start_s": 0.0, "end_s": 1.0}, {"start_s": 2.0, "end_s": 3.5}]
    segments = cuts_of({"segments": spans, "shots": [{"start_s": 0.0, "end_s": 9.0}]})
    assert [(cut.start_s, cut.end_s, cut.label) for cut in segments] == [
        (0.0, 1.0, "segment 1"),
        (2.0, 3.5, "segment 2"),
    ]
    assert [cut.label for cut in cuts_of({"shots": spans})] == ["shot 1", "shot 2"]
    (best,) = cuts_of({"moments": [{"start_s": 1.0, "end_s": 2.0, "score": 0.3}]})
    assert (best.label, best.rank, best.score) == ("highlight 1", 1, 0.3)
    assert [cut.label for cut in cuts_of(MOMENTS)] == ["a bird & <b> (1)", "snow (1)"]


def test_csv_is_read_back_by_another_reader() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(cuts_of(MOMENTS)))))
    assert [row["query"] for row in rows] == ["a bird & <b>", "snow"]
    assert [row["evidence"] for row in rows] == ["", "said"]
    assert [float(row["start_s"]) for row in rows] == [8.0, 2.0]
    assert (rows[0]["start"], rows[0]["end"], rows[0]["seconds"]) == ("00:00:08.000", "00:00:09.500", "1.5")


def test_subtitles_are_in_time_order_and_escape_what_their_format_does() -> None:
    assert to_srt(cuts_of(MOMENTS)) == (
        "1\n00:00:02,000 --> 00:00:09,000\nsnow (1)\n\n2\n00:00:08,000 --> 00:00:09,500\na bird & <b> (1)\n"
    )
    assert to_vtt(cuts_of(MOMENTS)) == (
        "WEBVTT\n\n00:00:02.000 --> 00:00:09.000\nsnow (1)\n\n"
        "00:00:08.000 --> 00:00:09.500\na bird &amp; &lt;b&gt; (1)\n"
    )
    assert to_srt([]) == ""


def test_chapters_begin_at_zero() -> None:
    late = [Cut(3700.9, 3800.0, "b"), Cut(61.0, 70.0, "a")]
    assert to_chapters(late) == "0:00 Start\n1:01 a\n1:01:40 b\n"
    assert to_chapters([Cut(0.0, 5.0, "shot 1")]) == "0:00 shot 1\n"


@given(st.floats(0, 359_000), st.floats(0.001, 500))
def test_the_times_of_subtitles_are_exact_to_half_a_millisecond(start: float, length: float) -> None:
    text = to_srt([Cut(start, start + length, "x")])
    found = re.findall(r"(\d\d):(\d\d):(\d\d),(\d{3})", text)
    times = [
        timedelta(hours=int(h), minutes=int(m), seconds=int(s), milliseconds=int(ms)).total_seconds()
        for h, m, s, ms in found
    ]
    assert times == pytest.approx([start, start + length], abs=0.000501)
