"""Pages in Chromium, for tests that are skipped without Playwright or the browser."""

import shutil
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


RECORD = """
    window.watched = { spans: [], last: null };
    const begin = ({ target }) => {
      watched.last = { from: target.currentTime, to: target.currentTime };
      watched.spans.push(watched.last);
    };
    for (const name of ["emptied", "seeking"]) document.addEventListener(name, begin, true);
    document.addEventListener("timeupdate", ({ target }) => {
      if (!watched.last || target.paused || target.seeking) return;
      watched.last.text ??= document.querySelector(".now").textContent;
      Object.assign(watched.last, { before: watched.last.to, to: target.currentTime });
    }, true);
"""
"""Records where the video went and how far it played from there: a busy machine looks too late."""


def launch(program: Any, autoplay: str) -> Any:
    """Start Chromium with a rule for autoplay; by its own one, scripts of tests count as a user's clicks."""
    arguments = ["--no-sandbox", f"--autoplay-policy={autoplay}"]
    return program.launch(executable_path=CHROMIUM, args=arguments)


def open_window(browser: Any, width: int, own: tuple[str, ...], **options: Any) -> Any:
    """Open an empty window that records what its video plays.

    Its `faults` are failed scripts, complaints, and requests for addresses that do not begin as `own` do.
    """
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    context.add_init_script(RECORD)
    tab = context.new_page()
    tab.faults = []
    tab.on("pageerror", lambda error: tab.faults.append(str(error)))
    tab.on("console", lambda message: tab.faults.append(message.text))
    tab.on("request", lambda request: tab.faults.extend([request.url] * (not request.url.startswith(own))))
    return tab


def until(tab: Any, condition: str) -> None:
    """Wait for a minute at most; Playwright's own waiting is against the pages' policy."""
    for _ in range(600):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(100)
    pytest.fail(f"not in a minute: {condition}, but at {tab.evaluate(TIME)} s")


def wait_played(tab: Any, start: float) -> str:
    """Wait until the video has played from a start in seconds; return what the page said of it then."""
    place = f"watched.spans.findIndex(span => Math.abs(span.from - {start}) < .2 && span.to > span.from)"
    until(tab, f"{place} >= 0")
    return str(tab.evaluate(f"watched.spans.splice(0, {place} + 1).at(-1).text"))


def wait_stopped(tab: Any, end: float) -> None:
    """Wait until the video has stopped; assert that it did as soon as the page could see the end."""
    until(tab, "document.querySelector('video').paused")
    last = tab.evaluate("watched.last")
    assert last["before"] < end <= last["to"]


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
