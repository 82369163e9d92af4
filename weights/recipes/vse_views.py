"""Views of photographs that train the map `vse`: whole, mirrored, then random crops, some degraded."""

import io
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from vidsum.features import describe, get_extractor, weights_sha256
from vidsum.features.pictures import read_picture, view_picture
from vidsum.grounding.vse_map import EXTRACTOR
from vidsum.io.cache import cached_rows
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import PictureMaker

_BLOCK, _BATCH = 256, 32  # pictures in a file of the cache, and in one call of the network
_AREA, _ASPECT = (0.45, 1.0), 1.43  # random crops: fraction of the picture, largest change of aspect
_MIRRORED, _DEGRADED = 0.5, 0.4  # fractions of the random crops that are mirrored, and degraded
_QUALITY, _SCALE, _BAR = (15, 60), (0.3, 0.7), (0.06, 0.18)  # ranges of JPEG quality, scale, bars


def encode_views(paths: Sequence[Path], n_views: int) -> FloatArray:
    """Return [V, N, D + inner] features of pictures; blocks are cached, so that a killed run resumes."""
    spec = describe(EXTRACTOR)
    rows = np.empty((n_views, len(paths), spec.dim + spec.inner), np.float32)
    for start in range(0, len(paths), _BLOCK):
        block = paths[start : start + _BLOCK]
        sums = [zlib.crc32(path.read_bytes()) for path in block]
        for view in range(n_views):
            facts = {"weights_sha256": weights_sha256(spec), "view": view, "pictures": sums}
            facts["names"] = [path.name for path in block]
            encode = partial(_encode, block, view)
            rows[view, start : start + len(block)] = cached_rows("pictures", facts, encode)
    return rows


def _encode(paths: Sequence[Path], view: int) -> FloatArray:
    network, parts = get_extractor(describe(EXTRACTOR)), []
    for start in range(0, len(paths), _BATCH):
        views = [make_view(path, view) for path in paths[start : start + _BATCH]]
        parts.append(network.encode(np.stack(views)[:, None]))
    return np.concatenate(parts)


def make_view(path: Path, number: int) -> Picture:
    """Return [side, side, 3] one view of a picture; random ones depend on its name and their number alone."""
    spec, picture = describe(EXTRACTOR), read_picture(path)
    if number < 2:
        cropped = view_picture(picture, spec)
        return cropped[:, ::-1] if number else cropped
    rng = np.random.default_rng([number, zlib.crc32(path.name.encode())])
    crop = _random_crop(picture, rng)
    if rng.random() < _MIRRORED:
        crop = crop[:, ::-1]
    if rng.random() < _DEGRADED:
        crop = (_compress, _coarsen, _add_bars)[rng.integers(3)](crop, rng)
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
