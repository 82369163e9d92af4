"""Times, budgets and time ranges as people type them, and the overlap of intervals."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.times import (
    format_time,
    parse_budget,
    parse_interval,
    parse_limit,
    parse_subtitles,
    parse_time,
    to_srt,
    to_vtt,
)
from vidsum.types import iou

TIMES = {
    "90": 90, "90s": 90, " 90.5s ": 90.5, ".5": 0.5, "1:30": 90, "0:01:30.5": 90.5, "01:02:03": 3723,
    "90:00": 5400,
    "1h": 3600, "1.5h": 5400, "1m30s": 90, "1h2m3.5s": 3723.5, "1H 30M": 5400, "1h30s": 3630, "1,5m": 90,
    "5min": 300, "90m": 5400, "1,5": 1.5, "00:00:01,500": 1.5, "0": 0,
}  # fmt: skip
NO_TIMES = [
    "",
    "abc",
    "-5",
    "1:60",
    "1:2:3:4",
    "1::2",
    "5x",
    "1:30s",
    "1m60s",
    "1.5h30m",
    "1h2",
    "h",
    "m",
    "1s2m",
    "nan",
    "inf",
    "1e3",
    "٣",
    "9" * 400,
    "9" * 5000 + ":00",
    "9" * 5000 + ":00:00",
]
NO_RANGES = ["10", "20-10", "10-10", "a-b", "-5", "5-", "-1-3", "1-2-3", "end-5", "1-End2"]


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_parse_time(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", NO_TIMES)
def test_parse_time_errors(text: str) -> None:
    with pytest.raises(UsageError, match="not a time") as caught:
        parse_time(text)
    assert "1:30" in str(caught.value.hint)
    assert len(caught.value.message) < 100


@given(st.integers(0, 360_000_00))
def test_format_time(hundredths: int) -> None:
    assert parse_time(format_time(hundredths / 100)) == pytest.approx(hundredths / 100, abs=1e-9)


BUDGETS = {
    "15%": 30, "0.15": 30, 0.15: 30, ".5": 100, "1": 200, "100%": 200, "45s": 45, "1:30": 90, "1m30s": 90,
    "12,5 %": 25, "0,15": 30, 45: 45,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), BUDGETS.items())
def test_parse_budget(text: str | float, seconds: float) -> None:
    assert parse_budget(text, duration_s=200) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "101%", "x%", "%", "many", "nan%", "-1", "1_5%", "\u0663%", "inf%"])
def test_parse_budget_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text, duration_s=200)


@pytest.mark.parametrize("text", ["0", "0%", "0s", "0.0", "-5%"])
def test_parse_budget_zero(text: str) -> None:
    with pytest.raises(UsageError, match="above 0"):
        parse_budget(text, duration_s=200)


def test_parse_budget_min() -> None:
    budgets = [("15%", 4.0), ("15%", 1.9), ("50%", 4.0), ("0.5s", 4.0)]
    assert [parse_budget(*budget, min_s=1.0) for budget in budgets] == [1, 1.9, 2, 0.5]


def test_parse_interval() -> None:
    assert parse_interval("1:00-90s") == (60, 90)
    assert parse_interval("0,5 \u2013 1m30s") == (0.5, 90)
    assert parse_interval("1.5-end") == (1.5, math.inf)


@pytest.mark.parametrize("text", NO_RANGES)
def test_parse_interval_errors(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}'"):
        parse_interval(text)


@given(
    st.integers(0, 99),
    st.integers(0, 59),
    st.decimals(0, 59, places=3),
    st.sampled_from(["{0}h{1}m{2}s", "{0}h {1}min {2} s", "{0}:{1:02}:{3:06.3f}", "{0:02}:{1:02}:{3:06.3f}"]),
    st.sampled_from(".,"),
)
def test_parse_time_forms(hours: int, minutes: int, seconds: Decimal, form: str, point: str) -> None:
    text = form.format(hours, minutes, seconds, float(seconds)).replace(".", point)
    expected = hours * 3600 + minutes * 60 + float(seconds)
    assert parse_time(text) == pytest.approx(expected, abs=1e-9)
    assert parse_interval(f"0-{text}\n")[1] == parse_time(text) if expected else True


def test_a_limit_is_a_time_or_none() -> None:
    assert parse_limit("none") is None
    assert parse_limit("1:30") == 90


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**8),
            st.integers(1, 10**5),
            st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1),
        ),
        unique_by=lambda cue: cue[0],
    )
)
def test_subtitles_are_read_back(cues: list[tuple[int, int, str]]) -> None:
    timed = sorted((start / 1000, (start + length) / 1000, text) for start, length, text in cues)
    plain = [cue for cue in timed if not set(cue[2]) & set("<>&")]
    for read, cues_read in ((parse_subtitles(to_vtt(timed)), timed), (parse_subtitles(to_srt(plain)), plain)):
        assert [text for _, _, text in read] == [text for _, _, text in cues_read]
        times = [time_s for cue in cues_read for time_s in cue[:2]]
        assert [time_s for cue in read for time_s in cue[:2]] == pytest.approx(times, abs=1e-6)


@st.composite
def subtitle_files(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A file of subtitles in one of the styles that people and programs write, and the texts of its cues."""
    word = st.text("abcABCäßяあ019", min_size=1, max_size=6)
    texts = draw(st.lists(st.lists(word, min_size=1, max_size=3), min_size=1, max_size=6))
    is_vtt, has_numbers = draw(st.booleans()), draw(st.booleans())
    end, blank = draw(st.sampled_from(["\n", "\r\n", "\r"])), draw(st.sampled_from(["", "\n", "\n\n"]))
    arrow, point = draw(st.sampled_from([" --> ", "-->", "  ->  "])), draw(st.sampled_from([".", ","]))
    hours, settings = draw(st.sampled_from(["00:", "0:", ""])), draw(st.sampled_from(["", " align:start"]))
    tags = ["{}", "{{\\an8}}{}", "<i>{}</i>", "{{\\pos(1,2)}}{}", "<v Bob>{}", "{{i}}{}{{/i}}"]
    tag = draw(st.sampled_from(tags))
    if is_vtt:
        has_numbers = has_numbers and bool(blank)
        blank = blank or ("" if draw(st.booleans()) else "\n")
    note = "NOTE said\nto nobody\n\n" if is_vtt and blank else ""
    parts = ["WEBVTT - made\n\nSTYLE\n::cue { color: red }\n\n" if is_vtt else ""]
    for number, lines in enumerate(texts, 1):
        head = f"{number}\n" if has_numbers else ""
        times = f"{hours}{number:02}:01{point}000{arrow}{hours}{number:02}:02{point}500{settings}\n"
        parts += [note, head, times, tag.format("\n".join(lines)), "\n", blank]
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + "".join(parts).replace("\n", end), [" ".join(lines) for lines in texts]


