"""Text on the screen: its screens, in order of reading, and places that were not read."""

from vidsum.results.screen_text import ScreenLine, ScreenText, describe_unread


def line(start_s: float, end_s: float, text: str, top: float = 0.0, left: float = 0.0) -> ScreenLine:
    return ScreenLine(start_s, end_s, text, 0.9, (left, top, left + 0.1, top + 0.1))


def screens_of(*lines: ScreenLine) -> list[tuple[float, float, list[str]]]:
    """Start, end and lines of each screen."""
    screens = ScreenText(lines, 20.0, 4).screens()
    return [(screen.start_s, screen.end_s, [line.text for line in screen.lines]) for screen in screens]


def test_screen_lasts_as_long_as_its_lines_stay() -> None:
    assert screens_of(line(0, 9, "title"), line(4, 9, "point", 0.2)) == [
        (0, 4, ["title"]),
        (4, 9, ["title", "point"]),
    ]


def test_times_without_lines_are_no_screens() -> None:
    assert screens_of(line(1, 2, "a"), line(5, 6, "b")) == [(1, 2, ["a"]), (5, 6, ["b"])]


def test_lines_of_a_screen_are_in_order_of_reading() -> None:
    lines = line(0, 5, "below", 0.5), line(0, 5, "right", 0.1, 0.5), line(0, 5, "left", 0.1, 0.0)
    assert screens_of(*lines) == [(0, 5, ["left", "right", "below"])]


def test_places_that_were_not_read_are_counted_with_their_first_times() -> None:
    unread = tuple(line(60.0 * minute, 60.0 * minute + 1, "") for minute in (1, 1, 2))
    (sentence,) = describe_unread(ScreenText((), 200.0, 4, unread=unread))
    assert sentence.startswith("text in 3 places was seen but not read (1:00, 2:00):")


def test_text_that_was_all_read_is_no_warning() -> None:
    assert describe_unread(ScreenText((line(0, 1, "a"),), 20.0, 4)) == ()
