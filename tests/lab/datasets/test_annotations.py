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
from vidsum.outputs.alone import write_features
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


@pytest.fixture(params=["98MoyGZKHXc", "video_2"])
def video(request: pytest.FixtureRequest, tmp_path: Path, mat: Path) -> AnnotatedVideo:
    """Features joined with annotations, by the name of the film or its number."""
    videos = joined(own(tmp_path / "own.h5", request.param), mat)
    assert list(videos) == ["own/video_2"]
    return videos["own/video_2"]


def test_joined_video_has_the_scores_of_tvsum(video: AnnotatedVideo) -> None:
    expected = SCORES["98MoyGZKHXc"][:, ::15]
    assert video.user_scores is not None
    np.testing.assert_array_equal(video.user_scores, expected)
    np.testing.assert_allclose(video.gtscore, (expected.mean(axis=0) - 1) / 4, rtol=1e-6)
    assert video.user_summary is None


def test_joined_video_has_the_features_and_shots_of_its_file(video: AnnotatedVideo) -> None:
    assert video.n_frames == 360
    assert video.change_points.tolist() == [[0, 99], [100, 359]]
    assert video.picks.tolist() == list(range(0, 360, 15))
    np.testing.assert_array_equal(video.features.array, features().array)


def test_copy_of_another_frame_rate_gets_the_scores_of_the_same_time(tmp_path: Path, mat: Path) -> None:
    path = tmp_path / "own.h5"
    write_h5({"98MoyGZKHXc": features(fps=60.0)}, path)
    (video,) = joined(path, mat).values()
    assert (video.n_frames, video.picks[1]) == (720, 30)
    assert video.user_scores is not None
    np.testing.assert_array_equal(video.user_scores, SCORES["98MoyGZKHXc"][:, ::15])
    assert video.change_points[-1, 1] == 719  # KTS cuts what has no shots


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files of features and another, one of them without shots."""
    folder = tmp_path / "tvsum"
    folder.mkdir()
    own(folder / "a_efficientnet_lite0.h5", "98MoyGZKHXc")
    write_features(features(), folder / "-esJrBWj2d8.h5")
    (folder / "notes.txt").write_text("not features")
    return folder


def test_folder_of_files_is_a_data_set(folder: Path, mat: Path) -> None:
    assert list(joined(folder, mat)) == ["tvsum/video_1", "tvsum/video_2"]


def test_features_without_shots_are_cut_by_kts(folder: Path, mat: Path) -> None:
    points = joined(folder, mat)["tvsum/video_1"].change_points
    assert (points[0, 0], points[-1, 1]) == (0, 359)


def test_second_file_of_a_video_is_refused(folder: Path, mat: Path) -> None:
    own(folder / "again.h5", "video_2")
    with pytest.raises(UsageError, match="second video that is tvsum/video_2"):
        joined(folder, mat)


def join_protocol(folder: Path, title: str, n_frames: int) -> AnnotatedVideo:
    """Features of so many frames joined with SumMe's protocol, which counts `N_FRAMES`."""
    protocol = write(folder / "summe.npz", {"video_4": arrays(3, "Base jumping")})
    write_h5({title: features(n_frames / FPS)}, folder / "own.h5")
    (video,) = joined(folder / "own.h5", protocol).values()
    return video


def test_protocol_of_summe_brings_its_shots_and_summaries(tmp_path: Path) -> None:
    video, stored = join_protocol(tmp_path, "Base jumping", N_FRAMES + 5), arrays(3, "Base jumping")
    assert (video.name, video.n_frames) == ("own/video_4", N_FRAMES)
    np.testing.assert_array_equal(video.change_points, stored["change_points"])
    np.testing.assert_array_equal(video.user_summary, stored["user_summary"])


