"""Training in tests is quick: on one thread, and with curves drawn only where a test is about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vidsum.lab.training.state import Epoch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The models are so small that threads only wait for each other; other tests may count on all of them."""
    if not find_spec("torch"):
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def real_curves() -> None:
    """Ask for this to have `curves.png` drawn."""


@pytest.fixture(autouse=True)
def quick_curves(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing takes longer than many a training; write the numbers that it would show."""

    def write(history: Sequence[Epoch], best: Epoch, target: Path) -> None:
        target.write_text(str([(epoch.loss, epoch.validation) for epoch in history]))

    if "real_curves" not in request.fixturenames:
        monkeypatch.setattr("vidsum.lab.training.state.plot_curves", write)
