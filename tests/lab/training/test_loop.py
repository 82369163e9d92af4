"""The training loop: it learns, it stops, and a run that was killed ends as one that was not."""

import csv
import subprocess
import sys
import threading
from dataclasses import replace
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


def _fit(folder: Path, settings: LoopSettings = SETTINGS, overwrite: bool = False) -> FitResult:
    return fit(small_recipe(), settings, folder, overwrite=overwrite)


def _same_files(one: Path, two: Path) -> None:
    for name in ("best.safetensors", "last.safetensors"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_the_loss_goes_down_and_all_files_are_written(tmp_path: Path) -> None:
    fitted = _fit(tmp_path, LoopSettings(epochs=40))
    assert fitted.history[-1].loss < fitted.history[0].loss / 10
    files = {"best.safetensors", "last.safetensors", "log.csv"}
    assert {path.name for path in tmp_path.iterdir()} == files
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    logged = [(int(row["epoch"]), float(row["loss"]), float(row["validation"])) for row in rows]
    assert logged == [(epoch.epoch, epoch.loss, epoch.validation) for epoch in fitted.history]


def test_the_best_epoch_is_kept_with_what_it_is(tmp_path: Path) -> None:
    scores = iter([0.1, 0.7, 0.3, 0.7, 0.2, 0.1])
    recipe = replace(small_recipe(), validate=lambda model: next(scores))
    fitted = fit(recipe, SETTINGS, tmp_path / "a")
    assert fitted.best.epoch == 2
    fit(small_recipe(), replace(SETTINGS, epochs=2), tmp_path / "b")
    after_two = read_tensors(tmp_path / "b" / "last.safetensors", SCHEMA)[1]
    trained = read_trained(fitted.checkpoint)
    for name, tensor in trained.tensors.items():
        assert torch.equal(tensor, after_two[f"model.{name}"])
    assert trained.tensors
    assert trained.model == "small"
    assert trained.config == {"width": 8}
    assert trained.training["seed"] == 3
    assert trained.training["best"]["epoch"] == 2
    assert trained.training["best"]["validation"] == 0.7


def test_epochs_that_are_asked_for_are_kept_and_change_nothing_else(tmp_path: Path) -> None:
    _fit(tmp_path / "a")
    fit(small_recipe(), SETTINGS, tmp_path / "b", keep_epochs=(2, EPOCHS, EPOCHS + 5))
    _same_files(tmp_path / "a", tmp_path / "b")
    kept = sorted(path.name for path in (tmp_path / "b").glob("epoch_*"))
    assert kept == ["epoch_2.safetensors", f"epoch_{EPOCHS}.safetensors"]
    fit(small_recipe(), replace(SETTINGS, epochs=2), tmp_path / "c")
    after_two = read_tensors(tmp_path / "c" / "last.safetensors", SCHEMA)[1]
    for name, tensor in read_trained(tmp_path / "b" / "epoch_2.safetensors").tensors.items():
        assert torch.equal(tensor, after_two[f"model.{name}"])
    _fit(tmp_path / "b", replace(SETTINGS, epochs=1), overwrite=True)
    assert not list((tmp_path / "b").glob("epoch_*"))


def test_without_validation_the_last_epoch_is_the_best(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), validate=None)
    fitted = fit(recipe, replace(SETTINGS, patience=3), tmp_path)
    assert fitted.best == fitted.history[-1]
    assert read_trained(fitted.checkpoint).training["best"] == {
        "epoch": EPOCHS,
        "loss": fitted.best.loss,
        "validation": None,
    }


def test_same_seed_same_bytes_another_seed_others(tmp_path: Path) -> None:
    for name in ("one", "two"):
        torch.manual_seed(len(name))  # what ran before does not matter
        torch.rand(len(str(tmp_path / name)))
        _fit(tmp_path / name)
    _same_files(tmp_path / "one", tmp_path / "two")
    _fit(tmp_path / "other", replace(SETTINGS, seed=4))
    weights = [read_trained(tmp_path / name / "best.safetensors").tensors for name in ("one", "other")]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_the_loop_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    recipe = small_recipe()
    torch.manual_seed(1)
    fit(recipe, replace(SETTINGS, epochs=1), tmp_path)
    assert torch.equal(torch.rand(3), expected)


def test_a_run_killed_while_it_writes_any_file_ends_as_one_never_killed(tmp_path: Path) -> None:
    _fit(tmp_path / "whole")
    kills = ["0", "1", "2", "5"]  # after so many files; an epoch writes two or three
    subprocess.run([*PROGRAM, str(tmp_path), *kills], check=True)
    for kill in kills:
        _same_files(tmp_path / "whole", tmp_path / kill)
        assert not any((tmp_path / kill).glob(".*"))


