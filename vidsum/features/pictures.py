"""Features of pictures: photographs, or single frames of videos, each in several views.

View 0 is what an extractor sees of a frame, view 1 the same in a mirror. The others are random crops, some of
them degraded as in video, and depend on the picture's name and the number of the view alone.
"""

import io
import warnings
import zlib
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from PIL import Image, ImageOps

from vidsum.device import device_type
from vidsum.errors import InputError, UsageError, safe_name
from vidsum.features import describe, get_extractor, weights_sha256
from vidsum.features.extractor import Spec
from vidsum.io.cache import cached_rows
from vidsum.io.provenance import identify_file
from vidsum.types import FloatArray, Picture, Progress
from vidsum.video.frames import PictureMaker, pixel_size
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at

_BLOCK, _BATCH = 256, 32  # pictures in a file of the cache, and in one call of a network
_AREA, _ASPECT = (0.45, 1.0), 1.43  # random crops: fraction of the picture, largest change of aspect
_MIRRORED, _DEGRADED = 0.5, 0.4  # fractions of the random crops that are mirrored, and degraded
_QUALITY, _SCALE, _BAR = (15, 60), (0.3, 0.7), (0.06, 0.18)  # ranges of JPEG quality, scale, bars


class Still(NamedTuple):
    """An image file, or a frame of a video."""

    path: Path
    time_s: float | None = None  # time of the frame; None for an image file


def encode_views(
    stills: Sequence[Still],
    extractor: str,
    views: Sequence[int],
    *,
    device: str = "auto",
    progress: Progress | None = None,
) -> FloatArray:
    """Return [V, N, D + inner] features of pictures in some views; NaN for those that cannot be read.

    Features are cached on disk block by block, so that a killed run resumes. Frames of a video are best next
    to each other. `views` are numbers. Raises UsageError: an unknown extractor, or one that reads clips.
    InputError: the extractor gives NaN or infinite features. WeightsError: see `load_extractor`.
    """
    spec = describe(extractor)
    if spec.takes_clips:
        raise UsageError(f"{extractor} sees clips, not pictures", hint="--extractor efficientnet_lite0")
    width = spec.dim + spec.inner
    facts = {"extractor": spec.name, "weights_sha256": weights_sha256(spec), "width": width}
    facts["device"] = device_type(device)
    features = np.empty((len(views), len(stills), width), np.float32)
    for start in range(0, len(stills), _BLOCK):
        block = stills[start : start + _BLOCK]
        content = [_identify(still) for still in block]
        for number, view in enumerate(views):
            provenance = {**facts, "view": view, "pictures": content}
            encode = partial(_encode, block, view, spec, device)
            # what cannot be read now may be read next time
            rows = (
                cached_rows("pictures", provenance, encode)
                if all(picture[-1] for picture in content)
                else encode()
            )
            features[number, start : start + len(block)] = rows
            if progress:
                done = start * len(views) + (number + 1) * len(block)
                progress("views of pictures", done, len(stills) * len(views))
    return features


def _identify(still: Still) -> list[Any]:
    """Return what the views of a picture depend on; its name is the seed of the random ones."""
    try:
        return [still.path.name, still.time_s, identify_file(still.path)["sha256"]]
    except InputError:  # `read_stills` takes it for one that cannot be read
        return [still.path.name, still.time_s, None]


def _encode(stills: Sequence[Still], number: int, spec: Spec, device: str) -> FloatArray:
    """Return [N, D + inner] of one view."""
    extractor = get_extractor(spec, device=device)
    rows = np.full((len(stills), spec.dim + spec.inner), np.nan, np.float32)
    for start in range(0, len(stills), _BATCH):
        batch = stills[start : start + _BATCH]
        pictures = read_stills(batch)
        readable = [index for index, picture in enumerate(pictures) if picture is not None]
        if not readable:
            continue
        views = [make_view(pictures[index], number, spec, _seed(batch[index])) for index in readable]  # type: ignore[arg-type]
        features = extractor.encode(np.stack(views)[:, None])
        if not np.isfinite(features).all():
            wrong = batch[readable[int(np.flatnonzero(~np.isfinite(features).all(axis=1))[0])]]
            raise InputError(
                f"{safe_name(wrong.path.name)}: {spec.name} gives NaN or infinite features of it"
            )
        rows[[start + index for index in readable]] = features
    return rows


def _seed(still: Still) -> int:
    return zlib.crc32(f"{still.path.name}@{still.time_s}".encode(errors="surrogateescape"))


def read_stills(stills: Sequence[Still]) -> list[Picture | None]:
    """Return the RGB picture of each, upright; None where it cannot be read."""
    pictures: list[Picture | None] = []
    for (path, is_image), group in groupby(stills, lambda still: (still.path, still.time_s is None)):
        times = [still.time_s or 0.0 for still in group]
        try:
            frames = () if is_image else read_frames_at(probe(path), times)
            images = [frame.image for frame in frames] or [_read_image(path)] * len(times)
        except InputError:
            images = []
        pictures += images or [None] * len(times)
    return pictures


def _read_image(path: Path) -> Picture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large pictures, and of metadata
        try:
            with Image.open(path) as image:
                return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
        except Exception as error:  # what Pillow raises at damaged files has nothing in common
            raise InputError(f"{path}: is not an image that can be read") from error


def make_view(picture: Picture, number: int, spec: Spec, seed: int) -> Picture:
    """Return [side, side, 3] one view of a picture, as an extractor takes it."""
    if number < 2:
        height, width = picture.shape[:2]
        small = _resize(picture, *pixel_size(spec.preprocessing.size, width, height))
        cropped = spec.crop(small)
        return cropped[:, ::-1] if number else cropped
    rng = np.random.default_rng([number, seed])
    crop = _random_crop(picture, rng)
    if rng.random() < _MIRRORED:
        crop = crop[:, ::-1]
    if rng.random() < _DEGRADED:
        crop = DEGRADATIONS[rng.integers(len(DEGRADATIONS))](crop, rng)
    return _resize(crop, spec.preprocessing.crop, spec.preprocessing.crop)


def _random_crop(picture: Picture, rng: np.random.Generator) -> Picture:
    height, width = picture.shape[:2]
    side, stretch = np.sqrt(rng.uniform(*_AREA) * height * width), _ASPECT ** (rng.uniform(-1, 1) / 2)
    rows, columns = max(1, min(height, round(side / stretch))), max(1, min(width, round(side * stretch)))
    top, left = rng.integers(height - rows + 1), rng.integers(width - columns + 1)
    return picture[top : top + rows, left : left + columns]


def _resize(picture: Picture, width: int, height: int) -> Picture:
    return PictureMaker(width, height).from_rgb(picture)


def _compress(picture: Picture, rng: np.random.Generator) -> Picture:
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "JPEG", quality=int(rng.integers(*_QUALITY)))
    return np.asarray(Image.open(file))


def _coarsen(picture: Picture, rng: np.random.Generator) -> Picture:
    height, width = picture.shape[:2]
    small = (max(1, round(side * rng.uniform(*_SCALE))) for side in (width, height))
    return _resize(_resize(picture, *small), width, height)


def _add_bars(picture: Picture, rng: np.random.Generator) -> Picture:
    picture = picture.copy()
    sides = picture if rng.random() < 0.5 else picture.swapaxes(0, 1)
    bar = round(len(sides) * rng.uniform(*_BAR))
    sides[:bar] = sides[len(sides) - bar :] = 0
    return picture


DEGRADATIONS: Final = (_compress, _coarsen, _add_bars)  # damage by compression, small files and other screens
