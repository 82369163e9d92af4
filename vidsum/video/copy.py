"""Copy segments of a video without encoding them again: quick and lossless, but cut at key frames.

A segment grows to the key frame at or before its start, and at its end until no frame is left that is stored
later but shown earlier. Segments that then touch are copied as one run.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, Mention, UsageError
from vidsum.io.atomic import atomic_write
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.audio import SoundTrack
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import first_pts_s, read_packets, seek
from vidsum.video.listen import describe_used
from vidsum.video.open import open_video, video_stream
from vidsum.video.segments import in_ticks
from vidsum.video.timing import read_timing_of
from vidsum.video.tracks import choose_track, codec_name
from vidsum.video.write import (
    WrittenVideo,
    describe_gaps,
    normalise_segments,
    open_mp4,
    translate_ffmpeg_errors,
)

_ENCODE_INSTEAD = ("leave ", Mention("copy"), " out to encode it again")
_STEPS_BACK_S = (0, 1, 4, 16, 64, 10**6)  # seconds earlier to seek, in turn, when a seek lands late
_BEFORE_ALL = -(2**62)


def copy_segments(
    info: VideoInfo,
    segments: Sequence[Interval],
    target: str | os.PathLike[str],
    *,
    comment: str | None = None,
    progress: Progress | None = None,
    added: Callable[[Any], SoundTrack] | None = None,
) -> WrittenVideo:
    """Copy consecutive segments of a video into an MP4; for the arguments, see `write_segments`.

    The segments grow, see the result's. `added` makes one more track. Raises UsageError: see
    `normalise_segments`; MP4 cannot hold a codec, or time stamps are missing or jump, or an
    edit list begins inside groups of pictures. InputError: the source
    cannot be read, or has no key frame or picture there. OutputError: cannot write.
    """
    source, timing = Path(info.path), read_timing_of(info)
    if timing.jumps or timing.is_edited:
        fault = "an edit list inside groups of pictures" if timing.is_edited else "time stamps that jump"
        raise UsageError(f"has {fault}, and cannot be copied", hint=_ENCODE_INSTEAD, subject=source)
    chosen = normalise_segments(segments, info.duration_s)
    total_s, done_s = sum(end - start for start, end in chosen), 0.0
    with (
        translate_ffmpeg_errors("has packets that MP4 does not support", source, _ENCODE_INSTEAD),
        open_video(source) as container,
        open_video(source) as sound_container,
        atomic_write(target) as part,
        open_mp4(part, comment) as output,
    ):
        stream = video_stream(container, info)
        pictures = _PictureCopy(source, container, stream, info.rotation_deg, output)
        audio = choose_track(sound_container, source, "audio", info.audio_track)
        sound = _SoundCopy(source, sound_container, audio, first_pts_s(stream), output) if audio else None
        extra = added(output) if added else None
        tracks: list[_SoundCopy | SoundTrack] = [track for track in (sound, extra) if track]
        for start, end in in_ticks(chosen, pictures.time_base):
            pictures.copy(start, end, tracks)
            done_s += float((end - start) * pictures.time_base)
            if progress is not None:
                progress("copying", min(done_s, total_s), total_s)
        if not pictures.n_frames:
            raise InputError("has no frame of the segments to copy", subject=source)
        if extra:
            extra.finish(pictures.clip_s)
    segments, gaps = pictures.segments, describe_gaps(chosen, pictures.segments)
    warnings = (*describe_used(source, "audio", info.audio_track), *gaps)
    duration_s, has_audio = float(pictures.clip_s), sound is not None
    return WrittenVideo(Path(target), segments, pictures.n_frames, duration_s, has_audio, warnings)


def has_default_streams(info: VideoInfo) -> bool:
    """Return whether a video is H.264 in yuv420p with AAC or no sound, as `write_segments` makes it."""
    if info.codec != "h264" or info.audio_codec not in (None, "aac"):
        return False
    with open_video(info.path) as container:
        return video_stream(container, info).codec_context.pix_fmt == "yuv420p"


class _PictureCopy:
    """Copier of packets of pictures; ticks are in the source's time base."""

    def __init__(self, source: Path, container: Any, stream: Any, turn_deg: int, output: Any) -> None:
        """Add a track to `output` for pictures of `stream` that `turn_deg`, clockwise, shows upright."""
        # AVI has no presentation times, and those that FFmpeg guesses are wrong where there are B-frames
        is_guessed = container.format.name == "avi" and getattr(stream.codec_context, "has_b_frames", False)
        if stream.start_time is None or is_guessed:
            fault = "has no presentation times, and cannot be copied"
            raise UsageError(fault, hint=_ENCODE_INSTEAD, subject=source)
        self.time_base: Fraction = stream.time_base
        self.n_frames = 0
        self.runs: list[tuple[int, int]] = []  # [first tick, end tick) in the source of each run
        self._source, self._container, self._stream = source, container, stream
        self._output, self._copied = output, add_copied_stream(source, stream, output)
        self._copied.set_display_rotation(-turn_deg)
        self._frame_ticks = round(1 / ((stream.average_rate or 25) * stream.time_base))
        self._shift = 0  # clip tick minus source tick in the last run
        self._last_dts = self._last_clip_dts = _BEFORE_ALL

    @property
    def segments(self) -> tuple[Interval, ...]:
        base = self.time_base
        return tuple((float(start * base), float(end * base)) for start, end in self.runs)

    @property
    def clip_s(self) -> Fraction:
        return (self.runs[-1][1] + self._shift) * self.time_base if self.runs else Fraction(0)

    def copy(self, start: int, end: int, tracks: "Sequence[_SoundCopy | SoundTrack]") -> None:
        """Copy a segment, grown to where it can be cut, and the other tracks, up to the file's end."""
        packets = _read_until_clean_cut(self._from_key_frame(start), end)
        key = next(packets, None)
        if key is None:
            return
        if not self.runs or key.pts >= self.runs[-1][1]:
            self._begin_run(key)
            for track in tracks:
                track.start_segment(key.pts * self.time_base, self.clip_s)
        copied_dts = self._last_dts  # by earlier segments: some demuxers give two packets the same dts
        for packet in chain([key], packets):
            # pictures stored after the run's key frame but shown before it need some that are not there
            if packet.dts > copied_dts and packet.pts >= self.runs[-1][0]:
                self._mux(packet)
                for track in tracks:
                    track.follow(self.clip_s)

    def _begin_run(self, key: Any) -> None:
        clip_tick = round(self.clip_s / self.time_base)
        room_for_dts = self._last_clip_dts + 1 + key.pts - key.dts
        self._shift = max(clip_tick, room_for_dts) - key.pts
        self.runs.append((key.pts, key.pts))

    def _mux(self, packet: Any) -> None:
        packet.duration = packet.duration or self._frame_ticks  # MPEG-TS has none
        start, end = self.runs[-1]
        self.runs[-1] = start, max(end, packet.pts + packet.duration)
        self.n_frames += 1
        self._last_dts = packet.dts
        self._last_clip_dts = max(packet.dts + self._shift, self._last_clip_dts + 1)
        packet.pts, packet.dts, packet.stream = packet.pts + self._shift, self._last_clip_dts, self._copied
        self._output.mux(packet)

    def _from_key_frame(self, start: int) -> Iterator[Any]:
        """Return the stored packets from the last key frame at or before `start`; none if the file ends."""
        for back_s in _STEPS_BACK_S:
            tick = start - round(back_s / self.time_base)
            packets = _packets_from(self._container, self._stream, self._stream.start_time or 0, tick)
            held: list[Any] = []
            for packet in packets:
                if packet.is_keyframe and packet.pts <= start:
                    held = [packet]
                elif held:
                    held.append(packet)
                if packet.dts > start:
                    break
            if held:
                end = max(packet.pts + (packet.duration or self._frame_ticks) for packet in held)
                return chain(held, packets) if end > start else iter(())
        raise InputError(
            f"has no key frame at or before {float(start * self.time_base):g} s", subject=self._source
        )


