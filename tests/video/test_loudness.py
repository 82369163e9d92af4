"""Loudness of clips, measured by ITU-R BS.1770 in NumPy and SciPy, not by FFmpeg."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import av
import numpy as np
import pytest
from scipy.signal import lfilter, resample_poly

from tests.conftest import deep
from tests.media import SAMPLE_RATE, make_video
from tests.video.clips import samples_of
from vidsum.types import FloatArray, Interval, VideoInfo
from vidsum.video import write
from vidsum.video.aac import code_and_decode
from vidsum.video.jumps import Jumps
from vidsum.video.loudness import PEAK_DB, TOLERANCE_LU, measure_loudness, normalise, plan_normalisation
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

RATE = 48_000
SHELF = [1.53512485958697, -2.69169618940638, 1.19839281085285], [1, -1.69065929318241, 0.73248077421585]
HIGH_PASS = [1.0, -2.0, 1.0], [1, -1.99004745483398, 0.99007225036621]


def loudness_of(samples: FloatArray, rate: int) -> float:
    """Integrated loudness in LUFS of [channels, samples]: K-weighted, gated."""
    at_48k = resample_poly(samples, RATE, rate, axis=1) if rate != RATE else samples
    weighted = lfilter(*HIGH_PASS, lfilter(*SHELF, at_48k.astype(np.float64), axis=1), axis=1)
    size, step = round(0.4 * RATE), round(0.1 * RATE)
    starts = range(0, weighted.shape[1] - size + 1, step)
    powers = np.array([np.square(weighted[:, at : at + size]).mean(axis=1).sum() for at in starts])
    gated = powers[-0.691 + 10 * np.log10(np.maximum(powers, 1e-12)) > -70]
    relative = -0.691 + 10 * np.log10(gated.mean()) - 10
    gated = gated[-0.691 + 10 * np.log10(gated) > relative]
    return float(-0.691 + 10 * np.log10(gated.mean()))


def peak_of(samples: FloatArray) -> float:
    """True peak in dB of full scale, at four times the rate."""
    return float(20 * np.log10(np.abs(resample_poly(samples, 4, 1, axis=1)).max()))


def speech_like(seconds: float, level_db: float, crest_db: float = 12.0) -> FloatArray:
    """[1, N] noise in bursts of a third of a second, with single clicks of a height above it."""
    rng, n = np.random.default_rng(0), round(seconds * SAMPLE_RATE)
    noise = np.convolve(rng.normal(0, 1, n), np.hanning(40), "same")  # most of it below 2 kHz
    bursts = (np.arange(n) // (SAMPLE_RATE // 3)) % 2
    samples = noise / noise.std() * bursts * 10 ** (level_db / 20)
    click = np.hanning(40) * 10 ** ((level_db + crest_db) / 20)
    for at in range(SAMPLE_RATE // 2, n - len(click), SAMPLE_RATE * 2):
        samples[at : at + len(click)] = click
    return np.clip(samples, -1, 1).astype(np.float32)[None]


def blocks_of(samples: FloatArray) -> Iterator[FloatArray]:
    yield from np.array_split(samples, 7, axis=1)


@pytest.mark.parametrize("level_db", [-50.0, -20.0])
def test_measures_as_the_standard_says(level_db: float) -> None:
    samples = speech_like(8.0, level_db)
    measured = measure_loudness(blocks_of(samples), SAMPLE_RATE, "mono")
    assert measured.lufs == pytest.approx(loudness_of(samples, SAMPLE_RATE), abs=0.1)
    assert measured.peak_db == pytest.approx(peak_of(samples), abs=0.5)


@pytest.mark.parametrize("layout", ["mono", "stereo"])  # 0.1 and 3.1 LUFS
def test_sound_above_0_lufs(layout: str) -> None:
    square = np.where(np.arange(2 * RATE) // 48 % 2, 1.0, -1.0).astype(np.float32)
    samples = np.stack([square] * (2 if layout == "stereo" else 1))
    plan = plan_normalisation(lambda: blocks_of(samples), RATE, layout, -14.0)
    assert plan is not None
    assert plan.measured.lufs > 0
    made = np.concatenate(list(normalise(blocks_of(samples), RATE, layout, plan)), axis=1)
    assert loudness_of(made, RATE) == pytest.approx(-14.0, abs=TOLERANCE_LU)
    assert made.std() / samples.std() == pytest.approx(10 ** ((-14 - plan.measured.lufs) / 20), rel=0.02)


def test_noise_is_quieter_rather_than_above_the_peak() -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, (1, 3 * RATE)).astype(np.float32)
    plan = plan_normalisation(lambda: blocks_of(samples), RATE, "mono", -5.0)
    assert plan is not None
    coded = code_and_decode(normalise(blocks_of(samples), RATE, "mono", plan), RATE, "mono")
    made = np.concatenate(list(coded), axis=1)
    assert PEAK_DB - 1 < peak_of(made) <= PEAK_DB + 0.1
    assert plan.made is not None
    assert loudness_of(made, RATE) == pytest.approx(plan.made.lufs, abs=0.2)


@pytest.mark.parametrize(("level_db", "crest_db", "target"), [
    deep(-40, 12, -23.0),  # one gain
    (-40, 18, -14.0),  # peaks must be limited
    (-6, 5, -14.0),  # too loud
])  # fmt: skip
def test_clips_have_the_loudness(level_db: float, crest_db: float, target: float, tmp_path: Path) -> None:
    samples = speech_like(6.0, level_db, crest_db)
    film = make_video(tmp_path / "film.mp4", n_frames=150, samples=samples[0]).path
    plain, clip = tmp_path / "plain.mp4", tmp_path / "clip.mp4"
    segments = [(0.0, 2.0), (2.6, 5.6)]
    write_segments(probe(film), segments, plain)
    written = write_segments(probe(film), segments, clip, loudness_lufs=target)
    assert written.warnings == ()
    sound, before = samples_of(clip), samples_of(plain)
    assert sound.shape == before.shape
    assert loudness_of(sound, SAMPLE_RATE) == pytest.approx(target, abs=TOLERANCE_LU)
    assert peak_of(sound) <= PEAK_DB + 0.1
    quiet = np.abs(before[0]) < 1e-4
    assert np.corrcoef(sound[0, ~quiet], before[0, ~quiet])[0, 1] > 0.7  # in step
    with av.open(str(clip)) as container:
        assert container.streams.audio[0].rate == SAMPLE_RATE


def test_plan_begins_where_the_clip_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two pictures, a clip begins with the second: coding adds other peaks to another beginning."""
    planned = list[Interval]()

    def plan(info: VideoInfo, jumps: Jumps, segments: Sequence[Interval], *_: object) -> None:
        planned.extend(segments)

    monkeypatch.setattr(write, "_plan_loudness", plan)
    samples = speech_like(3.0, -30)[0]
    film = make_video(tmp_path / "film.mp4", n_frames=75, samples=samples).path
    clip = tmp_path / "clip.mp4"
    written = write_segments(probe(film), [(0.536, 1.0), (2.0, 3.0)], clip, loudness_lufs=-14)
    assert [start_s for start_s, _ in planned] == [start_s for start_s, _ in written.segments]
    assert written.segments[0][0] > 0.536


