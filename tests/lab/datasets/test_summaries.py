"""Annotated videos: what is read of a published file, and round trips."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.lab.datasets.h5_files import N_FRAMES, STEPS, assert_same, changed, only, published, write
from tests.synthetic import write_annotated
from vidsum.errors import InputError
from vidsum.lab.datasets.summaries import AnnotatedVideo, dataset_name, read_annotated
from vidsum.results.features import Features


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
def test_the_dataset_is_named_by_the_file(file: str, name: str) -> None:
    assert dataset_name(file) == name


def test_a_published_file_is_read_in_full(tmp_path: Path) -> None:
    path = write(tmp_path / "eccv16_dataset_tvsum_google_pool5.h5", video_1=published())
    video = read_annotated(path)["tvsum/video_1"]
    stored = published()
    assert (video.name, video.n_frames) == ("tvsum/video_1", N_FRAMES)
    for key in ("picks", "change_points", "gtscore", "user_summary"):
        np.testing.assert_array_equal(getattr(video, key), stored[key])
    np.testing.assert_array_equal(video.features.array, stored["features"])
    np.testing.assert_allclose(video.features.timestamps, np.arange(STEPS) / 2)  # 30 fps, every 15th
    assert video.features.duration_s == pytest.approx(N_FRAMES / 30)
    assert video.user_scores is None
    assert video.features.warnings == ()


def test_videos_come_as_people_count(tmp_path: Path) -> None:
    groups = {f"video_{number}": published(number) for number in (10, 2, 1)}
    assert list(read_annotated(write(tmp_path / "x.h5", **groups))) == [
        "x/video_1",
        "x/video_2",
        "x/video_10",
    ]


def test_the_first_ovp_and_youtube_files_hold_three_datasets(tmp_path: Path) -> None:
    """Frames are counted as in the files that DSNet made of them: T * 15 - 1."""
    rows = np.repeat(np.eye(2, 6, dtype=np.float32), 20, axis=0)
    labels = np.linspace(0, 1, 40, dtype=np.float32)
    path = write(
        tmp_path / "ovp.h5", video_11={"features": rows, "gtscore": labels, "gtsummary": labels > 0.5}
    )
    video = only(path)
    assert video.n_frames == 599
    assert video.picks.tolist() == list(range(0, 600, 15))
    assert video.change_points.tolist() == [[0, 299], [300, 598]]
    assert video.user_summary is None
    assert any("KTS" in warning for warning in video.features.warnings)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with pytest.raises(InputError, match="no such file"):
        read_annotated(path)
    path.write_bytes(b"no HDF5")
    with pytest.raises(InputError, match=r"x\.h5: not a feature file"):
        read_annotated(path)
    with pytest.raises(InputError, match="holds no video"):
        read_annotated(write(path))


scores = st.floats(0, 1, width=32)


@st.composite
def annotated_videos(draw: Callable[[Any], Any], name: str) -> AnnotatedVideo:
    steps, stride = draw(st.integers(1, 6)), draw(st.integers(1, 30))
    fps = draw(st.sampled_from([24.0, 25.0, 30000 / 1001, 30.0]))
    picks = np.arange(steps, dtype=np.int64) * stride
    n_frames = int(picks[-1]) + draw(st.integers(1, stride))
    cuts = draw(st.sets(st.integers(1, n_frames - 1), max_size=4)) if n_frames > 1 else set()
    edges = np.array([0, *sorted(cuts), n_frames], dtype=np.int64)
    made = Features.from_array(
        draw(arrays(np.float32, (steps, 3), elements=scores)),
        fps / stride,
        duration_s=n_frames / fps,
        video_fps=fps,
        extractor="googlenet",
    )
    binary = arrays(np.float32, (2, n_frames), elements=st.sampled_from([0.0, 1.0]))
    return AnnotatedVideo(
        name=name,
        features=made,
        picks=picks,
        n_frames=n_frames,
        change_points=np.stack([edges[:-1], edges[1:] - 1], axis=1),
        gtscore=draw(arrays(np.float32, steps, elements=scores)),
        user_summary=draw(st.none() | binary),
        user_scores=draw(st.none() | arrays(np.float32, (4, steps), elements=scores)),
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(first=annotated_videos("mine/video_1"), second=annotated_videos("mine/video_2"))
def test_written_videos_come_back_as_they_were(
    tmp_path: Path, first: AnnotatedVideo, second: AnnotatedVideo
) -> None:
    path = tmp_path / "mine.h5"
    write_annotated({first.name: first, second.name: second}, path)
    read = read_annotated(path)
    assert list(read) == ["mine/video_1", "mine/video_2"]
    for video in (first, second):
        assert_same(read[video.name], video)


def test_the_written_layout_is_that_of_the_field(tmp_path: Path) -> None:
    video = only(changed(tmp_path, user_scores=np.ones((3, STEPS))))
    write_annotated({video.name: video}, tmp_path / "mine.h5")
    with h5py.File(tmp_path / "mine.h5") as file:
        group = file["video_3"]
        for key in published().keys() - {"gtsummary", "video_name"}:
            np.testing.assert_array_equal(group[key][()], published()[key], err_msg=key)
        assert group["user_scores"].shape == (3, STEPS)
        assert group["video_name"][()] == b"video_3"


def test_warnings_of_repairs_are_written_and_read_again(tmp_path: Path) -> None:
    video = only(changed(tmp_path, gtscore=np.linspace(1, 5, STEPS)))
    write_annotated({video.name: video}, tmp_path / "x.h5")
    assert only(tmp_path / "x.h5").features.warnings == video.features.warnings != ()
