"""Training a moment model of any family: what a run records, resuming, precision, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vidsum.checkpoints.trained import read_trained
from vidsum.errors import OutputError, UsageError
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.examples import Toy, draw_highlights, draw_moments
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.detr import train_detr
from vidsum.lab.training.examples import draw_toy_data
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.mrnet import train_mrnet
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.models.configs import HEADS
from vidsum.options import build

TOY = Toy(n_videos=6, clips=8, segments=3, queries=1, noise=0.5)
MRNET = {**HEADS["light"], "dim_map": 16, "hidden": 16, "dim_joint": 16, "kernel": 3, "d": 16, "heads": 2}
DETR = {"clips": 8, "words": 4, "d": 16, "heads": 2, "n_moments": 3}
SMALL = {"d_ff": 32, "dropout": 0.1, "dropout_in": 0.0, "device": "cpu", "batch_size": 3, "decay_at": ()}


@dataclass(frozen=True)
class Family:
    """A model, and how the tests train it."""

    name: str
    train: Callable[..., FitResult]
    kind: type[Any]
    sizes: dict[str, Any]
    toy: Callable[..., list[Any]]
    loss: str
    """Function that a run can be broken off in."""

    def run(self, data: MomentData[Any], out: Path, epochs: int = 1, **choices: object) -> FitResult:
        settings = build(self.kind, {**self.sizes, **SMALL, "epochs": epochs, **choices})
        return self.train(data, settings=settings, out=out)


def _detr(name: str) -> Family:
    train = partial(train_detr, name=name)
    return Family(name, train, DETRSettings, DETR, draw_highlights, "vidsum.lab.training.detr.detr_loss")


MRNET_FAMILY = Family(
    "mrnet", train_mrnet, MRNetSettings, MRNET, draw_moments, "vidsum.lab.training.mrnet.mrnet_loss"
)
FAMILIES = (MRNET_FAMILY, _detr("qd-detr"))


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


def _fixed(examples: Sequence[Any], validation: Sequence[Any] = ()) -> MomentData[Any]:
    return MomentData(lambda epoch: examples, validation, {"space": "clip", "clip_s": 2.0}, {"from": "here"})


def test_the_checkpoint_says_what_it_is(family: Family, tmp_path: Path) -> None:
    choices = {"max_norm": 0.5, "patience": 3, "mask": {"kind": "lam", "depth": 3}}
    trained = read_trained(family.run(_fixed(family.toy(TOY, 1)), tmp_path, **choices).checkpoint)
    assert trained.model == family.name
    assert trained.features == {"space": "clip", "clip_s": 2.0}
    dim_video = 64 if family is MRNET_FAMILY else 66
    assert trained.config.items() >= {"clips": 8, "dim_video": dim_video, "dim_query": 32}.items()
    assert trained.config["mask"].items() >= {"kind": "lam", "depth": 3}.items()
    assert trained.training.items() >= {"max_norm": 0.5, "data": {"from": "here"}, "patience": None}.items()


@pytest.mark.parametrize(
    ("family", "steps"),
    [
        *((family, 4) for family in FAMILIES),
        *(pytest.param(family, steps, marks=pytest.mark.deep) for family in FAMILIES for steps in (1, 6)),
        pytest.param(_detr("mrnet-detr"), 4, marks=pytest.mark.deep),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_a_broken_off_run_ends_as_one_never_broken(
    family: Family, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three epochs of two steps, drawn anew, with a rate that rises and falls, dropout and a mask."""
    run = partial(family.run, epochs=3, warmup=1.5, decay_at=(2,), mask={"kind": "stamp"})
    data = draw_toy_data(family.toy, TOY, 5)
    run(data, tmp_path / "whole")
    left = iter(range(steps))
    module, _, name = family.loss.rpartition(".")
    loss = getattr(__import__(module, fromlist=[name]), name)

    def breaking(*arguments: Any, **options: Any) -> torch.Tensor:
        if next(left, None) is None:
            raise KeyboardInterrupt
        computed: torch.Tensor = loss(*arguments, **options)
        return computed

    with monkeypatch.context() as patch:
        patch.setattr(family.loss, breaking)
        if steps < 6:
            with pytest.raises(KeyboardInterrupt):
                run(data, tmp_path / "broken")
        else:
            run(data, tmp_path / "broken")
    assert run(data, tmp_path / "broken").up_to_date == (steps == 6)
    for file in ("best.safetensors", "last.safetensors"):
        assert (tmp_path / "broken" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_another_model_is_another_run(tmp_path: Path) -> None:
    data = _fixed(draw_highlights(TOY, 1))
    _detr("qd-detr").run(data, tmp_path)
    with pytest.raises(OutputError, match=r"qd-detr.*moment-detr"):
        _detr("moment-detr").run(data, tmp_path)
    with pytest.raises(UsageError, match="'detr'"):
        _detr("detr").run(data, tmp_path)


def test_bf16_learns_and_keeps_float32_weights(family: Family, tmp_path: Path) -> None:
    fit = family.run(_fixed(family.toy(TOY, 1)), tmp_path, 8, precision="bf16", lr=4e-3)
    assert fit.history[-1].loss < fit.history[0].loss - 0.4
    counts = {torch.int64} if family is MRNET_FAMILY else set()  # how many batches the norms have seen
    assert {one.dtype for one in read_trained(fit.checkpoint).tensors.values()} == {torch.float32, *counts}


def test_examples_of_different_sizes_are_refused(family: Family, tmp_path: Path) -> None:
    examples = family.toy(TOY, 1)
    wider = replace(examples[1], name="wider", video=np.zeros((8, 7), np.float32))
    for data, message in (
        (_fixed([examples[0], wider]), r"toy_0 has .*clips of 6.* wider .*clips of 7"),
        (_fixed(examples, [wider]), "wider"),
        (_fixed([]), "no video to train on"),
    ):
        with pytest.raises(UsageError, match=message):
            family.run(data, tmp_path)


def test_examples_longer_than_the_model_are_refused(tmp_path: Path) -> None:
    first, *_ = draw_highlights(TOY, 1)
    long = replace(first, name="long", video=np.zeros((9, 66), np.float32), saliency=np.zeros(9, np.float32))
    with pytest.raises(UsageError, match=r"long has 9 clips and .* 8 and 4"):
        _detr("qd-detr").run(_fixed([first, long]), tmp_path)


def test_examples_of_other_lengths_are_refused_by_mrnet(tmp_path: Path) -> None:
    first, *_ = draw_moments(TOY, 1)
    longer = replace(first, name="longer", video=np.zeros((9, 64), np.float32))
    with pytest.raises(UsageError, match=r"8 clips .* longer has|8 clips .* longer 9 clips"):
        MRNET_FAMILY.run(_fixed([first, longer]), tmp_path)


def test_a_run_can_begin_with_the_weights_of_another(family: Family, tmp_path: Path) -> None:
    data = _fixed(family.toy(TOY, 1))
    first = family.run(data, tmp_path / "first")
    again = family.run(data, tmp_path / "again", start=str(first.checkpoint), lr=1e-12, weight_decay=0.0)
    known, after = (read_trained(run.checkpoint) for run in (first, again))
    learned = {name: rows for name, rows in known.tensors.items() if name.endswith(("weight", "bias"))}
    for name, tensor in learned.items():
        torch.testing.assert_close(after.tensors[name], tensor, rtol=0, atol=1e-6)
    assert after.training["start_sha256"] == identify_file(first.checkpoint)["sha256"]


def test_weights_of_other_sizes_or_models_are_refused(tmp_path: Path) -> None:
    first, other = FAMILIES
    begun = str(first.run(_fixed(first.toy(TOY, 1)), tmp_path / "first").checkpoint)
    for family, choices in ((other, {}), (first, {"d": 32})):
        with pytest.raises(UsageError, match="a checkpoint of mrnet whose sizes"):
            family.run(_fixed(family.toy(TOY, 1)), tmp_path / "run", start=begun, **choices)
