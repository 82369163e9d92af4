"""Reels against the first seconds of each clip, on the same inputs and to the same length.

    python -m docs.benchmarks.reels FOLDER [--holidays 20]

Clips of 8 s or more are cut into two takes of one scene in FOLDER, at most 12 s each. A holiday is eight
clips drawn at random, all their takes and a photograph of every other clip, in an order that keeps takes
together; the budget is half of what the first 3 s of all inputs would take. Every third take has made-up
subtitles: a sentence from 1 to 3.4 s, another from 4 to 6.4 s, and so on. Rows: the reel; the first 3 s of
each input in order, until the budget is full; the first seconds of all inputs, all as short as the budget
needs. Two pictures a second of each film are compared, with 95 % of a bootstrap over holidays:

- flat: black, or hardly more than one colour (deviation of grey below 8 levels);
- blurred: the Laplacian varies less than a third as much as in the clearest tenth of their clip;
- repeated: like a picture of an earlier segment (10 of 64 bits of a difference hash differ, or fewer);
- inputs and scenes of which something is shown;
- cut: sentences that a film begins or breaks off, of those of which something can be heard.

The objective reads contrast, sharpness and likeness by other measures; its constants were chosen on films
of these clips.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.joined import known_clips
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum.io.atomic import write_text
from vidsum.times import to_srt
from vidsum.types import Interval, Picture
from vidsum.video.write import write_segments

LONG_S, TAKE_S, FIRST_S, CLIPS = 8.0, 12.0, 3.0, 8
SENTENCE_S, PAUSE_S = 2.4, 0.6
FLAT, BLURRED, CLEAREST, SAME_BITS, WIDTH = 8.0, 1 / 3, 90, 10, 320
STEP_S = 0.5
_EDGE_S = 0.05  # a cut this near to where a sentence begins or ends does not cut it
_TEXTS = ("The road to the lake was closed.", "We walked along the shore instead.")


@dataclass(frozen=True)
class Input:
    """A take of a scene, or a photograph of it."""

    path: Path
    scene: str
    length_s: float  # of a photograph, the time on screen
    sentences: Sequence[Interval] = ()

    @property
    def is_photograph(self) -> bool:
        return self.path.suffix == ".jpg"


@dataclass(frozen=True)
class Excerpt:
    """A part of an input in a film."""

    source: Input
    start_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Sample:
    """Measures of a picture."""

    time_s: float
    contrast: float
    sharpness: float
    bits: int  # difference hash


def make_takes(folder: Path) -> dict[str, list[Input]]:
    """Return the takes of each clip, and write those that are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    takes, number = defaultdict[str, list[Input]](list), 0
    for clip in known_clips():
        video = vidsum.probe(clip["file"])
        half_s = video.duration_s / 2
        spans = [(0.0, half_s), (half_s, 2 * half_s)] if video.duration_s >= LONG_S else [(0.0, 2 * half_s)]
        for start_s, end_s in spans:
            scene, length_s = Path(video.path).stem, min(end_s - start_s, TAKE_S)
            path = folder / f"{scene}_{len(takes[scene]) + 1}.mp4"
            if not path.exists():
                write_segments(video, [(start_s, start_s + length_s)], path)
            said = made_up_sentences(length_s) if number % 3 == 0 else ()
            if said:
                texts = (_TEXTS[at % len(_TEXTS)] for at in count())
                write_text(path.with_suffix(".srt"), to_srt((*span, next(texts)) for span in said))
            takes[scene].append(Input(path, scene, vidsum.probe(path).duration_s, said))
            number += 1
    return takes


def made_up_sentences(length_s: float) -> Sequence[Interval]:
    starts_s = (1.0 + at * (SENTENCE_S + PAUSE_S) for at in count())
    spans = ((start_s, start_s + SENTENCE_S) for start_s in starts_s)
    return tuple(takewhile(lambda span: span[1] < length_s - _EDGE_S, spans))


def draw_holiday(takes: Mapping[str, Sequence[Input]], folder: Path, seed: int) -> list[Input]:
    """Return the inputs of a holiday, in order."""
    scenes = np.random.default_rng(seed).permutation(sorted(takes))[:CLIPS].tolist()
    inputs = list[Input]()
    for number, scene in enumerate(scenes):
        inputs += takes[scene]
        if number % 2 == 0:
            path = folder / f"{scene}.jpg"
            if not path.exists():
                (picture,) = vidsum.read_frames(takes[scene][0].path, [takes[scene][0].length_s / 2])
                Image.fromarray(picture).save(path)
            inputs.append(Input(path, scene, FIRST_S))
    return inputs


def reel(inputs: Sequence[Input], budget_s: float) -> list[Excerpt]:
    made = vidsum.make_reel([part.path for part in inputs], budget_s, order="given")
    by_path = {str(part.path): part for part in inputs}
    sources = [by_path[source.path] for source in made.sources]
    return [Excerpt(sources[part.source], part.start_s, part.end_s) for part in made.segments]


