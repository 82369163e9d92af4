"""Reading the torch files in which other authors published their models, without running anything in them."""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.checkpoints.tensors import load_tensors, state_dict_of
from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

    Tensors = Mapping[str, Tensor]


_OPTIONS: list[Any] = [(OrderedDict, "argparse.Namespace"), (OrderedDict, "easydict.EasyDict")]
"""Classes of options that files name, and the plain mapping that is built in their place."""


@dataclass(frozen=True, eq=False)
class Published:
    """What is in such a file."""

    tensors: "Tensors"
    """Their state dict."""
    options: Mapping[str, Any]
    """Of their training, where they are in it."""


def read_published(file: Path, hint: str) -> Published:
    """The tensors and options of a published file, read as data only.

    Args:
        file: as a trainer's `torch.save` wrote it: a state dict, or one under `model`, with options under
            `opt`.
        hint: of errors, what to give in its place.

    Raises:
        WeightsError: the file cannot be read, or holds no state dict.
    """
    import torch

    if file.is_file() and not file.stat().st_size:
        raise WeightsError(f"{file}: is empty", hint=hint)
    try:
        with torch.serialization.safe_globals(_OPTIONS):
            found = load_tensors(file)
    except OSError as error:
        raise WeightsError(f"{file}: cannot be read ({error.strerror})") from error
    except (*UNPICKLING_ERRORS, RuntimeError) as error:
        # the text of the error is many lines, with advice to run whatever code the file holds
        raise WeightsError(f"{file}: not a torch file of weights only", hint=hint) from error
    # trainers put the tensors under this key, beside the optimizer and the epoch
    held = found.get("model", found) if isinstance(found, dict) else found
    tensors = state_dict_of(held, str(file), file.stat().st_size, hint)
    options = found.get("opt", {})
    if not isinstance(options, dict):
        raise WeightsError(f"{file}: its options (opt) are no mapping", hint=hint)
    # trained on several GPUs, every name has a prefix
    return Published(
        {key.removeprefix("module."): value for key, value in tensors.items()},
        # those of a class are attributes of what stands for it
        {**options, **getattr(options, "__dict__", {})},
    )


class Reader:
    """Takes tensors by name, and knows which nobody took."""

    def __init__(self, tensors: "Tensors", model: str, unused: str) -> None:
        """`model` is for messages; `unused` a pattern of names that the model's answers do not depend on."""
        self.tensors, self.model = tensors, model
        self.left = {name for name in tensors if not re.match(unused, name)}

    def take(self, name: str) -> "Tensor":
        """A tensor.

        Raises:
            WeightsError: there is none of that name.
        """
        if name not in self.tensors:
            raise WeightsError(f"not a published state dict of {self.model}: it has no {name}")
        self.left.discard(name)
        return self.tensors[name]

    def count(self, pattern: str) -> int:
        """How many different numbers names have at the group of a pattern."""
        return len({found[1] for name in self.tensors if (found := re.match(pattern, name))})

    def finish(self) -> None:
        """Refuse with a WeightsError what has more tensors than were taken."""
        if self.left:
            raise WeightsError(
                f"of another variant of {self.model}: nothing is known of its {min(self.left)}"
            )
