"""A page to send, with its videos in a ZIP."""

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.media import make_video
from tests.results.made import results, texts
from tests.results.test_page import parse
from vidsum.errors import OutputError, UsageError
from vidsum.outputs.bundle import write_bundle, write_report
from vidsum.outputs.pages import is_playable, report_text
from vidsum.video.probe import probe


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundled") / "a <b> film.mp4"
    return make_video(path, n_frames=250, width=160, height=120, sound=True).path


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video that browsers do not play."""
    return make_video(tmp_path_factory.mktemp("odd") / "odd.avi", codec="mpeg4", n_frames=250).path


def test_bundle(film: Path, odd: Path, tmp_path: Path) -> None:
    named = [*results(film), *results(odd)[:1], *((item.kind, item) for item in texts(film))]
    for name in ("one.zip", "two.zip"):
        assert write_bundle(named, tmp_path / name, "A film") == ()
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.zip", "two.zip"]
    shutil.unpack_archive(tmp_path / "one.zip", out := tmp_path / "out")
    stem = "media/a _b_ film"
    names = sorted(str(path.relative_to(out)) for path in out.rglob("*.*"))
    assert names == ["index.html", f"{stem}.descriptions.vtt", f"{stem}.mp4", f"{stem}.vtt", "media/odd.mp4"]
    assert (out / f"{stem}.mp4").read_bytes() == film.read_bytes()
    assert is_playable(probe(out / "media" / "odd.mp4"))
    assert (out / f"{stem}.vtt").read_text().startswith("WEBVTT")
    page = (out / "index.html").read_text()
    assert "<h1>A film</h1>" in page
    assert [entry["src"] for entry in parse(page).all("video")] == [
        "media/a%20_b_%20film.mp4",
        "media/odd.mp4",
    ]


@pytest.mark.parametrize("name", ["a <b> film.mp4", "A _b_ FILM.mp4", "a <b> film.mkv"])
def test_bundle_equal_names(film: Path, tmp_path: Path, name: str) -> None:
    """On systems that ignore case, too."""
    other = make_video(tmp_path / name, n_frames=250).path
    both = [item for entry in (film, other) for item in texts(entry)]
    write_bundle([(item.kind, item) for item in both], tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        names = {entry.casefold() for entry in archive.namelist() if entry.startswith("media/")}
    assert len(names) == 6


def test_report_path(film: Path, tmp_path: Path) -> None:
    result = results(film)[0][1]
    with pytest.raises(UsageError, match=r"out: output must end in .html or .zip"):
        write_report(result, tmp_path / "out")
    with pytest.raises(OutputError, match="no folder"):
        write_report(result, tmp_path / "none" / "out.zip")
    write_report(result, target := tmp_path / "out.zip")
    write_report(result, target)  # which its record lists
    target.write_bytes(b"mine")
    with pytest.raises(OutputError, match="already exists"):
        write_report(result, target)
    write_report(result, target, overwrite=True)
    write_report(result, tmp_path / "OUT2.ZIP")
    assert zipfile.is_zipfile(tmp_path / "OUT2.ZIP")
    write_report(result, tmp_path / "page.HTML")
    assert (tmp_path / "page.HTML").read_text().startswith("<!DOCTYPE html>")


def test_report_unplayable_video(odd: Path, tmp_path: Path) -> None:
    _, ((video, warning),) = report_text(results(odd), tmp_path / "page.html")
    assert (video, "mpeg4" in warning, "bundle" in warning) == (str(odd), True, True)
