"""Features of image files, seen as an extractor sees a frame."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from vidsum.errors import InputError
from vidsum.features import describe, get_extractor
from vidsum.features.extractor import Spec
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import PictureMaker, pixel_size

_BATCH = 32  # pictures in one call of a network


def encode_pictures(paths: Sequence[Path], extractor: str, device: str = "auto") -> FloatArray:
    """Return [N, D + inner] features of image files, by an extractor that sees single frames.

    Raises InputError: a file is no picture that can be read. WeightsError: see `get_extractor`.
    """
    spec = describe(extractor)
    network, rows = get_extractor(spec, device=device), []
    for start in range(0, len(paths), _BATCH):
        pictures = [view_picture(read_picture(path), spec) for path in paths[start : start + _BATCH]]
        rows.append(network.encode(np.stack(pictures)[:, None]))
    return np.concatenate(rows)


def read_picture(path: Path) -> Picture:
    """Return the RGB picture of a file, upright. Raises InputError: it cannot be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large pictures, and of metadata
        try:
            with Image.open(path) as image:
                return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
        except Exception as error:  # what Pillow raises at damaged files has nothing in common
            raise InputError("the picture cannot be read", subject=path) from error


def view_picture(picture: Picture, spec: Spec) -> Picture:
    """Return [side, side, 3] of a picture, as an extractor takes it."""
    height, width = picture.shape[:2]
    return spec.crop(PictureMaker(*pixel_size(spec.preprocessing.size, width, height)).from_rgb(picture))
