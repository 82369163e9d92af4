"""Reels: corrected on the page, by mouse and by keyboard, and saved as a film in the new order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import vidsum
from tests.browsing import faults_of_looks, needs_chromium, open_window, until, wait_played
from tests.editing.conftest import check_undo, restored
from tests.media import Picture, make_video
from tests.results.test_edited_reel import DECISION, add, leave_out, reorder, set_ends, take_back
from tests.server.serving import ask, running
from vidsum.editing.edit_server import EditServer
from vidsum.editing.reel_session import ReelSession, open_session
from vidsum.errors import InputError, UsageError
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.edited_files import save_edited
from vidsum.results.decisions import decisions_path, read_decisions
from vidsum.results.reel import Canvas, Reel, ReelSegment, ReelSource

COLOURS = {
    "a.mp4": (200, 30, 30),
    "b.jpg": (30, 200, 30),
    "c.mp4": (30, 30, 200),
    "d.mp4": (200, 200, 200),
    "e.mp4": (200, 200, 30),
    "f.jpg": (30, 200, 200),
}


def colour(name: str) -> Any:
    def paint(number: int, width: int, height: int) -> Picture:
        return np.full((height, width, 3), COLOURS[name], np.uint8)

    return paint


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `holiday.json`, a reel of three clips and a photograph of a colour; two are not in it."""
    folder = tmp_path_factory.mktemp("reel")
    for name in ("a.mp4", "c.mp4", "d.mp4", "e.mp4"):
        make_video(folder / name, n_frames=75, fps=25, sound=name == "a.mp4", paint=colour(name))
    for name in ("b.jpg", "f.jpg"):
        Image.new("RGB", (80, 60), COLOURS[name]).save(folder / name)
    sources = []
    for name in COLOURS:
        path = folder / name
        kind: Any = "video" if path.suffix == ".mp4" else "photograph"
        length_s = vidsum.probe(path).duration_s if kind == "video" else 0.0
        best = (1.0, 2.0) if kind == "video" else (0.0, 3.0)
        sources.append(ReelSource(str(path), kind, path.stat().st_size, "0" * 64, None, length_s, best))
    spans = ((0, 0.0, 1.0), (1, 0.0, 1.0), (2, 1.0, 2.0), (2, 2.0, 3.0), (3, 0.0, 2.0))
    segments = tuple(ReelSegment(*span, "time", 0.5) for span in spans)
    provenance = {"vidsum": "0", "reel": {}, "inputs": [{"bytes": 1, "sha256": "0" * 64}]}
    reel = Reel(segments, tuple(sources), Canvas(160, 90, 25.0), 6.0, 12.0, provenance=provenance)
    vidsum.write_json(reel, folder / "holiday.json")
    return folder


@pytest.fixture
def record(made: Path) -> Iterator[Path]:
    """The reel as it was made, without decisions; its MP4 is removed at the end."""
    with restored(made / "holiday.json", ".mp4", ".mlt") as path:
        yield path


def session_of(record: Path) -> ReelSession:
    session = open_session(record)
    assert isinstance(session, ReelSession)
    return session


def parts_of(state: dict[str, Any]) -> Any:
    return state["parts"], state["used_s"]


