"""Sounds of an archive's videos: runs of windows in which a class sounds, and the search of them.

The runs hold all of the scores that `ground` uses, so a search finds the same moments.
"""

import math
from typing import Final

import numpy as np

from vidsum.archive.packed import Records, read_records
from vidsum.archive.search import Hit
from vidsum.archive.settings import SearchOptions
from vidsum.archive.store import Database
from vidsum.errors import InputError
from vidsum.features.settings import Extraction
from vidsum.features.sounds import STEP_S
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.sounds import PARAMS, match_classes, read_names, sound_moments
from vidsum.pipelines.embedding import open_in_space
from vidsum.pipelines.sounds import SoundScores, plan_moment_sounds
from vidsum.types import FloatArray, Progress

RUN: Final = np.dtype([("class", "<u2"), ("first", "<u4"), ("after", "<u4"), ("score", "<f2")])
"""A run of windows [first, after), `STEP_S` apart, in which a class scores `min_score` or more; its best."""


def read_sounds(
    space: str, video: str, extraction: Extraction, progress: Progress | None, *, listen: bool
) -> SoundScores | None:
    """Return the sounds of a video, none without sound; None: not in the cache, and `listen` is off."""
    retrieval = Retrieval(evidence="sound" if listen else "auto")
    video_input = open_in_space(space, video, extraction)
    if video_input.video and not video_input.video.has_audio:
        return SoundScores.without_sound()
    try:
        plan = plan_moment_sounds(retrieval, video_input)
    except InputError:  # sound that cannot be decoded
        return SoundScores.without_sound() if listen else None
    return plan.run(progress) if plan else None


def pack_sounds(scores: FloatArray) -> Records:
    """Return the runs of scores [T, N_CLASSES]."""
    is_loud = np.pad(PARAMS.min_score <= scores.T, ((0, 0), (1, 1)))
    edges = np.diff(is_loud.astype(np.int8))
    classes, starts = np.nonzero(edges == 1)
    runs = np.zeros(len(classes), RUN)
    runs["class"], runs["first"], runs["after"] = classes, starts, np.nonzero(edges == -1)[1]
    runs["score"] = [scores[run["first"] : run["after"], run["class"]].max() for run in runs]
    return runs


def search_sounds(
    connection: Database, archive: str, text: str | None, options: SearchOptions, videos: set[int]
) -> list[Hit]:
    """Return the moments in which the sounds that a text names are there.

    Raises InputError: sounds alone are searched, and no video has any.
    """
    if not text or not options.includes("sound") or options.is_of_pictures:
        return []
    query = "SELECT id, duration_s, sounds FROM videos WHERE length(sounds) > 0 ORDER BY id"
    if not connection.execute(f"{query} LIMIT 1").fetchone():
        if options.evidence == "sound":
            raise InputError(f"{archive}: none of its videos has sounds", hint="vidsum index FOLDER --sounds")
        return []
    hits, (classes,) = list[Hit](), match_classes([text], options.language)
    for video, duration_s, content in connection.stream(query) if len(classes) else ():
        runs = read_records(content, RUN)
        if video in videos and len(runs := runs[np.isin(runs["class"], classes)]):
            hits += _find_hits(video, duration_s, runs)[: options.per_video]
    return hits


def _find_hits(video: int, duration_s: float, runs: Records) -> list[Hit]:
    """Return the moments of the runs of some classes in a video, best first, with the name of the loudest."""
    # runs of a foreign archive may have any length
    n_windows = min(int(runs["after"].max()), math.ceil(duration_s / STEP_S))
    curve = np.zeros(n_windows, np.float32)
    for run in runs:
        windows = slice(run["first"], run["after"])
        curve[windows] = np.maximum(curve[windows], run["score"])
    hits = []
    for moment in sound_moments(curve, duration_s):
        is_in = (runs["first"] * STEP_S < moment.end_s) & (runs["after"] * STEP_S > moment.start_s)
        loudest = runs[is_in][runs[is_in]["score"].argmax()]
        name = read_names()[loudest["class"]][0]
        hits.append(Hit(video, *moment.interval, moment.present or 0.0, None, "sound", name))
    return hits
