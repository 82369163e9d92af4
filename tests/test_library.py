"""The library as its users meet it: signatures, wrong arguments, results that were pickled, frames, clips."""

import gc
import inspect
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests import media
from tests.media import make_video
from tests.results.made import results
from vidsum import device
from vidsum.errors import InputError, OutputError, UsageError
from vidsum.features.extractor import _registered
from vidsum.results.features import Features
from vidsum.results.moments import Moment

CALLS = {
    name: value if inspect.isfunction(value) else value.__init__
    for name in vidsum.__all__
    if callable(value := getattr(vidsum, name)) and name not in ("VidsumError", "Result")
}


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=250, sound=True).path


@pytest.fixture(scope="module")
def made(film: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A result of each kind, of the film and of features."""
    folder = tmp_path_factory.mktemp("made")
    matches: dict[str, Any] = {}
    for name, result in results(film, with_saliency=True):
        kind = name.rpartition("_")[2]
        if kind in ("summary.json", "shots.json"):
            result.save(folder / kind)
            matches[kind] = vidsum.load(folder / kind)
    features = Features.from_array(np.random.default_rng(0).normal(size=(20, 3)), 2.0, video=film)
    matches["moments"] = vidsum.ground(features, ["a", "b"], 2, encode_text=lambda texts: np.eye(3)[:2])
    matches["highlights"] = vidsum.find_highlights(features, top_k=2)
    return {**matches, "features": features}


@pytest.mark.parametrize("name", CALLS)
def test_signatures(name: str) -> None:
    signature = str(inspect.signature(CALLS[name]))
    assert "numpy." not in signature
    assert "collections.abc" not in signature
    assert len(signature) < 700


def test_pickled_results(made: dict[str, Any]) -> None:
    for result in made.values():
        again = pickle.loads(pickle.dumps(result))
        assert again == result
        assert hash(again) == hash(result)
        assert result != result.to_dict()
    summary = made["summary.json"]
    other = pickle.loads(pickle.dumps(summary))
    other.importance[3] += 0.1
    assert other != summary
    assert len({summary, other, pickle.loads(pickle.dumps(summary))}) == 2


@pytest.mark.parametrize("queries", [5, None, b"a dog", [5], ["a dog", None]])
def test_query_type_errors(film: Path, queries: Any) -> None:
    with pytest.raises(UsageError, match="queries must be") as refused:
        vidsum.ground(film, queries)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("option", "value", "fault"),
    [*((name, 5, name) for name in ("keep", "drop", "about")), ("snap", "speech", "have no speech")],
)
def test_list_type_errors(made: dict[str, Any], option: str, value: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        vidsum.summarize(made["features"], **{option: value})  # type: ignore[arg-type]


WRONG: dict[str, Callable[[Any], Any]] = {
    "write_video": lambda made: vidsum.write_video(made["shots.json"], "a.mp4"),
    "write_clips": lambda made: vidsum.write_clips(made["features"], "clips"),
    "write_storyboard": lambda made: vidsum.write_storyboard(made["shots.json"], "a.png", "b"),
    "write_plot": lambda made: vidsum.write_plot(made["shots.json"], "a.png"),
    "write_timeline": lambda made: vidsum.write_timeline(made["features"], "a.csv"),
    "write_report": lambda made: vidsum.write_report([], "a.html"),
    "write_json": lambda made: vidsum.write_json(made, "a.json"),  # type: ignore[arg-type]
    "write_features": lambda made: vidsum.write_features(made["summary.json"], "a.npz"),
    "write_audio_description": lambda made: vidsum.write_audio_description(made["shots.json"], "a.mp4"),
    "probe": lambda made: vidsum.probe(None),  # type: ignore[arg-type]
    "load": lambda made: vidsum.load(5),  # type: ignore[arg-type]
    "budget": lambda made: vidsum.summarize(made["features"], object()),  # type: ignore[arg-type]
    "register_extractor": lambda made: vidsum.register_extractor(made),  # type: ignore[arg-type]
    "from_array": lambda made: Features.from_array("abc"),
}


@pytest.mark.parametrize("name", WRONG)
def test_argument_type_errors(name: str, made: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"expected, not|not an array of numbers") as refused:
        WRONG[name](made)
    assert "\n" not in refused.value.message


READS: dict[str, Callable[[str], Any]] = {
    "probe": vidsum.probe,
    "extract": vidsum.extract,
    "find_shots": vidsum.find_shots,
    "summarize": vidsum.summarize,
    "find_highlights": vidsum.find_highlights,
    "ground": lambda path: vidsum.ground(path, "a dog"),
    "transcribe": vidsum.transcribe,
    "read_frames": lambda path: vidsum.read_frames(path, [0.0]),
    "Video": lambda path: vidsum.summarize(vidsum.Video(path)),
    "from_array": lambda path: Features.from_array(np.ones((4, 3)), video=path),
    "load": lambda path: vidsum.load(path.replace(".mp4", ".json")),
}


@pytest.mark.parametrize("name", READS)
def test_nul_in_input_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        READS[name](f"{tmp_path}/a\0b.mp4")


def test_nul_in_output_path(made: dict[str, Any], tmp_path: Path) -> None:
    path, summary = f"{tmp_path}/a\0b", made["summary.json"]
    for write in (
        lambda: summary.save(f"{path}.json"),
        lambda: vidsum.write_video(summary, f"{path}.mp4"),
        lambda: vidsum.write_timeline(summary, f"{path}.csv"),
        lambda: vidsum.write_storyboard(summary, tmp_path / "board.png", path),
        lambda: vidsum.write_clips(summary, path),
        lambda: vidsum.write_features(made["features"], f"{path}.npz"),
    ):
        with pytest.raises(OutputError):
            write()


def test_read_frames(film: Path) -> None:
    frames = vidsum.read_frames(film, [4.0, 0.0, 9.96, 99.0, -1.0])
    assert [media.read_number(frame) for frame in frames] == [100, 0, 249, 249, 0]
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((48, 64, 3), "uint8")}
    assert vidsum.read_frames(vidsum.Video(film), np.array([1.0]), max_side=32)[0].shape == (24, 32, 3)
    assert vidsum.read_frames(film, [1.0], max_side=5000)[0].shape == (48, 64, 3)
    assert vidsum.read_frames(film, []) == []


@pytest.mark.parametrize(
    ("source", "times", "max_side"),
    [
        *(("film.mp4", times, None) for times in ([float("nan")], 3.0, ["x"], None)),
        ("film.npz", [0.0], None),
        ("film.mp4", [0.0], 0),
    ],
)
def test_read_frames_errors(source: str, times: Any, max_side: int | None) -> None:
    with pytest.raises(UsageError):
        vidsum.read_frames(source, times, max_side=max_side)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (Features.from_array(np.ones((4, 3))), "features.video.path"),
        (np.ones((4, 3)), "Features.from_array"),
        (["a.mp4", "b.mp4"], "iter_results"),
    ],
)
def test_sources_that_are_no_path(source: Any, hint: str) -> None:
    with pytest.raises(UsageError, match="expected the path of a video") as refused:
        vidsum.read_frames(source, [0.0])
    assert hint in refused.value.hint


def test_names_of_clips(made: dict[str, Any], film: Path, tmp_path: Path) -> None:
    paths = vidsum.write_clips(made["moments"], tmp_path / "a" / "b")
    assert sorted(paths) == sorted((tmp_path / "a" / "b").glob("*.mp4"))
    names = [path.name for path in paths]
    assert len(names) == 4
    assert all("_film_0m0" in name for name in names)
    best = made["moments"].queries[0].moments[0]
    (text,) = {query.query for query in made["moments"].queries[:1]}
    clip = vidsum.probe(tmp_path / "a" / "b" / f"{text}_film_0m{int(best.start_s):02}s.mp4")
    assert clip.duration_s == pytest.approx(best.end_s - best.start_s, abs=0.04)
    highlights = replace(made["highlights"], moments=(Moment(2.0, 5.0, 0.3),))
    (path,) = vidsum.write_clips(highlights, tmp_path, "own")
    assert path.name == "highlight_own_0m02s.mp4"


def test_clips_of_summary_segments(film: Path, tmp_path: Path) -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(20, 3)), 2.0, video=film)
    summary = vidsum.summarize(features, "40%")
    paths = vidsum.write_clips(summary, tmp_path)
    assert [path.name[:16] for path in paths] == ["segment_film_0m0"] * len(summary.segments)
    lengths = [vidsum.probe(path).duration_s for path in paths]
    assert lengths == pytest.approx([end - start for start, end in summary.segments], abs=0.04)


def test_moments_of_single_query(made: dict[str, Any]) -> None:
    several = made["moments"]
    single = replace(several, queries=several.queries[:1])
    assert single.moments == several.queries[0].moments
    assert repr(single).startswith("Grounding(film.mp4: 2 moments of 1 query, by ")
    with pytest.raises(UsageError, match="moments of 2 queries"):
        _ = several.moments
    assert "array" not in repr(several.queries[0])


@pytest.mark.parametrize(("name", "function"), [("highlights", "find_highlights"), ("shots", "find_shots")])
def test_names_of_commands(name: str, function: str) -> None:
    for modules in ("vidsum", "vidsum, vidsum.shots.segmentation"):
        code = f"import {modules}; vidsum.{name}('film.mp4')"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert f"use vidsum.{function}" in ran.stderr.splitlines()[-1]


WRITES: dict[str, Callable[..., Any]] = {
    "film.mp4": lambda made, path, **options: vidsum.write_video(made["summary"], path, **options),
    "plot.png": lambda made, path, **options: vidsum.write_plot(made["summary"], path, **options),
    "plot.svg": lambda made, path, **options: vidsum.write_plot(made["summary"], path, **options),
    "list.edl": lambda made, path, **options: vidsum.write_timeline(made["summary"], path, **options),
    "page.html": lambda made, path, **options: vidsum.write_report(made["summary"], path, **options),
    "a.json": lambda made, path, **options: made["summary"].save(path, **options),
    "a.npz": lambda made, path, **options: vidsum.write_features(made["features"], path, **options),
    "board.png": lambda made, path, **options: vidsum.write_storyboard(
        made["summary"], path, path.with_name("pictures"), **options
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_foreign_files_are_refused(name: str, made: dict[str, Any], film: Path, tmp_path: Path) -> None:
    path, write = tmp_path / name, WRITES[name]
    results = {**made, "summary": vidsum.summarize(made["features"], "40%")}
    path.write_bytes(film.read_bytes() if name == "film.mp4" else b"{}")
    before = path.read_bytes()
    with pytest.raises(OutputError, match="already exists") as refused:
        write(results, path)
    assert refused.value.__notes__ == ["try: overwrite=True replaces it"]
    assert path.read_bytes() == before
    write(results, path, overwrite=True)
    after = path.read_bytes()
    assert after != before
    write(results, path)  # the same again replaces what vidsum wrote
    assert path.read_bytes() == after


def test_foreign_clips_are_refused(made: dict[str, Any], film: Path, tmp_path: Path) -> None:
    first, second, *_ = vidsum.write_clips(made["moments"], tmp_path)
    second.write_bytes(film.read_bytes())
    before = first.read_bytes()
    with pytest.raises(OutputError, match="already exists"):
        vidsum.write_clips(made["moments"], tmp_path, pad_s=1)
    assert first.read_bytes() == before
    vidsum.write_clips(made["moments"], tmp_path, overwrite=True)
    assert second.read_bytes() != film.read_bytes()


def test_edited_json_is_refused(made: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    made["moments"].save(path)
    made["highlights"].save(path)  # replaces what vidsum wrote
    path.write_text(path.read_text().replace("highlights", "hightlights"))
    with pytest.raises(OutputError, match="edited"):
        made["highlights"].save(path)


def test_unload_frees_networks() -> None:
    class Network:
        def __init__(self) -> None:
            self.layers = [self]  # a circle, as of modules and their hooks

    load = device.cached_model(1)(Network)
    alive = weakref.ref(load())
    gc.disable()
    try:
        vidsum.unload()
        assert alive() is None
    finally:
        gc.enable()
        device._loaders.remove(load)


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


def test_iter_results(films: list[Path], tmp_path: Path) -> None:
    summarizer = partial(vidsum.summarize, budget="30%", extractor="colour", device="cpu")
    stored: dict[str, Any] = {}
    for path, summary in vidsum.iter_results(summarizer, films):
        if isinstance(summary, vidsum.VidsumError):
            stored[path.stem] = summary.message
            continue
        vidsum.write_video(summary, tmp_path / f"{path.stem}_summary.mp4")
        stored[path.stem] = summary
    assert list(stored) == ["a", "b", "c"]
    assert str(films[1]) in str(stored["b"])
    assert vidsum.probe(tmp_path / "c_summary.mp4").duration_s == pytest.approx(
        stored["c"].duration_s, abs=0.05
    )
    begun = vidsum.iter_results(summarizer, iter(films))
    assert next(begun)[0] == films[0]  # before the others are looked at


def test_iter_results_ends_batch() -> None:
    def full(source: int) -> int:
        fault = vidsum.VidsumError("the disk is full")
        fault.ends_batch = True
        raise fault

    with pytest.raises(vidsum.VidsumError, match="full"):
        list(vidsum.iter_results(full, [1, 2]))
    with pytest.raises(vidsum.VidsumError, match="the step cannot be called"):
        list(vidsum.iter_results([1, 2], full))  # type: ignore[arg-type, var-annotated]


@pytest.mark.parametrize("source", ["film.mp4", Path("film.mp4"), vidsum.Video("film.mp4"), None])
def test_iter_results_of_a_single_source(source: Any) -> None:
    with pytest.raises(UsageError, match="expected a list of videos, not") as refused:
        list(vidsum.iter_results(vidsum.summarize, source))
    assert "[source]" in str(refused.value.hint)


def test_progress(films: list[Path]) -> None:
    def stop(what: str, done: float, total: float) -> None:
        calls.append((what, done, total))
        if len(calls) == 3:
            raise KeyboardInterrupt

    calls: list[tuple[str, float, float]] = []
    extract = partial(vidsum.extract, films[0], "colour", device="cpu", cache=False)
    with pytest.raises(KeyboardInterrupt):
        extract(progress=stop)
    assert len(calls) == 3
    assert all(0 <= done <= total for _, done, total in calls)
    assert extract(progress=None).array.any()  # the call after it
    with pytest.raises(UsageError, match="progress must be a function, not True"):
        extract(progress=True)  # type: ignore[arg-type]


def test_custom_features_and_scores(films: list[Path], tmp_path: Path) -> None:
    film = films[0]
    array = np.random.default_rng(0).normal(size=(20, 64))
    features = vidsum.Features.from_array(array, fps=2.0, video=film)
    summary = vidsum.summarize(features, "3s", model=lambda content: content.timestamps)
    vidsum.write_video(summary, tmp_path / "own.mp4")
    summary.save(tmp_path / "own.json")
    assert vidsum.load(tmp_path / "own.json").to_dict() == summary.to_dict()
    if find_spec("pandas"):
        assert summary.to_pandas()["end_s"].max() == pytest.approx(10)
