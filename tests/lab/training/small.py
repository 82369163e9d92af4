"""A small model with dropout and four examples; as a program, training runs that can be killed."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from vidsum.checkpoints.trained import Trained
from vidsum.lab.training.loop import Recipe, fit
from vidsum.lab.training.settings import LoopSettings

Example = tuple[Tensor, Tensor]

EPOCHS = 6
SETTINGS = LoopSettings(epochs=EPOCHS, seed=3)


def small_recipe() -> Recipe[nn.Sequential, Example]:
    """Find the largest of the inputs' sums; a planted rule that a small network can learn."""
    draw = torch.Generator().manual_seed(5)
    rule = torch.randn(4, 1, generator=draw)
    examples = {}
    for number in range(4):
        inputs = torch.randn(16, 4, generator=draw)
        examples[f"film_{number}"] = (inputs, inputs @ rule)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    return Recipe(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=0.03, weight_decay=1e-4),
        examples=lambda epoch: {name: partial(dict.get, examples, name) for name in examples},
        loss=lambda model, example: nn.functional.mse_loss(model(example[0]), example[1]),
        validate=lambda model: -float((model(examples["film_0"][0]) - examples["film_0"][1]).square().mean()),
        about=Trained("small", {"width": 8}, {"dim": 4}, {"lr": 0.03}, {}),
    )


def main(folder: str, *kills: str) -> None:
    """Train in a folder below it for each kill, in processes of their own: first one that kills itself in the
    middle of the file after so many, then one that goes on."""
    small_recipe().optimizer.step()  # loads what would else be loaded in each process
    for kill in kills:
        run = Path(folder) / kill
        assert _status_of(lambda: _train(run, int(kill))) == signal.SIGKILL  # noqa: B023 (called at once)
        assert any(run.glob(".*"))
        assert _status_of(lambda: _train(run)) == 0  # noqa: B023


def _status_of(work: Callable[[], None]) -> int:
    """Exit status of a forked process that does some work."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def _train(folder: Path, kill_after: int | None = None) -> None:
    if kill_after is not None:
        _kill_in_the_file_after(kill_after)
    fit(small_recipe(), SETTINGS, folder)


def _kill_in_the_file_after(n_files: int) -> None:
    rename, left = Path.replace, iter(range(n_files))

    def rename_or_die(self: Path, target: Path) -> Path:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    Path.replace = rename_or_die  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:])
