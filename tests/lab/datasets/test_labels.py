"""Annotations of SumMe and TVSum: files written here, their faults, and the published ones."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.lab.datasets.made import fields_of, write_fields
from vidsum.errors import InputError
from vidsum.lab.datasets.labels import Labels, read_summe_protocol, read_tvsum_mat

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


@pytest.fixture
def protocol(tmp_path: Path) -> tuple[dict[str, dict[str, Any]], dict[str, Labels]]:
    """The stored arrays of three videos, and the labels that are read from them."""
    stored = {f"video_{n}": arrays(n, f"Title of {n}") for n in (10, 2, 1)}
    return stored, read_summe_protocol(write(tmp_path / "p.npz", stored))


Protocol = tuple[dict[str, dict[str, Any]], dict[str, Labels]]


def test_videos_come_in_the_order_of_their_numbers(protocol: Protocol) -> None:
    _, videos = protocol
    assert list(videos) == ["summe/video_1", "summe/video_2", "summe/video_10"]
    assert [video.file_name for video in videos.values()] == ["Title_of_1", "Title_of_2", "Title_of_10"]


def test_arrays_of_a_protocol_are_read_as_they_are(protocol: Protocol) -> None:
    stored, videos = protocol
    for name, video in videos.items():
        expected = stored[name.partition("/")[2]]
        np.testing.assert_array_equal(video.user_summary, expected["user_summary"])
        np.testing.assert_array_equal(video.change_points, expected["change_points"])
        np.testing.assert_array_equal(video.gtscore, expected["gtscore"])
        assert (video.name, video.n_frames, video.warnings) == (name, N_FRAMES, ())


def test_picks_of_a_protocol_are_every_15th_frame(protocol: Protocol) -> None:
    _, videos = protocol
    assert videos["summe/video_1"].picks.tolist() == [0, 15, 30, 45, 60, 75, 90]


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
def test_wrong_or_missing_array_of_a_protocol_is_refused(
    tmp_path: Path, key: str, value: Any, reason: str
) -> None:
    video = {name: array for name, array in {**arrays(), key: value}.items() if array is not None}
    path = write(tmp_path / "p.npz", {"video_1": arrays(), "video_7": video})
    with pytest.raises(InputError, match=rf"p\.npz: video_7: .*{reason}"):
        read_summe_protocol(path)


def test_last_shot_that_is_a_little_too_long_is_cut(tmp_path: Path) -> None:
    """As in the published h5 files."""
    points = np.array([[0, 39], [40, 104]])
    path = write(tmp_path / "p.npz", {"video_1": {**arrays(), "change_points": points}})
    video = read_summe_protocol(path)["summe/video_1"]
    assert video.change_points.tolist() == [[0, 39], [40, 99]]
    assert "cut" in video.warnings[0]


def test_missing_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_summe_protocol(tmp_path / "p.npz")


def test_protocol_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.npz").write_bytes(b"PK and no more")
    with pytest.raises(InputError, match=r"p\.npz: not a protocol of SumMe"):
        read_summe_protocol(tmp_path / "p.npz")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "holds no video"),
        ({"features": np.zeros((2, 2))}, "features is not an array of a video"),
        ({f"{'9' * 5000}/gtscore": np.zeros(2)}, r"p\.npz: "),
    ],
    ids=["empty", "features", "endless number"],
)
def test_archive_that_is_no_protocol_is_refused(
    tmp_path: Path, members: dict[str, np.ndarray], reason: str
) -> None:
    np.savez(tmp_path / "p.npz", **members)
    with pytest.raises(InputError, match=reason):
        read_summe_protocol(tmp_path / "p.npz")


@pytest.fixture(scope="module")
def summe(shared: Path) -> dict[str, Labels]:
    """The published protocol."""
    return read_summe_protocol(shared / "data" / "summe" / "summe_protocol.npz")


@pytest.mark.shared
def test_published_protocol_has_25_videos_by_their_known_names(
    shared: Path, summe: dict[str, Labels]
) -> None:
    assert list(summe) == [f"summe/video_{number}" for number in range(1, 26)]
    numbers = json.loads((shared / "data" / "summe" / "video_names.json").read_text())
    stems = {title.replace(" ", "_"): name for title, name in numbers.items()}
    assert {video.file_name: name.partition("/")[2] for name, video in summe.items()} == stems


@pytest.mark.shared
def test_published_protocol_has_15_to_18_annotators(summe: dict[str, Labels]) -> None:
    for video in summe.values():
        assert video.user_summary is not None
        assert 15 <= len(video.user_summary) <= 18


@pytest.mark.shared
def test_shots_of_the_published_protocol_fill_the_videos(summe: dict[str, Labels]) -> None:
    for video in summe.values():
        assert video.change_points is not None
        assert (video.change_points[1:, 0] == video.change_points[:-1, 1] + 1).all()
        assert video.change_points[0, 0] == 0
        assert video.change_points[-1, 1] == video.n_frames - 1
        assert video.warnings == ()


@pytest.mark.shared
def test_gtscore_of_the_published_protocol_is_the_mean_of_the_summaries(summe: dict[str, Labels]) -> None:
    for video in summe.values():
        assert video.user_summary is not None
        assert video.gtscore is not None
        assert len(video.gtscore) == len(video.picks)
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


def test_cells_of_a_mat_are_followed_to_their_arrays(mat: Path) -> None:
    annotations = read_tvsum_mat(mat)
    assert list(annotations) == ["tvsum/video_1", "tvsum/video_2"]
    second = annotations["tvsum/video_2"]
    assert second.file_name == "Käse 🧀 1"
    assert (second.length_s, second.n_frames) == (31 / 25, 31)
    np.testing.assert_array_equal(second.user_scores, cells(1)["user_anno"])


def test_video_of_a_mat_may_be_shorter_than_a_second(tmp_path: Path) -> None:
    file = write_fields(tmp_path / "y.mat", [{**cells(0), "length": np.array([[0.5]])}])
    assert read_tvsum_mat(file)["tvsum/video_1"].length_s == 0.5


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("nframes", np.array([[41.0]]), "nframes is 41"),
        ("user_anno", np.ones((3, 39)), r"user_anno is \[3, 39\]"),
        ("user_anno", np.full((3, 40), np.nan), "NaN"),
        ("length", np.ones((2, 1)), "not a MATLAB 7.3 file of TVSum"),
        ("length", np.array([[0.0]]), "length is 0 seconds"),
        *((field, None, f"tvsum50: {field} is missing") for field in cells(0) if field != "gt_score"),
    ],
)
def test_wrong_or_missing_cell_of_a_mat_is_refused(
    tmp_path: Path, field: str, value: np.ndarray | None, reason: str
) -> None:
    row = {name: cell for name, cell in {**cells(0), field: value}.items() if cell is not None}
    with pytest.raises(InputError, match=reason):
        read_tvsum_mat(write_fields(tmp_path / "y.mat", [row]))


def test_missing_mat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_tvsum_mat(tmp_path / "y.mat")


def test_mat_of_an_older_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "y.mat").write_bytes(b"MATLAB 5.0 MAT-file" + bytes(200))
    with pytest.raises(InputError, match=r"y\.mat: not a MATLAB 7\.3 file"):
        read_tvsum_mat(tmp_path / "y.mat")


def test_mat_of_something_else_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "y.mat", "w") as file:
        file["other"] = 1
    with pytest.raises(InputError, match="tvsum50 is missing"):
        read_tvsum_mat(tmp_path / "y.mat")


@pytest.fixture(scope="module")
def tvsum(shared: Path) -> dict[str, Labels]:
    """The published annotations."""
    return read_tvsum_mat(shared / "data" / "tvsum" / "ydata-tvsum50.mat")


@pytest.mark.shared
def test_published_annotations_of_tvsum_have_50_videos(tvsum: dict[str, Labels]) -> None:
    assert list(tvsum) == [f"tvsum/video_{number}" for number in range(1, 51)]
    assert tvsum["tvsum/video_1"].file_name == "AwmHb44_ouw"
    assert tvsum["tvsum/video_1"].n_frames == 10597


@pytest.mark.shared
def test_published_annotations_of_tvsum_have_20_scores_of_1_to_5_a_frame(tvsum: dict[str, Labels]) -> None:
    for video in tvsum.values():
        assert video.user_scores is not None
        assert video.user_scores.shape == (20, video.n_frames)
        assert set(np.unique(video.user_scores)) <= {1, 2, 3, 4, 5}


@pytest.mark.shared
def test_published_videos_of_tvsum_have_24_to_30_frames_a_second(tvsum: dict[str, Labels]) -> None:
    assert all(23.9 < video.n_frames / video.length_s < 30.1 for video in tvsum.values())
