"""Pages in Chromium, for tests that are skipped without Playwright or the browser."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
OUTSIDE = """
    [...document.querySelectorAll("body *")]
        .filter(each => !each.closest(".scroll, .unseen, svg"))
        .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
        .map(each => each.outerHTML.slice(0, 80))
"""
"""Elements that stand out of the window; what scrolls by itself may."""


@contextmanager
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def until(tab: Any, condition: str) -> None:
    """Wait for a minute at most; Playwright's own waiting is against the pages' policy."""
    for _ in range(600):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(100)
    pytest.fail(f"not in a minute: {condition}, but at {tab.evaluate(TIME)} s")


TIME = "document.querySelector('video').currentTime"


def faults_of_looks(tab: Any, width: int) -> list[str]:
    """List what exceeds the window, and what axe finds."""
    faults = [str(item) for item in tab.evaluate(OUTSIDE)]
    if tab.evaluate("document.documentElement.scrollWidth") != width:
        faults.append("the page is too wide")
    checked = axe.Axe().run(tab).response
    passed = {item["id"] for item in checked["passes"]}
    faults += [f"axe did not look for {rule}" for rule in {"color-contrast", "label", "region"} - passed]
    return faults + [f"{item['id']}: {item['nodes'][0]['html']}" for item in checked["violations"]]
