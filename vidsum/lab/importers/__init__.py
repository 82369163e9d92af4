"""Import checkpoints in the formats of other authors' code."""

from pathlib import Path

from vidsum.checkpoints.named import OFFICIAL, official_path
from vidsum.errors import WeightsError
from vidsum.io.atomic import make_folder
from vidsum.lab.importers.published import read_published


def add_official(file: Path, name: str) -> Path:
    """Store a published model, `name` of OFFICIAL, as a checkpoint in the folder of weights; return its path.

    Raises WeightsError: not that model. OutputError: not stored.
    """
    hint = OFFICIAL[name]
    tensors, options = read_published(file, hint)
    # they import torch, which takes 0.6 GB: not for a file that is something else
    from vidsum.checkpoints.trained import save_trained
    from vidsum.lab.importers.import_detr import moment_detr_checkpoint, qd_detr_checkpoint
    from vidsum.lab.importers.import_mrnet import CONFIGURATIONS, mrnet_checkpoint

    try:
        if name in CONFIGURATIONS:
            trained = mrnet_checkpoint(tensors, name)
        elif name == "qd-detr-qvhighlights":
            trained = qd_detr_checkpoint(tensors, options)
        else:
            trained = moment_detr_checkpoint(tensors, options)
    except WeightsError as error:
        raise WeightsError(error.parts, error.hint_text or hint, subject=file) from error
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        # what indexing and reshaping raise at tensors of other shapes, and numbers at other options
        fault = f"its tensors or options do not have the form of {name}"
        raise WeightsError(fault, hint=hint, subject=file) from error
    path = official_path(name)
    make_folder(path.parent)
    save_trained(path, trained)
    return path
