"""Pictures of text, drawn with the fonts that come with Matplotlib."""

from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from vidsum.types import Picture


@cache
def font(size: int, name: str = "DejaVuSans") -> ImageFont.FreeTypeFont:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(folder / f"{name}.ttf"), size)


def draw(
    text: str,
    *,
    angle: float = 0,
    size: int = 34,
    ink: int = 20,
    paper: int = 240,
    shape: tuple[int, int] = (360, 640),
) -> Picture:
    """A line in the middle of a picture, turned counterclockwise by an angle in degrees."""
    mask = Image.new("L", (shape[1], 2 * size))
    ImageDraw.Draw(mask).text((shape[1] / 2, size), text, 255, font(size), anchor="mm")
    turned = mask.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC)
    picture = Image.new("L", (shape[1], shape[0]), paper)
    place = (shape[1] - turned.width) // 2, (shape[0] - turned.height) // 2
    picture.paste(ink, (*place, place[0] + turned.width, place[1] + turned.height), turned)
    return np.asarray(picture.convert("RGB"))


def draw_stack(text: str, size: int, pitch: int, left: int = 200) -> Picture:
    """Upright letters one above the other."""
    picture = Image.new("RGB", (640, 60 + pitch * len(text)), (240, 240, 240))
    pen = ImageDraw.Draw(picture)
    for number, letter in enumerate(text):
        pen.text(
            (left, 30 + number * pitch), letter, (20, 20, 80), font(size, "DejaVuSans-Bold"), anchor="mt"
        )
    return np.asarray(picture)


def draw_arc(text: str, radius: int = 230, size: int = 34) -> Picture:
    """Letters along the upper half of a circle."""
    picture = Image.new("RGB", (640, 360), (240, 240, 240))
    for number, letter in enumerate(text):
        angle = 160 - 140 * number / (len(text) - 1)
        mask = Image.new("L", (60, 60))
        ImageDraw.Draw(mask).text((30, 30), letter, 255, font(size, "DejaVuSans-Bold"), anchor="mm")
        mask = mask.rotate(angle - 90, resample=Image.Resampling.BICUBIC)
        x = 320 + radius * np.cos(np.radians(angle))
        y = 280 - radius * np.sin(np.radians(angle))
        picture.paste((120, 0, 0), (round(x) - 30, round(y) - 30), mask)
    return np.asarray(picture)
