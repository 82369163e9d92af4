"""Extractors from outside vidsum: registered, or of an installed package."""

from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import media
from vidsum.errors import UsageError
from vidsum.features import describe, extractor, get_extractor
from vidsum.features.extractor import CustomExtractor, register_extractor
from vidsum.pipelines.cut_shots import find_shots
from vidsum.pipelines.plan import extract
from vidsum.types import Picture

seen: list[tuple[int, ...]] = []


def mean_colour(frames: Picture) -> Any:
    seen.append(frames.shape)
    return frames.mean(axis=(1, 2)) / 255


COLOUR = CustomExtractor("colour", mean_colour, dim=3, fps=5.0, size=32)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(extractor, "_registered", {})
    seen.clear()


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=50).path


def test_frames_are_read_as_the_extractor_asks(film: Path) -> None:
    register_extractor(COLOUR)
    features = extract(film, "colour")
    assert {shape[1:] for shape in seen} == {(32, 32, 3)}
    assert sum(shape[0] for shape in seen) == len(features)


def test_features_of_a_custom_extractor_have_its_size_rate_and_name(film: Path) -> None:
    register_extractor(COLOUR)
    features = extract(film, "colour")
    assert (features.dim, features.step_s, features.extractor) == (3, 0.2, "colour")
    assert 0 <= features.array.min() <= features.array.max() <= 1


def test_features_of_a_custom_extractor_are_cached(film: Path) -> None:
    register_extractor(COLOUR)
    first = extract(film, "colour").array
    calls = len(seen)
    np.testing.assert_array_equal(extract(film, "colour").array, first)
    assert len(seen) == calls


def test_custom_extractor_finds_shots(film: Path) -> None:
    register_extractor(COLOUR)
    assert find_shots(film, extractor="colour").provenance["extractor"] == "colour"


def test_name_of_a_built_in_extractor_is_refused() -> None:
    with pytest.raises(UsageError, match="googlenet is an extractor of vidsum"):
        register_extractor(replace(COLOUR, name="googlenet"))


def test_custom_extractor_may_be_registered_again() -> None:
    register_extractor(COLOUR)
    register_extractor(replace(COLOUR, version="2"))


def test_new_version_of_a_custom_extractor_is_not_read_from_the_cache(film: Path) -> None:
    register_extractor(COLOUR)
    before = extract(film, "colour")
    calls = len(seen)
    register_extractor(replace(COLOUR, version="2"))
    assert extract(film, "colour").provenance["weights_sha256"] != before.provenance["weights_sha256"]
    assert len(seen) > calls


def test_rate_of_a_custom_extractor_can_be_chosen(film: Path) -> None:
    register_extractor(COLOUR)
    assert len(extract(film, "colour", fps=2.0)) < len(extract(film, "colour"))


def test_custom_extractor_may_change_its_size(film: Path) -> None:
    register_extractor(COLOUR)
    extract(film, "colour")
    register_extractor(replace(COLOUR, encode=lambda frames: mean_colour(frames)[:, :2], dim=2))
    assert extract(film, "colour").dim == 2


def test_extractor_of_an_installed_package_goes_by_its_name(
    film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("colour", f"{__name__}:COLOUR", extractor.GROUP)
    monkeypatch.setattr(extractor, "entry_points", lambda **wanted: EntryPoints([entry]).select(**wanted))
    assert extract(film, "colour").dim == 3


def test_unknown_extractor_is_refused(film: Path) -> None:
    with pytest.raises(UsageError, match="unknown extractor 'color'"):
        extract(film, "color")


def test_features_of_another_size_than_declared_are_refused(film: Path) -> None:
    register_extractor(CustomExtractor("wide", mean_colour, dim=4))
    with pytest.raises(UsageError, match=r"wide gave features of shape \[\d, 3\], not \[\d, 4\]"):
        extract(film, "wide")


def test_name_of_an_extractor_of_vidsum_is_refused() -> None:
    with pytest.raises(UsageError, match="is an extractor of vidsum"):
        register_extractor(CustomExtractor("clip", mean_colour, dim=3))


@pytest.mark.parametrize(("name", "value"), [("backend", "onnx"), ("precision", "bf16")])
def test_custom_extractor_refuses_what_has_no_effect(film: Path, name: str, value: str) -> None:
    register_extractor(COLOUR)
    with pytest.raises(UsageError, match=f"colour is a custom extractor, which does not run in {value}"):
        extract(film, "colour", **{name: value})  # type: ignore[misc]
    assert not seen


def test_custom_extractor_is_loaded_by_its_spec() -> None:
    register_extractor(COLOUR)
    loaded = get_extractor(describe("colour", fps=2.0))
    assert (loaded.spec.fps, loaded.precision) == (2.0, "fp32")
    assert loaded.encode(np.full((2, 1, 32, 32, 3), 255, np.uint8)).tolist() == [[1.0] * 3] * 2
