"""The MP4 of a reel, from the originals."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from vidsum.errors import InputError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import label_of
from vidsum.outputs.timelines import require_unchanged
from vidsum.pipelines.clip_style import choose_framing
from vidsum.pipelines.sources import probe_video
from vidsum.results.reel import Reel, ReelSegment, ReelSource
from vidsum.results.result import count_text
from vidsum.types import Progress, VideoInfo
from vidsum.video.framing import Framing
from vidsum.video.write_film import FilmPart, write_film

_LENGTH_ERROR_S: Final = 0.01  # documents round times


def encode_reel(reel: Reel, path: Path, device: str, progress: Progress | None) -> tuple[str, ...]:
    """Write a reel as one MP4, whatever is in the way, and return warnings.

    Raises InputError: a source or the music is not there any more, or is another one.
    """
    canvas = reel.canvas
    if reel.music:
        require_unchanged(reel.music)
    parts = [*_parts_of(reel, device, progress)]
    warnings = write_film(
        parts,
        (canvas.width, canvas.height),
        canvas.rate,
        path,
        music=reel.music.path if reel.music else None,
        comment=label_of(reel.provenance),
        progress=progress,
    )
    whole = {part.path for part in parts if part.framing and part.framing.is_whole}
    return (
        (*warnings, f"{count_text(len(whole), 'clip')} shown whole: no crop shows enough")
        if whole
        else warnings
    )


def _parts_of(reel: Reel, device: str, progress: Progress | None) -> Iterator[FilmPart]:
    for number, segment in enumerate(reel.segments):
        if progress:
            progress("opening files", number, len(reel.segments))
        source = reel.sources[segment.source]
        video = source_video(source)
        framing = None
        if video and reel.fit == "crop":
            framing = _framing_of(reel, video, segment, device)
        yield FilmPart(
            source.path, video, segment.start_s, segment.end_s, segment.title, segment.speech, framing
        )


def _framing_of(reel: Reel, video: VideoInfo, segment: ReelSegment, device: str) -> Framing:
    aspect = Fraction(reel.canvas.width, reel.canvas.height)
    return choose_framing(video, [(segment.start_s, segment.end_s)], aspect, device)


def source_video(source: ReelSource) -> VideoInfo | None:
    """Return a clip of a reel as it is now; None for a photograph.

    Raises InputError: it is not there any more, or is another one.
    """
    require_unchanged(source)
    if source.kind == "photograph":
        return None
    video = probe_video(source.path, Extraction())
    if abs(video.duration_s - source.length_s) > _LENGTH_ERROR_S:
        raise InputError("not the file that the reel was made from", subject=source.path)
    return video
