"""Lists of inputs, videos that keep their features, and moments in features of one's own."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests import media
from vidsum.errors import UsageError
from vidsum.features import extractor
from vidsum.pipelines.sources import read_list
from vidsum.results.features import Features
from vidsum.types import Picture

WORDS = {"red": 0, "green": 1, "blue": 2}


class Colour:
    """Mean colours of frames; counts the frames that it sees."""

    def __init__(self) -> None:
        self.n_frames = 0

    def __call__(self, frames: Picture) -> Any:
        self.n_frames += len(frames)
        return frames.mean(axis=(1, 2)) / 255


@pytest.fixture
def colour(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Colour:
    monkeypatch.setattr(extractor, "_registered", {})
    encode = Colour()
    vidsum.register_extractor(vidsum.CustomExtractor("colour", encode, dim=3, fps=5.0, size=32))
    return encode


def three_colours() -> Features:
    """Red, then green, then blue, 20 samples each at 10 a second."""
    return Features.from_array(np.repeat(np.eye(3), 20, axis=0), fps=10.0)


def colour_names(texts: Sequence[str]) -> Any:
    return [2 * np.eye(3)[WORDS[text]] for text in texts]


def test_names_between_zeros_may_begin_with_a_hash(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"#1.mp4\0b.mp4\0")
    assert read_list(str(tmp_path / "list")) == ["#1.mp4", "b.mp4"]


def test_lines_of_a_list_may_end_as_on_windows(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"# films\r\na.mp4\r\n\r\nb c.mp4\r\n")
    assert read_list(str(tmp_path / "list")) == ["a.mp4", "b c.mp4"]


def test_a_video_is_decoded_once(colour: Colour, film: Path) -> None:
    video = vidsum.Video(film)
    options: Any = {"extractor": "colour", "cache": False}
    shots = vidsum.find_shots(video, **options)
    seen = colour.n_frames
    assert seen
    summary = vidsum.summarize(video, model="contrastive", **options)
    vidsum.find_highlights(video, **options)
    assert colour.n_frames == seen
    assert shots.video == summary.video


def test_summary_with_kept_features_is_that_of_the_file(colour: Colour, film: Path) -> None:
    video = vidsum.Video(film)
    options: Any = {"extractor": "colour", "cache": False, "model": "contrastive"}
    vidsum.find_shots(video, extractor="colour", cache=False)
    assert vidsum.summarize(video, **options).to_dict() == vidsum.summarize(film, **options).to_dict()


def test_video_that_was_changed_is_decoded_again(colour: Colour, film: Path, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(film.read_bytes())
    video = vidsum.Video(path)
    before = vidsum.find_shots(video, extractor="colour", cache=False)
    media.make_video(path, n_frames=50)
    after = vidsum.find_shots(video, extractor="colour", cache=False)
    assert after.edges_s[-1] == pytest.approx(before.edges_s[-1] / 2)


def test_queries_find_their_parts_of_features_of_ones_own() -> None:
    result = vidsum.ground(three_colours(), ["green", "blue"], 1, encode_text=colour_names)
    spans = [(item.moments[0].start_s, item.moments[0].end_s) for item in result.queries]
    assert spans == [(2.0, 4.0), (4.0, 6.0)]


@pytest.mark.parametrize("named", [{}, {"model": "similarity"}])
def test_features_of_ones_own_are_searched_by_similarity_without_a_probability(named: Any) -> None:
    result = vidsum.ground(three_colours(), ["green", "blue"], 1, encode_text=colour_names, **named)
    assert (result.space, result.model, result.queries[0].present) == ("own", "similarity", None)


def test_moments_in_features_are_loaded_as_written(tmp_path: Path) -> None:
    result = vidsum.ground(three_colours(), ["green", "blue"], 1, encode_text=colour_names)
    vidsum.write_json(result, tmp_path / "moments.json")
    assert vidsum.load(tmp_path / "moments.json").to_dict() == result.to_dict()


def test_query_alone_finds_in_features_what_it_finds_with_another() -> None:
    result = vidsum.ground(three_colours(), ["green", "blue"], 1, encode_text=colour_names)
    same = vidsum.ground(three_colours(), "green", 1, encode_text=colour_names)
    assert same.queries[0].moments == result.queries[0].moments


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "no text encoder is known"),
        ({"encode_text": lambda texts: np.ones((1, 2))}, r"vectors of shape \[1, 2\], not \[1, 3\]"),
        ({"encode_text": colour_names, "model": "mrnet"}, "by similarity only"),
        ({"encode_text": colour_names, "space": "clip"}, "in the space own"),
        ({"encode_text": colour_names, "min_present": 0.5}, "no match probability"),
        ({"encode_text": colour_names, "evidence": "speech"}, "have no speech"),
    ],
)
def test_search_of_features_refuses_what_it_cannot_do(options: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        vidsum.ground(three_colours(), "red", **options)


def test_text_encoder_of_ones_own_is_refused_for_a_video(film: Path) -> None:
    with pytest.raises(UsageError, match="for features of your own"):
        vidsum.ground(film, "red", encode_text=colour_names)


@pytest.mark.parametrize("function", [vidsum.summarize, vidsum.find_shots, vidsum.find_highlights])
def test_an_array_is_to_be_wrapped(function: Any) -> None:
    with pytest.raises(UsageError, match="not ndarray") as error:
        function(np.ones((10, 4)))
    assert "Features.from_array" in str(error.value.hint)
