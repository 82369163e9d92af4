"""The training loop: it learns, it stops, and a run that was killed ends as one that was not."""

import csv
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tests.lab.training.small import EPOCHS, SETTINGS, small_recipe
from vidsum.checkpoints.trained import read_tensors, read_trained, write_tensors
from vidsum.errors import InputError, OutputError, VidsumError
from vidsum.lab.training.loop import FitResult, fit, prefetch, quick_products
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.state import LAST, SCHEMA

PROGRAM = (sys.executable, "-m", "tests.lab.training.small")


FILES = {"best.safetensors", "last.safetensors", "log.csv", "last.safetensors.vidsum.json"}


def _fit(folder: Path, settings: LoopSettings = SETTINGS, overwrite: bool = False) -> FitResult:
    return fit(small_recipe(), settings, folder, overwrite=overwrite)


def _same_files(one: Path, two: Path) -> None:
    for name in ("best.safetensors", "last.safetensors"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_loss_goes_down(tmp_path: Path) -> None:
    fitted = _fit(tmp_path, LoopSettings(epochs=40))
    assert fitted.history[-1].loss < fitted.history[0].loss / 10


def test_run_leaves_its_best_and_last_weights_and_a_log(tmp_path: Path) -> None:
    _fit(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_log_has_a_row_for_each_epoch(tmp_path: Path) -> None:
    fitted = _fit(tmp_path)
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    logged = [(int(row["epoch"]), float(row["loss"]), float(row["validation"])) for row in rows]
    assert logged == [(epoch.epoch, epoch.loss, epoch.validation) for epoch in fitted.history]
    assert len(logged) == EPOCHS


@pytest.fixture
def best_of_two(tmp_path: Path) -> FitResult:
    """A run whose second epoch is the best."""
    scores = iter([0.1, 0.7, 0.3, 0.7, 0.2, 0.1])
    return fit(replace(small_recipe(), validate=lambda model: next(scores)), SETTINGS, tmp_path / "a")


def test_first_of_the_best_epochs_is_kept(best_of_two: FitResult, tmp_path: Path) -> None:
    assert best_of_two.best.epoch == 2
    fit(small_recipe(), replace(SETTINGS, epochs=2), tmp_path / "b")
    after_two = read_tensors(tmp_path / "b" / "last.safetensors", SCHEMA)[1]
    trained = read_trained(best_of_two.checkpoint)
    assert trained.tensors
    for name, tensor in trained.tensors.items():
        assert torch.equal(tensor, after_two[f"model.{name}"])


def test_checkpoint_says_what_it_is(best_of_two: FitResult) -> None:
    trained = read_trained(best_of_two.checkpoint)
    assert (trained.model, trained.config) == ("small", {"width": 8})
    assert trained.training["seed"] == 3
    assert trained.training["best"]["epoch"] == 2
    assert trained.training["best"]["validation"] == 0.7


@pytest.fixture
def keeping(tmp_path: Path) -> Path:
    """A run that keeps its second and last epochs, and one that it does not reach."""
    fit(small_recipe(), SETTINGS, tmp_path / "keeping", keep_epochs=(2, EPOCHS, EPOCHS + 5))
    return tmp_path / "keeping"


def test_epochs_that_are_asked_for_are_kept(keeping: Path, tmp_path: Path) -> None:
    kept = sorted(path.name for path in keeping.glob("epoch_*"))
    assert kept == ["epoch_2.safetensors", f"epoch_{EPOCHS}.safetensors"]
    fit(small_recipe(), replace(SETTINGS, epochs=2), tmp_path / "two")
    after_two = read_tensors(tmp_path / "two" / "last.safetensors", SCHEMA)[1]
    for name, tensor in read_trained(keeping / "epoch_2.safetensors").tensors.items():
        assert torch.equal(tensor, after_two[f"model.{name}"])


def test_keeping_epochs_changes_nothing_else(keeping: Path, tmp_path: Path) -> None:
    _fit(tmp_path / "plain")
    _same_files(tmp_path / "plain", keeping)


def test_overwriting_a_run_removes_its_kept_epochs(keeping: Path) -> None:
    _fit(keeping, replace(SETTINGS, epochs=1), overwrite=True)
    assert not list(keeping.glob("epoch_*"))


def test_without_validation_the_last_epoch_is_the_best(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), validate=None)
    fitted = fit(recipe, replace(SETTINGS, patience=3), tmp_path)
    assert fitted.best == fitted.history[-1]
    assert read_trained(fitted.checkpoint).training["best"] == {
        "epoch": EPOCHS,
        "loss": fitted.best.loss,
        "validation": None,
        "perplexity": None,
        "deviation": None,
    }


def test_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        torch.manual_seed(len(name))  # what ran before does not matter
        torch.rand(len(str(tmp_path / name)))
        _fit(tmp_path / name)
    _same_files(tmp_path / "one", tmp_path / "two")


def test_another_seed_makes_other_weights(tmp_path: Path) -> None:
    _fit(tmp_path / "one")
    _fit(tmp_path / "other", replace(SETTINGS, seed=4))
    first, other = (read_trained(tmp_path / name / "best.safetensors").tensors for name in ("one", "other"))
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_loop_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    recipe = small_recipe()
    torch.manual_seed(1)
    fit(recipe, replace(SETTINGS, epochs=1), tmp_path)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.deep
@pytest.mark.parametrize("renames", [(3, 14), pytest.param(range(22), marks=pytest.mark.deep)])
def test_run_killed_while_it_writes_any_file_ends_as_one_never_killed(
    renames: Sequence[int], tmp_path: Path
) -> None:
    """An epoch has a dozen renames."""
    _fit(tmp_path / "whole")
    kills = [*map(str, renames)]
    subprocess.run([*PROGRAM, str(tmp_path), *kills], check=True)
    for kill in kills:
        _same_files(tmp_path / "whole", tmp_path / kill)
        assert {path.name for path in (tmp_path / kill).glob("[!.]*")} == FILES


def test_finished_run_is_up_to_date_and_written_no_more(tmp_path: Path) -> None:
    first = _fit(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = _fit(tmp_path)
    assert (first.up_to_date, again.up_to_date) == (False, True)
    assert again.history == first.history
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


@pytest.fixture
def stopped(tmp_path: Path) -> FitResult:
    """A run with a patience of three epochs whose second is the best of those that it reaches."""
    left = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.9])
    recipe = replace(small_recipe(), validate=lambda model: next(left))
    return fit(recipe, replace(SETTINGS, patience=3), tmp_path)


