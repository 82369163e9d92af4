"""The server of the page: it answers nobody else, sends no other file, and outlives what is sent to it."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.editing.conftest import editing
from tests.server.serving import ask
from vidsum.editing.edit_server import EditServer
from vidsum.results.decisions import decisions_path, read_decisions

TAKE = {"action": "take", "start_s": 6, "end_s": 8}
WRITES = ("/api/decide", "/api/plan", "/api/undo", "/api/redo", "/api/save")


def is_untouched(record: Path) -> bool:
    return not decisions_path(record).exists()


def test_page_needs_nothing_else(server: EditServer) -> None:
    page = ask(server, "/")
    names = (
        "/base.css",
        "/edit.css",
        "/player.js",
        "/edit.js",
        "/strip.js",
        "/words.js",
        "/server.js",
        "/saving.js",
        "/acts.js",
        "/keys.js",
    )
    texts = [ask(server, name) for name in names]
    assert [text.status for text in (page, *texts)] == [200] * 11
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    for text in (page, *texts):
        assert b"http:" not in text.body.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https:" not in text.body


def test_foreign_hosts_and_origins_change_nothing(server: EditServer, record: Path) -> None:
    here = f"http://127.0.0.1:{server.server_port}"
    hosts = (
        "evil.example",
        f"evil.example:{server.server_port}",
        "127.0.0.1:1",
        f"x@localhost:{server.server_port}",
    )
    for path, host in product(WRITES, hosts):
        assert ask(server, path, "POST", TAKE, Host=host).status == 403
    for path, origin in product(
        WRITES, ("http://evil.example", "null", f"{here}0", here.replace("p:", "ps:"))
    ):
        assert ask(server, path, "POST", TAKE, Origin=origin).status == 403
    for path, site in product(
        ("/api/edit", "/video", "/picture/0.jpg", "/api/save"), ("cross-site", "same-site")
    ):
        assert ask(server, path, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
    assert ask(server, "/api/edit", Host="evil.example").status == 403
    assert is_untouched(record)
    assert ask(server, "/api/decide", "POST", TAKE, Origin=here).status == 200


def test_a_target_with_a_host_is_refused(server: EditServer, record: Path) -> None:
    host = f"127.0.0.1:{server.server_port}"
    for target in ("http://evil.example", f"http://{host}", "file://", "x:"):
        assert ask(server, f"{target}/api/decide", "POST", TAKE, Host=host).status == 400
    assert is_untouched(record)


def test_forms_of_other_sites_change_nothing(server: EditServer, record: Path) -> None:
    for path, kind in product(
        WRITES, ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
    ):
        assert ask(server, path, "POST", TAKE, Content_Type=kind).status == 400
    for path in WRITES:
        assert ask(server, path, "POST", TAKE, Content_Length="99999999").status == 400
        assert ask(server, path).status in (200, 404)  # a link to it does nothing
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert ask(server, "/api/decide", method, TAKE).status == 501
    assert is_untouched(record)


def test_token(record: Path) -> None:
    with editing(record, token="secret") as guarded:
        for path, query in product(
            ("/", "/api/edit", "/video", "/picture/0.jpg"), ("", "?token=", "?token=x")
        ):
            assert ask(guarded, f"{path}{query}").status == 403
        for path in WRITES:
            assert ask(guarded, path, "POST", TAKE).status == 403
        assert is_untouched(record)
        opened = ask(guarded, "/?token=secret")
        cookie = opened.headers["Set-Cookie"].split(";")[0]
        assert (opened.status, "secret" in cookie) == (303, False)
        assert ask(guarded, "/api/decide", "POST", TAKE, Cookie=cookie).status == 200


def test_no_other_file_is_sent(server: EditServer, made: Path) -> None:
    (made / "secret.mp4").write_bytes(b"secret")
    names = ("../", "..%2f", "%2e%2e/", f"{made}/", "0.jpg/../../", "")
    for base, name in product(("/video/", "/picture/", "/edit.css/", "/templates/", "/"), names):
        answer = ask(server, f"{base}{name}secret.mp4")
        assert (answer.status, b"secret" in answer.body) == (404, False), base + name
    for path in (
        "/picture/999.jpg",
        "/picture/-1.jpg",
        "/picture/x.jpg",
        "/picture/1.png",
        "/video/1",
        "/api",
    ):
        assert ask(server, path).status == 404


def test_video_that_was_replaced_is_not_sent(server: EditServer, made: Path) -> None:
    film = made / "film.mp4"
    content, times = film.read_bytes(), film.stat()
    assert ask(server, "/video", Range="bytes=0-99").body == content[:100]
    for other in (b"TOP SECRET", b"TOP SECRET".ljust(len(content))):
        film.write_bytes(other)
        answer = ask(server, "/video")
        assert (answer.status, b"SECRET" in answer.body) == (404, False)
    film.unlink()
    os.mkfifo(film)
    assert ask(server, "/video").status == 404
    film.unlink()
    film.symlink_to("/etc/passwd")
    assert ask(server, "/video").status == 404
    film.unlink()
    film.write_bytes(content)
    os.utime(film, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert ask(server, "/video").body == content


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *(("/api/decide", body) for body in ({}, [], None, 3, "take", {**TAKE, "path": "/etc/passwd"})),
        ("/api/decide", {**TAKE, "start_s": -1}),
        ("/api/decide", {**TAKE, "start_s": float("nan")}),
        ("/api/decide", {"action": "plan", "budget_s": 1e400, "planned": []}),
        ("/api/decide", {"action": "plan", "planned": [[]]}),
        *(("/api/plan", {"limit": limit}) for limit in (0, -1, "9", None, True, float("inf"), [])),
        ("/api/plan", []),
    ],
)
def test_odd_requests(server: EditServer, record: Path, path: str, body: Any) -> None:
    answer = ask(server, path, "POST", body if body is not None else 0)
    assert answer.status == 400
    assert "fault" not in answer.json["error"]
    assert is_untouched(record)


def test_decisions_undo_and_pictures(server: EditServer, record: Path) -> None:
    about = ask(server, "/api/edit").json
    state = ask(server, "/api/decide", "POST", TAKE).json
    assert {"start_s": 6, "end_s": 8, "by_hand": True, "title": ""} in state["groups"][0]["parts"]
    assert read_decisions(decisions_path(record))["decisions"] == [TAKE]
    assert ask(server, "/api/undo", "POST", {}).json["groups"][0]["parts"] == about["groups"][0]["parts"]
    assert ask(server, "/api/redo", "POST", {}).json["groups"][0]["parts"] == state["groups"][0]["parts"]
    for number in (0, len(about["units"]) - 1):
        picture = ask(server, f"/picture/{number}.jpg")
        assert (picture.headers["Content-Type"], picture.body[:2]) == ("image/jpeg", b"\xff\xd8")


def test_two_pages_share_their_decisions(server: EditServer, record: Path) -> None:
    with editing(record) as other:
        ask(server, "/api/decide", "POST", TAKE)
        assert ask(other, "/api/edit").json["undo"] == 1
        ask(other, "/api/decide", "POST", {**TAKE, "start_s": 30, "end_s": 31})
        assert ask(server, "/api/undo", "POST", {}).json["undo"] == 1
        assert read_decisions(decisions_path(record))["decisions"] == [TAKE]


def test_change_of_an_older_state_is_refused(server: EditServer, record: Path) -> None:
    with editing(record) as other:
        older = ask(server, "/api/edit").json["revision"]
        newer = ask(other, "/api/decide", "POST", TAKE, If_Match=older).json["revision"]
        second = {**TAKE, "start_s": 30, "end_s": 31}
        for path, body in (("/api/decide", second), ("/api/plan", {"limit": 5})):
            assert ask(server, path, "POST", body, If_Match=older).status == 412
        for path in ("/api/undo", "/api/redo", "/api/save"):
            assert ask(server, path, "POST", {}, If_Match=older).status == 412
        assert read_decisions(decisions_path(record))["decisions"] == [TAKE]
        assert ask(server, "/api/edit").json["revision"] == newer != older
        assert ask(server, "/api/decide", "POST", second, If_Match=newer).status == 200
        assert read_decisions(decisions_path(record))["decisions"] == [TAKE, second]


PROGRAM = [sys.executable, "-m", "vidsum", "edit", "--json"]


@pytest.mark.deep
def test_killed_server_loses_no_decision(record: Path) -> None:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*PROGRAM, str(record)], **pipes) as ran:
        assert ran.stdout
        url = json.loads(ran.stdout.readline())["data"]["url"]
        sent = Request(f"{url}api/decide", json.dumps(TAKE).encode(), {"Content-Type": "application/json"})
        with urlopen(sent) as answer:
            assert json.load(answer)["undo"] == 1
        ran.kill()
    assert read_decisions(decisions_path(record))["decisions"] == [TAKE]
