"""Tensors and options of a model as other authors published them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from vidsum.checkpoints.torch_files import TorchFile
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

Tensors: TypeAlias = "Mapping[str, Tensor]"


def read_published(file: Path, hint: str) -> tuple[Tensors, Mapping[str, Any]]:
    """Return the state dict (or `model`) and options (`opt`) of a published file, read as data only.

    Raises WeightsError, with the hint: it has no state dict.
    """
    try:
        if not file.stat().st_size:
            raise WeightsError("is empty", subject=file)
        stored = TorchFile(file, str(file))
        content = stored.content
        # trainers put the tensors under this key, beside the optimizer and the epoch
        tensors = stored.arrays(content.get("model", content) if isinstance(content, dict) else content)
        options = content.get("opt", {})
        if not isinstance(options, dict):
            raise WeightsError("its options (opt) are not a mapping", subject=file)
    except OSError as error:
        raise WeightsError(f"cannot be read ({error.strerror})", subject=file) from error
    except WeightsError as error:
        raise WeightsError(error.text, hint, subject=error.subject) from error
    import torch  # which takes 0.6 GB: not for a file that is something else

    # trained on several GPUs, every name has a prefix
    named = {key.removeprefix("module."): torch.from_numpy(array) for key, array in tensors.items()}
    # options of a class are attributes of the object that stands for it
    return named, {**options, **getattr(options, "__dict__", {})}


class TensorReader:
    """Hands out tensors by name, and tracks which were not taken."""

    def __init__(self, tensors: Tensors, model: str, unused: str) -> None:
        """`model` is for messages; `unused` is a pattern of names that the outputs do not depend on."""
        self.tensors, self.model = tensors, model
        self.left = {name for name in tensors if not re.match(unused, name)}

    def take(self, name: str) -> "Tensor":
        """Return a tensor by its name. Raises WeightsError where there is none."""
        if name not in self.tensors:
            raise WeightsError(f"not a published state dict of {self.model}: it has no {name}")
        self.left.discard(name)
        return self.tensors[name]

    def take_layers(self, names: Mapping[str, str]) -> "dict[str, Tensor]":
        """Take the weight and bias of layers, given as {published name: name here}."""
        return {
            f"{key}.{part}": self.take(f"{published_key}.{part}")
            for published_key, key in names.items()
            for part in ("weight", "bias")
        }

    def count(self, pattern: str) -> int:
        """Count the different numbers that the group of a pattern matches in the names."""
        return len({match[1] for name in self.tensors if (match := re.match(pattern, name))})

    def require_all_taken(self) -> None:
        """Raise WeightsError where tensors were not taken."""
        if self.left:
            raise WeightsError(f"unknown variant of {self.model}: it has {min(self.left)}")
