"""The training loop that all models share.

It can be killed at any moment and resumes after the last finished epoch, to the same weights: the order and
the dropout of an epoch depend on the seed and its number alone.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from vidsum.checkpoints.trained import Trained
from vidsum.errors import Mention, VidsumError, fill
from vidsum.io.atomic import make_folder
from vidsum.lab.training import state
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.spread import Spread, alike_fault, uniform_fault
from vidsum.lab.training.state import Epoch
from vidsum.types import Progress

Model = TypeVar("Model", bound=nn.Module)
Example = TypeVar("Example")


@dataclass(frozen=True, eq=False)
class Recipe(Generic[Model, Example]):
    """A model with its data, loss and validation. Model and examples are on the device already."""

    model: Model  # with its first weights
    optimizer: Optimizer  # with its first settings: only its state is kept between runs
    examples: Callable[[int], Mapping[str, Callable[[], Example]]]
    """Makers of the examples of an epoch, by the name of the video or batch; one step each.

    A maker runs in a thread and must draw no random numbers: the numbers of training would then differ
    from run to run.
    """
    loss: Callable[[Model, Example], Tensor]
    """A scalar; called in training mode, under autocast. It should not wait for the device."""
    validate: Callable[[Model], float] | None
    """Higher is better; called in evaluation mode without gradients. None: the last epoch is the best."""
    about: Trained  # recorded of the model and its data in the checkpoint; its tensors are not used
    lr_share: Callable[[float], float] = lambda done: 1.0
    """Fraction of the optimizer's learning rate by the number of epochs done."""
    spread: Callable[[Model], Spread] | None = None  # called like `validate`, for the log
    may_be_uniform: bool = False  # whether a model that ends uniform, see `uniform_fault`, is a warning
    max_norm: float | None = None  # gradient clipping norm


@dataclass(frozen=True)
class FitResult:
    """The end of a run."""

    history: tuple[Epoch, ...]
    best: Epoch
    checkpoint: Path  # the weights of the best epoch
    up_to_date: bool  # whether there was nothing left to do
    warnings: tuple[str, ...] = ()


