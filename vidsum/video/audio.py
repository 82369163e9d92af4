"""Sound: the samples of a source by time, and an AAC track in step with the pictures."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from vidsum.types import FloatArray, TrackChoice, VideoInfo
from vidsum.video.aac import AAC_RATES, BITS_PER_CHANNEL
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import can_seek, decode_packet, first_pts_s, read_packets, seek
from vidsum.video.jumps import Jumps, PacketShifter
from vidsum.video.loudness import Normalisation, Normaliser
from vidsum.video.open import open_media, open_video
from vidsum.video.tracks import choose_track

FADE_S = Fraction(5, 1000)  # inaudible as a fade, but it removes the click at each cut
_PIECES_A_SECOND = 2  # short pieces of sound are stored next to their pictures in the file
_PREROLL_S = 0.5  # decoders of AAC, Opus and MP3 need a few packets after a seek
_SEEK_GAP_S = 3.0  # less sound to skip is decoded and dropped: quicker than a seek and its preroll
_MAX_LEVEL = 8.0  # damaged sound can be NaN or far beyond 1, full scale, which the encoder refuses
_JOINED_S = 0.5
_STAMP_TOLERANCE_S = 0.01  # time stamps may stray so far (MKV rounds to 1 ms) before a gap

_Block = tuple[int, FloatArray]  # (number of the first sample, [channels, samples])
_Start = tuple[int | None, Fraction | None, float | None]  # time stamp, its base and time of joined frames
_Unmixed = tuple[int, FloatArray, FloatArray | None]  # a block and the channels [C, samples] if mixed


@contextmanager
def open_sound(
    source: VideoInfo | Path,
    jumps: Jumps,
    mono_rate: int | None = None,
    track: TrackChoice = None,
    stereo_rate: int | None = None,
) -> "Iterator[SoundSource | None]":
    """Open the sound of a video or of a file without pictures, its `track`; None where none can be decoded.

    Times count from the video's first picture, or from the file's start. For rates see `SoundSource`.
    """

    def opened() -> av.container.InputContainer:
        return open_media(source, "audio or video") if isinstance(source, Path) else open_video(source.path)

    with ExitStack() as files:
        container = files.enter_context(opened())
        path, track = (source, track) if isinstance(source, Path) else (source.path, source.audio_track)
        stream = choose_track(container, path, "audio", track)
        if stream is None or stream.codec_context is None:
            yield None
            return
        first = next(decode_sound(container, stream, Jumps(), DecodeLog()), None)
        if first is not None and not can_seek(container, stream, jumps):  # then not even back to the start
            container = files.enter_context(opened())
            stream = container.streams[stream.index]
        if first is None:
            yield None
            return
        start_s = (container.start_time or 0) / av.time_base if isinstance(source, Path) else source.start_s
        yield SoundSource(container, stream, first, start_s, jumps, mono_rate, stereo_rate)


def decode_sound(
    container: av.container.InputContainer, stream: av.AudioStream, jumps: Jumps, log: DecodeLog
) -> Iterator[av.AudioFrame]:
    """Yield the sound from the container's position (with jumps, the start); faults become silence."""
    shifter = PacketShifter(jumps.sound)
    for packet in read_packets(container, [stream], log):
        shifter.shift(packet)
        yield from decode_packet(packet, log)


