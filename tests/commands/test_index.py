"""`vidsum index` and `vidsum search`."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

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


def make_films(folder: Path) -> Path:
    """Make `film` of all colours, and `sea`, blue before green, in a folder below."""
    film(folder / "film.mp4")
    film(folder / "below" / "sea.mp4", ("blue", "blue", "green"), seed=2)
    return folder


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    return make_films(tmp_path / "videos")


@pytest.fixture
def indexed(run: Run, videos: Path) -> Path:
    """The videos of an archive, which a test may change."""
    run("index", videos, "-r", "--device", "cpu")
    return videos


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive and its videos."""
    folder = tmp_path_factory.mktemp("stored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        with Archive(folder / "a.vidsum") as archive:
            archive.add(make_films(folder / "videos"), recursive=True)
    return folder


@pytest.fixture
def library(stored: Path) -> Path:
    """Copy that archive; the videos, in the folder that is returned, are only read."""
    shutil.copy(stored / "a.vidsum", "a.vidsum")
    return stored / "videos"


def test_index_lists_new_videos(run: Run, videos: Path) -> None:
    ran = run("index", videos, "--recursive", "--device", "cpu")
    assert "film.mp4: added" in ran.out
    assert ran.out.endswith("2 inputs: 2 done\n")


def test_index_names_the_subtitles_that_it_took(run: Run) -> None:
    film(Path("film.mp4"))
    Path("film.srt").write_text("1\n00:00:00,500 --> 00:00:01,500\nHello there.\n")
    assert "transcript: film.srt" in run("index", "film.mp4", "--device", "cpu").out.splitlines()
    assert "transcript" not in run("index", "film.mp4", "--device", "cpu").out  # unchanged


def test_index_counts_unchanged_videos(run: Run, indexed: Path) -> None:
    again = run("index", indexed, "--recursive", "--device", "cpu")
    assert again.out.split() == ["2", "inputs:", "2", "up", "to", "date"]


def test_search_prints_a_table_of_moments(run: Run, library: Path) -> None:
    ran = run("search", "red", "-k", "1")
    head, first, *_ = ran.out.splitlines()
    assert head.split() == ["rank", "match", "start", "end", "video"]
    assert first.split()[3:] == ["0:00.00", "0:02.00", str(library / "film.mp4")]


def test_index_says_that_photographs_are_left_out(run: Run, videos: Path) -> None:
    for name in ("a.jpg", "b.PNG", ".hidden.jpg", "below/c.jpg"):
        path = videos / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    line = "photographs are not indexed: an archive holds videos"
    assert run("index", videos, "-r", "--device", "cpu").out.endswith(f"\n3 {line}\n")
    flat = run("index", videos, "--device", "cpu", "--json").json_lines
    (document,) = [line["data"] for line in flat if "photographs" in line["data"]]
    assert document["photographs"] == 2
    assert line not in run("index", videos / "film.mp4", "--device", "cpu").out


def test_photographs_are_counted_where_a_video_fails(run: Run, videos: Path) -> None:
    (videos / "a.jpg").write_bytes(b"")
    (videos / "broken.mp4").write_bytes(b"")
    ran = run("index", videos, "-r", "--device", "cpu", code=1)
    assert ran.out.endswith("\n1 photograph is not indexed: an archive holds videos\n")


def test_index_lists_a_single_unchanged_video(run: Run, videos: Path) -> None:
    film = str(videos / "film.mp4")
    assert run("index", film, "--device", "cpu").out.startswith(f"{film}: added")
    assert run("index", film, "--device", "cpu").out.startswith(f"{film}: unchanged")


@pytest.fixture
def talking(run: Run, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive in which `sea` alone has a transcript."""
    said = spoken("the sky is blue.")
    make_with(monkeypatch, speech=lambda video, _: said if video.endswith("sea.mp4") else None)
    run("index", videos, "-r", "--device", "cpu")


@pytest.mark.usefixtures("talking")
def test_search_in_speech_names_the_kind_of_evidence(run: Run) -> None:
    ran = run("search", "blue", "--in", "speech")
    assert ran.out.splitlines()[0].split() == ["rank", "match", "start", "end", "in", "video", "text"]
    assert ran.out.splitlines()[1].split()[5] == "speech"


@pytest.mark.usefixtures("talking")
def test_search_counts_videos_without_the_evidence(run: Run) -> None:
    ran = run("search", "blue", "--in", "speech")
    lacking = "speech of 1 of 2 videos (sound, but no transcript: --transcribe)"
    assert f"not searched: {lacking}; see vidsum index\n" in ran.out
    assert "not searched" not in run("search", "blue", "--in", "picture").out


def test_index_prints_an_object_per_video_as_json(run: Run, videos: Path) -> None:
    lines = run("index", videos, "-r", "--device", "cpu", "--json").json_lines
    assert [line["data"]["change"] for line in lines] == ["added", "added"]
    for line in lines:
        check_schema(line, "result")


@pytest.mark.usefixtures("library")
def test_search_prints_one_object_as_json(run: Run) -> None:
    result = run("search", "blue", "--json").json
    check_schema(result, "result")
    moments = result["data"]["moments"]
    assert [item["rank"] for item in moments] == [*range(1, len(moments) + 1)]
    assert "shot" not in moments[0]


@pytest.mark.usefixtures("library")
def test_search_document_on_stdout_is_the_data_of_json(run: Run) -> None:
    assert run("search", "blue", "-o", "-").json == run("search", "blue", "--json").json["data"]


@pytest.mark.usefixtures("library")
def test_search_timeline_has_the_moments_of_the_list(run: Run) -> None:
    otio = pytest.importorskip("opentimelineio")
    options = ("--duplicates", "--per-video", "1", "--timeline", "blue.otio", "-o", "blue.json")
    ran = run("search", "blue", *options)
    assert {"blue.otio", "blue.json"} <= set(ran.out.split())
    clips = list(otio.adapters.read_from_file("blue.otio").tracks[0])
    rows = json.loads(Path("blue.json").read_text())["moments"]
    urls = [clip.media_reference.target_url for clip in clips]
    assert [Path(url).name for url in urls] == [Path(row["video"]).name for row in rows]
    assert [clip.markers[0].name.split(")")[0] for clip in clips] == ["blue (1", "blue (2"]


@pytest.mark.usefixtures("library")
def test_search_replaces_a_timeline_unless_it_was_edited(run: Run) -> None:
    pytest.importorskip("opentimelineio")
    run("search", "blue", "--timeline", "blue.otio")
    replaced = run("search", "red", "--timeline", "blue.otio")
    assert "unchanged" not in replaced.out
    Path("blue.otio").write_text(Path("blue.otio").read_text().replace("red (1", "sunset (1"))
    run("search", "red", "--timeline", "blue.otio", code=1)
    run("search", "red", "--timeline", "blue.otio", "--overwrite")


@pytest.mark.skipif(os.name != "posix", reason="names are Unicode")
def test_search_failed_export(run: Run, tmp_path: Path) -> None:
    film(tmp_path / "videos" / "film.mp4")
    film(tmp_path / "videos" / os.fsdecode(b"fil\xe9.mp4"), ("red", "blue", "red"), seed=3)
    run("index", tmp_path / "videos", "--device", "cpu")
    outputs = ("-o", "found.csv", "--page", "found.html", "--timeline", "cut.kdenlive")
    run("search", "red", "-k", "9", *outputs, code=1)
    assert (Path("found.csv").exists(), Path("found.html").exists()) == (True, True)


@pytest.mark.deep
def test_workers_fill_one_archive(run: Run, videos: Path) -> None:
    (videos / "bad.mp4").write_bytes(b"no video")  # real workers have no colours: they read, and fail alike
    (videos / "worse.mp4").write_bytes(b"no video")
    ran = run("index", videos / "bad.mp4", videos / "worse.mp4", "--jobs", "2", "--device", "cpu", code=1)
    assert "2 failed" in ran.out
    assert "bad.mp4" in ran.err


def test_index_names_a_vanished_video_once(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").unlink()
    ran = run("index", indexed, "-r", "--device", "cpu")
    assert f"{indexed / 'film.mp4'}: missing" in ran.out
    assert "--prune" in ran.out
    assert "missing" not in run("index", indexed, "-r", "--device", "cpu").out


def test_index_prune_removes_a_vanished_video(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").unlink()
    assert "film.mp4: removed" in run("index", indexed, "-r", "--prune", "--device", "cpu").out
    assert "film" not in run("search", "red").out


def test_index_prune_keeps_a_moved_video(run: Run, indexed: Path) -> None:
    (indexed / "film.mp4").rename(indexed / "new.mp4")
    ran = run("index", indexed, "-r", "--prune", "--device", "cpu")
    assert f"new.mp4: moved from {indexed / 'film.mp4'}" in ran.out
    assert "removed" not in ran.out


@pytest.mark.usefixtures("library")
def test_search_refuses_a_foreign_clip(run: Run) -> None:
    Path("clips").mkdir()
    Path("clips/01_film.mp4").write_bytes(b"mine")
    run("search", "red", "-k", "1", "--clips-dir", "clips", code=1, error="already exists")
    assert Path("clips/01_film.mp4").read_bytes() == b"mine"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", ["found.json", "found.csv"])
def test_search_refuses_a_foreign_list_before_it_writes_clips(run: Run, name: str) -> None:
    Path(name).write_text("my own")
    run("search", "blue", "-o", name, "--clips-dir", "none", code=1, error="already exists")
    assert Path(name).read_text() == "my own"
    assert not Path("none").exists()


@pytest.mark.usefixtures("library")
def test_search_refuses_an_edited_list(run: Run) -> None:
    run("search", "blue", "-o", "found.csv")
    Path("found.csv").write_text("my own")
    run("search", "blue", "-o", "found.csv", code=1)
    assert Path("found.csv").read_text() == "my own"


@pytest.mark.usefixtures("library")
def test_search_writes_a_table_and_clips_of_its_moments(run: Run) -> None:
    run("search", "blue", "--clips-dir", "clips", "-k", "2", "--duplicates", "-o", "found.csv")
    rows = csv_rows("found.csv")
    assert [row["rank"] for row in rows] == ["1", "2"]
    assert float(rows[0]["end_s"]) > float(rows[0]["start_s"])
    assert len(list(Path("clips").glob("*.mp4"))) == 2


@pytest.mark.usefixtures("library")
def test_search_writes_a_document(run: Run) -> None:
    run("search", "blue", "-o", "found.json")
    assert json.loads(Path("found.json").read_text())["schema"] == "vidsum.search/1"


def test_search_page_stores_its_moments(run: Run, library: Path) -> None:
    assert "found.html" in run("search", "blue", "--not", "red", "--page", "found.html").out
    page = Path("found.html").read_text()
    assert page.count("<script") == 2
    assert "<title>blue, not red" in page
    stored = stored_in(page)
    listed = json.loads(run("search", "blue", "--not", "red", "--json").out)["data"]["moments"]
    assert [moment["video"] for moment in stored["moments"]] == [moment["video"] for moment in listed]
    assert all(str(moment["shot"]) in stored["thumbs"] for moment in stored["moments"])


def stored_in(page: str) -> Any:
    """Return the data that a page holds."""
    return json.loads(page.split('id="stored">')[1].split("</script>")[0])


def test_search_page_links_the_videos_that_exist(run: Run, indexed: Path) -> None:
    (indexed / "below" / "sea.mp4").unlink()
    run("search", "blue", "--page", "found.html")
    stored = stored_in(Path("found.html").read_text())
    sources = {Path(entry["video"]).name: entry["source"] for entry in stored["videos"].values()}
    assert sources == {"film.mp4": os.path.relpath(indexed / "film.mp4"), "sea.mp4": None}


@pytest.mark.usefixtures("library")
def test_search_replaces_a_page_unless_it_was_edited(run: Run) -> None:
    run("search", "blue", "--page", "found.html")
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


@pytest.mark.deep
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
