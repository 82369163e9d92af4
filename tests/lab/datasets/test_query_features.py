"""Features of queries in the layouts of MRNet's public code, made at random, and faults of such files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vidsum.errors import InputError
from vidsum.lab.datasets.moments import Query
from vidsum.lab.datasets.published_features import read_queries


def query(number: int, **names: Any) -> Query:
    """A query that names its file by `audio` or `qid`."""
    facts = {"qid": "", "audio": f"v_val_2_{number}.wav", **names}
    return Query(text=f"sentence {number}", video="v_a", duration_s=20.0, windows=((0.0, 4.0),), **facts)


def pooled(hidden: torch.Tensor) -> torch.Tensor:
    """The last steps of the authors' `audio_encode.py` and `text_encode.py`, on [1, L, D]: [1, D]."""
    normed = torch.nn.LayerNorm(hidden.shape[-1], eps=1e-5)(hidden)
    mean = torch.nn.AdaptiveAvgPool1d(output_size=1)(normed.transpose(1, 2))
    return mean.transpose(1, 2).squeeze(0).detach()


@pytest.mark.parametrize("dim", [768, 300], ids=["distilbert, data2vec", "glove"])
def test_vectors_of_the_public_code_are_read_as_they_are(tmp_path: Path, dim: int) -> None:
    generator = torch.Generator().manual_seed(0)
    vectors = [pooled(torch.randn(1, length, dim, generator=generator)) for length in (5, 211, 1)]
    for number, vector in enumerate(vectors, 1):
        torch.save(vector, tmp_path / f"v_val_2_{number}.pt")
    read = read_queries(tmp_path, [query(3), query(1), query(2)])
    assert (read.dtype, read.shape) == (np.float32, (3, dim))
    for row, vector in zip(read, (vectors[2], vectors[0], vectors[1]), strict=True):
        np.testing.assert_array_equal(row, vector[0].numpy())


def test_tokens_and_frames_are_averaged_as_in_the_public_code(tmp_path: Path) -> None:
    hidden = 3 * torch.randn(1, 17, 768, generator=torch.Generator().manual_seed(1)) + 1
    expected = pooled(hidden)[0].numpy()
    rows = hidden[0].numpy()
    torch.save(hidden, tmp_path / "v_val_2_1.pt")  # with the axis of the batch
    torch.save({"features": hidden[0].half()}, tmp_path / "v_val_2_2.pt")
    np.save(tmp_path / "v_val_2_3.npy", rows)
    np.savez(tmp_path / "v_val_2_4.npz", features=rows)
    np.savez(tmp_path / "qid5.npz", last_hidden_state=rows)
    read = read_queries(tmp_path, [*map(query, range(1, 5)), query(5, audio="", qid="5")])
    for row in read:
        np.testing.assert_allclose(row, expected, atol=2e-3)
    np.testing.assert_allclose(read[2], expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 6)])
def test_a_vector_may_have_other_axes_of_one(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "v_val_2_1.npy", np.arange(6.0).reshape(shape))
    np.testing.assert_array_equal(read_queries(tmp_path, [query(1)]), [np.arange(6)])


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.array(3.0), "not \\[\\] float64"),
        (np.zeros((0, 4)), "not \\[0, 4\\]"),
        (np.zeros((2, 3, 4)), "not \\[2, 3, 4\\]"),
        (np.array(["a"]), "must be \\[D\\] or \\[L, D\\] numbers"),
        (np.array([1.0, np.nan]), "NaN"),
    ],
)
def test_other_arrays_are_refused_by_name(tmp_path: Path, array: np.ndarray, reason: str) -> None:
    np.save(tmp_path / "v_val_2_1.npy", array)
    with pytest.raises(InputError, match=f"v_val_2_1.npy.*{reason}"):
        read_queries(tmp_path, [query(1)])


def test_queries_without_a_file_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "v_val_2_1.npy", np.zeros(4))
    np.save(tmp_path / "v_val_2_4.npy", np.zeros(5))
    with pytest.raises(InputError, match="no features of 2 of 3 queries, such as v_val_2_2"):
        read_queries(tmp_path, [query(1), query(2), query(3)])
    with pytest.raises(InputError, match="v_val_2_4 has 5 numbers, v_val_2_1 4"):
        read_queries(tmp_path, [query(1), query(4)])
    with pytest.raises(InputError, match="no file name for the query sentence 1 of v_a") as caught:
        read_queries(tmp_path, [query(1, audio="")])
    assert "audios" in str(caught.value.hint)
    with pytest.raises(InputError, match="not a folder"):
        read_queries(tmp_path / "v_val_2_1.npy", [query(1)])
    torch.save({"other": torch.zeros(4)}, tmp_path / "v_val_2_5.pt")
    with pytest.raises(InputError, match=r"v_val_2_5\.pt: holds no tensor, alone or named features or last"):
        read_queries(tmp_path, [query(5)])
