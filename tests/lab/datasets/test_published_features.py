"""Published layouts of features: each is read, and what is wrong is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from vidsum.errors import InputError
from vidsum.lab.datasets.published_features import open_features, read_queries, read_words
from vidsum.lab.datasets.timed_sentences import Query

ROWS = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]], np.float32)
UNIT = [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]


LAYOUTS = ("h5 of groups", "h5 of datasets", "npz", "npy", "pt", "pt named")
"""sub_activitynet_v1-3.c3d.hdf5, tall_c3d_features.hdf5, slowfast_features, Charades I3D, two of tensors."""


def write(folder: Path, layout: str, rows: np.ndarray, name: str = "v_a", key: str | None = None) -> Path:
    """Write a video's features in one of the layouts; return the file of all videos, or their folder."""
    path = folder / layout.replace(" ", "_")
    if layout.startswith("h5"):
        path = path.with_suffix(".hdf5")
        with h5py.File(path, "w") as file:
            file[f"{name}/{key or 'c3d_features'}" if layout == "h5 of groups" else name] = rows
        return path
    path.mkdir(exist_ok=True)
    file_name = path / f"{name}.{layout[:3].strip()}"
    if layout == "npz":
        np.savez(file_name, **{key or "features": rows})
    elif layout == "npy":
        np.save(file_name, rows)
    else:
        tensor = torch.from_numpy(rows)
        torch.save({"features": tensor} if layout == "pt named" else tensor, file_name)
    return path


def read(sources: list[Path], video: str = "v_a") -> np.ndarray:
    """[N, D] of several sources side by side"""
    return np.concatenate(open_features(sources, [video])(video), axis=1)


each_layout = pytest.mark.parametrize("layout", LAYOUTS)


@each_layout
def test_rows_of_each_layout_have_length_one(tmp_path: Path, layout: str) -> None:
    np.testing.assert_allclose(read([write(tmp_path, layout, ROWS)]), UNIT, rtol=1e-6)


@each_layout
def test_missing_videos_of_each_layout_are_counted(tmp_path: Path, layout: str) -> None:
    source = write(tmp_path, layout, ROWS)
    fault = f"{source.name}: has no features of 2 of 3 videos, such as v_b"
    with pytest.raises(InputError, match=fault):
        open_features([source], ["v_a", "v_b", "v_c"])


@each_layout
def test_nan_in_each_layout_is_refused(tmp_path: Path, layout: str) -> None:
    source = write(tmp_path, layout, np.where(ROWS == 4, np.nan, ROWS).astype(np.float32))
    with pytest.raises(InputError, match=rf"{source.name}.*v_a.*: holds NaN"):
        read([source])


@pytest.mark.parametrize("shape", [(6,), (0, 4), (2, 2, 3), ()])
@pytest.mark.parametrize("layout", ["h5 of datasets", "npy", "pt"])
def test_arrays_of_another_shape_are_refused(tmp_path: Path, layout: str, shape: tuple[int, ...]) -> None:
    source = write(tmp_path, layout, np.ones(shape, np.float32))
    with pytest.raises(InputError, match=r"v_a.*features must be \[N, D\]"):
        read([source])


def test_empty_axes_and_dots_in_names(tmp_path: Path) -> None:
    source = write(tmp_path, "npy", ROWS[:, None, None, :], name="s17-d69.avi")
    np.testing.assert_allclose(read([source], "s17-d69.avi"), UNIT, rtol=1e-6)


def test_several_sources_stand_side_by_side_as_long_as_the_shortest(tmp_path: Path) -> None:
    other = np.array([[0.0, 0, 5], [2, 0, 0]], np.float32)
    sources = [write(tmp_path, "npz", ROWS), write(tmp_path, "npy", other)]
    np.testing.assert_allclose(read(sources), [[0.6, 0.8, 0, 0, 1], [0, 0, 1, 0, 0]], rtol=1e-6)


def test_videos_of_another_size_are_refused(tmp_path: Path) -> None:
    for name, size in (("v_a", 3), ("v_b", 4)):
        np.save(tmp_path / f"{name}.npy", np.ones((5, size)))
    features = open_features([tmp_path], ["v_a", "v_b"])
    assert features("v_a")[0].shape == (5, 3)
    with pytest.raises(InputError, match="v_b has 4 numbers, v_a 3"):
        features("v_b")


@pytest.fixture(params=[False, True], ids=["longer last", "longer first"])
def sources(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[int], list[Path]]:
    """Two sources, of ten rows and of more."""

    def make(longer: int) -> list[Path]:
        paths = [write(tmp_path, "npz", np.ones((10, 2))), write(tmp_path, "npy", np.ones((10 + longer, 3)))]
        return paths[::-1] if request.param else paths

    return make


@pytest.mark.parametrize("longer", [1, 2])
def test_sources_of_nearly_one_length_are_cut_to_the_shorter(
    sources: Callable[[int], list[Path]], longer: int
) -> None:
    assert read(sources(longer)).shape == (10, 5)


