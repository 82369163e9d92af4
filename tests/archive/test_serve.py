"""The page's server: what it answers, and whom it refuses."""

import io
import os
import socket
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import av
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.archive.made import film
from tests.archive.serving import serving
from tests.server.serving import Answer, ask
from vidsum.archive.archive import Archive
from vidsum.archive.serve import Server
from vidsum.errors import InputError, UsageError


@pytest.fixture
def archive(server: Server) -> Iterator[Archive]:
    """The archive that is served."""
    with Archive(server.archive.path) as opened:
        yield opened


def test_page_may_read_from_itself_alone(server: Server) -> None:
    page = ask(server, "/")
    assert page.status == 200
    assert b"<script src=" in page.body
    assert b"http:" not in page.body.replace(b"http://www.w3.org/2000/svg", b"")
    for path in ("/base.css", "/page.css", "/page.js"):
        assert ask(server, path).status == 200
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("request_fields", "options"),
    [
        ({"q": "red"}, {}),
        ({"q": "blue", "k": "1"}, {"top_k": 1}),
        ({"q": "blue", "in": "speech"}, {"evidence": "speech"}),
        ({"q": "green", "then": "blue", "duplicates": "1"}, {"then": ["blue"], "duplicates": True}),
        ({"q": "green", "and": ["green"], "per_video": "1"}, {"also": ["green"], "per_video": 1}),
        ({"q": "blue", "not": "green", "path": "*sea*"}, {"without": ["green"], "path": ["*sea*"]}),
        ({"q": "blue", "min-present": ".1"}, {"min_present": 0.1}),
        ({"q": "blue", "after": "2030-01-01"}, {"after": "2030-01-01"}),
    ],
)
def test_search_of_the_page_answers_as_the_archive(
    server: Server, archive: Archive, request_fields: dict[str, Any], options: dict[str, Any]
) -> None:
    answer = ask(server, f"/api/search?{urlencode(request_fields, doseq=True)}").json
    result = archive.search(request_fields["q"], **options)
    expected = [{"rank": rank, **asdict(match)} for rank, match in enumerate(result, 1)]
    for row in expected:
        row["parts"], row["also"] = [list(part) for part in row["parts"]], list(row["also"])
    extra = ("id", "shot", "duration_s")
    assert [{name: row[name] for name in row if name not in extra} for row in answer["moments"]] == expected
    for row in answer["moments"]:
        (about,) = archive.rows("SELECT duration_s FROM videos WHERE id = ?", row["id"])
        assert row["duration_s"] == about[0]
        assert ask(server, f"/thumb/{row['shot']}.jpg").body == archive.picture(
            next(match for match in result if match.start_s == row["start_s"] and match.video == row["video"])
        )


def test_shots_like_another_are_found_by_its_number(server: Server) -> None:
    shots = ask(server, "/api/video/1").json["shots"]
    first = ask(server, f"/api/search?like={shots[0]['id']}&k=1").json["moments"][0]
    assert (first["id"], first["start_s"], first["present"]) == (1, shots[0]["start_s"], None)
    assert ask(server, "/api/search?like=999").status == 404


def test_facts_of_a_video_are_those_of_the_archive(server: Server) -> None:
    about = ask(server, "/api/video/2").json
    assert Path(about["video"]).name == "the sea.mp4"
    assert about["duration_s"] == pytest.approx(6)
    assert about["shots"][0]["start_s"] == 0
    assert [item["text"] for item in about["said"]] == ["Blue <b>blue</b>.", "Green yellow."]
    passages = about["passages"]
    said = [[item["text"] for item in passage["said"]] for passage in passages if passage["said"]]
    assert said == [["Blue <b>blue</b>."], ["Green yellow."]]
    assert [item["text"] for item in about["written"]] == ["EXIT 7", "Lost <i>property"]
    assert [text for passage in passages for text in passage["written"]] == ["EXIT 7", "Lost <i>property"]
    starts = [start_s for passage in passages for start_s, _ in passage["shots"]]
    assert starts == [shot["start_s"] for shot in about["shots"]]
    seen = ask(server, "/api/archive").json
    counts = {row["kind"]: row["videos"] for row in seen["evidence"]}
    assert seen["videos"] == 2
    assert counts.items() >= {"picture": 2, "speech": 1, "text": 1, "described": 0}.items()
    assert seen["index"] == f"vidsum index FOLDER --archive {seen['archive']}"
    assert [entry["id"] for entry in seen["latest"]] == [2, 1]


