"""`vidsum summarize --model`: trained models, what they are refused for, and what they looked at."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from tests import media
from tests.commands.conftest import Run
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet

SMALL = FullTransNetConfig(dim_in=1280, d=16, layers=2, heads=2, d_ff=16, window=3)

pytestmark = pytest.mark.usefixtures("loads")


def save(path: Path, seed: int = 0, **features: object) -> Path:
    torch.manual_seed(seed)
    reads = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0, **features}
    save_trained(path, Trained("fulltransnet", asdict(SMALL), reads, {}, FullTransNet(SMALL).state_dict()))
    return path


@pytest.fixture
def model() -> Path:
    """A checkpoint that reads what the extractors of `loads` give."""
    return save(Path("best.safetensors"))


def test_a_checkpoint_summarizes(run: Run, film: Path, model: Path) -> None:
    ran = run("summarize", film, "--model", model, "-o", "-")
    assert ran.code == 0, ran.err
    assert ran.json["model"] == "best.safetensors"
    assert len(ran.json["provenance"]["summary"]["model_sha256"]) == 64
    plain = run("summarize", film, "--model", "contrastive", "-o", "-").json
    assert ran.json["importance"] != plain["importance"]
    assert "model_sha256" not in plain["provenance"]["summary"]


def test_fulltransnet_needs_no_file_and_draws_its_attention(run: Run, film: Path) -> None:
    ran = run("summarize", film, "--model", "fulltransnet", "--plot", "attention")
    assert ran.code == 0, ran.err
    assert Path("film_attention.png").stat().st_size > 1000
    document = json.loads(Path("film_summary.json").read_text(encoding="utf-8"))
    assert (document["model"], document["model_reason"]) == ("fulltransnet", "it was asked for")
    assert {"model_sha256", "map_sha256"} <= document["provenance"]["summary"].keys()


def test_beams_may_write_another_summary(run: Run, film: Path, model: Path) -> None:
    ran = run("summarize", film, "--model", model, "--beams", 3, "-o", "-")
    assert ran.code == 0, ran.err
    assert ran.json["provenance"]["summary"]["beams"] == 3
    assert "--beams" not in ran.err


def test_beams_without_effect_are_warned_of(run: Run, film: Path) -> None:
    for model in ("fulltransnet", "contrastive"):
        ran = run("summarize", film, "--model", model, "--beams", 3, "-o", "-")
        assert ran.code == 0, ran.err
        assert f"--beams has no effect on {model}" in ran.err


def test_the_checkpoint_counts_for_being_up_to_date(run: Run, film: Path, model: Path) -> None:
    arguments = ("summarize", film, "--model", model)
    assert run(*arguments).code == 0
    assert "up to date" in run(*arguments).out
    save(model, seed=1)
    ran = run(*arguments)
    assert (ran.code, "made with other weights" in ran.err) == (1, True)


def test_a_feature_file_is_summarized_as_the_video_is(run: Run, film: Path, model: Path) -> None:
    assert run("extract", film, "-o", "film.npz").code == 0
    of_video = run("summarize", film, "--model", model, "-o", "-").json
    ran = run("summarize", "film.npz", "--model", model, "-o", "-")
    assert ran.code == 0, ran.err
    of_features = ran.json
    assert of_features["importance"] == of_video["importance"]


def test_features_of_another_extractor_are_refused_before_the_video_is_read(
    run: Run, film: Path, loads: list[str]
) -> None:
    ran = run("summarize", film, "--model", save(Path("other.safetensors"), extractor="clip"), "-o", "-")
    assert ran.code == 2
    assert "other.safetensors reads features of clip, not of efficientnet_lite0" in ran.err
    assert "--extractor clip" in ran.err
    assert loads == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--model", "nonsense"], 2, "unknown model 'nonsense'"),
        (["--model", "none.safetensors"], 3, "none.safetensors: no such file"),
        (["--model", "text.safetensors"], 3, "text.safetensors: cannot be read as safetensors"),
        (["--model", "best.safetensors", "--fps", "4"], 2, "reads 2 features a second, not 4"),
        (["--model", "best.safetensors", "--beams", "0"], 2, "beams"),
        (["--model", "contrastive", "--plot", "attention"], 2, "contrastive has no attention"),
        (["--model", "ridge", "--plot", "attention"], 2, "ridge has no attention to draw"),
        (["--plot", "attention"], 2, "auto has no attention to draw"),
        (["--plot=nothing"], 2, "nothing"),
        (["--model", "best.safetensors", "--attention-of", "1.0"], 2, "needs an attention plot"),
        (["--attention-of", "../x"], 2, "unknown part of attention '../x'"),
        (
            ["--model", "best.safetensors", "--plot", "attention", "--attention-of", "2.0"],
            2,
            "unknown layer 2",
        ),
        (
            ["--model", "best.safetensors", "--plot=attention", "--attention-of=99.99", "--dry-run"],
            2,
            "unknown layer 99",
        ),
    ],
)
def test_what_will_not_do_is_one_line(
    run: Run, film: Path, model: Path, arguments: list[str], code: int, message: str
) -> None:
    Path("text.safetensors").write_text("not tensors")
    ran = run("summarize", film, *arguments)
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not Path("film_summary.json").exists()


def test_attention_is_drawn(run: Run, film: Path, model: Path) -> None:
    ran = run("summarize", film, "--model", model, "--plot", "attention", "--plot", "importance", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["data"]["outputs"]["attention"] == "film_attention.png"
    for name in ("film_attention.png", "film_importance.png"):
        assert Path(name).read_bytes().startswith(b"\x89PNG")


def test_attention_of_one_head_or_all_has_a_file_of_its_own(run: Run, film: Path, model: Path) -> None:
    arguments = ("summarize", film, "--model", model, "--plot", "attention", "--plot-format", "svg")
    for part in ("mean", "1.0", "all"):
        ran = run(*arguments, "--attention-of", part, "--overwrite")
        assert ran.code == 0, ran.err
    images = {name: Path(f"film_attention{name}.svg").read_text() for name in ("", "_1.0", "_all")}
    assert "mean of 2 layers, mean of 2 heads" in images[""]
    assert "layer 1, head 0" in images["_1.0"]
    assert images["_all"].count("<image ") == 3 * 2 * 2


@pytest.mark.parametrize("place", [0, 1])
def test_plot_alone_means_importance_wherever_it_stands(run: Run, film: Path, place: int) -> None:
    arguments: list[object] = [film]
    arguments.insert(place, "--plot")
    assert run("summarize", *arguments).code == 0
    assert Path("film_importance.png").exists()
    assert not Path("film_attention.png").exists()


def test_the_default_says_which_scorer_it_took_and_why(run: Run, film: Path) -> None:
    ran = run("summarize", film)
    assert ran.code == 0, ran.err
    document = json.loads(Path("film_summary.json").read_text())
    assert document["model"] == "ridge"  # four still pictures, each another
    assert document["model_reason"].startswith("auto: it was fitted")
    assert document["model_reason"] in ran.out
    asked = document["provenance"]["summary"]
    assert ("model" in asked, asked["candidates"][0]) == (False, "ridge")
    assert len(asked["model_sha256"]) == 64


@pytest.mark.parametrize("options", [["--fps", "1"], ["--extractor", "i3d"]])
def test_the_default_leaves_out_what_cannot_read_the_features(
    run: Run, film: Path, options: list[str]
) -> None:
    ran = run("summarize", film, *options, "-o", "-")
    assert ran.code == 0, ran.err
    asked = ran.json["provenance"]["summary"]
    assert asked["candidates"] == ["highlights", "contrastive"]
    assert "model_sha256" not in asked


def _grey(number: int, width: int, height: int) -> media.Picture:
    return np.full((height, width, 3), 90, np.uint8)


def test_a_still_video_gets_no_made_up_choice(run: Run, tmp_path: Path) -> None:
    still = media.make_video(tmp_path / "still.mp4", n_frames=200, paint=_grey).path
    ran = run("summarize", still, "-o", "-", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["data"]["model"] == "uniform"
    assert any("stands still" in message for message in ran.json["messages"])


def test_what_ships_needs_no_network(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    assert run("summarize", film, "--model", "ridge", "-o", "-").code == 0


def test_a_config_file_may_name_one_plot_or_several(run: Run, film: Path, model: Path) -> None:
    Path("one.yaml").write_text(f"summarize:\n  model: {model}\n  plot: attention\n")
    Path("both.yaml").write_text(f"summarize:\n  model: {model}\n  plot: [attention, importance]\n")
    assert run("summarize", film, "--config", "one.yaml").code == 0
    assert Path("film_attention.png").exists()
    assert not Path("film_importance.png").exists()
    assert run("summarize", film, "--config", "both.yaml", "--overwrite").code == 0
    assert Path("film_importance.png").exists()
