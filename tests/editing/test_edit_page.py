"""The page in Chromium: everything by mouse and by keyboard."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vidsum
from tests.browsing import faults_of_looks, needs_chromium, open_window, until, wait_played, wait_stopped
from tests.editing.conftest import editing
from tests.server.serving import ask
from vidsum.editing.edit_server import EditServer
from vidsum.results.decisions import decisions_path, read_decisions

pytestmark = [pytest.mark.deep, needs_chromium]
LOOKS = [(width, scheme) for width in (400, 1400) for scheme in ("light", "dark")]


def opened(browser: Any, server: EditServer, width: int = 1400, **options: Any) -> Any:
    """The page in a window; nothing is asked of anything but the server."""
    tab = open_window(browser, width, (server.url, "data:"), **options)
    tab.goto(server.url)
    until(tab, "document.querySelectorAll('.cell').length > 0")
    # the height of the player is known then: what is clicked no longer moves
    until(tab, "(player => player.readyState > 0 || player.error)(document.querySelector('video'))")
    return tab


def spans(server: EditServer) -> list[tuple[float, float]]:
    return [(part["start_s"], part["end_s"]) for part in ask_edit(server)["groups"][0]["parts"]]


def ask_edit(server: EditServer) -> Any:
    return ask(server, "/api/edit").json


def free_unit(server: EditServer) -> int:
    """The first unit without a part of the result."""
    about = ask_edit(server)
    return next(
        number
        for number, (start_s, end_s) in enumerate(about["units"])
        if not any(
            part["start_s"] < end_s and start_s < part["end_s"] for part in about["groups"][0]["parts"]
        )
    )


def said(tab: Any, text: str) -> None:
    """Wait until the page says a text about what was done."""
    until(tab, f"document.getElementById('status').textContent.includes({text!r})")


def cell(tab: Any, number: int) -> Any:
    return tab.locator(f".cell[data-number='{number}'] .shot")


def test_click_takes_and_leaves_out(browser: Any, server: EditServer) -> None:
    tab, number, begun = opened(browser, server), free_unit(server), spans(server)
    piece = tuple(ask_edit(server)["pieces"][number])
    cell(tab, number).click()
    said(tab, "Taken")
    assert piece in spans(server)
    assert cell(tab, number).get_attribute("aria-pressed") == "true"
    assert "by hand" in cell(tab, number).get_attribute("aria-label")
    cell(tab, number).click()
    said(tab, "Left out")
    assert piece not in spans(server)
    tab.locator("#parts .leave").first.click()
    until(tab, f"document.querySelectorAll('#parts li').length === {len(spans(server))}")
    for _ in range(3):
        tab.get_by_role("button", name="Undo").click()
    until(tab, "document.getElementById('undo').disabled")
    assert spans(server) == begun
    tab.get_by_role("button", name="Redo").click()
    said(tab, "Done again")
    assert piece in spans(server)
    assert tab.faults == []


def test_keys_take_leave_out_undo_and_redo(browser: Any, server: EditServer) -> None:
    tab, number, begun = opened(browser, server), free_unit(server), spans(server)
    tab.keyboard.press("Home")
    for _ in range(number):
        tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.closest('.cell').dataset.number") == str(number)
    tab.keyboard.press("Enter")
    said(tab, "Taken")
    taken = spans(server)
    assert taken != begun
    tab.keyboard.press("z")
    said(tab, "Undone")
    assert spans(server) == begun
    tab.keyboard.press("y")
    said(tab, "Done again")
    assert spans(server) == taken
    tab.keyboard.press("Control+z")
    said(tab, "Undone")
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    said(tab, "Left out")
    assert len(spans(server)) == len(begun) - 1
    assert tab.faults == []


def drag(tab: Any, handle: Any, by: int, *, is_free: bool = False) -> None:
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    if is_free:
        tab.keyboard.down("Shift")
    tab.mouse.move(x + by / 2, y)
    tab.mouse.move(x + by, y)
    tab.evaluate("document.getElementById('status').textContent = ''")
    tab.mouse.up()
    tab.keyboard.up("Shift")
    said(tab, "Now")


def test_ends_snap_unless_shift_frees_them(browser: Any, server: EditServer) -> None:
    tab = opened(browser, server)
    number = free_unit(server)
    cell(tab, number).click()
    said(tab, "Taken")
    (part,) = [part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"]]
    places, grip = ask_edit(server)["places"], tab.locator(".frame.by_hand .grip.end")
    drag(tab, grip, -30, is_free=True)
    (freed,) = [part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"]]
    assert part["start_s"] < freed["end_s"] < part["end_s"]
    assert freed["end_s"] not in places
    assert freed["end_s"] * 10 == pytest.approx(round(freed["end_s"] * 10))  # at a frame
    drag(tab, grip, 27)
    (snapped,) = [part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"]]
    assert snapped["end_s"] == part["end_s"]
    assert tab.faults == []


def test_ends_move_by_keys(browser: Any, server: EditServer) -> None:
    tab, number = opened(browser, server), free_unit(server)
    cell(tab, number).click()
    said(tab, "Taken")
    (part,) = [part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"]]
    tab.keyboard.press("]")
    assert tab.evaluate("document.activeElement.dataset.side") == "end"
    tab.keyboard.press("ArrowRight")
    said(tab, "Now")
    about = ask_edit(server)
    (longer,) = [part for part in about["groups"][0]["parts"] if part["by_hand"]]
    assert longer["end_s"] >= min(place for place in about["places"] if place > part["end_s"])
    tab.keyboard.press("Shift+ArrowLeft")
    until(tab, "document.getElementById('undo').disabled === false")
    until(tab, "document.activeElement.dataset.side === 'end'")
    for _ in range(50):
        (freed,) = [part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"]]
        if freed != longer:
            break
        tab.wait_for_timeout(50)
    assert freed["end_s"] == pytest.approx(longer["end_s"] - 0.1)  # a frame
    assert tab.faults == []


def test_length_plans_again(browser: Any, server: EditServer) -> None:
    tab, number = opened(browser, server), free_unit(server)
    cell(tab, number).click()
    said(tab, "Taken")
    taken = next(part for part in ask_edit(server)["groups"][0]["parts"] if part["by_hand"])
    tab.get_by_label("Length, at most").fill("30")
    said(tab, "Planned again")
    about = ask_edit(server)
    assert taken in about["groups"][0]["parts"]
    assert 15 < about["groups"][0]["used_s"] <= 30
    tab.locator("h1").click()
    tab.keyboard.press("l")
    tab.keyboard.press("ArrowLeft")
    until(tab, "document.getElementById('limit_value').textContent === '0:29'")
    until(tab, "!document.getElementById('limit').disabled")
    assert ask_edit(server)["budget_s"] <= 29
    assert tab.faults == []


def test_result_only_is_played(browser: Any, server: EditServer) -> None:
    tab, (first, second, *_) = opened(browser, server), spans(server)
    tab.get_by_role("button", name="Play the result").click()
    wait_played(tab, first[0])
    wait_played(tab, second[0])
    tab.locator("#parts .part").nth(1).click()
    wait_played(tab, second[0])
    wait_stopped(tab, second[1])
    tab.locator("h1").click()
    tab.keyboard.press("r")
    wait_played(tab, first[0])
    tab.keyboard.press(" ")
    until(tab, "document.querySelector('video').paused")
    tab.keyboard.press(" ")
    until(tab, "!document.querySelector('video').paused")
    assert tab.faults == []


def test_list_takes_and_leaves_out(browser: Any, server: EditServer) -> None:
    tab, number = opened(browser, server), free_unit(server)
    tab.get_by_text("All pictures as a list").click()
    boxes, count = tab.locator("#all input"), len(ask_edit(server)["units"])
    until(tab, f"document.querySelectorAll('#all input').length === {count}")
    boxes.nth(number).check()
    said(tab, "Taken")
    assert boxes.nth(number).is_checked()
    boxes.nth(number).focus()
    tab.keyboard.press(" ")
    said(tab, "Left out")
    assert not boxes.nth(number).is_checked()


@pytest.fixture
def with_video(record: Path) -> Iterator[EditServer]:
    with editing(record, with_video=True) as started:
        yield started


def test_save_writes_and_names_the_command(browser: Any, with_video: EditServer, record: Path) -> None:
    tab = opened(browser, with_video)
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    said(tab, "Left out")
    assert tab.locator("#saved").inner_text().startswith("Not saved yet")
    tab.keyboard.press("s")
    until(tab, "document.getElementById('saving_title').textContent === 'Saved'")
    names = tab.locator("#saving_files li").all_inner_texts()
    assert [Path(name).name for name in names] == ["film_summary.json", "film_summary.mp4"]
    assert tab.locator("#saving_command").inner_text().startswith("vidsum ")
    assert faults_of_looks(tab, 1400) == ["axe did not look for label"]  # what is behind rests
    tab.keyboard.press("Escape")
    assert tab.locator("#saved").inner_text() == "Saved"
    assert vidsum.load(record).segments == tuple(spans(with_video))  # type: ignore[attr-defined]
    record.write_text("mine")
    tab.get_by_role("button", name="Save", exact=True).click()
    until(tab, "document.getElementById('saving_title').textContent === 'Not saved'")
    assert "already exists" in tab.locator("#saving_text").inner_text()
    tab.get_by_role("button", name="Close").click()
    assert tab.faults == []


def test_closed_page_loses_nothing(browser: Any, server: EditServer, record: Path) -> None:
    tab, number = opened(browser, server), free_unit(server)
    cell(tab, number).click()
    said(tab, "Taken")
    tab.close()
    assert len(read_decisions(decisions_path(record))["decisions"]) == 1
    tab = opened(browser, server)
    assert cell(tab, number).get_attribute("aria-pressed") == "true"


def test_older_page_shows_what_another_did(browser: Any, server: EditServer, record: Path) -> None:
    older, newer, number = opened(browser, server), opened(browser, server), free_unit(server)
    cell(newer, number).click()
    said(newer, "Taken")
    taken = spans(server)
    older.locator("#parts .leave").first.click()
    said(older, "Another page changed the result, which this page shows now. Your last step was not made.")
    assert spans(server) == taken
    assert cell(older, number).get_attribute("aria-pressed") == "true"
    older.locator("#parts .leave").first.click()
    said(older, "Left out")
    newer.keyboard.press("s")
    until(newer, "document.getElementById('saving_title').textContent === 'Not saved'")
    newer.get_by_role("button", name="Close").click()
    newer.keyboard.press("s")
    until(newer, "document.getElementById('saving_title').textContent === 'Saved'")
    assert vidsum.load(record).segments == tuple(spans(server))  # type: ignore[attr-defined]
    older.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(older, "document.getElementById('saved').textContent === 'Saved'")


def many_units(about: dict[str, Any], count: int) -> dict[str, Any]:
    """The film with so many shots of five seconds, every seventh in the result."""
    units = [[5.0 * number, 5.0 * number + 5] for number in range(count)]
    times = [0.5 * number for number in range(10 * count)]
    parts = [
        {"start_s": start + 1, "end_s": start + 4, "by_hand": False, "title": ""} for start, _ in units[::7]
    ]
    group = {"parts": parts, "left": [], "used_s": 3.0 * len(parts), "by_hand_s": 0}
    curve = {"times_s": times, "curves": [[number % 17 / 17 for number in range(len(times))]]}
    facts = {"units": units, "pieces": units, "places": [start for start, _ in units], "groups": [group]}
    return {**about, **facts, **curve, "duration_s": 5.0 * count}


VISIBLE = """
    [...document.querySelectorAll(".cell")].map(each => each.getBoundingClientRect())
        .filter(box => box.right > 0 && box.left < innerWidth).length
