"""Sound of any number of channels, stored in any way."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from vidsum.types import FloatArray
from vidsum.video.audio import SoundSource, _in_range, open_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.listen import probe_sound, read_sound
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

RATE = 48_000
LAYOUTS = {
    1: "mono",
    2: "stereo",
    6: "5.1",
    7: "6.1",
    8: "7.1",
    9: "9 channels",
    16: "hexadecagonal",
    24: "22.2",
}
CHANNELS = list(LAYOUTS)


def noise(seconds: float = 0.5, seed: int = 0) -> FloatArray:
    """Low tones of random strength, which every encoder keeps."""
    rng, times = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE
    tones = [rng.uniform(0.02, 0.1) * np.sin(2 * np.pi * hertz * times) for hertz in rng.uniform(200, 900, 5)]
    return np.sum(tones, axis=0).astype(np.float32)


def write(path: Path, codec: str, samples: FloatArray, layout: str, sample_format: str | None = None) -> Path:
    """Encode samples [channels, N]; through packed frames, as PyAV's planes are what is tested."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, layout=layout)
        if sample_format:
            stream.format = sample_format
        packed = np.ascontiguousarray(samples.T).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(packed, format="flt", layout=layout)
        frame.sample_rate, frame.time_base, frame.pts = RATE, Fraction(1, RATE), 0
        container.mux([*stream.encode(frame), *stream.encode(None)])
    return path


def mono(path: Path) -> FloatArray:
    return np.concatenate(list(read_sound(probe_sound(path), RATE, 0.5, DecodeLog())))


def stored_format(path: Path) -> str:
    with av.open(str(path)) as container:
        return next(container.decode(audio=0)).format.name


def only_channel(number: int, sounding: FloatArray, n_channels: int) -> FloatArray:
    samples = np.zeros((n_channels, len(sounding)), np.float32)
    samples[number] = sounding
    return samples


@pytest.mark.parametrize("n_channels", CHANNELS)
@pytest.mark.parametrize(("suffix", "codec", "sample_format"), [
    (".wv", "wavpack", "s16p"),
    (".wv", "wavpack", "s32p"),
    (".wv", "wavpack", "fltp"),
    (".wav", "pcm_s16le", "s16"),
    (".wav", "pcm_s24le", "s32"),
    (".mka", "pcm_f64le", "dbl"),
])  # fmt: skip
def test_a_channel_is_read_sample_by_sample(
    tmp_path: Path, suffix: str, codec: str, sample_format: str, n_channels: int
) -> None:
    stored, sounding = sample_format if codec == "wavpack" else None, noise(0.2)
    path = tmp_path / f"sound{suffix}"
    write(path, codec, only_channel(0, sounding, n_channels), LAYOUTS[n_channels], stored)
    assert stored_format(path) == sample_format
    samples = mono(path)[: len(sounding)]
    gain = float(samples @ sounding / (sounding @ sounding))
    assert gain > 0.1 / n_channels
    assert np.abs(samples - gain * sounding).max() < 1e-4


