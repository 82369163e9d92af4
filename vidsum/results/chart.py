"""Charts over the time of a video, as SVG: curves, shots, and the segments of a result."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from vidsum.results.cut_list import Cut
from vidsum.results.summary import ScoredShot

Curve = tuple[Sequence[float], Sequence[float]]  # times in seconds, and the score from each on
NO_CURVE: Curve = ((), ())

WIDTH, HEIGHT = 1000.0, 100.0
_MAX_POINTS = 1000


def make_chart(
    label: str,
    duration_s: float,
    chosen: Sequence[Cut],
    curve: Curve = NO_CURVE,
    shots: Sequence[Cut | ScoredShot] = (),
    said: Sequence[float] = (),
    *,
    is_ranked: bool = False,
) -> dict[str, Any]:
    """Return the chart of a curve (times in seconds, scores), of shots, and of the chosen segments.

    For the template: rectangles of full height by `x` and `width`, and SVG paths, empty without a curve.
    """
    bands = [
        {
            **_extent(cut, duration_s),
            "is_best": is_ranked and cut is chosen[0],  # the first of a ranking
            "is_said": cut.evidence == "speech",
        }
        for cut in chosen
    ]
    return {
        "label": label,  # its content in words, for screen readers
        "duration_s": duration_s,
        "shots": [_extent(shot, duration_s) for shot in shots[1::2]],  # every second shot
        "chosen": bands,
        "line": draw_line(*curve, duration_s),
        "said": draw_line(curve[0], said, duration_s) if said else "",  # the curve of speech
        "curves": (),  # of several queries
    }


def _extent(segment: Cut | ScoredShot, duration_s: float) -> dict[str, float]:
    start, end = (WIDTH * edge_s / duration_s for edge_s in (segment.start_s, segment.end_s))
    return {"x": round(start, 2), "width": round(max(end - start, 1.0), 2)}


def draw_line(times_s: Sequence[float], scores: Sequence[float], duration_s: float) -> str:
    """Return a step for each sample, up to its share of the highest; of many, the highest of each group."""
    if not times_s:
        return ""
    group = -(-len(times_s) // _MAX_POINTS)
    starts = times_s[::group]
    heights = [max(scores[first : first + group]) for first in range(0, len(scores), group)]
    top = max(heights) or 1.0
    steps = []
    for (start, end), height in zip(pairwise([*starts, duration_s]), heights, strict=True):
        y = round(HEIGHT * (1 - 0.95 * (max(height, 0.0) / top)), 2)
        steps.append(f"{WIDTH * start / duration_s:.2f} {y:g}H{WIDTH * max(start, end) / duration_s:.2f}")
    return "M" + "L".join(steps)
