"""Cuts as CSV, subtitles and chapters."""

import csv
import io
import re
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.made import MOMENTS
from vidsum.errors import InputError
from vidsum.results.cut_list import Cut, cuts_of
from vidsum.results.lists import to_chapters, to_csv, to_ffmetadata, to_kodi, to_srt, to_vtt


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(cuts_of(MOMENTS)))))


def test_csv_begins_with_the_columns_of_losslesscut(rows: list[dict[str, str]]) -> None:
    assert list(rows[0])[:4] == ["Start", "End", "Name", "video"]
    assert [(float(row["Start"]), float(row["End"])) for row in rows] == [(8.0, 9.5), (2.0, 9.0)]
    assert [row["Name"] for row in rows] == ["a bird & <b> (1)", "snow (1)"]


def test_csv_has_queries_and_their_evidence(rows: list[dict[str, str]]) -> None:
    assert [row["query"] for row in rows] == ["a bird & <b>", "snow"]
    assert [row["evidence"] for row in rows] == ["picture", "speech"]


def test_csv_has_the_probability_of_a_match_where_it_is_known(rows: list[dict[str, str]]) -> None:
    assert [row["present"] for row in rows] == ["0.7", ""]


def test_srt_has_cuts_in_order_of_time() -> None:
    assert to_srt(cuts_of(MOMENTS)) == (
        "1\n00:00:02,000 --> 00:00:09,000\nsnow (1)\n\n2\n00:00:08,000 --> 00:00:09,500\na bird & <b> (1)\n"
    )


def test_vtt_has_cuts_in_order_of_time_with_escaped_names() -> None:
    assert to_vtt(cuts_of(MOMENTS)) == (
        "WEBVTT\n\n00:00:02.000 --> 00:00:09.000\nsnow (1)\n\n"
        "00:00:08.000 --> 00:00:09.500\na bird &amp; &lt;b&gt; (1)\n"
    )


def test_srt_of_no_cuts_is_empty() -> None:
    assert to_srt([]) == ""


def test_chapters_begin_at_zero_and_are_in_order() -> None:
    late = [Cut(3700.9, 3800.0, "b"), Cut(61.0, 70.0, "a")]
    assert to_chapters(late, 4000) == "0:00 Start\n1:01 a\n1:01:40 b\n"


def test_chapters_are_ten_seconds_apart() -> None:
    early = [Cut(4.0, 5.0, "x"), Cut(14.0, 15.0, "y"), Cut(23.9, 25.0, "z"), Cut(24.5, 26.0, "w")]
    assert to_chapters(early, 35) == "0:00 x\n0:14 y\n0:24 w\n"


def test_better_cut_is_the_chapter_of_two_that_are_near() -> None:
    ranked = [Cut(50.0, 60.0, "best", rank=1), Cut(45.0, 60.0, "near", rank=2), Cut(10.0, 20.0, "c", rank=3)]
    assert to_chapters(ranked, 60) == "0:00 Start\n0:10 c\n0:50 best\n"


def test_too_few_chapters_are_refused() -> None:
    with pytest.raises(InputError, match=r"3 chapters of at least 10 s; these cuts make 2"):
        to_chapters([Cut(12.0, 20.0, "a"), Cut(52.0, 60.0, "too late")], 60)


@given(st.lists(st.tuples(st.floats(0, 5000), st.integers(1, 5))), st.floats(1, 5000))
def test_chapters_of_any_cuts_are_three_from_zero_on_and_ten_seconds_long(
    cuts: list[tuple[float, int]], length_s: float
) -> None:
    try:
        text = to_chapters([Cut(start, start + 1, "x", rank=rank) for start, rank in cuts], length_s)
    except InputError:
        return
    clocks = [line.split()[0].split(":") for line in text.splitlines()]
    starts = [sum(int(part) * 60**place for place, part in enumerate(clock[::-1])) for clock in clocks]
    assert len(starts) >= 3
    assert starts[0] == 0
    assert min(np.diff([*starts, length_s])) >= 10


def test_chapters_of_ffmetadata_are_read_by_ffmpeg(tmp_path: Path) -> None:
    text = to_ffmetadata([Cut(12.5, 14.0, "a = b; c"), Cut(2.0000004, 3.0, "#x\\y")], 60.5)
    (tmp_path / "film.ffmetadata").write_text(text)
    with av.open(str(tmp_path / "film.ffmetadata"), format="ffmetadata") as container:
        chapters = [
            (float(c["start"] * c["time_base"]), float(c["end"] * c["time_base"]), c["metadata"]["title"])
            for c in container.chapters()
        ]
    assert chapters == [(0, 2.0, "Start"), (2.0, 12.5, "#x\\y"), (12.5, 60.5, "a = b; c")]


def test_ffmetadata_of_no_cuts_is_its_header() -> None:
    assert to_ffmetadata([], 9) == ";FFMETADATA1\n"


def test_kodi_skips_what_a_summary_leaves_out() -> None:
    segments = [Cut(1.5, 3.0, "segment 1", is_kept=True), Cut(3.0, 4.0, "segment 2", is_kept=True)]
    assert to_kodi(segments, 9.0) == "0.000\t1.500\t0\n4.000\t9.000\t0\n"


def test_kodi_skips_nothing_of_a_summary_that_is_the_film() -> None:
    assert to_kodi([Cut(0.0, 9.0, "segment 1", is_kept=True)], 9.0) == ""


def test_kodi_marks_where_moments_begin() -> None:
    assert to_kodi(cuts_of(MOMENTS), 10.0) == "2.000\t2.000\t2\n8.000\t8.000\t2\n"


def test_kodi_of_no_cuts_is_empty() -> None:
    assert to_kodi([], 10.0) == ""


@given(st.floats(0, 359_000), st.floats(0.001, 500))
def test_times_of_srt_are_right_to_the_millisecond(start: float, length: float) -> None:
    text = to_srt([Cut(start, start + length, "x")])
    clocks = re.findall(r"(\d\d):(\d\d):(\d\d),(\d{3})", text)
    times = [int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000 for h, m, s, ms in clocks]
    assert times == pytest.approx([start, start + length], abs=0.000501)