class SoundSource:
    """The sound of a video as float samples from the first picture on; silence where it has none.

    The rate is the source's if AAC supports it. Mono stays mono, more than two channels become stereo; with
    `mono_rate` all is mono at that rate, with `stereo_rate` stereo.
    """

    def __init__(
        self,
        container: av.container.InputContainer,
        stream: av.AudioStream,
        first: av.AudioFrame,
        start_s: float,
        jumps: Jumps,
        mono_rate: int | None = None,
        stereo_rate: int | None = None,
    ) -> None:
        """Read `stream`, counted from `start_s` in the file, where the container is unless it can seek."""
        self._container, self._stream, self._start_s = container, stream, start_s
        self._jumps = jumps
        self.log = DecodeLog()  # damage
        self._time_base = stream.time_base or Fraction(1, first.sample_rate)
        own_rate = first.sample_rate if first.sample_rate in AAC_RATES else AAC_RATES[-1]
        self.rate: int = mono_rate or stereo_rate or own_rate
        self.n_channels = 1 if mono_rate else 2 if stereo_rate else min(first.layout.nb_channels, 2)
        self.layout = "mono" if self.n_channels == 1 else "stereo"
        self._blocks: Iterator[_Block] = iter(())
        self._block: _Block | None = None  # the block that is being read
        self._next = 0
        self._can_seek = can_seek(container, stream, jumps)
        if self._can_seek:
            self._seek(0)
        else:
            self._decode_on()

    @property
    def is_over(self) -> bool:
        return self._block is None

    def read(self, first: int, count: int) -> FloatArray:
        """Return samples [first, first + count) as [channels, count]; meant to be called in rising order."""
        samples = np.zeros((self.n_channels, count), dtype=np.float32)
        is_near = self._next <= first <= self._next + _SEEK_GAP_S * self.rate
        if not is_near and self._can_seek:
            self._seek(first)
        self._next = first + count
        while self._block is not None and self._block[0] < first + count:
            at, block = self._block
            low, high = max(at, first), min(at + block.shape[1], first + count)
            if low < high:
                samples[:, low - first : high - first] = block[:, low - at : high - at]
            if at + block.shape[1] > first + count:
                break
            self._block = next(self._blocks, None)
        return samples

    def _seek(self, first: int) -> None:
        """Make `_block` the first block of sound, or one that starts at or before sample `first`."""
        first_s, back_s = first / self.rate + self._start_s, _PREROLL_S
        sound_start_s = first_pts_s(self._stream)
        while True:
            target_s = max(first_s - back_s, sound_start_s)
            seek(self._container, self._stream, round(target_s / self._time_base))
            self._decode_on()
            if target_s == sound_start_s or (self._block is not None and self._block[0] <= first):
                break
            back_s *= 4  # it landed late, as a seek in MPEG-TS may
        self._next = first

    def _decode_on(self) -> None:
        blocks = keep_cancelled(self._unmixed_blocks(), self.rate, self.log)
        self._blocks = _drop_strays(blocks, _STAMP_TOLERANCE_S * self.rate)
        self._block = next(self._blocks, None)

    def _unmixed_blocks(self) -> Iterator[_Unmixed]:
        position: int | None = None
        for time_s, mix, channels in self._resampled():
            if time_s is not None:
                stamped = round((time_s - self._start_s) * self.rate)
                if position is None or abs(stamped - position) > _STAMP_TOLERANCE_S * self.rate:
                    position = stamped
            if position is not None:
                yield position, mix, channels
                position += mix.shape[1]

    def _resampled(self) -> Iterator[tuple[float | None, FloatArray, FloatArray | None]]:
        """Yield when pieces begin, their mix at one rate and layout and, where it mixes, all channels."""
        resamplers, made_for, can_mix = list[av.AudioResampler](), None, True
        frames = decode_sound(self._container, self._stream, self._jumps, self.log)
        for frame in _join_frames(frames):
            kind = (frame.format.name, frame.layout.name, frame.sample_rate)
            if kind != made_for:
                made_for, can_mix = kind, _can_mix(frame, self.layout)
                is_separate = not can_mix or frame.layout.nb_channels > self.n_channels
                layouts: list[str | av.AudioLayout] = [self.layout] * can_mix
                layouts += [frame.layout] * is_separate
                resamplers = [av.AudioResampler("flt", layout, self.rate) for layout in layouts]
            for pieces in zip(*(resampler.resample(frame) for resampler in resamplers), strict=False):
                mix, channels = _in_range(pieces[0]), _in_range(pieces[1]) if pieces[1:] else None
                if not can_mix:
                    mix, channels = np.tile(mix.mean(axis=0), (self.n_channels, 1)), mix
                yield pieces[0].time, mix, channels


