"""Photographs: upright pictures of files that Pillow reads, and when they were taken."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import av
import numpy as np
from PIL import Image, ImageCms, ImageOps

from vidsum.errors import InputError
from vidsum.io.packages import has_extra, install_extra_command
from vidsum.types import Picture
from vidsum.video.open import check_readable
from vidsum.video.recorded import photograph_recorded

_HEIC: Final = (".heic", ".heif")
_ENDINGS: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp", *_HEIC})
_FORMATS: Final = ("JPEG", "PNG", "WEBP", "TIFF", "BMP")  # others, such as EPS, run programs
_EXIF: Final = 0x8769  # the part of a file's tags that the camera writes
_ORIENTATION: Final = 0x0112
_TURNED: Final = (5, 6, 7, 8)  # orientations that swap width and height
_BACKGROUND: Final = "white"  # behind what is transparent


@dataclass(frozen=True)
class PhotographInfo:
    """Facts about a photograph, of which the picture was not decoded."""

    path: str
    width: int
    height: int  # with the width: the size as shown, upright
    recorded: datetime | None


def is_photograph(path: Path) -> bool:
    """Return whether a file is taken for a photograph, by its name."""
    return path.suffix.lower() in _ENDINGS


def probe_photograph(path: str) -> PhotographInfo:
    """Return facts about a photograph. Raises InputError: it cannot be read, or is HEIC without its extra."""
    with _opened(path) as image:
        exif = image.getexif()
        width, height = image.size
        if exif.get(_ORIENTATION) in _TURNED and image.format != "TIFF":  # of which Pillow knows
            width, height = height, width
        return PhotographInfo(path, width, height, photograph_recorded(exif.get_ifd(_EXIF)))


def read_photograph(path: str, max_side: int) -> Picture:
    """Return the upright [H, W, 3] RGB picture of a photograph, its longer side at most `max_side` pixels.

    Raises InputError: it cannot be read, or is HEIC without its extra.
    """
    with _opened(path) as image:
        image.draft("RGB", (max_side, max_side))  # JPEG is decoded at a fraction of its size
        profile = image.info.get("icc_profile")
        upright = _to_rgb(ImageOps.exif_transpose(image))
        upright.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
        return np.asarray(_to_srgb(upright, profile) if profile else upright, np.uint8)


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of 8 bits a channel: Pillow clips 16-bit grey, and shows what is transparent."""
    if image.mode == "I" or image.mode.startswith("I;16"):
        grey = np.clip(np.asarray(image, np.int64) >> 8, 0, 255).astype(np.uint8)
        return Image.fromarray(grey).convert("RGB")
    if image.has_transparency_data:
        solid = Image.new("RGBA", image.size, _BACKGROUND)
        solid.alpha_composite(image.convert("RGBA"))
        image = solid
    return image.convert("RGB")


def _to_srgb(image: Image.Image, profile: bytes) -> Image.Image:
    """Return an image in the colours of sRGB: those of phones are wider (Display P3), and would look dull.

    What has another kind of profile, such as for print or grey, stays as it is.
    """
    with suppress(ImageCms.PyCMSError, OSError):
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"))
        return converted or image
    return image


def photograph_jpeg(path: str, side: int, quality: int) -> bytes:
    """Return a photograph as a JPEG whose longest side has at most `side` pixels; see `read_photograph`."""
    content = io.BytesIO()
    Image.fromarray(read_photograph(path, side)).save(content, "JPEG", quality=quality)
    return content.getvalue()


def frame_of(picture: Picture) -> av.VideoFrame:
    """Return an RGB picture [H, W, 3] as a frame."""
    return av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")


@contextmanager
def _opened(path: str) -> Iterator[Image.Image]:
    formats: tuple[str, ...] = _FORMATS
    if Path(path).suffix.lower() in _HEIC:
        if not has_extra("heic"):
            hint = install_extra_command("heic")
            raise InputError("is HEIC, which needs pi-heif", hint=hint, subject=path)
        from pi_heif import register_heif_opener

        register_heif_opener()
        formats = (*_FORMATS, "HEIF")
    check_readable(Path(path))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd tags, and of pictures that are large but not refused
            with Image.open(path, formats=formats) as image:
                yield image
    except Image.DecompressionBombError as error:
        most = 2 * (Image.MAX_IMAGE_PIXELS or 0) // 10**6
        raise InputError(f"has more than {most} million pixels", subject=path) from error
    except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError) as error:
        raise InputError("cannot be read as a photograph", subject=path) from error
