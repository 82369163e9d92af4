"""Decoding by hardware, and by the CPU where no hardware decodes."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests import media
from vidsum.errors import UsageError
from vidsum.features import extractor
from vidsum.features.extractor import CustomExtractor, register_extractor
from vidsum.pipelines.plan import extract
from vidsum.video import open as opening
from vidsum.video.probe import probe


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return media.make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=30).path


@pytest.fixture(autouse=True)
def colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(extractor, "_registered", {})
    register_extractor(
        CustomExtractor("colour", lambda frames: frames.mean(axis=(1, 2)), dim=3, fps=5.0, size=32)
    )


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine whose only hardware is `vaapi`; lists what files were opened with."""
    kinds: list[str] = []
    real_open = av.open

    def open_file(name: str, *arguments: Any, hwaccel: Any = None, **options: Any) -> Any:
        if hwaccel not in (None, "vaapi"):
            raise RuntimeError("no such device")
        kinds.extend([hwaccel] if hwaccel else [])
        return real_open(name, *arguments, **options)

    monkeypatch.setattr(opening.av, "open", open_file)
    monkeypatch.setattr(opening, "HWAccel", lambda kind, allow_software_fallback: kind)
    monkeypatch.setattr(opening, "hwdevices_available", lambda: ["qsv", "vaapi", "cuda"])
    opening._can_decode.cache_clear()
    return kinds


def test_hardware_is_recorded(film: Path, opened: list[str]) -> None:
    by_cpu, by_hardware = extract(film, "colour"), extract(film, "colour", hwaccel="auto")
    assert opened == ["vaapi", "vaapi"]  # tried, then used
    assert by_hardware.provenance["parameters"]["hwaccel"] == "vaapi"
    assert "hwaccel" not in by_cpu.provenance["parameters"]
    assert by_hardware.warnings == ()
    np.testing.assert_array_equal(by_hardware.array, by_cpu.array)


@pytest.mark.parametrize("wanted", ["cuda", "auto"])
def test_hardware_missing_warns(
    film: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, wanted: Any
) -> None:
    monkeypatch.setattr(opening, "hwdevices_available", lambda: ["cuda"])
    features = extract(film, "colour", hwaccel=wanted)
    assert opened == []
    assert features.provenance == extract(film, "colour").provenance
    (warning,) = features.warnings
    assert f"hwaccel {wanted}" in warning
    assert extract(film, "colour", hwaccel=wanted).warnings == (warning,)  # from the cache too
    assert extract(film, "colour").warnings == ()


def test_hardware_of_another_system(film: Path) -> None:
    opening._can_decode.cache_clear()
    assert opening.choose_hardware(probe(film), "d3d11va") is None  # Windows' own


def test_hardware_of_another_reader(film: Path, opened: list[str]) -> None:
    with pytest.raises(UsageError, match="--hwaccel is of the reader pyav"):
        extract(film, "colour", hwaccel="vaapi", reader="opencv")
