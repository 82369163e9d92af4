"""Sound of any file as mono samples."""

from pathlib import Path

import av
import numpy as np
import pytest

import vidsum
from tests import media
from tests.conftest import deep
from tests.voices import write_wav
from vidsum.errors import InputError
from vidsum.video import audio
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

RATE = 16_000


def tone(rate: int, seconds: float, hertz: float = 440.0) -> np.ndarray:
    return np.asarray(0.4 * np.sin(2 * np.pi * hertz * np.arange(round(rate * seconds)) / rate), np.float32)


def read(path: Path, block_s: float = 10.0, from_s: float = 0.0) -> np.ndarray:
    return np.concatenate(list(read_sound(probe_sound(path), RATE, block_s, DecodeLog(), from_s)))


def pitch(samples: np.ndarray) -> float:
    return float(np.abs(np.fft.rfft(samples)).argmax() * RATE / len(samples))


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 96_000])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_sound_file_has_a_length_and_no_video(tmp_path: Path, rate: int, channels: int) -> None:
    write_wav(np.tile(tone(rate, 2.0), (channels, 1)), tmp_path / "tone.wav", rate)
    sound = probe_sound(tmp_path / "tone.wav")
    assert (sound.video, sound.duration_s) == (None, pytest.approx(2.0))


@pytest.mark.parametrize("rate", [8_000, deep(16_000), 44_100, deep(96_000)])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_sound_is_mixed_and_resampled_in_full_blocks(tmp_path: Path, channels: int, rate: int) -> None:
    write_wav(np.tile(tone(rate, 2.0), (channels, 1)), tmp_path / "tone.wav", rate)
    samples = read(tmp_path / "tone.wav", 0.7)
    assert len(samples) == 3 * round(0.7 * RATE)
    assert pitch(samples[:RATE]) == pytest.approx(440, abs=2)
    assert np.abs(samples[round(2.05 * RATE) :]).max() < 1e-3


@pytest.fixture(scope="module")
def noise_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("noise") / "noise.wav"
    write_wav(np.random.default_rng(0).normal(0, 0.1, 48_000).astype(np.float32), path, 22_050)
    return path


def test_sound_is_the_same_in_blocks_of_any_length(noise_file: Path) -> None:
    whole, pieces = read(noise_file), read(noise_file, 0.31)
    n = min(len(whole), len(pieces))
    assert np.array_equal(whole[:n], pieces[:n])


def test_sound_from_a_time_on_is_the_rest(noise_file: Path) -> None:
    whole, rest = read(noise_file), read(noise_file, from_s=0.75)
    assert np.abs(whole[12_000:34_000] - rest[:22_000]).max() < 1e-3


