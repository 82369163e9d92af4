"""Programs as a Python developer writes them first: loops, own features, frames, clips, batches."""

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vidsum
from tests.media import make_video, read_number
from vidsum.features.extractor import _registered


def mean_colour(frames: np.ndarray) -> np.ndarray:
    return frames.mean(axis=(1, 2)) / 255


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Two films, and a file between them that is none; `colour` is an extractor that needs no weights."""
    folder = tmp_path_factory.mktemp("films")
    for name, n_frames in (("a.mp4", 250), ("c.mp4", 150)):
        make_video(folder / name, n_frames=n_frames, sound=True)
    (folder / "b.mp4").write_text("no video")
    vidsum.register_extractor(
        vidsum.CustomExtractor("colour", mean_colour, dim=3, fps=2.0, size=64, version="1")
    )
    yield sorted(folder.glob("*.mp4"))
    del _registered["colour"]


def test_summaries_of_a_folder_as_they_come(films: list[Path], tmp_path: Path) -> None:
    summarizer = vidsum.Summarizer(budget="30%", extractor="colour", device="cpu")
    kept = {}
    for path, summary in vidsum.iter_results(summarizer, films):
        if isinstance(summary, vidsum.VidsumError):
            kept[path.stem] = summary.message
            continue
        vidsum.write_video(summary, tmp_path / f"{path.stem}_summary.mp4")
        kept[path.stem] = summary
    assert list(kept) == ["a", "b", "c"]
    assert str(films[1]) in str(kept["b"])
    assert vidsum.probe(tmp_path / "c_summary.mp4").duration_s == pytest.approx(
        kept["c"].duration_s, abs=0.05
    )
    begun = vidsum.iter_results(summarizer, iter(films))
    assert next(begun)[0] == films[0]  # before the others are looked at


def test_a_fault_that_all_would_meet_ends_a_batch() -> None:
    def full(source: int) -> int:
        fault = vidsum.VidsumError("the disk is full")
        fault.ends_batch = True
        raise fault

    with pytest.raises(vidsum.VidsumError, match="full"):
        list(vidsum.iter_results(full, [1, 2]))
    with pytest.raises(vidsum.VidsumError, match="the step cannot be called"):
        list(vidsum.iter_results([1, 2], full))  # type: ignore[arg-type, var-annotated]


def test_own_features_and_scores_make_a_video(films: list[Path], tmp_path: Path) -> None:
    film = films[0]
    array = np.random.default_rng(0).normal(size=(20, 64))
    features = vidsum.Features.from_array(array, fps=2.0, video=film)
    summary = vidsum.summarize(features, "3s", model=lambda given: given.timestamps)
    vidsum.write_video(summary, tmp_path / "own.mp4")
    summary.save(tmp_path / "own.json")
    assert vidsum.load(tmp_path / "own.json").to_dict() == summary.to_dict()
    if find_spec("pandas"):
        assert summary.to_pandas()["end_s"].max() == pytest.approx(10)


def test_many_queries_on_one_video_and_their_clips(films: list[Path], tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(20, 64))
    features = vidsum.Features.from_array(array, fps=2.0, video=films[0])
    best = {}
    for query in ("a dog", "a cat"):
        found = vidsum.ground(features, query, 2, encode_text=lambda texts: np.ones((len(texts), 64)))
        moment = found.queries[0].moments[0]
        best[query] = (moment.start_s, moment.end_s)
        vidsum.write_clips(found, tmp_path, query.replace(" ", "_"), pad_s=0.2)
    assert {path.suffix for path in tmp_path.iterdir()} == {".mp4"}
    assert len(list(tmp_path.glob("a-dog*"))) == len(list(tmp_path.glob("a-cat*"))) >= 1
    assert json.loads(json.dumps(best)).keys() == best.keys()


def test_frames_of_shots_are_pictures(films: list[Path], tmp_path: Path) -> None:
    shots = vidsum.find_shots(films[0], extractor="colour", max_shot_s=4)
    for number, shot in enumerate(shots.intervals):
        first, last = vidsum.read_frames(films[0], shot)
        assert read_number(first) == round(25 * shot[0])
        assert read_number(last) == min(round(25 * shot[1]), 249)
        Image.fromarray(first).save(tmp_path / f"{number}.png")
    assert len(list(tmp_path.iterdir())) == len(shots.intervals) > 1


def test_results_from_workers_are_equal(films: list[Path]) -> None:
    def shots_of(path: Path) -> bytes:
        return pickle.dumps(vidsum.find_shots(path, extractor="colour"))

    with ThreadPoolExecutor(2) as workers:
        made = [pickle.loads(each) for each in workers.map(shots_of, [films[0], films[2]] * 2)]
    assert made[:2] == made[2:]
    assert made[0] != made[1]


def test_a_page_of_results_that_were_just_made(films: list[Path], tmp_path: Path) -> None:
    made = [
        vidsum.summarize(films[0], "30%", extractor="colour"),
        vidsum.find_shots(films[2], extractor="colour"),
    ]
    assert vidsum.write_report(made, tmp_path / "films.zip", title="Two films") == ()
    assert vidsum.write_report(made[0], tmp_path / "film.html", embed=True) == ()
    vidsum.unload()
