"""Annotations of SumMe and TVSum: files written here, their faults, and the published ones."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.lab.datasets.made import fields_of, write_fields
from vidsum.errors import InputError
from vidsum.lab.datasets.labels import read_summe_protocol, read_tvsum_mat

N_FRAMES = 100


def arrays(seed: int = 0, title: str = "Base jumping") -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "user_summary": rng.integers(0, 2, (3, N_FRAMES), np.uint8),
        "change_points": np.array([[0, 39], [40, 59], [60, 99]], np.int32),
        "gtscore": rng.random(7, np.float32),
        "name": np.array(title),
    }


def write(path: Path, videos: dict[str, dict[str, Any]]) -> Path:
    members = {f"{video}/{key}": value for video, each in videos.items() for key, value in each.items()}
    np.savez_compressed(path, **members)
    return path


def test_videos_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    stored = {f"video_{n}": arrays(n, f"Title of {n}") for n in (10, 2, 1)}
    videos = read_summe_protocol(write(tmp_path / "p.npz", stored))
    assert list(videos) == ["summe/video_1", "summe/video_2", "summe/video_10"]
    for number, video in zip((1, 2, 10), videos.values(), strict=True):
        expected = stored[f"video_{number}"]
        assert (video.name, video.file_name) == (f"summe/video_{number}", f"Title_of_{number}")
        assert (video.n_frames, video.warnings) == (N_FRAMES, ())
        assert video.picks.tolist() == [0, 15, 30, 45, 60, 75, 90]
        np.testing.assert_array_equal(video.user_summary, expected["user_summary"])
        np.testing.assert_array_equal(video.change_points, expected["change_points"])
        np.testing.assert_array_equal(video.gtscore, expected["gtscore"])


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("user_summary", np.float32(1), r"user_summary must be \[U, n_frames\], not \[\]"),
        ("user_summary", np.full((3, N_FRAMES), 2, np.uint8), "other than 0 and 1"),
        ("user_summary", np.full((3, N_FRAMES), np.nan), "user_summary holds NaN"),
        ("user_summary", np.zeros((3, 0)), "user_summary holds no numbers"),
        ("user_summary", np.zeros((3, 7)), "change_points span"),
        ("change_points", np.array([0, 40, 60]), r"\[S, 2\]"),
        ("change_points", np.array([[0, 45], [40, 99]]), "overlap"),
        ("change_points", np.array([[0, 39], [40, 150]]), "0 to 150, but n_frames is 100"),
        ("change_points", np.array([[0, 39]]), "60 of 100 frames"),
        ("gtscore", np.zeros(6), "gtscore has 6 entries"),
        ("gtscore", np.array(["a"] * 7), "gtscore holds no numbers"),
        ("name", np.array(["a", "b"]), "name is not one text"),
        ("name", np.array(" "), "name is not one text"),
        *((key, None, f"{key} is missing") for key in ("user_summary", "change_points", "gtscore", "name")),
    ],
)
def test_wrong_and_missing_arrays_are_refused(tmp_path: Path, key: str, value: Any, reason: str) -> None:
    video = {name: array for name, array in {**arrays(), key: value}.items() if array is not None}
    path = write(tmp_path / "p.npz", {"video_1": arrays(), "video_7": video})
    with pytest.raises(InputError, match=rf"p\.npz: video_7: .*{reason}"):
        read_summe_protocol(path)


def test_a_last_shot_that_is_a_little_too_long_is_cut(tmp_path: Path) -> None:
    """As in the published h5 files."""
    points = np.array([[0, 39], [40, 104]])
    path = write(tmp_path / "p.npz", {"video_1": {**arrays(), "change_points": points}})
    video = read_summe_protocol(path)["summe/video_1"]
    assert video.change_points.tolist() == [[0, 39], [40, 99]]
    assert "cut" in video.warnings[0]


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    with pytest.raises(InputError, match="no such file"):
        read_summe_protocol(path)
    path.write_bytes(b"PK and no more")
    with pytest.raises(InputError, match=r"p\.npz: not a protocol of SumMe"):
        read_summe_protocol(path)
    np.savez(path)
    with pytest.raises(InputError, match="holds no video"):
        read_summe_protocol(path)
    np.savez(path, features=np.zeros((2, 2)))
    with pytest.raises(InputError, match="features is not an array of a video"):
        read_summe_protocol(path)
    np.savez(path, **{f"{'9' * 5000}/gtscore": np.zeros(2)})
    with pytest.raises(InputError, match=r"p\.npz: "):
        read_summe_protocol(path)


@pytest.mark.shared
def test_the_published_protocol(shared: Path) -> None:
    """25 videos of 15 to 18 annotators each, whose shots fill the video."""
    folder = shared / "data" / "summe"
    videos = read_summe_protocol(folder / "summe_protocol.npz")
    assert list(videos) == [f"summe/video_{number}" for number in range(1, 26)]
    numbers = json.loads((folder / "video_names.json").read_text())
    stems = {title.replace(" ", "_"): name for title, name in numbers.items()}
    assert {video.file_name: name.partition("/")[2] for name, video in videos.items()} == stems
    for video in videos.values():
        assert 15 <= len(video.user_summary) <= 18
        assert (video.change_points[1:, 0] == video.change_points[:-1, 1] + 1).all()
        assert video.change_points[0, 0] == 0
        assert video.change_points[-1, 1] == video.n_frames - 1
        assert len(video.gtscore) == len(video.picks)
        assert video.warnings == ()
        chosen = video.user_summary.mean(axis=0)[video.picks]
        np.testing.assert_allclose(video.gtscore, chosen, atol=1e-6)


# --- TVSum's MATLAB 7.3 file ---


def cells(number: int) -> dict[str, Any]:
    """One row of the table, of 40 or 31 frames."""
    scores = np.random.default_rng(number).integers(1, 6, (3, (40, 31)[number]))
    return fields_of(f"Käse 🧀 {number}", scores, 25)


@pytest.fixture
def mat(tmp_path: Path) -> Path:
    return write_fields(tmp_path / "ydata.mat", [cells(0), cells(1)])


def test_each_cell_is_followed_to_its_array(mat: Path) -> None:
    annotations = read_tvsum_mat(mat)
    assert list(annotations) == ["tvsum/video_1", "tvsum/video_2"]
    second = annotations["tvsum/video_2"]
    assert second.file_name == "Käse 🧀 1"
    assert (second.length_s, second.n_frames) == (31 / 25, 31)
    np.testing.assert_array_equal(second.user_scores, cells(1)["user_anno"])


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("nframes", np.array([[41.0]]), "nframes is 41"),
        ("user_anno", np.ones((3, 39)), r"user_anno is \[3, 39\]"),
        ("user_anno", np.full((3, 40), np.nan), "NaN"),
        ("length", np.ones((2, 1)), "not a MATLAB 7.3 file of TVSum"),
        *((field, None, f"tvsum50: {field} is missing") for field in cells(0) if field != "gt_score"),
    ],
)
def test_wrong_and_missing_cells_are_refused(
    tmp_path: Path, field: str, value: np.ndarray | None, reason: str
) -> None:
    row = {name: cell for name, cell in {**cells(0), field: value}.items() if cell is not None}
    with pytest.raises(InputError, match=reason):
        read_tvsum_mat(write_fields(tmp_path / "y.mat", [row]))


def test_files_that_are_not_of_tvsum_are_refused(tmp_path: Path) -> None:
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
    """50 videos, 20 annotators each."""
    annotations = read_tvsum_mat(shared / "data" / "tvsum" / "ydata-tvsum50.mat")
    assert list(annotations) == [f"tvsum/video_{number}" for number in range(1, 51)]
    for video in annotations.values():
        assert video.user_scores.shape == (20, video.n_frames)
        assert set(np.unique(video.user_scores)) <= {1, 2, 3, 4, 5}
        assert 23.9 < video.n_frames / video.length_s < 30.1
    assert annotations["tvsum/video_1"].file_name == "AwmHb44_ouw"
    assert annotations["tvsum/video_1"].n_frames == 10597
