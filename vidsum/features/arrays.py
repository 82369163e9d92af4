"""Features as named arrays and a JSON text, which is what feature files hold, whether npz or h5."""

import json
import lzma
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError
from vidsum.types import Features, VideoInfo

SCHEMA = "vidsum.features/1"

_PASSED_ON = ("extractor", "step_s", "covers_s", "duration_s", "video_fps")

_TYPES: dict[str, tuple[type, ...]] = {
    "extractor": (str,),
    "step_s": (int, float),
    "covers_s": (int, float),
    "duration_s": (int, float),
    "video_fps": (int, float),
    "video": (dict, type(None)),
    "provenance": (dict,),
    "warnings": (list,),
}
_UNSEEN_S = 60.0
"""What a video may have after its last feature, beside twice what they cover: frames that no clip sees."""
_MOST_FPS = 10_000

_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What NumPy and h5py raise at files that are damaged or none of ours: NumPy reads its headers as Python."""


def metadata_of(features: Features) -> dict[str, Any]:
    """What a file says of its features beside the arrays, JSON-ready."""
    return {
        "schema": SCHEMA,
        **{name: getattr(features, name) for name in _PASSED_ON},
        "video": asdict(features.video) if features.video else None,
        "provenance": dict(features.provenance),
        "warnings": list(features.warnings),
    }


def features_of(arrays: Mapping[str, Any]) -> Features:
    """Features of the arrays of a file: those that we wrote, or `features` and maybe `timestamps` alone.

    Raises:
        UsageError: there are no features, or they are unusable.
        ValueError, KeyError, TypeError: the metadata is not what `metadata_of` gives; see `refusing`.
    """
    if "features" not in arrays:
        raise UsageError("it has no array named features")
    array = float32(arrays["features"])
    metadata = _metadata(str(arrays["metadata"])) if "metadata" in arrays else {}
    times = np.asarray(arrays["timestamps"], dtype=np.float64) if "timestamps" in arrays else None
    if not metadata:
        return Features.from_array(array) if times is None else timed(array, times)
    made = Features(
        array=array,
        timestamps=np.asarray(arrays["timestamps"], dtype=np.float64),
        **{name: metadata[name] for name in _PASSED_ON},
        logits=float32(arrays["logits"]) if "logits" in arrays else None,
        video=VideoInfo(**metadata["video"]) if metadata["video"] else None,
        provenance=metadata["provenance"],
        warnings=tuple(metadata["warnings"]),
    )
    _check(made)
    return made


def float32(array: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """The same numbers, contiguous; what is too large becomes infinite, which features are refused for."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def _metadata(text: str) -> dict[str, Any]:
    """What `metadata_of` gave, its fields of the types that they had.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    metadata: dict[str, Any] = json.loads(text, parse_constant=_no_number)
    for name, kinds in _TYPES.items():
        value = metadata[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}")
    if any(not isinstance(warning, str) for warning in metadata["warnings"]):
        raise TypeError("a warning is not a text")
    return metadata


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _check(features: Features) -> None:
    """Refuse lengths that no video of these features has: arrays of a number a frame are made of them."""
    seen_s = features.timestamps[-1] + features.covers_s + features.step_s
    if not features.duration_s <= 2 * seen_s + _UNSEEN_S:
        raise UsageError(f"its video lasts {features.duration_s:g} s, but its features end at {seen_s:g} s")
    if not features.video_fps <= _MOST_FPS:
        raise UsageError(f"its video has {features.video_fps:g} frames a second")
    logits = features.logits
    if logits is not None and (logits.ndim != 2 or len(logits) != len(features)):
        raise UsageError(f"{len(features)} features have class scores of the shape {list(logits.shape)}")


def timed(
    array: npt.NDArray[np.float32], times: npt.NDArray[np.float64], video_fps: float = 30.0
) -> Features:
    """Features known only by their times: the usual gap between them is the step.

    Args:
        array: [T, D].
        times: [T] seconds.
        video_fps: frames per second of the video.

    Raises:
        UsageError: the arrays do not go together.
    """
    if times.ndim != 1 or not np.isfinite(times).all():
        raise UsageError("the times of features must be one finite number for each")
    step = float(np.median(np.diff(times))) if len(times) > 1 else 0.5
    end = float(times[-1]) + step if len(times) else step
    return Features(array, times, step_s=step, covers_s=step, duration_s=end, video_fps=video_fps)


def existing(path: Path) -> Path:
    """The path of a file that is there and may be read.

    Raises:
        InputError: it is not, or may not.
    """
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: there is no permission to read it")
    return path


@contextmanager
def refusing(path: Path, kind: str = "feature file") -> Iterator[None]:
    """Turn what goes wrong while `path` is read into an InputError; our own checks give their reason."""
    try:
        yield
    except UsageError as error:
        raise InputError(f"{path}: not a {kind} ({error})") from error
    except _UNREADABLE as error:  # what the libraries say speaks of their internals
        raise InputError(f"{path}: not a {kind} (damaged, or of another kind)") from error
