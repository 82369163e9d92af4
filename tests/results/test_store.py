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
from vidsum.results.feature_files import is_feature_file, read_features, write_features
from vidsum.results.feature_h5 import group_names, write_h5
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
def test_write_features_round_trip(features: Features, tmp_path: Path, name: str, video: str) -> None:
    named = replace(features, video=replace(VIDEO, path=video))
    (tmp_path / "again").mkdir()
    for path in (tmp_path / name, tmp_path / "again" / name):
        write_features(named, path)
        assert read_features(path) == named
        assert is_feature_file(str(path))
    assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_write_npz_for_numpy(features: Features, tmp_path: Path) -> None:
    write_features(features, tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as data:
        assert sorted(data.files) == ["embeddings", "features", "logits", "metadata", "timestamps"]
        np.testing.assert_array_equal(data["features"], features.array)


def test_write_h5_layout(features: Features, tmp_path: Path) -> None:
    annotations = {"change_points": [[0, 149], [150, 299]], "user_summary": np.zeros((2, 300), np.float32)}
    write_h5({"video_1": features}, tmp_path / "f.h5", {"video_1": annotations})
    with h5py.File(tmp_path / "f.h5") as file:
        group = file["video_1"]
        assert group["picks"][:3].tolist() == [0, 15, 30]
        assert (int(group["n_frames"][()]), int(group["n_steps"][()])) == (300, 20)
        assert group["n_frame_per_seg"][:].tolist() == [150, 150]
        assert group["user_summary"].shape == (2, 300)


def test_read_published_h5(tmp_path: Path) -> None:
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


def test_read_h5_of_several_videos(features: Features, tmp_path: Path) -> None:
    write_h5({"a": features, "b": features}, tmp_path / "f.h5")
    with pytest.raises(UsageError, match="has 2 videos"):
        read_features(tmp_path / "f.h5")
    with pytest.raises(InputError, match="no video 'c'") as refused:
        read_features(tmp_path / "f.h5", "c")
    assert refused.value.hint == f"name another, such as {tmp_path / 'f.h5'}#a"
    assert read_features(tmp_path / "f.h5", "b") == features
    write_h5({os.fsdecode(b"caf\xe9"): features}, tmp_path / "f.h5")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file.create_group("empty")
    assert group_names(tmp_path / "f.h5") == [r"caf\udce9", "empty"]
    assert read_features(tmp_path / "f.h5", r"caf\udce9") == features
    assert is_feature_file("a.h5#video_1")
    assert not any(map(is_feature_file, ("dir.npz/a.mp4", "a.mp4")))


def test_read_bare_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", features=np.ones((6, 2)))
    assert read_features(tmp_path / "bare.npz").timestamps[-1] == 2.5
    np.savez(tmp_path / "timed.npz", features=np.ones((3, 2)), timestamps=[0.0, 2.0, 4.0])
    assert read_features(tmp_path / "timed.npz").step_s == 2.0


@pytest.mark.parametrize("name", ["f.npz", "f.h5"])
@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 cut short", None])
def test_read_features_other_files(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    reason = "no such file" if content is None else "not a feature file (damaged, or another format)"
    with pytest.raises(InputError) as refused:
        read_features(tmp_path / name)
    assert refused.value.message == f"{tmp_path / name}: {reason}"


def test_read_features_damaged_npz(tmp_path: Path) -> None:
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


def test_read_features_damaged_h5(features: Features, tmp_path: Path) -> None:
    path = tmp_path / "f.h5"
    write_features(features, path)
    path.write_bytes(path.read_bytes().replace(b"TREE", b"tree"))  # how each of its indexes begins
    with pytest.raises(InputError, match=r"f\.h5: not a feature file"):
        read_features(path)


def test_read_features_missing_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", other=np.ones(3))
    with h5py.File(tmp_path / "none.h5", "w"):
        pass
    with h5py.File(tmp_path / "empty.h5", "w") as file:
        file.create_group("video_1")
    for name, fault in (
        ("f.npz", "no array named features"),
        ("none.h5", r"not a feature file \(it holds no video\)"),
        ("empty.h5", "no dataset named features"),
    ):
        with pytest.raises(InputError, match=fault):
            read_features(tmp_path / name)


def test_write_features_errors(features: Features, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a feature file"):
        write_features(features, tmp_path / "f.csv")
    with pytest.raises(OutputError):
        write_features(features, tmp_path / "no" / "f.npz")


LARGE = Features.from_array(np.random.default_rng(0).normal(size=(100, 50)))  # 20 KB


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
@pytest.mark.parametrize("n_bytes", range(1000, 22_000, 3500))
def test_write_features_too_large(tmp_path: Path, name: str, n_bytes: int) -> None:
    target = tmp_path / name
    target.write_bytes(b"old")
    with files_up_to(n_bytes), pytest.raises(OutputError, match=rf"{name}: cannot be written"):
        write_features(LARGE, target, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
def test_write_features_to_a_full_disk(tmp_path: Path, name: str) -> None:
    """HDF5 used to crash the process: only a real disk shows it."""
    for kib in range(4, 24, 4):
        with small_disk(tmp_path / f"disk{kib}", kib) as disk:
            with pytest.raises(OutputError, match="cannot be written"):
                write_features(LARGE, disk / name)
            assert not list(disk.iterdir())
    with small_disk(tmp_path / "disk", 64) as disk:
        write_features(LARGE, disk / name)
        assert len(read_features(disk / name)) == len(LARGE)
