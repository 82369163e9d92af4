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
from tempfile import TemporaryDirectory
from typing import Any

from vidsum.types import Interval

_MADE_UP = TemporaryDirectory() if "--small" in sys.argv[1:] else None
"""The folder of a small run, until the script ends: modules look for clips in it as soon as they are read."""
SHARED = (
    Path(_MADE_UP.name, "shared")
    if _MADE_UP
    else Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[3] / "shared"))
)
"""The folder of real clips and annotations next to the checkout."""
SAMPLE = SHARED / "sample" if _MADE_UP else Path(__file__).parents[1] / "sample"
"""The folder of the sample film; made-up clips come with a shorter one."""
if _MADE_UP:
    os.environ["OMP_NUM_THREADS"] = "1"  # before the libraries are read: threads cost more than they save


def argument_parser(
    description: str | None, *paths: str, small: str | None = None
) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a script as it is written, with names of paths to give.

    `small` are the arguments of the script's small run (`docs.benchmarks.small`), if it has one.
    """
    formatter = argparse.RawDescriptionHelpFormatter
    parser = _Parser(description=description, formatter_class=formatter)
    for name in paths:
        parser.add_argument(name, type=Path)
    if small is not None:
        parser.small = small
        parser.add_argument("--small", action="store_true", help="run on made-up data, in seconds")
    return parser


class _Parser(argparse.ArgumentParser):
    """Reads the arguments of the small run in place of what --small stands beside."""

    small: str | None = None

    # argparse declares an overload for each kind of namespace
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        if _MADE_UP and self.small is not None:
            from docs.benchmarks.small import make_up

            args = make_up(Path(_MADE_UP.name), self.small)
        return super().parse_known_args(args, namespace)


def processor_s() -> float:
    """Processor seconds of this process so far."""
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def shared_s(first: Sequence[Interval], second: Sequence[Interval]) -> float:
    """Seconds that two summaries have in common."""
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in product(first, second))
