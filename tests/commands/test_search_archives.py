"""`vidsum search` with more than one `--archive`."""

import json
import re
from pathlib import Path

import pytest

from tests.archive.made import film, use_archive
from tests.program import Run
from vidsum.times import to_srt


@pytest.fixture(autouse=True)
def archives(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two archives of a film each; the second film begins as the first does."""
    monkeypatch.chdir(tmp_path)
    use_archive(monkeypatch)
    film(tmp_path / "a.mp4", ("red", "green"), seed=1)
    film(tmp_path / "b.mp4", ("red", "blue", "blue"), seed=2)
    for name in "ab":
        run("index", f"{name}.mp4", "--archive", f"{name}.vidsum")


BOTH = ("--archive", "a.vidsum", "--archive", "b.vidsum")


def test_document_names_all_archives(run: Run) -> None:
    run("search", "red", *BOTH, "-o", "found.json")
    assert json.loads(Path("found.json").read_text())["archive"] == ["a.vidsum", "b.vidsum"]


def test_document_of_one_archive_has_its_name(run: Run) -> None:
    run("search", "red", "--archive", "a.vidsum", "-o", "found.json")
    assert json.loads(Path("found.json").read_text())["archive"] == "a.vidsum"


def test_table_names_the_archive_of_each_moment(run: Run) -> None:
    run("search", "red", *BOTH, "-o", "found.csv")
    head, *rows = Path("found.csv").read_text().splitlines()
    assert head.endswith(",archive")
    assert {row.rpartition(",")[2] for row in rows} == {"a.vidsum", "b.vidsum"}


def test_clips_come_from_the_videos_of_both_archives(run: Run) -> None:
    run("search", "red", *BOTH, "--clips-dir", "clips", "--per-video", 1)
    assert {path.stem[3:] for path in Path("clips").glob("*.mp4")} == {"a", "b"}


def test_a_page_tells_the_videos_of_two_archives_apart(run: Run) -> None:
    """Both films have the id 1 in their archives."""
    run("search", "red", *BOTH, "--page", "page.html", "--per-video", 1)
    stored = re.search(r'id="stored">(.*?)</script>', Path("page.html").read_text(), re.DOTALL)
    assert stored
    page = json.loads(stored[1])
    videos = {number: Path(about["video"]).name for number, about in page["videos"].items()}
    assert sorted(videos.values()) == ["a.mp4", "b.mp4"]
    assert [Path(moment["video"]).name for moment in page["moments"]] == [
        videos[str(moment["id"])] for moment in page["moments"]
    ]
    assert all(str(moment["shot"]) in page["thumbs"] for moment in page["moments"])


def test_warnings_about_evidence_name_their_archive(run: Run) -> None:
    out = run("search", "red", *BOTH).out
    assert ("a.vidsum: not searched" in out, "b.vidsum: not searched" in out) == (True, True)


def test_warning_about_files_of_another_space_names_their_archive(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.archive.archive.Archive.n_outdated", lambda archive: 3)
    err = run("search", "red", *BOTH).err
    for name in ("a.vidsum", "b.vidsum"):
        assert f"{name}: 3 files are not in the archive's space, vse: run vidsum index on them" in err


def test_two_archives_from_a_configuration(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("all.yaml").write_text("search:\n  archive: [a.vidsum, b.vidsum]\n")
    monkeypatch.setenv("VIDSUM_CONFIG", "all.yaml")
    run("search", "red", "-o", "found.json")
    assert len(json.loads(Path("found.json").read_text())["archive"]) == 2


def test_the_shared_variable_names_one_archive(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_ARCHIVE", "b.vidsum")
    run("search", "red", "-o", "found.json")
    assert json.loads(Path("found.json").read_text())["archive"] == "b.vidsum"


def test_negation_that_was_said_needs_no_warning(run: Run) -> None:
    Path("a.srt").write_text(to_srt([(0.5, 3.0, "It is not green.")]))
    run("index", "a.mp4", "--archive", "a.vidsum")
    messages = {name: run("search", "it is not green", "--archive", f"{name}.vidsum").err for name in "ab"}
    assert {name: "negation" in message for name, message in messages.items()} == {"a": False, "b": True}
