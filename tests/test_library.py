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
from vidsum.results.summary import Summary

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
            vidsum.write_json(result, folder / kind)
            matches[kind] = vidsum.load(folder / kind)
    features = Features.from_array(np.random.default_rng(0).normal(size=(20, 3)), 2.0, video=film)
    matches["moments"] = vidsum.ground(features, ["a", "b"], 2, encode_text=lambda texts: np.eye(3)[:2])
    matches["highlights"] = vidsum.find_highlights(features, top_k=2)
    return {**matches, "features": features}


SIGNATURES = {name: str(inspect.signature(call)) for name, call in CALLS.items()}


@pytest.mark.parametrize("name", CALLS)
def test_signature_names_public_types(name: str) -> None:
    assert "numpy." not in SIGNATURES[name]
    assert "collections.abc" not in SIGNATURES[name]


@pytest.mark.parametrize("name", CALLS)
def test_signature_is_short_enough_to_read(name: str) -> None:
    assert len(SIGNATURES[name]) < 700


KINDS = ("summary.json", "shots.json", "moments", "highlights", "features")


@pytest.mark.parametrize("kind", KINDS)
def test_pickled_result_is_equal(kind: str, made: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(made[kind]))
    assert again == made[kind]
    assert hash(again) == hash(made[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_result_is_not_equal_to_its_dictionary(kind: str, made: dict[str, Any]) -> None:
    assert made[kind] != made[kind].to_dict()


def test_results_with_other_numbers_differ(made: dict[str, Any]) -> None:
    summary = made["summary.json"]
    other = pickle.loads(pickle.dumps(summary))
    other.importance[3] += 0.1
    assert other != summary
    assert len({summary, other, pickle.loads(pickle.dumps(summary))}) == 2


@pytest.mark.parametrize("queries", [5, None, b"a dog", [5], ["a dog", None]], ids=str)
def test_queries_that_are_no_texts_are_refused(film: Path, queries: Any) -> None:
    with pytest.raises(UsageError, match="queries must be") as refused:
        vidsum.ground(film, queries)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("option", ["keep", "drop", "about"])
def test_list_option_that_is_a_number_is_refused(made: dict[str, Any], option: str) -> None:
    with pytest.raises(UsageError, match=option):
        vidsum.summarize(made["features"], **{option: 5})  # type: ignore[arg-type]


def test_speech_of_features_is_refused(made: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="have no speech"):
        vidsum.summarize(made["features"], snap="speech")


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
def test_argument_of_another_type_is_refused(name: str, made: dict[str, Any]) -> None:
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
def test_nul_in_an_input_path_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        READS[name](f"{tmp_path}/a\0b.mp4")


WRITES_TO: dict[str, Callable[[dict[str, Any], str], Any]] = {
    "write_json": lambda made, path: vidsum.write_json(made["summary.json"], f"{path}.json"),
    "write_video": lambda made, path: vidsum.write_video(made["summary.json"], f"{path}.mp4"),
    "write_timeline": lambda made, path: vidsum.write_timeline(made["summary.json"], f"{path}.csv"),
    "write_storyboard": lambda made, path: vidsum.write_storyboard(
        made["summary.json"], Path(path).with_name("board.png"), path
    ),
    "write_clips": lambda made, path: vidsum.write_clips(made["summary.json"], path),
    "write_features": lambda made, path: vidsum.write_features(made["features"], f"{path}.npz"),
}


@pytest.mark.parametrize("name", WRITES_TO)
def test_nul_in_an_output_path_is_refused(name: str, made: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        WRITES_TO[name](made, f"{tmp_path}/a\0b")


def test_frames_are_read_at_times_and_at_the_ends_outside(film: Path) -> None:
    frames = vidsum.read_frames(film, [4.0, 0.0, 9.96, 99.0, -1.0])
    assert [media.read_number(frame) for frame in frames] == [100, 0, 249, 249, 0]
    assert {(frame.shape, frame.dtype.name) for frame in frames} == {((48, 64, 3), "uint8")}


def test_frames_are_read_of_a_video_at_times_in_an_array(film: Path) -> None:
    (frame,) = vidsum.read_frames(vidsum.Video(film), np.array([1.0]))
    assert media.read_number(frame) == 25


@pytest.mark.parametrize(("max_side", "shape"), [(32, (24, 32, 3)), (5000, (48, 64, 3))])
def test_frames_are_made_smaller_but_not_larger(max_side: int, shape: tuple[int, ...], film: Path) -> None:
    assert vidsum.read_frames(film, [1.0], max_side=max_side)[0].shape == shape


def test_no_times_read_no_frames(film: Path) -> None:
    assert vidsum.read_frames(film, []) == []


@pytest.mark.parametrize("times", [[float("nan")], 3.0, ["x"], None], ids=str)
def test_times_that_are_no_list_of_numbers_are_refused(times: Any) -> None:
    with pytest.raises(UsageError):
        vidsum.read_frames("film.mp4", times)


def test_frames_of_features_are_refused() -> None:
    with pytest.raises(UsageError):
        vidsum.read_frames("film.npz", [0.0])


def test_frames_of_no_pixels_are_refused() -> None:
    with pytest.raises(UsageError):
        vidsum.read_frames("film.mp4", [0.0], max_side=0)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        (Features.from_array(np.ones((4, 3))), "features.video.path"),
        (np.ones((4, 3)), "Features.from_array"),
        (["a.mp4", "b.mp4"], "iter_results"),
    ],
    ids=["features", "an array", "a list"],
)
def test_source_that_is_no_path_is_refused_with_what_to_do(source: Any, hint: str) -> None:
    with pytest.raises(UsageError, match="expected the path of a video") as refused:
        vidsum.read_frames(source, [0.0])
    assert hint in refused.value.hint


@pytest.fixture(scope="module")
def moment_clips(made: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Clips of the two moments of two queries, in a folder that was not there."""
    return vidsum.write_clips(made["moments"], tmp_path_factory.mktemp("clips") / "a" / "b")


def test_clips_of_moments_are_the_files_of_their_folder(moment_clips: list[Path]) -> None:
    assert len(moment_clips) == 4
    assert sorted(moment_clips) == sorted(moment_clips[0].parent.glob("*.mp4"))


def test_clip_of_a_moment_is_named_by_query_film_and_time(
    moment_clips: list[Path], made: dict[str, Any]
) -> None:
    query = made["moments"].queries[0]
    best = query.moments[0]
    name = f"{query.query}_film_0m{int(best.start_s):02}s.mp4"
    clip = vidsum.probe(moment_clips[0].with_name(name))
    assert clip.duration_s == pytest.approx(best.end_s - best.start_s, abs=0.04)
    assert all("_film_0m0" in path.name for path in moment_clips)


def test_clip_is_named_by_the_given_name(made: dict[str, Any], tmp_path: Path) -> None:
    highlights = replace(made["highlights"], moments=(Moment(2.0, 5.0, 0.3),))
    (path,) = vidsum.write_clips(highlights, tmp_path, "own")
    assert path.name == "highlight_own_0m02s.mp4"


def test_clips_of_a_summary_are_its_segments(film: Path, tmp_path: Path) -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(20, 3)), 2.0, video=film)
    summary = vidsum.summarize(features, "40%")
    paths = vidsum.write_clips(summary, tmp_path)
    assert [path.name[:16] for path in paths] == ["segment_film_0m0"] * len(summary.segments)
    lengths = [vidsum.probe(path).duration_s for path in paths]
    assert lengths == pytest.approx([end - start for start, end in summary.segments], abs=0.04)


def test_moments_of_a_single_query(made: dict[str, Any]) -> None:
    several = made["moments"]
    single = replace(several, queries=several.queries[:1])
    assert single.moments == several.queries[0].moments


def test_moments_of_several_queries_are_refused(made: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="moments of 2 queries"):
        _ = made["moments"].moments


def test_result_in_a_prompt_is_one_line_without_arrays(made: dict[str, Any]) -> None:
    several = made["moments"]
    single = replace(several, queries=several.queries[:1])
    assert repr(single).startswith("Grounding(film.mp4: 2 moments of 1 query, by ")
    assert "array" not in repr(several.queries[0])


@pytest.mark.parametrize(("name", "function"), [("highlights", "find_highlights"), ("shots", "find_shots")])
@pytest.mark.parametrize("modules", ["vidsum", "vidsum, vidsum.shots.segmentation"])
def test_name_of_a_command_leads_to_its_function(name: str, function: str, modules: str) -> None:
    code = f"import {modules}; vidsum.{name}('film.mp4')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"use vidsum.{function}" in ran.stderr.splitlines()[-1]


WRITES: dict[str, Callable[..., Any]] = {
    "film.mp4": lambda made, path, **options: vidsum.write_video(made["summary"], path, **options),
    "plot.png": lambda made, path, **options: vidsum.write_plot(made["summary"], path, **options),
    "plot.svg": lambda made, path, **options: vidsum.write_plot(made["summary"], path, **options),
    "list.edl": lambda made, path, **options: vidsum.write_timeline(made["summary"], path, **options),
    "page.html": lambda made, path, **options: vidsum.write_report(made["summary"], path, **options),
    "a.json": lambda made, path, **options: vidsum.write_json(made["summary"], path, **options),
    "a.npz": lambda made, path, **options: vidsum.write_features(made["features"], path, **options),
    "board.png": lambda made, path, **options: vidsum.write_storyboard(
        made["summary"], path, path.with_name("pictures"), **options
    ),
}


@pytest.fixture(scope="module")
def writable(made: dict[str, Any]) -> dict[str, Any]:
    return {**made, "summary": vidsum.summarize(made["features"], "40%")}


def put_foreign(path: Path, film: Path) -> bytes:
    """Write a file that vidsum did not make, and return its content."""
    path.write_bytes(film.read_bytes() if path.name == "film.mp4" else b"{}")
    return path.read_bytes()


@pytest.mark.parametrize("name", WRITES)
def test_file_of_others_is_not_replaced(
    name: str, writable: dict[str, Any], film: Path, tmp_path: Path
) -> None:
    before = put_foreign(tmp_path / name, film)
    with pytest.raises(OutputError, match="already exists") as refused:
        WRITES[name](writable, tmp_path / name)
    assert refused.value.__notes__ == ["try: overwrite=True replaces it"]
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("name", WRITES)
def test_file_of_others_is_replaced_with_overwrite(
    name: str, writable: dict[str, Any], film: Path, tmp_path: Path
) -> None:
    before = put_foreign(tmp_path / name, film)
    WRITES[name](writable, tmp_path / name, overwrite=True)
    assert (tmp_path / name).read_bytes() != before


@pytest.mark.parametrize("name", WRITES)
def test_own_file_is_replaced_by_the_same_bytes(name: str, writable: dict[str, Any], tmp_path: Path) -> None:
    WRITES[name](writable, tmp_path / name)
    before = (tmp_path / name).read_bytes()
    WRITES[name](writable, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


@pytest.fixture
def clips_with_foreign(made: dict[str, Any], film: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two of the clips of `moments`, of which the second was replaced by another film."""
    first, second, *_ = vidsum.write_clips(made["moments"], tmp_path)
    second.write_bytes(film.read_bytes())
    return first, second


def test_no_clip_is_replaced_where_one_is_of_others(
    clips_with_foreign: tuple[Path, Path], made: dict[str, Any], tmp_path: Path
) -> None:
    before = clips_with_foreign[0].read_bytes()
    with pytest.raises(OutputError, match="already exists"):
        vidsum.write_clips(made["moments"], tmp_path, pad_s=1)
    assert clips_with_foreign[0].read_bytes() == before


def test_clip_of_others_is_replaced_with_overwrite(
    clips_with_foreign: tuple[Path, Path], made: dict[str, Any], film: Path, tmp_path: Path
) -> None:
    vidsum.write_clips(made["moments"], tmp_path, overwrite=True)
    assert clips_with_foreign[1].read_bytes() != film.read_bytes()


def test_json_of_another_result_is_replaced(made: dict[str, Any], tmp_path: Path) -> None:
    vidsum.write_json(made["moments"], tmp_path / "a.json")
    vidsum.write_json(made["highlights"], tmp_path / "a.json")
    assert vidsum.load(tmp_path / "a.json").to_dict() == made["highlights"].to_dict()


def test_edited_json_is_not_replaced(made: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    vidsum.write_json(made["highlights"], path)
    path.write_text(path.read_text().replace("highlights", "hightlights"))
    with pytest.raises(OutputError, match="edited"):
        vidsum.write_json(made["highlights"], path)


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


SUMMARIZER = partial(vidsum.summarize, budget="30%", extractor="colour", device="cpu")


@pytest.fixture(scope="module")
def batch(films: list[Path]) -> dict[str, Any]:
    """What `iter_results` gave for each film, by its name."""
    return {path.stem: result for path, result in vidsum.iter_results(SUMMARIZER, films)}


def test_batch_goes_on_behind_a_broken_file(batch: dict[str, Any], films: list[Path]) -> None:
    assert list(batch) == ["a", "b", "c"]
    assert isinstance(batch["b"], vidsum.VidsumError)
    assert str(films[1]) in batch["b"].message


def test_results_of_a_batch_can_be_written(batch: dict[str, Any], tmp_path: Path) -> None:
    vidsum.write_video(batch["c"], tmp_path / "c.mp4")
    assert vidsum.probe(tmp_path / "c.mp4").duration_s == pytest.approx(batch["c"].duration_s, abs=0.05)


def test_batch_looks_at_a_source_when_its_turn_comes(films: list[Path]) -> None:
    taken: list[Path] = []

    def sources() -> Iterator[Path]:
        for film in films:
            taken.append(film)
            yield film

    assert next(vidsum.iter_results(SUMMARIZER, sources()))[0] == films[0]
    assert taken == films[:1]


def full(source: int) -> int:
    """Fail as where no further file could be written."""
    fault = vidsum.VidsumError("the disk is full")
    fault.ends_batch = True
    raise fault


def test_fault_that_every_file_would_have_ends_the_batch() -> None:
    with pytest.raises(vidsum.VidsumError, match="full"):
        list(vidsum.iter_results(full, [1, 2]))


def test_batch_with_its_arguments_exchanged_is_refused() -> None:
    with pytest.raises(vidsum.VidsumError, match="the step cannot be called"):
        list(vidsum.iter_results([1, 2], full))  # type: ignore[arg-type, var-annotated]


@pytest.mark.parametrize("source", ["film.mp4", Path("film.mp4"), vidsum.Video("film.mp4"), None], ids=str)
def test_batch_of_a_single_source_is_refused(source: Any) -> None:
    with pytest.raises(UsageError, match="expected a list of videos, not") as refused:
        list(vidsum.iter_results(vidsum.summarize, source))
    assert "[source]" in str(refused.value.hint)


def test_progress_is_reported_within_the_total(films: list[Path]) -> None:
    calls: list[tuple[str, float, float]] = []

    def report(what: str, done: float, total: float) -> None:
        calls.append((what, done, total))

    vidsum.extract(films[0], "colour", device="cpu", cache=False, progress=report)
    assert calls
    assert all(0 <= done <= total for _, done, total in calls)


def test_call_works_after_one_that_progress_stopped(films: list[Path]) -> None:
    def stop(what: str, done: float, total: float) -> None:
        calls.append(what)
        if len(calls) == 3:
            raise KeyboardInterrupt

    calls: list[str] = []
    extract = partial(vidsum.extract, films[0], "colour", device="cpu", cache=False)
    with pytest.raises(KeyboardInterrupt):
        extract(progress=stop)
    assert len(calls) == 3
    assert extract(progress=None).array.any()


def test_progress_that_is_no_function_is_refused(films: list[Path]) -> None:
    with pytest.raises(UsageError, match="progress must be a function, not True"):
        vidsum.extract(films[0], "colour", device="cpu", progress=True)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def own_summary(films: list[Path]) -> Summary:
    """A summary of features and scores that were computed elsewhere."""
    array = np.random.default_rng(0).normal(size=(20, 64))
    features = vidsum.Features.from_array(array, fps=2.0, video=films[0])
    return vidsum.summarize(features, "3s", model=lambda content: content.timestamps)


def test_summary_of_own_features_and_scores_is_written(own_summary: Summary, tmp_path: Path) -> None:
    vidsum.write_video(own_summary, tmp_path / "own.mp4")
    assert vidsum.probe(tmp_path / "own.mp4").duration_s == pytest.approx(3, abs=0.1)


def test_summary_of_own_features_and_scores_is_read_back(own_summary: Summary, tmp_path: Path) -> None:
    vidsum.write_json(own_summary, tmp_path / "own.json")
    assert vidsum.load(tmp_path / "own.json").to_dict() == own_summary.to_dict()


@pytest.mark.skipif(not find_spec("pandas"), reason="could not import pandas")
def test_summary_becomes_a_table_of_pandas(own_summary: Summary) -> None:
    assert own_summary.to_pandas()["end_s"].max() == pytest.approx(10)


@pytest.mark.parametrize("write", [vidsum.write_video, vidsum.write_json], ids=lambda write: write.__name__)
def test_no_function_writes_over_the_video_of_its_result(
    write: Callable[..., Any], made: dict[str, Any], film: Path
) -> None:
    before = film.read_bytes()
    with pytest.raises(UsageError, match="would be written over the input"):
        write(made["summary.json"], film, overwrite=True)
    assert film.read_bytes() == before


@pytest.mark.parametrize(
    "write", [vidsum.write_plot, vidsum.write_timeline], ids=lambda write: write.__name__
)
def test_no_function_writes_over_its_video_by_another_name(
    write: Callable[..., Any], made: dict[str, Any], film: Path, tmp_path: Path
) -> None:
    suffix = ".png" if write is vidsum.write_plot else ".edl"
    (tmp_path / f"link{suffix}").symlink_to(film)
    before = film.read_bytes()
    with pytest.raises(UsageError, match="would be written over the input"):
        write(made["summary.json"], tmp_path / f"link{suffix}", overwrite=True)
    assert film.read_bytes() == before
