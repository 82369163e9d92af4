"""`vidsum evaluate attention`: figures of trained models, and the models that have none."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from tests.commands.conftest import Run
from tests.grounding.colours import use_colours
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.models.configs import DETRConfig, FullTransNetConfig, MaskConfig
from vidsum.models.detr_models import build
from vidsum.models.fulltransnet import FullTransNet

DETR = DETRConfig(dim_video=5, dim_query=3, clips=8, words=4, d=16, heads=2, d_ff=16)
SMALL = FullTransNetConfig(dim_in=1280, d=16, layers=2, heads=2, d_ff=16, window=3)
ATTENTION = ("evaluate", "attention")


def files_here() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


@pytest.fixture
def model(loads: list[str]) -> Path:
    """A FullTransNet that reads what the extractors of `loads` give."""
    torch.manual_seed(0)
    features = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0}
    tensors = FullTransNet(SMALL).state_dict()
    save_trained("best.safetensors", Trained("fulltransnet", asdict(SMALL), features, {}, tensors))
    return Path("best.safetensors")


@pytest.fixture
def moment_models(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Untrained models of colours, with and without a mask."""
    use_colours(monkeypatch)
    for name, mask in {"lam": MaskConfig(kind="lam"), "plain": None}.items():
        torch.manual_seed(0)
        config = DETRConfig(**{**vars(DETR), "mask": mask})
        tensors, features = build("qd-detr", config).state_dict(), {"space": "vse", "clip_s": 0.5}
        save_trained(f"{name}.safetensors", Trained("qd-detr", asdict(config), features, {}, tensors))


def test_the_default_is_the_fulltransnet_that_ships(run: Run, film: Path, loads: list[str]) -> None:
    ran = run(*ATTENTION, film, "--json")
    assert ran.code == 0, ran.err
    assert Path("film_attention.png").read_bytes().startswith(b"\x89PNG")
    assert ran.json["data"]["attention"] == "film_attention.png"
    assert {"model_sha256", "map_sha256"} <= ran.json["data"].keys()


def test_one_head_or_all_have_files_of_their_own(run: Run, film: Path, model: Path) -> None:
    for part in ("mean", "1.0", "all"):
        ran = run(*ATTENTION, film, "--model", model, "--plot-format", "svg", "--part", part)
        assert ran.code == 0, ran.err
    images = {name: Path(f"film_attention{name}.svg").read_text() for name in ("", "_1.0", "_all")}
    assert "mean of 2 layers, mean of 2 heads" in images[""]
    assert "layer 1, head 0" in images["_1.0"]
    assert images["_all"].count("<image ") == 3 * 2 * 2


def test_only_figures_of_vidsum_are_replaced(run: Run, film: Path, model: Path) -> None:
    draw = (*ATTENTION, film, "--model", model)
    assert run(*draw).code == run(*draw).code == 0
    Path("film_attention.png").write_text("mine")
    ran = run(*draw)
    assert (ran.code, "--overwrite" in ran.err) == (1, True)
    assert run(*draw, "--overwrite").code == 0


@pytest.mark.usefixtures("moment_models")
def test_a_moment_model_has_maps_masks_and_weights(run: Run, film: Path) -> None:
    kinds = ("attention", "mask", "weights")
    options = [word for kind in kinds for word in ("--kind", kind)]
    draw = (*ATTENTION, film, "--query", "green", "--query", "red", *options, "--plot-format", "svg")
    ran = run(*draw, "--model", "lam.safetensors", "--device", "cpu")
    assert ran.code == 0, ran.err
    assert files_here() == sorted(
        [".vidsum.json", "lam.safetensors", "plain.safetensors", *(f"film_{kind}.svg" for kind in kinds)]
    )
    text = Path("film_mask.svg").read_text()
    assert "<!-- clips to words, layer 1: learned mask M -->" in text
    assert "<!-- green -->" in text
    assert run(*draw, "--model", "lam.safetensors", "--device", "cpu").code == 0
    assert Path("film_mask.svg").read_text() == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "auto"], "auto has no attention to draw\n  try: --model fulltransnet"),
        (["--model", "ridge"], "ridge has no attention to draw"),
        (["--model", "contrastive"], "contrastive has no attention to draw"),
        (["--part", "99.0"], "unknown layer 99"),
        (["--part", "../x"], "unknown part of attention '../x'"),
        (["--kind", "mask"], "add --query TEXT"),
        (["--query", "green", "--part", "all"], "--part is for FullTransNet"),
        (["--query", "green", "--model", "similarity"], "similarity has no attention to plot\n  try:"),
        (["--query", "green", "--model", "plain.safetensors", "--kind", "mask"], "has no mask to plot"),
    ],
)
@pytest.mark.usefixtures("moment_models")
def test_what_cannot_be_drawn_is_refused_before_the_video_is_read(
    run: Run, film: Path, options: list[str], message: str
) -> None:
    ran = run(*ATTENTION, film, *options)
    assert (ran.code, message in ran.err) == (2, True), ran.err
    assert files_here() == ["lam.safetensors", "plain.safetensors"]


def test_a_video_is_needed(run: Run) -> None:
    ran = run(*ATTENTION)
    assert (ran.code, "no video" in ran.err) == (2, True)
