"""Annotated videos: published files, all variants of their datasets, repairs and refusals."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.lab.datasets.h5_files import (
    N_FRAMES,
    STEPS,
    Datasets,
    assert_same,
    changed,
    of_mr_hisum,
    only,
    published,
    write,
)
from vidsum.errors import InputError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, dataset_name, read_annotated


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("data/eccv16_dataset_tvsum_google_pool5.h5", "tvsum"),
        ("eccv16_dataset_summe_google_audio_pa_pool5.h5", "summe"),
        ("TVSum.h5", "TVSum"),
        ("my.films.hdf5", "my.films"),
        ("../tvsum", "tvsum"),
        ("my.films", "my.films"),
    ],
)
def test_dataset_is_named_by_the_file(file: str, name: str) -> None:
    assert dataset_name(Path(file)) == name


@pytest.fixture
def video(tmp_path: Path) -> AnnotatedVideo:
    """A video of a published file: 30 frames a second, with a feature for every 15th."""
    path = write(tmp_path / "eccv16_dataset_tvsum_google_pool5.h5", video_1=published())
    return read_annotated(path)["tvsum/video_1"]


def test_arrays_of_a_published_file_are_read_as_they_are(video: AnnotatedVideo) -> None:
    stored = published()
    assert (video.name, video.n_frames) == ("tvsum/video_1", N_FRAMES)
    for key in ("picks", "change_points", "gtscore", "user_summary"):
        np.testing.assert_array_equal(getattr(video, key), stored[key])
    np.testing.assert_array_equal(video.features.array, stored["features"])


def test_features_of_a_published_file_have_the_times_of_30_frames_a_second(video: AnnotatedVideo) -> None:
    np.testing.assert_allclose(video.features.timestamps, np.arange(STEPS) / 2)
    assert video.features.duration_s == pytest.approx(N_FRAMES / 30)


def test_published_file_lacks_scores_and_needs_no_repair(video: AnnotatedVideo) -> None:
    assert video.user_scores is None
    assert video.features.warnings == ()


def test_videos_come_as_people_count(tmp_path: Path) -> None:
    groups = {f"video_{number}": published(number) for number in (10, 2, 1)}
    videos = read_annotated(write(tmp_path / "x.h5", **groups))
    assert list(videos) == ["x/video_1", "x/video_2", "x/video_10"]


@pytest.mark.parametrize("ends", [(8, 20, 40), (8, 20, 39)], ids=["exclusive", "the last inclusive"])
def test_shots_of_mr_hisum_fill_its_samples(tmp_path: Path, ends: tuple[int, ...]) -> None:
    video = only(write(tmp_path / "mr_hisum.h5", video_7=of_mr_hisum(ends)))
    assert video.change_points.tolist() == [[0, 7], [8, 19], [20, 39]]
    assert (video.name, video.n_frames, video.features.warnings) == ("mr_hisum/video_7", 40, ())


def test_samples_of_mr_hisum_are_a_second_apart(tmp_path: Path) -> None:
    video = only(write(tmp_path / "mr_hisum.h5", video_7=of_mr_hisum((8, 40))))
    np.testing.assert_allclose(video.features.timestamps, np.arange(40))
    assert video.features.duration_s == 40
    assert video.picks.tolist() == list(range(40))


@pytest.mark.parametrize("key", ["gtsummary", "gt_summary"])
def test_summary_of_mr_hisum_counts_as_an_annotator(tmp_path: Path, key: str) -> None:
    group = of_mr_hisum((8, 40))
    group[key] = group.pop("gtsummary")
    video = only(write(tmp_path / "mr_hisum.h5", video_7=group))
    assert video.user_summary is not None
    np.testing.assert_array_equal(video.user_summary, [group[key]])


def test_inclusive_shots_of_samples_stay_as_they_are(tmp_path: Path) -> None:
    points = np.array([[0, 7], [8, 39]])
    video = only(write(tmp_path / "mr_hisum.h5", video_7=of_mr_hisum((8, 40), change_points=points)))
    assert video.change_points.tolist() == points.tolist()


@pytest.fixture
def first_layout(tmp_path: Path) -> AnnotatedVideo:
    """A video in the first layout of OVP and YouTube, whose files have three arrays each."""
    rows = np.repeat(np.eye(2, 6, dtype=np.float32), 20, axis=0)
    labels = np.linspace(0, 1, 40, dtype=np.float32)
    bare = {"features": rows, "gtscore": labels, "gtsummary": labels > 0.5}
    return only(write(tmp_path / "ovp.h5", video_11=bare))


def test_missing_frames_are_counted_as_in_the_files_of_dsnet(first_layout: AnnotatedVideo) -> None:
    assert first_layout.n_frames == 599  # T * 15 - 1
    assert first_layout.picks.tolist() == list(range(0, 600, 15))


def test_missing_shots_are_cut_by_kts_with_a_warning(first_layout: AnnotatedVideo) -> None:
    assert first_layout.change_points.tolist() == [[0, 299], [300, 598]]
    assert any("KTS" in warning for warning in first_layout.features.warnings)


def test_first_layout_has_no_summaries_of_annotators(first_layout: AnnotatedVideo) -> None:
    assert first_layout.user_summary is None


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_annotated(tmp_path / "x.h5")


def test_file_that_is_no_hdf5_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_bytes(b"no HDF5")
    with pytest.raises(InputError, match=r"x\.h5: not a feature file"):
        read_annotated(tmp_path / "x.h5")


def test_file_without_a_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no video"):
        read_annotated(write(tmp_path / "x.h5"))


@pytest.mark.parametrize(
    ("without", "datasets"),
    [
        (["picks"], {}),
        (["n_steps", "n_frame_per_seg", "gtsummary", "video_name"], {}),
        (["gtscore"], {"gt_score": published()["gtscore"]}),
        ([], {"gtscore": published()["gtscore"][:, None]}),
        ([], {"features": published()["features"][:, None, :]}),
        ([], {"features": published()["features"][None]}),
        ([], {"features": published()["features"].astype(np.float64)}),
        ([], {"n_frames": np.array([N_FRAMES])}),
        ([], {"change_points": published()["change_points"].astype(np.float64)}),
        ([], {"user_summary": published()["user_summary"].astype(bool)}),
        ([], {"picks": np.array([*published()["picks"], N_FRAMES])}),
        ([], {"fps": 30.0}),
        ([], {"metadata": "of somebody else"}),
    ],
)
def test_variants_of_the_layout_give_the_same_video(
    tmp_path: Path, without: list[str], datasets: Datasets
) -> None:
    plain = only(changed(tmp_path))
    assert_same(only(changed(tmp_path, *without, **datasets)), plain)


@pytest.mark.parametrize("is_at_picks", [False, True], ids=["each frame", "picks"])
@pytest.mark.parametrize("key", ["user_scores", "user_anno", "user_score"])
def test_scores_of_annotators_are_taken_at_the_picks(tmp_path: Path, key: str, is_at_picks: bool) -> None:
    scores = np.random.default_rng(1).integers(1, 6, (20, N_FRAMES))
    at_picks = scores[:, published()["picks"]]
    read = only(changed(tmp_path, **{key: at_picks if is_at_picks else scores})).user_scores
    np.testing.assert_array_equal(read, at_picks)


def test_missing_gtscore_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.h5: video_3 has no gtscore"):
        read_annotated(changed(tmp_path, "gtscore"))


@pytest.mark.parametrize(
    ("datasets", "warning"),
    [
        ({"gtscore": np.linspace(1, 5, STEPS)}, "gtscore spans 1 to 5, not 0 to 1"),
        ({"user_summary": np.ones((2, N_FRAMES - 3))}, "user_summary has 110 frames of 113"),
        ({"user_summary": np.ones((2, N_FRAMES + 3))}, "user_summary has 116 frames of 113"),
        ({"change_points": [[0, 59], [60, 113]]}, "the last shot ends at frame 113 of 113"),
    ],
)
def test_repair_of_a_video_is_a_warning(tmp_path: Path, datasets: Datasets, warning: str) -> None:
    video = only(changed(tmp_path, **datasets))
    assert [text for text in video.features.warnings if warning in text]
    assert video.change_points[-1, 1] == N_FRAMES - 1
    assert video.user_summary.shape[1] == N_FRAMES


def test_summaries_of_annotators_may_be_missing(tmp_path: Path) -> None:
    assert only(changed(tmp_path, "user_summary")).user_summary is None


def test_summary_of_one_annotator_is_one_row(tmp_path: Path) -> None:
    summary = published()["user_summary"][0]
    np.testing.assert_array_equal(only(changed(tmp_path, user_summary=summary)).user_summary, summary[None])


def test_summaries_that_are_too_short_go_on_with_zeros(tmp_path: Path) -> None:
    padded = only(changed(tmp_path, user_summary=np.ones((2, N_FRAMES - 3)))).user_summary
    assert padded[:, -4:].tolist() == [[1, 0, 0, 0]] * 2


def test_frame_rate_of_a_file_gives_the_times(tmp_path: Path) -> None:
    features = only(changed(tmp_path, fps=25.0)).features
    assert features.timestamps[1] == pytest.approx(15 / 25)
    assert (features.video_fps, features.duration_s) == (25, pytest.approx(N_FRAMES / 25))


def test_missing_change_points_are_a_warning_that_names_kts(tmp_path: Path) -> None:
    videos = read_annotated(changed(tmp_path, "change_points"))
    (warning,) = [text for text in videos["x/video_3"].features.warnings if "KTS" in text]
    assert "no change_points" in warning


def test_missing_change_points_are_refused_where_shots_are_not_to_be_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="change_points"):
        read_annotated(changed(tmp_path, "change_points"), find_shots=False)


def test_missing_picks_that_do_not_fit_the_frames_are_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, "picks", "change_points", "user_summary", "n_frame_per_seg", n_frames=90)
    with pytest.raises(InputError, match="picks is missing: every 15th frame is assumed"):
        read_annotated(path)


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "f2", "g", "c8", "S3", "M8[s]"])
@pytest.mark.parametrize("key", ["change_points", "picks", "n_frames", "features", "gtscore", "user_summary"])
@pytest.mark.parametrize("make", [published, lambda: of_mr_hisum([9, 24, 39])])
def test_datasets_of_any_type_are_read_or_refused(
    tmp_path: Path, make: Callable[[], Datasets], key: str, dtype: str
) -> None:
    datasets = make()
    if key not in datasets:
        return
    values = np.asarray(datasets[key])
    stored = values.astype("i8").astype("i8" if dtype[0] == "M" else dtype)
    path = write(tmp_path / "odd.h5", video_1={**datasets, key: stored})
    with suppress(InputError):
        read_annotated(path)


def test_change_points_of_booleans_are_refused(tmp_path: Path) -> None:
    video = of_mr_hisum([9, 24, 39], change_points=np.ones((3, 2), bool))
    with pytest.raises(InputError, match="change_points holds no numbers"):
        read_annotated(write(tmp_path / "odd.h5", video_1=video))


def with_nan(key: str) -> Datasets:
    value = np.array(published()[key], np.float32)
    value.flat[3] = np.nan
    return {key: value}


@pytest.mark.parametrize(
    ("datasets", "reason"),
    [
        ({"features": np.ones(5)}, r"features must be \[T, D\], not \[5\]"),
        ({"features": np.ones((8, 2, 2))}, r"features must be \[T, D\], not \[8, 2, 2\]"),
        ({"features": np.ones((0, 4))}, "features holds no numbers"),
        (with_nan("features"), "features holds NaN"),
        ({"gtscore": "text"}, "gtscore holds no numbers"),
        ({"gtscore": np.ones(9)}, "gtscore has 9 entries, but the video 8 features"),
        ({"n_steps": 9}, "n_steps is 9, but features has 8 rows"),
        ({"n_frames": 0}, "n_frames must be one positive number"),
        ({"n_frames": [113, 113]}, "n_frames must be one positive number"),
        ({"n_frames": 100}, "picks reaches frame 105, but n_frames is 100"),
        ({"picks": np.arange(7)}, "picks has 7 entries, but features has 8 rows"),
        ({"picks": np.arange(8)[::-1]}, "picks must be frame numbers that increase"),
        ({"fps": 0.0}, "fps must be one positive number"),
        ({"fps": [30.0, 25.0]}, "fps must be one positive number"),
        ({"change_points": [0, 60, 112]}, r"change_points must be \[S, 2\], not \[3\]"),
        ({"change_points": [[0, 60, 112]]}, r"change_points must be \[S, 2\], not \[1, 3\]"),
        ({"change_points": [[0, 60], [60, 112]]}, "change_points overlap"),
        ({"change_points": [[60, 112], [0, 59]]}, "change_points overlap or do not increase"),
        ({"change_points": [[-1, 59], [60, 112]]}, "change_points span -1 to 112"),
        ({"change_points": [[0, 59], [60, 128]]}, "change_points span 0 to 128, but n_frames is 113"),
        ({"change_points": [[0, 112], [113, 113]]}, "change_points span 0 to 113, but n_frames is 113"),
        ({"change_points": [[0, 4], [5, 7]]}, "change_points leave 105 of 113 frames in no shot"),
        ({"user_summary": np.ones((2, 50))}, r"user_summary must be \[U, 113\], not \[2, 50\]"),
        ({"user_summary": np.ones((2, 2, N_FRAMES))}, r"user_summary must be \[U, 113\]"),
        ({"user_summary": np.full((2, N_FRAMES), 0.5)}, "user_summary holds values other than 0 and 1"),
        ({"user_scores": np.ones(STEPS)}, r"user_scores must be \[U, T\] or \[U, n_frames\], not \[8\]"),
        ({"user_scores": np.ones((3, 9))}, "user_scores has 9 entries"),
        ({"features": None}, "features is missing"),
        ({"n_frames": None}, "n_frames is missing"),
    ],
)
def test_datasets_that_are_missing_or_do_not_go_together_are_refused(
    tmp_path: Path, datasets: Datasets, reason: str
) -> None:
    without = [] if "n_steps" in datasets else ["n_steps"]
    with pytest.raises(InputError, match=rf"x\.h5: video_3: {reason}"):
        read_annotated(changed(tmp_path, *without, **datasets))