def test_a_finished_run_is_up_to_date(tmp_path: Path) -> None:
    first = _fit(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = _fit(tmp_path)
    assert (first.up_to_date, again.up_to_date) == (False, True)
    assert again.history == first.history
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_training_stops_when_validation_gets_no_better(tmp_path: Path) -> None:
    scores = [0.1, 0.5, 0.4, 0.5, 0.3, 0.9]
    recipe = small_recipe()
    left = iter(scores)
    settings = replace(SETTINGS, patience=3)
    fitted = fit(replace(recipe, validate=lambda model: next(left)), settings, tmp_path)
    assert [epoch.validation for epoch in fitted.history] == scores[:5]
    assert fitted.best.epoch == 2
    assert fit(replace(small_recipe(), validate=lambda model: 1.0), settings, tmp_path).up_to_date


def test_examples_may_be_those_of_an_epoch_and_drawn_after_the_seed(tmp_path: Path) -> None:
    draws: list[tuple[int, float]] = []

    def examples(epoch: int) -> Any:
        draws.append((epoch, torch.rand(()).item()))
        return small_recipe().examples(epoch)

    whole = fit(replace(small_recipe(), examples=examples), SETTINGS, tmp_path / "whole")
    assert [epoch for epoch, _ in draws] == list(range(1, EPOCHS + 1))
    assert len({drawn for _, drawn in draws}) == EPOCHS
    first = dict(draws)
    fit(replace(small_recipe(), examples=examples), replace(SETTINGS, seed=9), tmp_path / "other")
    assert not set(first.values()) & {drawn for _, drawn in draws[EPOCHS:]}
    draws.clear()
    again = fit(replace(small_recipe(), examples=examples), SETTINGS, tmp_path / "again")
    assert dict(draws) == first
    assert [epoch.loss for epoch in again.history] == [epoch.loss for epoch in whole.history]


def test_the_learning_rate_follows_its_course_as_a_fraction_of_the_optimizers_rate(tmp_path: Path) -> None:
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


def test_a_run_with_other_settings_is_left_alone(tmp_path: Path) -> None:
    _fit(tmp_path)
    before = (tmp_path / "last.safetensors").read_bytes()
    with pytest.raises(OutputError, match=r"other settings \(training\.seed was 3, is 9\)") as refused:
        _fit(tmp_path, replace(SETTINGS, seed=9))
    assert "overwrite=True" in str(refused.value.hint)
    assert (tmp_path / "last.safetensors").read_bytes() == before


@pytest.mark.parametrize("name", ["best.safetensors", "log.csv"])
def test_files_that_are_not_of_a_run_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match="not of a training run"):
        _fit(tmp_path)
    assert (tmp_path / name).read_text() == "mine"
    with pytest.raises(OutputError, match="cannot be made"):
        _fit(tmp_path / name / "run")


def test_overwrite_starts_anew(tmp_path: Path) -> None:
    _fit(tmp_path / "one")
    fitted = _fit(tmp_path / "one", replace(SETTINGS, seed=9), overwrite=True)
    assert not fitted.up_to_date
    _fit(tmp_path / "two", replace(SETTINGS, seed=9))
    _same_files(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize("name", ["best.safetensors", "last.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"epoch,loss\n1,2\n"])
def test_a_damaged_run_is_reported(tmp_path: Path, name: str, content: bytes | None) -> None:
    _fit(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    if name == "last.safetensors" and content is None:  # then there is no run
        assert not _fit(tmp_path).up_to_date
    elif name == "best.safetensors" and content is not None:  # training does not read it
        assert _fit(tmp_path).up_to_date
    else:
        with pytest.raises(InputError, match=name) as refused:
            _fit(tmp_path)
        assert "overwrite=True" in str(refused.value.hint)


@pytest.mark.parametrize(
    "history", [None, [], "x", [{"x": 1}], [{"epoch": 2, "loss": 1, "validation": None}]]
)
def test_an_odd_history_is_reported(tmp_path: Path, history: Any) -> None:
    _fit(tmp_path)
    header, tensors = read_tensors(tmp_path / LAST, SCHEMA)
    facts = {"run": header["run"], **({} if history is None else {"history": history})}
    write_tensors(tmp_path / LAST, SCHEMA, facts, tensors)
    with pytest.raises(InputError, match=LAST) as refused:
        _fit(tmp_path)
    assert "overwrite=True" in str(refused.value.hint)


def test_a_loss_that_is_not_finite_names_epoch_and_video_and_loses_nothing(tmp_path: Path) -> None:
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


def test_weights_and_validation_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    recipe = small_recipe()

    def ruining(model: nn.Module, example: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        weights = next(iter(model.parameters()))
        # finite, but its gradient is 1 / 0
        return recipe.loss(model, example) + (weights * 0).abs().sqrt().sum()

    single = dict([*recipe.examples(1).items()][:1])
    with pytest.raises(VidsumError, match="epoch 1: the sum of the weights is nan"):
        fit(replace(recipe, loss=ruining, examples=lambda epoch: single), SETTINGS, tmp_path)
    with pytest.raises(VidsumError, match="epoch 1: the validation is nan"):
        fit(replace(small_recipe(), validate=lambda model: float("nan")), SETTINGS, tmp_path)
    assert not (tmp_path / "last.safetensors").exists()


def test_progress_counts_epochs(tmp_path: Path) -> None:
    calls: list[tuple[str, float, float]] = []
    fit(small_recipe(), SETTINGS, tmp_path / "run", progress=lambda *call: calls.append(call))
    assert calls[0] == ("run", 0.25, EPOCHS)
    assert calls[-1] == ("run", EPOCHS, EPOCHS)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)


def test_a_thread_makes_the_next_example_and_its_faults_are_raised() -> None:
    threads: list[str] = []

    def make(name: str) -> str:
        threads.append(threading.current_thread().name)
        if name == "damaged":
            raise InputError("damaged: cannot be read")
        return name

    made = prefetch([partial(make, name) for name in ("b", "a", "damaged", "c")])
    assert [next(made), next(made)] == ["b", "a"]
    with pytest.raises(InputError, match="damaged"):
        next(made)
    assert set(threads).isdisjoint({threading.main_thread().name})


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


def test_matrices_are_multiplied_as_tf32_only_while_training_on_cuda() -> None:
    before = torch.get_float32_matmul_precision()
    for kind, expected in (("cpu", before), ("cuda", "high")):
        with quick_products(torch.device(kind)):
            assert torch.get_float32_matmul_precision() == expected
        assert torch.get_float32_matmul_precision() == before
