"""Text in pictures: which frames are read, from when to when lines are there, and the reader itself."""

from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest

from tests.conftest import deep
from tests.media import Picture, video_info
from vidsum.features.text_lines import RATE, RULES, LineTracker, StrokePicture, read_screen_text, sampling_for
from vidsum.results.screen_text import ScreenLine, ScreenText, describe_unread
from vidsum.video.frames import Frame, LongSide

WIDTH, HEIGHT = 640, 360
Paint = Callable[[float], tuple[Picture, dict[int, str]]]


def write(picture: Picture, text: str, row: int, left: int = 40) -> Picture:
    cv2.putText(picture, text, (left, 40 + 50 * row), cv2.FONT_HERSHEY_SIMPLEX, 1, (230, 230, 230), 2)
    return picture


def read_film(paint: Paint, duration_s: float) -> tuple[ScreenText, list[float]]:
    """The text of a film, and the times that were read: the stub knows what was painted."""
    now, times = [0.0], list[float]()

    def frames() -> Iterator[Frame]:
        for number in range(round(duration_s * RATE)):
            now[0] = number / RATE
            yield Frame(number, now[0], now[0], paint(now[0])[0])

    def read(picture: Picture) -> list[ScreenLine]:
        times.append(now[0])
        return [
            ScreenLine(0, 0, text, 0.9, (0.05, (10 + 50 * row) / HEIGHT, 0.95, (50 + 50 * row) / HEIGHT))
            for row, text in paint(now[0])[1].items()
        ]

    video = video_info(duration_s=duration_s, width=WIDTH, height=HEIGHT)
    return read_screen_text(frames(), read, video), times


def blank(level: int = 30) -> Picture:
    return np.full((HEIGHT, WIDTH, 3), level, np.uint8)


