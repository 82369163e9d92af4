"""Summarizers and grounders that are made once, videos that keep their features, moments in own features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests import media
from vidsum.errors import UsageError
from vidsum.features import extractor
from vidsum.results.features import Features
from vidsum.types import Picture

WORDS = {"red": 0, "green": 1, "blue": 2}
N_FRAMES = 60
"""Red, then green, then blue, 20 frames each at 10 a second."""


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


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=N_FRAMES).path


def three_colours() -> Features:
    return Features.from_array(np.repeat(np.eye(3), 20, axis=0), fps=10.0)


def colour_names(texts: Sequence[str]) -> Any:
    return [2 * np.eye(3)[WORDS[text]] for text in texts]


def test_summarizer_matches_summarize(colour: Colour, film: Path) -> None:
    summarizer = vidsum.Summarizer("contrastive", budget="80%", extractor="colour", shots="uniform")
    expected = vidsum.summarize(film, "80%", model="contrastive", extractor="colour", shots="uniform")
    assert summarizer(film).to_dict() == expected.to_dict()
    shorter = summarizer(film, "20%", drop=[(0.0, 0.5)])
    assert shorter.duration_s < expected.duration_s
    assert shorter.segments[0][0] >= 0.5
    assert summarizer(film).to_dict() == expected.to_dict()  # a call changes nothing


def test_session_option_errors() -> None:
    with pytest.raises(TypeError, match=r"Summarizer\(\) got an unexpected keyword argument 'budjet'"):
        vidsum.Summarizer(budjet="10%")  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="top_k"):
        vidsum.Grounder(top_k=0)


def test_a_video_is_decoded_once(colour: Colour, film: Path) -> None:
    video = vidsum.Video(film)
    options: Any = {"extractor": "colour", "cache": False}
    features = vidsum.find_shots(video, **options)
    seen = colour.n_frames
    assert seen
    again = vidsum.summarize(video, model="contrastive", **options)
    vidsum.find_highlights(video, **options)
    assert colour.n_frames == seen
    assert again.to_dict() == vidsum.summarize(film, model="contrastive", **options).to_dict()
    assert colour.n_frames == 2 * seen
    assert features.video == again.video


def test_changed_video(colour: Colour, film: Path, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(film.read_bytes())
    video = vidsum.Video(path)
    before = vidsum.find_shots(video, extractor="colour", cache=False)
    media.make_video(path, n_frames=30)
    after = vidsum.find_shots(video, extractor="colour", cache=False)
    assert after.edges_s[-1] == pytest.approx(before.edges_s[-1] / 2)


def test_ground_features(tmp_path: Path) -> None:
    grounder = vidsum.Grounder(top_k=1, encode_text=colour_names)
    result = grounder(three_colours(), ["green", "blue"])
    spans = [(item.moments[0].start_s, item.moments[0].end_s) for item in result.queries]
    assert spans == [(2.0, 4.0), (4.0, 6.0)]
    assert (result.space, result.model, result.queries[0].present) == ("own", "similarity", None)
    result.save(tmp_path / "moments.json")
    assert vidsum.load(tmp_path / "moments.json").to_dict() == result.to_dict()
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
def test_ground_features_errors(options: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        vidsum.ground(three_colours(), "red", **options)


def test_encode_text_of_video(film: Path) -> None:
    with pytest.raises(UsageError, match="for features of your own"):
        vidsum.ground(film, "red", encode_text=colour_names)


@pytest.mark.parametrize("function", [vidsum.summarize, vidsum.find_shots, vidsum.find_highlights])
def test_an_array_is_to_be_wrapped(function: Any) -> None:
    with pytest.raises(UsageError, match="not ndarray") as error:
        function(np.ones((10, 4)))
    assert "Features.from_array" in str(error.value.hint)


def test_unload_networks() -> None:
    from vidsum.device import cached_model, unload

    loaded = []

    @cached_model(maxsize=1)
    def load(name: str) -> str:
        loaded.append(name)
        return name

    assert [load("a"), load("a")] == ["a", "a"]
    unload()
    load("a")
    assert loaded == ["a", "a"]
