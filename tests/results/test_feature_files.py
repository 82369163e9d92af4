"""Features by the path of their file, and the name of a video in it."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import InputError, UsageError
from vidsum.results.feature_files import read_features
from vidsum.results.feature_h5 import write_h5
from vidsum.results.features import Features


def h5(path: Path, *names: str) -> Path:
    """A file whose videos have one to n features, in the order of their names."""
    write_h5({name: Features.from_array(np.ones((n, 2))) for n, name in enumerate(names, 1)}, path)
    return path


def test_only_video_of_a_file_needs_no_name(tmp_path: Path) -> None:
    assert len(read_features(h5(tmp_path / "a.h5", "video_1"))) == 1


def test_video_of_a_file_is_read_by_its_name(tmp_path: Path) -> None:
    path = h5(tmp_path / "a.h5", "video_1", "video_2", "video_3")
    assert [len(read_features(path, f"video_{n}")) for n in (1, 2, 3)] == [1, 2, 3]


def test_video_that_a_file_lacks_is_refused_with_one_that_it_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no video 'video_9'") as raised:
        read_features(h5(tmp_path / "a.h5", "video_1"), "video_9")
    assert str(raised.value.hint).endswith("a.h5#video_1")


def test_video_of_several_must_have_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has 2 videos"):
        read_features(h5(tmp_path / "a.h5", "video_1", "video_2"))
