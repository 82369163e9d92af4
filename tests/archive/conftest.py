"""Archives in the space of colours, each in a folder of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.made import film, make_with, spoken, use_archive, written
from tests.archive.serving import new_database, serving, started
from tests.conftest import deep
from vidsum.archive.archive import Archive
from vidsum.archive.serve import Server


@pytest.fixture
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No real network is loaded, and the cache is the test's own."""
    use_archive(monkeypatch)


@pytest.fixture
def archive(tmp_path: Path, colours: None) -> Iterator[Archive]:
    """An empty one."""
    with Archive(tmp_path / "a.vidsum") as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with started() as url:
        yield url


@pytest.fixture(params=["file", deep("server")])
def place(request: pytest.FixtureRequest, tmp_path: Path, colours: None) -> str:
    """Where an archive is to be: a path, or an address."""
    if request.param == "file":
        return str(tmp_path / "a.vidsum")
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    """Serves `film` (1) and `the sea` (2), in which something is said and written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        with Archive(folder / "a.vidsum") as archive:
            archive.add(film(folder / "videos" / "film.mp4"))
            make_with(
                patch,
                speech=lambda *_: spoken("Blue <b>blue</b>.", "Green yellow."),
                text=lambda *_: written("EXIT 7", "Lost <i>property"),
            )
            archive.add(film(folder / "videos" / "the sea.mp4", ("blue", "blue", "green"), seed=2))
        with serving(folder / "a.vidsum") as started:
            yield started
