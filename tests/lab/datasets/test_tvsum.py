"""TVSum's own annotations: a simulated MATLAB 7.3 file, its faults, and the real one."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.lab.datasets.made import write_fields
from vidsum.errors import InputError
from vidsum.lab.datasets.labels import read_tvsum_mat

FRAMES = (40, 31)


def text(content: str) -> np.ndarray:
    return np.frombuffer(content.encode("utf-16-le"), "<u2").reshape(-1, 1)


def cells(number: int) -> dict[str, Any]:
    """One row of the table; MATLAB's arrays stand transposed in the file."""
    scores = np.random.default_rng(number).integers(1, 6, (3, FRAMES[number])).astype(float)
    return {
        "video": text(f"id_{number}"),
        "title": text("Ein Käse 🧀"),
        "category": text("VT"),
        "length": np.array([[FRAMES[number] / 25]]),
        "nframes": np.array([[float(FRAMES[number])]]),
        "user_anno": scores,
        "gt_score": scores.mean(axis=0, keepdims=True),
    }


@pytest.fixture
def mat(tmp_path: Path) -> Path:
    return write_fields(tmp_path / "ydata.mat", [cells(0), cells(1)])


def test_each_cell_is_followed_to_its_array(mat: Path) -> None:
    annotations = read_tvsum_mat(mat)
    assert list(annotations) == ["tvsum/video_1", "tvsum/video_2"]
    second = annotations["tvsum/video_2"]
    assert (second.file_name, second.title, second.category) == ("id_1", "Ein Käse 🧀", "VT")
    assert (second.length_s, second.n_frames) == (31 / 25, 31)
    np.testing.assert_array_equal(second.user_scores, cells(1)["user_anno"])


@pytest.mark.parametrize("field", ["video", "title", "category", "length", "nframes", "user_anno"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    row = cells(0)
    del row[field]
    with pytest.raises(InputError, match=rf"y\.mat: tvsum50: {field} is missing"):
        read_tvsum_mat(write_fields(tmp_path / "y.mat", [row]))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("nframes", np.array([[41.0]]), "nframes is 41"),
        ("user_anno", np.ones((3, 39)), r"user_anno is \[3, 39\]"),
        ("user_anno", np.full((3, 40), np.nan), "NaN"),
        ("length", np.ones((2, 1)), "not a MATLAB 7.3 file of TVSum"),
    ],
)
def test_wrong_cells_are_refused(tmp_path: Path, field: str, value: np.ndarray, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_tvsum_mat(write_fields(tmp_path / "y.mat", [{**cells(0), field: value}]))


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "y.mat"
    with pytest.raises(InputError, match="no such file"):
        read_tvsum_mat(path)
    path.write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    with pytest.raises(InputError, match=r"y\.mat: not a MATLAB 7\.3 file"):
        read_tvsum_mat(path)
    with h5py.File(path, "w") as file:
        file["other"] = 1
    with pytest.raises(InputError, match="tvsum50 is missing"):
        read_tvsum_mat(path)


@pytest.mark.shared
def test_the_real_annotations(shared: Path) -> None:
    """50 videos of ten categories, 20 annotators each."""
    annotations = read_tvsum_mat(shared / "data" / "tvsum" / "ydata-tvsum50.mat")
    assert list(annotations) == [f"tvsum/video_{number}" for number in range(1, 51)]
    categories = [video.category for video in annotations.values()]
    assert {category: categories.count(category) for category in categories} == dict.fromkeys(
        ["VT", "VU", "GA", "MS", "PK", "PR", "FM", "BK", "BT", "DS"], 5
    )
    for video in annotations.values():
        assert video.user_scores.shape == (20, video.n_frames)
        assert set(np.unique(video.user_scores)) <= {1, 2, 3, 4, 5}
        assert 23.9 < video.n_frames / video.length_s < 30.1
    assert annotations["tvsum/video_1"].file_name == "AwmHb44_ouw"
    assert annotations["tvsum/video_1"].n_frames == 10597