def _can_mix(frame: av.AudioFrame, layout: str) -> bool:
    """Return whether FFmpeg mixes the frame's channels; not nine of unknown places, nor ambisonics."""
    try:
        av.AudioResampler("flt", layout).resample(frame)
    except av.error.ArgumentError:
        return False
    return True


def _join_frames(frames: Iterable[av.AudioFrame]) -> Iterator[av.AudioFrame]:
    """Join frames that follow each other, to `_JOINED_S`: calls for each one take longer than their work."""
    fifo, kind, start = av.AudioFifo(), None, None  # `start`: see `_Start`
    for frame in filter(lambda frame: frame.samples, frames):
        rate, time_s = frame.sample_rate, frame.time
        this = frame.format.name, frame.layout.name, rate
        if start is not None:
            end_s = None if start[2] is None else start[2] + fifo.samples / rate
            follows = time_s is None or (end_s is not None and abs(end_s - time_s) <= _STAMP_TOLERANCE_S)
            if kind != this or not follows or fifo.samples >= _JOINED_S * rate:
                yield _take_frame(fifo, start)
                fifo, start = av.AudioFifo(), None
        kind, start = this, start or (frame.pts, frame.time_base, time_s)
        frame.pts = None  # else the buffer refuses stamps that stray by a sample
        fifo.write(frame)
    if start is not None:
        yield _take_frame(fifo, start)


def _take_frame(fifo: av.AudioFifo, start: _Start) -> av.AudioFrame:
    frame = fifo.read()
    assert frame is not None
    frame.pts, frame.time_base, _ = start
    return frame


def _in_range(frame: av.AudioFrame) -> FloatArray:
    """Return [channels, samples] of a frame of packed float, without what encoders refuse.

    Channels for bass are left out, and directions of ambisonics, whose first channel holds the sum. Frames
    must be packed: in PyAV, the planes of eight or more channels run past their end and end the process.
    """
    names = [channel.name for channel in frame.layout.channels]
    samples: FloatArray = np.ascontiguousarray(frame.to_ndarray().reshape(-1, len(names)).T)
    audible = [i for i, name in enumerate(names) if name == "AMBI0" or name[:3] not in ("LFE", "AMB")]
    samples = samples if len(audible) == len(samples) else samples[audible or [0]]
    if np.abs(samples).max(initial=0.0) <= _MAX_LEVEL:  # False of NaN; most blocks are whole
        return samples
    return np.clip(np.nan_to_num(samples, posinf=0, neginf=0), -_MAX_LEVEL, _MAX_LEVEL)


def _drop_strays(blocks: Iterable[_Block], slack: float) -> Iterator[_Block]:
    """Drop blocks that leap ahead by more than `slack` samples while the next goes back: damaged stamps."""
    end: int | None = None
    held: _Block | None = None
    for block in blocks:
        if held is not None and not (end is not None and held[0] > end + slack and block[0] < held[0]):
            yield held
            end = held[0] + held[1].shape[1]
        held = block
    if held is not None:
        yield held


