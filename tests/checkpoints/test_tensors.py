"""Torch files of others: only mappings of names to plain numbers are read."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import torch

from tests.conftest import deep
from tests.lab.importers.published_detr import at_random, moment_detr
from vidsum.checkpoints.named import OFFICIAL
from vidsum.checkpoints.obtain import convert
from vidsum.errors import InputError, OutputError, WeightsError
from vidsum.lab.datasets.published_features import open_features
from vidsum.lab.importers import add_official

NOT_PLAIN: dict[str, Callable[[], Any]] = {
    "sparse": lambda: torch.eye(3).to_sparse(),
    "meta": lambda: torch.empty(3, 2, device="meta"),
    "complex": lambda: torch.ones(3, 2, dtype=torch.complex64),
    "widened": lambda: torch.zeros(1).expand(1_000_000, 1_000_000),  # claims to be 4 TB
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(3, 2), 0.1, 0, torch.qint8),
}
NOT_A_STATE_DICT: dict[str, Callable[[], Any]] = {
    "integer keys": lambda: {1: torch.ones(2), 2: torch.ones(2)},
    "keys of both kinds": lambda: {"a": torch.ones(2), 2: torch.ones(2)},
    "a list": lambda: [torch.ones(2)],
    "a tensor": lambda: torch.ones(2),
    "a number": lambda: 3,
    "nothing": lambda: None,
    "nested mappings": lambda: {"a": {"b": torch.ones(2)}},
    "no tensors": lambda: {"a": 1},
    "integer keys under model": lambda: {"model": {1: torch.ones(2)}, "state_dict": {1: torch.ones(2)}},
    "a list under model": lambda: {"model": [torch.ones(2)], "state_dict": [torch.ones(2)]},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.q.*are deprecated", "ignore:.*sparse.*beta state"),
    pytest.mark.usefixtures("own_home"),
]


@pytest.mark.parametrize("make", NOT_A_STATE_DICT.values(), ids=NOT_A_STATE_DICT)
def test_torch_file_without_a_state_dict_is_refused(tmp_path: Path, make: Callable[[], Any]) -> None:
    torch.save(make(), tmp_path / "m.pth")
    with pytest.raises(WeightsError, match="state dict"):
        convert(tmp_path / "m.pth", "torch", tmp_path / "kept")
    for name in OFFICIAL:
        with pytest.raises(WeightsError, match=r"m\.pth: .*state dict"):
            add_official(tmp_path / "m.pth", name)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("make", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_tensors_that_are_not_plain_numbers_are_refused(tmp_path: Path, make: Callable[[], Any]) -> None:
    torch.save({"a": torch.ones(2), "odd": make()}, tmp_path / "m.pth")
    with pytest.raises(WeightsError, match=r"m\.pth: "):
        convert(tmp_path / "m.pth", "torch", tmp_path / "kept")
    with pytest.raises(WeightsError, match=r"m\.pth: "):
        add_official(tmp_path / "m.pth", "mrnet-activitynet")
    torch.save(make(), tmp_path / "v_a.pt")
    with pytest.raises(InputError, match=r"v_a\.pt: "):
        open_features([tmp_path], ["v_a"])("v_a")


def test_tensor_that_is_repeated_a_hundred_times_is_refused(tmp_path: Path) -> None:
    shared = torch.zeros(100_000)
    torch.save({f"{number}": shared for number in range(100)}, tmp_path / "m.pth")
    with pytest.raises(WeightsError, match="more than the file holds"):
        convert(tmp_path / "m.pth", "torch", tmp_path / "kept")


def test_packed_file_that_unpacks_to_much_more_is_refused(tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(1_000_000)[:1]}, tmp_path / "whole.pth")
    with ZipFile(tmp_path / "whole.pth") as whole, ZipFile(tmp_path / "m.pth", "w", ZIP_DEFLATED) as packed:
        for name in whole.namelist():
            packed.writestr(name, whole.read(name))
    with pytest.raises(WeightsError, match="more than the file holds"):
        convert(tmp_path / "m.pth", "torch", tmp_path / "kept")


def test_published_model_needs_a_folder_to_be_stored_in(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    torch.save({"model": at_random(moment_detr(16, 8, 12, 12))}, tmp_path / "m.ckpt")
    with pytest.raises(OutputError, match="cannot be made"):
        add_official(tmp_path / "m.ckpt", "moment-detr-qvhighlights")


@pytest.mark.parametrize("seed", [0, *(deep(seed) for seed in range(1, 12))])
def test_published_model_of_other_shapes_is_an_error_of_ours(tmp_path: Path, seed: int) -> None:
    whole = at_random(moment_detr(16, 8, 12, 12))
    for name in list(whole)[seed::12]:
        for odd in (torch.tensor(1.0), whole[name].reshape(-1)[:0], whole[name][None, None]):
            torch.save({"model": {**whole, name: odd}}, tmp_path / "m.ckpt")
            with suppress(WeightsError):  # what is not used, or is only more, is let pass
                add_official(tmp_path / "m.ckpt", "moment-detr-qvhighlights")


@pytest.mark.parametrize(
    "options", [{"nheads": "eight"}, {"max_v_l": [75]}, {"clip_length": 0}, {"clip_length": None}]
)
def test_published_model_with_impossible_options_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    torch.save({"model": at_random(moment_detr(16, 8, 12, 12)), "opt": options}, tmp_path / "m.ckpt")
    with pytest.raises(WeightsError, match=r"m\.ckpt: .*options"):
        add_official(tmp_path / "m.ckpt", "moment-detr-qvhighlights")
