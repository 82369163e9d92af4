"""Run the console examples of the documentation in one folder, and write their output into the pages.

    python -m docs.console [PAGE ...]

A block marked ```console holds commands after `$ ` and their output. A line `<!-- not run: reason -->`
before a block leaves it as it is. tests/test_docs.py compares the output of all others.
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
VIDEO_PAGES = ("extract", "shots", "summarize", "ground", "highlights", "export", "report", "info")
PAGES = ("README.md", *(f"docs/{name}.md" for name in VIDEO_PAGES))
"""The pages whose commands need the sample video and weights."""
DATA_PAGES = ("docs/evaluate_moments.md", "docs/evaluate_highlights.md")
"""The pages whose commands need the annotations of the shared folder."""

_BLOCK = re.compile(r"(?<!-->\n)```console\n(.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)


def outputs(text: str) -> str:
    """A page's text with the output of its console blocks, run in the current folder."""
    return _BLOCK.sub(lambda block: f"```console\n{''.join(map(_run, _COMMAND.findall(block[1])))}```", text)


def _run(command: str) -> str:
    """The command after `$ `, and what it prints."""
    from vidsum.commands.app import main

    words = shlex.split(command.replace("\\\n", " "))
    out = io.StringIO()
    argv = mock.patch.object(sys, "argv", words)
    no_lines = mock.patch("vidsum.commands.progress.SLOW_S", float("inf"))  # of steps that take long
    # what is printed must not depend on the processor
    commands = ("EXTRACT", "SHOTS", "SUMMARIZE", "GROUND", "HIGHLIGHTS")
    precision = mock.patch.dict(os.environ, {f"VIDSUM_{name}_PRECISION": "fp32" for name in commands})
    with argv, no_lines, precision, redirect_stdout(out), redirect_stderr(out), suppress(SystemExit):
        main()
    return f"$ {command}\n{out.getvalue()}"


def prepare(folder: Path, shared: Path) -> None:
    """Put into a folder what the commands read: docs/sample and, from the shared folder, annotations."""
    shutil.copytree(ROOT / "docs" / "sample", folder / "docs" / "sample")
    data = shared / "data"
    for file in (*data.glob("qvhighlights/*.jsonl"), data / "charades/charades_test.json"):
        (folder / file.name).symlink_to(file)
    (folder / "people").symlink_to(data / "human_moments/charades")


def main() -> None:
    """Rewrite the pages that are named, or all."""
    from tests.conftest import SHARED

    names = sys.argv[1:] or [*PAGES, *(DATA_PAGES if SHARED.is_dir() else ())]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), SHARED)
        os.chdir(folder)
        for page in (ROOT / name for name in names):
            started = time.process_time()
            page.write_text(outputs(page.read_text(encoding="utf-8")), encoding="utf-8")
            print(f"{page.name}: {time.process_time() - started:.1f} s of the processor")


if __name__ == "__main__":
    main()
