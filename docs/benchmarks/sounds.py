"""Sounds: which of the queries of recordings with known contents `ground --in sound` reports.

    python -m docs.benchmarks.sounds FOLDER ...

The folders hold the recordings that `sound_labels.csv` names by the ends of their paths. Each recording is
searched for all queries. A report of its query, or of one in `also` (which may be true too), is never wrong;
the latter do not count. The labels were written before any run.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from vidsum.features.sounds import RATE, STEP_S, score_sounds
from vidsum.grounding.sounds import match_classes, sound_moments
from vidsum.grounding.windows import grid
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

_LABELS = Path(__file__).with_name("sound_labels.csv")


def read_labels(folders: list[str]) -> Iterator[tuple[Path, str, set[str]]]:
    """Yield each recording with its query and the queries that may be true too."""
    rows = list(csv.DictReader(_LABELS.read_text("utf-8").splitlines()))
    for path in sorted(path for folder in folders for path in Path(folder).rglob("*.*")):
        for row in rows:
            if fnmatch(str(path), f"*/{row['file']}"):
                yield path, row["query"], set(row["also"].split("; "))


def search(path: Path, queries: dict[str, list[int]]) -> set[str]:
    """Return the queries that have a moment in a recording."""
    sound = probe_sound(path)
    scores = score_sounds(read_sound(sound, RATE, 30.0, DecodeLog()))[: len(grid(sound.duration_s, STEP_S))]
    return {
        query
        for query, classes in queries.items()
        if sound_moments(scores[:, classes].max(axis=1, initial=0.0), sound.duration_s)
    }


def main(folders: list[str]) -> None:
    labels = list(read_labels(folders))
    texts = sorted({query for _, query, _ in labels})
    queries = dict(zip(texts, map(list, match_classes(texts)), strict=True))
    there, right, wrong = Counter[str](), Counter[str](), Counter[str]()
    for path, query, also in labels:
        reported = search(path, queries)
        there[query] += 1
        right[query] += query in reported
        for other in reported - also - {query}:
            wrong[other] += 1
            print(f"{path.name}: {other}", file=sys.stderr)
    print(f"{'query':18} {'recordings':>10} {'reported':>9} {'wrong':>6}")
    for query in texts:
        print(f"{query:18} {there[query]:10} {right[query]:9} {wrong[query]:6}")
    n_right, n_wrong = right.total(), wrong.total()
    print(f"recall {n_right / there.total():.2f}, precision {n_right / max(n_right + n_wrong, 1):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
