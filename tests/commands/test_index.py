"""`vidsum index` and `vidsum search`."""

import json
import os
from pathlib import Path

import pytest

from tests.archive.made import claim, film, make_with, spoken, use_archive
from tests.archive.serving import started
from tests.commands.conftest import csv_rows
from tests.program import Run, check_schema
from vidsum.archive import claims
from vidsum.archive.archive import Archive
from vidsum.commands import index as index_command


@pytest.fixture(autouse=True)
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are colours, no real network is loaded, and the archive is the test's own."""
    use_archive(monkeypatch)
    monkeypatch.setenv("VIDSUM_ARCHIVE", "a.vidsum")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    film(folder / "film.mp4")
    film(folder / "below" / "sea.mp4", ("blue", "blue", "green"), seed=2)
    return folder


@pytest.fixture
def indexed(run: Run, videos: Path) -> Path:
    run("index", videos, "-r", "--device", "cpu")
    return videos


def test_index_and_search(run: Run, videos: Path) -> None:
    ran = run("index", videos, "--recursive", "--device", "cpu")
    assert "film.mp4: added" in ran.out
    assert ran.out.endswith("2 inputs: 2 done\n")
    ran = run("search", "red", "-k", "1")
    head, first, *_ = ran.out.splitlines()
    assert head.split() == ["rank", "match", "start", "end", "video"]
    assert first.split()[3:] == ["0:00.00", "0:02.00", str(videos / "film.mp4")]
    again = run("index", videos, "--recursive", "--device", "cpu")
    assert again.out.split() == ["2", "inputs:", "2", "up", "to", "date"]


def test_index_lists_a_single_unchanged_video(run: Run, videos: Path) -> None:
    film = str(videos / "film.mp4")
    assert run("index", film, "--device", "cpu").out.startswith(f"{film}: added")
    assert run("index", film, "--device", "cpu").out.startswith(f"{film}: unchanged")


