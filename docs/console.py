"""Run the console examples of the documentation in one folder, and write their output into the pages.

    python -m docs.console [PAGE ...]

A block marked ```console holds commands after `$ ` and their output. A line `<!-- not run: reason -->`
before a block leaves it as it is. tests/test_docs.py compares the output of all others.

The commands run with their defaults, as users run them. Scores then depend a little on the processor, which
may have instructions for int8: an output that differs in nothing else is kept (`same`). Choose examples whose
moments do not depend on it.
"""

import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[1]
VIDEO_PAGES = (
    "extract", "shots", "summarize", "ground", "highlights", "archive", "export", "report", "info",
    "describe", "watch", "shorts",
)  # fmt: skip
PAGES = ("README.md", *(f"docs/{name}.md" for name in VIDEO_PAGES))
"""The pages whose commands need the sample video and weights."""
DATA_PAGES = ("docs/evaluate_moments.md", "docs/evaluate_highlights.md")
"""The pages whose commands need the annotations of the shared folder."""

_COMPUTE = ("EXTRACT", "SHOTS", "SUMMARIZE", "GROUND", "HIGHLIGHTS", "INDEX")
"""The commands that run networks."""
_BLOCK = re.compile(r"(?<!-->\n)```console\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\d:.])(?:\d+(?= ?%)|\d+\.\d+)(?![\d:.])")
"""Percentages, and numbers with a decimal point that are not part of a time such as 0:16.00."""
_TOLERANCE, _RELATIVE, _PERCENT = 0.15, 0.15, 5.0


def same(first: str, second: str) -> bool:
    """Whether two outputs differ only in scores, by .15 or 15 %, and in percentages, by five points."""
    words, other_words = (" ".join(_NUMBER.sub("#", text).split()) for text in (first, second))
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=False)
    close = (abs(float(one) - float(other)) <= _tolerance(one) for one, other in pairs)
    return words == other_words and all(close)


def _tolerance(number: str) -> float:
    return max(_TOLERANCE, _RELATIVE * float(number)) if "." in number else _PERCENT


def outputs(text: str, precision: str | None = None, *, exact: bool = False) -> str:
    """A page's text with the output of its console blocks, run in the current folder.

    Args:
        text: of the page.
        precision: of the networks; None: the default, which depends on the processor.
        exact: renew a block that is not equal; otherwise, one that is not the `same`.
    """

    def renewed(block: re.Match[str]) -> str:
        found = "".join(_run(command, precision) for command in _COMMAND.findall(block[1]))
        return block[0] if not exact and same(block[1], found) else f"```console\n{found}```"

    return _BLOCK.sub(renewed, text)


def _run(command: str, precision: str | None) -> str:
    """The command after `$ `, and what it prints."""
    from vidsum.commands.app import main

    words = shlex.split(command.replace("\\\n", " "))
    out = io.StringIO()
    argv = mock.patch.object(sys, "argv", words)
    no_lines = mock.patch("vidsum.io.progress.SLOW_S", float("inf"))  # of steps that take long
    chosen = {f"VIDSUM_{name}_PRECISION": precision for name in _COMPUTE if precision}
    variables = mock.patch.dict(os.environ, chosen)
    with argv, no_lines, variables, redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        main()
    return f"$ {command}\n{out.getvalue()}"


def prepare(folder: Path, shared: Path) -> None:
    """Put into a folder what the commands read: docs/sample, a talk and, from the shared folder, annotations.

    The talk is the sample video with made-up subtitles.
    """
    from docs.pictures import write_subtitles

    shutil.copytree(ROOT / "docs" / "sample", folder / "docs" / "sample")
    shutil.copy(ROOT / "docs" / "sample" / "big_buck_bunny.mp4", folder / "talk.mp4")
    write_subtitles(folder / "talk.srt")
    for file in (shared / "data").glob("qvhighlights/*.jsonl"):
        (folder / file.name).symlink_to(file)


def main() -> None:
    """Rewrite the pages that are named, or all."""
    from docs.benchmarks import SHARED

    names = sys.argv[1:] or [*PAGES, *(DATA_PAGES if SHARED.is_dir() else ())]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), SHARED)
        os.chdir(folder)
        for name in names:
            page = ROOT / name
            started = time.process_time()
            text = page.read_text(encoding="utf-8")
            page.write_text(outputs(text, exact=name in DATA_PAGES), encoding="utf-8")
            print(f"{page.name}: {time.process_time() - started:.1f} s of the processor")


if __name__ == "__main__":
    main()
