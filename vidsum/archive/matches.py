"""Moments that a search of an archive returns, and the files that they are in."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from vidsum.archive.rows import StoredFile
from vidsum.archive.search import ArchiveSearch, Hit
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
    """Seconds to add to its times, which count from the first picture, for the times of players."""
    archive: str = ""  # the name of the archive that has it


def filter_files(files: Sequence[StoredFile], options: SearchOptions) -> dict[int, list[str]]:
    """Return the paths of each video that passes the filters, by its id."""
    filtered: dict[int, list[str]] = {}
    globs = [part for glob in options.path for part in (glob, f"*/{glob.removeprefix('./')}")]
    for file in files:
        if file.gone_s is None and file.mtime_ns / 1e9 >= options.after_s:
            name = os.fsdecode(file.path)
            if not globs or any(fnmatchcase(name, glob) for glob in globs):
                filtered.setdefault(file.video, []).append(name)
    return filtered


def to_matches(hit: Hit, files: Mapping[int, Sequence[str]], search: ArchiveSearch) -> list[Match]:
    """Return a moment in the first of identical files with the others in `also`, or a moment in each."""
    paths, also = files[hit.video], [path for video in hit.also for path in files[video]]
    is_probable = hit.evidence != "picture" or not search.options.like
    present, score = hit.present if is_probable else None, hit.present + hit.is_quoted
    moment = (hit.start_s, hit.end_s, present, score, hit.evidence, hit.text, hit.parts)
    if search.options.duplicates:
        return [Match(path, *moment, tuple(also)) for path in paths]
    return [Match(paths[0], *moment, (*paths[1:], *also))]


def select_best(matches: Sequence[Match], options: SearchOptions) -> list[Match]:
    """Return the best of some moments: few per video, none too unlikely."""
    best, counts = list[Match](), Counter[str]()
    for match in sorted(matches, key=lambda match: -match.score):
        if match.present is None or match.present >= options.min_present:
            counts[match.video] += 1
            if counts[match.video] <= options.per_video:
                best.append(match)
    return best[: options.top_k]
