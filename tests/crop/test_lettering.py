"""Letters near the lower edge: captions of several looks are seen; letters elsewhere and patterns are not."""

import numpy as np
import pytest
from PIL import Image, ImageDraw

from vidsum.crop.lettering import SHORT_SIDE, LetterWatch
from vidsum.types import Picture
from vidsum.video.style import load_font

WIDTH = 640


def scene(seed: int = 0) -> Picture:
    """A smooth picture of several colours."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 255, (4, 7, 3), np.uint8))
    return np.asarray(small.resize((WIDTH, SHORT_SIDE), Image.Resampling.BICUBIC))


def has_letters(*pictures: Picture) -> bool:
    """Whether a shot of pictures, a second apart, has captions or a screen of text."""
    watch = LetterWatch()
    for number, picture in enumerate(pictures):
        watch.add(float(number), picture)
    return watch.has_captions or watch.has_screen(is_still=False)


def written(text: str, y: float, *, size: int = 20, colour: str = "white", edge: int = 2) -> Picture:
    image = Image.fromarray(scene())
    place = WIDTH / 2, y * SHORT_SIDE
    draw = ImageDraw.Draw(image)
    draw.text(place, text, colour, load_font(size, bold=True), "mb", stroke_width=edge, stroke_fill="black")
    return np.asarray(image)


@pytest.mark.parametrize("colour", ["white", "yellow"])
@pytest.mark.parametrize("size", [14, 20, 26])
def test_caption_is_seen(size: int, colour: str) -> None:
    assert has_letters(written("Nobody told me anything", 0.95, size=size, colour=colour))


def test_caption_in_a_dark_box_is_seen() -> None:
    picture = scene().copy()
    picture[310:350] = 0
    image = Image.fromarray(picture)
    ImageDraw.Draw(image).text((320, 340), "the first time we met", "white", load_font(18, bold=True), "mb")
    assert has_letters(np.asarray(image))


SLIDE = ("It began with words", "posters, jokes, laws", "and nobody objected")


@pytest.mark.parametrize(
    ("lines", "is_seen"),
    [(SLIDE, True), (SLIDE[:2], False), (("a line", "of letters", "here"), False)],
    ids=["title and two points", "two lines, as leaves and tiles may look", "short lines"],
)
def test_a_screen_of_text_is_seen(lines: tuple[str, ...], is_seen: bool) -> None:
    image = Image.new("RGB", (WIDTH, SHORT_SIDE), "white")
    for row, text in enumerate(lines):
        ImageDraw.Draw(image).text((80, 60 + 50 * row), text, "black", load_font(18, bold=True))
    assert has_letters(np.asarray(image)) == is_seen


@pytest.mark.parametrize(
    "picture",
    [
        scene(),
        written("Nobody told me anything", 0.4),
        written("Ok!", 0.95),
        written("Nobody told me anything", 0.95, size=5, edge=0),
        np.random.default_rng(0).integers(0, 255, (SHORT_SIDE, WIDTH, 3), np.uint8),
        np.tile(np.repeat(np.uint8([0, 255]), 12), (SHORT_SIDE, 26))[:, :WIDTH, None].repeat(3, axis=2),
        np.zeros((SHORT_SIDE, WIDTH, 3), np.uint8),
    ],
    ids=["scene", "above", "few", "tiny", "noise", "stripes", "black"],
)
def test_picture_without_a_caption_has_none(picture: Picture) -> None:
    assert not has_letters(picture)


STRIP = written("Museum of the American Revolution", 0.95)


def test_letters_that_stay_longer_than_a_caption_are_none() -> None:
    assert has_letters(*[STRIP] * 7)
    assert not has_letters(*[STRIP] * 10)


def test_a_caption_that_changes_is_one_beside_a_strip_that_stays() -> None:
    lines = [written(text, 0.8) for text in ("Nobody told me anything", "and nobody asked me either")]
    assert has_letters(*lines * 5)
    assert has_letters(*[STRIP] * 10, lines[0], *[STRIP] * 10)


def test_a_strip_that_is_found_late_is_none() -> None:
    blurred = np.asarray(Image.fromarray(STRIP).point(lambda level: 0.99 * level))
    assert not has_letters(*[blurred] * 12, STRIP)


def test_a_title_on_a_still_picture_is_a_screen_of_text() -> None:
    watch = LetterWatch()
    watch.add(0.0, written("Nobody told me anything", 0.4))
    assert watch.has_screen(is_still=True)
    assert not watch.has_screen(is_still=False)
