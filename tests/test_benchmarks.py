"""The scripts of docs/benchmarks: each that has a small run ends well without the folder of real clips."""

import multiprocessing
import os
import re
import runpy
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


LIBRARIES = (
    "torch",
    "sklearn.linear_model",
    "scipy.stats",
    "onnxruntime",
    "av",
    "cv2",
    "vidsum.pipelines.summarize",
)
"""Modules that most scripts import, which takes longer than many of their runs."""


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.parametrize("name", SMALL)
def test_small_run(name: str, default_weights: Path, tmp_path: Path) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LIBRARIES])
    process = context.Process(target=run_small, args=(name, tmp_path, dict(os.environ)))
    process.start()
    process.join()
    assert process.exitcode == 0, (tmp_path / "stderr").read_text()
    assert (tmp_path / "stdout").read_text().strip()


def run_small(name: str, folder: Path, environment: dict[str, str]) -> None:
    """Run a script as `python -m` does, in a process that has imported `LIBRARIES`; print to files."""
    os.environ.update(environment, VIDSUM_SHARED="/nonexistent")
    sys.argv = [name, "--small"]
    sys.stdout, sys.stderr = (folder / "stdout").open("w"), (folder / "stderr").open("w")
    try:
        runpy.run_module(f"docs.benchmarks.{name}", run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
