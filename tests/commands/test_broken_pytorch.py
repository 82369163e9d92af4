"""A PyTorch or torchvision that cannot be imported is one line, and the command that mends it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import needs_torch, real_weights
from tests.io.test_packages import add_package
from tests.program import Run
from vidsum.io.packages import pytorch_repair_command

ROOT = Path(__file__).parents[2]
NMS = "raise RuntimeError('operator torchvision::nms does not exist')"
REPAIR = pytorch_repair_command()


def vidsum(stubs: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that finds the packages of a folder before those that are installed."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(stubs), str(ROOT)))}
    command = [sys.executable, "-m", "vidsum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "raise OSError('libcudart.so: cannot open shared object file')",
        pytest.param(None, marks=pytest.mark.deep),
    ],
)
def test_a_broken_pytorch_is_told_in_a_line(tmp_path: Path, film: Path, code: str | None) -> None:
    stubs = tmp_path / "stubs"
    add_package(stubs, "torch", "2.9.9", code=code or "raise ModuleNotFoundError(name='torch')")
    for more in ([], ["--json"]):
        ran = vidsum(stubs, "extract", film, "--device", "cuda", *more)
        text = ran.stdout if more else ran.stderr
        assert (ran.returncode, "Traceback" in text, "internal" in text) == (1, False, False)
        assert "torch cannot be imported" in text
        assert REPAIR in text
    assert "Traceback" in vidsum(stubs, "extract", film, "--device", "cuda", "-v").stderr


def test_info_warns_of_versions_that_do_not_match(tmp_path: Path) -> None:
    stubs = tmp_path / "stubs"
    add_package(stubs, "torch", "2.6.0+cpu", code="raise OSError('not to be imported')")
    add_package(stubs, "torchvision", "0.22.0", "torch==2.7.0")
    ran = vidsum(stubs, "info")
    assert (ran.returncode, "vidsum" in ran.stdout) == (0, True)
    if "unknown" not in ran.stdout:  # no GPU here, of which PyTorch would be asked
        fault = "torchvision 0.22.0 requires torch ==2.7.0, but torch 2.6.0+cpu is installed"
        assert ran.stderr == f"warning: {fault}: {REPAIR}\n"


@needs_torch
def test_info_works_where_pytorch_does_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str = "auto") -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("vidsum.device.may_have_gpu", lambda: True)
    monkeypatch.setattr("vidsum.device.choose_device", broken)
    ran = run("info")
    assert "unknown" in ran.out
    assert ran.err.startswith("warning: torch cannot be imported: No module named 'torch' (")
    assert ran.err.endswith(f": {REPAIR}\n")


@pytest.mark.deep
@pytest.mark.weights
def test_a_torchvision_of_another_build_is_told_in_a_line(tmp_path: Path, film: Path) -> None:
    real_weights("mobilenet_v2")
    stubs = tmp_path / "stubs"
    add_package(stubs, "torchvision", "0.1", code=NMS)
    ran = vidsum(stubs, "extract", film, "--device", "cpu", "-e", "mobilenet_v2")
    assert ran.returncode == 1
    error, hint = ran.stderr.splitlines()[-2:]
    assert error.startswith("error: torchvision cannot be imported: operator torchvision::nms does not")
    assert hint == f"  try: {REPAIR}"
