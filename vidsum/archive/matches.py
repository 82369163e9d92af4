"""The moments that a search returns, of the hits in an archive."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vidsum.archive.search import Hit
from vidsum.archive.settings import ArchiveEvidence, SearchOptions
from vidsum.types import Interval


@dataclass(frozen=True)
class Match:
    """A moment [start_s, end_s) of a video in an archive."""

    video: str  # absolute path
    start_s: float
    end_s: float
    present: float | None  # probability that the moment matches; None for pictures (`like`)
    score: float  # `present`, 1 more for quotations, or the similarity to a picture; the order of the moments
    evidence: ArchiveEvidence = "picture"
    text: str = ""  # the spoken or written text, or the name of the sound
    parts: tuple[Interval, ...] = ()  # the moments of the steps that follow each other (`then`)
    also: tuple[str, ...] = ()  # other videos with a near-identical moment
    start_offset_s: float = 0.0
    """Seconds to add to its times, which count from the first picture, for those of players."""


def to_matches(
    hit: Hit, files: Mapping[int, Sequence[str]], options: SearchOptions, *, has_presence: bool
) -> list[Match]:
    """Return a moment in the first of identical files with the others in `also`, or a moment in each."""
    paths, also = files[hit.video], [path for video in hit.also for path in files[video]]
    is_probable = hit.evidence != "picture" or (has_presence and not options.like)
    present = hit.present if is_probable else None
    score = hit.present + hit.is_quoted
    moment = (hit.start_s, hit.end_s, present, score, hit.evidence, hit.text, hit.parts)
    if options.duplicates:
        return [Match(path, *moment, tuple(also)) for path in paths]
    return [Match(paths[0], *moment, (*paths[1:], *also))]


def select_best(matches: Sequence[Match], options: SearchOptions) -> list[Match]:
    """Return the best of some moments: few per video, none too short or too unlikely."""
    best, counts = list[Match](), Counter[str]()
    for match in sorted(matches, key=lambda match: -match.score):
        is_short = match.end_s - match.start_s < options.min_length_s
        if is_short or (match.present is not None and match.present < options.min_present):
            continue
        counts[match.video] += 1
        if counts[match.video] <= options.per_video:
            best.append(match)
    return best[: options.top_k]
