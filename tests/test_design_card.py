"""The parts that the design card names, from the command line: extractors, readers, KTS, models, devices."""

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
import yaml

from tests.checkpoints.server import Server, running_server
from tests.conftest import deep, needs_torch, real_weights
from tests.media import make_colour_film
from tests.program import Run
from vidsum.checkpoints import registry

ROOT = Path(__file__).parents[1]
CPU = ("--device", "cpu")
Array = npt.NDArray[np.float64]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def film(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten seconds in four shots, in the current folder."""
    monkeypatch.chdir(tmp_path)
    make_colour_film(tmp_path / "film.mp4")
    return tmp_path / "film.mp4"


@pytest.fixture
def server(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with running_server() as running:
        yield running


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that puts random weights of a network on the server that its registry entry names."""

    def put(name: str) -> None:
        import torch

        from tests.features import networks

        monkeypatch.setattr("open_clip.get_model_config", networks.shallow_clip_config)
        torch.save(dict(networks.WEIGHTS[name]()), content := io.BytesIO())
        body = content.getvalue()
        models = yaml.safe_load((ROOT / "weights/registry.yaml").read_text("utf-8"))["models"]
        (file,) = models[name]["files"]
        file["sha256"], file["bytes"] = hashlib.sha256(body).hexdigest(), len(body)
        file["sources"] = [{"url": server.serve(f"/{name}.pt", body)}]
        entries = registry.parse(yaml.safe_dump({"models": models}))
        monkeypatch.setattr(registry, "builtin_entries", lambda: entries)

    return put


def features_in(path: str) -> npt.NDArray[np.float32]:
    with np.load(path) as arrays:
        return np.asarray(arrays["features"])


@needs_torch
@pytest.mark.parametrize(("name", "dim"), [("googlenet", 1024), deep("clip", 512), deep("c3d", 4096)])
def test_extract_fetches_weights_and_computes(
    name: str, dim: int, run: Run, film: Path, publish: Callable[[str], None], server: Server
) -> None:
    """With the device `auto`, which is a GPU where there is one."""
    publish(name)
    ran = run("extract", film, "--extractor", name, "--device", "auto", "-o", "f.npz", "--json")
    assert ran.json["ok"]
    assert server.received == [f"/{name}.pt"]
    array = features_in("f.npz")
    assert array.shape[1] == dim
    assert len(array) > 4
    assert np.isfinite(array).all()
    # 2 s and 6 s into the film are other colours
    assert np.abs(array[1] - array[-1]).max() > 1e-3 * np.abs(array).max()


@pytest.mark.deep
@needs_torch
@pytest.mark.parametrize("reader", ["decord", "opencv"])
def test_readers_see_the_pictures_of_the_default(
    reader: str, run: Run, film: Path, publish: Callable[[str], None]
) -> None:
    publish("googlenet")
    for name in ("pyav", reader):
        options = ("--reader", name, "--fps", "1", "--no-cache", *CPU)
        run("extract", film, "--extractor", "googlenet", *options, "-o", f"{name}.npz")
    default, other = features_in("pyav.npz"), features_in(f"{reader}.npz")
    assert default.shape == other.shape
    cosines = (default * other).sum(axis=1) / np.linalg.norm(default, axis=1) / np.linalg.norm(other, axis=1)
    assert cosines.min() > 0.99


N_SAMPLES, STEP_S = 16, 0.5


@pytest.fixture
def rows() -> Array:
    """Unit rows [T, D] of random features, in `f.npz`."""
    array = np.random.default_rng(3).standard_normal((N_SAMPLES, 6)).astype(np.float32)
    np.savez("f.npz", features=array, timestamps=np.arange(N_SAMPLES) * STEP_S)
    return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float64)


def scatter(rows: Array, starts: tuple[int, ...]) -> float:
    """The sum of squared distances of rows from the mean of their shot."""
    parts = [rows[first:end] for first, end in pairwise([0, *starts, len(rows)])]
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def test_kts_is_the_best_of_all_segmentations(run: Run, rows: Array) -> None:
    document = run("shots", "f.npz", "--shots", "kts", "--max-shots", 4, "-o", "-").json
    times = np.arange(N_SAMPLES) * STEP_S
    found = tuple(int((times < shot["start_s"] - 1e-9).sum()) for shot in document["shots"][1:])
    assert len(found) in (1, 2, 3)
    shortest = min(np.diff([0, *found, N_SAMPLES]))
    choices = [
        starts
        for starts in combinations(range(1, N_SAMPLES), len(found))
        if min(np.diff([0, *starts, N_SAMPLES])) >= shortest
    ]
    assert scatter(rows, found) == pytest.approx(min(scatter(rows, starts) for starts in choices), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_key_shots_are_the_exact_knapsack(seed: int, run: Run) -> None:
    """The only annotator has the best of all 4,096 sets of shots, and the row must have the same."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(10, 60, 12)
    ends, n_frames = lengths.cumsum(), int(lengths.sum())
    means = draw.random(12).astype(np.float32)
    values = means.astype(np.float64)  # PGL-SUM: a shot is worth its mean score
    sets = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    fits = sets @ lengths <= int(0.15 * n_frames)
    best = sets[np.where(fits, sets @ values, -1).argmax()]
    video = {
        "features": draw.standard_normal((n_frames, 4)).astype(np.float32),
        "gtscore": np.repeat(means, lengths),
        "user_scores": np.repeat(means, lengths)[None],
        "user_summary": np.repeat(best, lengths)[None].astype(np.float32),
        "picks": np.arange(n_frames),
        "n_frames": n_frames,
        "change_points": np.stack([ends - lengths, ends - 1], axis=1),
    }
    with h5py.File("made.h5", "w") as file:
        for name, value in video.items():
            file[f"video_1/{name}"] = value
    Path("mine.json").write_text(json.dumps({"video_1": np.repeat(means, lengths).tolist()}))
    options = ("--data", "made.h5", "--scores", "mine.json", "--seeds", 1)
    report = run("evaluate", "summary", *options, "-o", "-").json
    (row,) = (row for row in report["rows"] if row["name"] == "mine")
    (measured,) = (shots for shots in row["key_shots"] if shots["knapsack"] == "pgl-sum")
    assert 0 < best.sum() < 12
    assert measured["f_max"] == pytest.approx(1.0)


@pytest.mark.weights
def test_summarize_with_fulltransnet(run: Run, film: Path) -> None:
    real_weights("efficientnet_lite0")
    document = run("summarize", film, "--model", "fulltransnet", *CPU, "-o", "-").json
    assert document["model"] == "fulltransnet"
    assert document["segments"]


@pytest.mark.weights
def test_ground_with_mrnet(run: Run, film: Path) -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    document = run("ground", film, "--model", "mrnet", "--query", "a blue wall", *CPU, "-o", "-").json
    assert document["model"] == "mrnet"
    assert document["queries"][0]["moments"]


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as where it is not installed
from vidsum.commands.app import main
main()
"""


@pytest.mark.weights
def test_device_auto_needs_no_torch(film: Path) -> None:
    real_weights("efficientnet_lite0")
    command = [sys.executable, "-c", WITHOUT_TORCH, "summarize", str(film), "--device", "auto", "-o", "-"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    summary: dict[str, Any] = json.loads(ran.stdout)
    assert summary["segments"]
