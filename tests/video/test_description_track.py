"""Copies of videos with descriptions in a second sound track."""

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


def test_described_sound_is_lowered_around_a_text() -> None:
    spoken = [(1.0, np.full(500, 0.1, np.float32)), (1.7, np.full(100, 0.1, np.float32))]
    sound = DescribedSound(Steady(), spoken)  # type: ignore[arg-type]
    whole = sound.read(0, 3000)
    parts = np.concatenate([sound.read(first, 37) for first in range(0, 3000, 37)], axis=1)[:, :3000]
    np.testing.assert_allclose(parts, whole, atol=1e-6)
    low = 0.5 * 10 ** (DUCKED_DB / 20)
    np.testing.assert_allclose(whole[:, 1000:1500], low + 0.1, atol=1e-6)
    np.testing.assert_allclose(whole[:, 1700:1800], low + 0.1, atol=1e-6)
    ramp = round(RAMP_S * 1000)
    np.testing.assert_allclose(whole[:, : 1000 - ramp], 0.5)
    np.testing.assert_allclose(whole[:, 1000 - ramp // 2], (0.5 + low) / 2, atol=1e-3)
    np.testing.assert_allclose(whole[:, 1800 + ramp :], 0.5)
    assert whole[:, 1500:1700].max() < 0.5  # in between it stays low: the ramps meet


def contents(path: Path, kind: str = "video") -> list[bytes]:
    return [bytes(packet) for packet in packets_of(path, kind)]


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv"])
def test_described_keeps_pictures_and_first_track(tmp_path: Path, name: str) -> None:
    film, copy = tmp_path / name, tmp_path / "copy.mp4"
    make_video(film, n_frames=75, sound=True, b_frames=2)
    info, before = probe(film), film.read_bytes()
    rate = sound_rate(info)
    voice = np.full(rate, 0.4, np.float32)
    write_described(info, [(1.0, voice)], copy, comment="vidsum x")
    assert film.read_bytes() == before
    assert contents(copy) == contents(film)
    source, copied = contents(film, "audio"), contents(copy, "audio")
    assert len(copied) >= len(source) - 2  # packets after the last picture are left out
    assert set(copied) <= set(source)
    with av.open(str(copy)) as container:
        first, second = container.streams.audio
        assert second.disposition == Disposition.descriptions | Disposition.visual_impaired
        assert first.disposition & Disposition.default
        assert (second.metadata["language"], container.metadata["comment"]) == ("eng", "vidsum x")
    sound = samples_of(copy, track=1)[0]
    assert len(sound) / rate == pytest.approx(3.0, abs=0.05)
    assert sound[round(1.1 * rate) : round(1.9 * rate)].mean() == pytest.approx(0.4, abs=0.03)
    assert abs(sound[: round(0.7 * rate)].mean()) < 0.03
    under, alone = (sound[round(low * rate) : round((low + 0.5) * rate)].std() for low in (1.2, 2.3))
    assert 20 * np.log10(under / alone) == pytest.approx(DUCKED_DB, abs=2)


def test_described_keeps_language(tmp_path: Path) -> None:
    film = make_tracks(tmp_path / "film.mp4", Track((64, 48)), Track(1, language="deu"))
    write_described(probe(film), [], tmp_path / "copy.mp4")
    with av.open(str(tmp_path / "copy.mp4")) as container:
        assert [track.metadata["language"] for track in container.streams.audio] == ["deu", "eng"]
    film = tmp_path / "film.webm"
    make_video(film, n_frames=25, codec="libvpx")
    with pytest.raises(UsageError, match="vp8") as refused:
        write_described(probe(film), [], tmp_path / "copy.mp4")
    assert "copy out" not in str(refused.value.hint)
    film, copy = tmp_path / "film.mp4", tmp_path / "copy.mp4"
    make_video(film, n_frames=50)
    info = probe(film)
    write_described(info, [(0.5, np.full(sound_rate(info), 0.4, np.float32))], copy)
    with av.open(str(copy)) as container:
        (track,) = container.streams.audio
        assert track.metadata["language"] == "eng"
    assert np.abs(samples_of(copy)).max() == pytest.approx(0.4, abs=0.1)
