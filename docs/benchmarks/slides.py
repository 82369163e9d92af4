"""How well changes of slides are found in drawn talks, and how many slides a summary shows.

    python -m docs.benchmarks.slides FOLDER [--half odd] [--seeds 0 1 2 3]

FOLDER is where the films are made. Each film has eight to twelve slides of 3 to 25 s: `plain`; `builds`, line
by line; `fades` over .8 s; `inset`, beside a speaker who moves; `both`, built beside a speaker; `talk`, which
cuts to the speaker and back. Speakers are real clips of one half, and each half has its own designs. Lines
that are added to a slide are no change of slides; cuts while the speaker alone is on screen do not count.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from PIL import Image, ImageDraw

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.boundaries import Times, f1, precision_recall
from docs.benchmarks.joined import FIRST, HALVES, known_clips
from docs.benchmarks.screen_text import SENTENCES, font_of

KINDS = ("plain", "builds", "fades", "inset", "both", "talk")
WIDTH, HEIGHT = 960, 540
WITHIN_S, ENOUGH_S = 0.5, 0.5  # from a change to a cut; of a slide in a summary
Colour = tuple[int, int, int]


class Part(NamedTuple):
    """Time in which a slide, or the speaker alone, fills the screen."""

    start_s: float
    end_s: float
    slide: int | None


class Design(NamedTuple):
    """How the slides of a deck look."""

    font: str
    paper: Colour
    ink: Colour
    bar: Colour | None
    inset: tuple[int, int, int, int]  # of the speaker: left, top, width, height


DESIGNS = {
    "even": (
        Design("DejaVuSans", (252, 252, 252), (30, 30, 40), None, (720, 405, 240, 135)),
        Design("DejaVuSerif", (24, 28, 44), (230, 230, 220), (70, 90, 140), (0, 380, 213, 160)),
        Design("DejaVuSans", (240, 236, 220), (60, 40, 30), (150, 60, 50), (700, 0, 260, 195)),
    ),
    "odd": (
        Design("STIXGeneral", (255, 255, 255), (0, 0, 0), (20, 70, 120), (690, 340, 270, 200)),
        Design("DejaVuSansMono", (12, 12, 12), (130, 220, 150), None, (740, 0, 220, 165)),
        Design("DejaVuSans-Bold", (205, 220, 230), (70, 80, 110), None, (0, 390, 200, 150)),
        Design("DejaVuSerif", (235, 235, 235), (120, 120, 130), (190, 190, 200), (640, 360, 320, 180)),
    ),
}


def draw_slide(design: Design, seed: int, number: int, n_lines: int) -> Image.Image:
    """Draw a heading and the first lines, or half of them and a chart."""
    rng = random.Random(1000 * seed + number)
    image = Image.new("RGB", (WIDTH, HEIGHT), design.paper)
    draw, language = ImageDraw.Draw(image), rng.choice(list(SENTENCES))
    if design.bar:
        draw.rectangle((0, 0, WIDTH, 84), design.bar)
    heading = f"{rng.choice(('Results', 'Method', 'Outlook', 'Data'))} {number + 1}"
    draw.text((50, 18), heading, design.paper if design.bar else design.ink, font_of(design.font, 42))
    draw.text((50, HEIGHT - 34), f"Autumn meeting, page {number + 1}", design.ink, font_of(design.font, 15))
    lines, size = rng.sample(SENTENCES[language], 4), rng.choice((22, 26, 30))
    for row, text in enumerate(lines[:n_lines]):
        draw.text((60, 120 + 74 * row), text, design.ink, font_of(design.font, size))
    if rng.random() < 0.3:
        for bar in range(6):
            left = 640 + 36 * bar
            draw.rectangle((left, 330 - rng.randrange(30, 190), left + 26, 330), design.ink)
    return image


def plan_talk(kind: str, rng: random.Random) -> list[Part]:
    """Return what fills the screen, part by part."""
    parts, time_s = list[Part](), 0.0
    lengths = [
        rng.uniform(3, 25) if number % 4 else rng.uniform(3, 5) for number in range(rng.randint(8, 12))
    ]
    for number, length_s in enumerate(lengths):
        if kind == "talk" and rng.random() < 0.5:
            end_s = round(time_s + rng.uniform(4, 12), 2)
            parts.append(Part(time_s, end_s, None))
            time_s = end_s
            if number > 1 and rng.random() < 0.3:
                end_s = round(time_s + 4, 2)
                parts.append(Part(time_s, end_s, number - 1))  # back to the slide before
                time_s = end_s
        end_s = round(time_s + length_s, 2)
        parts.append(Part(time_s, end_s, number))
        time_s = end_s
    return parts


def iter_speaker(path: Path, fps: int) -> Iterator[Image.Image]:
    """Yield the pictures of a clip at a rate, over and over."""
    while True:
        due_s = 0.0
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                while (frame.time or 0.0) >= due_s - 1e-6:
                    yield frame.to_image(width=WIDTH, height=HEIGHT)
                    due_s += 1 / fps


def make_talk(path: Path, kind: str, half: str, seed: int) -> list[Part]:
    """Write a film if it is not there, and return its parts."""
    rng = random.Random(f"{half} {kind} {seed}")
    design, fps = rng.choice(DESIGNS[half]), 25 if half == "even" else 15
    clip = rng.choice(known_clips((FIRST,))[HALVES[half]])["file"]
    parts = plan_talk(kind, rng)
    if path.exists():
        return parts
    speaker, deck_seed = iter_speaker(Path(clip), fps), rng.randrange(1000)
    part_path = path.with_suffix(".part.mp4")
    with av.open(str(part_path), "w") as container:
        stream = container.add_stream(
            "libx264", rate=fps, options={"crf": "25", "g": "125", "preset": "veryfast"}
        )
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        number, slides = 0, dict[tuple[int, int], Image.Image]()
        for frame in range(int(parts[-1].end_s * fps)):
            time_s = frame / fps
            while time_s >= parts[number].end_s:
                number += 1
            image = draw_part(parts, number, time_s, kind, design, deck_seed, slides)
            if image is None:
                image = next(speaker)
            elif kind in ("inset", "both"):
                left, top, width, height = design.inset
                image = image.copy()
                image.paste(next(speaker).resize((width, height)), (left, top))
            container.mux(stream.encode(av.VideoFrame.from_image(image)))
        container.mux(stream.encode())
    part_path.rename(path)
    return parts


def draw_part(
    parts: Sequence[Part],
    number: int,
    time_s: float,
    kind: str,
    design: Design,
    seed: int,
    slides: dict[tuple[int, int], Image.Image],
) -> Image.Image | None:
    """Return the slide at a time; None where the speaker fills the screen."""
    part = parts[number]
    if part.slide is None:
        return None
    since_s = time_s - part.start_s
    has_builds = kind in ("builds", "both")
    n_lines = min(4, 1 + int(4 * since_s / (0.8 * (part.end_s - part.start_s)))) if has_builds else 4

    def cached(slide: int, n_lines: int) -> Image.Image:
        if (slide, n_lines) not in slides:
            slides[slide, n_lines] = draw_slide(design, seed, slide, n_lines)
        return slides[slide, n_lines]

    before = parts[number - 1].slide if number else None
    if kind == "fades" and before is not None and since_s < 0.8:
        return Image.blend(cached(before, 4), cached(part.slide, 4), since_s / 0.8)
    return cached(part.slide, n_lines)


def change_times(parts: Sequence[Part], kind: str) -> Times:
    """Return when slides change, of fades the middle."""
    return np.array([part.start_s + (0.4 if kind == "fades" else 0) for part in parts[1:]])


def leave_out_speaker(cuts: Times, parts: Sequence[Part], truth: Times) -> Times:
    """Return the cuts but those of the speaker's clip, while it alone is on screen."""
    speaker = [(part.start_s, part.end_s) for part in parts if part.slide is None]
    return np.array(
        [
            cut
            for cut in cuts.tolist()
            if np.abs(truth - cut).min() <= WITHIN_S or not any(a < cut < b for a, b in speaker)
        ]
    )


