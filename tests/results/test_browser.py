"""The report page in Chromium: skipped without Playwright or the browser."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import (
    TIME,
    faults_of_looks,
    needs_chromium,
    open_window,
    until,
    wait_played,
    wait_stopped,
)
from tests.media import make_video
from tests.results.made import EVIL, results, texts
from vidsum.outputs.bundle import write_report
from vidsum.outputs.pages import report_text

pytestmark = [pytest.mark.deep, needs_chromium]


@pytest.fixture(scope="module")
def full(film: Path, page: Path) -> Path:
    """The page of all that a page can show."""
    target = page.with_name("full.html")
    named = [*results(film, with_saliency=True), *((f"out/{text.kind}.json", text) for text in texts(film))]
    target.write_text(report_text(named, target)[0], encoding="utf-8")
    return target


def open_page(browser: Any, page: Path, width: int = 1400, **options: Any) -> Any:
    """The page in a window."""
    tab = open_window(browser, width, ("file:", "data:"), **options)
    tab.goto(page.as_uri())
    if options.get("java_script_enabled", True):
        until(tab, "document.querySelector('video').readyState > 0")
    return tab


def test_click_plays_a_segment_and_stops_at_its_end(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    tab.locator(".cut").nth(1).click()
    assert wait_played(tab, 8) == "Playing 0:08.00 – 0:09.00"
    assert tab.locator(".cut[aria-current]").get_attribute("data-start") == "8.0"
    wait_stopped(tab, 9)


def test_keys_play_the_next_and_the_previous_segment(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    for key, start in (("n", 4), ("n", 8), ("n", 6), ("p", 8)):
        tab.keyboard.press(key)
        wait_played(tab, start)


def test_enter_plays_the_segment_in_focus(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    tab.locator(".cut").first.focus()
    tab.keyboard.press("Enter")
    wait_played(tab, 4)


def test_click_on_a_curve_plays_from_its_time(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    curve = tab.locator(".chart svg").first
    curve.click(position={"x": 0.25 * curve.bounding_box()["width"], "y": 20})
    wait_played(tab, 2.5)


def visible_queries(tab: Any) -> list[str]:
    return [str(query.get_attribute("data-query")) for query in tab.locator(".query:visible").all()]


def test_filter_leaves_the_queries_with_its_words(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    assert len(visible_queries(tab)) == 3
    tab.get_by_label("Filter queries").fill("SNOW script")
    assert visible_queries(tab) == [EVIL]
    assert tab.locator("output").inner_text() == "1 of 3 queries"


def test_keys_are_letters_in_the_filter(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    tab.get_by_label("Filter queries").press_sequentially("np")
    assert (visible_queries(tab), tab.evaluate(TIME)) == ([], 0)


def test_emptied_filter_has_all_queries_again(browser: Any, page: Path) -> None:
    tab = open_page(browser, page)
    everything = visible_queries(tab)
    tab.get_by_label("Filter queries").fill("np")
    tab.get_by_label("Filter queries").fill("")
    assert visible_queries(tab) == everything


def test_texts_are_no_scripts(browser: Any, page: Path, film: Path) -> None:
    tab = open_page(browser, page)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("h1").inner_text() == film.name
    assert tab.title() == film.name
    assert tab.faults == []


def test_all_segments_are_played_in_turn(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.get_by_role("button", name="Play all 2 segments").click()
    for start, said in [(4, "1 of 2: 0:04.00 – 0:06.00"), (8, "2 of 2: 0:08.00 – 0:09.00")]:
        assert wait_played(tab, start) == f"Playing {said}"
    wait_stopped(tab, 9)
    assert tab.locator(".now").inner_text() == "Over."


def test_seeking_ends_the_turn_of_segments(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.get_by_role("button", name="Play all 2 segments").click()
    wait_played(tab, 4)
    tab.evaluate("document.querySelector('video').currentTime = 1")  # as by the player's own bar
    until(tab, "watched.last.from === 1 && watched.last.to > 2")


def test_pointer_over_a_curve_has_a_tip_of_time_and_picture(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    box = tab.get_by_role("slider").first.bounding_box()
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20)
    tip = tab.locator(".tip:visible")
    views = [image.get_attribute("src") for image in tab.locator(".strip img").all()]
    assert (tip.inner_text(), tip.locator("img").get_attribute("src")) == ("0:05", views[2])
    tab.mouse.move(0, 0)
    assert tip.count() == 0


def test_keys_move_along_a_curve_and_play(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    curve = tab.get_by_role("slider").first
    curve.focus()
    keys = {"Home": "0:00", "PageUp": "0:05", "ArrowRight": "0:05", "End": "0:10", "PageDown": "0:05"}
    for key, place in keys.items():
        curve.press(key)
        assert curve.get_attribute("aria-valuetext") == place, key
    assert tab.locator(".tip:visible").inner_text() == "0:05"
    curve.press("Enter")
    wait_played(tab, 5)


def test_axis_names_even_seconds(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    assert tab.locator(".axis").first.inner_text().split() == [f"0:{second:02}" for second in range(0, 11, 2)]


def test_line_of_the_transcript_plays_and_is_marked(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    lines = tab.get_by_role("list", name="Transcript").get_by_role("link")
    lines.nth(1).click()
    wait_played(tab, 6)
    until(tab, "document.querySelectorAll('.words [aria-current]').length === 2")  # of the descriptions too
    assert lines.nth(1).get_attribute("aria-current") == "true"


def test_picture_of_the_strip_plays_and_its_text_is_marked(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.locator(".strip a").nth(0).click()
    wait_played(tab, 0)
    until(tab, "document.querySelector('.words a').hasAttribute('aria-current')")


def test_captions_are_loaded(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.evaluate("document.querySelector('video').textTracks[0].mode = 'showing'")
    until(tab, "document.querySelector('video').textTracks[0].cues?.length === 2")
    assert tab.faults == []


@pytest.mark.parametrize(
    ("words", "n_passages", "n_marks"), [("hélLo", 1, 1), ("SNOW script", 1, 3), ("0:06", 0, 0), ("", 2, 0)]
)
def test_search_leaves_passages_with_its_words_and_marks_these(
    browser: Any, full: Path, words: str, n_passages: int, n_marks: int
) -> None:
    tab = open_page(browser, full)
    search = tab.get_by_label("Search the text")
    search.fill("another")
    search.fill(words)
    assert tab.locator(".passage").locator("visible=true").count() == n_passages
    assert tab.evaluate("CSS.highlights.get('match').size") == n_marks


def test_emptied_search_counts_nothing(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.get_by_label("Search the text").fill("hello")
    tab.get_by_label("Search the text").fill("")
    assert tab.locator("article output").inner_text() == ""


def test_passages_play_from_their_texts_and_pictures(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    passages = tab.locator(".passage")
    passages.nth(1).get_by_text("snow").click()
    wait_played(tab, 6)
    until(tab, "document.querySelector('.texts [aria-current]')?.dataset.start === '6.0'")
    passages.nth(0).locator("a").click()
    wait_played(tab, 0)
    assert tab.evaluate("window.hacked") is None
    assert tab.faults == []


def test_only_the_document_is_printed(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.emulate_media(media="print")
    assert tab.locator(".passage:visible").count() == 2
    assert tab.locator("video:visible, input:visible, button:visible, summary:visible").count() == 0


def test_document_is_printed_in_dark_on_white(browser: Any, full: Path) -> None:
    tab = open_page(browser, full, color_scheme="dark")
    tab.emulate_media(media="print")
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    assert tab.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(27, 30, 35)"]


def test_no_passage_is_printed_on_two_sheets(browser: Any, full: Path) -> None:
    tab = open_page(browser, full)
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.querySelector('.passage')).breakInside") == "avoid"


def test_page_in_an_archive_plays_elsewhere(browser: Any, tmp_path: Path) -> None:
    film = tmp_path / "odd.avi"
    make_video(film, codec="mpeg4", n_frames=250, sound=True)
    write_report([*(result for _, result in results(film)), texts(film)[0]], tmp_path / "out.zip")
    film.unlink()
    shutil.unpack_archive(tmp_path / "out.zip", tmp_path / "moved")
    tab = open_page(browser, tmp_path / "moved/index.html")
    tab.get_by_role("button", name="Play all 2 segments").click()
    until(tab, f"{TIME} > 8 && document.querySelector('video').paused")
    tab.evaluate("document.querySelector('video').textTracks[0].mode = 'showing'")
    until(tab, "document.querySelector('video').textTracks[0].cues?.length === 2")
    assert tab.faults == []


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_has_no_faults_of_layout_and_accessibility(
    browser: Any, full: Path, width: int, scheme: str
) -> None:
    tab = open_page(browser, full, width, color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.locator(".cut").first.click()
    tab.get_by_role("slider").first.press("End")
    assert faults_of_looks(tab, width) == []


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(247, 247, 245)"), ("dark", "rgb(20, 22, 26)")])
def test_page_follows_the_colours_of_the_system(browser: Any, full: Path, scheme: str, colour: str) -> None:
    tab = open_page(browser, full, color_scheme=scheme)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == colour


def test_page_can_be_used_without_scripts(browser: Any, page: Path) -> None:
    tab = open_page(browser, page, java_script_enabled=False)
    assert tab.locator(".cut:visible").count() == 8
    assert tab.locator("input:visible, .scripted:visible").count() == 0
    tab.get_by_text("Settings and provenance").first.click()
    assert tab.get_by_text("summary › model").first.is_visible()
    assert tab.locator(".cut").first.get_attribute("href").endswith("#t=4.0,6.0")
