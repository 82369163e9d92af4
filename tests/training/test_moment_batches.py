"""Batches of moment examples: every query once, in groups of the size asked for, padded and marked."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.datasets.examples import MomentExample
from vidsum.errors import UsageError
from vidsum.training.moment_batches import Batches, Group, collate, grouped, one_by_one

CPU = torch.device("cpu")


def _example(name: str, n_queries: int, n_windows: int = 1) -> MomentExample:
    draw = np.random.default_rng(n_queries)
    windows = np.sort(draw.random((n_queries, n_windows, 2), np.float32))
    video, queries = draw.random((4, 3), np.float32), draw.random((n_queries, 5), np.float32)
    return MomentExample(name, video, queries, windows if n_windows > 1 else windows[:, 0])


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=6), together=st.none() | st.integers(1, 5))
def test_every_query_is_in_one_group(counts: list[int], together: int | None) -> None:
    groups = grouped(counts, together)
    asked = sorted((group.example, query) for group in groups for query in group.queries)
    assert asked == [(number, query) for number, count in enumerate(counts) for query in range(count)]
    sizes = {
        number: [len(one.queries) for one in groups if one.example == number] for number in range(len(counts))
    }
    for number, count in enumerate(counts):
        size = together or count
        assert sorted(sizes[number]) == sorted([size] * (count // size) + [count % size] * (count % size > 0))


def test_groups_are_drawn_by_the_generator() -> None:
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(grouped([6, 6, 6], 2))
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert [group.example for group in drawn[0]] != sorted(group.example for group in drawn[0])


def test_to_judge_each_query_stands_alone_in_order() -> None:
    groups = one_by_one([_example("a", 2), _example("b", 1)])
    assert groups == [Group(0, (0,)), Group(0, (1,)), Group(1, (0,))]


def test_a_batch_is_padded_and_says_so() -> None:
    one, two = _example("one", 3), _example("two", 2, n_windows=2)
    batch = collate([(one, [2]), (two, [1, 0])], CPU)
    assert batch.is_query.tolist() == [[True, False], [True, True]]
    np.testing.assert_array_equal(batch.video, np.stack([one.video, two.video]))
    np.testing.assert_array_equal(batch.queries[0, 0], one.queries[2])
    np.testing.assert_array_equal(batch.queries[1], two.queries[[1, 0]])
    np.testing.assert_array_equal(batch.windows[1], two.windows[[1, 0]])
    np.testing.assert_array_equal(batch.windows[0, 0, 0], one.windows[2])
    assert not batch.queries[0, 1].any()
    assert not batch.windows[0, 0, 1].any()
    assert not batch.windows[0, 1].any()
    assert {part.dtype for part in (batch.video, batch.queries, batch.windows)} == {torch.float32}


def test_batches_have_the_size_asked_for_and_keep_the_order() -> None:
    examples = [_example(str(number), 1) for number in range(5)]
    batches = Batches(examples, one_by_one(examples), 2, CPU)
    assert list(batches) == ["batch 1", "batch 2", "batch 3"]
    assert [len(batch.video) for batch in batches.values()] == [2, 2, 1]
    joined = torch.cat([batch.queries[:, 0] for batch in batches.values()])
    np.testing.assert_array_equal(joined, np.concatenate([example.queries for example in examples]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"video": np.zeros(4, np.float32)},
        {"video": np.zeros((0, 3), np.float32)},
        {"queries": np.zeros((0, 5), np.float32), "windows": np.zeros((0, 2), np.float32)},
        {"windows": np.zeros((3, 2), np.float32)},
        {"windows": np.zeros((2, 3), np.float32)},
        {"windows": np.zeros(2, np.float32)},
    ],
)
def test_examples_of_wrong_shape_are_refused(wrong: dict[str, np.ndarray]) -> None:
    good = {
        "video": np.zeros((4, 3), np.float32),
        "queries": np.zeros((2, 5), np.float32),
        "windows": np.zeros((2, 2), np.float32),
    }
    with pytest.raises(UsageError, match="film:"):
        MomentExample("film", **{**good, **wrong})