def _read_until_clean_cut(packets: Iterator[Any], end: int) -> Iterator[Any]:
    """Yield the packets up to the first cut with all pictures shown before `end` ahead of it, and no hole.

    As dts <= pts, nothing shown before `reach` can follow a packet with a dts of `reach`.
    """
    reach, undecided = end, list[Any]()
    for packet in packets:
        undecided.append(packet)
        is_last = packet.dts >= reach  # the consumer changes the packet
        if packet.pts < reach:
            reach = max(reach, *(other.pts for other in undecided))
            yield from undecided
            undecided = []
        if is_last:
            return


class _SoundCopy:
    """Copier of packets of sound, each with the run of its middle; ticks are of the sound's time base."""

    def __init__(self, source: Path, container: Any, stream: Any, video_start_s: float, output: Any) -> None:
        self._container, self._stream = container, stream
        self._output, self._copied = output, add_copied_stream(source, stream, output)
        self._origin = round(Fraction(video_start_s) / stream.time_base)  # time stamp of the first picture
        self._packets: Iterator[Any] = iter(())
        self._ahead: Any = None
        self._run_start = self._shift = 0
        self._end = _BEFORE_ALL  # clip tick up to which there is sound

    def start_segment(self, source_s: Fraction, clip_s: Fraction) -> None:
        """Continue with the sound of the source from `source_s` on, at `clip_s` of the clip."""
        self._run_start = round(source_s / self._stream.time_base)
        self._shift = round(clip_s / self._stream.time_base) - self._run_start
        for back_s in _STEPS_BACK_S[1:]:
            tick = self._run_start - round(back_s / self._stream.time_base)
            self._packets = _packets_from(self._container, self._stream, self._origin, tick)
            self._ahead = next(self._packets, None)
            if self._ahead is not None and self._ahead.pts <= self._run_start:
                break

    def follow(self, clip_s: Fraction) -> None:
        until = round(clip_s / self._stream.time_base) - self._shift
        while self._ahead is not None and _middle(self._ahead) < until:
            middle = _middle(self._ahead)
            if middle >= self._run_start and middle + self._shift >= self._end:
                self._mux(self._ahead)
            self._ahead = next(self._packets, None)

    def _mux(self, packet: Any) -> None:
        packet.pts = packet.dts = packet.pts + self._shift
        packet.stream = self._copied
        self._end = packet.pts + packet.duration
        self._output.mux(packet)


