"""Moving the edges of moments to the edges of shots."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vidsum.types import Moment, TimeArray

REACH_S = 1.0
"""An edge further than this from any shot's stays where it is: clips are about as long as this."""


def snapped(moments: Sequence[Moment], edges_s: TimeArray, reach_s: float = REACH_S) -> list[Moment]:
    """The moments, each edge moved to the nearest edge of a shot within reach.

    A moment of which nothing would be left stays as it is.

    Args:
        moments: of one query.
        edges_s: [S + 1] edges of shots.
        reach_s: seconds that an edge may move.
    """
    moved = [
        (_near(moment.start_s, edges_s, reach_s), _near(moment.end_s, edges_s, reach_s)) for moment in moments
    ]
    return [
        replace(moment, start_s=start, end_s=end) if start < end else moment
        for moment, (start, end) in zip(moments, moved, strict=True)
    ]


def _near(time_s: float, edges_s: TimeArray, reach_s: float) -> float:
    nearest = float(edges_s[np.abs(edges_s - time_s).argmin()])
    return nearest if abs(nearest - time_s) <= reach_s else time_s
