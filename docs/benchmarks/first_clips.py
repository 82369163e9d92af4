"""Whether the first moment of a search is in the right one of the 40 clips.

    python -m docs.benchmarks.first_clips ARCHIVE

The clips are added to an archive, each is asked for by its texts, and a short query that several clips fit
counts as right in any of them. In brackets are 95 % of a bootstrap over queries.
"""

from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, known_clips, notes
from vidsum.archive.archive import Archive

_DRAWS = 1000


def main() -> None:
    """Print a row per kind of query."""
    options = argument_parser(__doc__, "archive", small="archive.db").parse_args()
    clips, fits = known_clips(), notes()["fits"]
    with Archive(options.archive) as archive:
        archive.add([clip["file"] for clip in clips], space="vse")
        for kind in KINDS:
            right = []
            for clip in clips:
                if text := clip.get(kind):
                    name = Path(clip["file"]).name
                    answers = {name, *(fits.get(text, ()) if kind == "short" else ())}
                    (first, *_) = archive.search(text, 1, evidence="picture")
                    right.append(100.0 * (Path(first.video).name in answers))
            draws = np.random.default_rng(0).choice(right, (_DRAWS, len(right))).mean(axis=1)
            low, high = np.percentile(draws, [2.5, 97.5])
            print(f"{kind}: {np.mean(right):.0f} % [{low:.0f}, {high:.0f}] of {len(right)}", flush=True)


if __name__ == "__main__":
    main()
