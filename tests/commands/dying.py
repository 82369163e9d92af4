"""Work in which processes die; it loads little, as each that dies is started again."""

import os
import signal
import sys
from pathlib import Path

from vidsum.batch.inputs import BatchInput
from vidsum.batch.runner import Progress


def work(item: BatchInput, progress: Progress | None) -> str:
    """Die by the name of an input: always, or the first time only (`mortal`)."""
    first = Path(f"{item.path}.died")
    with Path("worked").open("a") as log:
        log.write(f"{item.path}\n")
    if progress:
        progress(f"step {item.path}", 1, 2)
    if item.path.startswith("deadly") or (item.path.startswith("mortal") and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if item.path.startswith("segfault"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if item.path.startswith("leaving"):
        sys.exit(3)
    return f"done {item.path}"
