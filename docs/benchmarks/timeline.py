"""What the cores do while a command runs: where one of them waits.

    python -m docs.benchmarks.timeline [--every 0.5] -- shots film.mp4 --no-cache -o - -q

A row for each segment of time: the cores in use, and of these what the main thread, the decoder's threads and
all others (the reader, the network's) use. Linux only: the times are those of /proc.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from docs.benchmarks import argument_parser

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_S = 0.02
_DECODER = "av:"
"""FFmpeg names its threads so."""


def thread_times(pid: int) -> dict[tuple[int, str], float]:
    """Processor seconds of each thread of a process so far, by its number and kind."""
    times = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            name, numbers = (task / "stat").read_text().rsplit(")", 1)
        except OSError:  # it has just ended
            continue
        is_main, is_decoder = task.name == str(pid), name.partition("(")[2].startswith(_DECODER)
        kind = "main" if is_main else "decoder" if is_decoder else "others"
        user, system = numbers.split()[11:13]
        times[int(task.name), kind] = (int(user) + int(system)) / _TICKS
    return times


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--every", type=float, default=0.5, help="seconds of a row")
    parser.add_argument("command", nargs="+", help="what comes after `vidsum`")
    options = parser.parse_args()
    command = [sys.executable, "-m", "vidsum", *options.command]
    print("| second | cores | main | decoder | others |\n|---|---|---|---|---|")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        start = row_start = time.monotonic()
        last, used = dict[tuple[int, str], float](), Counter[str]()
        while True:
            is_over = process.poll() is not None
            now = {} if is_over else thread_times(process.pid)
            for (number, kind), seconds in now.items():
                used[kind] += seconds - last.get((number, kind), 0.0)
            last |= now
            span_s = time.monotonic() - row_start
            if span_s >= options.every or is_over:
                cells = (f"{used[kind] / span_s:.2f}" for kind in ("main", "decoder", "others"))
                print(f"| {row_start - start:.1f} | {used.total() / span_s:.2f} | {' | '.join(cells)} |")
                row_start, used = time.monotonic(), Counter()
            if is_over:
                return
            time.sleep(_POLL_S)


if __name__ == "__main__":
    main()
