"""A film and its page."""

from pathlib import Path

import pytest

from tests.media import make_video
from tests.results.made import results
from vidsum.outputs.pages import report_text


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds at 25 frames per second that show their numbers, under a name that looks like HTML."""
    path = tmp_path_factory.mktemp("films") / "<script>alert(1)<b> & 'c'#.mp4"
    make_video(path, n_frames=250, width=160, height=120, sound=True)
    return path


@pytest.fixture(scope="session")
def page(film: Path) -> Path:
    """The page of all kinds of results, in a folder beside the film's."""
    target = film.parent / "pages" / "report.html"
    target.parent.mkdir()
    text, warnings = report_text(results(film), target)
    assert warnings == ()
    target.write_text(text, encoding="utf-8")
    return target
