"""The page of an archive in Chromium, from a search to what plays and is saved."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.archive.made import use_archive
from tests.browsing import (
    TIME,
    faults_of_looks,
    launch,
    needs_chromium,
    open_window,
    until,
    wait_played,
    wait_stopped,
)
from tests.server.serving import ask
from vidsum.archive.answers import render_page
from vidsum.archive.archive import Archive
from vidsum.archive.serve import Server

pytestmark = [pytest.mark.deep, needs_chromium]
LOOKS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]
IN_ALL_LOOKS = pytest.mark.parametrize(("width", "scheme"), LOOKS)


def opened(browser: Any, server: Server, query: str = "", width: int = 1400, **options: Any) -> Any:
    """The page in a window; nothing is asked of anything but the server."""
    tab = open_window(browser, width, (server.url, "data:", "blob:"), **options)
    tab.goto(f"{server.url}#{query}")
    until(tab, "document.querySelectorAll('.cut').length > 0")
    return tab


def playing(tab: Any, name: str, start: float) -> str:
    """Wait until a moment of a video plays; return what the page says of it."""
    text = wait_played(tab, start)
    assert tab.locator("#name").inner_text() == name
    return text


def test_page_search_and_play(browser: Any, server: Server) -> None:
    tab = opened(browser, server)
    about = "2 videos, 0:16 in all, 1 with speech, 1 with text on screen"
    assert tab.locator("#about").inner_text() == about
    assert tab.locator(".latest .cut").all_inner_texts() == ["0:06\nthe sea.mp4", "0:10\nfilm.mp4"]
    tab.get_by_label("What to look for").fill("red")
    tab.keyboard.press("Enter")
    until(tab, "document.querySelectorAll('.moment').length > 0")
    first = tab.get_by_role("region", name="film.mp4").locator(".cut").first
    assert first.locator(".time").inner_text() == "0:00.0 – 0:02.0"
    first.click()
    assert playing(tab, "film.mp4", 0) == "Moment 0:00.0 – 0:02.0"
    assert tab.locator(".cut[aria-current]").count() == 1
    wait_stopped(tab, 2)
    tab.get_by_text("Play the moment").click()
    playing(tab, "film.mp4", 0)
    box = tab.locator(".chart svg").bounding_box()
    tab.locator(".chart svg").click(position={"x": 0.7 * box["width"], "y": 10})
    playing(tab, "film.mp4", 7)
    lane = tab.get_by_role("slider")
    lane.press("Home")
    lane.press("ArrowRight")
    assert (lane.get_attribute("aria-valuetext"), tab.locator(".tip img:visible").count()) == ("0:00", 1)
    lane.press("Enter")
    playing(tab, "film.mp4", 0.5)
    assert tab.locator(".axis").inner_text().split()[:2] == ["0:00", "0:02"]
    assert tab.locator("#shots li").count() == len(tab.evaluate("current.shots"))
    assert tab.faults == []


def test_page_document(browser: Any, server: Server) -> None:
    tab = opened(browser, server, "q=blue&in=speech")
    assert not tab.locator("#read").is_visible()
    tab.locator(".cut.said").first.click()
    playing(tab, "the sea.mp4", 0)
    tab.get_by_role("button", name="Read the text").click()
    document = tab.get_by_role("region", name="the sea.mp4")
    assert document.locator(".texts p").all_inner_texts() == [
        *("Blue <b>blue</b>.", "On screen:\nEXIT 7", "Green yellow.", "On screen:\nLost <i>property")
    ]
    assert not tab.locator("#results").is_visible()
    document.get_by_text("Green").click()
    playing(tab, "the sea.mp4", 5)
    until(tab, "document.querySelector('.texts [aria-current]')?.textContent === 'Green yellow.'")
    document.get_by_label("Search the text").fill("yellow")
    assert document.locator(".texts:visible").count() == 1
    assert tab.evaluate("CSS.highlights.get('match').size") == 1
    document.get_by_label("Search the text").fill("")
    document.locator(".frames a").first.click()
    playing(tab, "the sea.mp4", 0)
    tab.emulate_media(media="print")
    assert tab.locator("video:visible, input:visible, button:visible, h1:visible").count() == 0
    tab.emulate_media(media="screen")
    tab.get_by_role("button", name="Read the text").click()
    assert tab.locator("#results").is_visible()
    assert tab.faults == []


def test_kinds_of_evidence(browser: Any, server: Server) -> None:
    """The filters are what the archive has; what it lacks is named with the command that adds it."""
    tab = opened(browser, server, "q=exit+7")
    tab.get_by_role("button", name="Filters").click()
    kinds = tab.get_by_role("group", name="Search in")
    assert kinds.get_by_label("all").is_checked()
    kinds.get_by_label("text on screen").check()
    until(tab, "location.hash === '#q=exit+7&in=text' && document.querySelector('.cut.said') !== null")
    assert tab.locator(".cut.said .text").first.inner_text().endswith("text on screen\nEXIT 7")
    tab.locator(".cut.said").first.click()
    playing(tab, "the sea.mp4", 0)
    tab.locator("#written summary").click()
    assert tab.locator("#written li").all_inner_texts() == ["0:00\nEXIT 7", "0:05\nLost <i>property"]
    tab.go_back()
    until(tab, "document.querySelector('#player').hidden")
    tab.go_back()
    until(tab, "document.querySelector('[name=in][value=\"\"]').checked")
    assert tab.faults == []


def test_kinds_without_evidence(browser: Any, server: Server) -> None:
    flags = {"picture": "", "speech": "--transcribe", "text": "--on-screen-text", "sound": "--sounds"}
    counts = {"picture": 2, "speech": 0, "text": 1, "sound": 0}
    rows = [{"kind": kind, "videos": counts[kind], "flag": flag} for kind, flag in flags.items()]
    facts = ask(server, "/api/archive").json | {"evidence": rows}
    tab = open_window(browser, 400, (server.url, "data:"))
    tab.route("**/api/archive", lambda route: route.fulfill(json=facts))
    tab.goto(server.url)
    until(tab, "document.querySelectorAll('.cut').length > 0")
    tab.get_by_role("button", name="Filters").click()
    kinds = tab.get_by_role("group", name="Search in")
    assert kinds.locator("label").all_inner_texts() == ["all", "picture", "speech", "text on screen", "sound"]
    disabled = kinds.locator(":disabled").evaluate_all("all => all.map(each => each.value)")
    assert disabled == ["speech", "sound"]
    lacking = f"Not in this archive: speech, sound. To add: {facts['index']} --transcribe --sounds"
    assert tab.locator("#absent").inner_text() == lacking
    assert faults_of_looks(tab, 400) == []
    assert tab.faults == []


def test_page_links(browser: Any, server: Server) -> None:
    tab = opened(browser, server, "q=green&path=*film*&v=1&t=4-6")
    playing(tab, "film.mp4", 4)
    assert tab.get_by_label("What to look for").input_value() == "green"
    assert tab.get_by_label("Path matches").input_value() == "*film*"
    assert tab.title() == "green – vidsum"
    tab.get_by_label("Close the player").click()
    until(tab, "document.querySelector('#player').hidden")
    assert "v=" not in tab.url
    tab.go_back()
    playing(tab, "film.mp4", 4)
    tab.locator("h1 a").click()
    until(tab, "document.querySelectorAll('.latest .cut').length === 2")


def test_link_without_autoplay(browser: Any, server: Server) -> None:
    strict = launch(browser.browser_type, "document-user-activation-required")
    tab = open_window(strict, 1400, (server.url, "data:"))
    tab.add_init_script("addEventListener('seeked', () => console.log('seeked'), true)")
    with tab.expect_console_message(lambda message: message.text == "seeked", timeout=60_000):
        tab.goto(f"{server.url}#q=green&path=*film*&v=1&t=4-6")
    until(tab, "document.querySelector('#now').textContent.includes('Press Space')")
    tab.keyboard.press(" ")
    assert playing(tab, "film.mp4", 4) == "Moment 0:04.0 – 0:06.0"
    wait_stopped(tab, 6)
    strict.close()


def test_typed_address_and_doubtful_answers(browser: Any, server: Server) -> None:
    tab = open_window(browser, 1400, (server.url, "data:", "blob:"))
    tab.goto(f"{server.url}?q=green&path=*film*")
    until(tab, "document.querySelectorAll('.moment').length > 0")
    assert tab.url == f"{server.url}#q=green&path=*film*"
    assert tab.get_by_label("What to look for").input_value() == "green"
    notices = {0.1: "Probably not in these videos. Nearest: 1 ", 0.5: "No sure match. ", 0.9: "1 moment"}
    for present, notice in notices.items():
        moment = f"{{...hits[0], present: {present}}}"
        tab.evaluate(f"tell([{moment}], [])")
        assert tab.locator("#status").inner_text().startswith(notice)
    assert tab.faults == []


def test_the_keyboard_does_it_all(browser: Any, server: Server) -> None:
    tab = opened(browser, server)
    tab.keyboard.press("/")
    tab.keyboard.type("blue / green")
    assert tab.get_by_label("What to look for").input_value() == "blue / green"
    tab.keyboard.press("Enter")
    until(tab, "document.querySelectorAll('.moment').length > 2")
    tab.keyboard.press("Escape")
    tab.keyboard.press("ArrowRight")
    focused = "document.querySelectorAll('.cut')[{}] === document.activeElement"
    assert tab.evaluate(focused.format(0))
    tab.evaluate("document.querySelector('video').defaultPlaybackRate = .1")  # not over before the keys
    for key, place in (("ArrowRight", 1), ("ArrowLeft", 0)):
        tab.keyboard.press(key)
        assert tab.evaluate(focused.format(place))
    tab.keyboard.press("Enter")
    until(tab, "!document.querySelector('video').paused")
    tab.keyboard.press(" ")
    until(tab, "document.querySelector('video').paused")
    tab.keyboard.press(" ")
    until(tab, "!document.querySelector('video').paused")
    tab.keyboard.press("Escape")
    until(tab, "document.querySelector('#player').hidden")
    assert tab.evaluate(focused.format(0))


def test_page_pointer_scrubs(browser: Any, server: Server) -> None:
    tab = opened(browser, server, "q=red&path=*film*")
    card = tab.locator(".moment .cut").first
    image, box = card.locator("img"), card.locator(".frame").bounding_box()
    rest = image.get_attribute("src")
    seen = set()
    for share in (0.05, 0.3, 0.5, 0.9):
        tab.mouse.move(box["x"] + share * box["width"], box["y"] + 20)
        until(tab, f"document.querySelector('.moment .time').textContent === '0:0{int(10 * share)}'")
        seen.add(image.get_attribute("src"))
    assert len(seen) == len(tab.evaluate("fetch('/api/video/1').then(each => each.json())")["shots"])
    tab.mouse.move(0, 0)
    until(tab, "document.querySelector('.moment .time').textContent === '0:00.0 – 0:02.0'")
    assert image.get_attribute("src") == rest


def test_filters_and_more_like_this(browser: Any, server: Server) -> None:
    tab = opened(browser, server, "q=green")
    tab.get_by_role("button", name="Filters").click()
    tab.get_by_label("Path matches").fill("*sea*; *lake*")
    tab.get_by_label("Path matches").blur()
    until(tab, "document.querySelectorAll('.group').length === 1")
    assert tab.url.endswith("path=*sea*&path=*lake*")
    tab.get_by_role("button", name="More like").first.click()
    until(tab, "location.hash.startsWith('#like=')")
    until(tab, "document.querySelectorAll('.group').length === 2")
    assert tab.locator(".like img").count() == 1
    tab.get_by_text("Leave out").click()
    until(tab, "document.querySelectorAll('.latest').length === 1")


def test_moments_are_saved(browser: Any, server: Server, tmp_path: Path) -> None:
    tab = opened(browser, server, "q=blue&duplicates=1")
    for number in (0, 1):
        tab.locator(".moment input").nth(number).check()
    assert tab.locator("#count").inner_text() == "2 moments selected"
    with tab.expect_download() as clips:
        tab.get_by_role("button", name="Save clips").click()
    assert clips.value.suggested_filename == "clips.zip"
    tab.get_by_label("Format of the timeline").select_option("csv")
    with tab.expect_download() as table:
        tab.get_by_role("button", name="Save timeline").click()
    table.value.save_as(tmp_path / "moments.csv")
    assert len((tmp_path / "moments.csv").read_text().splitlines()) == 3
    tab.get_by_role("button", name="Clear").click()
    assert not tab.locator(".picked").is_visible()
    tab.locator(".moment .cut").first.click()
    with tab.expect_download() as clip:
        tab.get_by_role("button", name="Save clip", exact=True).click()
    assert clip.value.suggested_filename.endswith(".mp4")
    assert tab.faults == []


def test_page_faults(browser: Any, server: Server, folder: Path) -> None:
    tab = opened(browser, server)
    tab.goto(f"{server.url}#q=red&after=soon")
    until(tab, "document.querySelector('#status.fault') !== null")
    assert "date" in tab.locator("#status").inner_text()
    tab.goto(f"{server.url}#q=red&path=*film*")
    until(tab, "document.querySelectorAll('.moment .cut').length > 0")
    path = folder / "videos" / "film.mp4"
    path.rename(folder / "away.mp4")
    try:
        tab.locator(".moment .cut").first.click()
        until(tab, "document.querySelector('#now').textContent.includes('vanished')")
    finally:
        (folder / "away.mp4").rename(path)


@IN_ALL_LOOKS
def test_page_layout_and_accessibility(browser: Any, server: Server, width: int, scheme: str) -> None:
    tab = opened(browser, server, width=width, color_scheme=scheme)
    assert faults_of_looks(tab, width) == []
    tab.goto(f"{server.url}#q=blue&duplicates=1")
    until(tab, "document.querySelectorAll('.moment').length > 2")
    tab.get_by_role("button", name="Filters").click()
    tab.locator(".moment .cut").first.click()
    until(tab, f"{TIME} > 0.1")
    tab.locator(".moment input").first.check()
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert faults_of_looks(tab, width) == []
    tab.goto(f"{server.url}#v=2")
    tab.get_by_role("button", name="Read the text").click()
    assert faults_of_looks(tab, width) == []
    backs = {"light": "rgb(247, 247, 245)", "dark": "rgb(20, 22, 26)"}
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == backs[scheme]


@pytest.fixture(scope="module")
def stored(server: Server, folder: Path) -> Path:
    """A page of a search, in a folder beside that of the videos; one of these is missing."""
    path = folder / "page" / "found.html"
    path.parent.mkdir()
    with Archive(server.archive.path) as archive, pytest.MonkeyPatch.context() as patch:
        use_archive(patch)
        result = archive.search("blue", duplicates=True)
        lost = replace(result[0], text="</script><b>lost</b>")
        path.write_text(render_page([archive], "blue <b>", [*result, lost], path), "utf-8")
    return path


def of_file(browser: Any, path: Path, width: int = 1400, **options: Any) -> Any:
    """A page without a server; nothing is asked of anything but its files."""
    tab = open_window(browser, width, (path.parent.parent.as_uri(), "data:"), **options)
    tab.goto(path.as_uri())
    until(tab, "document.querySelectorAll('.moment').length > 0")
    return tab


def test_stored_page_plays(browser: Any, stored: Path) -> None:
    tab = of_file(browser, stored)
    assert tab.title() == tab.locator("h1").inner_text() == "blue <b>"
    assert not tab.get_by_role("search").count()
    tab.get_by_role("region", name="film.mp4").locator(".cut").first.click()
    playing(tab, "film.mp4", 4)
    assert tab.locator("#shots li").count() > 1
    tab.get_by_role("region", name="the sea.mp4").locator(".cut.said").first.click()
    playing(tab, "the sea.mp4", 0)
    assert tab.get_by_text("</script><b>lost</b>").count() == 1
    assert tab.faults == []


@IN_ALL_LOOKS
def test_stored_page_layout(browser: Any, stored: Path, width: int, scheme: str) -> None:
    tab, no_fields = of_file(browser, stored, width, color_scheme=scheme), ["axe did not look for label"]
    assert faults_of_looks(tab, width) == no_fields
    tab.locator(".moment .cut").first.click()
    until(tab, f"{TIME} > 0.1")
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert faults_of_looks(tab, width) == no_fields
