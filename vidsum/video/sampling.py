"""Picking the sampled frames out of a stream of decoded ones, for several samplings in one pass."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from vidsum.types import Picture, VideoInfo
from vidsum.video.damage import DecodeLog, end_of_pictures
from vidsum.video.frames import Frame, Sampling, n_samples, samples_before
from vidsum.video.jumps import Jumps
from vidsum.video.playlist import looks_like_playlist

T = TypeVar("T")


class CannotReadError(Exception):
    """A reader cannot read a video that another one may: the message says why."""


def check_plain(info: VideoInfo, jumps: Jumps, reader: str) -> None:
    """Raise CannotReadError for a video that no reader but PyAV may be given.

    Its time stamps jump; or it might be taken for a playlist or a series of pictures, and nothing keeps other
    readers from opening other files.
    """
    if jumps:
        raise CannotReadError(f"{reader} does not follow time stamps that jump")
    if looks_like_playlist(Path(info.path)):
        raise CannotReadError(f"{reader} may not read playlists")
    if "%" in Path(info.path).name:
        raise CannotReadError(f"{reader} takes a name with % for those of a series")


def sample_stream(
    decoded: Iterable[tuple[float, T]],
    samplings: Sequence[Sampling],
    info: VideoInfo,
    log: DecodeLog,
    to_picture: Callable[[int, T], Picture],
) -> Iterator[tuple[int, Frame]]:
    """Pick frames as they come; each sample is of the frame on screen at its time (see `pick_frames`).

    Args:
        decoded: (time_s, frame) of every frame of the video, times increasing.
        samplings: rates and sizes.
        info: of the video; samples end at its duration.
        log: counts of decoding, complete when `decoded` ends.
        to_picture: turns a decoded frame into the picture that sampling i wants; called for picked ones only.

    Yields:
        (i, frame) for sampling i, in time order.
    """
    given = [0] * len(samplings)

    def picks(number: int, pts_s: float, frame: T, counts: list[int]) -> Iterator[tuple[int, Frame]]:
        """The samples up to `counts` that show this frame, `given` being those before it."""
        due: list[tuple[float, int, int]] = []
        for i, (sampling, count) in enumerate(zip(samplings, counts, strict=True)):
            if sampling.fps is None:
                due.append((pts_s, i, number))
            else:
                due += [(index / sampling.fps, i, index) for index in range(given[i], count)]
                given[i] = max(given[i], count)
        pictures = {i: to_picture(i, frame) for i in {i for _, i, _ in due}}
        for time_s, i, index in sorted(due):
            yield i, Frame(index, time_s, pts_s, pictures[i])

    held: tuple[int, float, T] | None = None
    for number, (time_s, frame) in enumerate(decoded):
        if held is not None:
            off_s = min(time_s, info.duration_s)
            yield from picks(*held, [samples_before(s.fps or 0, off_s) for s in samplings])
        held = number, time_s, frame
    if held is not None:
        end_s = end_of_pictures(info, log)
        yield from picks(*held, [n_samples(s.fps or 0, end_s) for s in samplings])
