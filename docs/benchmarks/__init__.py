"""The scripts behind docs/benchmarks.md: `python -m docs.benchmarks.NAME` prints one of its tables.

With `--small` it runs in seconds on made-up data, without the folder of real clips.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

from vidsum.types import Interval

SHARED = Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[3] / "shared"))
"""The folder of real clips and annotations next to the checkout."""
SAMPLE = next(filter(Path.is_dir, (SHARED / "sample", Path(__file__).parents[1] / "sample")))
"""The folder of the sample film; made-up clips come with a shorter one."""


def argument_parser(
    description: str | None, *paths: str, small: str | None = None
) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a script as it is written, with names of paths to give.

    `small` are the arguments of the script's small run (`docs.benchmarks.small`), if it has one.
    """
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=formatter)
    for name in paths:
        parser.add_argument(name, type=Path)
    if small is not None:
        parser.add_argument("--small", action=_SmallRun, const=small, help="run on made-up data, in seconds")
    return parser


class _SmallRun(argparse.Action):
    """Runs the script on made-up data in place of what the other arguments say, as --help prints its text."""

    def __init__(self, option_strings: Sequence[str], dest: str, const: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, const=const, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from docs.benchmarks.small import run_small

        script = sys.modules["__main__"].__spec__
        assert script, "a script is run as a module: python -m docs.benchmarks.NAME"
        sys.exit(run_small(script.name, str(self.const)))


def processor_s() -> float:
    """Processor seconds of this process so far."""
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def shared_s(first: Sequence[Interval], second: Sequence[Interval]) -> float:
    """Seconds that two summaries have in common."""
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in product(first, second))
