"""The report page in Chromium: skipped without Playwright or the browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import chromium, faults_of_looks, needs_chromium, until
from tests.results.made import EVIL

pytestmark = [pytest.mark.deep, needs_chromium]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def opened(browser: Any, page: Path, width: int = 1400, **how: Any) -> Any:
    """The page in a window. `faults` collects failed scripts, and requests that leave the machine."""
    tab = browser.new_context(viewport={"width": width, "height": 900}, **how).new_page()
    tab.faults = []
    tab.on("pageerror", lambda error: tab.faults.append(str(error)))
    tab.on("request", lambda request: tab.faults.extend([request.url] * (not is_local(request.url))))
    tab.goto(page.as_uri())
    if how.get("java_script_enabled", True):
        until(tab, "document.querySelector('video').readyState > 0")
    return tab


def is_local(url: str) -> bool:
    return url.startswith(("file:", "data:"))


def time_of(tab: Any) -> float:
    return float(tab.evaluate("document.querySelector('video').currentTime"))


def test_a_click_on_a_segment_plays_it_and_stops_at_its_end(browser: Any, page: Path) -> None:
    tab = opened(browser, page)
    tab.locator(".cut").nth(1).click()
    until(tab, "document.querySelector('video').currentTime > 8")
    assert 8 < time_of(tab) < 9.3
    assert tab.locator(".cut[aria-current]").get_attribute("data-start") == "8.0"
    assert tab.locator(".now").inner_text() == "Playing 0:08.00 – 0:09.00"
    until(tab, "document.querySelector('video').paused")
    assert 9 <= time_of(tab) < 9.6


def test_keys_and_the_curve_seek_too(browser: Any, page: Path) -> None:
    tab = opened(browser, page)
    for key, start in (("n", 4), ("n", 8), ("n", 6), ("p", 8)):
        tab.keyboard.press(key)
        until(tab, f"Math.abs(document.querySelector('video').currentTime - {start}) < .9")
    tab.locator(".cut").first.focus()
    tab.keyboard.press("Enter")
    until(tab, "Math.abs(document.querySelector('video').currentTime - 4) < .9")
    curve = tab.locator(".chart svg").first
    curve.click(position={"x": 0.25 * curve.bounding_box()["width"], "y": 20})
    until(tab, "Math.abs(document.querySelector('video').currentTime - 2.5) < .9")


def test_the_filter_shows_the_queries_with_its_words(browser: Any, page: Path) -> None:
    tab = opened(browser, page)

    def shown() -> list[str]:
        return [str(each.get_attribute("data-query")) for each in tab.locator(".query:visible").all()]

    everything = shown()
    assert len(everything) == 3
    tab.get_by_label("Filter queries").fill("SNOW script")
    assert shown() == [EVIL]
    assert tab.locator("output").inner_text() == "1 of 3 queries"
    tab.get_by_label("Filter queries").fill("np")
    assert (shown(), time_of(tab)) == ([], 0)  # keys are letters there
    tab.get_by_label("Filter queries").fill("")
    assert shown() == everything


def test_texts_do_not_run(browser: Any, page: Path, film: Path) -> None:
    tab = opened(browser, page)
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("h1").inner_text() == film.name
    assert tab.title() == film.name
    assert tab.faults == []


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_and_axe_finds_no_serious_fault(
    browser: Any, page: Path, width: int, scheme: str
) -> None:
    tab = opened(browser, page, width, color_scheme=scheme)
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    tab.locator(".cut").first.click()
    assert faults_of_looks(tab, width) == []
    backs = {"light": "rgb(247, 247, 245)", "dark": "rgb(20, 22, 26)"}
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == backs[scheme]


def test_without_scripts_the_page_reads_and_its_links_play(browser: Any, page: Path) -> None:
    tab = opened(browser, page, java_script_enabled=False)
    assert tab.locator(".cut:visible").count() == 8
    assert tab.locator("input:visible, .scripted:visible").count() == 0
    tab.locator("summary").first.click()
    assert tab.get_by_text("summary › model").first.is_visible()
    assert tab.locator(".cut").first.get_attribute("href").endswith("#t=4.0,6.0")