def test_picks_of_a_copy_of_another_length_are_of_the_same_time(tmp_path: Path) -> None:
    video, stored = join_protocol(tmp_path, "Base jumping", N_FRAMES + 5), arrays(3, "Base jumping")
    frames = [int(15 * step * N_FRAMES / (N_FRAMES + 5)) for step in range(len(video.picks))]
    assert video.picks.tolist() == frames
    np.testing.assert_array_equal(video.gtscore, stored["gtscore"][[frame // 15 for frame in frames]])


def test_copy_of_a_much_different_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Base_jumping: has 140 frames, but the annotations 100"):
        join_protocol(tmp_path, "Base_jumping", N_FRAMES + 40)


@pytest.fixture
def too_long(tmp_path: Path) -> Path:
    """A protocol whose last shot is five frames too long."""
    stored = arrays(3, "Base jumping")
    stored["change_points"][-1, 1] += 5
    return write(tmp_path / "summe.npz", {"video_4": stored})


REPAIR = f"the last shot ends at frame {N_FRAMES + 4} of {N_FRAMES}: cut"


def test_repair_of_a_protocol_is_a_warning_of_its_video(too_long: Path, tmp_path: Path) -> None:
    write_h5({"Base jumping": features(N_FRAMES / FPS)}, tmp_path / "own.h5")
    (video,) = joined(tmp_path / "own.h5", too_long).values()
    assert tuple(video.features.warnings) == (REPAIR,)


def test_repair_of_a_protocol_is_a_warning_of_its_evaluation(too_long: Path) -> None:
    assert evaluate_summaries(read_labels(too_long), {}).warnings == (f"summe/video_4: {REPAIR}",)


def test_video_without_annotations_is_refused_with_one_that_has_some(tmp_path: Path, mat: Path) -> None:
    with pytest.raises(InputError, match="have no video film") as refused:
        joined(own(tmp_path / "own.h5", "film"), mat)
    assert "-esJrBWj2d8" in str(refused.value.hint)


def test_video_of_another_length_than_its_annotations_is_refused(tmp_path: Path, mat: Path) -> None:
    with pytest.raises(InputError, match="has 20 s, but the annotations 12 s"):
        joined(own(tmp_path / "own.h5", "video_1", seconds=20), mat)


def test_published_features_keep_their_gtscore_and_get_each_annotators_scores(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).integers(1, 6, (3, h5_files.N_FRAMES)).astype(float)
    mat = write_mat(tmp_path / "ydata.mat", {"a": scores, "b": scores})
    path = h5_files.write(tmp_path / "mine.h5", video_2=h5_files.published())
    video = joined(path, mat)["mine/video_2"]
    np.testing.assert_array_equal(video.gtscore, h5_files.published()["gtscore"])
    np.testing.assert_array_equal(video.user_scores, scores[:, ::15])


def test_published_features_of_another_length_than_their_annotations_are_refused(tmp_path: Path) -> None:
    scores = np.ones((3, h5_files.N_FRAMES))
    mat = write_mat(tmp_path / "ydata.mat", {"a": scores, "b": scores[:, :-1]})
    path = h5_files.write(tmp_path / "mine.h5", video_2=h5_files.published())
    with pytest.raises(InputError, match="video_2: has 113 frames, but the annotations 112"):
        joined(path, mat)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Features without scores."""
    return own(tmp_path / "own.h5", "video_1")


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    """Published features with scores."""
    return h5_files.write(tmp_path / "tvsum.h5", video_1=h5_files.published())


def test_annotations_go_to_the_files_that_lack_scores(bare: Path, scored: Path, mat: Path) -> None:
    pairs = pair_annotations([scored, bare], [mat])
    assert pairs == {scored: None, bare: mat}
    assert list(read_all(pairs)) == ["tvsum/video_1", "own/video_1"]


def test_files_without_annotations_are_paired_with_none(bare: Path, scored: Path) -> None:
    assert pair_annotations([scored, bare], []) == {scored: None, bare: None}


def test_annotations_that_no_file_lacks_are_refused(bare: Path, scored: Path, mat: Path) -> None:
    with pytest.raises(UsageError, match="lack gtscore"):
        pair_annotations([scored], [mat])
    with pytest.raises(UsageError, match="lack gtscore"):
        pair_annotations([bare], [mat, mat])


def test_two_files_of_one_name_are_refused(scored: Path) -> None:
    with pytest.raises(UsageError, match="both go by"):
        pair_annotations([scored, Path(str(scored))], [])


def test_missing_scores_are_refused_with_the_option_that_gives_them(bare: Path) -> None:
    with pytest.raises(InputError, match="video_1 has no gtscore") as refused:
        read_all({bare: None})
    assert "annotations=" in str(refused.value.hint)


def test_empty_folder_is_refused_with_the_option_that_fills_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no h5 file") as refused:
        read_annotated(tmp_path)
    assert "--format h5" in str(refused.value.hint)


@pytest.mark.shared
def test_features_join_all_of_the_real_annotations_by_file_name(shared: Path, tmp_path: Path) -> None:
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
