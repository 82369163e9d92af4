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


def test_shots_begin_at_the_cuts_of_a_film(run: Run, film: Path) -> None:
    run("shots", film)
    shots = read_valid("film_shots.json", "shots")["shots"]
    assert [shot["start_s"] for shot in shots] == [0, 2, 4, 6]
    assert shots[-1]["end_s"] == 10
    assert (shots[0]["first_frame"], shots[-1]["last_frame"]) == (0, 249)


def test_shots_are_printed_with_their_times(run: Run, film: Path) -> None:
    assert "0:02.00" in run("shots", film).out


def test_animated_webp_is_refused_with_a_remedy(run: Run) -> None:
    first, second = (Image.new("RGB", (64, 48), colour) for colour in ("red", "blue"))
    first.save("a.webp", save_all=True, append_images=[second])
    run("shots", "a.webp", code=3, error=("animated WebP", "GIF or MP4"))


@pytest.fixture
def features(three_parts: Features, tmp_path: Path) -> Path:
    """A file of the three kinds of features."""
    write_features(three_parts, tmp_path / "f.npz")
    return tmp_path / "f.npz"


def test_shots_of_features_begin_where_they_change(run: Run, features: Path) -> None:
    document = run("shots", features, "-o", "-").json
    check_schema(document, "shots")
    assert [shot["end_s"] for shot in document["shots"]] == [10, 20, 30]
    assert document["video"] is None


def test_shots_of_features_are_a_csv(run: Run, features: Path) -> None:
    run("shots", features, "-o", "shots.csv")
    assert Path("shots.csv").read_text().splitlines()[1] == "0.0,10.0,shot 1,,,,,,"


def test_group_of_an_h5_file_names_its_shots(run: Run, three_parts: Features, tmp_path: Path) -> None:
    write_h5({"video_1": three_parts, "video_2": three_parts}, tmp_path / "f.h5")
    run("shots", f"{tmp_path / 'f.h5'}#video_2")
    assert Path("video_2_shots.json").exists()
    run("shots", tmp_path / "f.h5", code=2, error="f.h5#video_1")


def test_number_of_shots_is_limited(run: Run, features: Path) -> None:
    assert len(run("shots", features, "--max-shots", 2, "-o", "-").json["shots"]) == 2


def test_length_of_shots_is_limited(run: Run, features: Path) -> None:
    shots = run("shots", features, "--max-shot", "4s", "-o", "-").json["shots"]
    assert max(shot["end_s"] - shot["start_s"] for shot in shots) <= 4


IMAGES = Path("film_shots_images_3")


def test_clips_and_images_of_shots_are_listed_and_then_unchanged(run: Run, film: Path) -> None:
    ask = ("shots", film, "--clips-dir", "cuts", "--images", "1", "--sheet")
    clips = [f"cuts/film-Scene-00{number}.mp4" for number in (1, 2, 3, 4)]
    named = {"json": ".json", "images": "_images_1", "sheet": "_sheet.png"}
    paths = {kind: f"film_shots{ending}" for kind, ending in named.items()}
    assert run(*ask, "--json").json["data"]["outputs"] == {**paths, "clips": clips}
    assert "unchanged" in run(*ask).out


def test_clips_of_shots_have_all_their_frames(run: Run, film: Path) -> None:
    run("shots", film, "--clips-dir", "cuts")
    assert [probe(str(clip)).n_frames for clip in sorted(Path("cuts").glob("*.mp4"))] == [50, 50, 50, 100]


def test_images_of_shots_have_the_names_of_pyscenedetect(run: Run, film: Path) -> None:
    run("shots", film, "--images", "3")
    names = [f"film-Scene-00{shot}-0{image}.jpg" for shot in (1, 2, 3, 4) for image in (1, 2, 3)]
    assert sorted(path.name for path in IMAGES.iterdir()) == names


def test_images_of_a_shot_are_of_no_other(run: Run, film: Path) -> None:
    run("shots", film, "--images", "3")
    numbers = (1, 2, 3)
    colours = [cv2.imread(str(IMAGES / f"film-Scene-002-0{n}.jpg")).mean(axis=(0, 1)) for n in numbers]
    np.testing.assert_allclose(colours, [colours[1]] * 3, atol=2)


def test_images_of_fewer_shots_replace_all_but_foreign_ones(run: Run, film: Path) -> None:
    run("shots", film, "--images", "1")
    folder = Path("film_shots_images_1")
    assert len(list(folder.iterdir())) == 4
    (folder / "mine.jpg").touch()
    run("shots", film, "--images", "1", "--max-shots", "1", "--overwrite")
    assert sorted(path.name for path in folder.iterdir()) == ["film-Scene-001-01.jpg", "mine.jpg"]


@pytest.mark.parametrize("arguments", [["-o", "f.h5"], ["--format", "h5", "--output-dir", "."]])
def test_h5_file_has_features_and_change_points(run: Run, film: Path, arguments: list[str]) -> None:
    run("extract", film, *arguments)
    (path,) = Path().glob("*.h5")
    assert len(read_features(path)) == 20
    points = read_group(path, "film")["change_points"]
    assert points[:, 0].tolist() == [0, 44, 94, 144]


@pytest.mark.usefixtures("empty_cache")
def test_second_extraction_takes_the_features_from_the_cache(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    Path("film_efficientnet_lite0.npz").rename("first.npz")
    run("extract", film)
    assert len(loads) == 1
    assert Path("film_efficientnet_lite0.npz").read_bytes() == Path("first.npz").read_bytes()


@pytest.mark.usefixtures("empty_cache")
def test_extraction_without_a_cache_computes_again(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    run("extract", film, "--no-cache", "-o", "again.npz")
    assert len(loads) == 2


def test_damaged_film_is_extracted_with_a_warning_unless_strict(run: Run, tmp_path: Path) -> None:
    half = _half(tmp_path)
    run("extract", half, error=("warning: ", "half.mp4"))
    run("extract", half, "--strict", "--overwrite", code=3)


def test_features_on_stdout_are_json_and_no_file(run: Run, film: Path) -> None:
    ran = run("extract", film, "-o", "-")
    check_schema(ran.json, "features")
    assert np.shape(ran.json["features"]) == (20, 1280)
    assert list(Path().iterdir()) == []


def test_npz_file_has_features_times_and_video(run: Run, film: Path) -> None:
    run("extract", film)
    features = read_features("film_efficientnet_lite0.npz")
    assert features.array.shape == (20, 1280)
    assert features.timestamps.tolist() == [k / 2 for k in range(20)]
    assert features.video is not None
    assert features.duration_s == 10.0


def test_npz_file_has_metadata_of_the_schema(run: Run, film: Path) -> None:
    run("extract", film)
    with np.load("film_efficientnet_lite0.npz") as data:
        check_schema(json.loads(str(data["metadata"])), "features")


def test_extraction_says_how_many_features_it_wrote(run: Run, film: Path) -> None:
    line = "film_efficientnet_lite0.npz: 20 features of 1280 numbers, one every 0.5 s\n"
    assert run("extract", film).out == line


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
