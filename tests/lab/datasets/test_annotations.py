"""Features of our own joined with what people think of the videos, by the videos' names."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.lab.datasets import h5_files
from tests.lab.datasets.made import write_mat
from tests.lab.datasets.test_labels import N_FRAMES, arrays, write
from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, pair_annotations, read_all, read_annotated
from vidsum.lab.datasets.labels import read_labels
from vidsum.lab.evaluation.summary_evaluation import evaluate_summaries
from vidsum.results.feature_files import write_features
from vidsum.results.feature_h5 import write_h5
from vidsum.results.features import Features

FPS, SECONDS = 30.0, 12
SCORES = {
    name: np.random.default_rng(seed).integers(1, 6, (3, round(FPS * SECONDS))).astype(float)
    for seed, name in enumerate(("-esJrBWj2d8", "98MoyGZKHXc"))
}


@pytest.fixture
def mat(tmp_path: Path) -> Path:
    return write_mat(tmp_path / "ydata.mat", SCORES, FPS)


def features(seconds: float = SECONDS, fps: float = FPS) -> Features:
    """Two a second, as `vidsum extract` makes them."""
    array = np.random.default_rng(1).normal(size=(round(2 * seconds), 4))
    return Features.from_array(array, 2.0, duration_s=seconds, video_fps=fps)


def own(path: Path, *names: str, **how: float) -> Path:
    shots = {"change_points": [[0, 99], [100, 359]]}
    write_h5(dict.fromkeys(names, features(**how)), path, dict.fromkeys(names, shots))
    return path


def joined(path: Path, mat: Path) -> dict[str, AnnotatedVideo]:
    return read_annotated(path, read_labels(mat))


@pytest.mark.parametrize("name", ["98MoyGZKHXc", "video_2"])
def test_scores_of_tvsum_come_to_features_by_the_name_of_the_video(
    tmp_path: Path, mat: Path, name: str
) -> None:
    videos = joined(own(tmp_path / "own.h5", name), mat)
    assert list(videos) == ["own/video_2"]
    video = videos["own/video_2"]
    assert (video.n_frames, video.user_summary) == (360, None)
    assert video.change_points.tolist() == [[0, 99], [100, 359]]
    assert video.picks.tolist() == list(range(0, 360, 15))
    assert video.user_scores is not None
    expected = SCORES["98MoyGZKHXc"][:, ::15]
    np.testing.assert_array_equal(video.user_scores, expected)
    np.testing.assert_allclose(video.gtscore, (expected.mean(axis=0) - 1) / 4, rtol=1e-6)
    np.testing.assert_array_equal(video.features.array, features().array)


def test_a_copy_of_another_frame_rate_gets_the_scores_of_the_same_time(tmp_path: Path, mat: Path) -> None:
    path = tmp_path / "own.h5"
    write_h5({"98MoyGZKHXc": features(fps=60.0)}, path)
    (video,) = joined(path, mat).values()
    assert (video.n_frames, video.picks[1]) == (720, 30)
    assert video.user_scores is not None
    np.testing.assert_array_equal(video.user_scores, SCORES["98MoyGZKHXc"][:, ::15])
    assert video.change_points[-1, 1] == 719  # KTS cuts what has no shots


def test_a_folder_is_a_data_set_and_what_python_wrote_is_cut_by_kts(tmp_path: Path, mat: Path) -> None:
    folder = tmp_path / "tvsum"
    folder.mkdir()
    own(folder / "a_efficientnet_lite0.h5", "98MoyGZKHXc")
    write_features(features(), folder / "-esJrBWj2d8.h5")
    (folder / "notes.txt").write_text("not features")
    videos = joined(folder, mat)
    assert list(videos) == ["tvsum/video_1", "tvsum/video_2"]
    points = videos["tvsum/video_1"].change_points
    assert (points[0, 0], points[-1, 1]) == (0, 359)
    with pytest.raises(UsageError, match="second video that is tvsum/video_2"):
        joined(own(folder / "again.h5", "video_2").parent, mat)


def test_the_protocol_of_summe_brings_its_shots_and_summaries(tmp_path: Path) -> None:
    stored = arrays(3, "Base jumping")
    protocol = write(tmp_path / "summe.npz", {"video_4": stored})
    path = tmp_path / "own.h5"
    write_h5({"Base jumping": features((N_FRAMES + 5) / FPS)}, path)
    (video,) = joined(path, protocol).values()
    assert (video.name, video.n_frames) == ("own/video_4", N_FRAMES)
    np.testing.assert_array_equal(video.change_points, stored["change_points"])
    np.testing.assert_array_equal(video.user_summary, stored["user_summary"])
    frames = [int(15 * step * N_FRAMES / (N_FRAMES + 5)) for step in range(len(video.picks))]
    assert video.picks.tolist() == frames
    np.testing.assert_array_equal(video.gtscore, stored["gtscore"][[frame // 15 for frame in frames]])
    write_h5({"Base_jumping": features((N_FRAMES + 40) / FPS)}, path)
    with pytest.raises(InputError, match="Base_jumping: has 140 frames, but the annotations 100"):
        joined(path, protocol)


def test_repairs_of_a_protocol_reach_its_videos(tmp_path: Path) -> None:
    stored = arrays(3, "Base jumping")
    stored["change_points"][-1, 1] += 5
    protocol = write(tmp_path / "summe.npz", {"video_4": stored})
    write_h5({"Base jumping": features(N_FRAMES / FPS)}, tmp_path / "own.h5")
    (video,) = joined(tmp_path / "own.h5", protocol).values()
    (warning,) = video.features.warnings
    assert warning == f"the last shot ends at frame {N_FRAMES + 4} of {N_FRAMES}: cut"
    assert evaluate_summaries(read_labels(protocol), {}).warnings == (f"summe/video_4: {warning}",)


def test_videos_that_the_annotations_are_not_of_are_refused(tmp_path: Path, mat: Path) -> None:
    with pytest.raises(InputError, match="have no video film") as refused:
        joined(own(tmp_path / "own.h5", "film"), mat)
    assert "-esJrBWj2d8" in str(refused.value.hint)
    with pytest.raises(InputError, match="has 20 s, but the annotations 12 s"):
        joined(own(tmp_path / "own.h5", "video_1", seconds=20), mat)


def test_published_features_keep_their_gtscore_and_get_each_annotators_scores(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).integers(1, 6, (3, h5_files.N_FRAMES)).astype(float)
    mat = write_mat(tmp_path / "ydata.mat", {"a": scores, "b": scores})
    path = h5_files.write(tmp_path / "mine.h5", video_2=h5_files.published())
    video = joined(path, mat)["mine/video_2"]
    np.testing.assert_array_equal(video.gtscore, h5_files.published()["gtscore"])
    np.testing.assert_array_equal(video.user_scores, scores[:, ::15])
    other = write_mat(tmp_path / "other.mat", {"a": scores, "b": scores[:, :-1]})
    with pytest.raises(InputError, match="video_2: has 113 frames, but the annotations 112"):
        joined(path, other)


def test_annotations_go_to_the_files_that_lack_scores(tmp_path: Path, mat: Path) -> None:
    bare = own(tmp_path / "own.h5", "video_1")
    scored = h5_files.write(tmp_path / "tvsum.h5", video_1=h5_files.published())
    pairs = pair_annotations([scored, bare], [mat])
    assert pairs == {scored: None, bare: mat}
    assert list(read_all(pairs)) == ["tvsum/video_1", "own/video_1"]
    assert pair_annotations([scored, bare], []) == {scored: None, bare: None}
    for paths, annotations in (([scored], [mat]), ([bare], [mat, mat]), ([scored, scored], [])):
        with pytest.raises(UsageError, match=r"lack gtscore|both go by"):
            pair_annotations([Path(str(path)) for path in paths], annotations)
    with pytest.raises(InputError, match="video_1 has no gtscore") as refused:
        read_all({bare: None})
    assert "annotations=" in str(refused.value.hint)


def test_an_empty_folder_names_what_fills_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no h5 file") as refused:
        read_annotated(tmp_path)
    assert "--format h5" in str(refused.value.hint)


@pytest.mark.shared
def test_features_join_all_of_the_real_annotations(shared: Path, tmp_path: Path) -> None:
    """gtscore of the published file is that of ours, and each name of a file leads to its video."""
    data = shared / "data" / "tvsum"
    labels = read_labels(data / "ydata-tvsum50.mat")
    path = tmp_path / "own.h5"
    with h5py.File(path, "w") as file:
        for label in labels.values():
            n_steps = -(-label.n_frames // 15)
            file[f"{label.file_name}/features"] = np.ones((n_steps, 2), np.float32)
            file[f"{label.file_name}/n_frames"] = label.n_frames
            file[f"{label.file_name}/change_points"] = [[0, label.n_frames - 1]]
            file[f"{label.file_name}/fps"] = label.fps
    videos = read_annotated(path, labels)
    assert sorted(videos) == sorted(f"own/video_{number}" for number in range(1, 51))
    with np.load(data / "gtscore.npz") as published:
        for name, video in videos.items():
            gtscore = published[name.partition("/")[2]]
            np.testing.assert_allclose(video.gtscore, gtscore, atol=1e-5, err_msg=name)
