"""Passages of a text by shots, and the document that a page makes of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.made import EVIL, results, texts
from tests.results.test_page import Parsed, parse
from vidsum.outputs.pages import report_text
from vidsum.results.moments import Grounding, Moment
from vidsum.results.reading import ShotTexts, TimedText, find_screens, make_passages
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.results.transcript import Segment, Transcript
from vidsum.video.probe import probe

TIMES = st.floats(0, 400, width=16)
TEXTS = st.lists(st.tuples(TIMES, TIMES, st.sampled_from("abc")).map(lambda text: (min(text[:2]), *text[1:])))


SAID = [(0.5, 3.0, "one"), (3.0, 4.5, "two"), (9.5, 12.5, "four"), (3.9, 9.0, "three")]


def test_shots_in_which_nothing_is_said_are_one_passage() -> None:
    first, silent, last = make_passages([0, 4, 5, 5.5, 9], 12, [SAID[0], SAID[2]])
    assert first == ShotTexts(((0, 4),), (SAID[0],))
    assert silent == ShotTexts(((4, 5), (5, 5.5), (5.5, 9)))
    assert last == ShotTexts(((9, 12),), (SAID[2],))


def test_what_is_said_is_in_the_passage_that_has_most_of_it() -> None:
    passages = make_passages([0, 4, 9], 12, SAID)
    assert [[text for *_, text in passage.said] for passage in passages] == [
        ["one", "two"],
        ["three"],
        ["four"],
    ]


def test_what_is_written_is_once_in_the_passage_that_has_most_of_it() -> None:
    written = [(3.9, 8.0, "Slide"), (4.0, 8.0, "Slide"), (9.9, 9.91, "END")]
    passages = make_passages([0, 4, 9], 12, SAID, written)
    assert [passage.written for passage in passages] == [(), ("Slide",), ("END",)]


def test_shot_with_text_on_screen_but_no_speech_is_a_passage_with_that_text() -> None:
    silent, titled = make_passages([0, 4], 8, [], [(5, 7, "Title")])
    assert (silent.written, titled.written) == ((), ("Title",))


def test_shots_without_any_text_make_no_passages() -> None:
    assert make_passages([0, 4], 9, []) == []


def test_long_shot_is_passages_of_half_a_minute() -> None:
    said = [(10.0 * number, 10.0 * number + 9, str(number)) for number in range(10)]
    passages = make_passages([0.0], 100, said)
    assert [passage.shots for passage in passages] == [((0, 30),), ((30, 60),), ((60, 100),)]
    assert [len(passage.said) for passage in passages] == [3, 3, 4]


SLIDES = [(0.5, 9, "Title"), (0.5, 9, "a"), (6, 9, "b"), (9.2, 30, "New"), (9.2, 30, "An older word")]


def test_screens_begin_where_most_lines_change() -> None:
    subtitles = [(30 + 2.0 * number, 31.5 + 2.0 * number, str(number)) for number in range(5)]
    assert find_screens([*SLIDES, *subtitles]) == [0.5, 9.2, 30, 36]


def test_no_lines_are_no_screens() -> None:
    assert find_screens([]) == []


def test_lines_of_a_screen_are_as_they_are_read() -> None:
    first, second = make_passages([0.0, 9.2], 30, [], SLIDES)
    assert first.written == ("Title", "a", "b")
    assert second.written == ("New", "An older word")


ANY_TEXTS = given(starts=st.lists(TIMES, unique=True), end=TIMES, said=TEXTS, written=TEXTS)


@ANY_TEXTS
def test_passages_have_all_that_is_said_and_written(
    starts: list[float], end: float, said: list[TimedText], written: list[TimedText]
) -> None:
    starts = sorted({0.0, *starts})
    passages = make_passages(starts, max(end, *starts), said, written)
    assert sorted(text for passage in passages for text in passage.said) == sorted(said)
    assert {line for passage in passages for line in passage.written} == {text for *_, text in written}


@ANY_TEXTS
def test_passages_have_all_shots_without_gaps(
    starts: list[float], end: float, said: list[TimedText], written: list[TimedText]
) -> None:
    starts = sorted({0.0, *starts})
    passages = make_passages(starts, max(end, *starts), said, written)
    shots = [shot for passage in passages for shot in passage.shots]
    assert not passages or {*starts} <= {start for start, _ in shots}
    assert [end for _, end in shots[:-1]] == [start for start, _ in shots[1:]]


@pytest.fixture(scope="module")
def document(film: Path, tmp_path_factory: pytest.TempPathFactory) -> Parsed:
    """The page of shots and of what is said in them."""
    named = [results(film)[3], ("said.json", texts(film)[0])]
    return parse(report_text(named, tmp_path_factory.mktemp("pages") / "page.html")[0])


def test_document_has_the_shots_in_place_of_cards(document: Parsed) -> None:
    assert document.all("a", "cut") == []
    assert len(document.all("li", "passage")) == 2


def test_pictures_of_a_document_are_loaded_late(document: Parsed) -> None:
    assert len([image for image in document.all("img") if image.get("loading") == "lazy"]) == 2


def test_document_has_what_is_said_under_its_heading(document: Parsed) -> None:
    assert document.texts.count("<b> hello") == document.texts.count(EVIL) - 1 == 2
    assert {"What is said, shot by shot", "The text, shot by shot"} <= set(document.texts)


def screen_text(film: Path, *lines: TimedText) -> ScreenText:
    lines_at = tuple(ScreenLine(*line, 0.9, (0, 0.1 * n, 1, 0.1 * n + 0.1)) for n, line in enumerate(lines))
    return ScreenText(lines_at, 10.0, 4, video=probe(film), provenance={"vidsum": "0"})


def test_document_of_slides_has_their_lines_and_number_of_words(film: Path, tmp_path: Path) -> None:
    written = screen_text(film, (3.1, 9.0, EVIL), (3.1, 9.0, "Two"))
    content = parse(report_text([results(film)[3], ("text.json", written)], tmp_path / "page.html")[0])
    assert f"{EVIL} · Two" in content.texts
    assert {"What is written, shot by shot", "5 words beside 2 pictures."} <= set(content.texts)
    assert (len(content.all("p", "written")), len(content.all("li", "silent"))) == (1, 1)


def test_passages_follow_slides_and_cards_have_their_words(film: Path, tmp_path: Path) -> None:
    """A passage follows each slide, and the card of a moment has the words that match."""
    written = screen_text(film, (0.0, 6.0, "One"), (6.0, 9.5, "Two"))
    (name, found) = results(film)[1]
    assert isinstance(found, Grounding)
    moments = tuple(Moment(*span, 2.0, "text") for span in ((6.0, 9.5), (1.0, 2.0)))
    found = replace(found, queries=(replace(found.queries[0], moments=moments),))
    content = parse(report_text([(name, found), ("text.json", written)], tmp_path / "page.html")[0])
    assert [passage["class"] for passage in content.all("li", "passage")] == ["passage"] * 2
    assert [content.texts.count(text) for text in ("One", "Two")] == [2, 2]


def test_document_without_a_video_has_its_text(film: Path, tmp_path: Path) -> None:
    said = replace(texts(film)[0], video=None)
    content = parse(report_text([("said.json", said)], tmp_path / "page.html")[0])
    assert (content.all("img"), len(content.all("li", "passage"))) == ([], 1)
    assert "<b> hello" in content.texts


def document_of(film: Path, folder: Path, n_segments: int) -> Parsed:
    """The page of shots and of a transcript of so many segments."""
    parts = tuple(
        Segment(9 * n / n_segments, 9 * n / n_segments + 0.01, f"w{n}", 0.9, 0.1) for n in range(n_segments)
    )
    said: Transcript = replace(texts(film)[0], segments=parts)
    return parse(report_text([("said.json", said), results(film)[3]], folder / "page.html")[0])


def test_transcript_of_two_thousand_segments_is_a_document(film: Path, tmp_path: Path) -> None:
    content = document_of(film, tmp_path, 2000)
    assert (len(content.all("li", "passage")), len(content.all("a", "cut"))) == (2, 0)


def test_transcript_without_segments_is_no_document(film: Path, tmp_path: Path) -> None:
    content = document_of(film, tmp_path, 0)
    assert (len(content.all("li", "passage")), len(content.all("a", "cut"))) == (0, 2)