def test_training_stops_when_validation_gets_no_better(stopped: FitResult) -> None:
    assert [epoch.validation for epoch in stopped.history] == [0.1, 0.5, 0.4, 0.5, 0.3]
    assert stopped.best.epoch == 2


def test_run_that_stopped_early_is_up_to_date(stopped: FitResult) -> None:
    recipe = replace(small_recipe(), validate=lambda model: 1.0)
    assert fit(recipe, replace(SETTINGS, patience=3), stopped.checkpoint.parent).up_to_date


@dataclass(frozen=True)
class Drawn:
    """A run that draws a number for the examples of each epoch."""

    result: FitResult
    numbers: list[float]
    epochs: list[int]


def fit_drawing(folder: Path, seed: int = SETTINGS.seed) -> Drawn:
    numbers, epochs = list[float](), list[int]()

    def examples(epoch: int) -> Any:
        epochs.append(epoch)
        numbers.append(torch.rand(()).item())
        return small_recipe().examples(epoch)

    result = fit(replace(small_recipe(), examples=examples), replace(SETTINGS, seed=seed), folder)
    return Drawn(result, numbers, epochs)


def test_examples_are_drawn_anew_for_each_epoch(tmp_path: Path) -> None:
    drawn = fit_drawing(tmp_path)
    assert drawn.epochs == list(range(1, EPOCHS + 1))
    assert len(set(drawn.numbers)) == EPOCHS


def test_examples_are_drawn_after_the_seed(tmp_path: Path) -> None:
    first, again, other = (
        fit_drawing(tmp_path / name, seed) for name, seed in (("first", 3), ("again", 3), ("other", 9))
    )
    assert first.numbers == again.numbers
    assert [epoch.loss for epoch in first.result.history] == [epoch.loss for epoch in again.result.history]
    assert not set(first.numbers) & set(other.numbers)


def test_learning_rate_is_a_share_of_the_optimizers_rate(tmp_path: Path) -> None:
    half = small_recipe()
    for group in half.optimizer.param_groups:
        group["lr"] /= 2
    fit(half, replace(SETTINGS, epochs=3), tmp_path / "half")
    stepped = replace(small_recipe(), lr_share=lambda epochs: 0.5 if epochs <= 3 else 0.0)
    fit(stepped, SETTINGS, tmp_path / "share")
    half_rate, stepped_rate = (
        read_tensors(tmp_path / name / "last.safetensors", SCHEMA)[1] for name in ("half", "share")
    )
    weights = [name for name in half_rate if name.startswith("model.")]
    assert weights
    assert all(torch.equal(half_rate[name], stepped_rate[name]) for name in weights)


