"""How well dissolves, changes of text slides and cuts beside flashes are found, beside PySceneDetect.

    python -m docs.benchmarks.transitions FOLDER [--half odd] [--films 20] [--scenedetect PYTHON]

Makes films of every second real clip in FOLDER: 20 dissolves of .5 to 2 s, 10 decks of six slides, half
of low contrast, and 10 films of two clips with flashes. A dissolve is found by a cut inside it or .2 s
around it, a change of slides within .5 s, a cut within two frames. All cuts beside the first are false, and
so are cuts in uncut clips. PySceneDetect runs in the Python that is named; without it, its rows are left out.
"""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.boundaries import Times
from docs.benchmarks.cuts import FPS, INNER, by_peer
from docs.benchmarks.joined import HALVES, known_clips
from docs.benchmarks.tables import print_table
from vidsum.types import Interval

Pictures = npt.NDArray[np.uint8]
WIDTH, HEIGHT = 320, 180
AROUND_S, SLIDE_S, FRAMES_S = 0.2, 0.5, 2 / FPS
N_SLIDES, N_UNCUT = 6, 30
WORDS = ("method", "result", "budget", "sample", "error", "model", "video", "shot", "query", "score", "week")


class Film(NamedTuple):
    """A film, and the spans in each of which one cut belongs."""

    path: Path
    truth: Sequence[Interval]


def pictures_of(path: str, seconds: float, rng: random.Random) -> Pictures:
    """[T, 180, 320, 3] of a stretch of a clip that has no cut, 25 a second; its last picture stays."""
    with av.open(path) as container:
        frames = {round(float(frame.time or 0) * FPS): frame for frame in container.decode(video=0)}
    wanted = round(seconds * FPS)
    first = rng.randint(0, max(0, max(frames) - wanted))
    numbers = np.array(sorted(frames))
    places = np.searchsorted(numbers, np.arange(first, first + wanted), side="right").clip(1) - 1
    made = {
        place: frames[numbers[place]].reformat(WIDTH, HEIGHT, "rgb24").to_ndarray() for place in set(places)
    }
    return np.stack([made[place] for place in places])


