"""Wall time of whole commands, started as a shell does, beside decoding the same film.

    python -m docs.benchmarks.commands FILM [--runs 3] [--only NAME ...]

All commands in turn, several times; the median of each, its ratio to decoding alone (PyAV, all threads), its
processor time and its largest memory. "again" is a second run, whose features are in the cache. PySceneDetect
finds shots by colours; it runs too where it is installed.
"""

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from statistics import median

from docs.benchmarks import argument_parser

DECODE = """
import sys, av
with av.open(sys.argv[1]) as container:
    container.streams.video[0].thread_type = "AUTO"
    for _ in container.decode(video=0):
        pass
"""


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and MiB of a process. Raises SystemExit if it fails."""
    # byte code is written once, as it is where vidsum is installed
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    small = "shared/videos/basketball.mp4 --runs 1 --only 'vidsum info' 'vidsum shots'"
    parser = argument_parser(__doc__, "film", small=small)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="commands, by their names in the table")
    options = parser.parse_args()
    film = str(options.film)
    vidsum, peer = ([sys.executable, "-m", name] for name in ("vidsum", "scenedetect"))
    with tempfile.TemporaryDirectory() as folder:
        to = ["--overwrite", "-q", "-o"]
        shots = [*vidsum, "shots", film, "--no-cache", *to, f"{folder}/shots.json"]
        ask = [*vidsum, "ground", film, "--query", "a man walks his dog", *to, f"{folder}/moments.json"]
        commands = {
            "decoding alone": [sys.executable, "-c", DECODE, film],
            "scenedetect": [*peer, "-q", "-i", film, "detect-content", "list-scenes", "-n"],
            "vidsum info": [*vidsum, "info", film],
            "vidsum shots": shots,
            "vidsum shots --fast": [*shots, "--fast"],
            "vidsum summarize --dry-run": [*vidsum, "summarize", film, "--no-cache", "--dry-run", "-q"],
            "vidsum summarize": [*vidsum, "summarize", film, "--no-cache", *to, f"{folder}/short.mp4"],
            "vidsum summarize --dry-run, again": [*vidsum, "summarize", film, "--dry-run", "-q"],
            "vidsum ground": [*ask, "--no-cache"],
            "vidsum ground, again": ask,
        }
        if options.only:
            commands = {name: commands[name] for name in ("decoding alone", *options.only)}
        if not find_spec("scenedetect"):
            commands.pop("scenedetect", None)
        for name in commands:
            if name.endswith("again"):
                measured(commands[name])  # fills the cache
        runs = [{name: measured(command) for name, command in commands.items()} for _ in range(options.runs)]
    decoding_s = median(run["decoding alone"][0] for run in runs)
    print("| command | wall s | of decoding | processor s | MiB |\n|---|---|---|---|---|")
    for name in commands:
        wall_s, processor_s, mib = (median(run[name][part] for run in runs) for part in range(3))
        print(f"| {name} | {wall_s:.2f} | {wall_s / decoding_s:.2f} | {processor_s:.2f} | {mib:.0f} |")


if __name__ == "__main__":
    main()
