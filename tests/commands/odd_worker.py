"""A worker that dies at an input called `deadly`, and is held while it writes an output called `slow`.

One called `mortal` kills it once. The names of the inputs that are read go to a file.
"""

import os
import signal
import time
from pathlib import Path
from typing import Any

from vidsum.batch.workers import _prepare
from vidsum.pipelines import sources

_probe, _replace = sources.probe, Path.replace


def prepare(*values: Any) -> None:
    sources.probe = _probe_or_die
    Path.replace = _replace_slowly  # type: ignore[assignment, method-assign]
    _prepare(*values)


def _probe_or_die(path: Any, **settings: Any) -> Any:
    with Path("read").open("a") as log:
        log.write(f"{Path(path).name}\n")
    if "deadly" in str(path) or ("mortal" in str(path) and not Path("died").exists()):
        Path("died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _probe(path, **settings)


def _replace_slowly(part: Path, target: Any) -> Path:
    if "slow" in Path(target).name:
        Path("held").write_text(str(os.getpid()))
        for _ in range(1200):  # two minutes, in steps in which a signal is seen
            time.sleep(0.1)
    return _replace(part, target)
