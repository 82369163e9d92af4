"""Training a moment model of any family: batches, what a run records, resuming, precision, refusals."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import deep
from tests.lab.training.toy import Toy, draw_data, draw_highlights, draw_moments, fixed
from vidsum.checkpoints.trained import read_trained
from vidsum.errors import OutputError, UsageError
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.moment_examples import HighlightExample, MomentExample, Pair
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.moment_trainer import batches
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.lab.training.train_detr import collate_pairs, train_detr
from vidsum.lab.training.train_mrnet import collate_groups, group_queries, split_queries, train_mrnet
from vidsum.models.configs import LIGHT_HEAD
from vidsum.options import build

TOY = Toy(n_videos=6, clips=8, segments=3, queries=1, noise=0.5)
MRNET = {**LIGHT_HEAD, "dim_map": 16, "hidden": 16, "dim_joint": 16, "kernel": 3, "d": 16, "heads": 2}
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
    return Family(
        name, train, DETRSettings, DETR, draw_highlights, "vidsum.lab.training.train_detr.detr_loss"
    )


MRNET_FAMILY = Family(
    "mrnet", train_mrnet, MRNetSettings, MRNET, draw_moments, "vidsum.lab.training.train_mrnet.mrnet_loss"
)
FAMILIES = (MRNET_FAMILY, _detr("qd-detr"))


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
def family(request: pytest.FixtureRequest) -> Family:
    chosen: Family = request.param
    return chosen


def test_checkpoint_says_what_it_is(family: Family, tmp_path: Path) -> None:
    choices = {"max_norm": 0.5, "patience": 3, "mask": {"kind": "lam", "depth": 3}}
    trained = read_trained(family.run(fixed(family.toy(TOY, 1)), tmp_path, **choices).checkpoint)
    assert trained.model == family.name
    assert trained.features == {"space": "clip", "clip_s": 2.0}
    dim_video = 64 if family is MRNET_FAMILY else 66
    assert trained.config.items() >= {"clips": 8, "dim_video": dim_video, "dim_query": 32}.items()
    assert trained.config["mask"].items() >= {"kind": "lam", "depth": 3}.items()
    assert trained.training.items() >= {"max_norm": 0.5, "data": {"from": "here"}, "patience": None}.items()


@pytest.mark.parametrize(
    ("family", "steps"),
    [
        (MRNET_FAMILY, 4),
        *(deep(MRNET_FAMILY, steps) for steps in (1, 6)),
        *(deep(_detr("qd-detr"), steps) for steps in (1, 4, 6)),
        deep(_detr("mrnet-detr"), 4),
    ],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_broken_off_run_ends_as_one_never_broken(
    family: Family, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three epochs of two steps, drawn anew, with a rate that rises and falls, dropout and a mask."""
    run = partial(family.run, epochs=3, warmup=1.5, decay_at=(2,), mask={"kind": "stamp"})
    data = draw_data(family.toy, TOY, 5)
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


def test_run_of_another_model_is_left_alone(tmp_path: Path) -> None:
    data = fixed(draw_highlights(TOY, 1))
    _detr("qd-detr").run(data, tmp_path)
    with pytest.raises(OutputError, match=r"qd-detr.*moment-detr"):
        _detr("moment-detr").run(data, tmp_path)


@pytest.fixture
def in_bf16(family: Family, tmp_path: Path) -> FitResult:
    """A run of eight epochs in bf16."""
    return family.run(fixed(family.toy(TOY, 1)), tmp_path, 8, precision="bf16", lr=4e-3)


@pytest.mark.deep
def test_bf16_learns_and_keeps_float32_weights(family: Family, in_bf16: FitResult) -> None:
    assert in_bf16.history[-1].loss < in_bf16.history[0].loss - 0.4
    counts = {torch.int64} if family is MRNET_FAMILY else set()  # how many batches the norms have seen
    tensors = read_trained(in_bf16.checkpoint).tensors.values()
    assert {tensor.dtype for tensor in tensors} == {torch.float32, *counts}


