"""Work in which processes die; it loads little, as each that dies is started again."""

import os
import signal
import sys
from pathlib import Path

from vidsum.outputs.tasks import Progress, Task


def work(task: Task, progress: Progress | None) -> str:
    """Die by the name of a task: always, or the first time only (`mortal`)."""
    first = Path(f"{task.path}.died")
    with Path("worked").open("a") as log:
        log.write(f"{task.path}\n")
    if progress:
        progress(f"step {task.path}", 1, 2)
    if task.path.startswith("deadly") or (task.path.startswith("mortal") and not first.exists()):
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if task.path.startswith("segfault"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if task.path.startswith("leaving"):
        sys.exit(3)
    return f"done {task.path}"