@pytest.mark.parametrize(
    "query",
    [
        *("", "q=", "q=!!", "q=red&k=x", "q=red&k=0", "q=red&k=1e3", "q=red&in=smelt", "q=red&after=soon"),
        *("q=red&min_present=nan", "q=red&nonsense=1", "q=red&min_length=2s", "q=red&duplicates=2"),
        *("q=red&in=speech&and=blue", "&".join(f"q={number}" for number in range(200))),
    ],
)
def test_bad_parameter_is_refused_in_one_line(server: Server, query: str) -> None:
    answer = ask(server, f"/api/search?{query}")
    assert answer.status == 400
    assert list(answer.json) == ["error"]
    assert answer.json["error"].isprintable()
    assert "fault" not in answer.json["error"]


def test_path_that_the_page_does_not_have_is_not_found(server: Server, folder: Path) -> None:
    for path in ("/nothing", "/video/9", "/api/video/9", "/thumb/999.jpg", "/video/", "/video/x"):
        assert ask(server, path).status == 404
    (folder / "secret.mp4").write_bytes(b"secret")
    names = ("../", "..%2f", "%2e%2e/", f"{folder}/", "1/../../")
    for base, name in product(("/video/", "/thumb/", "/page.css/", "/templates/", "/"), names):
        answer = ask(server, f"{base}{name}secret.mp4")
        assert (answer.status, b"secret" in answer.body) == (404, False), base + name


def bytes_of(server: Server, number: int) -> bytes:
    return Path(ask(server, f"/api/video/{number}").json["video"]).read_bytes()


ENDS = st.one_of(st.just(""), st.integers(0, 40_000).map(str), st.just("9" * 18))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ENDS, last=ENDS, unit=st.sampled_from(["bytes=", "Bytes=", "bytes= "]))
def test_range_of_a_file_has_those_bytes(server: Server, first: str, last: str, unit: str) -> None:
    content = bytes_of(server, 1)
    answer = ask(server, "/video/1", Range=f"{unit}{first}-{last}")
    size = len(content)
    if not (first or last) or (first and last and int(last) < int(first)):
        assert (answer.status, answer.body) == (200, content)
        return
    part = content[int(first) : int(last) + 1 if last else None] if first else content[-int(last) or size :]
    if part:
        start = int(first) if first else size - len(part)
        assert (answer.status, answer.body) == (206, part)
        assert answer.headers["Content-Range"] == f"bytes {start}-{start + len(part) - 1}/{size}"
        assert int(answer.headers["Content-Length"]) == len(part)
    else:
        assert answer.status == 416
        assert answer.headers["Content-Range"] == f"bytes */{size}"


def test_parts_are_of_one_version(server: Server) -> None:
    whole = ask(server, "/video/1", "HEAD")
    tag = whole.headers["ETag"]
    assert (whole.status, whole.body, whole.headers["Accept-Ranges"]) == (200, b"", "bytes")
    assert int(whole.headers["Content-Length"]) == len(bytes_of(server, 1))
    assert ask(server, "/video/1", "HEAD", Range="bytes=0-1").status == 200
    assert ask(server, "/video/1", Range="bytes=0-1", If_Range=tag).status == 206
    assert ask(server, "/video/1", Range="bytes=0-1", If_Range='"other"').status == 200
    assert whole.headers["Content-Type"] == "video/mp4"
    for malformed in ("bytes=0-1,4-5", "bytes=a-b", "pages=0-1", "bytes=5-2", "bytes=-", "0-1"):
        assert ask(server, "/video/1", Range=malformed).status == 200


def test_request_for_another_host_is_refused(server: Server) -> None:
    port = server.server_port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", f"192.168.0.7:{port}"):
        answer = ask(server, "/api/archive", Host=host)
        assert (answer.status, list(answer.json)) == (403, ["error"]), host
    name = f"Host: 127.0.0.1:{port}\r\n"
    statuses = {name: b"200", "": b"403", name * 2: b"403", f"{name}Host: evil.example\r\n": b"403"}
    for hosts, status in statuses.items():
        with socket.create_connection(("127.0.0.1", server.server_port), 20) as connection:
            connection.sendall(f"GET /api/archive HTTP/1.0\r\n{hosts}\r\n".encode())
            assert connection.makefile("rb").readline().split()[1] == status, hosts


