"""How well dissolves, slide changes and cuts beside flashes are found, beside PySceneDetect and TransNetV2.

    python -m docs.benchmarks.transitions FOLDER [--half odd] [--scenedetect PYTHON] [--methods NAME ...]

Makes the films in FOLDER, of every second real clip: 20 dissolves of 0.5 to 2 s, 10 decks of text slides in
common fonts, half of them of low contrast, 10 films of two clips with flashes. A dissolve is found by a cut
inside it or 0.2 s around it, a slide change within 0.5 s, a cut within two frames; all cuts beside the first
are false, and so are those in uncut clips. PySceneDetect runs in the Python that is named.
"""

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.cuts import _INNER, FPS, by_peer
from docs.benchmarks.joined import HALVES, known_clips
from tests.shots.boundaries import Times

Pictures = npt.NDArray[np.uint8]
WIDTH, HEIGHT = 320, 180
AROUND_S, SLIDE_S, FRAMES_S = 0.2, 0.5, 2 / FPS
FONTS = ("DejaVuSans", "DejaVuSerif", "LiberationSans-Regular", "DejaVuSansMono", "LiberationSerif-Italic")
WORDS = ("method", "result", "budget", "sample", "error", "model", "video", "shot", "query", "score", "week")


class Film(NamedTuple):
    """A film, and the times [start_s, end_s] in each of which one cut belongs."""

    path: Path
    truth: list[tuple[float, float]]


def pictures_of(path: str, seconds: float, rng: random.Random) -> Pictures:
    """[T, 180, 320, 3] of a stretch of a clip, 25 per second; the clip has no cut inside."""
    with av.open(path) as container:
        frames = {round(float(frame.time or 0) * FPS): frame for frame in container.decode(video=0)}
        wanted = round(seconds * FPS)
        first = rng.randint(0, max(0, max(frames) - wanted))
        numbers = np.array(sorted(frames))
        shown = numbers[np.searchsorted(numbers, np.arange(first, first + wanted), side="right").clip(1) - 1]
        made = {n: frames[n].reformat(WIDTH, HEIGHT, "rgb24").to_ndarray() for n in set(shown.tolist())}
    return np.stack([made[number] for number in shown.tolist()])