@pytest.mark.parametrize(("suffix", "codec", "n_channels"), [
    (".flac", "flac", 7), (".flac", "flac", 8),
    (".opus", "libopus", 7), (".opus", "libopus", 8),
    (".mp4", "aac", 7), (".mp4", "aac", 8), (".mp4", "aac", 16),
])  # fmt: skip
def test_surround_sound_of_usual_encoders_is_mixed_to_mono(
    tmp_path: Path, suffix: str, codec: str, n_channels: int
) -> None:
    sounding = noise(1.0)
    samples = np.zeros((n_channels, len(sounding)), np.float32)
    samples[:3] = sounding
    read = mono(write(tmp_path / f"sound{suffix}", codec, samples, LAYOUTS[n_channels]))[: len(sounding)]
    inner = slice(RATE // 10, -RATE // 10)
    assert np.corrcoef(read[inner], sounding[inner])[0, 1] > 0.99


@pytest.mark.parametrize("n_channels", [9, 11, 13, 17, 25, 32])
def test_channels_of_unknown_places_are_averaged(tmp_path: Path, n_channels: int) -> None:
    samples = np.stack([noise(seed=seed) for seed in range(n_channels)])
    path = write(tmp_path / "sound.wav", "pcm_f32le", samples, f"{n_channels} channels")
    np.testing.assert_allclose(mono(path)[: samples.shape[1]], samples.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("n_channels", [9, 16, 24])
def test_the_loudest_channel_replaces_a_lost_mix(tmp_path: Path, n_channels: int) -> None:
    sounding, samples = noise(), np.zeros((n_channels, RATE // 2), np.float32)
    samples[0], samples[1] = sounding, -sounding
    path = write(tmp_path / "sound.wav", "pcm_f32le", samples, f"{n_channels} channels")
    read = mono(path)[: len(sounding)]
    np.testing.assert_allclose(read[RATE // 50 :], sounding[RATE // 50 :], atol=1e-6)


def test_ambisonic_sound_is_its_sum(tmp_path: Path) -> None:
    sounding = noise()
    frame = packed_frame(np.stack([sounding, 0.5 * sounding, -sounding, 0 * sounding]), "ambisonic 1")
    np.testing.assert_array_equal(_in_range(frame), sounding[None])


def packed_frame(samples: FloatArray, layout: str) -> av.AudioFrame:
    packed = np.ascontiguousarray(samples.T).reshape(1, -1)
    frame = av.AudioFrame.from_ndarray(packed, format="flt", layout=layout)
    frame.sample_rate = RATE
    return frame


@pytest.mark.parametrize("n_channels", CHANNELS)
def test_in_range_keeps_the_order_of_channels(n_channels: int) -> None:
    samples = np.random.default_rng(0).uniform(-1, 1, (n_channels, 7)).astype(np.float32)
    layout = LAYOUTS[n_channels]
    names = [channel.name for channel in av.AudioLayout(layout).channels]
    audible = [number for number, name in enumerate(names) if name not in ("LFE", "LFE2")]
    np.testing.assert_array_equal(_in_range(packed_frame(samples, layout)), samples[audible])


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([0.5, -7.9, 0.0], [0.5, -7.9, 0.0]),
        ([np.nan, 0.5, np.inf], [0.0, 0.5, 0.0]),
        ([20.0, -20.0, 1.0], [8, -8, 1]),
    ],
    ids=["loud", "not numbers", "too loud"],
)
@pytest.mark.parametrize("n_channels", [1, 9])
def test_damaged_samples_are_silenced_or_limited(
    samples: list[float], expected: list[float], n_channels: int
) -> None:
    frame = packed_frame(np.array([samples] * n_channels, np.float32), LAYOUTS[n_channels])
    np.testing.assert_array_equal(_in_range(frame), np.array([expected] * n_channels, np.float32))


@pytest.mark.parametrize(("first", "second"), [(2, 8), (8, 1), (8, 2), (1, 8), (6, 8)])
def test_the_number_of_channels_may_change(tmp_path: Path, first: int, second: int) -> None:
    sounding, path = noise(1.0), tmp_path / "sound.aac"
    parts = []
    for n_channels in (first, second):
        samples = np.tile(sounding, (n_channels, 1))
        layout = LAYOUTS[n_channels]
        parts.append(write(tmp_path / "part.aac", "aac", samples, layout).read_bytes())
    path.write_bytes(b"".join(parts))
    with open_sound(path, Jumps()) as sound:
        assert isinstance(sound, SoundSource)
        assert sound.n_channels == min(first, 2)
        read = sound.read(0, 2 * RATE)
    for start_s in (0.2, 1.2):
        part = read[:, round(start_s * RATE) : round((start_s + 0.6) * RATE)]
        assert np.abs(part).max(axis=1).min() > 0.05


@pytest.mark.parametrize(("suffix", "codec", "n_channels"), [
    (".mp4", "aac", 8), (".mkv", "pcm_s16le", 9), (".mkv", "pcm_s16le", 16), (".mkv", "wavpack", 24),
])  # fmt: skip
def test_a_clip_of_a_video_with_many_channels_has_stereo_sound(
    tmp_path: Path, suffix: str, codec: str, n_channels: int
) -> None:
    path = tmp_path / f"film{suffix}"
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("libx264", rate=25)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream(codec, rate=RATE, layout=LAYOUTS[n_channels])
        packets = []
        for _ in range(50):
            packets += pictures.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8)))
        packets += pictures.encode(None)
        frame = packed_frame(np.tile(noise(2.0), (n_channels, 1)), LAYOUTS[n_channels])
        frame.time_base, frame.pts = Fraction(1, RATE), 0
        packets += [*sound.encode(frame), *sound.encode(None)]
        container.mux(sorted(packets, key=lambda packet: packet.dts * packet.time_base))
    write_segments(probe(path), [(0.0, 0.6), (1.2, 2.0)], tmp_path / "clip.mp4")
    with av.open(str(tmp_path / "clip.mp4")) as container:
        frames = list(container.decode(audio=0))
    assert {frame.layout.name for frame in frames} == {"stereo"}
    assert np.abs(np.concatenate([frame.to_ndarray() for frame in frames], axis=1)).max() > 0.05
