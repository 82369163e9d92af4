"""How well text on the screen is read: drawn screens, drawn slide decks, and real clips.

    python -m docs.benchmarks.screen_text FOLDER [--clips FOLDER]

Thirty screens: two texts in each of fifteen films, in English, German and French, of several sizes, contrasts
and motions. Five decks: slides that change, build up, fade, are small, or have a speaker beside them. The
baseline reads the middle frame of each shot. `--clips` prints what is read in the videos of a folder.

Words: the fraction of words that are read while they are on screen (half of their time). False: the
fraction of the words that were read and are not there. Errors: edits per letter of the nearest line at that
time. Read: frames per minute. Start: the median error of the times at which lines appear.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import av
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import vidsum
from docs.benchmarks import argument_parser
from vidsum.features.screen_text import read_screen_text, sampling_for
from vidsum.features.text_reader import load_reader
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.video.probe import probe
from vidsum.video.read import read_frames, read_frames_at

FPS = 10
WIDTH, HEIGHT = 1280, 720
SENTENCES = {
    "en": (
        "The harvest begins in early autumn",
        "Platform 9 to Edinburgh departs at 14:35",
        "Measure twice before you cut",
        "Chapter three: rivers and bridges",
        "Serve with lemon and fresh parsley",
        "Visitors must report to reception",
        "Final score after extra time 3:2",
        "Wind from the north west, 25 km/h",
        "The committee votes on Thursday",
        "Signal strength falls with distance",
    ),
    "de": (
        "Die Ernte beginnt im frühen Herbst",
        "Gleis 7 nach Görlitz über Löbau",
        "Zweimal messen, einmal schneiden",
        "Kapitel drei: Flüsse und Brücken",
        "Mit Zitrone und Petersilie servieren",
        "Besucher melden sich beim Empfang",
        "Endstand nach Verlängerung 3:2",
        "Wind aus Nordwesten, 25 km/h",
        "Der Ausschuss stimmt morgen ab",
        "Größere Wärmemenge im Kessel",
    ),
    "fr": (
        "La récolte commence en automne",
        "Voie 4 vers Besançon à 18 h 20",
        "Mesurer deux fois avant de couper",
        "Chapitre trois : rivières et ponts",
        "Servir avec du citron et du persil",
        "Les visiteurs passent à l'accueil",
        "Score final après prolongation 3:2",
        "Vent du nord-ouest, 25 km/h",
        "Le comité vote jeudi prochain",
        "Élève reçu avec mention très bien",
    ),
}


@dataclass(frozen=True)
class Look:
    """How a screen looks."""

    name: str
    size: int  # pixels of the letters
    font: str = "DejaVuSans"
    ink: tuple[int, int, int] = (255, 255, 255)
    paper: tuple[int, int, int] = (20, 30, 60)
    motion: str = "none"  # none, up, left, camera
    outline: int = 0


LOOKS = (
    Look("large", 52, "DejaVuSans-Bold"),
    Look("serif", 36, "DejaVuSerif", (20, 20, 20), (240, 236, 220)),
    Look("mono", 24, "DejaVuSansMono"),
    Look("italic", 32, "DejaVuSerif-Italic", (60, 20, 20), (250, 250, 250)),
    Look("small", 16, "DejaVuSans", (20, 20, 20), (245, 245, 245)),
    Look("tiny", 10, "DejaVuSans", (20, 20, 20), (245, 245, 245)),
    Look("pale", 36, "DejaVuSans", (150, 150, 150), (110, 110, 110)),
    Look("colours", 40, "DejaVuSans-Bold", (200, 30, 40), (40, 160, 60)),
    Look("credits", 32, "DejaVuSans", motion="up"),
    Look("ticker", 32, "DejaVuSans-Bold", motion="left"),
    Look("subtitle", 32, "DejaVuSans", motion="camera", outline=2),
    Look("sign", 40, "DejaVuSans-Bold", motion="sway"),
    Look("bold", 28, "STIXGeneralBol"),
    Look("oblique", 28, "DejaVuSans-Oblique", (250, 220, 90), (30, 30, 30)),
    Look("thin", 44, "STIXGeneral", (30, 30, 30), (215, 225, 235)),
)


class Shown(NamedTuple):
    """A line that is on screen in [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str


Paint = Callable[[float], Image.Image]


def font_of(name: str, size: int) -> ImageFont.FreeTypeFont:
    """A font of matplotlib, which everyone has."""
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf"), size)


def write_film(path: Path, paint: Paint, duration_s: float, size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
    """Write an H.264 film of pictures by their time."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "26", "g": "50"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(round(duration_s * FPS)):
            picture = np.asarray(paint(number / FPS).resize(size, Image.Resampling.LANCZOS))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def paint_screen(look: Look, lines: Sequence[Shown], time_s: float) -> Image.Image:
    """One picture of a screen with two texts, one after the other."""
    image = Image.new("RGB", (WIDTH, HEIGHT), look.paper)
    if look.motion == "camera":
        image = scenery(time_s)
    draw, font = ImageDraw.Draw(image), font_of(look.font, look.size)
    for line in lines:
        if line.start_s <= time_s < line.end_s:
            part = (time_s - line.start_s) / (line.end_s - line.start_s)
            width = draw.textlength(line.text, font)
            x, y = (WIDTH - width) / 2, HEIGHT * 0.8
            if look.motion == "up":
                y = HEIGHT * (0.95 - 0.8 * part)
            elif look.motion == "left":
                x = WIDTH - part * width - (WIDTH - width) * part
            elif look.motion == "sway":
                x, y = x + 60 * np.sin(3 * time_s), HEIGHT / 2 + 25 * np.cos(2.3 * time_s)
            draw.text((x, y), line.text, look.ink, font, stroke_width=look.outline, stroke_fill=(0, 0, 0))
    return image


def scenery(time_s: float) -> Image.Image:
    """Shapes that move, as behind subtitles."""
    rng = random.Random(3)
    image = Image.new("RGB", (WIDTH, HEIGHT), (90, 120, 150))
    draw = ImageDraw.Draw(image)
    for _ in range(120):
        x = (rng.uniform(0, WIDTH) + time_s * rng.uniform(40, 160)) % WIDTH
        y, radius = rng.uniform(0, HEIGHT), rng.uniform(5, 60)
        colour = tuple(rng.randrange(40, 220) for _ in range(3))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
    return image


def make_screens(folder: Path) -> Iterator[tuple[str, Path, list[Shown]]]:
    """Fifteen films with two texts each."""
    texts = [text for row in zip(*SENTENCES.values(), strict=True) for text in row]
    for number, look in enumerate(LOOKS):
        lines = [Shown(2.3, 6.3, texts[2 * number]), Shown(7.2, 11.2, texts[2 * number + 1])]
        path = folder / f"screen_{look.name}.mp4"
        if not path.exists():
            write_film(path, partial(paint_screen, look, lines), 12.0)
        yield look.name, path, lines


SLIDE_S = 12.0
DECKS = ("plain", "builds", "fades", "small", "speaker")


def slide_lines(deck: int, slide: int) -> list[str]:
    """A heading and four lines."""
    rng = random.Random(100 * deck + slide)
    language = tuple(SENTENCES)[deck % 3]
    return [
        f"{deck + 1}.{slide + 1} {rng.choice(('Results', 'Method', 'Outlook', 'Data'))}",
        *rng.sample(SENTENCES[language], 4),
    ]


def paint_slide(lines: Sequence[str], n_shown: int, *, dark: bool) -> Image.Image:
    paper, ink = ((25, 28, 36), (235, 235, 235)) if dark else ((252, 252, 252), (30, 30, 40))
    image = Image.new("RGB", (WIDTH, HEIGHT), paper)
    draw = ImageDraw.Draw(image)
    for number, text in enumerate(lines[:n_shown]):
        size, y = (60, 60) if number == 0 else (34, 130 + 100 * number)
        draw.text((90, y), text, ink, font_of("DejaVuSans-Bold" if number == 0 else "DejaVuSans", size))
    return image


def paint_deck(deck: int, slides: Sequence[Sequence[str]], time_s: float) -> Image.Image:
    kind, number = DECKS[deck], min(int(time_s / SLIDE_S), len(slides) - 1)
    since_s = time_s - number * SLIDE_S
    n_shown = min(5, 1 + int(since_s / 2)) if kind == "builds" else 5
    image = paint_slide(slides[number], n_shown, dark=deck % 2 == 1)
    if kind == "fades" and number and since_s < 0.8:
        image = Image.blend(paint_slide(slides[number - 1], 5, dark=deck % 2 == 1), image, since_s / 0.8)
    if kind == "speaker":
        image.paste(scenery(4 * time_s).resize((320, 240)), (WIDTH - 320, HEIGHT - 240))
    return image


def make_decks(folder: Path, n_slides: int = 10) -> Iterator[tuple[str, Path, list[Shown]]]:
    """Five decks of ten slides."""
    for deck, kind in enumerate(DECKS):
        slides, truth = [slide_lines(deck, slide) for slide in range(n_slides)], list[Shown]()
        for number, slide in enumerate(slides):
            for row, text in enumerate(slide):
                start_s = number * SLIDE_S + (2 * row if kind == "builds" else 0)
                truth.append(Shown(start_s, (number + 1) * SLIDE_S, text))
        path = folder / f"deck_{kind}.mp4"
        if not path.exists():
            size = (640, 360) if kind == "small" else (WIDTH, HEIGHT)
            write_film(path, partial(paint_deck, deck, slides), SLIDE_S * n_slides, size)
        yield kind, path, truth


def read_film(path: Path) -> ScreenText:
    """The text by the product's choice of frames."""
    info = probe(path)
    with read_frames(info, [sampling_for(info)]) as frames:
        return read_screen_text((frame for _, frame in frames), load_reader().read, info)


def read_middles(path: Path) -> ScreenText:
    """The baseline: the middle frame of each shot, whose text is taken to be there all the time."""
    info, lines = probe(path), list[ScreenLine]()
    shots = list(pairwise(vidsum.find_shots(path).edges_s.tolist()))
    frames = read_frames_at(info, [sum(shot) / 2 for shot in shots])
    for shot, frame in zip(shots, frames, strict=True):
        for line in load_reader().read(frame.image):
            lines.append(ScreenLine(*shot, line.text, line.confidence, line.box))
    return ScreenText(tuple(lines), info.duration_s, len(shots))


class Score(NamedTuple):
    words: float
    false: float
    errors: float
    read: float
    start_s: float


def score(text: ScreenText, lines: Sequence[Shown]) -> Score:
    """Compare what was read with the lines that are there."""
    n_read, n_words, edits, starts = 0, 0, list[float](), list[float]()
    for line in lines:
        near = [part for part in text.lines if overlap(part, line) > 0]
        for word in line.text.split():
            spans = [(part.start_s, part.end_s) for part in near if word in part.text.split()]
            covered = sum(any(a <= t < b for a, b in spans) for t in np.arange(line.start_s, line.end_s, 0.1))
            n_read += 0.1 * covered >= 0.5 * (line.end_s - line.start_s)
            n_words += 1
        best = min(near, key=lambda part: distance(part.text, line.text), default=None)
        edits.append(min(1.0, distance(best.text, line.text) / len(line.text)) if best else 1.0)
        if best and edits[-1] < 0.5:
            starts.append(abs(best.start_s - line.start_s))
    read = [(word, part) for part in text.lines for word in part.text.split()]
    wrong = sum(
        not any(overlap(part, line) > 0 and word in line.text.split() for line in lines)
        for word, part in read
    )
    minutes = text.duration_s / 60
    return Score(
        n_read / n_words,
        wrong / max(len(read), 1),
        float(np.mean(edits)),
        text.n_frames_read / minutes,
        float(np.median(starts)) if starts else np.nan,
    )


def overlap(part: ScreenLine, line: Shown) -> float:
    return min(part.end_s, line.end_s) - max(part.start_s, line.start_s)


def distance(text: str, other: str) -> int:
    """Edits from one text to the other."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(text, 1):
        before, row[0] = row[0], i
        for j, target in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != target))
    return row[-1]


def report(name: str, films: Sequence[tuple[str, Path, list[Shown]]]) -> None:
    print(f"{name:22}  words  false  errors  read/min  start_s")
    for label, read in (("chosen frames", read_film), ("middle of each shot", read_middles)):
        rows = []
        for film, path, lines in films:
            rows.append(score(read(path), lines))
            print(f"  {film:20}  {_numbers(rows[-1])}  {label}", flush=True)
        print(f"{label:22}  {_numbers(Score(*np.nanmean(np.array(rows), axis=0).tolist()))}", flush=True)


def _numbers(row: Score) -> str:
    return f"{row.words:5.3f}  {row.false:5.3f}  {row.errors:6.3f}  {row.read:8.1f}  {row.start_s:7.2f}"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clips", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    report("30 screens", list(make_screens(options.folder)))
    report("5 decks", list(make_decks(options.folder)))
    if options.clips:
        for path in sorted(options.clips.iterdir()):
            if path.suffix in (".mp4", ".mkv"):
                text = read_film(path)
                lines = "; ".join(
                    f"{x.start_s:.1f}-{x.end_s:.1f} {x.text} ({x.confidence:.2f})" for x in text.lines
                )
                print(f"{path.name}: {text.n_frames_read} frames of {text.duration_s:.0f} s: {lines}")


if __name__ == "__main__":
    main()
