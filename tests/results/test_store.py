"""Feature files: round trips, the h5 layout of the field, files of others, and errors."""

import os
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.full_disk import files_up_to, small_disk
from tests.media import video_info
from vidsum.errors import InputError, OutputError, UsageError
from vidsum.outputs.alone import write_features
from vidsum.results.feature_files import is_feature_file, read_features
from vidsum.results.feature_h5 import group_names, read_group, write_h5
from vidsum.results.features import Features

VIDEO = video_info("films/film.mp4", fps=29.97)


@pytest.fixture
def features() -> Features:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 4))
    return replace(
        Features.from_array(rows, fps=2.0, duration_s=10.0, video_fps=29.97, extractor="i3d"),
        logits=rng.normal(size=(20, 3)).astype(np.float32),
        embeddings=rng.normal(size=(20, 5)).astype(np.float32),
        video=VIDEO,
        provenance={"vidsum": "1", "parameters": {"fps": 2.0}},
        warnings=("a note",),
    )


@pytest.mark.parametrize("name", ["f.npz", "f.h5", "f.hdf5"])
@pytest.mark.parametrize("video", ["film.mp4", os.fsdecode(b"films/caf\xe9.mp4")], ids=ascii)
def test_features_are_read_as_they_were_written(
    features: Features, tmp_path: Path, name: str, video: str
) -> None:
    named = replace(features, video=replace(VIDEO, path=video))
    write_features(named, tmp_path / name)
    assert read_features(tmp_path / name) == named


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
def test_same_features_have_the_same_bytes(features: Features, tmp_path: Path, name: str) -> None:
    (tmp_path / "again").mkdir()
    for folder in (tmp_path, tmp_path / "again"):
        write_features(features, folder / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "is_features"),
    [
        ("f.npz", True),
        ("f.h5", True),
        ("f.hdf5", True),
        ("a.h5#video_1", True),
        ("dir.npz/a.mp4", False),
        ("a.mp4", False),
    ],
)
def test_feature_file_is_known_by_its_name(name: str, is_features: bool) -> None:
    assert is_feature_file(name) == is_features