@pytest.mark.parametrize("longer", [3, 10])
def test_sources_of_different_rates_are_refused_with_their_lengths(
    sources: Callable[[int], list[Path]], longer: int
) -> None:
    paths = sources(longer)
    with pytest.raises(InputError, match="v_a: features have different rates") as caught:
        read(paths)
    for path in paths:
        assert f"{path} {10 if path.name == 'npz' else 10 + longer}" in caught.value.message
    assert "features of the same rate" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["v_a.npz", "v_a.npy", "v_a.pt"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no such thing")
    with pytest.raises(InputError, match=name):
        read([tmp_path])


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        ("npz", r"v_a\.npz: has no array named features"),
        ("h5 of groups", r"v_a: has no dataset c3d_features or features"),
    ],
)
def test_file_without_features_is_named(tmp_path: Path, layout: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read([write(tmp_path, layout, ROWS, key="other")])


def test_file_without_a_tensor_of_features_is_named(tmp_path: Path) -> None:
    torch.save({"other": torch.ones(2, 2)}, tmp_path / "v_a.pt")
    with pytest.raises(InputError, match=r"v_a\.pt: holds no tensor"):
        read([tmp_path])


def test_code_in_a_torch_file_is_not_run(tmp_path: Path) -> None:
    torch.save({"features": Path("x")}, tmp_path / "v_a.pt")
    with pytest.raises(InputError, match=r"v_a\.pt: holds more than tensors"):
        read([tmp_path])


def test_code_in_an_npy_is_not_run(tmp_path: Path) -> None:
    np.save(tmp_path / "v_b.npy", np.array([Path("x")], object), allow_pickle=True)
    with pytest.raises(InputError, match=r"v_b\.npy"):
        read([tmp_path], "v_b")


@pytest.mark.parametrize(("name", "fault"), [("nowhere", ": no such file or folder"), ("text.hdf5", "")])
def test_source_that_is_missing_or_no_hdf5_is_named(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / "text.hdf5").write_text("text")
    with pytest.raises(InputError, match=name + fault):
        read([tmp_path / name])


def test_words_of_a_query_are_rows_of_length_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "qid12.npz", last_hidden_state=ROWS.astype(np.float16), pooler_output=ROWS[0])
    np.testing.assert_allclose(read_words(tmp_path, ["12"])[0], UNIT, atol=1e-3)


@pytest.mark.parametrize(
    ("qid", "fault"),
    [
        ("13", "has no array named last_hidden_state"),
        ("14", r"no words of query 14 \(qid14"),
        ("15", "holds NaN"),
        ("16", "qid16.npz"),
    ],
    ids=["no words", "missing", "NaN", "damaged"],
)
def test_bad_words_of_a_query_are_refused(tmp_path: Path, qid: str, fault: str) -> None:
    np.savez(tmp_path / "qid13.npz", pooler_output=ROWS[0])
    np.savez(tmp_path / "qid15.npz", last_hidden_state=np.full((2, 3), np.nan))
    (tmp_path / "qid16.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match=fault):
        read_words(tmp_path, [qid])


def test_words_of_another_size_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "qid12.npz", last_hidden_state=ROWS)
    np.savez(tmp_path / "qid17.npz", last_hidden_state=np.ones((2, 7)))
    with pytest.raises(InputError, match="qid17 has 7 numbers, qid12 2"):
        read_words(tmp_path, ["12", "17"])


# --- features of queries in the layouts of MRNet's public code ---


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
    vectors_read = read_queries(tmp_path, [query(3), query(1), query(2)])
    assert (vectors_read.dtype, vectors_read.shape) == (np.float32, (3, dim))
    for row, vector in zip(vectors_read, (vectors[2], vectors[0], vectors[1]), strict=True):
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
    vectors_read = read_queries(tmp_path, [*map(query, range(1, 5)), query(5, audio="", qid="5")])
    for row in vectors_read:
        np.testing.assert_allclose(row, expected, atol=2e-3)
    np.testing.assert_allclose(vectors_read[2], expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 6)])
def test_vector_of_a_query_may_have_other_axes_of_one(tmp_path: Path, shape: tuple[int, ...]) -> None:
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
def test_other_arrays_of_a_query_are_refused_by_name(tmp_path: Path, array: np.ndarray, reason: str) -> None:
    np.save(tmp_path / "v_val_2_1.npy", array)
    with pytest.raises(InputError, match=f"v_val_2_1.npy.*{reason}"):
        read_queries(tmp_path, [query(1)])


def test_missing_features_of_queries_are_counted(tmp_path: Path) -> None:
    np.save(tmp_path / "v_val_2_1.npy", np.zeros(4))
    with pytest.raises(InputError, match="no features of 2 of 3 queries, such as v_val_2_2"):
        read_queries(tmp_path, [query(1), query(2), query(3)])


def test_vectors_of_another_size_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v_val_2_1.npy", np.zeros(4))
    np.save(tmp_path / "v_val_2_4.npy", np.zeros(5))
    with pytest.raises(InputError, match="v_val_2_4 has 5 numbers, v_val_2_1 4"):
        read_queries(tmp_path, [query(1), query(4)])


def test_query_without_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file name for the query sentence 1 of v_a") as caught:
        read_queries(tmp_path, [query(1, audio="")])
    assert "audios" in str(caught.value.hint)


def test_file_in_place_of_a_folder_of_queries_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v_val_2_1.npy").touch()
    with pytest.raises(InputError, match="not a folder"):
        read_queries(tmp_path / "v_val_2_1.npy", [query(1)])


def test_file_without_a_tensor_of_a_query_is_named(tmp_path: Path) -> None:
    torch.save({"other": torch.zeros(4)}, tmp_path / "v_val_2_5.pt")
    with pytest.raises(InputError, match=r"v_val_2_5\.pt: holds no tensor, alone or named features or last"):
        read_queries(tmp_path, [query(5)])