def test_silence_is_unchanged(tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.mp4", n_frames=50, samples=np.zeros(2 * SAMPLE_RATE, np.float32)).path
    write_segments(probe(film), [(0.0, 2.0)], tmp_path / "plain.mp4")
    write_segments(probe(film), [(0.0, 2.0)], tmp_path / "clip.mp4", loudness_lufs=-14)
    assert (tmp_path / "clip.mp4").read_bytes() == (tmp_path / "plain.mp4").read_bytes()


def test_pauses_stay_silent(tmp_path: Path) -> None:
    samples = speech_like(5.0, -40)[0]
    samples[2 * SAMPLE_RATE : 4 * SAMPLE_RATE] = 0
    film = make_video(tmp_path / "film.mp4", n_frames=125, samples=samples).path
    write_segments(probe(film), [(0.0, 5.0)], tmp_path / "clip.mp4", loudness_lufs=-14)
    sound = samples_of(tmp_path / "clip.mp4")
    assert np.abs(sound[:, round(2.2 * SAMPLE_RATE) : round(3.8 * SAMPLE_RATE)]).max() < 1e-4


def test_a_film_without_sound(tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.mp4", n_frames=25).path
    assert not write_segments(probe(film), [(0.0, 1.0)], tmp_path / "clip.mp4", loudness_lufs=-14).has_audio


def test_peaks_come_before_loudness() -> None:
    """Single clicks in silence cannot be made as loud as speech."""
    samples = np.zeros((1, 2 * SAMPLE_RATE), np.float32)
    samples[:, :: SAMPLE_RATE // 2] = 0.5
    plan = plan_normalisation(lambda: blocks_of(samples), SAMPLE_RATE, "mono", -8.0)
    assert plan is not None
    assert plan.made is not None
    assert plan.made.lufs < -8.0 - TOLERANCE_LU
