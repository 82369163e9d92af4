"""Read written clips with two decoders, and measure how far sound and pictures are apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
import numpy.typing as npt
from av.video.reformatter import VideoReformatter

from tests.media import MadeVideo, read_number
from vidsum.times import Cue

BoolArray = npt.NDArray[np.bool_]

REAL_CLIPS = (
    "basketball.mp4", "dog_in_snow.mp4", "drummer_portrait.mp4", "pancake.mkv", "slicing_peppers.mp4",
)  # fmt: skip
"""Real clips of every codec, container and kind of frame rate."""
FLASH_EVERY_S = 1.0
FLASH_LENGTH_S = 0.2
_PROBE_S = 0.001
"""Sound and pictures are compared at every multiple of this."""


def decode_all(path: Path) -> list[av.VideoFrame]:
    with av.open(str(path)) as container:
        return list(container.decode(video=0))


def packets_of(path: Path, kind: str = "video") -> list[av.Packet]:
    with av.open(str(path)) as container:
        return [packet for packet in container.demux(**{kind: 0}) if packet.size]


def numbers_by_pyav(path: Path) -> list[int]:
    """The number that each frame shows, turned as the file says."""
    scaler = VideoReformatter()
    pictures = ((scaler.reformat(frame, format="rgb24"), frame.rotation) for frame in decode_all(path))
    return [read_number(np.rot90(picture.to_ndarray(), turn // 90)) for picture, turn in pictures]


def numbers_by_opencv(path: Path) -> list[int]:
    video, numbers = cv2.VideoCapture(str(path)), []
    while True:
        is_read, picture = video.read()
        if not is_read:
            return numbers
        numbers.append(read_number(picture))


def chapters_of(path: Path) -> list[Cue]:
    with av.open(str(path)) as container:
        bases = [(chapter, chapter["time_base"]) for chapter in container.chapters()]
    return [(float(c["start"] * base), float(c["end"] * base), c["metadata"]["title"]) for c, base in bases]


def samples_of(path: Path, track: int = 0) -> npt.NDArray[np.float32]:
    """The samples [channels, N] of a track of sound."""
    with av.open(str(path)) as container:
        return np.concatenate([frame.to_ndarray() for frame in container.decode(audio=track)], axis=1)


def number_at(video: MadeVideo, time_s: float) -> int:
    """The frame on screen at a time, by how the video was made."""
    return max((i for i, begin_s in enumerate(video.times_s) if begin_s <= time_s + 0.0006), default=0)


def numbers_within(video: MadeVideo, segments: Sequence[tuple[float, float]]) -> list[int]:
    """The frames whose time lies in a segment, by the definition; or else the one on screen there."""
    numbers: list[int] = []
    for start, end in segments:
        begun = [number for number, time_s in enumerate(video.times_s) if time_s < start - 1e-9]
        within = [n for n, time_s in enumerate(video.times_s) if start - 1e-9 <= time_s < end - 1e-9]
        numbers += within or (begun[-1:] if start < video.duration_s - 1e-9 else [])
    return numbers


@dataclass(frozen=True)
class FlashBeep:
    """A video that is white and beeps at 1 kHz for `FLASH_LENGTH_S` at every multiple of `FLASH_EVERY_S`."""

    path: Path
    fps: float
    sound_from_s: float
    sound_until_s: float


def make_flash_beep(
    path: Path,
    *,
    duration_s: float = 8.0,
    fps: Fraction | int = 25,
    sample_rate: int = 48_000,
    layout: str = "mono",
    sound_codec: str = "aac",
    start_s: float = 0.0,
    sound_from_s: float = 0.0,
    sound_until_s: float | None = None,
    gop: int = 60,
    right_silent: bool = False,
    keep_every: int = 1,
) -> FlashBeep:
    """Write such a video; its sound begins at `sound_from_s` and may end before the pictures do.

    With `keep_every` above 1 the frame rate varies: only every such frame is there, and those that change.
    """
    made = FlashBeep(path, float(fps), sound_from_s, duration_s if sound_until_s is None else sound_until_s)
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("libx264", rate=fps, options={"preset": "ultrafast", "bf": "2"})
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        pictures.codec_context.gop_size = gop
        sound = container.add_stream(sound_codec, rate=sample_rate, layout=layout)
        packets, scaler = [], VideoReformatter()
        for number in range(round(duration_s * Fraction(fps))):
            time_s = float(number / Fraction(fps))
            if number % keep_every and _is_on(time_s) == _is_on(time_s - 1 / float(fps)):
                continue
            white = np.full((48, 64, 3), 255 if _is_on(time_s) else 0, dtype=np.uint8)
            rgb = av.VideoFrame.from_ndarray(white, format="rgb24")
            frame = scaler.reformat(rgb, format="yuv420p")
            frame.pts, frame.time_base = number + round(start_s * Fraction(fps)), 1 / Fraction(fps)
            packets += pictures.encode(frame)
        packets += pictures.encode(None)
        packets += _beeps(sound, made, start_s, right_silent)
        container.mux(sorted(packets, key=lambda packet: packet.dts * packet.time_base))
    return made


def _is_on(time_s: npt.ArrayLike) -> BoolArray:
    return np.asarray((np.asarray(time_s) + 1e-6) % FLASH_EVERY_S < FLASH_LENGTH_S)


def _beeps(stream: av.AudioStream, made: FlashBeep, start_s: float, right_silent: bool) -> list[av.Packet]:
    rate = stream.rate
    times = np.arange(round(made.sound_from_s * rate), round(made.sound_until_s * rate)) / rate
    wave = np.where(_is_on(times), 0.8 * np.sin(2 * np.pi * 1000 * times), 0.0).astype(np.float32)
    samples = np.tile(wave, (stream.layout.nb_channels, 1))
    if right_silent:
        samples[1] = 0
    frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout=stream.layout.name)
    frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
    frame.pts = round((made.sound_from_s + start_s) * rate)
    return stream.encode(frame) + stream.encode(None)


def worst_offsets_s(
    source: FlashBeep, clip: Path, segments: Sequence[tuple[float, float]]
) -> tuple[float, float, float]:
    """How long a clip is at most in error at a stretch: (flashes, beeps, flashes against beeps), in seconds.

    The truth is that the clip shows and sounds at each time what the source does, `segments` end to end.
    """
    times = np.arange(0, sum(end - start for start, end in segments), _PROBE_S)
    edges = np.cumsum([0.0, *(end - start for start, end in segments)])
    which = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(segments) - 1)
    source_times = np.array([start for start, _ in segments])[which] + times - edges[which]
    has_sound = (source.sound_from_s <= source_times) & (source_times < source.sound_until_s)
    flashes, beeps = _flashes(clip, times), _beeping(clip, times)
    frame_times = np.floor(source_times * source.fps + 1e-6) / source.fps
    return (
        _longest_run(flashes != _is_on(frame_times)),
        _longest_run(beeps != (_is_on(source_times) & has_sound)),
        _longest_run((flashes & has_sound) != beeps),
    )


def _longest_run(wrong: BoolArray) -> float:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wrong, [False]])))
    return float(np.max(edges[1::2] - edges[::2], initial=0)) * _PROBE_S


def _flashes(path: Path, times_s: npt.NDArray[np.float64]) -> BoolArray:
    frames = decode_all(path)
    on_screen = np.searchsorted([frame.time for frame in frames], times_s + 1e-6, side="right") - 1
    scaler = VideoReformatter()
    white = np.array([scaler.reformat(frame, format="gray").to_ndarray().mean() > 127 for frame in frames])
    return white[np.maximum(on_screen, 0)]


def _beeping(path: Path, times_s: npt.NDArray[np.float64]) -> BoolArray:
    """Whether any sample within half a millisecond, half a wave of the beep, is loud."""
    with av.open(str(path)) as container:
        frames = list(container.decode(audio=0))
    rate, start_s = frames[0].sample_rate, frames[0].time
    wave = np.concatenate([np.abs(frame.to_ndarray()).max(axis=0) for frame in frames])
    loud = np.concatenate([[0], np.cumsum(wave > 0.2)])
    first = np.clip(np.round((times_s - start_s - 0.0005) * rate).astype(int), 0, len(wave))
    last = np.clip(np.round((times_s - start_s + 0.0005) * rate).astype(int) + 1, 0, len(wave))
    return (loud[last] - loud[first]) > 0
