"""An archive keeps its space, and changes it without a gap."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.made import film, spoken
from vidsum.archive import index, spaces
from vidsum.archive.archive import Archive
from vidsum.archive.spaces import networks_digest
from vidsum.errors import WeightsError
from vidsum.features.settings import CLIP_FAMILY

pytestmark = pytest.mark.usefixtures("colours")


@pytest.fixture
def videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "videos"
    film(folder / "a.mp4")
    film(folder / "b.mp4", ("red", "red", "blue"), seed=1)
    shutil.copy(folder / "b.mp4", folder / "copy.mp4")
    texts = {"a.mp4": "the sky is green today."}

    def read(video: str, *rest: object, transcribe: bool) -> object:
        return spoken(texts.get(Path(video).name, "silence.")) if transcribe else None

    monkeypatch.setattr(index, "read_speech", read)
    return folder


@pytest.fixture
def installed(colours: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the weights of `clip`, and of no other network of the CLIP family."""
    others = {*CLIP_FAMILY} - {"clip"}
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None if name in others else name)


@pytest.fixture
def archive(place: str) -> Iterator[Archive]:
    with Archive(place) as opened:
        yield opened


def use_newer_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another version of the map make new vectors."""
    monkeypatch.setattr(spaces, "networks_digest", lambda name: f"newer {networks_digest(name)}")


def count(archive: Archive, table: str) -> int:
    return int(archive.rows(f"SELECT count(*) FROM {table}")[0][0])


def names(archive: Archive, text: str, **options: object) -> list[str]:
    return [Path(match.video).name for match in archive.search(text, **options)]  # type: ignore[arg-type]


def space_ids(archive: Archive) -> set[int]:
    query = "SELECT DISTINCT space FROM files JOIN videos ON videos.id = video"
    return {number for (number,) in archive.rows(query)}


def test_archive_keeps_its_space(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos / "a.mp4")
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: name)  # clip would be the choice
    archive.add(videos / "b.mp4")
    assert (archive.space, space_ids(archive)) == ("vse", {1})
    assert set(names(archive, "red")) == {"a.mp4", "b.mp4"}


@pytest.mark.usefixtures("installed")
def test_new_archive_has_the_best_space(
    videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(videos)
    assert archive.space == "clip"
    (best, *_) = archive.search("green")
    assert Path(best.video).name == "a.mp4"
    assert best.present is None
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None if name in CLIP_FAMILY else name)
    with pytest.raises(WeightsError, match="its space is clip, whose weights are not installed"):
        archive.search("green")
    assert archive.space == "clip"


@pytest.mark.usefixtures("installed")
def test_change_space(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos, space="vse", transcribe=True)
    before = archive.search("green", evidence="picture")
    archive.begin_change("clip")
    archive.add_video(str(videos / "a.mp4"), index.Extraction(), space="clip")
    assert archive.search("green", evidence="picture") == before
    change = archive.complete_change("clip")
    assert not change.is_complete
    assert [Path(path).name for path in change.left] == ["b.mp4", "copy.mp4"]
    assert archive.search("green", evidence="picture") == before
    assert archive.space == "vse"
    states = [video.state for video in archive.add([], space="clip")]
    assert states == ["unchanged", "changed", "unchanged"]
    assert (archive.space, archive.n_outdated(), count(archive, "videos")) == ("clip", 0, 2)
    assert (count(archive, "spaces"), space_ids(archive)) == (2, {2})
    (match, *_) = archive.search("green", evidence="picture")
    assert (Path(match.video).name, match.start_s, match.end_s) == ("a.mp4", 2.0, 4.0)
    assert names(archive, "green", evidence="speech")[0] == "a.mp4"
    assert {video.state for video in archive.add(videos)} == {"unchanged"}
    archive.add([], space="vse")
    assert archive.search("green", evidence="picture") == before


@pytest.mark.usefixtures("installed")
def test_missing_and_changed_films(videos: Path, archive: Archive) -> None:
    film(videos / "c.mp4", ("green", "green"), seed=4)
    archive.add(videos, space="vse")
    (videos / "a.mp4").rename(away := videos.parent / "a.mp4")
    film(videos / "c.mp4", ("yellow", "green"), seed=5)
    paths = archive.begin_change("clip")
    assert [Path(path).name for path in paths] == ["b.mp4", "c.mp4", "copy.mp4"]
    archive.add_video(paths[0], index.Extraction(), space="clip")
    change = archive.complete_change("clip")
    assert [Path(path).name for path in change.missing] == ["a.mp4", "c.mp4"]
    assert change.is_complete
    assert set(names(archive, "green")) == {"b.mp4"}
    assert archive.n_outdated() == 2
    away.rename(videos / "a.mp4")
    states = [video.state for video in archive.add(videos)]
    assert states == ["changed", "unchanged", "changed", "unchanged"]
    assert archive.n_outdated() == 0
    assert "a.mp4" in names(archive, "green")


@pytest.mark.usefixtures("installed")
def test_absent_drive_changes_nothing(videos: Path, archive: Archive) -> None:
    archive.add(videos, space="vse")
    videos.rename(videos.with_name("away"))
    assert archive.add([], space="clip") == []
    assert archive.space == "vse"
    assert names(archive, "red")


def test_newer_map(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos / "a.mp4")
    before = archive.search("green")
    use_newer_map(monkeypatch)
    assert archive.search("green") == before
    assert archive.add(videos / "a.mp4")[0].state == "unchanged"
    archive.add(videos / "b.mp4")  # by the newer one
    assert (space_ids(archive), archive.n_outdated()) == ({1, 2}, 0)
    assert archive.search("green")[0] == before[0]
    assert set(names(archive, "red")) == {"a.mp4", "b.mp4"}
    archive.add([], space="vse")
    assert (space_ids(archive), count(archive, "videos")) == ({2}, 2)
    assert archive.search("green")[0] == before[0]


def test_newer_map_for_all(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos)
    use_newer_map(monkeypatch)
    archive.begin_change("vse")
    archive.add_video(str(videos / "a.mp4"), index.Extraction(), space="vse")
    assert space_ids(archive) == {1}
    archive.add([], space="vse")
    assert space_ids(archive) == {2}


@pytest.mark.usefixtures("installed")
def test_change_of_plan(videos: Path, archive: Archive) -> None:
    archive.add(videos, space="vse")
    archive.begin_change("clip")
    archive.add_video(str(videos / "a.mp4"), index.Extraction(), space="clip")
    assert count(archive, "videos") == 3
    archive.add([], space="vse")
    assert (archive.space, count(archive, "videos")) == ("vse", 2)


@pytest.mark.usefixtures("installed")
def test_new_and_moved_films_during_a_change(videos: Path, archive: Archive) -> None:
    archive.add(videos / "a.mp4", space="vse")
    archive.begin_change("clip")
    (videos / "a.mp4").rename(videos / "moved.mp4")
    added = [
        archive.add_video(str(videos / name), index.Extraction(), space="clip")
        for name in ("moved.mp4", "b.mp4")
    ]
    assert [video.state for video in added] == ["moved", "added"]
    assert set(names(archive, "green")) == {"moved.mp4"}
    assert archive.complete_change("clip").is_complete
    assert set(names(archive, "red")) == {"moved.mp4", "b.mp4"}
