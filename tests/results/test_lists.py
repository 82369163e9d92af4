"""Cuts as CSV, subtitles and chapters."""

import csv
import io
import re
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.cuts import Cut, cuts_of
from vidsum.results.lists import to_chapters, to_csv, to_srt, to_vtt
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary

MOMENTS = Grounding(
    queries=(
        QueryMoments("a\nbird & <b>", (Moment(8.0, 9.5, 1.25),), np.zeros(0, np.float32)),
        QueryMoments("fog", (), np.zeros(0, np.float32)),
        QueryMoments("snow", (Moment(2.0, 9.0, 0.5, "said"),), np.zeros(0, np.float32)),
    ),
    timestamps=np.zeros(0),
    step_s=2.0,
    video_duration_s=10.0,
    model="similarity",
    space="vse",
    evidence="both",
)


def test_the_cuts_of_each_kind_of_result() -> None:
    curve, times = np.zeros(1, np.float32), np.zeros(1)
    shots = (ScoredShot(0.0, 9.0, 0.5, True),)
    summary = Summary(
        ((0.0, 1.0), (2.0, 3.5)), shots, curve, times, 3.0, 9.0, 25.0, model="ridge", shot_method="kts"
    )
    assert [(cut.start_s, cut.end_s, cut.label) for cut in cuts_of(summary)] == [
        (0.0, 1.0, "segment 1"),
        (2.0, 3.5, "segment 2"),
    ]
    assert [cut.label for cut in cuts_of(Shots(np.array([0.0, 1.0, 3.5]), "kts"))] == ["shot 1", "shot 2"]
    (best,) = cuts_of(Highlights(curve, times, 2.0, (Moment(1.0, 2.0, 0.3),), 9.0))
    assert (best.label, best.rank, best.score, best.evidence) == ("highlight 1", 1, 0.3, "")
    assert [cut.label for cut in cuts_of(MOMENTS)] == ["a bird & <b> (1)", "snow (1)"]
    assert [cut.evidence for cut in cuts_of(replace(MOMENTS, evidence="seen"))] == ["", ""]


def test_csv_is_read_back_by_another_reader() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(cuts_of(MOMENTS)))))
    assert [row["query"] for row in rows] == ["a bird & <b>", "snow"]
    assert [row["evidence"] for row in rows] == ["seen", "said"]
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
