"""Passages of a text by shots, and the document that a page makes of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.results.made import EVIL, results, texts
from tests.results.test_page import parse
from vidsum.outputs.pages import report_text
from vidsum.results.moments import Grounding, Moment
from vidsum.results.reading import ShotTexts, TimedText, find_screens, make_passages
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.results.transcript import Segment, Transcript
from vidsum.video.probe import probe

TIMES = st.floats(0, 400, width=16)
TEXTS = st.lists(st.tuples(TIMES, TIMES, st.sampled_from("abc")).map(lambda text: (min(text[:2]), *text[1:])))


def test_passages_of_shots() -> None:
    said = [(0.5, 3.0, "one"), (3.0, 4.5, "two"), (9.5, 12.5, "four"), (3.9, 9.0, "three")]
    written = [(3.9, 8.0, "Slide"), (4.0, 8.0, "Slide"), (9.9, 9.91, "END")]
    first, silent, last = make_passages([0, 4, 5, 5.5, 9], 12, [said[0], said[2]])
    assert first == ShotTexts(((0, 4),), (said[0],))
    assert silent == ShotTexts(((4, 5), (5, 5.5), (5.5, 9)))
    assert last == ShotTexts(((9, 12),), (said[2],))
    several = make_passages([0, 4, 9], 12, said, written)
    assert [passage.written for passage in several] == [(), ("Slide",), ("END",)]
    texts_said = [[text for *_, text in passage.said] for passage in several]
    assert texts_said == [["one", "two"], ["three"], ["four"]]
    assert make_passages([0, 4], 9, []) == []


def test_passages_of_a_long_shot() -> None:
    said = [(10.0 * number, 10.0 * number + 9, str(number)) for number in range(10)]
    passages = make_passages([0.0], 100, said)
    assert [passage.shots for passage in passages] == [((0, 30),), ((30, 60),), ((60, 100),)]
    assert [len(passage.said) for passage in passages] == [3, 3, 4]


def test_screens_where_no_shots_are_known() -> None:
    slides = [(0.5, 9, "Title"), (0.5, 9, "a"), (6, 9, "b"), (9.2, 30, "New"), (9.2, 30, "An older word")]
    subtitles = [(30 + 2.0 * number, 31.5 + 2.0 * number, str(number)) for number in range(5)]
    assert find_screens([*slides, *subtitles]) == [0.5, 9.2, 30, 36]
    assert find_screens([]) == []
    first, second = make_passages([0.0, 9.2], 30, [], slides)
    assert first.written == ("Title", "a", "b")
    assert second.written == ("New", "An older word")  # as they are read


@given(starts=st.lists(TIMES, unique=True), end=TIMES, said=TEXTS, written=TEXTS)
def test_passages_keep_all(
    starts: list[float], end: float, said: list[TimedText], written: list[TimedText]
) -> None:
    starts = sorted({0.0, *starts})
    passages = make_passages(starts, max(end, *starts), said, written)
    shots = [shot for passage in passages for shot in passage.shots]
    assert sorted(text for passage in passages for text in passage.said) == sorted(said)
    assert {line for passage in passages for line in passage.written} == {text for *_, text in written}
    if passages:
        assert {*starts} <= {start for start, _ in shots}
        assert [end for _, end in shots[:-1]] == [start for start, _ in shots[1:]]


def test_page_has_a_document(film: Path, tmp_path: Path) -> None:
    shots = results(film)[3]
    content = parse(report_text([shots, ("said.json", texts(film)[0])], tmp_path / "page.html")[0])
    assert content.all("a", "cut") == []  # the document shows the shots
    assert len(content.all("li", "passage")) == 2
    assert len([image for image in content.all("img") if image.get("loading") == "lazy"]) == 2
    assert content.texts.count("<b> hello") == content.texts.count(EVIL) - 1 == 2
    assert {"What is said, shot by shot", "The text, shot by shot"} <= set(content.texts)


def screen_text(film: Path, *lines: TimedText) -> ScreenText:
    lines_at = tuple(ScreenLine(*line, 0.9, (0, 0.1 * n, 1, 0.1 * n + 0.1)) for n, line in enumerate(lines))
    return ScreenText(lines_at, 10.0, 4, video=probe(film), provenance={"vidsum": "0"})


def test_document_of_slides(film: Path, tmp_path: Path) -> None:
    written = screen_text(film, (3.1, 9.0, EVIL), (3.1, 9.0, "Two"))
    content = parse(report_text([results(film)[3], ("text.json", written)], tmp_path / "page.html")[0])
    assert f"{EVIL} · Two" in content.texts
    assert {"What is written, shot by shot", "5 words beside 2 pictures."} <= set(content.texts)
    assert (len(content.all("p", "written")), len(content.all("li", "silent"))) == (1, 1)


def test_moments_without_shots(film: Path, tmp_path: Path) -> None:
    """A passage follows each slide, and the card of a moment has the words that match."""
    written = screen_text(film, (0.0, 6.0, "One"), (6.0, 9.5, "Two"))
    (name, found) = results(film)[1]
    assert isinstance(found, Grounding)
    moments = tuple(Moment(*span, 2.0, "text") for span in ((6.0, 9.5), (1.0, 2.0)))
    found = replace(found, queries=(replace(found.queries[0], moments=moments),))
    content = parse(report_text([(name, found), ("text.json", written)], tmp_path / "page.html")[0])
    assert [passage["class"] for passage in content.all("li", "passage")] == ["passage"] * 2
    assert [content.texts.count(text) for text in ("One", "Two")] == [2, 2]


def test_document_without_pictures(film: Path, tmp_path: Path) -> None:
    said = replace(texts(film)[0], video=None)
    content = parse(report_text([("said.json", said)], tmp_path / "page.html")[0])
    assert (content.all("img"), len(content.all("li", "passage"))) == ([], 1)
    assert "<b> hello" in content.texts


@pytest.mark.parametrize("count", [0, 2000])
def test_documents_of_odd_lengths(film: Path, tmp_path: Path, count: int) -> None:
    said = texts(film)[0]
    parts = tuple(Segment(9 * n / count, 9 * n / count + 0.01, f"w{n}", 0.9, 0.1) for n in range(count))
    made: Transcript = replace(said, segments=parts)
    content = parse(report_text([("said.json", made), results(film)[3]], tmp_path / "page.html")[0])
    assert len(content.all("li", "passage")) == (2 if count else 0)
    assert len(content.all("a", "cut")) == (0 if count else 2)
