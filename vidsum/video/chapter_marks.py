"""A copy of a video, all its streams as they are stored, with chapters."""

import errno
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer, OutputContainer

from vidsum.errors import InputError, Mention, UsageError
from vidsum.io.atomic import atomic_write
from vidsum.times import Cue
from vidsum.types import VideoInfo
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import read_packets
from vidsum.video.open import open_video
from vidsum.video.timing import read_jumps

CONTAINERS: Mapping[str, str] = {
    ".mkv": "matroska",
    ".webm": "webm",
    ".mp4": "mp4",
    ".m4v": "mp4",
    ".mov": "mov",
}  # FFmpeg's name of what a file is by its suffix, of those that hold chapters
_OF_FILE = ("major_brand", "minor_version", "compatible_brands", "encoder")
_KINDS = ("video", "audio", "subtitle")


def copy_with_chapters(
    info: VideoInfo, target: str | os.PathLike[str], chapters: Sequence[Cue], comment: str
) -> None:
    """Copy a video with these chapters, by the clock of players, in place of its own.

    Raises UsageError: the suffix is of no container with chapters, or time stamps jump. InputError: the video
    cannot be read, or the container cannot hold its streams. OutputError: the target cannot be written.
    """
    suffix = Path(target).suffix.lower()
    if suffix not in CONTAINERS:
        raise UsageError(f"must end in {', '.join(CONTAINERS)}", subject=os.fspath(target))
    if read_jumps(info):
        raise UsageError("has time stamps that jump or are missing, and cannot be copied", subject=info.path)
    is_mp4 = CONTAINERS[suffix] in ("mp4", "mov")
    options = {"fflags": "+bitexact", **({"movflags": "+faststart"} if is_mp4 else {})}
    with open_video(info.path) as source, atomic_write(target) as part:
        begin_s = Fraction(source.start_time or 0, av.time_base)
        try:
            with av.open(f"file:{part}", "w", format=CONTAINERS[suffix], options=options) as output:
                facts = {name: text for name, text in source.metadata.items() if name not in _OF_FILE}
                output.metadata.update({**facts, "comment": comment})
                early_s = _copy_streams(source, output, info, begin_s)
                # MP4 has times before 0; elsewhere all streams are moved by them
                late_ms = 0 if is_mp4 else -round(1000 * early_s)
                output.set_chapters(
                    [
                        {
                            "id": number,
                            "start": round(1000 * start_s) + late_ms if number else 0,
                            "end": round(1000 * end_s) + late_ms,
                            "time_base": Fraction(1, 1000),
                            "metadata": {"title": title},
                        }
                        for number, (start_s, end_s, title) in enumerate(chapters)
                    ]
                )
        except (av.FFmpegError, ValueError) as error:
            # a container that cannot do without a time stamp does "not permit" it
            if isinstance(error, OSError) and error.errno != errno.EPERM:
                raise
            hint = None if suffix == ".mkv" else Mention("output", "FILE.mkv")
            raise InputError(
                f"its streams cannot be copied into {suffix}", hint, subject=info.path
            ) from error


def _copy_streams(
    source: InputContainer, output: OutputContainer, info: VideoInfo, begin_s: Fraction
) -> Fraction:
    """Copy packets, so that what is at `begin_s` comes at 0; return where the first one is, 0 or before."""
    copied: dict[Any, Any] = {}
    for stream in source.streams:
        if stream.type in _KINDS:
            copied[stream] = copy = output.add_stream_from_template(stream, opaque=True)
            copy.metadata.update(stream.metadata)
            if isinstance(copy, av.VideoStream):
                copy.set_display_rotation(-info.rotation_deg)
    first_s = Fraction(0)
    for packet in read_packets(source, list(copied), DecodeLog()):
        if packet.dts is None and packet.pts is None:
            continue
        shift = round(begin_s / packet.time_base)
        packet.dts = None if packet.dts is None else packet.dts - shift
        if packet.pts is not None:
            packet.pts -= shift
            first_s = min(first_s, packet.pts * packet.time_base)
        packet.stream = copied[packet.stream]
        output.mux(packet)
    return first_s