def write(path: Path, pictures: Sequence[Pictures] | Pictures) -> Path:
    """Write a film of 25 pictures per second."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        stream.height, stream.width = pictures[0].shape[:2]
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())
    return path


def dissolve(path: Path, clips: Sequence[str], rng: random.Random) -> Film:
    """Two clips of 3 to 5 s, with a dissolve of 0.5 to 2 s between."""
    between = round(rng.uniform(0.5, 2) * FPS)
    before, after = (
        pictures_of(clip, rng.uniform(3, 5) + between / FPS, rng) for clip in rng.sample(list(clips), 2)
    )
    share = np.linspace(0, 1, between)[:, None, None, None]
    mixed = (before[-between:] * (1 - share) + after[:between] * share).round().astype(np.uint8)
    start = len(before) - between
    film = write(path, np.concatenate([before[:-between], mixed, after[between:]]))
    return Film(film, [(start / FPS - AROUND_S, (start + between) / FPS + AROUND_S)])


def deck(path: Path, is_pale: bool, rng: random.Random) -> Film:
    """Six text slides of 3 to 6 s that share a background and a place for text."""
    paper = rng.randint(200, 255) if rng.random() < 0.6 else rng.randint(0, 50)
    ink = paper + (rng.randint(35, 60) if is_pale else rng.randint(130, 200)) * (-1 if paper > 127 else 1)
    size, font = rng.randint(18, 28), rng.choice(FONTS)
    shown, truth = list[Pictures](), list[tuple[float, float]]()
    for number in range(6):
        slide = Image.new("RGB", (640, 360), (paper,) * 3)
        draw = ImageDraw.Draw(slide)
        for line in range(rng.randint(3, 5)):
            text = " ".join(rng.sample(WORDS, 4 if line else 2))
            draw.text(
                (40, 30 + 55 * line), text, (ink,) * 3, ImageFont.truetype(font, size + 8 * (line == 0))
            )
        if number:
            truth.append((len(shown) / FPS - SLIDE_S, len(shown) / FPS + SLIDE_S))
        shown += [np.asarray(slide)] * round(rng.uniform(3, 6) * FPS)
    return Film(write(path, shown), truth)


def flashes(path: Path, clips: Sequence[str], is_strobe: bool, rng: random.Random) -> Film:
    """Two clips of 5 s with a cut between; in each two flashes of a camera, or a second of strobe light."""
    pair = [pictures_of(clip, 5, rng).astype(np.float32) for clip in rng.sample(list(clips), 2)]
    for pictures in pair:
        for begin in (rng.randint(15, 45), rng.randint(65, 90)):
            light = [1.0, 0.5, 0.2] if rng.random() < 0.5 else [1.0] * rng.randint(1, 3)
            for number, share in enumerate([1.0, 0.0] * 12 if is_strobe else light):
                pictures[begin + number] = (1 - share) * pictures[begin + number] + 255 * share
    film = write(path, np.concatenate(pair).round().astype(np.uint8))
    return Film(film, [(5 - FRAMES_S, 5 + FRAMES_S)])


def films_of(folder: Path, half: str) -> Iterator[tuple[str, list[Film]]]:
    """The films of each kind."""
    cut = {each["clip"] for each in _INNER}
    clips = [clip["file"] for clip in known_clips()[HALVES[half]] if Path(clip["file"]).name not in cut]
    rng = random.Random(half)
    folder.mkdir(parents=True, exist_ok=True)
    place = f"{folder}/{half}_"
    yield "dissolves", [dissolve(Path(f"{place}dissolve_{i}.mp4"), clips, rng) for i in range(20)]
    yield "slides", [deck(Path(f"{place}deck_{i}.mp4"), i % 2 == 1, rng) for i in range(10)]
    yield "flashes", [flashes(Path(f"{place}flash_{i}.mp4"), clips, i % 5 == 4, rng) for i in range(10)]
    uncut = [clip["file"] for clip in known_clips() if Path(clip["file"]).name not in cut]
    yield "uncut clips", [Film(Path(clip), []) for clip in uncut[:30]]


def counted(cuts: Times, film: Film) -> tuple[int, int]:
    """How many of the true cuts are found, and how many cuts are false."""
    n_found = sum(((cuts >= start - 1e-6) & (cuts <= end + 1e-6)).any() for start, end in film.truth)
    return int(n_found), len(cuts) - int(n_found)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path, help="where the films are made")
    parser.add_argument("--half", choices=list(HALVES), default="odd", help="of the clips")
    parser.add_argument("--scenedetect", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--methods", nargs="*", help="only these rows")
    parser.add_argument("--list", action="store_true", help="print the films with a fault")
    options = parser.parse_args()
    methods: dict[str, Callable[[Path], Any]] = {
        "kts": lambda film: vidsum.find_shots(film).edges_s[1:-1],
        "transnetv2": lambda film: vidsum.find_shots(film, "transnetv2").edges_s[1:-1],
        "content": by_peer(options.scenedetect, "content"),
        "adaptive": by_peer(options.scenedetect, "adaptive"),
    }
    kinds = dict(films_of(options.folder, options.half))
    print("|  |", *(f"{kind}: found | false |" for kind in kinds))
    print("|---|" + "---|---|" * len(kinds))
    for name in options.methods or methods:
        cells = []
        for films in kinds.values():
            found = [counted(methods[name](film.path), film) for film in films]
            right, false = np.sum(found, axis=0).tolist()
            n_true = sum(len(film.truth) for film in films)
            cells.append(f"{right} of {n_true} | {false}" if n_true else f"- | {false}")
            for film, (n, wrong) in zip(films, found, strict=True):
                if options.list and (wrong or n < len(film.truth)):
                    print(film.path.name, film.truth, methods[name](film.path), file=sys.stderr)
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