def _middle(packet: Any) -> int:
    return int(packet.pts + packet.duration // 2)


def _packets_from(container: Any, stream: Any, origin: int, tick: int) -> Iterator[Any]:
    """Yield the packets from about `tick` on, counted from `origin`; those without dts (Matroska) get one."""
    lowest = (stream.start_time or 0) - round(1 / stream.time_base)
    seek(container, stream, max(origin + tick, lowest))
    waiting: list[Any] = []
    for packet in read_packets(container, [stream], DecodeLog()):
        if packet.size == 0 or packet.is_corrupt:
            continue
        packet.pts = (packet.pts if packet.pts is not None else packet.dts or 0) - origin
        waiting.append(packet)
        if packet.dts is not None:
            packet.dts -= origin
            yield from _complete_dts(waiting)
            waiting = []
    yield from _complete_dts(waiting)


def _complete_dts(packets: list[Any]) -> list[Any]:
    """Give each packet a dts, one duration before the next one's; the last has one, or is shown last."""
    for packet, following in zip(packets[-2::-1], packets[:0:-1], strict=True):
        if following.dts is None:
            following.dts = following.pts
        packet.dts = following.dts - max(packet.duration, 1)
    if len(packets) == 1 and packets[0].dts is None:
        packets[0].dts = packets[0].pts
    return packets


def add_copied_stream(source: str | os.PathLike[str], stream: Any, output: Any) -> Any:
    """Add a stream to a clip for packets of `stream`. Raises UsageError: MP4 cannot hold its codec."""
    name = codec_name(stream)
    try:
        if stream.codec_context is None:
            raise ValueError
        copied = output.add_stream_from_template(stream, opaque=True)
        copied.metadata.update({name: text for name, text in stream.metadata.items() if name == "language"})
    except ValueError as error:
        fault = f"{stream.type} of the codec {name} cannot be copied into an MP4"
        raise UsageError(fault, hint=_ENCODE_INSTEAD, subject=source) from error
    if name == "hevc":
        copied.codec_context.codec_tag = "hvc1"  # Apple's players accept no other
    return copied