def test_request_of_another_site_is_refused(server: Server) -> None:
    values = f"http://127.0.0.1:{server.server_port}"
    assert ask(server, "/api/archive", Origin=values).status == 200
    for origin in ("http://evil.example", "null", values + "0", values.replace("http", "https")):
        assert ask(server, "/api/archive", Origin=origin).status == 403
        assert ask(server, "/api/clip", "POST", {"moments": []}, Origin=origin).status == 403
    for site in ("cross-site", "same-site"):
        assert ask(server, "/video/1", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors").status == 403
        assert ask(server, "/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200  # a link to it
    assert ask(server, "/api/archive", Host=f"localhost:{server.server_port}").status == 200
    odd_hosts = "x@localhost localhost:1@localhost /localhost localhost/ localhost? [localhost]"
    for odd in odd_hosts.split():
        assert ask(server, "/api/archive", Host=f"{odd}:{server.server_port}").status == 403


def test_form_or_method_of_another_kind_is_refused(server: Server) -> None:
    body = {"moments": [{"id": 1, "start_s": 0, "end_s": 1}]}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert ask(server, "/api/clip", "POST", body, Content_Type=kind).status == 400
    assert ask(server, "/api/clip", "POST", body, Content_Length="99999999").status == 400
    assert ask(server, "/api/archive", "POST", body).status == 404
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert ask(server, "/api/archive", method).status == 501


def test_token_is_needed_and_becomes_a_cookie(server: Server, folder: Path) -> None:
    with serving(folder / "a.vidsum", token="söcret +&") as guarded:
        token = quote("söcret +&")
        assert guarded.url.endswith(f"/?token={token}")
        for query in ("", "?token=", "?token=wrong", "?token=s%C3%B6"):
            assert ask(guarded, f"/{query}").status == 403
            assert ask(guarded, f"/video/1{query}").status == 403
        opened = ask(guarded, f"/?token={token}")
        assert (opened.status, opened.headers["Location"]) == (303, "/")
        cookie = opened.headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
        stored = cookie.split(";")[0]
        assert "cret" not in stored
        for path in ("/", "/api/archive", "/video/1"):
            assert ask(guarded, path, Cookie=f"other=1; {stored}").status == 200
            assert ask(guarded, path, Cookie=stored[:-1]).status == 403
        assert ask(guarded, f"/api/archive?token={token}").status == 200


def test_server_that_is_open_to_all_has_a_token(server: Server, folder: Path) -> None:
    assert "token" not in server.url
    with serving(folder / "a.vidsum", host="0.0.0.0") as open_to_all:
        assert ask(open_to_all, "/api/archive").status == 403
        token, port = open_to_all.token, open_to_all.server_port
        for host, status in (("192.168.0.7", 200), ("evil.example", 403), (socket.gethostname(), 200)):
            path = f"/api/archive?token={token}"
            assert ask(open_to_all, path, Host=f"{host}:{port}").status == status
        assert len(token) >= 16


def test_file_that_is_no_longer_the_video_is_not_sent(folder: Path, tmp_path: Path, server: Server) -> None:
    path, away = film(tmp_path / "odd.mp4", ("red", "red"), seed=3), tmp_path / "away.mp4"
    with Archive(tmp_path / "b.vidsum") as archive:
        archive.add(path)
    with serving(tmp_path / "b.vidsum") as odd:
        assert ask(odd, "/video/1").body == path.read_bytes()
        path.rename(away)
        other = tmp_path / "other.mp4"
        other.write_bytes(bytes(away.stat().st_size))
        faults = {
            "vanished": lambda: None,
            "changed": lambda: path.write_bytes(b"shorter"),
            "link": lambda: path.symlink_to(other),
            "folder": path.mkdir,
            "pipe": lambda: os.mkfifo(path),
        }
        for name, make in faults.items():
            make()
            for answer in (ask(odd, "/video/1"), ask(odd, "/video/1", "HEAD", Range="bytes=0-1")):
                assert (answer.status, len(answer.body) < 200) == (404, True), name
            moments = [{"id": 1, "start_s": 0, "end_s": 1}]
            assert ask(odd, "/api/clip", "POST", {"moments": moments}).status == 404
            assert ask(odd, "/api/search?q=red").status == 200
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        path.symlink_to(away)  # what was indexed, by a link
        assert ask(odd, "/video/1").status == 200


@pytest.mark.deep
def test_fifty_clients_at_once(server: Server) -> None:
    content = bytes_of(server, 1)
    expected = ask(server, "/api/search?q=blue").body

    def look(number: int) -> bool:
        result = ask(server, "/api/search?q=blue").body == expected
        part = ask(server, "/video/1", Range=f"bytes={number}-{number + 999}").body
        is_part = part == content[number : number + 1000]
        return result and is_part and ask(server, "/api/video/2").status == 200

    with ThreadPoolExecutor(50) as clients:
        assert all(clients.map(look, range(50)))


def test_client_that_resets_does_not_end_the_server(
    server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = (b"", b"\x00\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 70_000)
    for sent in (*odd, b"GET /video/1 HTTP/1.1\r\n"):
        with socket.create_connection(("127.0.0.1", server.server_port), 20) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
            connection.sendall(sent)
    assert ask(server, "/api/archive").status == 200
    assert capfd.readouterr().err == ""


def durations(content: bytes) -> float:
    with av.open(io.BytesIO(content)) as container:
        return float((container.duration or 0) / 1_000_000)


def test_moments_are_saved_as_clips(server: Server) -> None:
    item, other = {"id": 1, "start_s": 2, "end_s": 4}, {"id": 2, "start_s": 0, "end_s": 3.5}
    clip = ask(server, "/api/clip", "POST", {"moments": [item]})
    assert (clip.status, clip.headers["Content-Type"]) == (200, "video/mp4")
    assert clip.headers["Content-Disposition"] == "attachment; filename*=UTF-8''01_film.mp4"
    assert durations(clip.body) == pytest.approx(2, abs=0.1)
    several = ask(server, "/api/clip", "POST", {"moments": [item, other]})
    with zipfile.ZipFile(io.BytesIO(several.body)) as folder:
        assert folder.namelist() == ["01_film.mp4", "02_the sea.mp4"]
        assert durations(folder.read("02_the sea.mp4")) == pytest.approx(3.5, abs=0.1)


def test_moments_are_saved_as_a_timeline(server: Server) -> None:
    otio = pytest.importorskip("opentimelineio")
    moments = [{"id": 2, "start_s": 1, "end_s": 3}, {"id": 1, "start_s": 0, "end_s": 2}]

    def save(format: str | None, **options: str) -> Answer:
        return ask(server, "/api/timeline", "POST", {"moments": moments, "format": format, **options})

    answer = save("otio", query="blue")
    assert answer.headers["Content-Disposition"].endswith("moments.otio")
    timeline = otio.adapters.read_from_string(answer.body.decode(), "otio_json")
    clips = list(timeline.tracks[0])
    assert [clip.name for clip in clips] == ["blue (1)", "blue (2)"]
    assert [Path(clip.media_reference.target_url).name for clip in clips] == ["the%20sea.mp4", "film.mp4"]
    assert [clip.source_range.start_time.to_seconds() for clip in clips] == [1, 0]
    assert save("edl").body.count(b"* FROM CLIP NAME") == 2
    table = save("csv").body.decode().splitlines()
    assert table[0].startswith("rank,video,start_s")
    assert "the sea.mp4,1.0,3.0" in table[1]
    assert [save(format).status for format in ("srt", "exe", "../../x", None, "")] == [400] * 5


def test_moments_that_cannot_be_saved_are_refused(server: Server) -> None:
    items = [("x", 0, 1), (1, 3, 2), (1, -1, 2), (1, 0, 99), (1, 0, float("nan")), (1e400, 0, 1)]
    moments = [dict(zip(("id", "start_s", "end_s"), item, strict=True)) for item in items]
    odd = [3, [], [{"id": 1}], [None] * 3, [{"id": 1, "start_s": 0, "end_s": 1}] * 201]
    odd += [[moment] for moment in moments]
    bodies: list[Any] = [[], {}, *({"moments": content} for content in odd)]
    for body, path in product(bodies, ("/api/clip", "/api/timeline")):
        answer = ask(server, path, "POST", body)
        assert answer.status == 400, body
        assert "fault" not in answer.json["error"]


def test_server_errors(server: Server, folder: Path) -> None:
    with pytest.raises(UsageError, match="in use") as taken:
        Server(folder / "a.vidsum", "127.0.0.1", server.server_port)
    assert "port=0" in (taken.value.hint or "")
    with pytest.raises(UsageError, match="cannot be used"):
        Server(folder / "a.vidsum", "203.0.113.1", 0)
    with pytest.raises(InputError, match="no such archive") as missing:
        Server(folder / "none.vidsum", "127.0.0.1", 0)
    assert missing.value.hint == "vidsum index FOLDER"
