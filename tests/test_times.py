"""Times, budgets, time ranges and subtitles as people write them."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.times import (
    find_empty_times,
    find_unread_times,
    format_short_time,
    format_time,
    format_timestamp,
    parse_budget,
    parse_interval,
    parse_limit,
    parse_subtitles,
    parse_time,
    to_srt,
    to_vtt,
)

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


def test_cue_ends_at_the_second_time_of_its_line() -> None:
    assert parse_subtitles("00:03.000 --> 00:05.500\nHi\n") == [(3.0, 5.5, "Hi")]


def test_hours_minutes_and_seconds_of_a_cue_are_added() -> None:
    text = "1\n01:02:03,500 --> 01:02:04,000\nHi\n"
    assert parse_subtitles(text) == [(3723.5, 3724.0, "Hi")]


@pytest.mark.parametrize(("text", "seconds"), TIMES.items())
def test_finite_time_is_read(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", NO_TIMES)
def test_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a time") as caught:
        parse_time(text)
    assert "1:30" in str(caught.value.hint)
    assert len(caught.value.message) < 100


@given(st.integers(0, 360_000_00))
def test_formatted_time_is_read_back(hundredths: int) -> None:
    assert parse_time(format_time(hundredths / 100)) == pytest.approx(hundredths / 100, abs=1e-9)


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.5, "0:03.50"), (123.456, "2:03.46"), (3723.5, "1:02:03.50"), (59.999, "1:00.00")]
)
def test_time_has_hours_only_where_there_are_any(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(65, "1:05"), (7265, "2:01:05"), (1.5, "0:01.5")])
def test_short_time_has_a_fraction_only_where_there_is_one(seconds: float, text: str) -> None:
    assert format_short_time(seconds) == text


@pytest.mark.parametrize(("point", "text"), [(".", "01:02:03.500"), (",", "01:02:03,500")])
def test_time_stamp_has_the_point_of_its_format(point: str, text: str) -> None:
    assert format_timestamp(3723.5, point) == text


BUDGETS = {
    "15%": 30, "0.15": 30, 0.15: 30, ".5": 100, "1": 200, "100%": 200, "45s": 45, "1:30": 90, "1m30s": 90,
    "12,5 %": 25, "0,15": 30, 45: 45,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), BUDGETS.items())
def test_budget_is_a_share_or_a_time(text: str | float, seconds: float) -> None:
    assert parse_budget(text, duration_s=200) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "101%", "x%", "%", "many", "nan%", "-1", "1_5%", "\u0663%", "inf%"])
def test_text_that_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text, duration_s=200)


@pytest.mark.parametrize("text", ["0", "0%", "0s", "0.0", "-5%"])
def test_budget_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="above 0"):
        parse_budget(text, duration_s=200)


@pytest.mark.parametrize(
    ("text", "duration_s", "seconds"),
    [("15%", 4.0, 1), ("15%", 1.9, 1.9), ("50%", 4.0, 2), ("0.5s", 4.0, 0.5)],
    ids=["a share below it", "the whole video below it", "a share above it", "a time below it"],
)
def test_minimum_of_a_budget_raises_shares_up_to_the_whole_video(
    text: str, duration_s: float, seconds: float
) -> None:
    assert parse_budget(text, duration_s, min_s=1.0) == seconds


@pytest.mark.parametrize(
    ("text", "interval"),
    [("1:00-90s", (60, 90)), ("0,5 \u2013 1m30s", (0.5, 90)), ("1.5-end", (1.5, math.inf))],
)
def test_range_is_two_times(text: str, interval: tuple[float, float]) -> None:
    assert parse_interval(text) == interval


@pytest.mark.parametrize("text", NO_RANGES)
def test_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}'"):
        parse_interval(text)


def time_texts() -> st.SearchStrategy[tuple[str, float]]:
    """A time in one of the forms that people write, and its seconds."""
    forms = ["{0}h{1}m{2}s", "{0}h {1}min {2} s", "{0}:{1:02}:{3:06.3f}", "{0:02}:{1:02}:{3:06.3f}"]

    def write(hours: int, minutes: int, seconds: Decimal, form: str, point: str) -> tuple[str, float]:
        text = form.format(hours, minutes, seconds, float(seconds)).replace(".", point)
        return text, hours * 3600 + minutes * 60 + float(seconds)

    seconds = st.decimals(0, 59, places=3)
    parts = st.integers(0, 99), st.integers(0, 59), seconds, st.sampled_from(forms), st.sampled_from(".,")
    return st.builds(write, *parts)


@given(time_texts())
def test_time_in_any_form_is_read(time: tuple[str, float]) -> None:
    text, seconds = time
    assert parse_time(text) == pytest.approx(seconds, abs=1e-9)


@given(time_texts().filter(lambda time: time[1] > 0))
def test_range_may_have_times_in_any_form(time: tuple[str, float]) -> None:
    assert parse_interval(f"0-{time[0]}\n") == (0, parse_time(time[0]))


@pytest.mark.parametrize(("text", "limit"), [("none", None), ("1:30", 90)])
def test_limit_is_a_time_or_none(text: str, limit: float | None) -> None:
    assert parse_limit(text) == limit


Cues = list[tuple[float, float, str]]


def assert_same_cues(read: Cues, written: Cues) -> None:
    assert [text for _, _, text in read] == [text for _, _, text in written]
    times = [time_s for cue in written for time_s in cue[:2]]
    assert [time_s for cue in read for time_s in cue[:2]] == pytest.approx(times, abs=1e-6)


some_cues = st.lists(
    st.tuples(
        st.integers(0, 10**8),
        st.integers(1, 10**5),
        st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1),
    ),
    unique_by=lambda cue: cue[0],
).map(lambda cues: sorted((start / 1000, (start + length) / 1000, text) for start, length, text in cues))


@given(some_cues)
def test_vtt_is_read_back(cues: Cues) -> None:
    assert_same_cues(parse_subtitles(to_vtt(cues)), cues)


def test_cues_of_subrip_are_numbered_from_one() -> None:
    text = to_srt([(1.0, 2.5, "Hi"), (3661.25, 3662.0, "you")])
    assert text == "1\n00:00:01,000 --> 00:00:02,500\nHi\n\n2\n01:01:01,250 --> 01:01:02,000\nyou\n"


def test_cues_of_webvtt_have_points_in_their_times() -> None:
    assert to_vtt([(1.0, 2.5, "a < b")]) == "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\na &lt; b\n"


@given(some_cues)
def test_srt_without_tags_is_read_back(cues: Cues) -> None:
    plain = [cue for cue in cues if not set(cue[2]) & set("<>&\\")]  # "\\h" is a blank in files of players
    assert_same_cues(parse_subtitles(to_srt(plain)), plain)


@pytest.mark.parametrize(
    ("is_marked", "line"), [(False, "a &lt;b&gt; &amp; c"), (True, "a <b> & c")], ids=["plain", "marked"]
)
def test_vtt_escapes_texts_without_markup(is_marked: bool, line: str) -> None:
    lines = to_vtt([(0.0, 1.0, "a <b> & c")], is_marked=is_marked).splitlines()
    assert lines == ["WEBVTT", "", "00:00:00.000 --> 00:00:01.000", line]


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
def test_texts_of_subtitles_of_any_style_are_read(file: tuple[str, list[str]]) -> None:
    text, expected = file
    assert [said for _, _, said in parse_subtitles(text)] == expected


@given(subtitle_files())
def test_times_of_subtitles_of_any_style_are_read(file: tuple[str, list[str]]) -> None:
    text, expected = file
    times = [(60 * number + 1, 60 * number + 2.5) for number in range(1, len(expected) + 1)]
    assert [(start_s, end_s) for start_s, end_s, _ in parse_subtitles(text)] == times


def test_number_is_text_where_cues_have_none() -> None:
    text = "00:00:01,000 --> 00:00:02,000\n42\n00:00:03,000 --> 00:00:04,000\n43\n"
    assert [said for _, _, said in parse_subtitles(text)] == ["42", "43"]


def test_subtitles_with_empty_lines_everywhere_are_read() -> None:
    text = "1\n\n00:00:01,000 --> 00:00:02,000\n\nHi\n\nthere\n\n2\n\n00:00:03,000 --> 00:00:04,000\n\nYou\n"
    assert [said for _, _, said in parse_subtitles(text)] == ["Hi there", "You"]


@pytest.mark.parametrize("line", [
    "00:00:03,000 --> 00:00:0x,000",
    "0O:00:03,000 --> 00:00:04,000",
    "00:00:03,000 -->",
    "--> 00:00:04,000",
    "00:00:04,000 --> 00:00:03,000",
    "00:00:03,000 --> 00:00:03,000",
])  # fmt: skip
def test_times_that_are_none_are_found(line: str) -> None:
    first, last = "1\n00:00:01,000 --> 00:00:02,000\nHi\n", "\n3\n00:00:05,000 --> 00:00:06,000\nYou\n"
    text = f"{first}\n2\n{line}\nthere\n{last}"
    assert [*find_unread_times(text), *find_empty_times(text)] == [6]
    said = [said for start_s, end_s, said in parse_subtitles(text) if start_s < end_s]
    assert said == ["Hi", "You"]
    assert find_unread_times(first + last) == find_empty_times(first + last) == []


@given(subtitle_files())
def test_times_of_subtitles_of_any_style_have_no_fault(file: tuple[str, list[str]]) -> None:
    assert find_unread_times(file[0]) == find_empty_times(file[0]) == []


def test_signs_that_are_no_tags_stay() -> None:
    text = "00:01.000 --> 00:02.000\n3 < 5 and {so} 7 > 2\\Nand on\n"
    assert parse_subtitles(text) == [(1, 2, "3 < 5 and {so} 7 > 2 and on")]
