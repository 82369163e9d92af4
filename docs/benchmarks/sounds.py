"""Sounds: which of the queries of recordings with known contents `ground --in sound` reports.

    python -m docs.benchmarks.sounds [--times] FOLDER ...

The folders hold the recordings that `sound_labels.csv` names by the ends of their paths. Each recording is
searched for all queries; with `--times`, what counts is reported at a quarter, the middle and three quarters
of it, or in the middle of speech. A report of its query, or of one in `also` (which may be true too), is
never wrong; the latter do not count. The labels were written before any run.
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


def search(path: Path, queries: dict[str, list[int]], shares: tuple[float, ...]) -> list[set[str]]:
    """Return the queries that have a moment in a recording, or at each share of its length."""
    sound = probe_sound(path)
    scores = score_sounds(read_sound(sound, RATE, 30.0, DecodeLog()))[: len(grid(sound.duration_s, STEP_S))]
    moments = {
        query: sound_moments(scores[:, classes].max(axis=1, initial=0.0), sound.duration_s)
        for query, classes in queries.items()
    }
    if not shares:
        return [{query for query, reported in moments.items() if reported}]
    times = [share * sound.duration_s for share in shares]
    return [
        {query for query, reported in moments.items() if any(m.start_s <= at < m.end_s for m in reported)}
        for at in times
    ]


def main(folders: list[str], *, at_times: bool) -> None:
    labels = list(read_labels(folders))
    texts = sorted({query for _, query, _ in labels})
    queries = dict(zip(texts, map(list, match_classes(texts)), strict=True))
    there, right, wrong = Counter[str](), Counter[str](), Counter[str]()
    for path, query, also in labels:
        shares = () if not at_times else (0.5,) if query == "someone speaks" else (0.25, 0.5, 0.75)
        for reported in search(path, queries, shares):
            there[query] += 1
            right[query] += query in reported
            for other in reported - also - {query}:
                wrong[other] += 1
                print(f"{path.name}: {other}", file=sys.stderr)
    print(f"{'query':18} {'searched':>10} {'reported':>9} {'wrong':>6}")
    for query in texts:
        print(f"{query:18} {there[query]:10} {right[query]:9} {wrong[query]:6}")
    n_right, n_wrong = right.total(), wrong.total()
    print(f"recall {n_right / there.total():.2f}, precision {n_right / max(n_right + n_wrong, 1):.2f}")


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--times"], at_times="--times" in sys.argv)
