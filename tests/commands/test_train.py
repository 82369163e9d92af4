"""`vidsum train`: what is written and said, resuming, and every bad input in one line."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import pytest

from tests.lab.training.videos import toy_video, toy_videos
from tests.program import Ran, Run, as_variables
from tests.synthetic import write_annotated
from vidsum.checkpoints.trained import read_trained

ROOT = Path(__file__).parents[2]
SIZES = ("--d", 8, "--d-ff", 16, "--layers", 1, "--heads", 2, "--device", "cpu")
SMALL = (*SIZES, "--epochs", 2)
HELD = """
import time
from vidsum.commands.app import main
from vidsum.lab.training import loop

def held(recipe, settings, epoch, *rest):
    if epoch == 3:
        print("held", flush=True)
        time.sleep(600)
    return run_epoch(recipe, settings, epoch, *rest)

run_epoch, loop._run_epoch = loop._run_epoch, held
main()
"""
"""`vidsum`, whose training waits before the third epoch."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "made.h5"
    write_annotated(toy_videos(10), path)
    return path


def _train(run: Run, data: Path, *arguments: object, **expected: Any) -> Ran:
    sizes = SIZES if "--epochs" in arguments else SMALL
    return run("train", "fulltransnet", "--data", data, "--out", "run", *sizes, *arguments, **expected)


@pytest.mark.deep
def test_train_in_parts(run: Run, data: Path) -> None:
    parts = [("--split", 1, "--split", 4), ("--split", 0), ("--split", 2, "--split", 3)]
    lines = [_train(run, data, *part).out.splitlines()[-1] for part in parts]
    assert lines[0] == "still to train: --split 0 --split 2 --split 3"
    assert lines[1] == "still to train: --split 2 --split 3"
    assert lines[2].startswith("evaluate it with: ")


def test_train_options(run: Run, data: Path) -> None:
    chosen = ("--attention", "full", "--head", "pointer", "--window", 9, "--global-tokens", 2, "--dropout", 0)
    chosen += ("--lr", 0.01, "--weight-decay", 0, "--seed", 5, "--patience", 7, "--precision", "bf16")
    _train(run, data, "--split", 0, *chosen)
    trained = read_trained("run/split_0/best.safetensors")
    expected = {"attention": "full", "head": "pointer", "window": 9, "global_tokens": 2, "dropout": 0}
    assert trained.config.items() >= {**expected, "d": 8, "layers": 1, "dim_in": 6}.items()
    expected = {"lr": 0.01, "weight_decay": 0, "seed": 5, "patience": 7, "precision": "bf16", "epochs": 2}
    assert trained.training.items() >= expected.items()


def test_train_up_to_date(run: Run, data: Path) -> None:
    _train(run, data, "--split", 0)
    assert "(up to date)" in _train(run, data, "--split", 0).out
    ran = _train(run, data, "--split", 0, "--lr", 0.1, code=1, error="--overwrite")
    assert ran.err.splitlines()[0] == (
        "error: run: holds a run with other settings (settings.lr was 0.001, is 0.1)"
    )
    assert "unchanged" not in _train(run, data, "--split", 0, "--lr", 0.1, "--overwrite").out


def test_train_lines(run: Run, data: Path) -> None:
    ran = _train(run, data)
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert len(lines) == 6
    for number, line in enumerate(lines[:5]):
        assert line.startswith(f"run/split_{number}: canonical-{number + 1}, best epoch ")
        assert " of 2, validation " in line
    assert lines[5] == f"evaluate it with: vidsum evaluate summary --data {data} --run run"
    assert {path.name for path in Path("run").iterdir()} == {
        "run.json",
        "run.json.vidsum.json",
        *(f"split_{i}" for i in range(5)),
    }


@pytest.mark.deep
def test_train_after_kill(run: Run, data: Path, tmp_path: Path) -> None:
    def command(out: Path) -> list[str]:
        arguments = (*SIZES, "--epochs", 4, "--split", 0, "--data", data, "--out", out)
        return ["train", "fulltransnet", *map(str, arguments)]

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    words, variables = as_variables(command(killed))
    with subprocess.Popen(
        [sys.executable, "-c", HELD, *words], env=alone | variables, cwd=ROOT, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert b"held" in running.stdout.readline()
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL
    assert (killed / "split_0" / "last.safetensors").exists()
    assert len((killed / "split_0" / "log.csv").read_text().splitlines()) < 5
    run(*command(killed))
    run(*command(whole))
    for name in ("run.json", "split_0/best.safetensors", "split_0/last.safetensors"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def test_a_config_file_sets_options(run: Run, data: Path) -> None:
    Path("own.yaml").write_text("device: cpu\ntrain:\n  fulltransnet:\n    d-ff: 24\n    split: [2]\n")
    ran = run("train", "fulltransnet", "--data", data, "--out", "run", *SMALL[:2], "--layers", 1,
              "--heads", 2, "--epochs", 1, "--config", "own.yaml", "--json")  # fmt: skip
    assert [result["input"] for result in ran.json_lines] == ["run/split_2", "run"]
    assert read_trained("run/split_2/best.safetensors").config["d_ff"] == 24


def test_train_without_scores(run: Run, data: Path) -> None:
    with h5py.File(data, "a") as file:
        del file["video_3/gtscore"]
    ran = _train(run, data, code=3)
    assert ran.err.splitlines()[0] == f"error: {data}: video_3 has no gtscore"
    assert "--annotations" in ran.err.splitlines()[1]
    Path("made.h5").write_bytes(data.read_bytes())
    _train(run, data, "--data", "made.h5", code=2, error="both go by the name made")


def test_train_long_video(run: Run) -> None:
    videos = toy_videos(5, "long")
    videos["long/video_1"] = toy_video("long/video_1", n_shots=400)
    write_annotated(videos, "long.h5")
    ran = _train(run, Path("long.h5"), code=2)
    assert "long/video_1 has 1600 samples; the model has positions for 1536" in ran.err
    assert "VIDSUM_TRAIN_FULLTRANSNET_HEAD=pointer" in ran.err
    _train(run, Path("long.h5"), "--head", "pointer", "--split", 0, "--epochs", 1)


def test_train_exploding_loss(run: Run, data: Path) -> None:
    ran = _train(run, data, "--lr", 1e30, "--epochs", 5, "--split", 0, "--split", 1, "--json", code=1)
    failed = ran.json_lines
    assert [result["input"] for result in failed] == ["run/split_0", "run/split_1"]
    assert all("epoch" in result["errors"][0]["message"] for result in failed)
    assert all("--lr" in result["errors"][0]["hint"] for result in failed)


def test_number_behind_the_last_split_is_refused(run: Run, data: Path) -> None:
    run("train", "ridge", "--data", data, "--out", "run", "--split", 5, code=2, error="unknown split 5")
