"""Documents and features from Python: the rule of ownership that the command line has."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import vidsum
from vidsum.errors import OutputError
from vidsum.outputs.artifacts import Artifacts
from vidsum.results.features import Features
from vidsum.results.result import Result

FEATURES = Features.from_array(np.eye(4), fps=2.0)


def write_some(_: object, path: Path) -> tuple[str, ...]:
    path.write_text("text")
    return ()


@pytest.fixture
def summary() -> Result:
    return vidsum.summarize(FEATURES, "40%")


@pytest.fixture
def with_file(summary: Result, tmp_path: Path) -> Artifacts:
    """A document that lists another file."""
    artifacts = Artifacts(tmp_path / "r.json", {"json": tmp_path / "r.json", "text": tmp_path / "a.txt"})
    artifacts.write(summary, {"text": write_some}, compose=lambda _: (summary.to_dict(), lambda name: False))
    return artifacts


def test_a_document_written_again_still_lists_its_files(with_file: Artifacts) -> None:
    before = with_file.record.read_bytes()
    vidsum.write_json(vidsum.load(with_file.record), with_file.record)
    assert with_file.record.read_bytes() == before
    assert with_file.owns(with_file.files["text"])


def test_another_result_of_the_name_still_lists_the_files(with_file: Artifacts) -> None:
    vidsum.write_json(vidsum.find_highlights(FEATURES, top_k=2), with_file.record)
    assert vidsum.load(with_file.record).kind == "highlights"
    assert with_file.owns(with_file.files["text"])


def test_a_file_that_was_edited_is_no_longer_listed(with_file: Artifacts) -> None:
    with_file.files["text"].write_text("mine")
    vidsum.write_json(vidsum.find_highlights(FEATURES, top_k=2), with_file.record)
    assert with_file.read()[1] == {}


def edit_npz(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"mine")


def edit_by_hand(path: Path) -> None:
    with np.load(path) as arrays:
        np.savez(path, **{**arrays, "features": arrays["features"] + 1})


@pytest.mark.parametrize("edit", [edit_npz, edit_by_hand])
def test_edited_features_are_foreign(edit: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    vidsum.write_features(FEATURES, path)
    vidsum.write_features(Features.from_array(np.eye(3), fps=2.0), path)
    edit(path)
    before = path.read_bytes()
    with pytest.raises(OutputError, match="already exists"):
        vidsum.write_features(FEATURES, path)
    assert path.read_bytes() == before


def test_features_of_others_are_foreign(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", features=np.ones((2, 3), np.float32))
    with pytest.raises(OutputError, match="already exists"):
        vidsum.write_features(FEATURES, tmp_path / "f.npz")


def test_h5_of_features_without_a_video_has_the_name_of_the_file(tmp_path: Path) -> None:
    vidsum.write_features(FEATURES, tmp_path / "f.h5")
    assert vidsum.read_features(tmp_path / "f.h5", "f") == vidsum.read_features(tmp_path / "f.h5")
