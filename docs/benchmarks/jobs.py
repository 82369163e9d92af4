"""A batch in two processes (`--jobs`) against one process, and against one process on one core.

    python -m docs.benchmarks.jobs FOLDER [--clips 20] [--jobs 2] [--runs 3]

The commands run in turn, so that what else the machine does falls on all of them. Processor seconds depend
on it less than wall time. "of one core": how many times as fast as the process that has one core only.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from docs.benchmarks import argument_parser
from docs.benchmarks.commands import measured


def main() -> None:
    """Print the table, and which outputs differ between the commands."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--clips", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    films = sorted(path for path in options.folder.iterdir() if path.suffix in (".mp4", ".mkv"))
    films = films[: options.clips]
    one_core = min(os.sched_getaffinity(0))
    variants = {
        "one process, one core": ["taskset", "-c", str(one_core), *_command(films)],
        "one process": _command(films),
        f"--jobs {options.jobs}": [*_command(films), "--jobs", str(options.jobs)],
    }
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(folder, str(number)) for number, name in enumerate(variants)}
        for _ in range(options.runs):
            for place in places.values():
                shutil.rmtree(place, ignore_errors=True)
            runs.append(
                {
                    name: measured([*command, "--output-dir", str(places[name])])
                    for name, command in variants.items()
                }
            )
        written = [_contents(place) for place in places.values()]
    print(f"{len(films)} clips, {len(os.sched_getaffinity(0))} cores, {options.runs} runs in turn")
    print("| summarize | wall s | of one core | processor s | cores in use |\n|---|---|---|---|---|")
    for name in variants:
        wall_s, cpu_s = (median(run[name][part] for run in runs) for part in (0, 1))
        gain = median(run["one process, one core"][0] / run[name][0] for run in runs)
        print(f"| {name} | {wall_s:.0f} | {gain:.2f} | {cpu_s:.0f} | {cpu_s / wall_s:.2f} |")
    differing = {name for each in written for name in each if each[name] != written[0].get(name)}
    print("outputs that differ:", ", ".join(sorted(differing)) or "none")


def _command(films: list[Path]) -> list[str]:
    return [sys.executable, "-m", "vidsum", "summarize", *map(str, films), "--no-cache", "-q"]


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


if __name__ == "__main__":
    main()