def test_run_begins_with_the_weights_of_another(family: Family, tmp_path: Path) -> None:
    data = fixed(family.toy(TOY, 1))
    first = family.run(data, tmp_path / "first")
    again = family.run(data, tmp_path / "again", start=str(first.checkpoint), lr=1e-12, weight_decay=0.0)
    known, after = (read_trained(run.checkpoint) for run in (first, again))
    learned = {name: rows for name, rows in known.tensors.items() if name.endswith(("weight", "bias"))}
    for name, tensor in learned.items():
        torch.testing.assert_close(after.tensors[name], tensor, rtol=0, atol=1e-6)
    assert after.training["start_sha256"] == identify_file(first.checkpoint)["sha256"]


@pytest.fixture
def of_mrnet(tmp_path: Path) -> str:
    """The checkpoint of a run of MRNet."""
    return str(MRNET_FAMILY.run(fixed(draw_moments(TOY, 1)), tmp_path / "first").checkpoint)


def test_weights_of_another_model_are_no_start(of_mrnet: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a checkpoint of mrnet whose sizes"):
        _detr("qd-detr").run(fixed(draw_highlights(TOY, 1)), tmp_path / "run", start=of_mrnet)


def test_weights_of_other_sizes_are_no_start(of_mrnet: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a checkpoint of mrnet whose sizes"):
        MRNET_FAMILY.run(fixed(draw_moments(TOY, 1)), tmp_path / "run", start=of_mrnet, d=32)


# --- batches and examples ---

CPU = torch.device("cpu")


def _video(number: int, n_queries: int, n_windows: int = 1) -> MomentExample:
    draw = np.random.default_rng(n_queries)
    windows = np.sort(draw.random((n_queries, n_windows, 2), np.float32))
    video, queries = draw.random((4, 3), np.float32), draw.random((n_queries, 5), np.float32)
    return MomentExample(f"film_{number}", video, queries, windows if n_windows > 1 else windows[:, 0])


def _pair(
    number: int, clips: int, words: int, windows: int, negative: Pair | None = None
) -> HighlightExample:
    filled = ((clips, 3), number), ((words, 2), number), ((windows, 2), 0.5), (clips, number)
    arrays = (np.full(shape, value, np.float32) for shape, value in filled)
    return HighlightExample(f"film_{number}", *arrays, negative)


any_groups = given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=6), size=st.none() | st.integers(1, 5)
)


@any_groups
def test_each_query_is_in_one_group(counts: list[int], size: int | None) -> None:
    groups = group_queries([_video(number, count) for number, count in enumerate(counts)], size)
    drawn = sorted((example.name, query) for example, chosen in groups for query in chosen)
    assert drawn == [
        (f"film_{number}", query) for number, count in enumerate(counts) for query in range(count)
    ]


