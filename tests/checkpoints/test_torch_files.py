"""Files of torch and pickles of arrays, read without torch: their tensors, and those that are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vidsum.checkpoints.torch_files import flatten, read_torch
from vidsum.errors import WeightsError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.pth"


def test_key_of_a_pickled_array_is_a_text() -> None:
    assert [key for key, _ in flatten({"a": np.zeros(3)}, "m.ckpt")] == ["a"]
    with pytest.raises(WeightsError, match="1 in the pickle is not the name of an array"):
        list(flatten({1: np.zeros(3)}, "m.ckpt"))


def test_keys_of_nested_arrays_are_joined_by_slashes() -> None:
    assert [key for key, _ in flatten({"a": {"b": np.zeros(3)}, "c": np.zeros(1)}, "m.ckpt")] == ["a/b", "c"]


def test_array_without_a_key_is_refused() -> None:
    with pytest.raises(WeightsError, match="the pickle is not an array of numbers"):
        list(flatten(np.zeros(3), "m.ckpt"))


def test_file_of_the_first_format_of_torch_begins_with_its_magic_number(path: Path) -> None:
    torch.save({"a": torch.ones(2)}, path, _use_new_zipfile_serialization=False)
    assert list(read_torch(path)) == ["a"]
    path.write_bytes(path.read_bytes().replace((0x1950A86A20F9469CFC6C).to_bytes(10, "little"), bytes(10)))
    with pytest.raises(WeightsError, match="no magic number"):
        read_torch(path)


def test_storages_of_the_first_format_of_torch_are_read_from_their_places(path: Path) -> None:
    tensors = {"a": torch.arange(3.0), "b": torch.arange(5, dtype=torch.int16), "c": torch.arange(2.0).half()}
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    arrays = read_torch(path)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(arrays[name], tensor.numpy())


def test_state_dict_of_a_trainer_is_read_without_what_lies_beside_it(path: Path) -> None:
    torch.save({"epoch": 3, "state_dict": {"a": torch.ones(2)}}, path)
    assert list(read_torch(path)) == ["a"]


def test_bfloat16_becomes_float32(path: Path) -> None:
    torch.save({"a": torch.tensor([1.5, -2.0]).bfloat16()}, path)
    array = read_torch(path)["a"]
    assert (array.dtype, array.tolist()) == (np.float32, [1.5, -2.0])


def test_view_of_a_tensor_has_its_offset_and_strides(path: Path) -> None:
    whole = torch.arange(12.0).reshape(3, 4)
    torch.save({"column": whole[1:, 2], "turned": whole.t()}, path)
    arrays = read_torch(path)
    assert arrays["column"].tolist() == [6, 10]
    assert arrays["turned"].tolist() == whole.t().tolist()


@pytest.mark.parametrize("dims", [(0, 3), (2, 0)])
def test_empty_tensor_keeps_its_shape(path: Path, dims: tuple[int, ...]) -> None:
    torch.save({"a": torch.zeros(dims)}, path)
    assert read_torch(path)["a"].shape == dims


def test_tensors_share_memory_sixteen_times_at_most(path: Path) -> None:
    shared = torch.zeros(100_000)
    torch.save({f"{number}": shared for number in range(16)}, path)
    assert len(read_torch(path)) == 16
    torch.save({f"{number}": shared for number in range(17)}, path)
    with pytest.raises(WeightsError, match="claim more than the file holds"):
        read_torch(path)


@pytest.mark.parametrize(
    "make",
    [lambda: [torch.ones(2)], lambda: {1: torch.ones(2)}, lambda: {"a": 1}],
    ids=["list", "number as a key", "number as a value"],
)
def test_what_is_no_mapping_of_names_to_tensors_is_refused(path: Path, make: Callable[[], Any]) -> None:
    torch.save(make(), path)
    with pytest.raises(WeightsError, match="is not a state dict"):
        read_torch(path)