def test_channels_that_cancel_for_a_while_make_no_click(tmp_path: Path) -> None:
    low = tone(RATE, 6.0, 50.0)
    other = np.where(np.arange(len(low)) // (2 * RATE) == 1, -low, low)
    samples, cancelled_s = read_mono(tmp_path / "part.wav", low, other)
    assert 1.4 < cancelled_s < 2.6
    steps = np.abs(np.diff(samples[: 6 * RATE]))
    assert steps.max() < 0.03  # a click would be a step of .4
    assert np.abs(samples[round(2.6 * RATE) : round(3.4 * RATE)]).max() > 0.3


def test_stray_time_stamp_loses_no_sound(tmp_path: Path) -> None:
    film = media.make_video(tmp_path / "film.flv", n_frames=75, fps=25, sound=True).path
    before = read(film)
    data = bytearray(film.read_bytes())
    _stray_tag(data, number=20)
    film.write_bytes(data)
    samples = read(film)
    assert len(samples) == len(before)
    loudness = np.abs(samples[: round(2.5 * RATE)]).reshape(-1, RATE // 10).max(axis=1)
    assert loudness[1:].min() > 0.5 * np.abs(before).max()


def test_sound_of_a_video_is_as_long_as_the_video(film: Path) -> None:
    sound = probe_sound(film)
    assert sound.video is not None
    assert sound.duration_s == pytest.approx(10.0, abs=0.1)


def test_sound_of_a_video_is_read(film: Path) -> None:
    assert np.abs(read(film)[: RATE // 2]).max() > 0.01


def test_sound_of_a_damaged_video_is_finite_and_goes_on(film: Path, tmp_path: Path) -> None:
    media.damage(film, tmp_path / "damaged.mp4", at=0.5, n_bytes=20_000)
    samples = read(tmp_path / "damaged.mp4", 5.0)
    assert np.isfinite(samples).all()
    assert len(samples) >= 9 * RATE


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(tmp_path_factory.mktemp("f") / "film.mp4", n_frames=250, fps=25, sound=True).path


@pytest.mark.parametrize("suffix", [".mp4", deep(".mkv"), deep(".ts")])
def test_joined_frames_sound_as_single_ones(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"film{suffix}"
    media.make_video(path, n_frames=250, fps=25, sound=True)
    media.damage(path, tmp_path / f"damaged{suffix}", at=0.5, n_bytes=20_000)
    files = (path, tmp_path / f"damaged{suffix}")
    joined = [read(file, 0.31) for file in files]
    monkeypatch.setattr(audio, "_JOINED_S", 0)
    for file, samples in zip(files, joined, strict=True):
        assert np.array_equal(read(file, 0.31), samples)


def _stray_tag(data: bytearray, number: int) -> None:
    """Set the time stamp of the sound's tag of this number in an FLV file 37 hours ahead."""
    at = 13  # behind the header and the size of no tag
    while number or data[at] != 8:
        number -= data[at] == 8
        at += 15 + int.from_bytes(data[at + 1 : at + 4], "big")
    data[at + 7] = 8  # the highest byte, of milliseconds


@pytest.fixture
def without_sound(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    if path.suffix == ".mp4":
        media.make_video(path, n_frames=5)
    else:
        content = b"only words\n" * 50 if path.suffix == ".txt" else np.random.default_rng(0).bytes(100)
        path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("without_sound", "reason"),
    [("silent.mp4", "no sound"), ("words.txt", ""), ("noise.mp3", "")],
    indirect=["without_sound"],
)
def test_file_without_sound_is_refused(without_sound: Path, reason: str) -> None:
    with pytest.raises(InputError, match=f"{without_sound.name}.*{reason}"):
        probe_sound(without_sound)


def test_cover_of_a_song_is_no_video(tmp_path: Path) -> None:
    song = media.make_sound(tmp_path / "song.mp3", cover=True)
    with av.open(str(song)) as container:
        assert container.streams.video
    assert probe_sound(song).video is None


def read_mono(path: Path, *channels: np.ndarray, rate: int = 16_000) -> tuple[np.ndarray, float]:
    """The mono sound of a file with these channels, and the seconds in which they cancel out."""
    write_wav(np.stack(channels), path, rate)
    log = DecodeLog()
    return np.concatenate(list(read_sound(probe_sound(path), RATE, 1.0, log))), log.cancelled_s


RATES = pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])


@RATES
@pytest.mark.parametrize("n_quiet", [0, 4], ids=["stereo", "six channels"])
def test_left_channel_replaces_a_mix_that_cancels_out(tmp_path: Path, rate: int, n_quiet: int) -> None:
    sound, quiet = tone(rate, 3.0), 0.01 * tone(rate, 3.0, 100)
    alone, _ = read_mono(tmp_path / "left.wav", sound, rate=rate)
    samples, cancelled_s = read_mono(tmp_path / "mixed.wav", sound, -sound, *[quiet] * n_quiet, rate=rate)
    assert cancelled_s == pytest.approx(3.0, abs=0.1)
    assert np.abs((samples - alone)[200:]).max() < 1e-4  # after the fade


@RATES
def test_a_silent_channel_cancels_nothing(tmp_path: Path, rate: int) -> None:
    sound = tone(rate, 3.0)
    samples, cancelled_s = read_mono(tmp_path / "dead.wav", sound, 0 * sound, rate=rate)
    assert cancelled_s == 0
    assert np.abs(samples).max() > 0.1


@RATES
def test_similar_channels_do_not_cancel(tmp_path: Path, rate: int) -> None:
    sound = tone(rate, 3.0)
    other = sound + 0.01 * tone(rate, 3.0, 100)
    assert read_mono(tmp_path / "plain.wav", sound, other, rate=rate)[1] == 0


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_speech_in_opposite_channels_is_recognized(shared: Path, own_home: Path) -> None:
    transcript = vidsum.transcribe(shared / "bad" / "stereo_out_of_phase.flac")
    assert "ask what you can do for your country" in transcript.text.lower()
    assert any("cancel out" in warning for warning in transcript.warnings)
