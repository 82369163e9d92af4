"""A page to send: with its videos in a ZIP, or inside itself."""

import shutil
import zipfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.media import make_video
from tests.results.made import results, texts
from tests.results.test_page import parse
from vidsum.errors import OutputError, UsageError
from vidsum.pipelines.bundle import write_bundle, write_report
from vidsum.pipelines.report import is_playable, report_text
from vidsum.types import Picture
from vidsum.video.probe import probe
from vidsum.video.write import write_segments


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
    with pytest.raises(OutputError, match="already exists"):
        write_report(result, target)
    write_report(result, target, overwrite=True)


def test_a_page_holds_small_videos(film: Path, odd: Path, tmp_path: Path) -> None:
    text, warnings = report_text([*results(film), *results(odd)[:1]], tmp_path / "page.html", embed=True)
    result, small = parse(text), tmp_path / "small.mp4"
    assert warnings == ()
    assert len(result.all("video")) == 2
    for video in result.all("video"):
        small.write_bytes(b64decode((video["src"] or "").removeprefix("data:video/mp4;base64,")))
        assert is_playable(probe(small))
        assert probe(small).duration_s == pytest.approx(10, abs=0.05)
    assert all((entry["href"] or "").startswith("#") for entry in result.all("a"))


def test_embed_long_video(film: Path, tmp_path: Path) -> None:
    name, summary = results(film)[0]
    assert summary.video is not None
    long = replace(summary, video=replace(summary.video, duration_s=1230))
    with pytest.raises(UsageError, match=r"20:30 of video is too long .* 20:00 in 24 MB"):
        report_text([(name, long)], tmp_path / "page.html", embed=True)


def test_report_unplayable_video(odd: Path, tmp_path: Path) -> None:
    _, warnings = report_text(results(odd), tmp_path / "page.html")
    assert [str(odd) in entry and "mpeg4" in entry and "--bundle" in entry for entry in warnings] == [True]


def test_embedded_video_size(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (450, 800, 3), dtype=np.uint8)

    def paint(number: int, width: int, height: int) -> Picture:
        return np.roll(noise, 37 * number, axis=1)

    path, fast = tmp_path / "noise.mp4", {"preset": "ultrafast"}
    film = make_video(
        path, n_frames=30, fps=3, width=800, height=450, sound=True, paint=paint, codec_options=fast
    )
    bits = 150_000
    made = write_segments(probe(film.path), [(0, 10)], tmp_path / "small.mp4", bits_per_s=bits)
    small = probe(made.path)
    assert (small.width, small.height, small.audio_codec) == (640, 360, "aac")
    assert small.duration_s == pytest.approx(10, abs=0.05)
    assert small.bytes < bits / 8 * (10 + 2)  # two seconds may be ahead
