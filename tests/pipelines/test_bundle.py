"""A page to send: with its videos in a folder or ZIP, or inside itself."""

import zipfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from tests.media import make_video
from tests.results.made import results, texts
from tests.results.test_page import parse
from vidsum.errors import OutputError, UsageError
from vidsum.pipelines.bundle import write_bundle, write_report
from vidsum.pipelines.report import MAX_SOUND_S, is_playable, report_text
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


def test_bundle_folder(film: Path, odd: Path, tmp_path: Path) -> None:
    named = [*results(film), *results(odd)[:1], *((item.kind, item) for item in texts(film))]
    assert write_bundle(named, tmp_path / "out") == (True, ())
    assert write_bundle(named, tmp_path / "out", overwrite=False) == (False, ())
    names = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    stem = "media/a _b_ film"
    assert names == ["index.html", f"{stem}.descriptions.vtt", f"{stem}.mp4", f"{stem}.vtt", "media/odd.mp4"]
    assert (tmp_path / "out" / f"{stem}.mp4").read_bytes() == film.read_bytes()
    assert is_playable(probe(tmp_path / "out" / "media" / "odd.mp4"))
    assert (tmp_path / "out" / f"{stem}.vtt").read_text().startswith("WEBVTT")
    videos = parse((tmp_path / "out" / "index.html").read_text()).all("video")
    assert [entry["src"] for entry in videos] == ["media/a%20_b_%20film.mp4", "media/odd.mp4"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_zip_has_the_same(film: Path, tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        write_report([item for _, item in results(film)], tmp_path / name, title="A film")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.namelist() == ["media/a _b_ film.mp4", "index.html"]
        assert "<h1>A film</h1>" in archive.read("index.html").decode()


@pytest.mark.parametrize("name", ["a <b> film.mp4", "A _b_ FILM.mp4", "a <b> film.mkv"])
def test_bundle_equal_names(film: Path, tmp_path: Path, name: str) -> None:
    """On systems that ignore case, too."""
    other = make_video(tmp_path / name, n_frames=250).path
    both = [item for entry in (film, other) for item in texts(entry)]
    write_bundle([(item.kind, item) for item in both], tmp_path / "out")
    names = {path.name.casefold() for path in (tmp_path / "out" / "media").iterdir()}
    assert len(names) == 6


def test_bundle_spares_videos(film: Path, tmp_path: Path) -> None:
    write_bundle([results(film)[0]], tmp_path / "out")
    inside = tmp_path / "out" / "media" / "a _b_ film.mp4"
    other = make_video(tmp_path / film.name, n_frames=125).path
    with pytest.raises(OutputError, match="is one of the videos to show"):
        write_bundle([results(other)[0], results(inside)[0]], tmp_path / "out")
    assert inside.read_bytes() == film.read_bytes()


def test_bundle_overwrite(film: Path, tmp_path: Path) -> None:
    named, out = results(film)[:1], tmp_path / "out"
    out.mkdir()
    write_bundle(named, out, overwrite=False)  # it is empty
    (out / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="already exists"):
        write_bundle(named, out, "Anew", overwrite=False)
    write_bundle(named, out, "Anew")
    assert ("<h1>Anew" in (out / "index.html").read_text(), (out / "mine.txt").read_text()) == (True, "mine")
    inside = out / "media" / "a _b_ film.mp4"
    write_bundle([results(inside)[0]], out)  # of its own video
    assert inside.read_bytes() == film.read_bytes()
    with pytest.raises(OutputError, match="other files"):
        write_bundle(named, film.parent)
    with pytest.raises(OutputError, match="neither a ZIP nor a folder"):
        write_bundle(named, out / "mine.txt")
    with pytest.raises(OutputError, match="no folder"):
        write_bundle(named, tmp_path / "none" / "out")
    (tmp_path / "a.zip").write_text("x")
    with pytest.raises(OutputError, match="already exists"):
        write_bundle(named, tmp_path / "a.zip", overwrite=False)


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


def test_embed_long_videos(film: Path, tmp_path: Path) -> None:
    name, summary = results(film)[0]
    assert summary.video is not None
    longest = replace(summary.video, duration_s=MAX_SOUND_S + 30)
    silent = replace(summary.video, duration_s=1230, audio_codec=None)
    for video, length in ((longest, "1:35:30"), (silent, "20:30")):
        with pytest.raises(UsageError, match=rf"{length} of video is too long .* 20:00 in 24 MB, or 1:35:00"):
            report_text([(name, replace(summary, video=video))], tmp_path / "page.html", embed=True)


def test_embed_sound(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.report._MAX_EMBEDDED_S", 9.0)
    text, (warning,) = report_text(results(film), tmp_path / "page.html", embed=True)
    assert "plays the sound with still pictures" in warning
    (video,) = parse(text).all("video")
    small = tmp_path / "small.mp4"
    small.write_bytes(b64decode((video["src"] or "").removeprefix("data:audio/mp4;base64,")))
    with av.open(str(small)) as container:
        (stream,) = container.streams
        assert (stream.type, stream.codec_context.name) == ("audio", "aac")
        assert container.duration / av.time_base == pytest.approx(10, abs=0.1)
    assert small.stat().st_size < 10 * 48_000 / 8 * 1.3


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
