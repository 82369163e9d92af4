"""The scripts behind docs/benchmarks.md: `python -m docs.benchmarks.NAME` prints one of its tables."""

import argparse
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from vidsum.types import Interval

SHARED = Path(os.environ.get("VIDSUM_SHARED", Path(__file__).resolve().parents[3] / "shared"))
"""The folder of real clips and annotations beside the checkout."""


def argument_parser(description: str | None, *paths: str) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a script as it is written, with names of paths to give."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=formatter)
    for name in paths:
        parser.add_argument(name, type=Path)
    return parser


def processor_s() -> float:
    """Processor seconds of this process so far."""
    usage = getrusage(RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def shared_s(first: Sequence[Interval], second: Sequence[Interval]) -> float:
    """Seconds that two summaries have in common."""
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a, b in product(first, second))