STEPS = st.lists(st.one_of(DECISION, st.sampled_from(["undo", "redo"])), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_undo_returns_to_the_same_state(record: Path, steps: list[Any]) -> None:
    decisions_path(record).unlink(missing_ok=True)
    session = session_of(record)
    check_undo(session, steps, parts_of)
    assert session_of(record).describe() == session.describe()


def seen(film: Path) -> list[str]:
    """The colour in the middle of each second of a film."""
    with av.open(str(film)) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    names = []
    for picture in pictures[12::25]:
        mean = picture[40:50, 70:90].mean(axis=(0, 1))
        names.append(min(COLOURS, key=lambda name: float(np.abs(mean - COLOURS[name]).sum()))[0])
    return names


def test_save_writes_the_film_in_the_new_order(record: Path) -> None:
    film, timeline = record.with_suffix(".mp4"), record.with_suffix(".mlt")
    made = vidsum.load(record)
    assert isinstance(made, Reel)
    save_edited(made, made, {"json": record, "video": film, "mlt": timeline})
    assert "".join(seen(film)) == "abccdd"
    session = session_of(record)
    for decision in (
        reorder(4, 0),
        leave_out(0),
        set_ends(1, 0, 2),
        leave_out(2),
        leave_out(3),
        take_back(3),
    ):
        session.decide(decision)
    saved, command = session.save()
    assert {path.name for path in saved.files} == {"holiday.json", "holiday.mp4", "holiday.mlt"}
    assert "".join(seen(film)) == "ddbbc"
    assert command == f"vidsum edit {record} --apply"
    document = json.loads(record.read_text())
    assert [(part["source"], part["end_s"]) for part in document["segments"]] == [(3, 2), (1, 2), (2, 3)]
    assert timeline.read_text().count('<entry producer="chain') == 3
    assert Artifacts(record, {"json": record, "video": film}).owns(film)
    content, again = record.read_bytes(), session_of(record)
    again.save()
    assert record.read_bytes() == content
    assert session.describe()["is_saved"]
    assert [part["number"] for part in again.undo()["parts"]] == [4, 0, 1, 2, 3]


def test_added_parts_are_saved(record: Path) -> None:
    film = record.with_suffix(".mp4")
    reel = vidsum.load(record)
    assert isinstance(reel, Reel)
    save_edited(reel, reel, {"json": record, "video": film})
    session = session_of(record)
    session.decide(add(4, 0.01, 2.01))
    session.decide(add(5, 0, 3))
    state = session.decide(reorder(6, 0))
    assert [(part["number"], part["source"]) for part in state["parts"]][::6] == [(6, 5), (5, 4)]
    assert state["used_s"] == pytest.approx(11)
    session.save()
    assert "".join(seen(film)) == "fffabccddee"
    again = session_of(record)
    assert again.describe()["is_saved"]
    document = json.loads(record.read_text())
    assert [part["reason"] for part in document["segments"]] == ["hand", *["time"] * 5, "hand"]
    assert document["segments"][-1]["start_s"] == 0  # of a frame
    for _ in range(3):
        again.undo()
    again.save()
    assert "".join(seen(film)) == "abccdd"


def test_nothing_is_left_to_save(record: Path) -> None:
    session = session_of(record)
    for number in range(5):
        session.decide(leave_out(number))
    with pytest.raises(UsageError, match="nothing is left"):
        session.save()


def test_a_source_that_is_gone_is_named_and_can_be_left_out(record: Path, made: Path) -> None:
    film = record.with_suffix(".mp4")
    reel = vidsum.load(record)
    assert isinstance(reel, Reel)
    save_edited(reel, reel, {"json": record, "video": film})
    (made / "d.mp4").rename(made / "moved.mp4")
    try:
        session = session_of(record)
        faults = [source["fault"] for source in session.describe()["sources"]]
        assert faults == ["", "", "", "is not there any more", "", ""]
        content = film.read_bytes()
        with pytest.raises(InputError, match="not there any more"):
            session.save()
        with pytest.raises(InputError, match="not there any more"):
            session.decide(set_ends(4, 0, 1))
        assert film.read_bytes() == content
        session.decide(leave_out(4))
        session.save()
        assert "".join(seen(film)) == "abcc"
    finally:
        (made / "moved.mp4").rename(made / "d.mp4")


def test_decisions_of_another_reel_are_refused(record: Path) -> None:
    session_of(record).decide(leave_out(1))
    reel = vidsum.load(record)
    assert isinstance(reel, Reel)
    other = Reel(reel.segments[1:], reel.sources, reel.canvas, 6.0, 12.0, provenance=reel.provenance)
    vidsum.write_json(other, record, overwrite=True)
    with pytest.raises(InputError, match="about another video or reel"):
        session_of(record)
    assert read_decisions(decisions_path(record))["decisions"] == [leave_out(1)]


def test_video_is_not_for_reels(record: Path, made: Path) -> None:
    with pytest.raises(UsageError, match="one video"):
        open_session(record, made / "a.mp4")


@pytest.fixture
def server(record: Path) -> Iterator[EditServer]:
    with running(EditServer(session_of(record), 0)) as started:
        yield started


def test_server_sends_pictures_and_no_other_file(server: EditServer, made: Path) -> None:
    for path in (*(f"/picture/{number}?at=1" for number in range(6)), "/photograph/1"):
        picture = ask(server, path)
        assert (picture.headers["Content-Type"], picture.body[:2]) == ("image/jpeg", b"\xff\xd8")
    assert ask(server, "/video/4").body == (made / "e.mp4").read_bytes()
    for path in ("/picture/6?at=1", "/video", "/video/1", "/video/6", "/photograph/0", "/source/1"):
        assert ask(server, path).status == 404
    for path in ("/part/1?start=0&end=1", "/api/plan", "/picture/../a.mp4"):
        assert ask(server, path).status == 404
    for path in ("/picture/0", "/picture/0?at=nan", "/part/0?start=1&end=1", "/part/0?start=1"):
        assert ask(server, path).status == 400
    assert ask(server, "/api/plan", "POST", {"limit": 3}).status == 404
    assert ask(server, "/api/decide", "POST", leave_out(9)).status == 400
    assert ask(server, "/api/decide", "POST", leave_out(1), Origin="http://evil.example").status == 403
    assert not decisions_path(server.session.record).exists()


def test_a_file_that_changes_meanwhile_is_not_sent(server: EditServer, made: Path) -> None:
    path = made / "e.mp4"
    content = path.read_bytes()
    try:
        path.write_bytes(content[::-1])
        assert ask(server, "/video/4").status == 400
    finally:
        path.write_bytes(content)


def test_a_part_is_encoded_as_the_film_shows_it(server: EditServer, tmp_path: Path) -> None:
    answer = ask(server, "/part/2?start=1&end=2.5")
    assert answer.headers["Content-Type"] == "video/mp4"
    film = tmp_path / "part.mp4"
    film.write_bytes(answer.body)
    info = vidsum.probe(film)
    assert (info.width, info.height, info.codec) == (160, 90, "h264")
    assert info.duration_s == pytest.approx(1.5, abs=0.05)
    assert seen(film)[0] == "c"
    assert ask(server, "/part/2?start=1&end=2.5", Range="bytes=0-3").status == 206


def test_the_page_knows_how_a_file_is_played(server: EditServer) -> None:
    assert ask(server, "/source/0").json == {"offset_s": 0.0, "is_playable": True}


def order(server: EditServer) -> list[int]:
    return [part["number"] for part in ask(server, "/api/edit").json["parts"] if part["is_in"]]


def opened(browser: Any, server: EditServer, width: int = 1400, **options: Any) -> Any:
    tab = open_window(browser, width, (server.url, "data:"), **options)
    tab.goto(server.url)
    until(tab, "document.querySelectorAll('#segments li').length === 5")
    return tab


def said(tab: Any, text: str) -> None:
    until(tab, f"document.getElementById('status').textContent.includes({text!r})")


def shot(tab: Any, number: int) -> Any:
    return tab.locator(f"#segment{number} .shot")


@pytest.mark.deep
@needs_chromium
def test_keys_leave_out_move_undo_and_save(browser: Any, server: EditServer, record: Path) -> None:
    tab = opened(browser, server)
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.closest('li').id") == "segment0"
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    said(tab, "Left out")
    assert order(server) == [0, 2, 3, 4]
    tab.keyboard.press("Alt+ArrowRight")
    said(tab, "Now at place 3")
    tab.keyboard.press("Enter")
    said(tab, "Taken back")
    assert order(server) == [0, 2, 1, 3, 4]
    tab.keyboard.press("Alt+ArrowLeft")
    said(tab, "Now at place 2")
    assert order(server) == [0, 1, 2, 3, 4]
    tab.keyboard.press("z")
    said(tab, "Undone")
    tab.keyboard.press("y")
    said(tab, "Done again")
    tab.keyboard.press("Control+z")
    until(tab, "!document.getElementById('redo').disabled")
    assert order(server) == [0, 2, 1, 3, 4]
    assert faults_of_looks(tab, 1400) == []
    tab.keyboard.press("s")
    until(tab, "document.getElementById('saving_title').textContent === 'Saved'")
    assert [part["source"] for part in json.loads(record.read_text())["segments"]] == [0, 2, 1, 2, 3]
    assert tab.faults == []


@pytest.mark.deep
@needs_chromium
def test_mouse_drags_and_clicks(browser: Any, server: EditServer) -> None:
    tab = opened(browser, server)
    tab.drag_and_drop("#segment4 .shot", "#segment1 .shot")
    said(tab, "Now at place 2")
    assert order(server) == [0, 4, 1, 2, 3]
    tab.get_by_role("button", name="Earlier: segment 5").click()
    said(tab, "Now at place 1")
    tab.get_by_role("button", name="Later: segment 1,").click()
    said(tab, "Now at place 3")
    assert order(server) == [4, 1, 0, 2, 3]
    shot(tab, 2).click()
    said(tab, "Left out")
    assert shot(tab, 2).get_attribute("aria-pressed") == "false"
    tab.get_by_label("to of segment 5,").fill("1.2")
    tab.keyboard.press("Enter")
    said(tab, "Other ends")
    assert ask(server, "/api/edit").json["parts"][0]["end_s"] == pytest.approx(1.2)
    tab.get_by_role("button", name="Undo").click()
    said(tab, "Undone")
    assert tab.faults == []


@pytest.mark.deep
@needs_chromium
def test_the_film_plays_in_order(browser: Any, server: EditServer) -> None:
    for decision in (leave_out(2), reorder(3, 0), set_ends(4, 0.5, 1.5)):
        ask(server, "/api/decide", "POST", decision)
    tab = opened(browser, server)
    tab.get_by_role("button", name="Play the film").click()
    current = "document.querySelector('[aria-current]')?.id"
    for number, start in ((3, 2.0), (0, 0.0)):
        until(tab, f"{current} === 'segment{number}'")
        assert f"segment {number + 1}" in wait_played(tab, start)
    until(tab, f"{current} === 'segment1'")
    assert tab.locator("#photograph").get_attribute("src") == "/photograph/1"
    assert not tab.locator("video").is_visible()
    assert "segment 5" in wait_played(tab, 0.5)
    said(tab, "That was all")
    assert tab.faults == []


@pytest.mark.deep
@needs_chromium
def test_an_unused_input_is_played_added_and_cut_where_it_plays(browser: Any, server: EditServer) -> None:
    tab = opened(browser, server)
    tab.get_by_role("button", name="Play: e.mp4").click()
    wait_played(tab, 1.0)
    tab.get_by_role("button", name="Add e.mp4").click()
    said(tab, "Added: e.mp4")
    assert order(server) == [0, 1, 2, 3, 4, 5]
    assert tab.evaluate("document.activeElement.closest('li').id") == "segment5"
    assert tab.locator("#unused_title").inner_text() == "Not in the film: 1 of 6 inputs"
    until(tab, "document.querySelector('video').paused")
    tab.evaluate("document.querySelector('video').playbackRate = .1")
    tab.keyboard.press("Space")
    until(tab, "watched.spans.at(-1)?.to > 1.2 && !document.querySelector('video').paused")
    tab.keyboard.press("[")
    said(tab, "Other ends")
    start_s = ask(server, "/api/edit").json["parts"][-1]["start_s"]
    assert 1.2 <= start_s <= 1.8
    assert start_s * 25 == pytest.approx(round(start_s * 25))
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    said(tab, "Added: f.jpg")
    assert not tab.locator("#unused").is_visible()
    assert tab.faults == []


@pytest.mark.deep
@needs_chromium
def test_what_the_browser_cannot_play_is_encoded(browser: Any, server: EditServer, made: Path) -> None:
    session = server.session
    assert isinstance(session, ReelSession)
    tab = opened(browser, server)
    tab.route("**/video/2", lambda route: route.fulfill(body="no video", content_type="video/mp4"))
    tab.get_by_role("button", name="Play: segment 4,").click()
    wait_played(tab, 0.0)
    assert "/part/2?start=2&end=3" in tab.evaluate("document.querySelector('video').src")
    said(tab, "That was all")


@pytest.mark.deep
@needs_chromium
@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (400, "dark"), (1400, "dark")])
def test_layout_and_accessibility(browser: Any, server: EditServer, width: int, scheme: str) -> None:
    tab = opened(browser, server, width, color_scheme=scheme)
    shot(tab, 1).click()
    said(tab, "Left out")
    assert faults_of_looks(tab, width) == []
    assert tab.faults == []
