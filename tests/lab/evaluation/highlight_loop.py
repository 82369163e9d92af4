"""QVHighlights' evaluation as a direct loop over queries, thresholds and annotators: slow, and plain to read.

Figures go by the names of the published metrics file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Line = Mapping[str, Any]
"""A line of a file, as JSON."""

THRESHOLDS = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
LENGTHS = {"short": (0, 10), "middle": (10, 30), "long": (30, 150), "full": (0, 150)}
LEVELS = {"Fair": 2, "Good": 3, "VeryGood": 4}


def overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """IoU of two intervals, the second not empty, as moments are ranked by it."""
    common = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    return common / ((a[1] - a[0]) + (b[1] - b[0]) - common)


def overlap_of_first(moment: Sequence[float], windows: Sequence[Sequence[float]]) -> float:
    """IoU of the first moment with the window that it meets best (by `overlap`), as R1 takes it."""
    ious = [overlap(moment, window) for window in windows]
    return hull_overlap(moment, windows[ious.index(max(ious))])


def hull_overlap(a: Sequence[float], b: Sequence[float]) -> float:
    """IoU of two intervals, the second not empty, whose union is from the first start to the last end."""
    return max(0.0, min(a[1], b[1]) - max(a[0], b[0])) / (max(a[1], b[1]) - min(a[0], b[0]))


def moment_ap(moments: Sequence[Sequence[float]], windows: Sequence[Sequence[float]], at: float) -> float:
    """Average precision of [start, end, score]."""
    taken: set[int] = set()
    right = []
    for moment in sorted(moments[:10], key=lambda one: -one[2]):
        fits = [(overlap(moment, window), number) for number, window in enumerate(windows)]
        free = [fit for fit in fits if fit[0] >= at and fit[1] not in taken]
        right.append(bool(free))
        if free:
            taken.add(max(free)[1])
    precision = [sum(right[: rank + 1]) / (rank + 1) for rank in range(len(right))]
    return sum(max(precision[rank:]) for rank, is_right in enumerate(right) if is_right) / len(windows)


def clip_ap(scores: Sequence[float], right: Sequence[bool]) -> float:
    """Average precision of clips, for one annotator."""
    from sklearn.metrics import precision_recall_curve

    if len(set(right)) == 1:
        return float(right[0])
    precision, recall, _ = precision_recall_curve(np.array(right), np.array(scores))
    best = np.maximum.accumulate(precision)  # from the lowest score up
    return float(np.mean([best[at] for at in range(len(recall) - 1) if recall[at] != recall[at + 1]]))


def moment_figures(
    predictions: Mapping[Any, Line], truths: Sequence[Line], lengths: Sequence[str] = tuple(LENGTHS)
) -> dict[str, Any]:
    """R1 and mAP by length of the right windows."""
    figures: dict[str, Any] = {}
    for name in lengths:
        above, at_most = LENGTHS[name]
        requested = []
        for truth in truths:
            windows = [one for one in truth["relevant_windows"] if above < one[1] - one[0] <= at_most]
            if windows:
                requested.append((predictions[truth["qid"]]["pred_relevant_windows"], windows))
        precision, recall = {}, {}
        firsts = [overlap_of_first(moments[0], windows) for moments, windows in requested]
        for at in THRESHOLDS:
            precision[str(at)] = np.mean([moment_ap(moments, windows, at) for moments, windows in requested])
        precision["average"] = np.mean(list(precision.values()))
        for at in [0.3, *THRESHOLDS]:
            recall[str(at)] = np.mean([first >= at for first in firsts])
        figures[name] = {"MR-mAP": precision, "MR-R1": recall, "MR-mIoU": np.mean(firsts)}
    return figures


def clip_figures(predictions: Mapping[Any, Line], truths: Sequence[Line]) -> dict[str, Any]:
    """mAP and HIT@1 of clips by the least score of a right one."""
    figures = {}
    for name, least in LEVELS.items():
        precision, hits = [], []
        for truth in truths:
            given = predictions[truth["qid"]]["pred_saliency_scores"]
            by_clip = dict(zip(truth["relevant_clip_ids"], truth["saliency_scores"], strict=True))
            n_annotators = len(truth["saliency_scores"][0])
            n_clips = int(truth["duration"] / 2)
            every = [by_clip.get(clip, [0] * n_annotators) for clip in range(n_clips)]
            filled = [*given, *[0.0] * (n_clips - len(given))]
            rights = [[one[annotator] >= least for one in every] for annotator in range(n_annotators)]
            precision.extend(clip_ap(filled, right) for right in rights)
            hits.append(max(every[int(np.argmax(given))]) >= least)
        figures[f"HL-min-{name}"] = {"HL-mAP": np.mean(precision), "HL-Hit1": np.mean(hits)}
    return figures
