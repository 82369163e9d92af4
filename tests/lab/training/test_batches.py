"""Batches: every query once, in groups of the given size, padded and marked; and the negative pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import HighlightExample, MomentExample, Pair
from vidsum.lab.training.detr import collate_pairs
from vidsum.lab.training.moments import Batches
from vidsum.lab.training.mrnet import collate_groups, group_queries, split_queries

CPU = torch.device("cpu")


def _video(number: int, n_queries: int, n_windows: int = 1) -> MomentExample:
    draw = np.random.default_rng(n_queries)
    windows = np.sort(draw.random((n_queries, n_windows, 2), np.float32))
    video, queries = draw.random((4, 3), np.float32), draw.random((n_queries, 5), np.float32)
    return MomentExample(f"film_{number}", video, queries, windows if n_windows > 1 else windows[:, 0])


def _pair(
    number: int, clips: int, words: int, windows: int, negative: Pair | None = None
) -> HighlightExample:
    return HighlightExample(
        f"film_{number}",
        np.full((clips, 3), number, np.float32),
        np.full((words, 2), number, np.float32),
        np.full((windows, 2), 0.5, np.float32),
        np.full(clips, number, np.float32),
        negative,
    )


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=6), size=st.none() | st.integers(1, 5))
def test_every_query_is_in_one_group(counts: list[int], size: int | None) -> None:
    videos = [_video(number, count) for number, count in enumerate(counts)]
    groups = group_queries(videos, size)
    drawn = sorted((example.name, query) for example, chosen in groups for query in chosen)
    assert drawn == [
        (f"film_{number}", query) for number, count in enumerate(counts) for query in range(count)
    ]
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


def test_groups_are_padded_and_say_so() -> None:
    one, two = _video(1, 3), _video(2, 2, n_windows=2)
    batch = collate_groups([(one, [2]), (two, [1, 0])], CPU)
    assert batch.is_query.tolist() == [[True, False], [True, True]]
    np.testing.assert_array_equal(batch.video, np.stack([one.video, two.video]))
    np.testing.assert_array_equal(batch.queries[0, 0], one.queries[2])
    np.testing.assert_array_equal(batch.queries[1], two.queries[[1, 0]])
    np.testing.assert_array_equal(batch.gt_windows[1], two.windows[[1, 0]])
    np.testing.assert_array_equal(batch.gt_windows[0, 0, 0], one.windows[2])
    for padding in (batch.queries[0, 1], batch.gt_windows[0, 0, 1], batch.gt_windows[0, 1]):
        assert not padding.any()
    assert {part.dtype for part in (batch.video, batch.queries, batch.gt_windows)} == {torch.float32}


def test_pairs_are_padded_and_say_so() -> None:
    batch = collate_pairs([_pair(1, 4, 2, 0), _pair(2, 3, 5, 2)], CPU)
    assert (batch.inputs.video.shape, batch.inputs.words.shape) == ((2, 4, 3), (2, 5, 2))
    assert batch.inputs.is_clip.sum(1).tolist() == [4, 3]
    assert batch.inputs.is_word.sum(1).tolist() == [2, 5]
    assert batch.is_window.tolist() == [[False, False], [True, True]]
    assert not batch.gt_windows[0].any()
    assert batch.saliency.tolist() == [[1, 1, 1, 1], [2, 2, 2, 0]]
    assert not batch.inputs.video[1, 3:].any()
    nowhere = collate_pairs([_pair(1, 4, 2, 0), _pair(2, 3, 5, 0)], CPU)
    assert (nowhere.gt_windows.shape, nowhere.is_window.shape) == ((2, 0, 2), (2, 0))


def test_a_negative_pair_is_the_examples_own_or_the_next_words_beside_its_video() -> None:
    own = Pair(np.full((6, 3), 70, np.float32), np.full((1, 2), 80, np.float32))
    batch = collate_pairs([_pair(1, 4, 2, 1), _pair(2, 3, 5, 1, own), _pair(3, 2, 4, 1)], CPU)
    assert batch.negative.video[:, 0, 0].tolist() == [1, 70, 3]
    assert batch.negative.words[:, 0, 0].tolist() == [2, 80, 1]
    assert batch.negative.is_clip.sum(1).tolist() == [4, 6, 2]
    assert batch.negative.is_word.sum(1).tolist() == [5, 1, 2]
    assert batch.has_negative.all()
    assert not collate_pairs([_pair(1, 4, 2, 1)], CPU).has_negative.any()
    assert collate_pairs([_pair(1, 4, 2, 1, own)], CPU).has_negative.all()


def test_every_item_is_in_one_batch_in_order() -> None:
    examples = [_pair(number, 2, 1, 1) for number in range(7)]
    batches = Batches(examples, 3, collate_pairs, CPU)
    assert list(batches) == ["batch 1", "batch 2", "batch 3"]
    assert [batch.saliency[:, 0].tolist() for batch in batches.values()] == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (MomentExample, {"video": (4,)}),
        (MomentExample, {"video": (0, 3)}),
        (MomentExample, {"queries": (0, 5), "windows": (0, 2)}),
        (MomentExample, {"windows": (3, 2)}),
        (MomentExample, {"windows": (2, 3)}),
        (MomentExample, {"windows": (2,)}),
        (HighlightExample, {"video": (4,)}),
        (HighlightExample, {"words": (0, 5)}),
        (HighlightExample, {"windows": (1, 3)}),
        (HighlightExample, {"saliency": (3,)}),
    ],
)
def test_wrong_shapes_are_refused(kind: type, wrong: dict[str, tuple[int, ...]]) -> None:
    shapes: dict[str, tuple[int, ...]] = {"video": (4, 3), "windows": (2, 2)}
    shapes |= {"queries": (2, 5)} if kind is MomentExample else {"words": (2, 5), "saliency": (4,)}
    kind("film", **{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    with pytest.raises(UsageError, match="film:"):
        kind("film", **{name: np.zeros(shape, np.float32) for name, shape in {**shapes, **wrong}.items()})
