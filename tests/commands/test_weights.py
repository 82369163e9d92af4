"""`vidsum weights`, as far as it needs no network; the fetching itself is tested in tests/checkpoints."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from tests.conftest import deep
from tests.lab.importers.published_mrnet import CONFIGS, state_dict
from tests.media import make_video
from tests.program import Run
from vidsum import checkpoints
from vidsum.checkpoints.trained import read_trained
from vidsum.features import describe, get_extractor
from vidsum.results.feature_files import read_features

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")


def test_no_size_is_zero(run: Run) -> None:
    assert " 0.0 MB " not in run("weights", "list").out


def test_weights_that_are_whole_are_verified(run: Run) -> None:
    assert run("weights", "verify", "ridge").out == "ridge: verified\n"


def test_missing_weights_are_not_verified(run: Run) -> None:
    run("weights", "verify", "i3d", code=4, error="i3d: missing")


def test_list_names_weights_that_ship_and_that_are_missing(run: Run) -> None:
    listed = run("weights", "list", "--json").json["data"]["weights"]
    states = {entry["name"]: entry["state"] for entry in listed}
    assert (states["i3d"], states["ridge"]) == ("missing", "shipped")


def test_list_of_weights_is_a_table(run: Run) -> None:
    ran = run("weights", "list")
    for name in ("mobilenet_v2", "i3d", "googlenet", "c3d", "clip", "missing"):
        assert name in ran.out


def test_damaged_weights_are_not_verified(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status = next(status for status in checkpoints.entries() if status.entry.name == "ridge")
    damaged = replace(status, state="damaged", reason="its SHA-256 is another")
    monkeypatch.setattr(checkpoints, "verify", lambda name: damaged)
    ran = run("weights", "verify", "ridge", code=4, error="ridge: its SHA-256 is another")
    assert "verified" not in ran.out


def test_published_model_is_added_under_its_name_alone(run: Run, tmp_path: Path) -> None:
    torch.save({"model": state_dict(CONFIGS["mrnet-tacos"], is_shared=True)}, tmp_path / "best.pth")
    ran = run("weights", "add", tmp_path / "best.pth", "--as", "mrnet-tacos", "--json")
    assert read_trained(ran.json["data"]["path"]).model == "mrnet"
    ran = run("weights", "add", tmp_path / "best.pth", "--as", "mrnet-activitynet", code=4)
    assert "clips 128" in ran.err
    assert "mrnet-activitynet has dim_video 500, clips 64" in ran.err


ADD_EACH = """
import sys
from vidsum.commands.app import main
file, *names = sys.argv[1:]
for name in names:
    sys.argv = ["vidsum", "weights", "add", file, "--as", name]
    try:
        main()
    except SystemExit as left:
        print(name, left.code, "torch" in sys.modules)
        print(name, file=sys.stderr)
"""
OF_EACH_READER = ("qd-detr-qvhighlights", "mrnet-tacos", "mobileclip2-s0", "googlenet")


@pytest.mark.parametrize("suffix", [".pth", deep(".safetensors")])
def test_what_is_no_weights_is_refused_before_torch_is_imported(tmp_path: Path, suffix: str) -> None:
    """torch takes 0.6 GB."""
    file = tmp_path / f"file{suffix}"
    file.write_bytes(b"not a file")
    ran = subprocess.run(
        [sys.executable, "-c", ADD_EACH, str(file), *OF_EACH_READER],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ
        | {"VIDSUM_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert ran.stdout.splitlines() == [f"{name} 4 False" for name in OF_EACH_READER]
    rest = ran.stderr
    for name in OF_EACH_READER:
        error, _, rest = rest.partition(f"\n{name}\n")
        assert "\n  try: " in error or "not a file of tensors" in error


def _googlenet(seed: int = 0, classes: int = 1000) -> dict[str, torch.Tensor]:
    from torchvision.models import googlenet

    torch.manual_seed(seed)
    model = googlenet(weights=None, aux_logits=False, init_weights=False, num_classes=classes)
    return dict(model.state_dict())


def test_weights_of_the_user_are_an_extractor(run: Run, tmp_path: Path) -> None:
    film, file = make_video(tmp_path / "film.mp4", n_frames=25).path, tmp_path / "mine.pth"
    torch.save({"state_dict": _googlenet()}, file)
    added = run("weights", "add", file, "--as", "my_net", "--network", "googlenet", "--json")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    assert added.json["data"]["files"][0]["sha256"] == sha256
    listed = {item["name"]: item for item in run("weights", "list", "--json").json["data"]["weights"]}
    assert listed["my_net"]["state"] == "present"
    assert "googlenet" in listed["my_net"]["purpose"]
    assert run("weights", "verify", "my_net").out == "my_net: verified\n"
    run("extract", film, "-e", "my_net", "-o", "mine.npz")
    features = read_features("mine.npz")
    made = features.effective_provenance
    facts = (made["extractor"], made["weights_sha256"], made["parameters"]["network"])
    assert facts == ("my_net", sha256, "googlenet")
    network = get_extractor(describe("my_net"), device="cpu")
    assert features.array.shape[1] == network.encode(np.zeros((1, 1, 224, 224, 3), np.uint8)).shape[1] == 1024
    # other weights of the name, and names that are taken
    torch.save(_googlenet(1), file)
    for name, words in (
        ("my_net", "has other weights already"),
        ("googlenet", "is an extractor already"),
        ("i3d_128", "is an extractor already"),
        ("minilm", "is a name of vidsum's"),
        ("../x", "a name has up to 64"),
    ):
        run("weights", "add", file, "--as", name, "--network", "googlenet", code=2, error=words)
    run("weights", "remove", "my_net")
    run("extract", film, "-e", "my_net", "-o", "other.npz", code=2)
    run("weights", "remove", "my_net", code=2)


@pytest.mark.parametrize(("content", "words"), [
    (lambda: _googlenet(classes=10), "does not fit googlenet: size mismatch for fc.weight"),
    (lambda: {"a": torch.zeros(3)}, "does not fit googlenet: Missing key"),
    (lambda: b"{not a file of weights", "not a torch file"),
    (lambda: b"\x08\0\0\0\0\0\0\0{not json", "not a file of tensors"),
])  # fmt: skip
def test_add_weights_that_do_not_fit(run: Run, tmp_path: Path, content: Any, words: str) -> None:
    made = content()
    if isinstance(made, bytes):
        (tmp_path / "mine.pth").write_bytes(made)
    else:
        torch.save(made, tmp_path / "mine.pth")
    ran = run("weights", "add", tmp_path / "mine.pth", "--as", "my_net", "--network", "googlenet", code=4)
    assert "mine.pth: " in ran.err
    assert words in ran.err
    assert "my_net" not in run("weights", "list").out
    run("weights", "add", tmp_path / "mine.pth", "--as", "my_net", "--network", "nonet", code=2)


@pytest.mark.parametrize(("content", "words"), [
    (save({"a": np.zeros(3, np.float32)}), "does not fit mobileclip2-s0: Missing key"),
    (save({"a": np.zeros(3, np.float32)})[:-1], "not a file of tensors"),
    (b"<!DOCTYPE html><html>sign in</html>", "not a file of tensors"),
])  # fmt: skip
def test_add_another_file_of_the_clip_family(run: Run, tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    run("weights", "add", file, "--as", "mobileclip2-s0", code=4, error=words)
    run("weights", "path", "mobileclip2-s0", code=4)
