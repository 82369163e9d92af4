"""The scripts of docs/benchmarks: each that has a small run ends well without the folder of real clips."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def has_small_run(script: Path) -> bool:
    return bool(re.search(r'small=(small|f?")|"--small"', script.read_text()))


SMALL = sorted(path.stem for path in (ROOT / "docs/benchmarks").glob("[!_]*.py") if has_small_run(path))
NEEDS = {"edit_page": "playwright", "space_costs": "open_clip"}
"""Packages that a script imports and vidsum does not need."""


def test_scripts_have_small_runs() -> None:
    assert len(SMALL) >= 20


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.parametrize("name", SMALL)
def test_small_run(name: str, default_weights: Path, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    environment = {**os.environ, "VIDSUM_SHARED": "/nonexistent"}
    command = [sys.executable, "-m", f"docs.benchmarks.{name}", "--small"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip()
