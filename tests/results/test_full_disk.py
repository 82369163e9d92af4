"""Feature files on a disk that is full: one error, nothing left behind, and the process goes on."""

from pathlib import Path

import numpy as np
import pytest

from tests.full_disk import files_up_to, small_disk
from vidsum.errors import OutputError
from vidsum.results.feature_files import read_features, write_features
from vidsum.results.features import Features

FEATURES = Features.from_array(np.random.default_rng(0).normal(size=(100, 50)))  # 20 KB


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
@pytest.mark.parametrize("n_bytes", range(1000, 22_000, 3500))
def test_a_file_that_does_not_fit_is_told_and_leaves_nothing(tmp_path: Path, name: str, n_bytes: int) -> None:
    target = tmp_path / name
    target.write_bytes(b"old")
    with files_up_to(n_bytes), pytest.raises(OutputError, match=rf"{name}: cannot be written"):
        write_features(FEATURES, target)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["f.h5", "f.npz"])
def test_on_a_disk_that_fills_up(tmp_path: Path, name: str) -> None:
    """HDF5 used to crash the process: only a real disk shows it."""
    for kib in range(4, 24, 4):
        with small_disk(tmp_path / f"disk{kib}", kib) as disk:
            with pytest.raises(OutputError, match="cannot be written"):
                write_features(FEATURES, disk / name)
            assert not list(disk.iterdir())
    with small_disk(tmp_path / "disk", 64) as disk:
        write_features(FEATURES, disk / name)
        assert len(read_features(disk / name)) == len(FEATURES)
