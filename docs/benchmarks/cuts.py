"""How exactly shots begin: films joined from real clips, compared with PySceneDetect's detectors.

    python -m docs.benchmarks.cuts FOLDER --scenedetect PYTHON [--half odd] [--seeds 0 1 2 3 4 5 6 7 8]

FOLDER is where the films are made. True are the joins and the cuts inside clips, which `inner_cuts.json`
lists; what a method finds where that says `unclear` does not count, nor at either end of a part that is too
short to be a shot. Brackets hold 95 % of a bootstrap over films. PySceneDetect runs in the Python that is
named; without it, its rows are left out.
"""

import json
import random
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.boundaries import Times, f1, precision_recall
from docs.benchmarks.joined import HALVES, composite
from vidsum.shots.segmentation import find

FPS = 25
WITHIN = {"half a second": 0.5, "two frames": 2 / FPS}
MIN_SHOT_S = 0.3
DRAWS = 2000
INNER: list[dict[str, Any]] = json.loads(Path(__file__).with_name("inner_cuts.json").read_text())["cuts"]

_PEER = """
import sys
from scenedetect import AdaptiveDetector, ContentDetector, HashDetector, HistogramDetector, detect
kinds = {
    "content": ContentDetector, "adaptive": AdaptiveDetector, "hash": HashDetector, "hist": HistogramDetector
}
scenes = detect(sys.argv[1], kinds[sys.argv[2]]())
print(*(start.seconds for start, _ in scenes[1:]))
"""


def by_peer(python: str, detector: str) -> Callable[[Path], Times]:
    """PySceneDetect's detector with its own settings."""

    def cuts(film: Path) -> Times:
        command = [python, "-c", _PEER, str(film), detector]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return np.array([float(time_s) for time_s in done.stdout.split()])

    return cuts


@cache
def _length_s(clip: str) -> float:
    with av.open(clip) as container:
        return float(container.duration or 0) / av.time_base


def starts_in_clips(film: Path, clips: list[dict[str, Any]], seed: int) -> list[tuple[str, float, Times]]:
    """The clips of a film: the file's name, where in it the film begins, and the film's own [start, end].

    `join_clips` does not write the second down; here its draws are made again.
    """
    rng, turn, placed = random.Random(seed), list[dict[str, Any]](), []
    for moment in json.loads(film.with_suffix(".json").read_text())["moments"]:
        turn = turn or rng.sample(clips, len(clips))
        clip = turn.pop()["file"]
        assert clip == moment["file"], f"{film} was made by other draws"
        length_s = min(_length_s(clip), rng.uniform(3, 9))
        begin_s = rng.uniform(0, _length_s(clip) - length_s)
        placed.append((Path(clip).name, begin_s, np.array([moment["start"], moment["end"]])))
    return placed


def true_cuts(film: Path, clips: list[dict[str, Any]], seed: int) -> tuple[Times, Times]:
    """Seconds of the joins and the cuts inside clips; and of places where nobody can tell."""
    placed = starts_in_clips(film, clips, seed)
    cuts = {"cut": [float(span[0]) for _, _, span in placed[1:]], "unclear": list[float]()}
    for name, begin_s, (start, end) in placed:
        for inner in (inner_cut for inner_cut in INNER if inner_cut["clip"] == name):
            # a picture of the film is the first of the clip that is not earlier than its own time
            frame = int(np.floor((inner["before_s"] - begin_s) * FPS + 1e-9)) + 1
            if frame > 0 and start + frame / FPS < end - 1e-6:
                cuts[inner["kind"]].append(start + frame / FPS)
    true = np.sort(cuts["cut"])
    is_short = np.diff(true) < MIN_SHOT_S - 1e-6
    of_short = np.append(is_short, False) | np.insert(is_short, 0, False)
    return true[~of_short], np.append(cuts["unclear"], true[of_short])


def measured(cuts: Times, truth: Times, unclear: Times) -> list[float]:
    """F1 for each of WITHIN, precision and recall within two frames, and the median error in seconds."""
    known = [
        cut for cut in cuts if not (np.abs(unclear - cut) <= 0.1).any() or np.abs(truth - cut).min() <= 0.1
    ]
    cuts = np.array(known)
    nearest = np.abs(truth[:, None] - cuts).min(axis=1) if len(cuts) else np.full(len(truth), np.inf)
    exact = precision_recall(cuts, truth, WITHIN["two frames"])
    return [
        *(f1(cuts, truth, tolerance_s) for tolerance_s in WITHIN.values()),
        *exact,
        float(np.median(nearest)),
    ]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, small="films --half all --seeds 0")
    parser.add_argument("folder", type=Path, help="where the films are made")
    parser.add_argument("--half", choices=list(HALVES), default="odd", help="of the clips")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(9)), help="one film for each")
    parser.add_argument("--scenedetect", metavar="PYTHON")
    options = parser.parse_args()
    methods: dict[str, Callable[[Path], Times]] = {
        "`vidsum shots`": lambda film: vidsum.find_shots(film).edges_s[1:-1],
        "change points of KTS alone, between samples": lambda film: find(vidsum.extract(film)).edges_s[1:-1],
    }
    for detector in ("content", "adaptive", "hash", "hist") if options.scenedetect else ():
        methods[f"PySceneDetect, {detector}"] = by_peer(options.scenedetect, detector)
    films = [composite(options.folder, options.half, 120, seed)[0] for seed in options.seeds]
    clips = json.loads((options.folder / f"{options.half}.json").read_text())["clips"]
    truths = [true_cuts(film, clips, seed) for film, seed in zip(films, options.seeds, strict=True)]
    print(f"{len(films)} films, {sum(len(truth) for truth, _ in truths)} cuts")
    print(f"| | {' | '.join(f'F1, {name}' for name in WITHIN)} | precision | recall | median error, frames |")
    print("|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(films), (DRAWS, len(films)))
    for name, cuts_of in methods.items():
        rows = np.array([measured(cuts_of(film), *truth) for film, truth in zip(films, truths, strict=True)])
        low, high = np.quantile(rows[drawn].mean(axis=1), [0.025, 0.975], axis=0)
        means = rows.mean(axis=0)
        scores = (f"{means[i]:.3f} [{low[i]:.2f}, {high[i]:.2f}]" for i in range(4))
        print(f"| {name} | {' | '.join(scores)} | {FPS * np.median(rows[:, 4]):.0f} |", flush=True)


if __name__ == "__main__":
    main()