"""
"""Number of pictures in sight."""


def test_at_most_200_pictures_at_a_time(browser: Any, server: EditServer) -> None:
    about = many_units(ask_edit(server), 1500)
    tab = open_window(browser, 2500, (server.url, "data:"))
    tab.route("**/api/edit", lambda route: route.fulfill(json=about))
    tab.route("**/picture/*", lambda route: route.fulfill(status=200, body="", content_type="image/jpeg"))
    tab.goto(server.url)
    until(tab, "document.querySelectorAll('.cell').length > 0")
    most = 0
    for share in (0, 0.001, 0.3, 0.301, 0.8, 1, 0.5):
        tab.evaluate(
            f"{{ const box = document.getElementById('strip'); box.scrollLeft = {share} * box.scrollWidth; }}"
        )
        tab.wait_for_timeout(150)
        most = max(most, tab.evaluate("document.images.length"))
        assert tab.evaluate(VISIBLE) > 10
    tab.keyboard.press("End")
    assert tab.evaluate("document.activeElement.closest('.cell').dataset.number") == "1499"
    assert 10 < most <= 200


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_layout_and_accessibility(browser: Any, server: EditServer, width: int, scheme: str) -> None:
    tab = opened(browser, server, width, color_scheme=scheme)
    cell(tab, free_unit(server)).evaluate("each => each.click()")
    said(tab, "Taken")
    tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    until(tab, "document.querySelectorAll('#all li').length > 0")
    assert faults_of_looks(tab, width) == []
    assert tab.faults == []


def test_highlights_page(browser: Any, highlights_record: Path) -> None:
    with editing(highlights_record) as server:
        tab, number = opened(browser, server), free_unit(server)
        cell(tab, number).click()
        said(tab, "Taken")
        tab.get_by_label("Highlights, at most").fill("1")
        said(tab, "Planned again")
        assert [part["by_hand"] for part in ask_edit(server)["groups"][0]["parts"]] == [True]
        assert tab.faults == []
