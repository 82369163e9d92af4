"""Key frames of a summary, and pictures as files."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from vidsum.errors import UsageError
from vidsum.labels import labelled
from vidsum.outputs import atomic_write, make_folder
from vidsum.results.summary import Summary
from vidsum.types import Picture

_JPEG_QUALITY = 92
_KEY_FRAME_NAME = re.compile(r"\d+_\d+\.\d\ds\.jpg")


def key_frame_times(summary: Summary) -> list[float]:
    """Seconds of the frame that stands for each segment: its most important sample, or else its middle.

    Of samples that are equally important, as those of a shot are to a trained model, the middle one: shots
    often begin and end in a fade.
    """
    times = []
    for start, end in summary.segments:
        inside = np.flatnonzero((summary.timestamps >= start) & (summary.timestamps < end))
        if len(inside) == 0:
            times.append((start + end) / 2)
            continue
        best = inside[summary.importance[inside] == summary.importance[inside].max()]
        times.append(float(summary.timestamps[best[len(best) // 2]]))
    return times


def save_key_frames(
    images: Sequence[Picture], times_s: Sequence[float], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write pictures as `NN_SECONDSs.jpg` into a folder, made if needed; return their paths.

    Key frames of an earlier run with another name are removed. Raises OutputError.
    """
    folder = Path(folder)
    make_folder(folder)
    digits = max(2, len(str(len(images))))
    paths = [folder / f"{number:0{digits}d}_{time_s:.2f}s.jpg" for number, time_s in enumerate(times_s, 1)]
    for path, image in zip(paths, images, strict=True):
        save_picture(image, path)
    for old in folder.iterdir():
        if _KEY_FRAME_NAME.fullmatch(old.name) and old not in paths:
            old.unlink(missing_ok=True)  # another process may be at the same folder
    return paths


def save_picture(image: Picture, target: str | os.PathLike[str], label: str | None = None) -> None:
    """Write a picture as PNG or JPEG by the suffix; see `vidsum.labels` for the label.

    Raises UsageError for another suffix, and OutputError where the file cannot be written.
    """
    suffix = Path(target).suffix.lower()
    if suffix not in (".png", ".jpg", ".jpeg"):
        raise UsageError(f"{target}: picture must end in .png or .jpg")
    options = [] if suffix == ".png" else [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    _, data = cv2.imencode(suffix, cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)
    with atomic_write(target) as part:
        part.write_bytes(labelled(data.tobytes(), suffix, label))
