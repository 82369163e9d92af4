"""`vidsum shots`, `vidsum extract`, and training on what it writes."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from tests import media
from tests.lab.datasets.made import write_mat
from tests.program import Run, check_schema, read_valid
from vidsum.outputs.alone import write_features
from vidsum.results.feature_files import read_features
from vidsum.results.feature_h5 import read_group, write_h5
from vidsum.results.features import Features
from vidsum.video.probe import probe

pytestmark = pytest.mark.usefixtures("known_film")


@pytest.fixture
def three_parts() -> Features:
    """Thirty seconds of three kinds of features, ten seconds each."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 16))
    return Features.from_array(np.repeat(centres, 20, axis=0) + rng.normal(0, 0.01, (60, 16)), fps=2.0)


def test_shots_of_video(run: Run, film: Path) -> None:
    ran = run("shots", film)
    document = read_valid("film_shots.json", "shots")
    assert [shot["start_s"] for shot in document["shots"]] == [0, 2, 4, 6]
    assert document["shots"][-1]["end_s"] == 10
    assert (document["shots"][0]["first_frame"], document["shots"][-1]["last_frame"]) == (0, 249)
    assert "0:02.00" in ran.out
    first, second = (Image.new("RGB", (64, 48), colour) for colour in ("red", "blue"))
    first.save("a.webp", save_all=True, append_images=[second])
    run("shots", "a.webp", code=3, error=("animated WebP", "GIF or MP4"))


