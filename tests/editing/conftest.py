"""A summary of a film of colours, made without weights, and the page that corrects it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import vidsum
from tests.archive.made import film
from tests.commands.conftest import use_mean_colours
from vidsum.editing.edit_server import EditServer
from vidsum.editing.session import EditSession
from vidsum.results.decisions import decisions_path

COLOURS = ("red", "green", "blue", "yellow", "green", "red", "yellow", "blue", "red", "green")
"""Three times over: a minute."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `film.mp4`, `film_summary.json` and `film_highlights.json`."""
    folder = tmp_path_factory.mktemp("edited")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_mean_colours(patch)
        path = film(folder / "film.mp4", 3 * COLOURS)
        vidsum.write_json(vidsum.summarize(path, "12s"), folder / "film_summary.json")
        vidsum.write_json(vidsum.find_highlights(path), folder / "film_highlights.json")
        yield folder


@pytest.fixture
def record(made: Path) -> Iterator[Path]:
    """The summary as it was made, without decisions; its MP4 is removed at the end."""
    path = made / "film_summary.json"
    content = path.read_bytes()
    yield path
    path.write_bytes(content)
    for other in (decisions_path(path), path.with_suffix(".mp4"), path.with_suffix(".edl")):
        other.unlink(missing_ok=True)


@contextmanager
def editing(record: Path, token: str | None = None, **options: bool) -> Iterator[EditServer]:
    """The page of a result, at a free port."""
    server = EditServer(EditSession(record, **options), 0, token)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server(record: Path) -> Iterator[EditServer]:
    with editing(record) as started:
        yield started