def first_seconds(inputs: Sequence[Input], budget_s: float) -> list[Excerpt]:
    """Return the first 3 s of each input, until the budget is full."""
    film = list[Excerpt]()
    for part in inputs:
        rest_s = budget_s - sum(excerpt.length_s for excerpt in film)
        if rest_s >= 1:
            film.append(Excerpt(part, 0.0, min(FIRST_S, part.length_s, rest_s)))
    return film


def short_beginnings(inputs: Sequence[Input], budget_s: float) -> list[Excerpt]:
    """Return the first seconds of all inputs."""
    share_s = budget_s / len(inputs)
    return [Excerpt(part, 0.0, min(share_s, part.length_s)) for part in inputs]


FILMS: Mapping[str, Callable[[Sequence[Input], float], list[Excerpt]]] = {
    "reel": reel,
    "first 3 s": first_seconds,
    "first seconds of all": short_beginnings,
}


def sample_input(source: Input) -> list[Sample]:
    """Measure two pictures a second."""
    times_s = [0.0] if source.is_photograph else np.arange(0.0, source.length_s, STEP_S).tolist()
    pictures: Sequence[Picture]
    if source.is_photograph:
        pictures = [np.asarray(Image.open(source.path))]
    else:
        pictures = list(vidsum.read_frames(source.path, times_s, max_side=WIDTH))
    return [measure(time_s, picture) for time_s, picture in zip(times_s, pictures, strict=True)]


def measure(time_s: float, picture: Picture) -> Sample:
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    scale = WIDTH / max(grey.shape)
    grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    small = cv2.resize(grey, (9, 8), interpolation=cv2.INTER_AREA).astype(int)
    bits = int("".join("01"[bit] for bit in (small[:, 1:] > small[:, :-1]).ravel().tolist()), 2)
    return Sample(time_s, float(grey.std()), float(cv2.Laplacian(grey, cv2.CV_64F).var()), bits)


def measure_film(
    film: Sequence[Excerpt], inputs: Sequence[Input], known: Mapping[Path, Sequence[Sample]]
) -> Iterator[tuple[str, float]]:
    """Yield what is measured, by name: shares, and seconds."""
    flat, blurred, repeated, seen = list[bool](), list[bool](), list[bool](), list[int]()
    for excerpt in film:
        samples = known[excerpt.source.path]
        inside = [sample for sample in samples if excerpt.start_s <= sample.time_s < excerpt.end_s]
        clear = float(np.percentile([sample.sharpness for sample in samples], CLEAREST))
        # a photograph is on screen as long as its segment
        times = max(1, round(excerpt.length_s / STEP_S)) if excerpt.source.is_photograph else 1
        for sample in inside:
            flat += [sample.contrast < FLAT] * times
            blurred += [sample.sharpness < BLURRED * clear] * times
            repeated += [any((sample.bits ^ other).bit_count() <= SAME_BITS for other in seen)] * times
        seen += [sample.bits for sample in inside]
    yield "length, s", sum(excerpt.length_s for excerpt in film)
    yield "flat", float(np.mean(flat))
    yield "blurred", float(np.mean(blurred))
    yield "repeated", float(np.mean(repeated))
    yield "inputs", len({excerpt.source.path for excerpt in film}) / len(inputs)
    yield "scenes", len({excerpt.source.scene for excerpt in film}) / len({part.scene for part in inputs})
    audible = [
        (_shared_s(excerpt, span), span[1] - span[0])
        for excerpt in film
        for span in excerpt.source.sentences
        if _shared_s(excerpt, span) > _EDGE_S
    ]
    is_cut = [shared_s < length_s - _EDGE_S for shared_s, length_s in audible]
    yield "cut", float(np.mean(is_cut)) if is_cut else float("nan")


def _shared_s(excerpt: Excerpt, span: Interval) -> float:
    return min(excerpt.end_s, span[1]) - max(excerpt.start_s, span[0])


def main() -> None:
    """Print a row per way to make a film."""
    parser = argument_parser(__doc__, "folder", small="out --holidays 1")
    parser.add_argument("--holidays", type=int, default=20)
    options = parser.parse_args()
    takes, known = make_takes(options.folder), dict[Path, list[Sample]]()
    values = {name: defaultdict[str, list[float]](list) for name in FILMS}
    for seed in range(options.holidays):
        inputs = draw_holiday(takes, options.folder, seed)
        for source in inputs:
            if source.path not in known:
                known[source.path] = sample_input(source)
        budget_s = sum(min(FIRST_S, part.length_s) for part in inputs) / 2
        for name, make in FILMS.items():
            for measured, value in measure_film(make(inputs, budget_s), inputs, known):
                values[name][measured].append(value)
    heads = list(values["reel"])
    print_table(("film", *heads), ([name, *(cell(values[name][head]) for head in heads)] for name in FILMS))


def cell(values: Sequence[float]) -> str:
    """Return a mean and its interval, of the holidays that have a value."""
    there = np.array(values)[~np.isnan(values)]
    return with_interval(float(there.mean()), bootstrap(there)) if len(there) else "-"


if __name__ == "__main__":
    main()
