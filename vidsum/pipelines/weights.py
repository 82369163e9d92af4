"""Adding weights of the user's own for one of the extractors' networks."""

from pathlib import Path

from vidsum.checkpoints import EntryStatus
from vidsum.errors import UsageError, WeightsError, unknown_name_error
from vidsum.features import describe
from vidsum.features.extractor import find_custom_extractor
from vidsum.features.settings import EXTRACTORS


def add_weights(file: Path, name: str, network: str) -> EntryStatus:
    """Add a file of weights as the extractor `name`. Raises UsageError: names; WeightsError: no fit."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from vidsum.checkpoints.obtain import add_user_weights

    if network not in EXTRACTORS:
        raise unknown_name_error("network", network, EXTRACTORS)
    if name in EXTRACTORS or find_custom_extractor(name):
        raise UsageError(f"{name} is an extractor already", hint="choose another name with --as")

    def check(tensors: Path) -> None:
        try:
            describe(network).build(load_file(tensors))
        except SafetensorError as error:
            raise WeightsError(f"{file}: not a file of tensors ({error})") from error
        except (RuntimeError, KeyError, ValueError, AttributeError) as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            fault = (lines[1:] or lines or ["unknown"])[0]
            raise WeightsError(
                f"{file}: does not fit {network}: {fault if len(fault) < 200 else fault[:200] + ' ...'}",
                hint="give a state dict with the names and shapes of that network",
            ) from error

    return add_user_weights(file, name, network, check)
