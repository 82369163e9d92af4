"""The way from a verb to its files: at most ten classes of the command line, batches and outputs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any

import pytest

from tests.program import Run
from vidsum.commands.app import find_command

PACKAGES = ("vidsum.commands", "vidsum.batch", "vidsum.outputs")
MOST_CLASSES, MOST_METHODS = 10, 12


@contextmanager
def made_classes() -> Iterator[set[type[Any]]]:
    """Collect the classes of vidsum whose objects are made in this thread, dataclasses included.

    Exceptions and enumerations are left out, and a Literal makes no object.
    """
    classes = set[type[Any]]()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "__init__":
            kind = type(frame.f_locals.get("self"))
            if kind.__module__.startswith("vidsum.") and not issubclass(kind, Exception | Enum):
                classes.add(kind)

    sys.setprofile(look)
    try:
        yield classes
    finally:
        sys.setprofile(None)


def methods_of(kind: type[Any]) -> set[str]:
    """Return the public methods and properties that vidsum gives a class, those of its bases included."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("vidsum.")]
    members = {name: member for base in own for name, member in vars(base).items()}
    is_method = (property, FunctionType, classmethod, staticmethod)
    return {name for name, member in members.items() if isinstance(member, is_method) and name[0] != "_"}


@pytest.mark.usefixtures("loads")
def test_few_classes_between_a_verb_and_its_files(run: Run, film: Path) -> None:
    find_command(("summarize",))  # the way begins at its call, not while the program is built
    with made_classes() as classes:
        run("summarize", film, "--storyboard", "--plot", "--export", "csv", "--report")
    assert Path("film_summary.mp4").exists()
    counted = {kind for kind in classes if kind.__module__.startswith(PACKAGES)}
    assert len(counted) <= MOST_CLASSES, sorted(kind.__name__ for kind in counted)
    busy = {kind.__name__: methods_of(kind) for kind in counted if len(methods_of(kind)) > MOST_METHODS}
    assert busy == {}
