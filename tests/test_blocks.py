"""Whatever is computed in blocks gives the same in blocks of any size, on both sides of the real one.

Modules whose own tests already cross their constant (local-global attention, presence, the map) are not here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.conftest import deep
from tests.grounding.test_windows import features as clips_at
from vidsum.description import writers
from vidsum.features.settings import Extraction
from vidsum.grounding import windows
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.models.scaling import unit_rows
from vidsum.pipelines import ground
from vidsum.pipelines.queries import parse_queries

RNG = np.random.default_rng(0)
ROWS = RNG.random((1300, 8), np.float32)
TEXTS = unit_rows(RNG.standard_normal((90, 8)).astype(np.float32))
VIDEO = ClipEmbeddings(unit_rows(ROWS[:12]), np.arange(12.0), 1.0, 12.0)


def on_grid(count: int) -> Any:
    clips = clips_at(np.arange(0, count, 0.7), 1.5, float(count))
    return windows.to_grid(clips.array, clips, windows.grid(float(count), 1.0), 1.0)


def curves(count: int) -> Any:
    texts = parse_queries([f"query {number}" for number in range(count)])
    search = ground.MomentSearch(texts, Retrieval(), Extraction(), "similarity", "own", lambda _: ROWS)
    return np.stack([answer.saliency for answer in search.answers(VIDEO, unit_rows(ROWS[:count]))])


def retrieved(count: int) -> Any:
    rows = unit_rows(ROWS[:count])
    bank = writers.Bank(tuple(map(str, range(90))), TEXTS)
    return [sentence.text for sentence in writers.retrieve(rows, bank)]


@pytest.mark.parametrize(
    ("module", "name", "size", "compute"),
    [
        (windows, "_BLOCK", 512, on_grid),
        deep(ground, "_QUERIES_AT_ONCE", 64, curves),
        (writers, "_SEGMENTS_PER_BATCH", 64, retrieved),
    ],
    ids=["windows", "queries", "sentences"],
)
def test_results_in_blocks_of_any_size_are_the_same(
    module: Any, name: str, size: int, compute: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(module, name) == size, "the counts below are on both sides of it"
    for count in (size - 1, size, size + 1, 2 * size + 1 if size < 600 else size + 200):
        monkeypatch.setattr(module, name, size)
        result = compute(count)
        for other in (7, 10 * size):
            monkeypatch.setattr(module, name, other)
            expected = compute(count)
            if isinstance(expected, list):
                assert result == expected
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
