"""An archive keeps its space, by any version of its networks."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.made import count, film, names
from vidsum.archive import space_versions
from vidsum.archive.archive import Archive
from vidsum.archive.settings import SearchOptions
from vidsum.archive.space_versions import networks_digest
from vidsum.errors import UsageError, WeightsError
from vidsum.features.settings import CLIP_FAMILY

pytestmark = pytest.mark.usefixtures("colours")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    film(folder / "a.mp4")
    film(folder / "b.mp4", ("red", "red", "blue"), seed=1)
    shutil.copy(folder / "b.mp4", folder / "copy.mp4")
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


def use_newer_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other versions of the networks make new vectors."""
    monkeypatch.setattr(space_versions, "networks_digest", lambda name: networks_digest(name)[::-1])


def space_ids(archive: Archive) -> set[int]:
    query = "SELECT DISTINCT space FROM files JOIN videos ON videos.id = video"
    return {number for (number,) in archive.rows(query)}


def test_archive_keeps_its_space(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos / "a.mp4")
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: name)  # clip would be the choice
    archive.add(videos / "b.mp4")
    assert (archive.space, space_ids(archive)) == ("vse", {1})
    assert set(names(archive.search("red"))) == {"a.mp4", "b.mp4"}


@pytest.mark.usefixtures("installed")
def test_new_archive_has_the_best_space(
    videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.add(videos)
    assert archive.space == "clip"
    (best, *_) = archive.search("green")
    assert Path(best.video).name == "a.mp4"
    assert best.present is not None
    assert 0.2 < best.present < 1
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None if name in CLIP_FAMILY else name)
    with pytest.raises(WeightsError, match="its space is clip, whose weights are not installed"):
        archive.search("green")
    assert archive.space == "clip"


@pytest.mark.usefixtures("installed")
def test_a_german_query_of_an_english_archive_has_no_match_probability(
    videos: Path, archive: Archive
) -> None:
    archive.add(videos / "a.mp4")
    matches = archive.search("ein Hund im Schnee")
    assert matches
    assert {match.present for match in matches} == {None}
    unmeasured, foreign = archive.query_warnings("ein Hund im Schnee", SearchOptions(), matches)
    assert unmeasured.startswith("the space clip was never measured")
    assert "not English, the only language of this space" in foreign


@pytest.mark.usefixtures("installed")
def test_space_of_a_new_archive_can_be_chosen(videos: Path, archive: Archive) -> None:
    archive.add(videos / "a.mp4", space="vse")
    with pytest.raises(UsageError, match="the space of this archive is vse, not clip") as raised:
        archive.add(videos / "b.mp4", space="clip")
    assert "--archive FILE" in str(raised.value.hint)
    assert [video.state for video in archive.add(videos)] == ["unchanged", "added", "added"]
    assert (archive.space, space_ids(archive)) == ("vse", {1})


@pytest.mark.usefixtures("installed")
def test_other_networks_of_a_space(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their vectors do not compare with today's texts, except in `vse`: they are made again."""
    archive.add(videos)
    use_newer_networks(monkeypatch)
    assert (archive.n_outdated(), archive.search("green")) == (3, [])
    assert [video.state for video in archive.add(videos)] == ["changed", "changed", "unchanged"]
    assert (archive.n_outdated(), space_ids(archive), count(archive, "videos")) == (0, {2}, 2)
    assert names(archive.search("green"))[0] == "a.mp4"


def test_newer_map(videos: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add(videos / "a.mp4")
    before = archive.search("green")
    use_newer_networks(monkeypatch)
    assert archive.search("green") == before
    assert archive.add(videos / "a.mp4")[0].state == "unchanged"
    archive.add(videos / "b.mp4")  # by the newer one
    assert (space_ids(archive), archive.n_outdated()) == ({1, 2}, 0)
    assert archive.search("green")[0] == before[0]
    assert set(names(archive.search("red"))) == {"a.mp4", "b.mp4"}
