"""Run the console blocks of the documentation in one folder, and write their output into the pages.

    python -m docs.console [PAGE ...]

A block marked ```console holds commands after `$ ` and their output. A line `<!-- not run: reason -->` before it
leaves it as it is. Pages run in the order of `PAGES`; tests/test_docs.py compares their output.
"""

import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).parents[1]
PAGES = (
    "README",
    "docs/extract",
    "docs/shots",
    "docs/summarize",
    "docs/ground",
    "docs/highlights",
    "docs/info",
)
"""The pages whose commands need the sample video and weights."""
DATA_PAGES = ("docs/evaluate", "docs/evaluate_moments", "docs/evaluate_highlights")
"""The pages whose commands need the annotations of the shared folder."""

_BLOCK = re.compile(r"(?<!-->\n)```console\n(.*?)```", re.DOTALL)


def outputs(text: str) -> str:
    """The text of a page with the output of its console blocks, run in the current folder."""
    return _BLOCK.sub(lambda block: f"```console\n{''.join(map(_output, _commands(block[1])))}```", text)


def _commands(block: str) -> list[str]:
    return re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)


def _output(command: str) -> str:
    """The command after `$ ` and what it prints."""
    from vidsum.commands.app import main

    printed = io.StringIO()
    with mock.patch.object(sys, "argv", shlex.split(command.replace("\\\n", " "))):
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                main()
            except SystemExit:
                pass
    return f"$ {command}\n{printed.getvalue()}"


def prepare(folder: Path, shared: Path) -> None:
    """Put what the commands name into a folder: docs/sample and, where they are, annotations."""
    shutil.copytree(ROOT / "docs" / "sample", folder / "docs" / "sample")
    for file in (*shared.glob("data/tvsum/*.mat"), *shared.glob("data/qvhighlights/*.jsonl")):
        (folder / file.name).symlink_to(file)


def main() -> None:
    """Rewrite the pages that are named, or all."""
    from tests.conftest import SHARED

    data = DATA_PAGES if SHARED.is_dir() else ()
    pages = [ROOT / page for page in sys.argv[1:] or [f"{page}.md" for page in PAGES + data]]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), SHARED)
        os.chdir(folder)
        for page in pages:
            page.write_text(outputs(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
