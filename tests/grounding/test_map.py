"""The rows of the map that features hold: those of the map that is here, or none."""

from dataclasses import replace

import numpy as np
import pytest

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.grounding.vse import EXTRACTOR, NAME, RECORDED, mapped_rows
from vidsum.results.features import Features

FEATURES = Features.from_array(np.ones((3, 4)), extractor=EXTRACTOR)
EMBEDDINGS = np.ones((3, 2), np.float32)


def test_embeddings_by_the_map_that_is_here_are_read() -> None:
    parameters = {RECORDED: checkpoints.sha256_of(NAME)}
    made = replace(FEATURES, embeddings=EMBEDDINGS, provenance={"parameters": parameters})
    assert mapped_rows(made) is EMBEDDINGS
    assert mapped_rows(replace(made, provenance={})) is EMBEDDINGS  # made elsewhere


def test_features_without_embeddings_or_by_another_map_are_refused() -> None:
    other = replace(FEATURES, embeddings=EMBEDDINGS, provenance={"parameters": {RECORDED: "0" * 64}})
    for made in (FEATURES, other):
        with pytest.raises(UsageError, match="without the map vse, or with another one") as refused:
            mapped_rows(made)
        assert refused.value.hint == f"extract them again, with --extractor {EXTRACTOR}"
