"""Copies of videos with descriptions in a second sound track."""

from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition

from tests.media import Track, make_tracks, make_video
from tests.video.clips import packets_of, samples_of
from vidsum.errors import UsageError
from vidsum.types import FloatArray
from vidsum.video.description_track import DUCKED_DB, RAMP_S, DescribedSound, sound_rate, write_described
from vidsum.video.probe import probe


class Steady:
    rate, n_channels, layout = 1000, 2, "stereo"

    def read(self, first: int, count: int) -> FloatArray:
        return np.full((2, count), 0.5, np.float32)


@pytest.fixture(scope="module")
def described() -> DescribedSound:
    """A steady sound of .5 with texts of .1 at 1 to 1.5 s and at 1.7 to 1.8 s."""
    spoken = [(1.0, np.full(500, 0.1, np.float32)), (1.7, np.full(100, 0.1, np.float32))]
    return DescribedSound(Steady(), spoken)  # type: ignore[arg-type]


LOW = 0.5 * 10 ** (DUCKED_DB / 20)


def test_sound_is_lowered_under_a_text(described: DescribedSound) -> None:
    samples = described.read(0, 3000)
    np.testing.assert_allclose(samples[:, 1000:1500], LOW + 0.1, atol=1e-6)
    np.testing.assert_allclose(samples[:, 1700:1800], LOW + 0.1, atol=1e-6)


def test_sound_is_lowered_and_raised_in_a_ramp(described: DescribedSound) -> None:
    samples, ramp = described.read(0, 3000), round(RAMP_S * 1000)
    np.testing.assert_allclose(samples[:, : 1000 - ramp], 0.5)
    np.testing.assert_allclose(samples[:, 1000 - ramp // 2], (0.5 + LOW) / 2, atol=1e-3)
    np.testing.assert_allclose(samples[:, 1800 + ramp // 2], (0.5 + LOW) / 2, atol=2e-3)
    np.testing.assert_allclose(samples[:, 1800 + ramp :], 0.5)


def test_sound_stays_low_between_close_texts(described: DescribedSound) -> None:
    assert described.read(0, 3000)[:, 1500:1700].max() < 0.5  # the ramps meet


def test_described_sound_read_in_parts_is_the_same(described: DescribedSound) -> None:
    parts = np.concatenate([described.read(first, 37) for first in range(0, 3000, 37)], axis=1)[:, :3000]
    np.testing.assert_allclose(parts, described.read(0, 3000), atol=1e-6)


def contents(path: Path, kind: str = "video") -> list[bytes]:
    return [bytes(packet) for packet in packets_of(path, kind)]


@dataclass(frozen=True)
class DescribedFilm:
    """Three seconds with sound, and its copy with a text of .4 at 1 to 2 s."""

    source: Path
    before: bytes
    """The source as it was."""
    copy: Path
    rate: int
    """Samples of the second track per second."""


@pytest.fixture(scope="module", params=[".mp4", ".mkv"])
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DescribedFilm:
    folder = tmp_path_factory.mktemp("described")
    source = make_video(folder / f"film{request.param}", n_frames=75, sound=True, b_frames=2).path
    info, before, copy = probe(source), source.read_bytes(), folder / "copy.mp4"
    rate = sound_rate(info)
    write_described(info, [(1.0, np.full(rate, 0.4, np.float32))], copy, comment="vidsum x")
    return DescribedFilm(source, before, copy, rate)


def test_described_leaves_the_source(film: DescribedFilm) -> None:
    assert film.source.read_bytes() == film.before


def test_described_keeps_pictures(film: DescribedFilm) -> None:
    assert contents(film.copy) == contents(film.source)


def test_described_keeps_the_first_track(film: DescribedFilm) -> None:
    source, copied = contents(film.source, "audio"), contents(film.copy, "audio")
    assert len(copied) >= len(source) - 2  # packets after the last picture are left out
    assert set(copied) <= set(source)
    with av.open(str(film.copy)) as container:
        assert container.streams.audio[0].disposition & Disposition.default


def test_description_track_is_marked_for_players(film: DescribedFilm) -> None:
    with av.open(str(film.copy)) as container:
        track = container.streams.audio[1]
        assert track.disposition == Disposition.descriptions | Disposition.visual_impaired


def test_described_film_has_its_comment(film: DescribedFilm) -> None:
    with av.open(str(film.copy)) as container:
        assert container.metadata["comment"] == "vidsum x"


def test_text_is_spoken_at_its_time(film: DescribedFilm) -> None:
    sound, rate = samples_of(film.copy, track=1)[0], film.rate
    assert len(sound) / rate == pytest.approx(3.0, abs=0.05)
    assert sound[round(1.1 * rate) : round(1.9 * rate)].mean() == pytest.approx(0.4, abs=0.03)
    assert abs(sound[: round(0.7 * rate)].mean()) < 0.03


def test_films_sound_is_lowered_under_a_text(film: DescribedFilm) -> None:
    sound, rate = samples_of(film.copy, track=1)[0], film.rate
    under, alone = (sound[round(low * rate) : round((low + 0.5) * rate)].std() for low in (1.2, 2.3))
    assert 20 * np.log10(under / alone) == pytest.approx(DUCKED_DB, abs=2)


def languages(path: Path) -> list[str]:
    """The language of each track of sound."""
    with av.open(str(path)) as container:
        return [track.metadata["language"] for track in container.streams.audio]


def test_description_track_is_english_beside_another_language(tmp_path: Path) -> None:
    film = make_tracks(tmp_path / "film.mp4", Track((64, 48)), Track(1, language="deu"))
    write_described(probe(film), [], tmp_path / "copy.mp4")
    assert languages(tmp_path / "copy.mp4") == ["deu", "eng"]


def test_described_refuses_video_that_an_mp4_cannot_hold(tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.webm", n_frames=25, codec="libvpx").path
    with pytest.raises(UsageError, match="vp8") as refused:
        write_described(probe(film), [], tmp_path / "copy.mp4")
    assert "copy out" not in str(refused.value.hint)


def test_silent_film_gets_the_description_as_its_only_track(tmp_path: Path) -> None:
    info, copy = probe(make_video(tmp_path / "film.mp4", n_frames=50).path), tmp_path / "copy.mp4"
    write_described(info, [(0.5, np.full(sound_rate(info), 0.4, np.float32))], copy)
    assert languages(copy) == ["eng"]
    assert np.abs(samples_of(copy)).max() == pytest.approx(0.4, abs=0.1)
