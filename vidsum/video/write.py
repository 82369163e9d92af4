"""Encode segments of a video as one MP4, every cut exact to the frame, the sound in step."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from pathlib import Path
from shlex import quote

import av

from vidsum.errors import InputError, Text, UsageError
from vidsum.io.atomic import atomic_write
from vidsum.types import FloatArray, Interval, Progress, VideoInfo, intersect, join_near
from vidsum.video.audio import SoundSource, SoundTrack, open_sound
from vidsum.video.damage import CANCELLED, DecodeLog
from vidsum.video.decode import can_seek
from vidsum.video.hdr import describe_hdr
from vidsum.video.jumps import Jumps
from vidsum.video.listen import describe_used
from vidsum.video.loudness import Normalisation, plan_normalisation
from vidsum.video.open import open_video, video_stream
from vidsum.video.picture_track import MAX_SIDE, PictureTrack
from vidsum.video.segments import ClipTimeline, SegmentFrame, clip_time_base, in_ticks, segment_frames
from vidsum.video.settings import DEFAULT_CRF
from vidsum.video.style import ClipStyle
from vidsum.video.timing import read_jumps

_MIN_GAP_S = 1.0  # less can be missing because a segment does not begin with a new frame


@dataclass(frozen=True)
class WrittenVideo:
    """A clip that was written."""

    path: Path
    segments: tuple[Interval, ...]  # [start_s, end_s) in the source, in the order of the clip
    n_frames: int
    duration_s: float
    has_audio: bool
    warnings: tuple[str, ...] = ()


def normalise_segments(
    segments: Sequence[Interval], duration_s: float, *, may_move: bool = False
) -> list[Interval]:
    """Clip segments to the video, and join those that touch.

    Raises UsageError: none; or out of order, unless they `may_move`.
    """
    previous_end = 0.0
    for start, end in segments:
        if not start < end:
            raise UsageError(f"the segment {start:g}-{end:g} s is empty")
        if start < (0.0 if may_move else previous_end):
            limit = f"the one ahead of it ends, at {previous_end:g} s" if previous_end else "0 s"
            raise UsageError(f"the segment {start:g}-{end:g} s begins before {limit}")
        previous_end = end
    runs = [join_near(run) for run in _rising_runs(segments)]
    clipped = [(start, min(end, duration_s)) for run in runs for start, end in run if start < duration_s]
    if not clipped:
        raise UsageError(f"no segment lies within the {duration_s:g} s of the video")
    return clipped


def _rising_runs(segments: Sequence[Interval]) -> list[list[Interval]]:
    """Return segments as lists in which each begins where the one ahead of it ends, or later."""
    runs: list[list[Interval]] = []
    for segment in segments:
        if runs and segment[0] >= runs[-1][-1][1]:
            runs[-1].append(segment)
        else:
            runs.append([segment])
    return runs


def describe_gaps(chosen: Sequence[Interval], written: Sequence[Interval]) -> tuple[str, ...]:
    """Return a warning where the file, being cut short, has no pictures for a part of the chosen segments."""
    written_s = sum(end - start for span in chosen for start, end in intersect(written, span))
    missing_s = sum(end - start for start, end in chosen) - written_s
    if missing_s < _MIN_GAP_S:
        return ()
    return (f"has no pictures for {missing_s:.1f} s of the segments, which are left out",)


@contextmanager
def translate_ffmpeg_errors(
    text: str, subject: str | os.PathLike[str], hint: Text | None = None
) -> Iterator[None]:
    """Turn FFmpeg's errors into an InputError; errors of files pass through."""
    try:
        yield
    except av.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise InputError(text, hint, subject=subject) from error


def open_mp4(path: Path, comment: str | None) -> av.container.OutputContainer:
    """Open an MP4 for writing that plays before all of it has arrived, with reproducible bytes."""
    options = {"movflags": "+faststart", "fflags": "+bitexact"}
    container = av.open(f"file:{path}", "w", format="mp4", options=options)
    if comment is not None:
        container.metadata["comment"] = comment
    return container


