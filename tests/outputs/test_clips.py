"""Clips and previews of moments and shots: their pictures, their length, and the names of clips."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests import media
from vidsum.errors import OutputError, UsageError
from vidsum.outputs.clips import clip_paths, video_stem, write_clips
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Grounding:
    """Green and yellow, in a film that is red for 2 s, green for 2 s, blue for 2 s, then yellow for 4 s."""
    film = media.make_colour_film(tmp_path_factory.mktemp("film") / "film.mp4")
    windows = {"green": (2.0, 4.0), "yellow": (6.0, 10.0)}
    queries = tuple(
        QueryMoments(text, (Moment(*window, 1.0),), np.zeros(0, np.float32))
        for text, window in windows.items()
    )
    return Grounding(queries, np.zeros(0), 1.0, 10.0, "similarity", "vse", video=probe(film))


def test_clips_are_the_moments(result: Grounding, tmp_path: Path) -> None:
    clips = write_clips(result, tmp_path / "clips", "film")
    assert sorted(clips) == sorted((tmp_path / "clips").glob("*.mp4"))
    assert [path.name for path in clips] == ["green_film_0m02s.mp4", "yellow_film_0m06s.mp4"]
    for path, seconds, colour in zip(clips, (2, 4), ([30, 200, 30], [180, 180, 40]), strict=True):
        assert probe(path).duration_s == pytest.approx(seconds, abs=0.05)
        (frame,) = read_frames_at(probe(path), [1.0])
        np.testing.assert_allclose(frame.image.mean(axis=(0, 1)), colour, atol=12)


def test_folder_of_clips_below_a_file_is_refused(result: Grounding, tmp_path: Path) -> None:
    (tmp_path / "clips").write_bytes(b"a file")
    with pytest.raises(OutputError, match="cannot be made"):
        write_clips(result, tmp_path / "clips", "film")


def test_stem_with_a_slash_is_refused(result: Grounding, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without folders"):
        write_clips(result, tmp_path, "a/b")


@pytest.mark.parametrize("pad_s", [0.5, 3, 1e9])
def test_pad_leaves_whole_shots_as_long_as_they_are(result: Grounding, tmp_path: Path, pad_s: float) -> None:
    write_clips(result, tmp_path, "film", pad_s=pad_s)
    for name, length_s in (("green_film_0m02s", 2), ("yellow_film_0m06s", 4)):
        assert probe(tmp_path / f"{name}.mp4").duration_s == pytest.approx(length_s, abs=0.05)


@pytest.mark.parametrize(
    ("pad_s", "expected"), [(0.25, (2.25, 3.75)), (0.5, (2.0, 4.0)), (1.0, (2.0, 4.0)), (1e9, (2.0, 4.0))]
)
def test_pad_stops_at_cuts(
    result: Grounding, tmp_path: Path, pad_s: float, expected: tuple[float, float]
) -> None:
    """A moment in the middle of the green shot, from 2 to 4 s."""
    (query, _) = result.queries
    inner = replace(result, queries=(replace(query, moments=(Moment(2.5, 3.5, 1.0),)),))
    (clip,) = write_clips(inner, tmp_path, pad_s=pad_s)
    made = probe(clip)
    assert made.duration_s == pytest.approx(expected[1] - expected[0], abs=0.05)
    for frame in read_frames_at(made, [0.0, made.duration_s - 0.05]):
        np.testing.assert_allclose(frame.image.mean(axis=(0, 1)), [30, 200, 30], atol=12)


@pytest.mark.parametrize("bad", [-1, float("nan"), "long"])
def test_wrong_pad_is_refused(result: Grounding, tmp_path: Path, bad: float) -> None:
    with pytest.raises(UsageError, match="pad_s must be"):
        write_clips(result, tmp_path, "film", pad_s=bad)


@pytest.fixture
def names_of_moments() -> list[str]:
    """Names where moments begin in one second, texts have the same letters, and videos last for hours."""
    moments = tuple(Moment(start, start + 5, 0.5) for start in (21.0, 21.9, 3723.5))
    queries = tuple(QueryMoments(text, moments[:2], np.zeros(0, np.float32)) for text in ("A dog!", "a_dog"))
    long = QueryMoments("zwei Männer " * 9, moments[2:], np.zeros(0, np.float32))
    odd = QueryMoments("?!", moments[:1], np.zeros(0, np.float32))
    result = Grounding((*queries, long, odd), np.zeros(0), 1.0, 4000.0, "similarity", "vse")
    return [path.stem for path, _ in clip_paths(result, "x", "my_film")]


def test_each_moment_has_a_name_by_its_query_and_start(names_of_moments: list[str]) -> None:
    assert names_of_moments == [
        "a-dog_my_film_0m21s",
        "a-dog_my_film_0m21s-2",
        "a-dog_my_film_0m21s-3",
        "a-dog_my_film_0m21s-4",
        "zwei-männer-zwei-männer-zwei-männer-zwei_my_film_1h02m03s",
        "query_my_film_0m21s",
    ]


@pytest.fixture
def names_of_shots() -> list[str]:
    """The first and the last of a thousand."""
    shots = Shots(np.arange(1002.0), "uniform")
    return [path.stem for path, _ in clip_paths(shots, "x", "f")][::1000]


def test_clips_of_shots_are_numbered(names_of_shots: list[str]) -> None:
    assert names_of_shots == ["f-Scene-0001", "f-Scene-1001"]


def test_names_of_clips_tell_the_video(names_of_moments: list[str], names_of_shots: list[str]) -> None:
    assert {video_stem(name) for name in names_of_moments} == {"my_film"}
    assert {video_stem(name) for name in names_of_shots} == {"f"}


def test_name_of_a_film_tells_no_video() -> None:
    assert video_stem("a_film") is None


def test_several_queries_have_no_list_of_moments(result: Grounding) -> None:
    assert not hasattr(result, "moments")
    assert hasattr(replace(result, queries=result.queries[:1]), "moments")
