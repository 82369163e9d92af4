"""Time and memory of KTS beside the direct implementation, and how well each method finds known cuts.

python -m docs.benchmarks.shots
python -m docs.benchmarks.shots --sizes 2000 14400 --kind noise
python -m docs.benchmarks.shots --sizes --shared ../shared
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import vidsum
from tests.shots.boundaries import Times, precision_recall
from tests.shots.direct import direct_change_points
from vidsum.results.features import Features
from vidsum.shots import find

SIZES = (500, 1000, 2000, 5000, 14_400, 50_000)
DIM = 1024
SHOT = 12
"""Samples in a shot of the simulated video, on average."""
DRAWS = 200
"""Random segmentations to average over."""


def toy_features(n: int, kind: str) -> npt.NDArray[np.float32]:
    """[n, 1024] unit rows: a `video` in which each shot looks alike, or white `noise`, with no shots."""
    rng = np.random.default_rng(0)
    rows = np.empty((n, DIM), np.float32)
    look = np.zeros(DIM, np.float32)
    for row in rows:
        if kind == "video" and rng.random() < 1 / SHOT:
            look = rng.standard_gamma(0.5, DIM, np.float32)
        row[:] = look + 0.5 * rng.standard_normal(DIM, np.float32)
        row /= np.linalg.norm(row)
    return rows


def measure(how: str, n: int, kind: str) -> None:
    """Print seconds by the clock, of all cores, MiB at the peak with those of the features, and shots."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    features = Features.from_array(toy_features(n, kind))
    start, start_cores = time.perf_counter(), time.process_time()
    shots = len(find(features)) if how == "kts" else len(direct_change_points(features.array)) + 1
    seconds, of_cores = time.perf_counter() - start, time.process_time() - start_cores
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(seconds, of_cores, (peak - before) / 1024, shots)


def measured_apart(how: str, n: int, kind: str) -> str:
    """`measure` in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "docs.benchmarks.shots", "--measure", how, str(n), kind]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, of_cores, peak, shots = done.stdout.split()
    return f"{float(seconds):8.2f} {float(of_cores):8.2f} {float(peak):6.0f} {shots:>6}"


def print_scale(sizes: list[int], kind: str, direct_up_to: int) -> None:
    """Table of n against time and memory."""
    names = f"{'s':>8} {'core s':>8} {'MiB':>6} {'shots':>6}"
    print(f"{'':8} {'KTS':>31} {'direct':>31}\n{'n':8} {names} {names}")
    for n in sizes:
        direct = (
            measured_apart("direct", n, kind) if n <= direct_up_to else f"{'-':>8} {'-':>8} {'-':>6} {'-':>6}"
        )
        print(f"{n:<8} {measured_apart('kts', n, kind)} {direct}", flush=True)


def make_composite(shared: Path, film: Path, seed: int, seconds: int) -> Times:
    """Join real clips to a film; where one ends and the next starts."""
    tool, clips = shared / "tools" / "make_composite.py", shared / "videos" / "clips.json"
    options = ["--seed", str(seed), "--seconds", str(seconds)]
    subprocess.run([sys.executable, str(tool), str(clips), str(film), *options], check=True)
    moments = json.loads(film.with_suffix(".json").read_text())["moments"]
    return np.array([moment["start"] for moment in moments[1:]])


def random_agreement(truth: Times, duration_s: float, within_s: float) -> Times:
    """Mean precision and recall of as many cuts as there are, at random times."""
    rng = np.random.default_rng(0)
    draws = rng.uniform(0, duration_s, (DRAWS, len(truth)))
    return np.mean([precision_recall(cuts, truth, within_s) for cuts in draws], axis=0)


def print_agreement(shared: Path, seeds: list[int], seconds: int) -> None:
    """Table of films against precision, recall and F1 of each method's edges."""
    print(f"{'film':6} {'method':12} {'within s':>8} {'shots':>6} {'precision':>9} {'recall':>7} {'F1':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            film = Path(folder) / f"{seed}.mp4"
            truth = make_composite(shared, film, seed, seconds)
            features = vidsum.extract(film)
            found = {
                "kts": vidsum.find_shots(features).edges_s[1:-1],
                "uniform": vidsum.find_shots(features, "uniform").edges_s[1:-1],
                "transnetv2": vidsum.find_shots(film, "transnetv2").edges_s[1:-1],
            }
            for within_s in (1.0, 0.1):
                rows = {
                    name: (len(cuts) + 1, *precision_recall(cuts, truth, within_s))
                    for name, cuts in found.items()
                }
                chance = random_agreement(truth, features.duration_s, within_s)
                rows["random"] = (len(truth) + 1, *chance)
                for name, (shots, precision, recall) in rows.items():
                    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
                    print(
                        f"{seed:<6} {name:12} {within_s:8.1f} {shots:6} "
                        f"{precision:9.2f} {recall:7.2f} {f1:6.2f}",
                        flush=True,
                    )
            inside = [t for t in found["transnetv2"] if np.abs(truth - t).min() > 0.1]
            print("cuts that TransNetV2 sees inside clips:", *(f"{t:.2f}" for t in inside))


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="samples of 1024 numbers")
    parser.add_argument("--kind", choices=["video", "noise"], default="video")
    parser.add_argument("--direct-up-to", type=int, default=2000, help="it takes n^3 steps and n^2 memory")
    parser.add_argument("--shared", type=Path, help="folder of real clips; without it, no known cuts")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], help="one film for each")
    parser.add_argument("--seconds", type=int, default=120, help="length of a film")
    parser.add_argument("--measure", nargs=3, metavar=("HOW", "N", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        how, n, kind = options.measure
        measure(how, int(n), kind)
        return
    if options.sizes:
        print_scale(options.sizes, options.kind, options.direct_up_to)
    if options.shared:
        print_agreement(options.shared, options.seeds, options.seconds)


if __name__ == "__main__":
    main()