def write_segments(
    info: VideoInfo,
    segments: Sequence[Interval],
    target: str | os.PathLike[str],
    *,
    crf: int = DEFAULT_CRF,
    comment: str | None = None,
    style: ClipStyle = ClipStyle(),
    loudness_lufs: float | None = None,
    may_move: bool = False,
    progress: Progress | None = None,
) -> WrittenVideo:
    """Write consecutive segments of a video as MP4 with H.264 and AAC, which plays in any browser.

    The frames come from `segment_frames`, each on screen as in the source, or to the segment's end. Sound
    fades for 5 ms at each cut. The same input gives the same bytes.

    Args:
        segments: [start_s, end_s) from the first picture; apart and in order.
        crf: quality, from 1, the best, to 51.
        comment: kept in the file's metadata.
        loudness_lufs: of the sound, by EBU R 128; as it is if not given, and of silence.
        may_move: whether segments may be in another order, and overlap.
        progress: called with the seconds of clip written.

    Raises UsageError: see `normalise_segments`. InputError: the source cannot be read, has no frame in the
    segments, is too large, or cannot be read in another order. OutputError: the target cannot be written.
    """
    source = Path(info.path)
    jumps = read_jumps(info)
    if max(info.width, info.height) > MAX_SIDE:
        raise InputError(
            f"has pictures of {info.width} x {info.height}; encoders go to {MAX_SIDE}", subject=source
        )
    chosen = normalise_segments(segments, info.duration_s, may_move=may_move)
    total_s = sum(end - start for start, end in chosen)
    with (
        translate_ffmpeg_errors("cannot be encoded by H.264 and AAC", source),
        open_video(info.path) as container,
        atomic_write(target) as part,
    ):
        stream = video_stream(container, info)
        if len(_rising_runs(chosen)) > 1:
            _require_seekable(container, stream, jumps, info.path)
        log, time_base = DecodeLog(), stream.time_base or Fraction(1)
        frames = segment_frames(container, stream, in_ticks(chosen, time_base), jumps, log)
        first = next(frames, None)
        if first is None:
            raise InputError("no frame of the segments to write can be decoded", subject=source)
        sounding = _from_picture(chosen, first.segment, float(first.tick * time_base))
        level = _plan_loudness(info, jumps, sounding, loudness_lufs, progress)
        with open_sound(info, jumps) as sound, open_mp4(part, comment) as output:
            timeline = ClipTimeline(time_base, clip_time_base(info, stream, first))
            pictures = PictureTrack(output, stream, first.decoded, info, timeline.clip_base, crf, style)
            sounds = SoundTrack(sound, output, level) if sound is not None else None
            every, report = chain([first], frames), progress or (lambda *_: None)
            n_frames = _write_tracks(every, timeline, pictures, sounds, report, total_s)
    written = tuple(timeline.segments)
    warnings = (
        *describe_gaps(chosen, written),
        *jumps.describe(),
        *_describe_sound(info, sound),
        *(level.describe() if level else ()),
        *_describe_pictures(source, stream, log),
    )
    duration_s, has_audio = float(timeline.end_s), sound is not None
    return WrittenVideo(Path(target), written, n_frames, duration_s, has_audio, warnings)


def _require_seekable(
    container: av.container.InputContainer, stream: av.VideoStream, jumps: Jumps, path: str
) -> None:
    """Raise an InputError where parts of a file cannot be read in another order."""
    if not can_seek(container, stream, jumps):
        remedy = f"ffmpeg -i {quote(path)} whole.mp4"
        raise InputError("its parts cannot be moved: a seek in it fails", remedy, subject=path)


def _from_picture(segments: Sequence[Interval], number: int, picture_s: float) -> list[Interval]:
    """Return segments from the first picture on, which lies in the segment with this number.

    Their loudness is measured: coding adds other peaks to a sound that begins elsewhere.
    """
    return [(picture_s, segments[number][1]), *segments[number + 1 :]]


def _plan_loudness(
    info: VideoInfo,
    jumps: Jumps,
    segments: Sequence[Interval],
    target_lufs: float | None,
    progress: Progress | None,
) -> Normalisation | None:
    """Return how the sound of segments gets its loudness; None without a target or sound, and of silence."""
    if target_lufs is None:
        return None
    if progress:
        progress("measuring loudness", 0, 0)
    with open_sound(info, jumps) as sound:
        if sound is None:
            return None
        rate, layout = sound.rate, sound.layout

    def blocks() -> Iterator[FloatArray]:
        with open_sound(info, jumps) as source:  # again: some files can be read from the start alone
            assert source is not None
            for start_s, end_s in segments:
                first, end = round(start_s * rate), round(end_s * rate)
                for at in range(first, end, rate):
                    yield source.read(at, min(rate, end - at))

    return plan_normalisation(blocks, rate, layout, target_lufs)


def _describe_sound(info: VideoInfo, sound: SoundSource | None) -> Iterator[str]:
    yield from describe_used(info.path, "audio", info.audio_track)
    if sound is not None and sound.log.errors:
        yield f"damaged packets of sound, silent in the clip: {sound.log.errors}"
    if sound is not None and sound.log.cancelled_s:
        yield CANCELLED
    if info.has_audio and sound is None:
        yield "the sound cannot be decoded and is left out"


def _describe_pictures(source: Path, stream: av.VideoStream, log: DecodeLog) -> Iterator[str]:
    if hdr := describe_hdr(source, stream):
        yield hdr
    if log.errors:
        yield f"damaged packets skipped: {log.errors}"
    if log.damaged:
        yield f"damaged frames: {log.damaged} of the {log.frames} read"


def _write_tracks(
    frames: Iterable[SegmentFrame],
    timeline: ClipTimeline,
    pictures: PictureTrack,
    sounds: SoundTrack | None,
    progress: Progress,
    total_s: float,
) -> int:
    n_frames = 0
    for frame in frames:
        n_frames += 1
        clip_s = timeline.end_s
        progress("writing", float(clip_s), total_s)
        starts_segment = timeline.place(frame)
        if sounds is not None and starts_segment:
            sounds.end_segment(clip_s)
            sounds.start_segment(*timeline.segment_start_s)
        elif sounds is not None:
            sounds.follow(clip_s)
        pictures.write(frame.decoded, timeline.tick, starts_segment=starts_segment)
    if sounds is not None:
        sounds.finish(timeline.end_s)
    pictures.finish(timeline.end_tick)
    progress("writing", total_s, total_s)
    return n_frames
