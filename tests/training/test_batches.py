"""Batches of the DETR models: padding, and what stands beside each example for a false pair."""

import numpy as np
import torch

from vidsum.datasets.highlight_examples import HighlightExample, Pair
from vidsum.training.batches import collate, in_order, shuffled

CPU = torch.device("cpu")


def _example(
    number: int, clips: int, words: int, windows: int, against: Pair | None = None
) -> HighlightExample:
    return HighlightExample(
        f"film_{number}",
        np.full((clips, 3), number, np.float32),
        np.full((words, 2), number, np.float32),
        np.full((windows, 2), 0.5, np.float32),
        np.full(clips, number, np.float32),
        against,
    )


def test_padding_is_told_from_what_there_is() -> None:
    batch = collate([_example(1, 4, 2, 0), _example(2, 3, 5, 2)], CPU)
    assert (batch.inputs.video.shape, batch.inputs.words.shape) == ((2, 4, 3), (2, 5, 2))
    assert batch.inputs.is_clip.sum(1).tolist() == [4, 3]
    assert batch.inputs.is_word.sum(1).tolist() == [2, 5]
    assert batch.is_window.tolist() == [[False, False], [True, True]]
    assert not batch.windows[0].any()
    assert batch.saliency.tolist() == [[1, 1, 1, 1], [2, 2, 2, 0]]
    assert not batch.inputs.video[1, 3:].any()


def test_no_example_has_a_window() -> None:
    batch = collate([_example(1, 4, 2, 0), _example(2, 3, 5, 0)], CPU)
    assert (batch.windows.shape, batch.is_window.shape) == ((2, 0, 2), (2, 0))


def test_a_false_pair_is_the_examples_own_or_the_next_words_beside_its_video() -> None:
    own = Pair(np.full((6, 3), 70, np.float32), np.full((1, 2), 80, np.float32))
    batch = collate([_example(1, 4, 2, 1), _example(2, 3, 5, 1, own), _example(3, 2, 4, 1)], CPU)
    assert batch.against.video[:, 0, 0].tolist() == [1, 70, 3]
    assert batch.against.words[:, 0, 0].tolist() == [2, 80, 1]
    assert batch.against.is_clip.sum(1).tolist() == [4, 6, 2]
    assert batch.against.is_word.sum(1).tolist() == [5, 1, 2]
    assert batch.has_against.all()


def test_an_example_alone_has_no_false_pair_but_its_own() -> None:
    own = Pair(np.ones((6, 3), np.float32), np.ones((1, 2), np.float32))
    assert not collate([_example(1, 4, 2, 1)], CPU).has_against.any()
    assert collate([_example(1, 4, 2, 1, own)], CPU).has_against.all()


def test_every_example_is_in_one_batch() -> None:
    examples = [_example(number, 2, 1, 1) for number in range(7)]
    names = [batch.saliency[:, 0].tolist() for batch in in_order(examples, 3, CPU).values()]
    assert names == [[0, 1, 2], [3, 4, 5], [6]]
    orders = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        drawn = shuffled(examples, 3, CPU)
        assert list(drawn) == ["batch 1", "batch 2", "batch 3"]
        orders.append([one for batch in drawn.values() for one in batch.saliency[:, 0].tolist()])
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == list(range(7))
