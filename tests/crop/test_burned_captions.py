"""Captions in the pictures of a film: those that change are seen; signs, slides and names are not."""

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.crop.test_lettering import WIDTH, scene
from vidsum.crop.burned_captions import has_captions
from vidsum.crop.lettering import SHORT_SIDE
from vidsum.types import Picture
from vidsum.video.style import load_font

SAID = ("Nobody told me anything", "until the bridge was built", "and then they all came")
STAYS = ("Nobody told me anything",)


def film(
    lines: Sequence[str],
    n: int = 24,
    *,
    y: float = 0.9,
    x: float = 0.5,
    every: int = 3,
    upright: bool = False,
    colours: tuple[str, str] = ("white", "black"),
) -> list[Picture]:
    """Pictures with lines in turn, each there for some pictures; an empty line is none."""
    base = Image.fromarray(scene())
    if upright:
        base = base.resize((SHORT_SIDE, WIDTH))
    pictures = []
    for at in range(n):
        image = base.copy()
        place = x * image.width, y * image.height
        text = lines[at // every % len(lines)]
        ImageDraw.Draw(image).text(
            place, text, colours[0], load_font(20, bold=True), "mb", stroke_width=2, stroke_fill=colours[1]
        )
        pictures.append(np.asarray(image))
    return pictures


@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize("y", [0.55, 0.75, 0.95])
def test_captions_are_seen_where_phones_have_them(y: float, *, upright: bool) -> None:
    assert has_captions(film(SAID, y=y, upright=upright))


@pytest.mark.parametrize(
    "pictures",
    [film(("",)), film(STAYS), film(SAID, x=0.3), film(SAID, y=0.2), film(SAID, every=12)],
    ids=["nothing", "a sign", "at a side", "at the top", "a slide for 12 s"],
)
def test_other_letters_are_no_captions(pictures: list[Picture]) -> None:
    assert not has_captions(pictures)


def test_dark_captions_are_seen() -> None:
    assert has_captions(film(SAID, colours=("black", "white")))


def test_a_name_over_pictures_that_move_is_no_caption() -> None:
    rng = np.random.default_rng(0)
    pictures = [np.roll(picture, int(rng.integers(-40, 40)), axis=1) for picture in film(("",))]
    for at, picture in enumerate(pictures):
        image = Image.fromarray(picture)
        place = 0.5 * image.width, 0.9 * image.height
        ImageDraw.Draw(image).text(place, STAYS[0], "white", load_font(20, bold=True), "mb")
        pictures[at] = np.asarray(image)
    assert not has_captions(pictures)


def test_a_title_is_no_caption() -> None:
    assert not has_captions([*film(STAYS, n=2), *film(("",), n=20)])


def test_captions_in_a_fifth_of_the_pictures_are_seen() -> None:
    rest = [film(("",), n=n) for n in (20, 40)]
    assert [has_captions([*film(SAID, n=9), *pictures]) for pictures in rest] == [True, False]


@pytest.mark.parametrize(("n", "seen"), [(0, False), (1, False), (5, False), (6, True)])
def test_three_pictures_must_differ_from_later_ones(n: int, *, seen: bool) -> None:
    assert has_captions(film(SAID, n=n)) == seen


@pytest.mark.parametrize("lines", [SAID, STAYS])
def test_a_film_in_a_mirror_has_the_same_captions(lines: Sequence[str]) -> None:
    mirrored = [np.ascontiguousarray(picture[:, ::-1]) for picture in film(lines, n=9)]
    assert has_captions(mirrored) == has_captions(film(lines, n=9))
