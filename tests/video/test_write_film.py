"""Reels: pictures and sound of any kind of source in step, one canvas, one level."""

import wave
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from tests.edit_lists import Edit, set_edits
from tests.media import NTSC, NTSC_FILM, make_video
from tests.video.clips import make_flash_beep, samples_of
from vidsum.errors import InputError
from vidsum.video.loudness import measure_loudness
from vidsum.video.mixing import SoundPart, mix_sound
from vidsum.video.probe import probe
from vidsum.video.write_film import FilmPart, write_film

_RATE = 48_000
_ON_S = 0.2  # of each second, from 0 on, is white and beeps


def _is_on(time_s: float) -> bool:
    return (time_s + 1e-6) % 1.0 < _ON_S


def _beeps(duration_s: float, rate: int) -> npt.NDArray[np.float32]:
    times = np.arange(round(duration_s * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * 1000 * times) * ((times + 1e-6) % 1.0 < _ON_S)).astype(np.float32)


def _painted(path: Path, fps: Fraction | int = 25, sound_rate: int = 48_000, **facts: object) -> Path:
    """Write 6 s that flash and beep together, as `make_video` takes its `facts`."""

    def paint(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
        return np.full((height, width, 3), 235 * _is_on(number / float(fps)), np.uint8)

    samples, n_frames = _beeps(6, sound_rate), round(6 * float(fps))
    make_video(
        path,
        fps=fps,
        n_frames=n_frames,
        paint=paint,
        samples=samples,
        sound_rate=sound_rate,
        **facts,  # type: ignore[arg-type]
    )
    return path


def _edited(path: Path) -> Path:
    parts = [Edit(1.0, 5.0)]
    return set_edits(_painted(path), {"vide": parts, "soun": parts})


_SOURCES: dict[str, Callable[[Path], Path]] = {
    "plain.mp4": _painted,
    "ntsc.mp4": lambda path: _painted(path, NTSC, 44_100),
    "film.mkv": lambda path: _painted(path, NTSC_FILM, 22_050),
    "fast.mp4": lambda path: _painted(path, 60, width=160, height=90),
    "turned.mov": lambda path: _painted(path, rotation_deg=90, width=96, height=64),
    "deep.mp4": lambda path: _painted(path, pix_fmt="yuv422p10le"),
    "later.ts": lambda path: _painted(path, start_s=10.0),
    "surround.mp4": lambda path: make_flash_beep(path, layout="5.1", duration_s=6).path,
    "late_sound.mp4": lambda path: make_flash_beep(path, sound_from_s=0.7, duration_s=6).path,
    "uneven.mp4": lambda path: make_flash_beep(path, keep_every=4, duration_s=6).path,
    "edited.mp4": _edited,
}


def _onsets(path: Path) -> tuple[list[float], list[float]]:
    """Return when pictures turn white, and when beeps begin."""
    with av.open(str(path)) as container:
        frames = [
            (frame.time or 0.0, float(frame.to_ndarray(format="gray").mean()))
            for frame in container.decode(video=0)
        ]
    flashes = [
        time_s
        for (time_s, level), (_, before) in zip(frames[1:], frames, strict=False)
        if level > 110 > before
    ]
    level = np.abs(samples_of(path)).max(axis=0)
    hop = _RATE // 1000
    loud = level[: len(level) // hop * hop].reshape(-1, hop).max(axis=1) > 0.1
    quiet = np.convolve(loud, np.ones(60), "full")[: len(loud)]  # of the last 60 ms
    begins = np.flatnonzero(loud[1:] & (quiet[:-1] == 0)) + 1
    return flashes, [float(at) / 1000 for at in begins]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A film of 2.6 s of each source: flashes .36, 1.36 and 2.36 s after its start."""
    folder = tmp_path_factory.mktemp("film")
    parts = []
    for name, make in _SOURCES.items():
        info = probe(make(folder / name))
        parts.append(FilmPart(info.path, info, 0.64, 3.24))
    write_film(parts, (64, 48), Fraction(25), folder / "film.mp4")
    return folder / "film.mp4", len(parts)


def test_pictures_and_sound_of_any_source_are_in_step(film: tuple[Path, int]) -> None:
    path, n_parts = film
    flashes, beeps = _onsets(path)
    assert len(flashes) >= 3 * n_parts - 1
    for flash_s in flashes:
        assert min(abs(flash_s - beep_s) for beep_s in beeps) <= 0.0205, flash_s


def test_each_part_begins_where_it_should(film: tuple[Path, int]) -> None:
    flashes, _ = _onsets(film[0])
    for number, name in enumerate(_SOURCES):
        start_s = 2.6 * number
        inside = [time_s - start_s for time_s in flashes if start_s <= time_s < start_s + 2.6]
        assert inside == pytest.approx([0.36, 1.36, 2.36], abs=0.0205), name


def test_sound_and_pictures_have_one_length(film: tuple[Path, int]) -> None:
    path, n_parts = film
    with av.open(str(path)) as container:
        n_frames = sum(1 for _ in container.decode(video=0))
    assert n_frames == round(2.6 * n_parts * 25)
    assert samples_of(path).shape[1] == pytest.approx(2.6 * n_parts * _RATE, abs=1100)


def test_the_level_is_that_of_a_reel(film: tuple[Path, int]) -> None:
    loudness = measure_loudness([samples_of(film[0])], _RATE, "stereo")
    assert loudness.lufs == pytest.approx(-16, abs=0.6)


def test_photographs_and_mute_clips(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "mute.mp4", n_frames=50).path)
    Image.new("RGB", (40, 120), (200, 40, 40)).save(tmp_path / "red.png")
    photograph = FilmPart(str(tmp_path / "red.png"), None, 0.0, 1.0, title="14 July 2024")
    write_film(
        [photograph, FilmPart(info.path, info, 0.0, 1.0)], (64, 48), Fraction(25), tmp_path / "film.mp4"
    )
    with av.open(str(tmp_path / "film.mp4")) as container:
        assert not container.streams.audio
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(pictures) == 50
    middle, border = pictures[10][20, 32].astype(int), pictures[10][20, 4].astype(int)
    assert middle == pytest.approx([200, 40, 40], abs=12)
    assert 0.3 < border[0] / middle[0] < 0.8  # the darker copy


def test_the_same_bytes(tmp_path: Path) -> None:
    info = probe(_painted(tmp_path / "a.mp4"))
    for name in ("one.mp4", "two.mp4"):
        write_film([FilmPart(info.path, info, 0.5, 2.0)], (64, 48), Fraction(25), tmp_path / name)
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()


def test_music_is_lower_where_somebody_speaks(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "mute.mp4", n_frames=250).path)
    times = np.arange(3 * _RATE) / _RATE
    music = make_video(
        tmp_path / "music.mp4", samples=(0.3 * np.sin(2 * np.pi * 300 * times)).astype(np.float32)
    )
    part = FilmPart(info.path, info, 0.0, 10.0, speech=((4.0, 6.0),))
    write_film([part], (64, 48), Fraction(25), tmp_path / "film.mp4", music=str(music.path))
    sound = samples_of(tmp_path / "film.mp4")[0]
    level = [np.sqrt((sound[round(at * _RATE) : round((at + 0.5) * _RATE)] ** 2).mean()) for at in (2, 5, 7)]
    assert 20 * np.log10(level[1] / level[0]) == pytest.approx(-12, abs=0.5)
    assert level[2] == pytest.approx(level[0], rel=0.05)  # and it goes on after its end
    assert np.abs(sound[-2000:-1200]).max() < 0.02


@pytest.mark.parametrize("short_s", [0.001, 0.01, 0.03])
def test_a_part_shorter_than_a_frame_has_one(short_s: float, tmp_path: Path) -> None:
    info = probe(_painted(tmp_path / "a.mp4", 100))
    spans = [(4.0, 4.0 + short_s), (0.0, 0.4), (4.5, 4.5 + short_s), (4.25, 4.25 + short_s), (1.0, 1.4)]
    write_film(
        [FilmPart(info.path, info, *span) for span in spans], (64, 48), Fraction(25), tmp_path / "film.mp4"
    )
    with av.open(str(tmp_path / "film.mp4")) as container:
        levels = [frame.to_ndarray(format="gray").mean() for frame in container.decode(video=0)]
    assert len(levels) == pytest.approx(25 * (0.8 + 3 * short_s), abs=3)
    assert [levels[number] > 110 for number in (0, -8, -1)] == [True, True, False]


def test_music_does_not_jump_at_a_join(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "mute.mp4", n_frames=100).path)
    times = np.arange(12 * _RATE) / _RATE
    tone = (0.3 * np.sin(2 * np.pi * 300 * times)).astype(np.float32)
    music = make_video(tmp_path / "music.mp4", samples=tone).path
    # the second part is all speech, which the file says goes on after it
    lengths, speech, sounds, first = (2, 1, 2, 4), ((), ((1.0, 9.0),), (), ()), [], 0
    for length_s, said in zip(lengths, speech, strict=True):
        sounds.append(SoundPart(info, 1.0, first, first + length_s * _RATE, said))
        first += length_s * _RATE
    with mix_sound(sounds, str(music), tmp_path, [], None) as mixed:
        assert mixed is not None
        samples = mixed.read(0, first)[0]
    hop = _RATE // 50
    level_db = 20 * np.log10(np.sqrt((samples.reshape(-1, hop) ** 2).mean(axis=1))[5 : -50 * 3])
    assert np.abs(np.diff(level_db)).max() < 1.2  # 12 dB in .3 s are .8 dB a step
    assert level_db.min() == pytest.approx(level_db[20] - 12, abs=0.3)


def test_music_of_a_wav_file_is_in_the_film_and_repeated(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "mute.mp4", n_frames=125).path)
    tone = (9000 * np.sin(2 * np.pi * 300 * np.arange(2 * _RATE) / _RATE)).astype("<i2")
    with wave.open(str(music := tmp_path / "music.wav"), "wb") as file:
        file.setparams((1, 2, _RATE, 0, "NONE", ""))
        file.writeframes(tone.tobytes())
    with mix_sound([SoundPart(info, 0.0, 0, 5 * _RATE)], str(music), tmp_path, [], None) as mixed:
        assert mixed is not None
        for second in range(3):  # before it ends
            assert np.abs(mixed.read(second * _RATE, _RATE)).max() > 0.05


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_damage_is_named(kind: str, tmp_path: Path) -> None:
    path = _painted(tmp_path / "a.mp4")
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(**{kind: 0}) if packet.size]
        spans = [
            (packet.pos or 0, packet.size)
            for packet in packets
            if 2 < float(packet.pts * packet.time_base) < 3
        ]
    content = bytearray(path.read_bytes())
    for first, size in spans:
        content[first : first + size] = b"\xff" * size
    path.write_bytes(content)
    info = probe(path)
    parts = [FilmPart(info.path, info, 1.0, 4.0)]
    warnings = write_film(parts, (64, 48), Fraction(25), tmp_path / "film.mp4")
    word = {"video": "damaged pictures", "audio": "damaged packets of sound"}[kind]
    assert any(warning.startswith(f"a.mp4: {word}") for warning in warnings)


@pytest.mark.parametrize("peak", [0.0, 7e-4])  # the second is louder than the gate of the loudness
def test_silent_music_is_refused(peak: float, tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "mute.mp4").path)
    tone = (peak * np.sin(2 * np.pi * 1000 * np.arange(_RATE) / _RATE)).astype(np.float32)
    music = make_video(tmp_path / "music.mp4", samples=tone)
    with pytest.raises(InputError, match="silent"):
        write_film(
            [FilmPart(info.path, info, 0.0, 1.0)],
            (64, 48),
            Fraction(25),
            tmp_path / "film.mp4",
            music=str(music.path),
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["music.mp4", "mute.mp4"]


def test_hdr_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.video.write_film.describe_hdr", lambda path, stream: "is HDR (PQ)")
    info = probe(make_video(tmp_path / "phone.mp4").path)
    parts = [FilmPart(info.path, info, 0.0, 0.4), FilmPart(info.path, info, 0.6, 1.0)]
    assert write_film(parts, (64, 48), Fraction(25), tmp_path / "film.mp4") == ("phone.mp4: is HDR (PQ)",)


def test_colours_of_all_matrices_become_one(tmp_path: Path) -> None:
    def paint(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
        return np.full((height, width, 3), (200, 60, 40), np.uint8)

    parts = []
    for matrix in (1, 5):
        info = probe(make_video(tmp_path / f"{matrix}.mp4", paint=paint, colorspace=matrix).path)
        parts.append(FilmPart(info.path, info, 0.0, 0.4))
    write_film(parts, (64, 48), Fraction(25), tmp_path / "film.mp4")
    with av.open(str(tmp_path / "film.mp4")) as container:
        pictures = [
            frame.to_ndarray(format="rgb24")[24, 32].astype(int) for frame in container.decode(video=0)
        ]
    for picture in pictures:
        assert picture == pytest.approx([200, 60, 40], abs=8)
