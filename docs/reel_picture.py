"""Draw the picture of docs/tasks/holiday-film.md: a folder of clips and photographs, and the film made of it.

    python -m docs.reel_picture docs/images/reel.png

The folder is cut from the sample video: ten clips of 5 s, of which some follow each other in one scene, and
three photographs. Above is every input, below what the film shows of them, in its order.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw

import vidsum
from vidsum.types import Picture
from vidsum.video.style import load_font
from vidsum.video.write import write_segments

SAMPLE = Path(__file__).parent / "sample" / "big_buck_bunny.mp4"
CLIP_S, N_CLIPS, PHOTOGRAPHS_S = 5.0, 10, (3.0, 12.0, 26.0)
BUDGET = "20s"
_WIDTH, _COLUMNS, _TEXT = 150, 7, 16  # of a picture, of a row, and height of its text, in pixels


def cut_sample(folder: Path) -> None:
    """Write the clips, which overlap by half, and the photographs."""
    info = vidsum.probe(SAMPLE)
    step_s = (info.duration_s - CLIP_S) / (N_CLIPS - 1)
    for number in range(N_CLIPS):
        start_s = number * step_s
        write_segments(info, [(start_s, start_s + CLIP_S)], folder / f"{start_s:04.1f}.mp4")
    for time_s, picture in zip(PHOTOGRAPHS_S, vidsum.read_frames(SAMPLE, PHOTOGRAPHS_S), strict=True):
        Image.fromarray(picture).save(folder / f"{time_s:04.1f}.jpg")


def picture_at(path: Path, time_s: float) -> Picture:
    """Return the picture of a clip at a time, or a photograph."""
    (picture,) = vidsum.read_frames(path, [time_s])
    return picture


def draw_rows(rows: Sequence[Sequence[tuple[Picture, str]]]) -> Image.Image:
    """Return rows of pictures with a line of text below each, and a space between two rows."""
    high = _WIDTH * 9 // 16
    lines = [[row[at : at + _COLUMNS] for at in range(0, len(row), _COLUMNS)] for row in rows]
    n_lines = sum(map(len, lines))
    sheet = Image.new("RGB", (_COLUMNS * _WIDTH, n_lines * (high + _TEXT) + (len(rows) - 1) * _TEXT), "white")
    draw, top = ImageDraw.Draw(sheet), 0
    for group in lines:
        for line in group:
            for column, (picture, text) in enumerate(line):
                small = Image.fromarray(picture).resize((_WIDTH - 4, high))
                sheet.paste(small, (column * _WIDTH, top))
                draw.text((column * _WIDTH, top + high), text, "black", load_font(11))
            top += high + _TEXT
        top += _TEXT
    return sheet


def main(target: Path) -> None:
    """Cut the sample, make the film, and draw both."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        cut_sample(folder)
        reel = vidsum.make_reel([folder], BUDGET, order="name", cache=False)
        names = [Path(source.path) for source in reel.sources]
        inputs = [(picture_at(path, CLIP_S / 2 * (path.suffix == ".mp4")), path.name) for path in names]
        film = []
        for segment in reel.segments:
            path, middle_s = names[segment.source], (segment.start_s + segment.end_s) / 2
            is_clip = path.suffix == ".mp4"
            film.append((picture_at(path, middle_s * is_clip), f"{path.name}, {segment.length_s:.1f} s"))
        draw_rows([inputs, film]).save(target, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
