"""How exactly shots begin: films joined from real clips, beside PySceneDetect's detectors and TransNetV2.

    python -m docs.benchmarks.cuts FOLDER [--half odd] [--seeds 0 1 2 3 4 5 6 7 8] [--scenedetect PYTHON]

FOLDER is where the films are made. Only joins count as true, so a cut inside a clip counts against every
method. Brackets hold 95 % of a bootstrap over films. PySceneDetect runs in the Python that is named.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, composite
from tests.shots.boundaries import Times, f1, precision_recall
from vidsum.shots import find

FRAME_S = 1 / 25
WITHIN = {"half a second": 0.5, "two frames": 2 * FRAME_S}
DRAWS = 2000

_PEER = """
import sys
from scenedetect import AdaptiveDetector, ContentDetector, detect
kinds = {"content": ContentDetector, "adaptive": AdaptiveDetector}
scenes = detect(sys.argv[1], kinds[sys.argv[2]]())
print(*(start.seconds for start, _ in scenes[1:]))
"""


def by_peer(python: str, detector: str) -> Callable[[Path], Times]:
    """PySceneDetect's detector with its own settings."""

    def cuts(film: Path) -> Times:
        command = [python, "-c", _PEER, str(film), detector]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return np.array([float(each) for each in done.stdout.split()])

    return cuts


def by_samples(film: Path) -> Times:
    """The later of the two samples that a cut lies between."""
    features = vidsum.extract(film)
    middles = find(features).edges_s[1:-1]
    return features.timestamps[np.searchsorted(features.timestamps, middles)]


def measured(cuts: Times, truth: Times) -> list[float]:
    """F1 for each of WITHIN, precision and recall within two frames, and the median error in seconds."""
    nearest = np.abs(truth[:, None] - cuts).min(axis=1) if len(cuts) else np.full(len(truth), np.inf)
    exact = precision_recall(cuts, truth, WITHIN["two frames"])
    return [*(f1(cuts, truth, each) for each in WITHIN.values()), *exact, float(np.median(nearest))]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path, help="where the films are made")
    parser.add_argument("--half", choices=list(HALVES), default="odd", help="of the clips")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(9)), help="one film for each")
    parser.add_argument("--scenedetect", default=sys.executable, metavar="PYTHON")
    options = parser.parse_args()
    methods: dict[str, Callable[[Path], Times]] = {
        "vidsum shots": lambda film: vidsum.find_shots(film).edges_s[1:-1],
        "the middle between samples": lambda film: find(vidsum.extract(film)).edges_s[1:-1],
        "the later sample, as before": by_samples,
        "PySceneDetect, content": by_peer(options.scenedetect, "content"),
        "PySceneDetect, adaptive": by_peer(options.scenedetect, "adaptive"),
        "vidsum shots --shots transnetv2": lambda film: vidsum.find_shots(film, "transnetv2").edges_s[1:-1],
    }
    films = [composite(options.folder, options.half, 120, seed)[0] for seed in options.seeds]
    moments = [json.loads(film.with_suffix(".json").read_text())["moments"] for film in films]
    truths = [np.array([moment["start"] for moment in each[1:]]) for each in moments]
    print(f"{len(films)} films, {sum(map(len, truths))} joins")
    print(f"| | {' | '.join(f'F1, {name}' for name in WITHIN)} | precision | recall | median error, s |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(films), (DRAWS, len(films)))
    for name, cuts_of in methods.items():
        rows = np.array([measured(cuts_of(film), truth) for film, truth in zip(films, truths, strict=True)])
        low, high = np.quantile(rows[drawn].mean(axis=1), [0.025, 0.975], axis=0)
        means = rows.mean(axis=0)
        scores = (f"{means[i]:.3f} [{low[i]:.2f}, {high[i]:.2f}]" for i in range(4))
        print(f"| {name} | {' | '.join(scores)} | {np.median(rows[:, 4]):.2f} |", flush=True)


if __name__ == "__main__":
    main()