def test_long_gradients_are_scaled_down(tmp_path: Path) -> None:
    recipe = small_recipe()
    before = {name: tensor.clone() for name, tensor in recipe.model.state_dict().items()}
    optimizer = torch.optim.SGD(recipe.model.parameters(), lr=1.0)
    fit(replace(recipe, optimizer=optimizer, max_norm=1e-3), replace(SETTINGS, epochs=1), tmp_path)
    moved = [(tensor - before[name]).square().sum() for name, tensor in recipe.model.state_dict().items()]
    length = float(torch.stack(moved).sum().sqrt())
    assert 1e-3 < length <= 4e-3 * (1 + 1e-4)  # four steps


def test_run_with_other_settings_is_left_alone(tmp_path: Path) -> None:
    _fit(tmp_path)
    before = (tmp_path / "last.safetensors").read_bytes()
    with pytest.raises(OutputError, match=r"other settings \(training\.seed was 3, is 9\)") as refused:
        _fit(tmp_path, replace(SETTINGS, seed=9))
    assert "overwrite=True" in str(refused.value.hint)
    assert (tmp_path / "last.safetensors").read_bytes() == before


@pytest.mark.parametrize("name", ["best.safetensors", "log.csv"])
def test_file_that_is_not_of_a_run_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match="was not written by vidsum"):
        _fit(tmp_path)
    assert (tmp_path / name).read_text() == "mine"


def test_folder_of_a_run_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("mine")
    with pytest.raises(OutputError, match="cannot be made"):
        _fit(tmp_path / "log.csv" / "run")


def test_file_that_was_edited_is_left_alone(tmp_path: Path) -> None:
    _fit(tmp_path, replace(SETTINGS, epochs=1))
    (tmp_path / "log.csv").write_text("mine")
    with pytest.raises(OutputError, match="other settings"):
        _fit(tmp_path)
    (tmp_path / "last.safetensors").unlink()
    with pytest.raises(OutputError, match="or edited since"):
        _fit(tmp_path)
    assert (tmp_path / "log.csv").read_text() == "mine"


def test_overwriting_a_run_removes_only_what_its_record_lists(keeping: Path) -> None:
    mine = {"epoch_77.safetensors": (keeping / "best.safetensors").read_bytes(), ".x.part.txt": b"mine"}
    mine |= {"epoch_2.safetensors": b"mine"}
    for name, content in mine.items():
        (keeping / name).write_bytes(content)
    _fit(keeping, replace(SETTINGS, epochs=1), overwrite=True)
    assert {path.name for path in keeping.iterdir()} == FILES | mine.keys()
    assert {name: (keeping / name).read_bytes() for name in mine} == mine


def test_overwriting_starts_anew_where_the_state_was_edited(tmp_path: Path) -> None:
    _fit(tmp_path)
    (tmp_path / "last.safetensors").write_bytes(b"mine")
    assert not _fit(tmp_path, overwrite=True).up_to_date
    assert _fit(tmp_path).up_to_date


def test_overwrite_starts_anew(tmp_path: Path) -> None:
    _fit(tmp_path / "one")
    fitted = _fit(tmp_path / "one", replace(SETTINGS, seed=9), overwrite=True)
    assert not fitted.up_to_date
    _fit(tmp_path / "two", replace(SETTINGS, seed=9))
    _same_files(tmp_path / "one", tmp_path / "two")


DAMAGED = (b"", b"epoch,loss\n1,2\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [("best.safetensors", None), ("last.safetensors", DAMAGED[0]), ("last.safetensors", DAMAGED[1])],
    ids=["no best weights", "empty state", "state of text"],
)
def test_damaged_run_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    _fit(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name) as refused:
        _fit(tmp_path)
    assert "overwrite=True" in str(refused.value.hint)


def test_run_without_its_state_is_trained_anew(tmp_path: Path) -> None:
    _fit(tmp_path)
    (tmp_path / "last.safetensors").unlink()
    assert not _fit(tmp_path).up_to_date


@pytest.mark.parametrize("content", DAMAGED, ids=["empty", "text"])
def test_damaged_best_weights_are_not_read_by_training(tmp_path: Path, content: bytes) -> None:
    _fit(tmp_path)
    (tmp_path / "best.safetensors").write_bytes(content)
    assert _fit(tmp_path).up_to_date


