"""The scripts behind docs/benchmarks.md: `python -m docs.benchmarks.NAME` prints one of its tables."""

import argparse


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows the docstring of a script as it is written."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
