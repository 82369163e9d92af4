"""What the grouping of curves into moments was chosen by: composites of real clips, whose moments are known.

    python -m tests.benchmarks.grouping FOLDER [--clips even] [--seeds 0 1 2 3 4]

FOLDER is that of `tests.benchmarks.grounding`, which makes the composites. Nothing is asserted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from tests.benchmarks.grounding import HALVES, TOP_K, composite, table
from vidsum import ground
from vidsum.datasets.moments import MomentVideo
from vidsum.grounding import proposals
from vidsum.settings import Snap
from vidsum.types import Moment

PUBLISHED_APART = 6
SECONDS = 120


def moments(path: Path, texts: Sequence[str], apart: int, snap: Snap) -> list[list[Moment]]:
    """Those of each query, where clips `apart` from each other are joined in a video of 75."""
    with patch.object(proposals, "_APART", apart):
        found = ground(path, texts, TOP_K, model="similarity", space="conse", snap=snap)
    return [list(one.moments) for one in found.queries]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clips", choices=HALVES, default="even")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = parser.parse_args()
    settings: dict[str, tuple[int, Snap]] = {
        f"a {PUBLISHED_APART}": (PUBLISHED_APART, "none"),
        "vidsum's": (proposals._APART, "none"),
        f"a {PUBLISHED_APART}, --snap kts": (PUBLISHED_APART, "kts"),
        "--snap kts": (proposals._APART, "kts"),
    }
    truths: dict[str, MomentVideo] = {}
    rows: dict[str, dict[str, list[list[Moment]]]] = {name: {} for name in settings}
    for seed in asked.seeds:
        path, truth = composite(asked.folder, asked.clips, SECONDS, seed)
        truths[truth.name] = truth
        for name, (apart, snap) in settings.items():
            rows[name][truth.name] = moments(path, [query.text for query in truth.queries], apart, snap)
    print(table(truths, rows))


if __name__ == "__main__":
    main()