def write(path: Path, pictures: Sequence[Pictures] | Pictures) -> Path:
    """Write a film of 25 pictures a second."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        stream.height, stream.width = pictures[0].shape[:2]
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode())
    return path


def dissolve(path: Path, clips: Sequence[str], rng: random.Random) -> Film:
    """Two clips of 3 to 5 s, with a dissolve of .5 to 2 s between."""
    between = round(rng.uniform(0.5, 2) * FPS)
    before, after = (
        pictures_of(clip, rng.uniform(3, 5) + between / FPS, rng) for clip in rng.sample(clips, 2)
    )
    share = np.linspace(0, 1, between)[:, None, None, None]
    mixed = (before[-between:] * (1 - share) + after[:between] * share).round().astype(np.uint8)
    start = len(before) - between
    film = write(path, np.concatenate([before[:-between], mixed, after[between:]]))
    return Film(film, [(start / FPS - AROUND_S, (start + between) / FPS + AROUND_S)])


def deck(path: Path, rng: random.Random, *, is_pale: bool) -> Film:
    """Six text slides of 3 to 6 s that share a background and a place for text."""
    paper = rng.randint(200, 255) if rng.random() < 0.6 else rng.randint(0, 50)
    ink = paper + (rng.randint(35, 60) if is_pale else rng.randint(130, 200)) * (-1 if paper > 127 else 1)
    size, shown, truth = rng.randint(18, 28), list[Pictures](), list[Interval]()
    for number in range(N_SLIDES):
        slide = Image.new("RGB", (2 * WIDTH, 2 * HEIGHT), (paper,) * 3)
        draw = ImageDraw.Draw(slide)
        for line in range(rng.randint(3, 5)):
            text, font = (
                " ".join(rng.sample(WORDS, 4 if line else 2)),
                ImageFont.load_default(size + 8 * (not line)),
            )
            draw.text((40, 30 + 55 * line), text, (ink,) * 3, font)
        if number:
            truth.append((len(shown) / FPS - SLIDE_S, len(shown) / FPS + SLIDE_S))
        shown += [np.asarray(slide)] * round(rng.uniform(3, 6) * FPS)
    return Film(write(path, shown), truth)


def flashes(path: Path, clips: Sequence[str], rng: random.Random, *, is_strobe: bool) -> Film:
    """Two clips of 5 s with a cut between; in each two flashes of a camera, or a second of strobe light."""
    pair = [pictures_of(clip, 5, rng).astype(np.float32) for clip in rng.sample(clips, 2)]
    for pictures in pair:
        for begin in (rng.randint(15, 45), rng.randint(65, 90)):
            light = [1.0, 0.5, 0.2] if rng.random() < 0.5 else [1.0] * rng.randint(1, 3)
            for number, share in enumerate([1.0, 0.0] * 12 if is_strobe else light):
                pictures[begin + number] = (1 - share) * pictures[begin + number] + 255 * share
    film = write(path, np.concatenate(pair).round().astype(np.uint8))
    return Film(film, [(5 - FRAMES_S, 5 + FRAMES_S)])


def films_of(folder: Path, half: str, count: int) -> dict[str, list[Film]]:
    """The films of each kind, half as many decks and flashes as dissolves."""
    cut = {inner["clip"] for inner in INNER}
    every = [clip["file"] for clip in known_clips() if Path(clip["file"]).name not in cut]
    clips = [clip["file"] for clip in known_clips()[HALVES[half]] if clip["file"] in every]
    rng = random.Random(half)
    folder.mkdir(parents=True, exist_ok=True)
    place, few = f"{folder}/{half}_", range(count // 2)
    return {
        "dissolves": [dissolve(Path(f"{place}dissolve_{n}.mp4"), clips, rng) for n in range(count)],
        "slides": [deck(Path(f"{place}deck_{n}.mp4"), rng, is_pale=n % 2 == 1) for n in few],
        "flashes": [flashes(Path(f"{place}flash_{n}.mp4"), clips, rng, is_strobe=n % 5 == 4) for n in few],
        "uncut clips": [Film(Path(clip), []) for clip in every[:N_UNCUT]],
    }


def counted(cuts: Times, films: Film) -> tuple[int, int]:
    """How many of the true cuts are found, and how many cuts are false."""
    n_found = sum(((cuts >= start - 1e-6) & (cuts <= end + 1e-6)).any() for start, end in films.truth)
    return int(n_found), len(cuts) - int(n_found)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder", small="films --half all --films 2")
    parser.add_argument("--half", choices=list(HALVES), default="odd", help="of the clips")
    parser.add_argument("--films", type=int, default=20, help="with dissolves; of the others half as many")
    parser.add_argument("--scenedetect", metavar="PYTHON")
    options = parser.parse_args()
    methods: dict[str, Callable[[Path], Times]] = {
        "`vidsum shots`": lambda film: vidsum.find_shots(film).edges_s[1:-1]
    }
    for detector in ("content", "adaptive") if options.scenedetect else ():
        methods[f"PySceneDetect, {detector}"] = by_peer(options.scenedetect, detector)
    kinds = films_of(options.folder, options.half, options.films)

    def cells_of(name: str) -> list[str]:
        cells = [name]
        for films in kinds.values():
            found, false = np.sum([counted(methods[name](film.path), film) for film in films], axis=0)
            n_true = sum(len(film.truth) for film in films)
            cells += [f"{found} of {n_true}" if n_true else "-", str(false)]
        return cells

    heads = [head for kind in kinds for head in (f"{kind}: found", "false")]
    print_table(["", *heads], map(cells_of, methods))


if __name__ == "__main__":
    main()