def noisy(time_s: float) -> Picture:
    rng = np.random.default_rng(round(time_s * 100))
    blocks = rng.integers(0, 255, (HEIGHT // 20, WIDTH // 20, 3), dtype=np.uint8)
    return cv2.resize(blocks, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)


def timed_text(text: str, row: int, is_there: Callable[[float], bool]) -> Paint:
    """Return a painter of frames with a text on black while `is_there(time_s)`."""
    return lambda time_s: (write(blank(), text, row), {row: text}) if is_there(time_s) else (blank(), {})


def test_slide_is_read_once() -> None:
    text, times = read_film(timed_text("Quarterly results", 0, lambda _: True), 60)
    assert times == [0.0]
    (line,) = text.lines
    assert (line.start_s, line.end_s, text.n_frames_read) == (0.0, 60.0, 1)


def test_changing_picture_without_text_is_seldom_read() -> None:
    text, _ = read_film(lambda time_s: (noisy(time_s), {}), 60)
    assert text.n_frames_read <= 10 + 60 / 6


@pytest.mark.deep
def test_moving_picture_without_text_is_seldom_read() -> None:
    still = noisy(0)
    text, _ = read_film(lambda time_s: (np.roll(still, round(8 * time_s), axis=1), {}), 60)
    assert text.n_frames_read <= 10 + 60 / 6


def test_black_film_has_no_text() -> None:
    text, times = read_film(lambda _: (blank(0), {}), 5)
    assert (text.lines, text.screens(), times) == ((), [], [0.0])


def test_large_picture_is_read_smaller_and_twice_a_second() -> None:
    sampling = sampling_for(video_info(width=3840, height=2160))
    assert (sampling.fps, sampling.size) == (2.0, LongSide(1280))


def test_film_of_few_frames_is_read_at_its_rate() -> None:
    assert sampling_for(video_info(fps=0.5)).fps == 0.5


def test_text_that_appears_is_read_and_timed() -> None:
    text, times = read_film(timed_text("Good morning", 3, lambda time_s: 10 <= time_s < 14), 30)
    assert len(times) == 2
    assert [(line.text, line.start_s, line.end_s) for line in text.lines] == [("Good morning", 10.0, 14.0)]


def test_lines_that_are_added_leave_the_others() -> None:
    rows = ["First point here", "Second point here", "Third point here"]

    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        picture, texts = blank(), rows[: 1 + int(time_s // 10)]
        for row, text in enumerate(texts):
            write(picture, text, row)
        return picture, dict(enumerate(texts))

    text, times = read_film(paint, 30)
    assert len(times) == 3
    assert [(line.text, line.start_s, line.end_s) for line in text.lines] == [
        (row, 10.0 * number, 30.0) for number, row in enumerate(rows)
    ]
    assert [screen.text.count("\n") for screen in text.screens()] == [0, 1, 2]


def test_changed_digit_is_another_line() -> None:
    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        text = f"Page {1 + int(time_s // 10)} of the annual report"
        return write(blank(), text, 2), {2: text}

    text, _ = read_film(paint, 20)
    assert [line.text[:6] for line in text.lines] == ["Page 1", "Page 2"]


def test_page_number_changes_with_its_slide() -> None:
    titles = ["Keeping bees in the city", "What a swarm is", "How glaciers move"]

    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        number = int(time_s // 10)
        lines = {0: titles[number], 5: f"{1 + number}/6"}
        picture = write(blank(), lines[0], 0)
        return write(picture, lines[5], 5, left=540), lines

    text, _ = read_film(paint, 30)
    spans = [(0.0, 10.0), (10.0, 20.0), (20.0, 30.0)]
    for lines in (titles, ["1/6", "2/6", "3/6"]):
        assert [(line.start_s, line.end_s) for line in text.lines if line.text in lines] == spans


def test_same_text_later_is_another_line() -> None:
    text, _ = read_film(timed_text("Yes.", 3, lambda time_s: time_s % 20 < 3), 60)
    assert [(line.start_s, line.end_s) for line in text.lines] == [(0.0, 3.0), (20.0, 23.0), (40.0, 43.0)]


def test_subtitles_on_moving_pictures_are_read() -> None:
    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        picture = blank() + (noisy(time_s) // 4)
        return (
            (write(picture, "Where are you going", 5), {5: "Where are you going"})
            if 10 <= time_s < 15
            else (picture, {})
        )

    text, _ = read_film(paint, 40)
    (line,) = text.lines
    assert line.start_s == pytest.approx(10, abs=1)
    assert line.end_s == pytest.approx(15, abs=1.5)


def test_line_that_moves_stays_one_line() -> None:
    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        return write(blank(), "Breaking news from the coast", 4, round(300 - 20 * time_s)), {
            4: "Breaking news"
        }

    text, times = read_film(paint, 15)
    assert len(times) > 1
    assert len(text.lines) == 1
    assert text.lines[0].end_s >= 13


CREDITS = [
    f"{name} {number}"
    for number, name in enumerate(
        (
            "Directed",
            "Maria",
            "Produced",
            "Kowalski",
            "Camera",
            "Hansen",
            "Sound",
            "Novak",
            "Editing",
            "Brown",
        )
    )
]


def scrolling(pixels_s: float, *, upwards: bool = True) -> Paint:
    """Return a painter of ten lines that move up or down through the picture, whole ones only to be read."""

    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        picture, texts = blank(), dict[int, str]()
        for number, text in enumerate(CREDITS):
            way = pixels_s * time_s - 60 * number
            y = round(HEIGHT - way if upwards else way)
            cv2.putText(picture, text, (200, y), cv2.FONT_HERSHEY_SIMPLEX, 1, (230, 230, 230), 2)
            if 50 <= y < HEIGHT - 30:
                texts[y // 50] = text
        return picture, texts

    return paint


@pytest.mark.parametrize("upwards", [True, False])
@pytest.mark.parametrize("pixels_s", [deep(40), 70, deep(110), 160])
def test_each_line_of_scrolling_credits_is_read(pixels_s: float, upwards: bool) -> None:
    paint = scrolling(pixels_s, upwards=upwards)
    text, _ = read_film(paint, (HEIGHT + 60 * len(CREDITS)) / pixels_s)
    assert sorted({line.text for line in text.lines}) == sorted(CREDITS)


@pytest.mark.deep
def test_readings_take_a_share_of_the_film() -> None:
    """A screen that is new each second has twelve lines; each reading takes about a second."""
    rows = 6

    def paint(time_s: float) -> tuple[Picture, dict[int, str]]:
        picture, texts = blank(), dict[int, str]()
        for row in range(rows):
            texts[row] = f"Number {int(time_s) * 7919 % 1000 + row} of many"
            write(picture, texts[row], row)
        return picture, texts

    text, _ = read_film(paint, 60)
    assert (
        text.n_frames_read * (RULES.reading_s + rows * RULES.line_s) <= RULES.saved_s + RULES.share * 60 + 1
    )
    assert text.n_frames_read > 15


def read_unread(paint: Paint, duration_s: float, is_unread: Callable[[float], bool]) -> ScreenText:
    """The text of a film whose lines are seen but not read at some times."""
    now = [0.0]

    def frames() -> Iterator[Frame]:
        for number in range(round(duration_s * RATE)):
            now[0] = number / RATE
            yield Frame(number, now[0], now[0], paint(now[0])[0])

    def read(picture: Picture) -> list[ScreenLine]:
        return [
            ScreenLine(0, 0, "" if is_unread(now[0]) else text, 0.9, (0.05, 0.4, 0.95, 0.6))
            for text in paint(now[0])[1].values()
        ]

    return read_screen_text(frames(), read, video_info(duration_s=duration_s, width=WIDTH, height=HEIGHT))


GREETING = timed_text("Good morning", 3, lambda time_s: 10 <= time_s < 14)


def test_line_that_is_not_read_has_a_place_and_times() -> None:
    text = read_unread(GREETING, 30, lambda _: True)
    (place,) = text.unread
    assert (text.lines, place.start_s, place.end_s, place.box) == ((), 10.0, 14.0, (0.05, 0.4, 0.95, 0.6))


def test_line_that_is_not_read_is_a_warning_with_its_time() -> None:
    (sentence,) = describe_unread(read_unread(GREETING, 30, lambda _: True))
    assert sentence.startswith("text in 1 place was seen but not read (0:10)")


def test_line_that_flashes_is_no_warning() -> None:
    paint = timed_text("Good morning", 3, lambda time_s: time_s == 10)
    text = read_unread(paint, 30, lambda _: True)
    assert text.unread == ()
    assert describe_unread(text) == ()


def test_best_reading_of_flickering_letters_is_one_line() -> None:
    box = (0.3, 0.8, 0.5, 0.9)
    readings = [("EXAN", 0.8), ("EXAM", 0.97), ("EXAW", 0.75), ("EXAM", 0.96)]
    lines = LineTracker()
    for number, (text, confidence) in enumerate(readings):
        for step in range(6):
            sample = StrokePicture.of(Frame(0, 3 * number + step / RATE, 0, noisy(3 * number + step / RATE)))
            lines.follow(sample)
            if step == 5:
                lines.add(sample, [ScreenLine(0, 0, text, confidence, box)])
    lines.add(sample, [ScreenLine(0, 0, "EXIT", 0.95, box)])
    assert [(line.text, line.confidence) for line in lines.finish(13)] == [("EXAM", 0.97), ("EXIT", 0.95)]