@pytest.mark.parametrize(
    "history", [None, [], "x", [{"x": 1}], [{"epoch": 2, "loss": 1, "validation": None}]]
)
def test_run_with_an_odd_history_is_refused(tmp_path: Path, history: Any) -> None:
    _fit(tmp_path)
    header, tensors = read_tensors(tmp_path / LAST, SCHEMA)
    facts = {"run": header["run"], **({} if history is None else {"history": history})}
    write_tensors(tmp_path / LAST, SCHEMA, facts, tensors)
    with pytest.raises(InputError, match=LAST) as refused:
        _fit(tmp_path)
    assert "overwrite=True" in str(refused.value.hint)


def test_loss_that_is_not_finite_names_epoch_and_video_and_loses_nothing(tmp_path: Path) -> None:
    _fit(tmp_path / "whole")
    left = iter(range(9))

    def failing(model: nn.Module, example: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        loss = small_recipe().loss(model, example)
        return loss if next(left, None) is not None else loss * float("nan")

    with pytest.raises(VidsumError, match=r"epoch 3, film_\d: the loss is nan") as failed:
        fit(replace(small_recipe(), loss=failing), SETTINGS, tmp_path / "failed")
    assert "smaller lr" in str(failed.value.hint)
    _fit(tmp_path / "failed")
    _same_files(tmp_path / "whole", tmp_path / "failed")


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    recipe = small_recipe()

    def ruining(model: nn.Module, example: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        weights = next(iter(model.parameters()))
        # finite, but its gradient is 1 / 0
        return recipe.loss(model, example) + (weights * 0).abs().sqrt().sum()

    single = dict([*recipe.examples(1).items()][:1])
    with pytest.raises(VidsumError, match="epoch 1: the sum of the weights is nan"):
        fit(replace(recipe, loss=ruining, examples=lambda epoch: single), SETTINGS, tmp_path)
    assert not (tmp_path / "last.safetensors").exists()


def test_validation_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VidsumError, match="epoch 1: the validation is nan"):
        fit(replace(small_recipe(), validate=lambda model: float("nan")), SETTINGS, tmp_path)
    assert not (tmp_path / "last.safetensors").exists()


def test_progress_counts_epochs(tmp_path: Path) -> None:
    calls: list[tuple[str, float, float]] = []
    fit(small_recipe(), SETTINGS, tmp_path / "run", progress=lambda *call: calls.append(call))
    assert calls[0] == ("run", 0.25, EPOCHS)
    assert calls[-1] == ("run", EPOCHS, EPOCHS)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


@pytest.fixture
def made() -> tuple[Iterator[str], list[str]]:
    """Examples of which the third cannot be read, and the threads that make them."""
    threads: list[str] = []

    def make(name: str) -> str:
        threads.append(threading.current_thread().name)
        if name == "damaged":
            raise InputError("damaged: cannot be read")
        return name

    return prefetch([partial(make, name) for name in ("b", "a", "damaged", "c")]), threads


def test_examples_are_made_in_order_by_another_thread(made: tuple[Iterator[str], list[str]]) -> None:
    examples, threads = made
    assert [next(examples), next(examples)] == ["b", "a"]
    assert set(threads).isdisjoint({threading.main_thread().name})


def test_fault_of_an_example_is_raised_in_its_turn(made: tuple[Iterator[str], list[str]]) -> None:
    examples, _ = made
    assert [next(examples), next(examples)] == ["b", "a"]
    with pytest.raises(InputError, match="damaged"):
        next(examples)


def test_no_step_reads_a_number_from_the_device(tmp_path: Path) -> None:
    """A read waits for the device. SGD, since Adam reads its counters, which are always on the CPU."""
    reads = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten._local_scalar_dense.default:
                reads.append(func)
            return func(*args, **(kwargs or {}))

    recipe = small_recipe()
    plain_loss = recipe.loss
    optimizer = torch.optim.SGD(recipe.model.parameters(), lr=0.01)
    in_steps: list[int] = []

    def loss(model: nn.Module, example: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        in_steps.append(len(reads))
        return plain_loss(model, example)  # type: ignore[arg-type]

    recipe = replace(recipe, loss=loss, optimizer=optimizer, max_norm=1.0)
    with Watch():
        fit(recipe, replace(SETTINGS, epochs=1), tmp_path)
    assert len(set(in_steps)) == 1
    assert len(in_steps) == 4


@pytest.mark.parametrize(("kind", "precision"), [("cpu", None), ("cuda", "high")])
def test_matrices_are_multiplied_as_tf32_only_while_training_on_cuda(
    kind: str, precision: str | None
) -> None:
    before = torch.get_float32_matmul_precision()
    with quick_products(torch.device(kind)):
        assert torch.get_float32_matmul_precision() == (precision or before)
    assert torch.get_float32_matmul_precision() == before
