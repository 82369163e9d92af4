"""`vidsum weights`, as far as it needs no network; the fetching itself is tested in tests/checkpoints."""

from pathlib import Path

import pytest
import torch

from tests.checkpoints.published_mrnet import CONFIGS, state_dict
from tests.commands.conftest import Run
from vidsum.checkpoints.trained import read_trained


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")


def test_list_shows_every_checkpoint_and_its_state(run: Run) -> None:
    ran = run("weights", "list")
    assert ran.code == 0
    for name in ("mobilenet_v2", "i3d", "googlenet", "c3d", "clip", "transnetv2"):
        assert name in ran.out
    assert "missing" in ran.out
    states = {
        entry["name"]: entry["state"] for entry in run("weights", "list", "--json").json["data"]["weights"]
    }
    assert states["i3d"] == "missing"
    assert states["ridge"] == "shipped"


def test_pull_offline_is_4(run: Run) -> None:
    ran = run("weights", "pull", "i3d")
    assert ran.code == 4
    assert "VIDSUM_OFFLINE" in ran.err


def test_path_of_missing_weights_is_4_and_names_the_mend(run: Run) -> None:
    ran = run("weights", "path", "i3d")
    assert ran.code == 4
    assert "vidsum weights pull i3d" in ran.err


def test_verify_of_missing_weights_is_4(run: Run) -> None:
    assert run("weights", "verify", "i3d").code == 4


def test_verify_with_nothing_here_has_nothing_to_do(run: Run) -> None:
    assert run("weights", "verify").code == 0


def test_a_name_that_is_none_is_2(run: Run) -> None:
    for command in ("pull", "path", "verify"):
        assert run("weights", command, "nonsense").code == 2


def test_a_wrong_file_is_not_added(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.pth").write_bytes(b"wrong")
    ran = run("weights", "add", tmp_path / "wrong.pth", "--as", "mobilenet_v2")
    assert ran.code == 4
    assert "SHA-256" in ran.err


@pytest.mark.parametrize("format", [("--format", "mrnet-official"), ()])
def test_a_file_in_the_authors_format_is_stored_and_its_path_told(
    run: Run, tmp_path: Path, format: tuple[str, ...]
) -> None:
    torch.save({"model": state_dict(CONFIGS["mrnet-tacos"], is_shared=True)}, tmp_path / "best.pth")
    ran = run("weights", "add", tmp_path / "best.pth", "--as", "mrnet-tacos", *format, "--json")
    assert ran.code == 0
    assert read_trained(ran.json["data"]["path"]).model == "mrnet"
    ran = run("weights", "add", tmp_path / "best.pth", "--as", "mrnet-activitynet", *format)
    assert (ran.code, "TACoS" in ran.err, "--as mrnet-tacos" in ran.err) == (4, True, True)


def test_a_wrong_file_in_the_authors_format_is_4(run: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.pth").write_bytes(b"wrong")
    ran = run(
        "weights", "add", tmp_path / "wrong.pth", "--as", "mrnet-activitynet", "--format", "mrnet-official"
    )
    assert ran.code == 4
    assert "not a torch file" in ran.err


@pytest.mark.parametrize(
    ("format", "name", "known"),
    [
        ("mrnet-official", "i3d", "mrnet-activitynet, mrnet-charades, mrnet-tacos"),
        ("mrnet-official", "qd-detr-qvhighlights", "mrnet-activitynet, mrnet-charades, mrnet-tacos"),
        ("detr-official", "mrnet-activitynet", "moment-detr-qvhighlights, qd-detr-qvhighlights"),
    ],
)
def test_an_authors_format_has_its_own_names(
    run: Run, tmp_path: Path, format: str, name: str, known: str
) -> None:
    ran = run("weights", "add", tmp_path / "x.pth", "--as", name, "--format", format)
    assert ran.code == 2
    assert f"known are {known}" in " ".join(ran.err.split())
