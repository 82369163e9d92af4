"""Published layouts of features: each is read, and what is wrong is named."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from vidsum.errors import InputError
from vidsum.grounding.windows import resample
from vidsum.lab.datasets.published_features import (
    check_features,
    read_clips,
    read_moment_features,
    read_words,
)

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
    path.mkdir()
    file_name = path / f"{name}.{layout[:3].strip()}"
    if layout == "npz":
        np.savez(file_name, **{key or "features": rows})
    elif layout == "npy":
        np.save(file_name, rows)
    else:
        tensor = torch.from_numpy(rows)
        torch.save({"features": tensor} if layout == "pt named" else tensor, file_name)
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_rows_of_length_one(tmp_path: Path, layout: str) -> None:
    source = write(tmp_path, layout, ROWS)
    np.testing.assert_allclose(read_moment_features([source], "v_a"), UNIT, rtol=1e-6)
    check_features([source], ["v_a"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_video_that_is_not_there_is_named(tmp_path: Path, layout: str) -> None:
    source = write(tmp_path, layout, ROWS)
    with pytest.raises(InputError, match=f"{source.name}.*v_b"):
        read_moment_features([source], "v_b")
    with pytest.raises(InputError, match="has no features of 2 of 3 videos, such as v_b"):
        check_features([source], ["v_a", "v_b", "v_c"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nan_is_refused_with_its_place(tmp_path: Path, layout: str) -> None:
    source = write(tmp_path, layout, np.where(ROWS == 4, np.nan, ROWS).astype(np.float32))
    with pytest.raises(InputError, match=rf"{source.name}.*v_a.*: holds NaN"):
        read_moment_features([source], "v_a")


@pytest.mark.parametrize("shape", [(6,), (0, 4), (2, 2, 3), ()])
@pytest.mark.parametrize("layout", ["h5 of datasets", "npy", "pt"])
def test_arrays_of_another_shape_are_refused(tmp_path: Path, layout: str, shape: tuple[int, ...]) -> None:
    source = write(tmp_path, layout, np.ones(shape, np.float32))
    with pytest.raises(InputError, match=r"v_a.*features must be \[N, D\]"):
        read_moment_features([source], "v_a")


def test_empty_axes_dots_in_names_and_clips(tmp_path: Path) -> None:
    source = write(tmp_path, "npy", ROWS[:, None, None, :], name="s17-d69.avi")
    check_features([source], ["s17-d69.avi"])
    rows = read_moment_features([source], "s17-d69.avi")
    np.testing.assert_allclose(rows, UNIT, rtol=1e-6)
    np.testing.assert_allclose(read_clips([source], "s17-d69.avi", 2), resample(rows, 2))


def test_several_sources_stand_side_by_side_as_long_as_the_shortest(tmp_path: Path) -> None:
    sources = [
        write(tmp_path, "npz", ROWS),
        write(tmp_path, "npy", np.array([[0.0, 0, 5], [2, 0, 0]], np.float32)),
    ]
    expected = [[0.6, 0.8, 0, 0, 1], [0, 0, 1, 0, 0]]
    np.testing.assert_allclose(read_moment_features(sources, "v_a"), expected, rtol=1e-6)


@pytest.mark.parametrize(("longer", "is_read"), [(1, True), (2, True), (3, False), (10, False)])
def test_sources_of_different_rates_are_refused_with_their_lengths(
    tmp_path: Path, longer: int, is_read: bool
) -> None:
    sources = [write(tmp_path, "npz", np.ones((10, 2))), write(tmp_path, "npy", np.ones((10 + longer, 3)))]
    for order in (sources, sources[::-1]):
        if is_read:
            assert read_moment_features(order, "v_a").shape == (10, 5)
            continue
        with pytest.raises(InputError, match="v_a: features have different rates") as caught:
            read_moment_features(order, "v_a")
        for source, length in zip(sources, (10, 10 + longer), strict=True):
            assert f"{source} {length}" in caught.value.message
        assert "features of the same rate" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["v_a.npz", "v_a.npy", "v_a.pt"])
def test_damaged_files_are_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no such thing")
    with pytest.raises(InputError, match=name):
        read_moment_features([tmp_path], "v_a")


def test_files_without_features_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"v_a\.npz: has no array named features"):
        read_moment_features([write(tmp_path, "npz", ROWS, key="other")], "v_a")
    with pytest.raises(InputError, match=r"v_a: has no dataset c3d_features or features"):
        read_moment_features([write(tmp_path, "h5 of groups", ROWS, key="other")], "v_a")
    torch.save({"other": torch.ones(2, 2)}, tmp_path / "v_a.pt")
    with pytest.raises(InputError, match=r"v_a\.pt: holds no tensor"):
        read_moment_features([tmp_path], "v_a")


def test_no_code_in_a_file_is_run(tmp_path: Path) -> None:
    torch.save({"features": Path("x")}, tmp_path / "v_a.pt")
    with pytest.raises(InputError, match=r"v_a\.pt: holds more than tensors"):
        read_moment_features([tmp_path], "v_a")
    np.save(tmp_path / "v_b.npy", np.array([Path("x")], object), allow_pickle=True)
    with pytest.raises(InputError, match=r"v_b\.npy"):
        read_moment_features([tmp_path], "v_b")


def test_a_source_that_is_nothing_is_named(tmp_path: Path) -> None:
    for act in (
        lambda path: read_moment_features([path], "v_a"),
        lambda path: check_features([path], ["v_a"]),
    ):
        with pytest.raises(InputError, match="nowhere: no such file or folder"):
            act(tmp_path / "nowhere")
    (tmp_path / "text.hdf5").write_text("text")
    with pytest.raises(InputError, match=r"text\.hdf5"):
        check_features([tmp_path / "text.hdf5"], ["v_a"])


def test_words_of_a_query_are_rows_of_length_1(tmp_path: Path) -> None:
    np.savez(tmp_path / "qid12.npz", last_hidden_state=ROWS.astype(np.float16), pooler_output=ROWS[0])
    np.testing.assert_allclose(read_words(tmp_path, "12"), UNIT, atol=1e-3)
    np.savez(tmp_path / "qid13.npz", pooler_output=ROWS[0])
    for qid, fault in (
        ("13", "has no array named last_hidden_state"),
        ("14", r"no words of query 14 \(qid14"),
    ):
        with pytest.raises(InputError, match=fault):
            read_words(tmp_path, qid)
    np.savez(tmp_path / "qid15.npz", last_hidden_state=np.full((2, 3), np.nan))
    (tmp_path / "qid16.npz").write_bytes(b"no archive")
    for qid, fault in (("15", "holds NaN"), ("16", "qid16.npz")):
        with pytest.raises(InputError, match=fault):
            read_words(tmp_path, qid)
