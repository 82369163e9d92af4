"""Test videos, made with PyAV. Each frame shows its own number in black and white cells, so that a test can
read back after any compression, resize or rotation which frame it was given.

`make_video` makes a clip and returns the truth about it (`MadeVideo`), `make_still` and `make_sound` make the
special ones, `join_clips` joins real ones, `cut_short` and `damage` spoil a file.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import av
import numpy as np
import numpy.typing as npt
from av.stream import Disposition
from av.video.reformatter import VideoReformatter
from PIL import Image

from vidsum.types import VideoInfo

os.environ.setdefault("SVT_LOG", "1")  # the AV1 encoder is talkative

Picture = npt.NDArray[np.uint8]
Paint = Callable[[int, int, int], Picture]
"""paint(number, width, height) -> [height, width, 3] RGB."""
Packets = list["av.Packet[Any]"]
P = ParamSpec("P")
Film = TypeVar("Film", "MadeVideo", Path)

TICKS = 90_000
"""Ticks per second of the time stamps that are written; MPEG-TS allows no other rate."""
NTSC = Fraction(30_000, 1001)
NTSC_FILM = Fraction(24_000, 1001)
SAMPLE_RATE = 48_000

_QUICK = {"aac": {"aac_coder": "fast"}}  # searching for the best coding takes half the time of a film
_SCALER = VideoReformatter()
"""Kept, as setting one up takes milliseconds: `VideoFrame.reformat` does so for each frame."""
_CELLS = 4
_NUMBER_BITS = 11
_CHECK_BITS = _CELLS * _CELLS - _NUMBER_BITS


@dataclass(frozen=True)
class MadeVideo:
    """Facts of a made video, against which readers are tested."""

    path: Path
    times_s: tuple[float, ...]
    """When each frame goes on screen, counted from the first one; frame i shows the number i."""
    duration_s: float
    start_s: float
    """Time stamp of the first frame in the file."""
    width: int
    height: int
    """Stored size."""
    rotation_deg: int
    """Clockwise turn that shows the picture upright."""


def video_info(path: str = "film.mp4", **facts: Any) -> VideoInfo:
    """Facts about a video that is not there: 10 s of 64 x 48 upright pixels, 25 a second, by default."""
    known: dict[str, Any] = {"duration_s": 10.0, "fps": 25.0, "width": 64, "height": 48, **facts}
    n_frames = round(known["duration_s"] * known["fps"])
    display = {"display_width": known["width"], "display_height": known["height"], "rotation_deg": 0}
    times = {"start_s": 0.0, "start_offset_s": 0.0}
    others = {"is_vfr": False, "n_frames": n_frames, **display, "sample_aspect_ratio": 1.0, **times}
    return VideoInfo(path, 1, "mp4", "h264", **{**others, **known})


# --- numbers that survive compression ---


def _check(number: int) -> int:
    return (number * 5 + 15) % (1 << _CHECK_BITS)


def number_picture(number: int, width: int, height: int) -> Picture:
    """An upright [height, width, 3] picture of 4 x 4 black or white cells that spell `number` (0 to 2047).

    The last five cells are a check, so that a turned, mirrored or blended picture does not read as a number.
    """
    if not 0 <= number < 1 << _NUMBER_BITS:
        raise ValueError(f"{number} does not fit in {_NUMBER_BITS} cells")
    code = number << _CHECK_BITS | _check(number)
    bits = np.array([code >> place & 1 for place in range(_CELLS * _CELLS)], dtype=np.uint8)
    cells = bits.reshape(_CELLS, _CELLS) * 255
    rows, columns = np.arange(height) * _CELLS // height, np.arange(width) * _CELLS // width
    return np.repeat(cells[rows][:, columns][..., None], 3, axis=2)


def read_number(picture: Picture) -> int:
    """The number that an upright picture of `number_picture` shows, at any size from 16 x 16.

    Raises:
        ValueError: a cell is grey, or the check cells do not fit: damaged, blended or turned the wrong way.
    """
    height, width = picture.shape[:2]
    code = 0
    for place in range(_CELLS * _CELLS):
        row, column = divmod(place, _CELLS)
        middle = picture[_middle(row, height), _middle(column, width)].mean()
        if 80 < middle < 175:
            raise ValueError(f"cell {place} is grey ({middle:.0f})")
        code |= int(middle > 127) << place
    number = code >> _CHECK_BITS
    if code != number << _CHECK_BITS | _check(number):
        raise ValueError(f"the check cells do not fit number {number}")
    return number


def _middle(cell: int, pixels: int) -> slice:
    """The middle half of a cell."""
    start, end = cell * pixels / _CELLS, (cell + 1) * pixels / _CELLS
    margin = (end - start) / 4
    return slice(int(start + margin), max(int(start + margin) + 1, int(end - margin)))


def colour_picture(number: int, width: int, height: int) -> Picture:
    """Smooth colours that move with `number`: to compare colours and resizing, not to read numbers."""
    y, x = np.mgrid[0:height, 0:width]
    red = 127 + 110 * np.sin(2 * np.pi * (x / width + number / 50))
    green = 127 + 110 * np.sin(2 * np.pi * (y / height + number / 70))
    blue = 127 + 110 * np.cos(2 * np.pi * (x / width + y / height))
    return np.stack([red, green, blue], axis=2).astype(np.uint8)


# --- videos ---


_MOST_BYTES = 500_000  # of a film that is remembered


def _key_of(*choices: Any) -> tuple[Any, ...] | None:
    """Return what tells a film from others; None where its pictures depend on more than the arguments."""
    try:
        return tuple(map(_fact_of, choices))
    except TypeError:
        return None


def _fact_of(value: Any) -> Any:
    """Return what a value is, to be compared; of a function also what it reads from around it."""
    if isinstance(value, FunctionType):
        around = [cell.cell_contents for cell in value.__closure__ or ()]
        return value.__module__, value.__code__, _fact_of(value.__defaults__), _fact_of(around)
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple((name, _fact_of(part)) for name, part in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(_fact_of, value))
    if value is None or isinstance(value, str | int | float | Fraction | Path | Track):
        return type(value), value
    raise TypeError("it may change")


def _remembered(make: Callable[P, Film]) -> Callable[P, Film]:
    """Return a function that encodes a film once a process; the same film again is a copy of its bytes."""
    films: dict[tuple[Any, ...], tuple[bytes, Film]] = {}

    @wraps(make)
    def remembered(*args: P.args, **choices: P.kwargs) -> Film:
        path, *rest = args
        assert isinstance(path, Path)
        if choices.get("times_s") is not None:
            choices["times_s"] = tuple(cast("Iterable[float]", choices["times_s"]))
        key = _key_of(path.suffix, rest, choices)
        if key in films:
            content, made = films[key]
            path.write_bytes(content)
            return replace(made, path=path) if isinstance(made, MadeVideo) else cast("Film", path)
        made = make(*args, **choices)
        if key and path.stat().st_size <= _MOST_BYTES:
            films[key] = path.read_bytes(), made
        return made

    return remembered


@_remembered
def make_video(
    path: Path,
    *,
    n_frames: int = 30,
    fps: Fraction | int = 25,
    times_s: Iterable[float] | None = None,
    start_s: float = 0.0,
    late_s: float = 0.0,
    width: int = 64,
    height: int = 48,
    rotation_deg: int = 0,
    sample_aspect_ratio: Fraction | None = None,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    gop: int = 12,
    b_frames: int | None = None,
    sound: bool = False,
    sound_s: float | None = None,
    sound_rate: int = SAMPLE_RATE,
    pure: bool = False,
    samples: npt.NDArray[np.float32] | None = None,
    paint: Paint = number_picture,
    container_options: dict[str, str] | None = None,
    codec_options: dict[str, str] | None = None,
    colorspace: int | None = None,
) -> MadeVideo:
    """Write a video; its container is that of the suffix (.mp4, .mov, .mkv, .webm, .ts, .avi, .mxf, .flv),
    and .h264 has none.

    Args:
        times_s: when each frame goes on screen; every 1 / fps if not given. The last frame stays for 1 / fps.
        start_s: added to all time stamps, those of the sound too.
        late_s: added to the time stamps of the pictures, but not to those of the sound.
        rotation_deg: clockwise turn that shows the picture upright, stored as a display matrix (.mp4, .mov).
            `width` and `height` are the stored size, and `paint` gets the upright one.
        sound: add a 440 Hz tone as long as the video; `sound_s` makes it as long as that.
        sound_rate: samples a second.
        pure: search for the best coding of AAC: else a tone has others beside it.
        samples: [N] mono samples at this rate, in place of the tone.
        colorspace: FFmpeg's number of the YUV matrix to convert with and to tag (1: BT.709, 5: BT.601).
    """
    step_s = float(1 / Fraction(fps))
    times = (
        tuple(times_s) if times_s is not None else tuple(float(i / Fraction(fps)) for i in range(n_frames))
    )
    places = 3 if path.suffix in (".mkv", ".webm") else 9  # Matroska's time stamps are whole milliseconds
    times = tuple(round(time_s, places) for time_s in times)
    duration_s = round(times[-1] + step_s, places)
    made = MadeVideo(path, times, duration_s, start_s + late_s, width, height, rotation_deg)
    time_base = 1 / Fraction(fps) if path.suffix in (".avi", ".mxf") else Fraction(1, TICKS)
    options = {"video_track_timescale": str(TICKS)} if path.suffix in (".mp4", ".mov") else {}
    with av.open(str(path), "w", options={**options, **(container_options or {})}) as container:
        stream = _add_video(container, codec, Fraction(fps), width, height, pix_fmt, codec_options)
        context = stream.codec_context
        context.time_base, context.gop_size = time_base, gop
        if b_frames is not None:
            context.max_b_frames = b_frames
        if sample_aspect_ratio is not None:
            context.sample_aspect_ratio = sample_aspect_ratio
        if colorspace is not None:
            context.colorspace = colorspace
        if rotation_deg:
            stream.set_display_rotation(-rotation_deg)
        has_sound = sound or samples is not None
        tone = _add_sound(container, path, sound_rate, pure=pure) if has_sound else None
        upright = (width, height) if rotation_deg % 180 == 0 else (height, width)
        packets: Packets = []
        for number, time_s in enumerate(times):
            picture = np.ascontiguousarray(np.rot90(paint(number, *upright), rotation_deg // 90))
            packets += _encode(stream, picture, made.start_s + time_s, time_base, colorspace)
        packets += stream.encode(None)
        if tone is not None:
            tone_s = sound_s or late_s + made.duration_s
            sounding = _tone(tone_s, sound_rate) if samples is None else samples
            packets += _sound_packets(tone, sounding, start_s)
        _mux_in_time_order(container, packets)
    return made


def make_colour_film(path: Path, *, sound: bool = False, tone: bool = False) -> Path:
    """Ten seconds in four shots: red, green and blue for 2 s, then yellow for 4 s.

    Its sound is noise or a tone, with which a summary spends more time on AAC than on its pictures.
    """
    colours = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200], [180, 180, 40]], np.uint8)

    def paint(number: int, width: int, height: int) -> Picture:
        return np.broadcast_to(colours[min(3, number // 50)], (height, width, 3)).copy()

    rate = 16_000
    noise = np.random.default_rng(0).standard_normal(10 * rate).astype(np.float32) / 10
    samples = noise if sound else None
    if tone:
        return make_video(path, n_frames=250, sound=True, pure=True, paint=paint).path
    return make_video(path, n_frames=250, sound_rate=rate, samples=samples, paint=paint).path


def _add_video(
    container: av.container.OutputContainer,
    codec: str,
    fps: Fraction,
    width: int,
    height: int,
    pix_fmt: str,
    options: dict[str, str] | None = None,
) -> av.VideoStream:
    stream = cast(av.VideoStream, container.add_stream(codec, rate=fps, options=options or {}))
    stream.width, stream.height, stream.pix_fmt = width, height, pix_fmt
    if codec == "libvpx":
        stream.codec_context.thread_count = 1  # its threads spin: on a busy machine they wait for minutes
    return stream


def _add_sound(
    container: av.container.OutputContainer, path: Path, rate: int = SAMPLE_RATE, *, pure: bool = False
) -> av.AudioStream:
    codec = {".webm": "libopus", ".mp3": "libmp3lame", ".flac": "flac"}.get(path.suffix, "aac")
    options = {} if pure else _QUICK.get(codec, {})
    return cast(av.AudioStream, container.add_stream(codec, rate=rate, layout="mono", options=options))


def _encode(
    stream: av.VideoStream,
    picture: Picture,
    time_s: float,
    time_base: Fraction,
    colorspace: int | None = None,
) -> Packets:
    rgb = av.VideoFrame.from_ndarray(picture, format="rgb24")
    frame = _SCALER.reformat(rgb, format=stream.pix_fmt or "yuv420p", dst_colorspace=colorspace)
    if colorspace is not None:
        frame.colorspace = colorspace
    frame.pts, frame.time_base = round(time_s / time_base), time_base
    return list(stream.encode(frame))


def _tone(duration_s: float, rate: int = SAMPLE_RATE) -> npt.NDArray[np.float32]:
    times = np.arange(round(duration_s * rate)) / rate
    return (0.5 * np.sin(2 * np.pi * 440 * times)).astype(np.float32)


def _sound_packets(stream: av.AudioStream, samples: npt.NDArray[np.float32], start_s: float) -> Packets:
    """Mono samples, encoded from `start_s` on."""
    frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
    frame.sample_rate, frame.time_base = stream.rate, Fraction(1, stream.rate)
    frame.pts = round(start_s * stream.rate)
    return [*stream.encode(frame), *stream.encode(None)]


def _mux_in_time_order(container: av.container.OutputContainer, packets: Packets) -> None:
    def in_ns(packet: "av.Packet[Any]") -> int:  # fractions are slow
        return (packet.dts or 0) * packet.time_base.numerator * 10**9 // packet.time_base.denominator

    container.mux(sorted(packets, key=in_ns))


def make_still(path: Path, *, width: int = 64, height: int = 48, number: int = 0) -> Path:
    """One picture as .png or .jpg."""
    Image.fromarray(number_picture(number, width, height)).save(path)
    return path


def make_sound(path: Path, *, cover: bool = False) -> Path:
    """A second of a tone with no video; `cover` attaches a picture (.mp3, .flac, .mp4) as music files do."""
    with av.open(str(path), "w") as container:
        sound = _add_sound(container, path)
        if cover:
            picture = _add_video(container, "png", Fraction(25), 64, 64, "rgb24")
            picture.disposition = av.stream.Disposition.attached_pic
            container.mux(
                [*_encode(picture, number_picture(1, 64, 64), 0, Fraction(1, 25)), *picture.encode(None)]
            )
        container.mux(_sound_packets(sound, _tone(1.0), 0.0))
    return path


@dataclass(frozen=True)
class Track:
    """A track of `make_tracks`: pictures of (width, height), or a tone in so many channels."""

    size: tuple[int, int] | int
    flags: int = 0
    language: str | None = None
    value: float = 0
    """Number of the first picture, or the peak of the tone."""


@_remembered
def make_tracks(path: Path, *tracks: Track, n_frames: int = 20) -> Path:
    """Write a video of 10 frames a second with these tracks."""
    packets: Packets = []
    with av.open(str(path), "w") as container:
        made = []
        for track in tracks:
            if isinstance(track.size, tuple):
                kind = ("png", "rgb24") if track.flags & Disposition.attached_pic else ("libx264", "yuv420p")
                stream: Any = _add_video(container, kind[0], Fraction(10), *track.size, kind[1])
            else:
                layout = {1: "mono", 2: "stereo", 6: "5.1"}[track.size]
                stream = container.add_stream("aac", rate=SAMPLE_RATE, layout=layout)
            stream.disposition = track.flags
            stream.metadata.update({"language": track.language} if track.language else {})
            made.append(stream)
        for track, stream in zip(tracks, made, strict=True):
            if isinstance(track.size, tuple):
                for number in range(1 if track.flags & Disposition.attached_pic else n_frames):
                    picture = number_picture(int(track.value) + number, *track.size)
                    packets += _encode(stream, picture, number / 10, Fraction(1, TICKS))
                packets += stream.encode(None)
                continue
            samples = np.tile(2 * track.value * _tone(n_frames / 10), (track.size, 1))
            frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout=stream.layout.name)
            frame.sample_rate, frame.time_base, frame.pts = SAMPLE_RATE, Fraction(1, SAMPLE_RATE), 0
            packets += [*stream.encode(frame), *stream.encode(None)]
        _mux_in_time_order(container, packets)
    return path


@dataclass(frozen=True)
class SubtitleText:
    """A subtitle track of `add_subtitles`: its cues (start_s, end_s, text), in seconds, to milliseconds."""

    cues: Sequence[tuple[float, float, str]]
    language: str | None = None
    flags: int = 0
    codec: str = "subrip"  # or `hdmv_pgs_subtitle`, whose pictures are left out


def add_subtitles(source: Path, path: Path, *tracks: SubtitleText) -> Path:
    """Write a copy of an MP4 as Matroska with subtitle tracks."""
    with av.open(str(source)) as film, av.open(str(path), "w") as container:
        copies, made = {}, []
        for stream in film.streams:
            copies[stream.index] = container.add_stream_from_template(stream)
            copies[stream.index].metadata.update(stream.metadata)
        for track in tracks:
            stream: Any = container.add_mux_stream(track.codec)
            stream.time_base, stream.disposition = Fraction(1, 1000), track.flags
            stream.metadata.update({"language": track.language} if track.language else {})
            made.append(stream)
        for packet in film.demux():
            if packet.dts is not None:
                packet.stream = copies[packet.stream.index]
                container.mux(packet)
        for track, stream in zip(tracks, made, strict=True):
            for start_s, end_s, text in track.cues if track.codec == "subrip" else ():
                packet = av.Packet(text.encode())
                packet.stream, packet.time_base = stream, Fraction(1, 1000)
                packet.pts = packet.dts = round(1000 * start_s)
                packet.duration = round(1000 * (end_s - start_s))
                container.mux(packet)
    return path


# --- spoilt files ---


def join_clips(
    shared: Path, folder: Path, names: Collection[str] | None, *options: str
) -> tuple[Path, list[Any]]:
    """Join real clips, all or those with some names; return the film, and the query and times of each."""
    videos = shared / "videos"
    listed = json.loads((videos / "clips.json").read_text())["clips"]
    chosen = [clip for clip in listed if names is None or clip["file"] in names]
    clips = [{**clip, "file": str(videos / clip["file"])} for clip in chosen]
    (folder / "clips.json").write_text(json.dumps({"clips": clips}))
    tool, film = shared / "tools" / "make_composite.py", folder / "film.mp4"
    subprocess.run([sys.executable, tool, folder / "clips.json", film, *options], check=True)
    return film, json.loads(film.with_suffix(".json").read_text())["moments"]


def cut_short(source: Path, target: Path, keep: float = 0.5) -> Path:
    """The first part of a file, as a broken download leaves it."""
    data = source.read_bytes()
    target.write_bytes(data[: int(len(data) * keep)])
    return target


def damage(source: Path, target: Path, *, at: float = 0.5, n_bytes: int = 2000, seed: int = 0) -> Path:
    """A file with `n_bytes` of noise written over it, from the share `at` of its length on."""
    data = bytearray(source.read_bytes())
    first = int(len(data) * at)
    noise = np.random.default_rng(seed).integers(0, 256, n_bytes, dtype=np.uint8).tobytes()
    data[first : first + n_bytes] = noise[: len(data) - first]
    target.write_bytes(data)
    return target


# --- the kinds of video that readers, probe and writer must all get right ---


def _uneven_times() -> list[float]:
    """Forty frames 20 to 300 ms apart, seeded."""
    gaps = np.random.default_rng(5).integers(2, 31, 39) / 100
    return [0.0, *np.cumsum(gaps).tolist()]


GOOD_VIDEOS: dict[str, Callable[[Path], MadeVideo]] = {
    "plain": lambda d: make_video(d / "plain.mp4", n_frames=60, sound=True),
    "no_sound": lambda d: make_video(d / "no_sound.mp4", n_frames=60),
    "ntsc": lambda d: make_video(d / "ntsc.mp4", n_frames=90, fps=NTSC),
    "ntsc_film_mkv": lambda d: make_video(d / "ntsc_film.mkv", n_frames=90, fps=NTSC_FILM, sound=True),
    "vfr": lambda d: make_video(d / "vfr.mp4", times_s=_uneven_times()),
    "vfr_mkv": lambda d: make_video(d / "vfr.mkv", times_s=_uneven_times()),
    "late_start": lambda d: make_video(d / "late.mp4", n_frames=60, start_s=5.0, sound=True),
    "late_start_mkv": lambda d: make_video(d / "late.mkv", n_frames=60, start_s=5.0, sound=True),
    "ts": lambda d: make_video(d / "clip.ts", n_frames=60, sound=True),
    "rotated_90": lambda d: make_video(d / "r90.mp4", rotation_deg=90),
    "rotated_180": lambda d: make_video(d / "r180.mov", rotation_deg=180),
    "rotated_270": lambda d: make_video(d / "r270.mp4", rotation_deg=270),
    "odd_size": lambda d: make_video(d / "odd.mp4", width=75, height=53, pix_fmt="yuv444p"),
    "odd_size_vp9": lambda d: make_video(d / "odd.webm", width=75, height=53, codec="libvpx-vp9"),
    "wide_pixels": lambda d: make_video(d / "wide.mp4", sample_aspect_ratio=Fraction(4, 3)),
    "tall_pixels_rotated": lambda d: make_video(
        d / "tall.mp4", sample_aspect_ratio=Fraction(1, 2), rotation_deg=90
    ),
    "vp8": lambda d: make_video(d / "clip8.webm", codec="libvpx", sound=True),
    "vp9": lambda d: make_video(d / "clip9.webm", codec="libvpx-vp9", sound=True),
    "av1": lambda d: make_video(d / "clip.mkv", codec="libsvtav1", width=128, height=96),
    "hevc": lambda d: make_video(
        d / "hevc.mp4", codec="libx265", codec_options={"x265-params": "log-level=0"}
    ),
    "mpeg4_avi": lambda d: make_video(d / "clip.avi", codec="mpeg4", b_frames=0),
    "ten_bit": lambda d: make_video(d / "ten.mp4", pix_fmt="yuv420p10le"),
    "one_frame": lambda d: make_video(d / "one.mp4", n_frames=1),
    "50_ms": lambda d: make_video(d / "short.mp4", n_frames=2, fps=40),
    "flv": lambda d: make_video(d / "clip.flv", n_frames=60, b_frames=0),
    "raw_h264": lambda d: make_video(d / "clip.h264", n_frames=60),
    "fragmented": lambda d: make_video(
        d / "fragmented.mp4",
        n_frames=60,
        container_options={"movflags": "frag_keyframe+empty_moov+default_base_moof"},
    ),
}
"""Name -> a function that writes the video into a folder: `GOOD_VIDEOS[name](tmp_path)` is a `MadeVideo`."""


def expected_numbers(video: MadeVideo, fps: float) -> list[int]:
    """The frame on screen at k / fps for every k before the end: the truth for a reader."""
    return frames_on_screen(video.times_s, fps, video.duration_s)


def frames_on_screen(times_s: Sequence[float], fps: float, duration_s: float) -> list[int]:
    """The last frame whose time is at most 0.6 ms after k / fps, for every k before the end."""
    numbers, k = [], 0
    while k == 0 or k / fps < duration_s - 0.0006:
        begun = [i for i, time_s in enumerate(times_s) if time_s <= k / fps + 0.0006]
        numbers.append(begun[-1] if begun else 0)
        k += 1
    return numbers