@given(subtitle_files())
def test_subtitles_of_any_style_are_read(file: tuple[str, list[str]]) -> None:
    text, expected = file
    cues = parse_subtitles(text)
    assert [said for _, _, said in cues] == expected
    assert [start_s for start_s, _, _ in cues] == [60 * n + 1 for n in range(1, len(expected) + 1)]
    assert [end_s for _, end_s, _ in cues] == [60 * n + 2.5 for n in range(1, len(expected) + 1)]


def test_a_number_is_text_where_cues_have_none() -> None:
    text = "00:00:01,000 --> 00:00:02,000\n42\n00:00:03,000 --> 00:00:04,000\n43\n"
    assert [said for _, _, said in parse_subtitles(text)] == ["42", "43"]


def test_subtitles_with_empty_lines_everywhere_are_read() -> None:
    text = "1\n\n00:00:01,000 --> 00:00:02,000\n\nHi\n\nthere\n\n2\n\n00:00:03,000 --> 00:00:04,000\n\nYou\n"
    assert [said for _, _, said in parse_subtitles(text)] == ["Hi there", "You"]


def test_signs_that_are_no_tags_stay() -> None:
    text = "00:01.000 --> 00:02.000\n3 < 5 and {so} 7 > 2\\Nand on\n"
    assert parse_subtitles(text) == [(1, 2, "3 < 5 and {so} 7 > 2 and on")]


ends = st.tuples(st.integers(-5, 20), st.integers(-5, 20))


def one_iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    """By counting the unit steps that both, and that either, covers."""
    first, second = set(range(*a)), set(range(*b))
    return len(first & second) / len(first | second) if first | second else 0.0


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_iou(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    result = iou(a, b)
    assert result.shape == (len(a), len(b))
    assert result.tolist() == [[one_iou(item, other) for other in b] for item in a]


def test_iou_of_many_sets() -> None:
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.random((6, 5, 2))), np.sort(rng.random((6, 3, 2)))
    assert iou(a, b).tolist() == [iou(item, other).tolist() for item, other in zip(a, b, strict=True)]
    draws = np.stack([a, a[::-1]])
    assert iou(draws, b)[1].tolist() == iou(a[::-1], b).tolist()


def test_an_iou_of_a_half_is_a_half() -> None:
    assert iou([(0, 4.95)], [(0, 9.9)]).item() == 0.5
    assert iou([(0, 4.95)], [(0, 9.9)], union="lengths").item() < 0.5


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_union_of_lengths(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert iou(a, b).tolist() == iou(a, b, union="lengths").tolist()


def test_there_may_be_none() -> None:
    assert iou([], [(0, 1)]).shape == (0, 1)
    assert iou(np.empty((3, 0, 2)), np.empty((3, 2, 2))).shape == (3, 0, 2)
