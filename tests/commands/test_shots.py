"""`vidsum shots`."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from tests.commands.conftest import Run
from vidsum.results.feature_files import write_features
from vidsum.results.feature_h5 import H5Video, write_h5
from vidsum.results.features import Features

SCHEMA = json.loads(Path(__file__).parents[2].joinpath("vidsum/schemas/shots.schema.json").read_text())


@pytest.fixture(autouse=True)
def without_weights(loads: list[str]) -> None:
    """No test here loads a real network."""


@pytest.fixture
def three_parts() -> Features:
    """Thirty seconds of three kinds of features, ten seconds each."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 16))
    return Features.from_array(np.repeat(centres, 20, axis=0) + rng.normal(0, 0.01, (60, 16)), fps=2.0)


def test_the_shots_of_a_video_are_found_and_written(run: Run, film: Path) -> None:
    ran = run("shots", film)
    assert ran.code == 0, ran.err
    document = json.loads(Path("film_shots.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert [shot["start_s"] for shot in document["shots"]] == [0, 2, 4, 6]
    assert document["shots"][-1]["end_s"] == 10
    assert (document["shots"][0]["first_frame"], document["shots"][-1]["last_frame"]) == (0, 249)
    assert "0:02.00" in ran.out


def test_features_made_elsewhere_are_cut_too(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_features(three_parts, tmp_path / "f.npz")
    document = run("shots", tmp_path / "f.npz", "-o", "-").json
    jsonschema.validate(document, SCHEMA)
    assert [shot["end_s"] for shot in document["shots"]] == [10, 20, 30]
    assert document["video"] is None


def test_one_video_of_an_h5_file(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_h5({"video_1": H5Video(three_parts), "video_2": H5Video(three_parts)}, tmp_path / "f.h5")
    assert run("shots", f"{tmp_path / 'f.h5'}#video_2").code == 0
    assert Path("video_2_shots.json").exists()
    unnamed = run("shots", tmp_path / "f.h5")
    assert unnamed.code == 2
    assert "f.h5#video_1" in unnamed.err


def test_limits_are_kept(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_features(three_parts, tmp_path / "f.npz")
    few = run("shots", tmp_path / "f.npz", "--max-shots", 2, "-o", "-").json["shots"]
    short = run("shots", tmp_path / "f.npz", "--max-shot", "4s", "-o", "-").json["shots"]
    assert len(few) == 2
    assert max(shot["end_s"] - shot["start_s"] for shot in short) <= 4


def test_transnetv2_needs_the_video(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_features(three_parts, tmp_path / "f.npz")
    ran = run("shots", tmp_path / "f.npz", "--shots", "transnetv2")
    assert ran.code == 2
    assert "give the video" in ran.err


@pytest.mark.parametrize(
    "arguments", [["--max-shots", "0"], ["--min-shot", "x"], ["--min-shot", "9", "--max-shot", "3"]]
)
def test_limits_that_make_no_sense_are_2(run: Run, film: Path, arguments: list[str]) -> None:
    assert run("shots", film, *arguments).code == 2


def test_a_limit_out_of_range_is_named_as_it_was_typed(run: Run, film: Path) -> None:
    ran = run("shots", film, "--max-shot", "0s")
    assert (ran.code, ran.err.splitlines()[0]) == (2, "error: --max-shot must be above 0, not 0s")