@any_groups
def test_groups_of_a_video_are_whole_but_for_one(counts: list[int], size: int | None) -> None:
    videos = [_video(number, count) for number, count in enumerate(counts)]
    groups = group_queries(videos, size)
    for video, count in zip(videos, counts, strict=True):
        sizes = sorted(len(chosen) for example, chosen in groups if example is video)
        whole = size or count
        assert sizes == sorted([whole] * (count // whole) + [count % whole] * (count % whole > 0))


def test_groups_are_drawn_by_the_generator() -> None:
    videos = [_video(number, 6) for number in range(3)]
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append([(example.name, *chosen) for example, chosen in group_queries(videos, 2)])
    assert drawn[0] == drawn[1] != drawn[2]
    assert [group[0] for group in drawn[0]] != sorted(group[0] for group in drawn[0])


def test_for_validation_each_query_stands_alone_in_order() -> None:
    groups = split_queries([_video(0, 2), _video(1, 1)])
    assert [(example.name, *chosen) for example, chosen in groups] == [
        ("film_0", 0),
        ("film_0", 1),
        ("film_1", 0),
    ]


def test_groups_hold_their_queries_and_windows() -> None:
    one, two = _video(1, 3), _video(2, 2, n_windows=2)
    batch = collate_groups([(one, [2]), (two, [1, 0])], CPU)
    np.testing.assert_array_equal(batch.video, np.stack([one.video, two.video]))
    np.testing.assert_array_equal(batch.queries[0, 0], one.queries[2])
    np.testing.assert_array_equal(batch.queries[1], two.queries[[1, 0]])
    np.testing.assert_array_equal(batch.gt_windows[1], two.windows[[1, 0]])
    np.testing.assert_array_equal(batch.gt_windows[0, 0, 0], one.windows[2])
    assert {part.dtype for part in (batch.video, batch.queries, batch.gt_windows)} == {torch.float32}


def test_groups_are_padded_with_zeros_and_say_so() -> None:
    batch = collate_groups([(_video(1, 3), [2]), (_video(2, 2, n_windows=2), [1, 0])], CPU)
    assert batch.is_query.tolist() == [[True, False], [True, True]]
    for padding in (batch.queries[0, 1], batch.gt_windows[0, 0, 1], batch.gt_windows[0, 1]):
        assert not padding.any()


def test_pairs_are_padded_with_zeros_and_say_so() -> None:
    batch = collate_pairs([_pair(1, 4, 2, 0), _pair(2, 3, 5, 2)], CPU)
    assert (batch.inputs.video.shape, batch.inputs.words.shape) == ((2, 4, 3), (2, 5, 2))
    assert batch.inputs.is_clip.sum(1).tolist() == [4, 3]
    assert batch.inputs.is_word.sum(1).tolist() == [2, 5]
    assert batch.saliency.tolist() == [[1, 1, 1, 1], [2, 2, 2, 0]]
    assert not batch.inputs.video[1, 3:].any()


def test_pair_without_windows_has_none_beside_pairs_with_some() -> None:
    batch = collate_pairs([_pair(1, 4, 2, 0), _pair(2, 3, 5, 2)], CPU)
    assert batch.is_window.tolist() == [[False, False], [True, True]]
    assert not batch.gt_windows[0].any()


def test_pairs_that_all_lack_windows_make_a_batch() -> None:
    nowhere = collate_pairs([_pair(1, 4, 2, 0), _pair(2, 3, 5, 0)], CPU)
    assert (nowhere.gt_windows.shape, nowhere.is_window.shape) == ((2, 0, 2), (2, 0))


NEGATIVE = Pair(np.full((6, 3), 70, np.float32), np.full((1, 2), 80, np.float32))


def test_negative_pair_is_the_examples_own_or_the_next_words_beside_its_video() -> None:
    batch = collate_pairs([_pair(1, 4, 2, 1), _pair(2, 3, 5, 1, NEGATIVE), _pair(3, 2, 4, 1)], CPU)
    assert batch.negative.video[:, 0, 0].tolist() == [1, 70, 3]
    assert batch.negative.words[:, 0, 0].tolist() == [2, 80, 1]
    assert batch.negative.is_clip.sum(1).tolist() == [4, 6, 2]
    assert batch.negative.is_word.sum(1).tolist() == [5, 1, 2]
    assert batch.has_negative.all()


def test_example_alone_has_no_negative_pair_but_its_own() -> None:
    assert not collate_pairs([_pair(1, 4, 2, 1)], CPU).has_negative.any()
    assert collate_pairs([_pair(1, 4, 2, 1, NEGATIVE)], CPU).has_negative.all()


def test_each_item_is_in_one_batch_in_order() -> None:
    examples = [_pair(number, 2, 1, 1) for number in range(7)]
    makers = batches(examples, 3, collate_pairs, CPU)
    assert list(makers) == ["batch 1", "batch 2", "batch 3"]
    assert [make().saliency[:, 0].tolist() for make in makers.values()] == [[0, 1, 2], [3, 4, 5], [6]]