def count_slides(parts: Sequence[Part], segments: Sequence[tuple[float, float]]) -> int:
    """Return how many different slides some segments show."""
    return len(
        {
            part.slide
            for part in parts
            for start_s, end_s in segments
            if part.slide is not None and min(end_s, part.end_s) - max(start_s, part.start_s) >= ENOUGH_S
        }
    )


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=list(DESIGNS), default="odd")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("kind    precision    recall        F1      slides  in summary     uniform  (means over films)")
    rows = list[list[float]]()
    for kind in KINDS:
        of_kind = list[list[float]]()
        for seed in options.seeds:
            path = options.folder / f"{options.half}_{kind}_{seed}.mp4"
            parts = make_talk(path, kind, options.half, seed)
            cuts, truth = vidsum.find_shots(path).edges_s[1:-1], change_times(parts, kind)
            cuts = leave_out_speaker(cuts, parts, truth)
            summaries = [vidsum.summarize(path, model=model).segments for model in ("auto", "uniform")]
            of_kind.append(
                [
                    *precision_recall(cuts, truth, WITHIN_S),
                    f1(cuts, truth, WITHIN_S),
                    len({part.slide for part in parts} - {None}),
                    *(count_slides(parts, segments) for segments in summaries),
                ]
            )
        rows += of_kind
        _print(kind, np.mean(of_kind, axis=0).tolist())
    _print("all", np.mean(rows, axis=0).tolist())


def _print(kind: str, row: Sequence[float]) -> None:
    numbers = [f"{number:9.2f}" if column < 3 else f"{number:11.1f}" for column, number in enumerate(row)]
    print(f"{kind:7} {' '.join(numbers)}", flush=True)


if __name__ == "__main__":
    main()
