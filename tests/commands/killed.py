"""Run a command that ends, as if killed, after it has renamed some files.

    python -m tests.commands.killed N_MOVED ARGUMENTS...

It is a process of its own: a fork of the tests would lack the threads that onnxruntime started in them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.conftest import use_mean_colours, use_quick_plots
from tests.program import as_variables
from vidsum.__main__ import main
from vidsum.outputs import artifacts

CHECKOUT = Path(__file__).resolve().parents[2]
EXIT_CODE = 9


def kill(*arguments: object, n_moved: int = 1) -> None:
    """Run a command in a process that ends after it has renamed `n_moved` files."""
    words, variables = as_variables(arguments)
    paths = os.pathsep.join(path for path in (str(CHECKOUT), os.environ.get("PYTHONPATH")) if path)
    command = [sys.executable, "-m", "tests.commands.killed", str(n_moved), *words]
    environment = {**os.environ, **variables, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_CODE, done.stderr


def run_until_moved(n_moved: int, words: list[str]) -> None:
    move, moved = artifacts.move, list[Path]()

    def move_some(shadow: Path, target: Path) -> None:
        if len(moved) == n_moved:
            os._exit(EXIT_CODE)
        moved.append(target)
        move(shadow, target)

    with pytest.MonkeyPatch.context() as patch:
        use_mean_colours(patch)
        use_quick_plots(patch)
        patch.setattr(artifacts, "move", move_some)
        patch.setattr(sys, "argv", ["vidsum", *words])
        main()


if __name__ == "__main__":
    run_until_moved(int(sys.argv[1]), sys.argv[2:])
