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
from vidsum.features.sounds import STEP_S
from vidsum.grounding.sounds import PARAMS, match_classes, read_names, sound_moments
from vidsum.types import FloatArray

RUN: Final = np.dtype([("class", "<u2"), ("first", "<u4"), ("after", "<u4"), ("score", "<f2")])
"""A run of windows [first, after), `STEP_S` apart, in which a class scores `min_score` or more; its best."""


def pack_sounds(scores: FloatArray) -> Records:
    """Return the runs of scores [T, N_CLASSES]."""
    is_loud = np.pad(PARAMS.min_score <= scores.T, ((0, 0), (1, 1)))
    edges = np.diff(is_loud.astype(np.int8))
    classes, starts = np.nonzero(edges == 1)
    runs = np.zeros(len(classes), RUN)
    runs["class"], runs["first"], runs["after"] = classes, starts, np.nonzero(edges == -1)[1]
    runs["score"] = [scores[run["first"] : run["after"], run["class"]].max() for run in runs]
    return runs


def search_sounds(connection: Database, text: str, options: SearchOptions, videos: set[int]) -> list[Hit]:
    """Return the moments in which the sounds that a text names are there."""
    query = "SELECT id, duration_s, sounds FROM videos WHERE length(sounds) > 0 ORDER BY id"
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
