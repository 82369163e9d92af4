"""The table of `docs.benchmarks.qvhighlights_small`: rows, and what each differs from none by query."""

import csv
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from docs.benchmarks.qvhighlights import youtube_id
from docs.benchmarks.qvhighlights_measures import MEASURES, holm
from vidsum.types import TimeArray

COLUMNS = (*MEASURES, "segments mAP", "AUC")
"""Of each query in a run: measures of spans, then of the saliency."""
DRAWS = 10_000


def print_table(files: Mapping[str, Sequence[Path]], video_of: Mapping[str, str]) -> None:
    """A CSV: of each row its means over the queries, and their paired differences from none.

    Intervals are 95 % of a bootstrap over runs and, in each, over the videos of YouTube. A star is what
    Holm's test holds over all differences of the table at .05.
    """
    runs = {
        row: {path.stem.rsplit("-", 1)[1]: json.loads(path.read_text()) for path in own}
        for row, own in files.items()
    }
    reference = runs["none"]
    found = {
        row: _differences([(own[key], reference[key]) for key in own if key in reference], video_of)
        for row, own in runs.items()
        if row != "none" and own
    }
    is_sure = iter(holm([p for each in found.values() for *_, p in each]))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    facts = ("row", "runs", "parameters", "epoch", "loss")
    writer.writerow([*facts, *COLUMNS, *(f"{column} - none" for column in COLUMNS)])
    for row, own in runs.items():
        if own:
            differences = [
                f"{mean:+.1f} [{low:.1f}, {high:.1f}]{'*' if next(is_sure) else ''}"
                for mean, low, high, _ in found.get(row, ())
            ]
            means = np.nanmean(np.concatenate([_values(each) for each in own.values()]), axis=0)
            writer.writerow(
                [row, len(own), *_facts([*own.values()]), *(f"{100 * x:.1f}" for x in means), *differences]
            )


def _facts(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Parameters; means of the best epoch, and of the loss in it."""
    losses = [run["history"][run["epoch"] - 1][0] if run["history"] else math.nan for run in runs]
    return [
        str(runs[0]["parameters"]),
        f"{np.mean([run['epoch'] for run in runs]):.0f}",
        f"{np.mean(losses):.2f}",
    ]


def _values(run: Mapping[str, Any]) -> TimeArray:
    """[Q, M] measures of the queries; NaN for what one has not."""
    return np.array([*run["measures"].values()], np.float64)


def _differences(
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], video_of: Mapping[str, str]
) -> list[tuple[float, float, float, float]]:
    """Of each measure: the mean over queries in per cent, its interval, and the two-sided p."""
    sums, counts = [], []
    for run, none in pairs:
        difference = 100 * (_values(run) - _values(none))
        _, video = np.unique([youtube_id(video_of[qid]) for qid in run["measures"]], return_inverse=True)
        by_video = np.zeros((2, video.max() + 1, difference.shape[1]))
        np.add.at(by_video[0], video, np.nan_to_num(difference))
        np.add.at(by_video[1], video, ~np.isnan(difference))
        sums.append(by_video[0])
        counts.append(by_video[1])
    draw = np.random.default_rng(0)
    drawn = np.empty((DRAWS, sums[0].shape[1]))
    for number in range(DRAWS):
        total, count = 0, 0
        for run_number in draw.integers(len(pairs), size=len(pairs)):
            n = len(sums[run_number])
            times = np.bincount(draw.integers(n, size=n), minlength=n)
            total, count = total + times @ sums[run_number], count + times @ counts[run_number]
        drawn[number] = total / count
    means = sum(each.sum(0) for each in sums) / sum(each.sum(0) for each in counts)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    tail = np.minimum((drawn <= 0).mean(0), (drawn >= 0).mean(0))
    return [*zip(means, low, high, np.minimum(1, 2 * (tail + 1 / DRAWS)), strict=True)]
