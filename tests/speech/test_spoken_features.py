"""Features of spoken queries by Whisper's encoder: written as `--query-features` reads them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from docs.benchmarks import spoken_features
from docs.benchmarks.voices import write_wav
from tests.conftest import real_weights
from vidsum.lab.datasets.moments import Query
from vidsum.lab.datasets.published_features import read_queries


@pytest.mark.weights
def test_recordings_become_files_that_mrnet_reads(
    sentence: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_weights("whisper_base")
    recordings, out = tmp_path / "wav", tmp_path / "whisper"
    recordings.mkdir()
    write_wav(sentence, recordings / "v_val_2_1.wav")
    write_wav(sentence[::-1], recordings / "v_val_2_2.wav")
    monkeypatch.setattr(sys, "argv", ["spoken_features", str(recordings), str(out)])
    spoken_features.main()
    queries = [Query("", "a", "v", 9.0, ((0.0, 1.0),), audio=f"v_val_2_{number}.wav") for number in (1, 2)]
    first, second = read_queries(out, queries)
    assert first.shape == (512,)
    # 16 bits in between, and sums of int8 that depend on the processor: at most 0.07, of 0.9 to the other one
    np.testing.assert_allclose(first, spoken_features.vector_of(sentence), atol=0.2)
    assert np.abs(first - second).max() > 0.5
    assert abs(first.mean()) < 1e-4  # as each frame, which LayerNorm centres
