"""A page to send, with its videos in a ZIP."""

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


STEM = "media/a _b_ film"


@dataclass(frozen=True)
class Bundle:
    """A bundle of results about two films, and its unpacked files."""

    archive: Path
    files: Path


@pytest.fixture(scope="module")
def bundle(film: Path, odd: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    folder = tmp_path_factory.mktemp("bundle")
    assert write_bundle(named_results(film, odd), folder / "one.zip", "A film") == ()
    assert [path.name for path in folder.iterdir()] == ["one.zip"]
    shutil.unpack_archive(folder / "one.zip", folder / "out")
    return Bundle(folder / "one.zip", folder / "out")


def named_results(film: Path, odd: Path) -> list[tuple[str, Any]]:
    return [*results(film), *results(odd)[:1], *((item.kind, item) for item in texts(film))]


def test_bundle_has_the_same_bytes_in_every_run(
    bundle: Bundle, film: Path, odd: Path, tmp_path: Path
) -> None:
    write_bundle(named_results(film, odd), tmp_path / "two.zip", "A film")
    assert (tmp_path / "two.zip").read_bytes() == bundle.archive.read_bytes()


def test_bundle_has_a_page_videos_and_texts(bundle: Bundle) -> None:
    names = sorted(str(path.relative_to(bundle.files)) for path in bundle.files.rglob("*.*"))
    assert names == ["index.html", f"{STEM}.descriptions.vtt", f"{STEM}.mp4", f"{STEM}.vtt", "media/odd.mp4"]


def test_video_that_browsers_play_is_in_the_bundle_as_it_is(bundle: Bundle, film: Path) -> None:
    assert (bundle.files / f"{STEM}.mp4").read_bytes() == film.read_bytes()


def test_other_video_is_in_the_bundle_so_that_browsers_play_it(bundle: Bundle) -> None:
    assert is_playable(probe(bundle.files / "media" / "odd.mp4"))


def test_texts_of_a_bundle_are_tracks(bundle: Bundle) -> None:
    assert (bundle.files / f"{STEM}.vtt").read_text().startswith("WEBVTT")


def test_page_of_a_bundle_has_its_title_and_videos(bundle: Bundle) -> None:
    page = (bundle.files / "index.html").read_text()
    assert "<h1>A film</h1>" in page
    assert [entry["src"] for entry in parse(page).all("video")] == [
        "media/a%20_b_%20film.mp4",
        "media/odd.mp4",
    ]


@pytest.mark.parametrize("name", ["a <b> film.mp4", "A _b_ FILM.mp4", "a <b> film.mkv"])
def test_equal_names_of_a_bundle_are_numbered(film: Path, tmp_path: Path, name: str) -> None:
    """On systems that ignore case, too."""
    other = make_video(tmp_path / name, n_frames=250).path
    both = [item for entry in (film, other) for item in texts(entry)]
    write_bundle([(item.kind, item) for item in both], tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        names = {entry.casefold() for entry in archive.namelist() if entry.startswith("media/")}
    assert len(names) == 6


@pytest.fixture
def result(film: Path) -> Any:
    return results(film)[0][1]


def test_report_of_another_suffix_is_refused(result: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"out: output must end in .html or .zip"):
        write_report(result, tmp_path / "out")


def test_report_in_a_missing_folder_is_refused(result: Any, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        write_report(result, tmp_path / "none" / "out.zip")


def test_own_report_is_replaced(result: Any, tmp_path: Path) -> None:
    for _ in range(2):
        write_report(result, tmp_path / "out.zip")


def test_foreign_report_is_replaced_on_request_alone(result: Any, tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    target.write_bytes(b"mine")
    with pytest.raises(OutputError, match="already exists"):
        write_report(result, target)
    assert target.read_bytes() == b"mine"
    write_report(result, target, overwrite=True)
    assert zipfile.is_zipfile(target)


def test_suffix_of_a_report_may_be_in_capitals(result: Any, tmp_path: Path) -> None:
    write_report(result, tmp_path / "OUT2.ZIP")
    assert zipfile.is_zipfile(tmp_path / "OUT2.ZIP")
    write_report(result, tmp_path / "page.HTML")
    assert (tmp_path / "page.HTML").read_text().startswith("<!DOCTYPE html>")


def test_report_warns_of_a_video_that_browsers_do_not_play(odd: Path, tmp_path: Path) -> None:
    _, ((video, warning),) = report_text(results(odd), tmp_path / "page.html")
    assert (video, "mpeg4" in warning, "bundle" in warning) == (str(odd), True, True)