def test_shots_of_features(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_features(three_parts, tmp_path / "f.npz")
    document = run("shots", tmp_path / "f.npz", "-o", "-").json
    check_schema(document, "shots")
    assert [shot["end_s"] for shot in document["shots"]] == [10, 20, 30]
    assert document["video"] is None
    run("shots", tmp_path / "f.npz", "-o", "shots.csv")
    assert Path("shots.csv").read_text().splitlines()[1] == "0.0,10.0,shot 1,,,,,,"
    write_h5({"video_1": three_parts, "video_2": three_parts}, tmp_path / "f.h5")
    run("shots", f"{tmp_path / 'f.h5'}#video_2")
    assert Path("video_2_shots.json").exists()
    run("shots", tmp_path / "f.h5", code=2, error="f.h5#video_1")
    write_features(three_parts, tmp_path / "f.npz")
    few = run("shots", tmp_path / "f.npz", "--max-shots", 2, "-o", "-").json["shots"]
    short = run("shots", tmp_path / "f.npz", "--max-shot", "4s", "-o", "-").json["shots"]
    assert len(few) == 2
    assert max(shot["end_s"] - shot["start_s"] for shot in short) <= 4


def test_shot_files_of_pyscenedetect(run: Run, film: Path) -> None:
    ask = ("shots", film, "--clips-dir", "cuts", "--images", "3", "--sheet")
    ran = run(*ask, "--json")
    clips = [f"cuts/film-Scene-00{number}.mp4" for number in (1, 2, 3, 4)]
    named = {"json": "", "images": "_images_3", "sheet": "_sheet.png"}
    paths = {kind: f"film_shots{ending or '.json'}" for kind, ending in named.items()}
    assert ran.json["data"]["outputs"] == {**paths, "clips": clips}
    assert [probe(clip).n_frames for clip in clips] == [50, 50, 50, 100]
    images = sorted(path.name for path in Path("film_shots_images_3").iterdir())
    assert images[:4] == [
        f"film-Scene-00{shot}-0{image}.jpg" for shot, image in ((1, 1), (1, 2), (1, 3), (2, 1))
    ]
    assert len(images) == 12
    colours = [
        cv2.imread(f"film_shots_images_3/film-Scene-002-0{number}.jpg").mean(axis=(0, 1))
        for number in (1, 2, 3)
    ]
    np.testing.assert_allclose(colours, [colours[1]] * 3, atol=2)  # none is of the shot before or after
    assert "unchanged" in run(*ask).out
    run("shots", film, "--images", "1", "--overwrite")
    assert len(list(Path("film_shots_images_1").iterdir())) == 4
    Path("film_shots_images_1/mine.jpg").touch()
    run("shots", film, "--images", "1", "--max-shots", "1", "--overwrite")
    left = sorted(path.name for path in Path("film_shots_images_1").iterdir())
    assert left == ["film-Scene-001-01.jpg", "mine.jpg"]


@pytest.mark.parametrize("arguments", [["-o", "f.h5"], ["--format", "h5", "--output-dir", "."]])
def test_features_as_h5(run: Run, film: Path, arguments: list[str]) -> None:
    run("extract", film, *arguments)
    (path,) = Path().glob("*.h5")
    assert len(read_features(path)) == 20
    points = read_group(path, "film")["change_points"]
    assert points[:, 0].tolist() == [0, 44, 94, 144]


@pytest.mark.usefixtures("empty_cache")
def test_extract_cache(run: Run, film: Path, loads: list[str], tmp_path: Path) -> None:
    run("extract", film)
    Path("film_efficientnet_lite0.npz").rename("first.npz")
    run("extract", film)
    assert len(loads) == 1
    assert Path("film_efficientnet_lite0.npz").read_bytes() == Path("first.npz").read_bytes()
    run("extract", film, "--no-cache", "--overwrite", "-o", "third.npz")
    assert len(loads) == 2
    half = _half(tmp_path)
    run("extract", half, error=("warning: ", "half.mp4"))
    run("extract", half, "--strict", "--overwrite", code=3)


def test_extract_npz_and_to_stdout(run: Run, film: Path) -> None:
    ran = run("extract", film, "-o", "-")
    check_schema(ran.json, "features")
    assert np.shape(ran.json["features"]) == (20, 1280)
    assert list(Path().iterdir()) == []
    ran = run("extract", film)
    features = read_features("film_efficientnet_lite0.npz")
    assert features.array.shape == (20, 1280)
    assert features.timestamps.tolist() == [k / 2 for k in range(20)]
    assert features.video is not None
    assert features.duration_s == 10.0
    assert ran.out == "film_efficientnet_lite0.npz: 20 features of 1280 numbers, one every 0.5 s\n"
    with np.load("film_efficientnet_lite0.npz") as data:
        check_schema(json.loads(str(data["metadata"])), "features")


def _half(folder: Path) -> Path:
    whole = media.make_video(
        folder / "whole.mp4", n_frames=250, container_options={"movflags": "+faststart"}
    ).path
    return media.cut_short(whole, folder / "half.mp4", 0.6)


@pytest.mark.deep
def test_train_on_extracted_folder(run: Run, loads: list[str], tmp_path: Path) -> None:
    scores = {}
    for number in range(5):
        name = f"id_{number}"
        media.make_video(tmp_path / f"{name}.mp4", n_frames=100 + number)
        scores[name] = np.random.default_rng(number).integers(1, 6, (3, 100 + number)).astype(float)
        extract = ("extract", tmp_path / f"{name}.mp4", "--device", "cpu", "--format", "h5")
        run(*extract, "--output-dir", "tvsum")
    mat = write_mat(Path("ydata.mat"), scores, fps=25.0)
    bare = run("train", "ridge", "--data", "tvsum", "--out", "run", code=3)
    assert "id_0 has no gtscore" in bare.err
    assert "--annotations" in bare.err
    measured = run("evaluate", "summary", "--data", "tvsum", "--annotations", mat, "--seeds", 1, "--json")
    assert len(measured.json["data"]["provenance"]["files"]) == 6
    source = ("--data", "tvsum", "--annotations", mat, "--penalty", 1)
    run("train", "ridge", *source, "--out", "run", "--split", 0)
    twice = run("train", "ridge", *source, "--annotations", mat, "--out", "run", code=2)
    assert "1 of 1 --data lack gtscore" in twice.err
