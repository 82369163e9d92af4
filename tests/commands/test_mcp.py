"""The command line of `vidsum mcp`."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.console import ROOT, same
from tests.conftest import real_weights
from tests.program import Run
from vidsum.io import cache
from vidsum.io.packages import EXTRAS

HOME = cache.home()


def test_without_the_package(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "mcp", ("no_such_module",))  # type: ignore[arg-type]
    run("mcp", ".", code=1, error=("vidsum mcp needs no_such_module", "vidsum[mcp]"))
    run("mcp", code=2, error=("the folders that the model may read", "try: vidsum mcp ~/Videos"))


def test_a_folder_that_is_missing(run: Run) -> None:
    pytest.importorskip("mcp", reason="needs vidsum[mcp]")
    run("mcp", ".", "none", code=3, error="none: no such folder")


def test_the_end_of_stdin_stops_it(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = pytest.importorskip("mcp.server", reason="needs vidsum[mcp]")
    served = list[object]()
    monkeypatch.setattr(server.MCPServer, "run", lambda self: served.append(self))
    ran = run("mcp", ".", "--write", tmp_path / "clips")
    assert (len(served), ran.out) == (1, "")
    assert not (tmp_path / "clips").exists()


@pytest.mark.deep
@pytest.mark.weights
def test_the_session_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="needs vidsum[mcp]")
    monkeypatch.setenv("VIDSUM_HOME", str(HOME))
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```\n(\[.*?)```", page, re.DOTALL)
    start = 'command=sys.executable, env=dict(os.environ), args=["-m", "vidsum", '
    program = "import os, sys\n" + program.replace('command="vidsum", args=[', start)
    shutil.copytree(ROOT / "docs" / "sample", "docs/sample")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert same(ran.stdout, printed)
    assert Path("clips/meadow.mp4").is_file()