def test_npz_is_read_by_numpy(features: Features, tmp_path: Path) -> None:
    write_features(features, tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as data:
        assert sorted(data.files) == ["embeddings", "features", "logits", "metadata", "timestamps"]
        np.testing.assert_array_equal(data["features"], features.array)


def test_h5_has_the_layout_of_the_field(features: Features, tmp_path: Path) -> None:
    annotations = {"change_points": [[0, 149], [150, 299]], "user_summary": np.zeros((2, 300), np.float32)}
    write_h5({"video_1": features}, tmp_path / "f.h5", {"video_1": annotations})
    with h5py.File(tmp_path / "f.h5") as file:
        group = file["video_1"]
        assert group["picks"][:3].tolist() == [0, 15, 30]
        assert (int(group["n_frames"][()]), int(group["n_steps"][()])) == (300, 20)
        assert group["n_frame_per_seg"][:].tolist() == [150, 150]
        assert group["user_summary"].shape == (2, 300)


def test_published_h5_is_read_with_times_of_its_frames(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "tvsum.h5", "w") as file:
        for number in (1, 2):
            group = file.create_group(f"video_{number}")
            group["features"] = np.full((10, 8), number, np.float32)
            group["picks"] = np.arange(0, 150, 15)
            group["n_frames"] = 149
    second = read_features(tmp_path / "tvsum.h5", "video_2")
    np.testing.assert_array_equal(second.array, np.full((10, 8), 2))
    assert second.timestamps[:3].tolist() == [0, 0.5, 1.0]
    assert second.duration_s == pytest.approx(149 / 30)


@pytest.fixture
def of_two(features: Features, tmp_path: Path) -> Path:
    """A file of two videos, `a` and `b`."""
    write_h5({"a": features, "b": features}, tmp_path / "f.h5")
    return tmp_path / "f.h5"


def test_video_of_several_must_be_named(of_two: Path) -> None:
    with pytest.raises(UsageError, match="has 2 videos"):
        read_features(of_two)


def test_unknown_video_of_several_is_refused_with_one_that_is_there(of_two: Path) -> None:
    with pytest.raises(InputError, match="no video 'c'") as refused:
        read_features(of_two, "c")
    assert refused.value.hint == f"name another, such as {of_two}#a"


def test_video_of_several_is_read(of_two: Path, features: Features) -> None:
    assert read_features(of_two, "b") == features


def test_name_of_a_video_that_is_not_utf_8_is_escaped(features: Features, tmp_path: Path) -> None:
    write_h5({os.fsdecode(b"caf\xe9"): features}, tmp_path / "f.h5")
    assert group_names(tmp_path / "f.h5") == [r"caf\udce9"]
    assert read_features(tmp_path / "f.h5", r"caf\udce9") == features


def test_empty_group_is_a_video_too(of_two: Path) -> None:
    with h5py.File(of_two, "a") as file:
        file.create_group("empty")
    assert group_names(of_two) == ["a", "b", "empty"]


def test_npz_without_times_has_two_features_a_second(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", features=np.ones((6, 2)))
    assert read_features(tmp_path / "bare.npz").timestamps[-1] == 2.5


def test_step_of_an_npz_is_between_its_times(tmp_path: Path) -> None:
    np.savez(tmp_path / "timed.npz", features=np.ones((3, 2)), timestamps=[0.0, 2.0, 4.0])
    assert read_features(tmp_path / "timed.npz").step_s == 2.0


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut short"])
def test_other_file_is_no_feature_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_features(tmp_path / name)
    assert refused.value.message == f"{tmp_path / name}: not a feature file (damaged, or another format)"


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
def test_missing_feature_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as refused:
        read_features(tmp_path / name)
    assert refused.value.message == f"{tmp_path / name}: no such file"


def test_npz_with_a_changed_byte_is_read_or_refused(tmp_path: Path) -> None:
    """One byte changed at a time: the faults that NumPy, zipfile and zlib find all end in the same error."""
    path = tmp_path / "f.npz"
    np.savez_compressed(path, features=np.eye(50, 8))
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 2):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            read_features(path)
        except InputError:
            refused += 1
    assert refused > 0


def test_h5_with_a_damaged_index_is_refused(features: Features, tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    write_features(features, path)
    path.write_bytes(path.read_bytes().replace(b"TREE", b"tree"))  # how each of its indexes begins
    with pytest.raises(InputError, match=r"f\.h5: not a feature file"):
        read_features(path)


def test_npz_without_features_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", other=np.ones(3))
    with pytest.raises(InputError, match="no array named features"):
        read_features(tmp_path / "f.npz")


def test_h5_without_a_video_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "none.h5", "w"):
        pass
    with pytest.raises(InputError, match=r"not a feature file \(it holds no video\)"):
        read_features(tmp_path / "none.h5")


def test_video_without_features_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_group("video_1")
    with pytest.raises(InputError, match="no dataset named features"):
        read_features(tmp_path / "empty.h5")


def test_features_are_not_written_in_another_format(features: Features, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a feature file"):
        write_features(features, tmp_path / "f.csv")


def test_features_are_not_written_into_a_missing_folder(features: Features, tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_features(features, tmp_path / "no" / "f.npz")


LARGE = Features.from_array(np.random.default_rng(0).normal(size=(100, 50)))  # 20 KB


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
@pytest.mark.parametrize("n_bytes", range(1000, 22_000, 3500))
def test_feature_file_that_does_not_fit_leaves_the_old_one(tmp_path: Path, name: str, n_bytes: int) -> None:
    target = tmp_path / name
    target.write_bytes(b"old")
    with files_up_to(n_bytes), pytest.raises(OutputError, match=rf"{name}: cannot be written"):
        write_features(LARGE, target, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
@pytest.mark.parametrize("size_kib", range(4, 24, 4))
def test_feature_file_on_a_full_disk_is_an_error_and_leaves_nothing(
    tmp_path: Path, name: str, size_kib: int
) -> None:
    """HDF5 used to crash the process: only a real disk shows it."""
    with small_disk(tmp_path / "disk", size_kib) as disk:
        with pytest.raises(OutputError, match="cannot be written"):
            write_features(LARGE, disk / name)
        assert not list(disk.iterdir())


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
def test_feature_file_on_a_disk_that_is_large_enough_is_written(tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        write_features(LARGE, disk / name)
        assert len(read_features(disk / name)) == len(LARGE)


@pytest.mark.parametrize(("duration_s", "n_frames"), [(0.001, 1), (2.0, 60)])
def test_features_without_a_video_have_at_least_one_frame(
    tmp_path: Path, duration_s: float, n_frames: int
) -> None:
    features = Features.from_array(np.ones((1, 3), np.float32), duration_s=duration_s)
    write_h5({"made": features}, tmp_path / "f.h5")
    assert read_group(tmp_path / "f.h5", "made")["n_frames"] == n_frames