class SoundTrack:
    """The AAC track of a clip, as long as the pictures written so far, counted from the clip's start."""

    def __init__(
        self, source: Any, container: av.container.OutputContainer, plan: Normalisation | None = None
    ) -> None:
        """Add a track for the samples of a `SoundSource`, or of what is read like one.

        `plan` gives them a loudness.
        """
        self._source, self._container = source, container
        self._normaliser = Normaliser(source.rate, source.layout, plan) if plan else None
        self._n_encoded = 0
        self.stream = container.add_stream("aac", rate=source.rate, layout=source.layout)
        self.stream.codec_context.bit_rate = BITS_PER_CHANNEL * source.n_channels
        self._n_written = 0
        self._shift = 0
        self._fades_in = False

    def start_segment(self, source_s: Fraction, clip_s: Fraction) -> None:
        """Continue with the sound of the source from `source_s` on, at `clip_s` of the clip."""
        rate = self._source.rate
        self._shift = round(source_s * rate) - round(clip_s * rate)
        self._fades_in = True

    def follow(self, clip_s: Fraction) -> None:
        """Write the sound up to about `clip_s`; called as the pictures go on."""
        while round(clip_s * self._source.rate) - self._n_written >= self._source.rate // _PIECES_A_SECOND:
            self._write(self._source.rate // _PIECES_A_SECOND, fades_out=False)

    def end_segment(self, clip_s: Fraction) -> None:
        """Write the rest of the segment's sound, up to `clip_s`."""
        self.follow(clip_s - FADE_S)
        self._write(round(clip_s * self._source.rate) - self._n_written, fades_out=True)

    def finish(self, clip_s: Fraction) -> None:
        """End the last segment, and write what filter and encoder still hold."""
        self.end_segment(clip_s)
        if self._normaliser:
            for samples in self._normaliser.finish():
                self._encode(samples[:, : self._n_written - self._n_encoded])
            missing = self._n_written - self._n_encoded  # resampling may lose a few
            self._encode(np.zeros((self._source.n_channels, missing), np.float32))
        self._container.mux(self.stream.encode(None))

    def _write(self, count: int, *, fades_out: bool) -> None:
        if count <= 0:
            return
        samples = self._source.read(self._n_written + self._shift, count)
        ramp = np.linspace(0, 1, min(round(FADE_S * self._source.rate), count), dtype=np.float32)
        if self._fades_in:
            samples[:, : len(ramp)] *= ramp
        if fades_out:
            samples[:, count - len(ramp) :] *= ramp[::-1]
        self._fades_in = False
        self._n_written += count
        for block in self._normaliser.push(samples) if self._normaliser else [samples]:
            self._encode(block)

    def _encode(self, samples: FloatArray) -> None:
        if not samples.shape[1]:
            return
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(samples), format="fltp", layout=self._source.layout
        )
        frame.sample_rate, frame.time_base = self._source.rate, Fraction(1, self._source.rate)
        frame.pts = self._n_encoded
        self._n_encoded += samples.shape[1]
        self._container.mux(self.stream.encode(frame))


_CROSS_FADE_S = 0.01
_LOST, _BACK = 10 ** (20 / 10), 10 ** (14 / 10)  # power of the loudest channel over the mix's to use it
_CLEARLY_LOUDER = 10 ** (6 / 10)
_SILENT = 1e-8  # mean square of silence, which changes no choice


def keep_cancelled(blocks: Iterable[_Unmixed], rate: int, log: DecodeLog) -> Iterator[_Block]:
    """Yield the mix of each block or, where it is lost, the loudest channel; `log` counts the seconds."""
    used: int | None = None
    for position, mix, channels in blocks:
        if channels is None:
            used = None
            yield position, mix
            continue
        before = used if used is not None and used < len(channels) else None
        used = _choose_channel(mix, channels, before)
        made = mix if used is None else np.broadcast_to(channels[used], mix.shape).copy()
        if used != before:
            old = mix if before is None else channels[before]
            ramp = np.linspace(0, 1, min(round(_CROSS_FADE_S * rate), mix.shape[1]), dtype=np.float32)
            made[:, : len(ramp)] = old[..., : len(ramp)] * (1 - ramp) + made[:, : len(ramp)] * ramp
        log.cancelled_s += mix.shape[1] / rate * (used is not None)
        yield position, made


def _choose_channel(mix: FloatArray, channels: FloatArray, before: int | None) -> int | None:
    """Return the channel to use in place of the mix; None for the mix."""
    powers, mixed = (channels**2).mean(axis=1), float((mix**2).mean(axis=1).max())
    loudest = int(powers.argmax())
    if powers[loudest] < _SILENT:
        return before
    if mixed * (_LOST if before is None else _BACK) >= powers[loudest]:
        return None
    is_near = before is not None and powers[before] * _CLEARLY_LOUDER >= powers[loudest]
    return before if is_near else loudest
