"""`vidsum evaluate attention`: figures of trained models, and the models that have none."""

from pathlib import Path

import pytest

from tests.program import Run
from tests.untrained import save_untrained

ATTENTION = ("evaluate", "attention")


@pytest.fixture
def model(loads: list[str]) -> Path:
    """A FullTransNet that reads what the extractors of `loads` give."""
    features = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0}
    return save_untrained(Path("best.safetensors"), "fulltransnet", features, dim_in=1280, layers=2, window=3)


def test_attention_default_model(run: Run, film: Path, loads: list[str]) -> None:
    ran = run(*ATTENTION, film, "--json")
    assert Path("film_attention.png").read_bytes().startswith(b"\x89PNG")
    assert ran.json["data"]["attention"] == "film_attention.png"
    assert {"model_sha256", "map_sha256"} <= ran.json["data"].keys()


def test_attention_overwrite(run: Run, film: Path, model: Path) -> None:
    draw = (*ATTENTION, film, "--model", model)
    run(*draw)
    Path("film_attention.png").write_text("mine")
    run(*draw, code=1, error="--overwrite")
    run(*draw, "--overwrite")
    for part in ("mean", "1.0", "all"):
        run(*ATTENTION, film, "--model", model, "--plot-format", "svg", "--part", part)
    images = {name: Path(f"film_attention{name}.svg").read_text() for name in ("", "_1.0", "_all")}
    assert "mean of 2 layers, mean of 2 heads" in images[""]
    assert "layer 1, head 0" in images["_1.0"]
    assert images["_all"].count("<image ") == 3 * 2 * 2
