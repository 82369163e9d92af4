"""`vidsum summarize --model`: trained models, what they are refused for, and what they looked at."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.program import Run
from tests.untrained import save_untrained

pytestmark = pytest.mark.usefixtures("loads")


def save(path: Path, seed: int = 0, **features: object) -> Path:
    reads = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0, **features}
    return save_untrained(path, "fulltransnet", reads, seed, dim_in=1280, layers=2, window=3)


@pytest.fixture
def model() -> Path:
    """A checkpoint that reads what the extractors of `loads` give."""
    return save(Path("best.safetensors"))


def test_model_of_another_extractor(run: Run, film: Path, loads: list[str], model: Path) -> None:
    ran = run(
        "summarize", film, "--model", save(Path("other.safetensors"), extractor="clip"), "-o", "-", code=2
    )
    assert "other.safetensors reads features of clip, not of efficientnet_lite0" in ran.err
    assert "--extractor clip" in ran.err
    assert loads == []
    arguments = ("summarize", film, "--model", model)
    run(*arguments)
    assert "unchanged" in run(*arguments).out
    save(model, seed=1)
    ran = run(*arguments)
    assert "unchanged" not in ran.out
    ran = run("summarize", film, "--model", model, "-o", "-")
    assert ran.json["model"] == "best.safetensors"
    assert len(ran.json["provenance"]["summary"]["model_sha256"]) == 64
    plain = run("summarize", film, "--model", "contrastive", "-o", "-").json
    assert ran.json["importance"] != plain["importance"]
    assert "model_sha256" not in plain["provenance"]["summary"]


def test_auto_model_reason(run: Run, film: Path, tmp_path: Path) -> None:
    ran = run("summarize", film, "-v")
    document = json.loads(Path("film_summary.json").read_text())
    assert document["model"] == "ridge"  # four still pictures, each another
    assert document["model_reason"].startswith("auto: it was fitted")
    assert document["model_reason"] in ran.out
    requests = document["provenance"]["summary"]
    assert ("model" in requests, requests["candidates"][0]) == (False, "ridge")
    assert len(requests["model_sha256"]) == 64
    still = media.make_video(tmp_path / "still.mp4", n_frames=200, paint=_grey).path
    ran = run("summarize", still, "-o", "-", "--json")
    assert ran.json["data"]["model"] == "uniform"
    assert any("stands still" in message for message in ran.json["messages"])


@pytest.mark.parametrize("options", [["--fps", "1"], ["--extractor", "i3d"]])
def test_auto_model_candidates(run: Run, film: Path, options: list[str]) -> None:
    ran = run("summarize", film, *options, "-o", "-")
    requests = ran.json["provenance"]["summary"]
    assert requests["candidates"] == ["highlights", "contrastive"]
    assert "model_sha256" not in requests


def _grey(number: int, width: int, height: int) -> media.Picture:
    return np.full((height, width, 3), 90, np.uint8)


def test_summarize_ridge_offline(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    run("summarize", film, "--model", "ridge", "-o", "-")
    run("summarize", film, "--model", "fulltransnet")
    document = json.loads(Path("film_summary.json").read_text(encoding="utf-8"))
    assert (document["model"], document["model_reason"]) == ("fulltransnet", "it was asked for")
    assert {"model_sha256", "map_sha256"} <= document["provenance"]["summary"].keys()
