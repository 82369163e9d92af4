"""Annotated videos: what is read of a published file, and round trips."""

from pathlib import Path

import numpy as np
import pytest

from tests.lab.datasets.h5_files import N_FRAMES, STEPS, only, published, write
from vidsum.errors import InputError
from vidsum.lab.datasets.summaries import dataset_name, read_annotated


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