def test_search_in_speech(run: Run, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table names the kind of evidence, and the films that have no transcript are counted."""

    said = spoken("the sky is blue.")
    make_with(monkeypatch, speech=lambda video, _: said if video.endswith("sea.mp4") else None)
    run("index", videos, "-r", "--device", "cpu")
    ran = run("search", "blue", "--in", "speech")
    assert ran.out.splitlines()[0].split() == ["rank", "match", "start", "end", "in", "video", "text"]
    assert ran.out.splitlines()[1].split()[5] == "speech"
    assert "not searched: speech of 1 of 2 videos (--transcribe); see vidsum index\n" in ran.out
    assert "not searched" not in run("search", "blue", "--in", "picture").out


def test_json_is_one_object(run: Run, videos: Path) -> None:
    lines = run("index", videos, "-r", "--device", "cpu", "--json").json_lines
    assert [line["data"]["change"] for line in lines] == ["added", "added"]
    result = run("search", "blue", "--json").json
    for line in (*lines, result):
        check_schema(line, "result")
    moments = result["data"]["moments"]
    assert [item["rank"] for item in moments] == [*range(1, len(moments) + 1)]
    assert "shot" not in moments[0]
    assert run("search", "blue", "-o", "-").json == result["data"]
    otio = pytest.importorskip("opentimelineio")
    options = ("--duplicates", "--per-video", "1", "--timeline", "blue.otio", "-o", "blue.json")
    ran = run("search", "blue", *options)
    assert {"blue.otio", "blue.json"} <= set(ran.out.split())
    clips = list(otio.adapters.read_from_file("blue.otio").tracks[0])
    rows = json.loads(Path("blue.json").read_text())["moments"]
    urls = [clip.media_reference.target_url for clip in clips]
    assert [Path(url).name for url in urls] == [Path(row["video"]).name for row in rows]
    assert [clip.markers[0].name.split(")")[0] for clip in clips] == ["blue (1", "blue (2"]
    replaced = run("search", "red", "--timeline", "blue.otio")
    assert "unchanged" not in replaced.out
    Path("blue.otio").write_text(Path("blue.otio").read_text().replace("red (1", "sunset (1"))
    run("search", "red", "--timeline", "blue.otio", code=1)  # edited since
    run("search", "red", "--timeline", "blue.otio", "--overwrite")


@pytest.mark.skipif(os.name != "posix", reason="names are Unicode")
def test_search_failed_export(run: Run, tmp_path: Path) -> None:
    film(tmp_path / "videos" / "film.mp4")
    film(tmp_path / "videos" / os.fsdecode(b"fil\xe9.mp4"), ("red", "blue", "red"), seed=3)
    run("index", tmp_path / "videos", "--device", "cpu")
    outputs = ("-o", "found.csv", "--page", "found.html", "--timeline", "cut.kdenlive")
    run("search", "red", "-k", "9", *outputs, code=1)
    assert (Path("found.csv").exists(), Path("found.html").exists()) == (True, True)


def test_workers_fill_one_archive(run: Run, videos: Path) -> None:
    (videos / "bad.mp4").write_bytes(b"no video")  # real workers have no colours: they read, and fail alike
    (videos / "worse.mp4").write_bytes(b"no video")
    ran = run("index", videos / "bad.mp4", videos / "worse.mp4", "--jobs", "2", "--device", "cpu", code=1)
    assert "2 failed" in ran.out
    assert "bad.mp4" in ran.err


def test_index_prune(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").unlink()
    ran = run("index", indexed, "-r", "--device", "cpu")
    assert f"{indexed / 'film.mp4'}: missing" in ran.out
    assert "--prune" in ran.out
    assert "missing" not in run("index", indexed, "-r", "--device", "cpu").out  # once is enough
    assert "film.mp4: removed" in run("index", indexed, "-r", "--prune", "--device", "cpu").out
    assert "film" not in run("search", "red").out


def test_index_prune_moved(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").rename(indexed / "new.mp4")
    ran = run("index", indexed, "-r", "--prune", "--device", "cpu")
    assert f"new.mp4: moved from {indexed / 'film.mp4'}" in ran.out
    assert "removed" not in ran.out


def test_search_overwrite(run: Run, indexed: Path) -> None:
    Path("clips").mkdir()
    Path("clips/01_film.mp4").write_bytes(b"mine")
    run("search", "red", "-k", "1", "--clips-dir", "clips", code=1, error="already exists")
    assert Path("clips/01_film.mp4").read_bytes() == b"mine"
    Path("found.json").write_text("my own")
    run("search", "blue", "-o", "found.json", "--clips-dir", "none", code=1, error="already exists")
    assert not Path("none").exists()  # nothing is written before the list is refused


def test_search_list_and_clips(run: Run, indexed: Path) -> None:
    run("search", "blue", "--clips-dir", "clips", "-k", "2", "--duplicates", "-o", "found.csv")
    rows = csv_rows("found.csv")
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert float(rows[0]["end_s"]) > float(rows[0]["start_s"])
    assert len(list(Path("clips").glob("*.mp4"))) == 2
    run("search", "blue", "-o", "found.json")
    assert json.loads(Path("found.json").read_text())["schema"] == "vidsum.search/1"
    Path("found.csv").write_text("my own")
    run("search", "blue", "-o", "found.csv", code=1)
    assert Path("found.csv").read_text() == "my own"
    (indexed / "below" / "sea.mp4").unlink()
    assert "found.html" in run("search", "blue", "--not", "red", "--page", "found.html").out
    page = Path("found.html").read_text()
    assert page.count("<script") == 2
    assert "<title>blue, not red" in page
    stored = json.loads(page.split('id="stored">')[1].split("</script>")[0])
    listed = json.loads(run("search", "blue", "--not", "red", "--json").out)["data"]["moments"]
    assert [moment["video"] for moment in stored["moments"]] == [moment["video"] for moment in listed]
    assert all(str(moment["shot"]) in stored["thumbs"] for moment in stored["moments"])
    sources = {Path(entry["video"]).name: entry["source"] for entry in stored["videos"].values()}
    assert sources == {"film.mp4": os.path.relpath(indexed / "film.mp4"), "sea.mp4": None}
    run("search", "red", "--page", "found.html")
    assert "<title>red" in Path("found.html").read_text()
    Path("found.html").write_text("edited")
    run("search", "blue", "--page", "found.html", code=1)


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_search_clips_spare_videos(run: Run, indexed: Path, link: str) -> None:
    video = next(indexed.rglob("*.mp4")).resolve()
    before = video.read_bytes()
    run("search", "red", "-k", "2", "--clips-dir", "found", "--duplicates")
    for path in Path("found").iterdir():
        path.unlink()
        getattr(path, link)(video)
    ran = run("search", "red", "-k", "2", "--clips-dir", "found", "--duplicates", "--overwrite", code=1)
    assert "over the input" in ran.err
    assert video.read_bytes() == before


def test_search_clips_of_vanished_video(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").unlink()
    ran = run("search", "blue", "--clips-dir", "clips", "--duplicates", "-o", "found.json", code=1)
    assert [line for line in ran.err.splitlines() if "error" in line] == [
        f"error: {indexed / 'film.mp4'}: no such file"
    ]
    assert "film.mp4" in ran.out
    moments = json.loads(Path("found.json").read_text())["moments"]
    assert [("clip" in item) for item in moments] == ["sea.mp4" in item["video"] for item in moments]
    assert {Path(item["clip"]) for item in moments if "clip" in item} == {*Path("clips").glob("*.mp4")}


@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")])
def test_index_damaged_archive(run: Run, indexed: Path, jobs: tuple[str, ...]) -> None:
    size = 4096 * 3
    content = Path("a.vidsum").read_bytes()
    Path("a.vidsum").write_bytes(content[:size] + b"\xa5" * (len(content) - size))
    ran = run("index", indexed, "-r", "--device", "cpu", *jobs, code=3, error="a.vidsum: is damaged")
    assert [line for line in ran.err.splitlines() if "error" in line] == [ran.err.splitlines()[0]]


def test_index_on_server(run: Run, videos: Path) -> None:
    with started() as server:
        run("index", videos, "--archive", server, "--device", "cpu")
        ran = run("search", "red", "-k", "1", "--archive", server, "--json")
        assert ran.json["data"]["archive"] == "postgresql:///postgres"
        assert Path(ran.json["data"]["moments"][0]["video"]).name == "film.mp4"


def test_watch_waits_for_recordings(run: Run, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (videos / "below" / "sea.mp4").read_bytes()
    recorded = videos / "recorded.mp4"
    looks = list[int]()

    def sleep(seconds: float) -> None:
        looks.append(1)
        if len(looks) <= 3:  # a recorder writes
            recorded.write_bytes(whole[: len(whole) * len(looks) // 3])
            os.utime(recorded, (len(looks), len(looks)))
        elif len(looks) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr(index_command.time, "sleep", sleep)
    ran = run("index", videos, "--watch", "--device", "cpu", code=130)
    assert [line.split(":")[0] for line in ran.out.splitlines()] == [str(videos / "film.mp4"), str(recorded)]
    assert "recorded.mp4" not in ran.err
    assert run("search", "blue", "--path", "*recorded*").out.count("recorded.mp4") >= 1


@pytest.mark.parametrize("source", ["none.mp4", "empty"])
def test_index_without_result(run: Run, tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").mkdir()
    assert run("index", tmp_path / source, "--archive", tmp_path / "new.vidsum", code=None).code != 0
    assert not list(tmp_path.glob("new.vidsum*"))


def test_index_left_to_another_process(run: Run, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Archive("a.vidsum") as archive:
        for name in ("film.mp4", "other.mp4", "third.mp4"):
            film(videos / name, ("red",), seed=len(name))
            claim(archive, videos / name, 20, f"0f/pid:[1]/{name}@7")

        def wait(_: float) -> None:  # one goes on, one is killed, one is done
            archive._connection.execute("UPDATE claims SET until_s = until_s + 1 WHERE owner LIKE '%film%'")
            archive._connection.execute("UPDATE claims SET until_s = 0 WHERE owner LIKE '%other%'")
            archive._connection.execute("DELETE FROM claims WHERE owner LIKE '%third%'")

        monkeypatch.setattr(claims.time, "sleep", wait)
        ran = run("index", videos, "-r", "--device", "cpu", "--table", "t.csv")
    assert "4 inputs: 3 done, 1 left" in ran.out
    assert f"warning: {videos / 'film.mp4'}: left to another process" in ran.err
    assert sorted(row["state"] for row in csv_rows("t.csv")) == ["done"] * 3 + ["left"]


def test_watch_retries_left_videos(run: Run, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[int]()
    with Archive("a.vidsum") as archive:
        claim(archive, videos / "film.mp4", 20, "0f/pid:[1]/7@7")
        change = "UPDATE claims SET until_s = {}"

        def report(*_: object, **__: object) -> None:
            archive._connection.execute(change.format(0 if len(looks) > 2 else "until_s"))

        monkeypatch.setattr(index_command, "_report_missing", report)

        def sleep(_: float) -> None:
            looks.append(1)
            archive._connection.execute(change.format("until_s + 1"))
            if len(looks) > 8:
                raise KeyboardInterrupt

        monkeypatch.setattr(claims.time, "sleep", sleep)
        assert "film.mp4: added" in run("index", videos, "--watch", "--device", "cpu", code=130).out
