"""Cuts as CSV, subtitles and chapters."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError
from vidsum.results.cut_list import Cut, cuts_of, name_cuts
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.lists import to_chapters, to_csv, to_ffmetadata, to_kodi, to_srt, to_vtt
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary
from vidsum.results.transcript import Segment, Transcript, Word

NO_CURVE = np.zeros(0, np.float32)
QUERIES = (
    QueryMoments("a\nbird & <b>", (Moment(8.0, 9.5, 1.25),), NO_CURVE, 0.7),
    QueryMoments("fog", (), NO_CURVE),
    QueryMoments("snow", (Moment(2.0, 9.0, 0.5, "speech"),), NO_CURVE),
)
MOMENTS = Grounding(QUERIES, np.zeros(0), 2.0, 10.0, "similarity", "vse", evidence=("picture", "speech"))


def test_cuts_of() -> None:
    curve, times = np.zeros(1, np.float32), np.zeros(1)
    shots = (ScoredShot(0.0, 9.0, 0.5, True),)
    summary = Summary(
        ((0.0, 1.0), (2.0, 3.5)), shots, curve, times, 3.0, 9.0, 25.0, model="ridge", shot_method="kts"
    )
    cuts = [(cut.start_s, cut.end_s, cut.label) for cut in cuts_of(summary)]
    assert cuts == [(0.0, 1.0, "segment 1"), (2.0, 3.5, "segment 2")]
    assert [cut.label for cut in cuts_of(Shots(np.array([0.0, 1.0, 3.5]), "kts"))] == ["shot 1", "shot 2"]
    (best,) = cuts_of(Highlights(curve, times, 2.0, (Moment(1.0, 2.0, 0.3),), 9.0))
    assert (best.label, best.rank, best.score, best.evidence) == ("highlight 1", 1, 0.3, "")
    assert [cut.label for cut in cuts_of(MOMENTS)] == ["a bird & <b> (1)", "snow (1)"]
    assert [cut.evidence for cut in cuts_of(replace(MOMENTS, evidence=("picture",)))] == ["", ""]


def test_name_cuts() -> None:
    cuts = [Cut(0.0, 2.0, "shot 1"), Cut(2.0, 4.0, "shot 2"), Cut(4.0, 5.0, "shot 3")]
    cuts.append(Cut(0.0, 2.0, "x (1)", "x"))
    said = ("Ask", "not", "what", "long" * 20)
    words = tuple(Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate(said))
    speech = Transcript((Segment(0.0, 2.0, f"Ask not, what {'long' * 20}", 0.9, 0.0, words),), "en", 1.0, 5.0)
    seen = Descriptions((Description(0.0, 4.0, "a bird", 0.9),), "tags", 5.0)
    names = [cut.label for cut in name_cuts(cuts, speech, seen)]
    assert names == [f"Ask not, what {'long' * 11}l…", "a bird", "shot 3", "x (1)"]
    assert name_cuts(cuts, None, None) == cuts


def test_names_begin_with_sentences() -> None:
    """A text without word times keeps its first words together with the rest of the sentence."""
    cuts = [Cut(start, end, "shot") for start, end in ((0.0, 4.5), (4.5, 7.5), (7.5, 14.0), (14.0, 20.0))]
    said = [(0.0, 4.0, "And so it was."), (4.0, 8.0, "The earliest book.")]
    said.append((8.0, 20.0, "a b c d e f g h i j"))
    speech = Transcript(tuple(Segment(*part, 0.9, 0.0) for part in said), "en", 1.0, 20.0)
    names = [cut.label for cut in name_cuts(cuts, speech, None)]
    assert names == ["And so it was.", "The earliest book.", "a b c d e", "f g h i j"]


def test_to_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(cuts_of(MOMENTS)))))
    assert [row["query"] for row in rows] == ["a bird & <b>", "snow"]
    assert [row["evidence"] for row in rows] == ["picture", "speech"]
    assert list(rows[0])[:4] == ["Start", "End", "Name", "video"]  # the first three as LosslessCut has them
    assert [(float(row["Start"]), float(row["End"])) for row in rows] == [(8.0, 9.5), (2.0, 9.0)]
    assert [row["Name"] for row in rows] == ["a bird & <b> (1)", "snow (1)"]
    assert {row["present"] for row in rows} == {"0.7", ""}


def test_to_srt_and_vtt() -> None:
    assert to_srt(cuts_of(MOMENTS)) == (
        "1\n00:00:02,000 --> 00:00:09,000\nsnow (1)\n\n2\n00:00:08,000 --> 00:00:09,500\na bird & <b> (1)\n"
    )
    assert to_vtt(cuts_of(MOMENTS)) == (
        "WEBVTT\n\n00:00:02.000 --> 00:00:09.000\nsnow (1)\n\n"
        "00:00:08.000 --> 00:00:09.500\na bird &amp; &lt;b&gt; (1)\n"
    )
    assert to_srt([]) == ""


def test_to_chapters() -> None:
    late = [Cut(3700.9, 3800.0, "b"), Cut(61.0, 70.0, "a")]
    assert to_chapters(late, 4000) == "0:00 Start\n1:01 a\n1:01:40 b\n"
    early = [Cut(4.0, 5.0, "x"), Cut(14.0, 15.0, "y"), Cut(23.9, 25.0, "z"), Cut(24.5, 26.0, "w")]
    assert to_chapters(early, 35) == "0:00 x\n0:14 y\n0:24 w\n"
    ranked = [Cut(50.0, 60.0, "best", rank=1), Cut(45.0, 60.0, "near", rank=2), Cut(10.0, 20.0, "c", rank=3)]
    assert to_chapters(ranked, 60) == "0:00 Start\n0:10 c\n0:50 best\n"
    with pytest.raises(InputError, match=r"3 chapters of at least 10 s; these cuts make 2"):
        to_chapters([Cut(12.0, 20.0, "a"), Cut(52.0, 60.0, "too late")], 60)


@given(st.lists(st.tuples(st.floats(0, 5000), st.integers(1, 5))), st.floats(1, 5000))
def test_to_chapters_lengths(cuts: list[tuple[float, int]], length_s: float) -> None:
    try:
        text = to_chapters([Cut(start, start + 1, "x", rank=rank) for start, rank in cuts], length_s)
    except InputError:
        return
    clocks = [line.split()[0].split(":") for line in text.splitlines()]
    starts = [sum(int(part) * 60**place for place, part in enumerate(clock[::-1])) for clock in clocks]
    assert len(starts) >= 3
    assert starts[0] == 0
    assert min(np.diff([*starts, length_s])) >= 10


def test_to_ffmetadata(tmp_path: Path) -> None:
    text = to_ffmetadata([Cut(12.5, 14.0, "a = b; c"), Cut(2.0000004, 3.0, "#x\\y")], 60.5)
    (tmp_path / "film.ffmetadata").write_text(text)
    with av.open(str(tmp_path / "film.ffmetadata"), format="ffmetadata") as container:
        chapters = [
            (float(c["start"] * c["time_base"]), float(c["end"] * c["time_base"]), c["metadata"])
            for c in container.chapters()
        ]
    titles = [{"title": title} for title in ("Start", "#x\\y", "a = b; c")]
    assert chapters == list(zip((0, 2.0, 12.5), (2.0, 12.5, 60.5), titles, strict=True))
    assert to_ffmetadata([], 9) == ";FFMETADATA1\n"


def test_to_kodi() -> None:
    segments = [Cut(1.5, 3.0, "segment 1", is_kept=True), Cut(3.0, 4.0, "segment 2", is_kept=True)]
    assert to_kodi(segments, 9.0) == "0.000\t1.500\t0\n4.000\t9.000\t0\n"
    assert to_kodi([Cut(0.0, 9.0, "segment 1", is_kept=True)], 9.0) == ""
    assert to_kodi(cuts_of(MOMENTS), 10.0) == "2.000\t2.000\t2\n8.000\t8.000\t2\n"
    assert to_kodi([], 10.0) == ""


@given(st.floats(0, 359_000), st.floats(0.001, 500))
def test_to_srt_times(start: float, length: float) -> None:
    text = to_srt([Cut(start, start + length, "x")])
    clocks = re.findall(r"(\d\d):(\d\d):(\d\d),(\d{3})", text)
    times = [int(h) * 3600 + int(m) * 60 + int(s) + int(ms) / 1000 for h, m, s, ms in clocks]
    assert times == pytest.approx([start, start + length], abs=0.000501)
