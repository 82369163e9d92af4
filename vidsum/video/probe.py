"""Facts about a video file: from its header, else its packets; only the first frame is decoded."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import av

from vidsum.errors import InputError, require_type
from vidsum.io.provenance import is_label
from vidsum.types import TrackChoice, VideoInfo
from vidsum.video.decode import DecodedFrame, decode_frames, first_pts_s
from vidsum.video.frames import has_odd_pixels
from vidsum.video.open import is_text, open_options, open_video, video_stream
from vidsum.video.timing import Timing, read_timing
from vidsum.video.tracks import choose_track, codec_name, track_number

_ENDINGS = frozenset(
    {".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogv"}
    | {".ts", ".vob", ".webm", ".wmv"}
)  # suffixes of names that promise a video
_TYPESCRIPT = frozenset({".mts", ".ts"})  # endings that programs in TypeScript have too
_PICTURES = frozenset({"apng", "gif", "ico", "image2"})  # demuxers of pictures; others end in `_pipe`
_PICTURE_BRANDS = frozenset({"avif", "heic", "heim", "heis", "heix", "mif1"})  # of HEIF, which MP4's reads


def has_video_name(path: Path) -> bool:
    """Return whether the name of a file promises a video, and no program in TypeScript."""
    return path.suffix.lower() in _ENDINGS - _TYPESCRIPT


def is_video(path: Path) -> bool:
    """Return whether a file of a folder is taken for a video, by its name or else its content.

    By name it is taken even if damaged or empty, so that this is reported. By content, FFmpeg must find a
    video stream with a size, not a picture. MP4 files that vidsum wrote are left out.
    """
    is_named = path.suffix.lower() in _ENDINGS
    try:
        with open_video(path) as container:
            if is_label(container.metadata.get("comment", "")):
                return False
            name, codec = container.format.name, video_stream(container, path).codec_context
            brand = container.metadata.get("major_brand", "").strip()
            is_picture = name.endswith("_pipe") or name in _PICTURES or brand in _PICTURE_BRANDS
            return is_named or (not is_picture and codec.width > 0)
    except InputError:
        return is_named and not _is_typescript(path)


def holds_video(file: BinaryIO) -> bool:
    """Return whether the content of an open file is a video, whatever its name is; open no other file."""
    content = SimpleNamespace(read=file.read, seek=file.seek, tell=file.tell)  # FFmpeg believes names
    file.seek(0)
    try:
        with av.open(content, "r", options=open_options(Path())) as container:
            is_picture = container.format.name.endswith("_pipe")
            return not is_picture and video_stream(container, "").codec_context.width > 0
    except (av.FFmpegError, InputError, ValueError):
        return False


def _is_typescript(path: Path) -> bool:
    """Return whether a file is a program: its source code has an ending of MPEG transport streams."""
    try:
        return path.suffix.lower() in _TYPESCRIPT and path.is_file() and is_text(path)
    except OSError:  # no permission to read it: that is to be reported
        return False


def probe(
    path: str | os.PathLike[str], *, video_track: TrackChoice = None, audio_track: TrackChoice = None
) -> VideoInfo:
    """Read the facts about a video file; a still image is a video of one frame.

    The number of frames is exact where the header lists them or the file is at most 512 MB; else it is
    duration times rate. `video_track` and `audio_track` choose tracks by number or language; by default
    FFmpeg does. Raises InputError: it cannot be read, has no video or no such track, or no frame can be
    decoded.
    """
    require_type(path, str, os.PathLike)
    path = os.fspath(path)
    with open_video(path) as container:
        stream = video_stream(container, path, video_track)
        sound = choose_track(container, path, "audio", audio_track)
        first = next(decode_frames(container, stream), None)
        if first is None:
            if container.format.name == "webp_pipe":
                hint = f"convert it to GIF or MP4: magick {path} {Path(path).with_suffix('.gif')}"
                raise InputError("FFmpeg cannot read animated WebP", hint, subject=path)
            raise InputError("none of its video can be decoded", subject=path)
        tracks = track_number(container, stream), track_number(container, sound)
        timing = read_timing(path, tracks)
        start_s = first_pts_s(stream) - timing.jumps.lead_s
        aspect = float(stream.sample_aspect_ratio or 1)
        display_width, display_height = display_size(first, aspect)
        return VideoInfo(
            path=path,
            bytes=Path(path).stat().st_size,
            container=_container_name(container.format.name, Path(path)),
            codec=stream.codec_context.codec.canonical_name,
            duration_s=timing.duration_s,
            fps=_average_fps(timing, stream),
            is_vfr=timing.is_vfr,
            n_frames=timing.n_frames,
            width=first.frame.width,
            height=first.frame.height,
            display_width=display_width,
            display_height=display_height,
            rotation_deg=first.turn_deg,
            sample_aspect_ratio=aspect,
            start_s=start_s,
            audio_codec=codec_name(sound) if sound else None,
            start_offset_s=container_offset_s(container, start_s),
            video_track=tracks[0],
            audio_track=tracks[1],
        )


def display_size(first: DecodedFrame, aspect: float) -> tuple[int, int]:
    """Return (width, height) as shown: the stored height, the width of square pixels, turned."""
    aspect = 1.0 if has_odd_pixels(aspect) else aspect
    width, height = max(1, round(first.frame.width * aspect)), first.frame.height
    return (height, width) if first.turn_deg % 180 else (width, height)


def _average_fps(timing: Timing, stream: av.VideoStream) -> float:
    """Return frames over duration; or the rate in the header, if they differ by rounding only."""
    counted, named = timing.n_frames / timing.duration_s, float(stream.average_rate or 0)
    return named if not timing.is_vfr and abs(counted - named) < 0.01 * named else counted


def _container_name(demuxer: str, path: Path) -> str:
    """Choose one name of a demuxer that has several (`mov,mp4,m4a` ...): the file's suffix if it is one."""
    names, suffix = demuxer.removesuffix("_pipe").split(","), path.suffix.lower().lstrip(".")
    return suffix if suffix in names else names[0]


def container_offset_s(container: av.container.InputContainer, start_s: float) -> float:
    """Return the seconds from the start of an open file to its first picture, of time stamp `start_s`."""
    begin_s = start_s if container.start_time is None else container.start_time / av.time_base
    return max(0.0, round(start_s - begin_s, 6))


def start_offset_s(video: VideoInfo | None, path: str | os.PathLike[str] | None = None) -> float:
    """Return seconds from times of a video to times of players; an older record's file is opened."""
    if video is None:
        return 0.0
    if video.start_offset_s is not None:
        return video.start_offset_s
    return file_offset_s(path or video.path, video.bytes)


def file_offset_s(path: str | os.PathLike[str], n_bytes: int) -> float:
    """Return `start_offset_s` of a file of this size, from its header alone; 0 where it is not there."""
    try:
        if Path(path).stat().st_size == n_bytes:
            with open_video(path) as container:
                return container_offset_s(container, first_pts_s(video_stream(container, path)))
    except (InputError, OSError, ValueError):
        pass
    return 0.0