def fit(
    recipe: Recipe[Model, Example],
    settings: LoopSettings,
    folder: Path,
    *,
    keep_epochs: Sequence[int] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train, or go on with the run in a folder; the model has the last epoch's weights afterwards.

    Writes `best.safetensors`, `last.safetensors` and `log.csv` after each epoch, and `epoch_5.safetensors` of
    `keep_epochs`. `overwrite` drops the run in the folder. Progress is called as progress(name of the folder,
    epochs done, epochs). Raises OutputError: the folder holds another run or foreign files, or cannot be
    written to.
    InputError: its run is damaged. VidsumError: NaN or infinity, or a model that ends uniform, see
    `uniform_fault`, whose `best.safetensors` is removed.
    """
    if recipe.validate is None:
        settings = replace(settings, patience=None)
    make_folder(folder)
    if overwrite:
        state.clear(folder)
    about = replace(recipe.about, training={**recipe.about.training, **asdict(settings)})
    facts = {key: getattr(about, key) for key in ("model", "config", "features", "training")}
    history = () if overwrite else state.load_state(folder, recipe.model, recipe.optimizer, facts)
    resumed = len(history)
    if not is_over(history, settings) or recipe.may_be_uniform or not _uniform(recipe, history):
        state.require_best(folder, resumed)
    if not (overwrite or is_over(history, settings)):
        state.require_ours(folder)
    while not is_over(history, settings):
        epoch = _run_epoch(recipe, settings, len(history) + 1, folder, progress)
        history = (*history, epoch)
        # the state last: a run killed before it does this epoch again, and writes the same
        names = [state.epoch_file(epoch.epoch)] if epoch.epoch in keep_epochs else []
        names += [state.BEST] if best_of(history) is epoch else []
        state.save_checkpoint(folder, names, _snapshot(about, recipe.model, epoch), overwrite=overwrite)
        state.save_state(
            folder,
            recipe.model,
            recipe.optimizer,
            facts,
            history,
            finished=is_over(history, settings),
            overwrite=overwrite,
        )
    uniform = _uniform(recipe, history)
    if uniform and not recipe.may_be_uniform:
        state.drop_best(folder)
        hint = "learn with the norm before each sub-layer ({}), or with a longer {}"
        raise VidsumError(
            uniform, hint=fill(hint, Mention("norm", "before"), Mention("warm_up")), subject=folder
        )
    faults = [uniform, alike_fault(history[-1], _n_steps(recipe, history))]
    warnings = tuple(f"{folder.name}: {fault}" for fault in faults if fault)
    up_to_date = resumed == len(history)
    return FitResult(history, best_of(history), folder / state.BEST, up_to_date, warnings)


def _uniform(recipe: Recipe[Model, Example], history: Sequence[Epoch]) -> str:
    return uniform_fault(history[-1], _n_steps(recipe, history))


def _n_steps(recipe: Recipe[Model, Example], history: Sequence[Epoch]) -> int:
    """Return the steps of a training whose spread is measured, see `LEAST_STEPS`; else 0."""
    return len(history) * len(recipe.examples(1)) if recipe.spread is not None else 0


def best_of(history: Sequence[Epoch]) -> Epoch:
    """Return the first epoch of the highest validation; the last one where there is no validation."""
    if history[-1].validation is None:
        return history[-1]
    return max(history, key=lambda epoch: (epoch.validation, -epoch.epoch))


@contextmanager
def first_weights(seed: int) -> Iterator[None]:
    """Let a model made in here have the first weights of a seed; what is drawn elsewhere does not change."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed_of(seed, 0))  # epochs count from 1
        yield


def seed_of(*numbers: int) -> int:
    """One seed made from several numbers, such as a seed and an epoch: no two in step with each other."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def is_over(history: Sequence[Epoch], settings: LoopSettings) -> bool:
    """Return whether a training with these epochs is finished."""
    patience = settings.patience or math.inf
    if not history:
        return False
    return len(history) >= settings.epochs or len(history) - best_of(history).epoch >= patience


def _run_epoch(
    recipe: Recipe[Model, Example],
    settings: LoopSettings,
    number: int,
    folder: Path,
    progress: Progress | None,
) -> Epoch:
    """Go once over the examples and validate."""
    device = next(recipe.model.parameters()).device
    losses = dict[str, Tensor]()  # they stay on the device: reading one waits for all that was asked of it
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), quick_products(device):
        torch.manual_seed(seed_of(settings.seed, number))
        makers = [*recipe.examples(number).items()]
        order = [makers[place] for place in torch.randperm(len(makers)).tolist()]
        recipe.model.train()
        for (name, _), example in zip(order, prefetch([make for _, make in order]), strict=True):
            done = number - 1 + (len(losses) + 1) / len(makers)
            for group in recipe.optimizer.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * recipe.lr_share(done)
            losses[name] = _step(recipe, example, settings.precision)
            if progress:
                progress(folder.name, done, settings.epochs)
    values = torch.stack([*losses.values()]).tolist()
    for name, value in zip(losses, values, strict=True):
        _finite(value, "the loss", f"epoch {number}, {name}", folder)
    # a gradient may overflow where the loss does not; in the last step no other loss would show it
    sums = [weights.detach().abs().sum(dtype=torch.float32) for weights in recipe.model.parameters()]
    _finite(float(torch.stack(sums).sum()), "the sum of the weights", f"epoch {number}", folder)
    validation, spread = None, dict[str, float]()
    recipe.model.eval()
    with torch.inference_mode():
        if recipe.validate is not None:
            score = float(recipe.validate(recipe.model))
            validation = _finite(score, "the validation", f"epoch {number}", folder)
        if recipe.spread is not None:
            spread = asdict(recipe.spread(recipe.model))
    return Epoch(number, math.fsum(values) / len(values), validation, **spread)


def _step(recipe: Recipe[Model, Example], example: Example, precision: str) -> Tensor:
    """Train on one example; return its loss, a scalar on the device."""
    device = next(recipe.model.parameters()).device.type
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
        loss = recipe.loss(recipe.model, example)
    recipe.optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    if recipe.max_norm is not None:
        nn.utils.clip_grad_norm_(recipe.model.parameters(), recipe.max_norm)
    recipe.optimizer.step()
    return loss.detach()


def prefetch(makers: Sequence[Callable[[], Example]]) -> Iterator[Example]:
    """Yield what each makes; a thread makes the next one while this one is in use."""
    with ThreadPoolExecutor(1) as thread:
        upcoming = thread.submit(makers[0])
        for make in makers[1:]:
            example, upcoming = upcoming.result(), thread.submit(make)
            yield example
        yield upcoming.result()


@contextmanager
def quick_products(device: torch.device) -> Iterator[None]:
    """Multiply float32 matrices as TF32 on CUDA: several times faster, with 10 bits of mantissa."""
    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _finite(value: float, what: str, where: str, folder: Path) -> float:
    if not math.isfinite(value):
        hint = f"{folder} keeps the epochs before"
        raise VidsumError(
            f"{what} is {value}; {hint}",
            hint=fill("a smaller {}, or {}", Mention("lr"), Mention("precision", "fp32")),
            subject=where,
        )
    return value


def _snapshot(about: Trained, model: nn.Module, epoch: Epoch) -> Trained:
    """Return the checkpoint of an epoch."""
    return replace(about, training={**about.training, "best": asdict(epoch)}, tensors=model.state_dict())
