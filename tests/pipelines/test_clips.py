"""Clips of moments and shots: what they show, how long they last, and their names."""

from pathlib import Path

import numpy as np
import pytest

from tests import media
from vidsum.errors import OutputError, UsageError
from vidsum.pipelines.clips import clip_paths, video_stem, write_clips
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at

COLOURS = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200], [180, 180, 40]], np.uint8)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Grounding:
    """Green and yellow, in a film that is red for 2 s, green for 2 s, blue for 2 s, then yellow for 4 s."""

    def paint(number: int, width: int, height: int) -> np.ndarray:
        return np.broadcast_to(COLOURS[min(3, number // 50)], (height, width, 3)).copy()

    film = media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=250, fps=25, paint=paint)
    windows = {"green": (2.0, 4.0), "yellow": (6.0, 10.0)}
    queries = tuple(
        QueryMoments(text, (Moment(*window, 1.0),), np.zeros(0, np.float32))
        for text, window in windows.items()
    )
    return Grounding(queries, np.zeros(0), 1.0, 10.0, "similarity", "vse", video=probe(film.path))


def test_clips_are_the_moments(found: Grounding, tmp_path: Path) -> None:
    assert write_clips(found, tmp_path / "clips", "film") == ()
    clips = sorted((tmp_path / "clips").iterdir())
    assert [path.name for path in clips] == ["green_film_0m02s.mp4", "yellow_film_0m06s.mp4"]
    for path, seconds, colour in zip(clips, (2, 4), ([30, 200, 30], [180, 180, 40]), strict=True):
        assert probe(path).duration_s == pytest.approx(seconds, abs=0.05)
        (frame,) = read_frames_at(probe(path), [1.0])
        np.testing.assert_allclose(frame.image.mean(axis=(0, 1)), colour, atol=12)
    with pytest.raises(OutputError, match="cannot be made"):
        write_clips(found, clips[0], "film")


@pytest.mark.parametrize(
    ("lengths", "seconds"),
    [
        ({"pad_s": 0.5}, (3, 4.5)),
        ({"pad_s": 3}, (7, 7)),
        ({"pad_s": 1e9}, (10, 10)),
        ({"least_s": 1}, (2, 4)),
        ({"least_s": 3}, (3, 4)),
        ({"least_s": 9}, (9, 9)),
        ({"least_s": 99}, (10, 10)),
        ({"pad_s": 0.25, "least_s": 3}, (3, 4.25)),
    ],
)
def test_longer_clips_stay_inside_the_video(
    found: Grounding, tmp_path: Path, lengths: dict[str, float], seconds: tuple[float, float]
) -> None:
    write_clips(found, tmp_path, "film", **lengths)  # type: ignore[arg-type]
    for name, length_s in zip(("green_film_0m02s", "yellow_film_0m06s"), seconds, strict=True):
        assert probe(tmp_path / f"{name}.mp4").duration_s == pytest.approx(length_s, abs=0.05)


@pytest.mark.parametrize("bad", [-1, float("nan"), "long"])
def test_a_length_that_makes_no_sense_is_refused(found: Grounding, tmp_path: Path, bad: float) -> None:
    for name in ("pad_s", "least_s"):
        with pytest.raises(UsageError, match=f"{name} must be"):
            write_clips(found, tmp_path, "film", **{name: bad})  # type: ignore[misc]


def test_clips_have_names_of_their_own_that_are_known_again() -> None:
    """Of moments that begin in one second, of texts that are the same in letters, and of hours."""
    moments = tuple(Moment(start, start + 5, 0.5) for start in (21.0, 21.9, 3723.5))
    queries = tuple(QueryMoments(text, moments[:2], np.zeros(0, np.float32)) for text in ("A dog!", "a_dog"))
    long = QueryMoments("zwei Männer " * 9, moments[2:], np.zeros(0, np.float32))
    odd = QueryMoments("?!", moments[:1], np.zeros(0, np.float32))
    found = Grounding((*queries, long, odd), np.zeros(0), 1.0, 4000.0, "similarity", "vse")
    names = [path.stem for path, _ in clip_paths(found, "x", "my_film")]
    assert names == [
        "a-dog_my_film_0m21s",
        "a-dog_my_film_0m21s-2",
        "a-dog_my_film_0m21s-3",
        "a-dog_my_film_0m21s-4",
        "zwei-männer-zwei-männer-zwei-männer-zwei_my_film_1h02m03s",
        "query_my_film_0m21s",
    ]
    assert {video_stem(name) for name in names} == {"my_film"}
    shots = Shots(np.arange(1002.0), "uniform")
    assert [path.name for path, _ in clip_paths(shots, "x", "f")][::1000] == [
        "f-Scene-0001.mp4",
        "f-Scene-1001.mp4",
    ]
    assert video_stem("f-Scene-0001") == "f"
    assert video_stem("a_film") is None
