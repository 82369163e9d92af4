"""Files of models as their authors published them: tensors, options, and names that are left."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch

from vidsum.errors import WeightsError
from vidsum.lab.importers.published import TensorReader, read_published

ONE = {"a": torch.ones(2)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.ckpt"


def test_only_a_file_without_content_is_called_empty(path: Path) -> None:
    path.touch()
    with pytest.raises(WeightsError, match="is empty"):
        read_published(path, "hint")
    torch.save(ONE, path)
    assert list(read_published(path, "hint")[0]) == ["a"]


def test_missing_published_file_cannot_be_read(path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be read") as raised:
        read_published(path, "hint")
    assert raised.value.subject == str(path)


def test_refused_published_file_has_the_hint_of_its_model(path: Path) -> None:
    torch.save([1], path)
    with pytest.raises(WeightsError) as raised:
        read_published(path, "give model_best.ckpt")
    assert raised.value.hint == "give model_best.ckpt"


def test_published_tensors_are_taken_from_under_the_model(path: Path) -> None:
    torch.save({"model": ONE, "optimizer": {"b": torch.ones(1)}}, path)
    assert list(read_published(path, "hint")[0]) == ["a"]


def test_prefix_of_several_gpus_is_removed_from_published_names(path: Path) -> None:
    torch.save({"module.a.module.b": torch.ones(2)}, path)
    assert list(read_published(path, "hint")[0]) == ["a.module.b"]


@pytest.mark.parametrize("options", [{"layers": 2}, Namespace(layers=2)], ids=["mapping", "object"])
def test_published_options_are_read_from_a_mapping_or_an_object(path: Path, options: Any) -> None:
    torch.save({"model": ONE, "opt": options}, path)
    assert dict(read_published(path, "hint")[1]) == {"layers": 2}


def test_published_options_that_are_a_list_are_refused(path: Path) -> None:
    torch.save({"model": ONE, "opt": [1]}, path)
    with pytest.raises(WeightsError, match="are not a mapping"):
        read_published(path, "hint")


def test_tensor_that_a_published_file_lacks_is_named() -> None:
    with pytest.raises(WeightsError, match="state dict of Toy: it has no b"):
        TensorReader(ONE, "Toy", "$").take("b")


def test_tensors_that_are_not_taken_make_an_unknown_variant() -> None:
    reader = TensorReader({"a": torch.ones(1), "b": torch.ones(1)}, "Toy", "$")
    reader.take("a")
    with pytest.raises(WeightsError, match="unknown variant of Toy: it has b"):
        reader.require_all_taken()


def test_unused_tensors_need_not_be_taken() -> None:
    TensorReader({"aux.w": torch.ones(1)}, "Toy", "aux").require_all_taken()


def test_layers_of_a_published_name_are_counted_once() -> None:
    names = dict.fromkeys(("enc.0.w", "enc.0.b", "enc.1.w", "dec.0.w"), torch.ones(1))
    assert TensorReader(names, "Toy", "$").count(r"enc\.(\d+)") == 2
