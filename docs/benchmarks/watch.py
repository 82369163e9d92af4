"""Alerts of `vidsum watch` on joined films: moments that are announced, how late, and false alarms.

    python -m docs.benchmarks.watch FOLDER [--half odd]

Every query of every clip of the half is watched for in each of ten films (docs.benchmarks.grounding joins them),
with the settings of `vidsum watch`. A moment counts as announced where an alert of its query begins before it
ends. Alerts that begin where the query is not true, with two seconds of grace, are false alarms; hours are
those of all films times all queries. AUC is of seconds. `batch` alerts by the same probability without the
mean of three seconds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, KINDS, composite, embed, known_clips, notes, truth_of
from vidsum.grounding.presence import OFFSET, SLOPE, SMOOTHED, curves_of_presence
from vidsum.grounding.spaces import embed_queries
from vidsum.scaling import logistic
from vidsum.settings import Watching
from vidsum.types import FloatArray, Interval

_GRACE_S = 2.0
_FILMS = 10


class Heard(NamedTuple):
    """One query in one film."""

    clip: str
    kind: str
    windows: tuple[Interval, ...]
    present: FloatArray
    """[T] each second."""


def watch_film(film: Path, half: str, smoothed: int = SMOOTHED) -> list[Heard]:
    """Every query of every clip of a half, in one film."""
    video, heard = embed(film, "vse", "auto"), []
    for kind in KINDS:
        truth = {(query.qid, query.text): query.windows for query in truth_of(film, kind).queries}
        asked = [
            (Path(clip["file"]).name, clip[kind]) for clip in known_clips()[HALVES[half]] if clip.get(kind)
        ]
        fits = notes()["fits"] if kind == "short" else {}
        z = curves_of_presence(video, embed_queries("vse", [text for _, text in asked]))
        for (clip, text), curve in zip(asked, z, strict=True):
            windows = truth.get((clip, text), ())
            if not windows and fits.get(text):  # true of another clip: neither here nor there
                continue
            before = np.concatenate([np.full(smoothed - 1, np.nan, np.float32), curve])
            last = np.lib.stride_tricks.sliding_window_view(before, smoothed)
            heard.append(Heard(clip, kind, windows, logistic(SLOPE * np.nanmean(last, axis=1) + OFFSET)))
    return heard
