"""Adding weights of the user's own for one of the extractors' networks."""

from functools import partial
from pathlib import Path

from vidsum import checkpoints
from vidsum.checkpoints.registry import EntryStatus
from vidsum.errors import Mention, UsageError, VidsumError, WeightsError, unknown_name_error
from vidsum.features import describe
from vidsum.features.extractor import find_custom_extractor
from vidsum.features.settings import EXTRACTORS
from vidsum.io.packages import require_extra


def add_weights(file: Path, name: str, network: str) -> EntryStatus:
    """Add a file of weights as the extractor `name`. Raises UsageError: names; WeightsError: no fit."""
    from vidsum.checkpoints.obtain import add_user_weights

    if network not in EXTRACTORS:
        raise unknown_name_error("network", network, EXTRACTORS)
    if name in EXTRACTORS or find_custom_extractor(name):
        raise UsageError(
            f"{name} is an extractor already", hint=("choose another name with ", Mention("name"))
        )
    return add_user_weights(file, name, network, partial(_check, file, network))


def add_published(file: Path, name: str) -> EntryStatus:
    """Add a copy of published weights by its SHA-256, or where none is known by its tensors.

    Raises UsageError: no such name. WeightsError: it is another file.
    """
    return checkpoints.add(file, name, EXTRACTORS, partial(_check, file, name))


def _check(file: Path, network: str, content: Path) -> None:
    """Raise WeightsError where content does not fit a network; it came from `file`."""
    from safetensors import SafetensorError, safe_open

    try:
        if file.suffix == ".json":
            from tokenizers import Tokenizer

            Tokenizer.from_file(str(content))
            return
        with safe_open(content, framework="np"):  # its header, before torch takes 0.6 GB
            pass
        require_extra("torch", network)
        from safetensors.torch import load_file

        describe(network).build(load_file(content))
    except VidsumError:
        raise
    except SafetensorError as error:
        raise WeightsError(f"not a file of tensors ({error})", subject=file) from error
    except Exception as error:  # the tokenizer's faults are plain ones
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        fault = (lines[1:] or lines or ["unknown"])[0]
        raise WeightsError(
            f"does not fit {network}: {fault if len(fault) < 200 else fault[:200] + ' ...'}",
            hint="give a state dict with the names and shapes of that network",
            subject=file,
        ) from error
