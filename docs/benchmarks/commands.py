"""Time and memory of whole commands, started as a shell does, beside decoding alone and PySceneDetect.

    python -m docs.benchmarks.commands FILM ... [--scenedetect PYTHON] [--runs 5] [--only NAME ...]

For each film all commands in turn, several times, so that they share what else the machine does; then medians
of each command, and of its ratios to others of the same turn. Decoding alone is PyAV's, in all threads.
PySceneDetect finds shots by colours, where PYTHON has it. "again" is a second run, whose features are in the
cache. The line above each table says how many processes waited for the processor before and after.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.tables import print_table
from vidsum.device import n_cores

DECODING, PEER = "decoding alone", "scenedetect detect-content"
DECODE = """
import sys, av
with av.open(sys.argv[1]) as container:
    container.streams.video[0].thread_type = "AUTO"
    for _ in container.decode(video=0):
        pass
"""


@dataclass(frozen=True)
class Cost:
    """The costs of a process: time and memory."""

    wall_s: float
    processor_s: float
    mib: float  # its largest memory


def measured(command: Sequence[str]) -> Cost:
    """The cost of a process. Raises SystemExit if it fails."""
    # byte code is written once, as it is where vidsum is installed
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def commands_on(film: str, folder: str, peer_python: str | None) -> dict[str, list[str]]:
    """The command lines on a film, by their names in the table; they write to a folder."""
    program, to = [sys.executable, "-m", "vidsum"], ["--overwrite", "-q", "-o"]
    shots = [*program, "shots", film, "--no-cache", *to, f"{folder}/shots.json"]
    ask = [*program, "ground", film, "--query", "a man walks his dog", *to, f"{folder}/moments.json"]
    without_actions = Path(folder) / "without_actions.yaml"
    without_actions.write_text("ground:\n  actions: false\n")
    peer = [peer_python or "", "-m", "scenedetect", "-q", "-i", film, "detect-content", "list-scenes", "-n"]
    return {
        DECODING: [sys.executable, "-c", DECODE, film],
        **({PEER: peer} if peer_python else {}),
        "info": [*program, "info", film],
        "shots": shots,
        "shots --fast": [*shots, "--fast"],
        "summarize --dry-run": [*program, "summarize", film, "--no-cache", "--dry-run", "-q"],
        "summarize": [*program, "summarize", film, "--no-cache", *to, f"{folder}/short.mp4"],
        "summarize --dry-run, again": [*program, "summarize", film, "--dry-run", "-q"],
        "ground, without actions": [*ask, "--no-cache", "--config", str(without_actions)],
        "ground": [*ask, "--no-cache"],
        "ground, again": ask,
    }


def measured_in_turn(
    film: str, peer_python: str | None, only: Sequence[str] | None, *, again_only: bool = False
) -> dict[str, Cost]:
    """The costs of the commands on a film, one after the other, by their names; of some commands alone."""
    with tempfile.TemporaryDirectory() as folder:  # a new one: files of an earlier turn would be read
        commands = commands_on(film, folder, peer_python)
        chosen = {DECODING, PEER, *(only or commands)}
        names = [name for name in commands if name in chosen and (name.endswith("again") or not again_only)]
        return {name: measured(commands[name]) for name in names}


def rows_of(runs: Sequence[Mapping[str, Cost]], duration_s: float) -> list[list[str]]:
    """The table's rows: of each command the medians of its costs and of their ratios."""
    rows = list[list[str]]()
    for name in runs[0]:
        costs = [run[name] for run in runs]
        wall, processor = [cost.wall_s for cost in costs], [cost.processor_s for cost in costs]
        row = [name, f"{median(wall):.2f}", f"{median(wall) / duration_s:.3f}", f"{median(processor):.2f}"]
        for other in (DECODING, PEER) if PEER in runs[0] else (DECODING,):
            others = [run[other] for run in runs]
            row.append(ratio(wall, [cost.wall_s for cost in others]))
            row.append(ratio(processor, [cost.processor_s for cost in others]))
        rows.append([*row, f"{median(cost.mib for cost in costs):.0f}"])
    return rows


def ratio(values: Sequence[float], others: Sequence[float]) -> str:
    return f"{median(value / other for value, other in zip(values, others, strict=True)):.2f}"


def main() -> None:
    """Print a table for each film."""
    parser = argument_parser(__doc__, small="shared/videos/basketball.mp4 --runs 1 --only info shots")
    parser.add_argument("films", nargs="+", type=Path, metavar="FILM")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="commands, by their names in the table")
    parser.add_argument("--scenedetect", metavar="PYTHON")
    options = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("av", "onnxruntime", "numpy"))
    print(f"vidsum {vidsum.__version__}, {packages}; {n_cores()} cores")
    heads = ["command", "wall s", "of the film", "processor s", "of decoding: wall", "processor"]
    heads += ["of PySceneDetect: wall", "processor"] if options.scenedetect else []
    for film in options.films:
        video, load_before = vidsum.probe(film), os.getloadavg()[0]
        in_turn = partial(measured_in_turn, str(film), options.scenedetect, options.only)
        in_turn(again_only=True)  # fills the cache
        runs = [in_turn() for _ in range(options.runs)]
        picture = f"{video.display_width}x{video.display_height} at {video.fps:.4g} fps"
        load = f"load {load_before:.1f} to {os.getloadavg()[0]:.1f}"
        print(f"\n{film.name}: {picture}, {video.duration_s:.1f} s; {load}\n")
        print_table([*heads, "MiB"], rows_of(runs, video.duration_s))


if __name__ == "__main__":
    main()
