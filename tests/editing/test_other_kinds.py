"""Trimmed films, moments and chapters: corrected on the page, by mouse and by keyboard, and saved."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import pytest

import vidsum
from tests.browsing import faults_of_looks, needs_chromium, until
from tests.editing.conftest import editing
from tests.editing.test_edit_page import ask_edit, cell, opened, said
from tests.results.test_edits import leave, move, take
from vidsum.editing.edit_server import EditServer
from vidsum.editing.session import EditSession
from vidsum.outputs.edited_files import save_edited
from vidsum.results.decisions import decisions_path, read_decisions

Record = Callable[[str], Path]


def parts(server: EditServer, group: int = 0) -> list[tuple[float, float]]:
    return [(part["start_s"], part["end_s"]) for part in ask_edit(server)["groups"][group]["parts"]]


def test_trimmed_film_is_saved(spoken_record: Record) -> None:
    record = spoken_record("trim")
    made = vidsum.load(record)
    assert isinstance(made, vidsum.Trim)
    save_edited(made, made, {"json": record, "video": record.with_suffix(".mp4")})
    session = EditSession(record)
    state = session.decide(take(19, 22))
    assert [part["start_s"] for part in state["removed"]] == [50]
    first = session.describe()["words"][2]
    session.decide({**leave(first[0], first[1]), "text": first[2]})
    session.save()
    result = vidsum.load(spoken_record("trim"))
    assert isinstance(result, vidsum.Trim)
    assert result.segments == ((0, first[0]), (first[1], 50))
    assert result.removed[0].text == "word2"
    with av.open(str(record.with_suffix(".mp4"))) as container:
        assert (container.duration or 0) / 1e6 == pytest.approx(result.duration_s, abs=0.3)


def test_moments_are_saved(spoken_record: Record) -> None:
    session = EditSession(spoken_record("moments"))
    session.decide(leave(12, 14))
    session.decide({**take(40, 42), "query": 1})
    session.save()
    result = vidsum.load(spoken_record("moments"))
    assert isinstance(result, vidsum.Grounding)
    assert [[moment.interval for moment in query.moments] for query in result.queries] == [
        *([(30, 32)], [(40, 42), (4, 6)])
    ]


def test_chapters_are_saved_with_the_copy_of_the_film(spoken_record: Record) -> None:
    record = spoken_record("chapters")
    made = vidsum.load(record)
    assert isinstance(made, vidsum.Chapters)
    save_edited(made, made, {"json": record, "copy": record.with_suffix(".mp4")})
    session = EditSession(record)
    session.decide({"action": "rename", "start_s": 20, "title": "The middle"})
    session.decide(move(30, 45, 32, 45))
    session.save()
    result = vidsum.load(record)
    assert isinstance(result, vidsum.Chapters)
    with av.open(str(record.with_suffix(".mp4"))) as container:
        titles = [chapter["metadata"]["title"] for chapter in container.chapters()]
    assert titles == ["Part 0", "The middle", "Part 2", "Part 3"]
    assert [(part.start_s, part.title) for part in result.chapters][1:3] == [
        (15, "The middle"),
        (32, "Part 2"),
    ]


def test_words_have_cuts_in_their_pauses(spoken_record: Record) -> None:
    words = EditSession(spoken_record("trim")).describe()["words"]
    assert tuple(words[1]) == (1.85, 3.15, "word1")


def cache(monkeypatch: pytest.MonkeyPatch, transcript: vidsum.Transcript) -> None:
    """Stand for a cache with a transcript."""
    monkeypatch.setattr("vidsum.editing.session.find_places", lambda *ignored: ([0.0, 60.0], transcript))


def test_a_transcript_without_words_has_those_of_the_cache_where_it_says_the_same(
    spoken_record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, path = spoken_record("trim"), spoken_record("transcript")
    cached = vidsum.load(path)
    assert isinstance(cached, vidsum.Transcript)
    cache(monkeypatch, cached)
    plain = replace(cached, segments=tuple(replace(part, words=()) for part in cached.segments))
    vidsum.write_json(plain, path)
    assert len(EditSession(record).describe()["words"]) == 30
    corrected = replace(plain.segments[0], text="something else.")
    vidsum.write_json(replace(plain, segments=(corrected, *plain.segments[1:])), path)
    assert len(EditSession(record).describe()["words"]) == 6


def test_words_of_a_saved_transcript_are_not_those_of_the_cache(
    spoken_record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, saved = spoken_record("trim"), vidsum.load(spoken_record("transcript"))
    assert isinstance(saved, vidsum.Transcript)
    cache(monkeypatch, replace(saved, segments=tuple(replace(part, words=()) for part in saved.segments)))
    assert len(EditSession(record).describe()["words"]) == 30


@pytest.mark.deep
@needs_chromium
def test_put_back_and_cut_words(browser: Any, spoken_record: Record) -> None:
    with editing(spoken_record("trim")) as server:
        tab = opened(browser, server)
        tab.get_by_role("button", name="Put back: 0:19.0").click()
        said(tab, "Put back")
        assert parts(server)[:2] == [(0, 19), (19, 22)]
        tab.locator("#word2").hover()
        tab.mouse.down()
        tab.locator("#word4").hover()
        tab.mouse.up()
        assert tab.locator("[role=option][aria-selected=true]").all_inner_texts() == [
            "word2",
            "word3",
            "word4.",
        ]
        tab.get_by_role("button", name="Cut the words").click()
        said(tab, "Cut: word2 word3 word4.")
        assert (0, 3.85) in parts(server)
        assert tab.locator("#word3.in").count() == 0
        tab.locator("#words").focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "Shift+ArrowLeft", "k"):
            tab.keyboard.press(key)
        said(tab, "Put back")
        assert tab.locator("#word3.in").count() == 1
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("x")
        said(tab, "Cut: word0")
        assert tab.locator("#parts li").first.inner_text().replace("\n", " ").startswith("0:00.0")
        assert faults_of_looks(tab, 1400) in ([], ["axe did not look for label"])
        assert tab.faults == []
    assert len(read_decisions(decisions_path(spoken_record("trim")))["decisions"]) == 4


@pytest.mark.deep
@needs_chromium
def test_rename_merge_and_move_a_chapter(browser: Any, spoken_record: Record) -> None:
    with editing(spoken_record("chapters")) as server:
        tab = opened(browser, server)
        title = tab.get_by_label("Title of chapter 2")
        title.fill("A new name")
        title.press("Enter")
        said(tab, "Renamed")
        assert tab.evaluate("document.activeElement.value") == "A new name"
        tab.get_by_role("button", name="Merge with the chapter before: Part 3").click()
        said(tab, "Merged")
        assert parts(server) == [(0, 15), (15, 30), (30, 60)]
        tab.get_by_role("button", name="Merge with the chapter before").last.focus()
        tab.keyboard.press("Enter")
        said(tab, "three chapters")
        tab.keyboard.press("Escape")
        tab.keyboard.press("Home")
        tab.keyboard.press("]")
        tab.keyboard.press("Shift+ArrowRight")
        said(tab, "Now")
        assert parts(server)[0] == (0, 15.1)
        titles = [part["title"] for part in ask_edit(server)["groups"][0]["parts"]]
        assert titles == ["Part 0", "A new name", "Part 2"]
        assert faults_of_looks(tab, 1400) == []
        assert tab.faults == []


@pytest.fixture
def long_chapters(spoken_record: Record) -> Path:
    """Three chapters, of which the last has place for another."""
    session = EditSession(spoken_record("chapters"))
    session.decide({"action": "merge", "start_s": 50})
    return session.record


@pytest.mark.deep
@needs_chromium
def test_split_a_chapter_by_mouse_and_by_keyboard(browser: Any, long_chapters: Path) -> None:
    with editing(long_chapters) as server:
        tab = opened(browser, server)
        tab.evaluate("document.querySelector('video').currentTime = 33")
        tab.get_by_role("button", name="Split here").click()
        said(tab, "10 s at least")
        assert len(parts(server)) == 3
        tab.evaluate("document.querySelector('video').currentTime = 45")
        tab.get_by_role("button", name="Split here").click()
        said(tab, "Split: a chapter begins at 0:45")
        assert parts(server)[2:] == [(30, 45), (45, 60)]
        assert tab.evaluate("document.activeElement.value") == "word20 word21 word22 word23 word24."
        tab.keyboard.type("A new one")
        tab.keyboard.press("Enter")
        said(tab, "Renamed")
        assert ask_edit(server)["groups"][0]["parts"][3]["title"] == "A new one"
        assert tab.get_by_label("Title of chapter 4, at 0:45").count() == 1
        for number in (4, 3):
            tab.get_by_role("button", name="Undo").click()
            until(tab, f"document.querySelectorAll('#parts li').length === {number}")
        tab.keyboard.press("Escape")
        tab.keyboard.press("n")
        said(tab, "Split: a chapter begins at 0:45")
        tab.get_by_role("button", name="Undo").click()
        said(tab, "Undone")
        tab.get_by_text("select a word to begin a chapter").click()
        tab.locator("#word22").click()
        tab.get_by_role("button", name="Split at this sentence").click()
        said(tab, "Split: a chapter begins at 0:40")
        assert parts(server)[2:] == [(30, 40), (40, 60)]
        tab.get_by_role("button", name="Undo").click()
        said(tab, "Undone")
        tab.locator("#words").focus()
        for key in ("ArrowLeft", *["ArrowRight"] * 22, "x", "k"):
            tab.keyboard.press(key)
        said(tab, "Split: a chapter begins at 0:40")
        assert faults_of_looks(tab, 1400) == []
        assert tab.faults == []


@pytest.mark.deep
@needs_chromium
def test_wrong_moments_and_new_ones(browser: Any, spoken_record: Record) -> None:
    with editing(spoken_record("moments")) as server:
        tab = opened(browser, server)
        tab.get_by_role("button", name="Wrong: 0:12.0").click()
        said(tab, "Marked wrong")
        assert parts(server) == [(30, 32)]
        tab.get_by_label("Query").select_option("snow")
        said(tab, "snow")
        cell(tab, 0).click()
        said(tab, "Added")
        assert len(parts(server, 1)) == 2
        tab.get_by_role("button", name="Undo").click()
        said(tab, "Undone")
        assert parts(server, 1) == [(4, 6)]
        assert faults_of_looks(tab, 1400) in ([], ["axe did not look for label"])
        assert tab.faults == []
