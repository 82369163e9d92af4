"""Fixed cameras: whether the segments of a summary show the events or the usual picture.

    python -m docs.benchmarks.fixed_cameras FOLDER --extra CLIPS [--films N]

Ten films are made in FOLDER, in which subjects enter for 3 to 29 s. Eight are real footage of two fixed
cameras (`table_visits.mp4` and `cars_above.mp4` of action_moments.json, in CLIPS): two as recorded, six
rearranged, with the empty picture played to and fro between the events, so that no seam shows. In two,
pictures of another clip slide over a still picture with noise. A segment shows an event if events fill half
of it. Rows: the default; without the rule (`prefer_events` replaced); uniform; random; and the share of the
film's time, which a segment at random would have. Then ten films of a moving camera, and two talks of drawn
slides, with and without a slide that returns: their summaries and highlights have to be the same without
the rule. The test of a fixed camera is printed for each film. With --films, the first N of each table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import chain, islice
from pathlib import Path
from unittest.mock import patch

import av
import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.action_moments import EXTRA
from docs.benchmarks.joined import FIRST
from docs.benchmarks.shown import shared_with, uncut_films
from vidsum import find_highlights, summarize
from vidsum.features.settings import Extraction
from vidsum.pipelines import highlights as highlights_module
from vidsum.pipelines import summarize as summarize_module
from vidsum.pipelines.plan import open_input
from vidsum.summary.fixed_camera import has_cut, is_fixed, usual_picture
from vidsum.types import Interval

Picture = npt.NDArray[np.uint8]

VISITS, CARS = "table_visits.mp4", "cars_above.mp4"
EVENTS: Mapping[str, Sequence[Interval]] = {
    VISITS: ((6.3, 20.4), (22.8, 45.3), (50.4, 70.2), (74.7, 87.6), (92.1, 120.6), (123.6, 136.8)),
    CARS: ((4.7, 9.1), (14.6, 19.3), (25.1, 29.4)),
}
"""Where something differs from the empty picture, to a quarter of a second."""
EMPTY: Mapping[str, Interval] = {VISITS: (0.2, 5.8), CARS: (0.2, 4.2)}
ALSO_FIXED = (*EVENTS, "bottles.mp4", "aerobics.avi")
"""Uncut footage of fixed cameras; the last two have no events that were written down."""
FPS, SIZE = 12, (640, 360)
MARGIN_S = 0.3  # of the recording, before and after an event
# seconds of the empty picture, and numbers of events, in turn
PLANS: Sequence[tuple[str, Sequence[tuple[float, int | None]]]] = (
    (VISITS, ((20, 0), (25, 3), (15, None))),
    (VISITS, ((15, 2), (30, 5), (20, None))),
    (VISITS, ((30, 3), (30, None))),
    (VISITS, ((12, 5), (22, 0), (12, 3), (10, None))),
    (CARS, ((20, 0), (20, 1), (25, 2), (10, None))),
    (CARS, ((30, 1), (30, None))),
)
PASTED: Sequence[tuple[str, str, Sequence[Interval]]] = (
    ("wide/apple.mp4", "wide/cockatoo.mp4", ((14, 20), (41, 45), (60, 63))),
    ("wide/backpack.mp4", "wide/cat_sofa.mp4", ((25, 29), (52, 56))),
)
PASTED_S = 80.0
PHOTOGRAPHS = (
    "yoga.mp4",
    "wide/bear.mp4",
    "slicing_peppers.mp4",
    "wide/red_hair.mp4",
    "pool_cleaning.mp4",
    "wide/blocks.mp4",
)


@dataclass(frozen=True)
class Film:
    """A film and where its events are."""

    path: Path
    events: Sequence[Interval]
    duration_s: float


def pictures(path: Path, start_s: float, end_s: float) -> Iterator[Picture]:
    """The pictures [H, W, 3] of a part, FPS a second, at the size of the films."""
    due_s = start_s
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        for frame in container.decode(stream):
            time_s = float((frame.pts or 0) * stream.time_base)
            if time_s >= end_s:
                return
            while due_s <= time_s and time_s >= start_s:
                yield frame.reformat(*SIZE, "rgb24").to_ndarray()
                due_s += 1 / FPS


def write(path: Path, frames: Iterator[Picture]) -> None:
    """Write pictures as H.264."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "22"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number, picture in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def rearranged(clip: Path, plan: Sequence[tuple[float, int | None]], target: Path) -> Film:
    """A recording with other pauses."""
    empty, spans, frames = list(pictures(clip, *EMPTY[clip.name])), [], list[Picture]()
    for pause_s, number in plan:
        around = [*empty, *empty[-2:0:-1]]
        frames += [around[at % len(around)] for at in range(round(pause_s * FPS))]
        if number is not None:
            first, last = EVENTS[clip.name][number]
            begun_s = len(frames) / FPS
            frames += pictures(clip, first - MARGIN_S, last + MARGIN_S)
            spans.append((begun_s + MARGIN_S, len(frames) / FPS - MARGIN_S))
    if not target.exists():
        write(target, iter(frames))
    return Film(target, spans, len(frames) / FPS)


def pasted(background: Path, subject: Path, events: Sequence[Interval], target: Path) -> Film:
    """A still picture with noise, over which pictures of a clip slide in and out, in a second each."""

    def frames() -> Iterator[Picture]:
        rng, still = np.random.default_rng(0), next(pictures(background, 0, 1)).astype(np.float32)
        moving = list(pictures(subject, 0, 4))
        height, width = SIZE[1] * 2 // 3, SIZE[0] // 3
        for number in range(round(PASTED_S * FPS)):
            picture, time_s = still.copy(), number / FPS
            for start_s, end_s in events:
                if start_s <= time_s < end_s:
                    reach = min(time_s - start_s, end_s - time_s, 1.0)
                    small = moving[number % len(moving)][::3, ::3]
                    small = np.repeat(np.repeat(small, 2, axis=0), 2, axis=1)[:height, :width]
                    shown = max(1, int(reach * small.shape[1]))
                    picture[-small.shape[0] :, :shown] = small[:, -shown:]
            yield np.clip(picture + rng.normal(0, 2, picture.shape), 0, 255).astype(np.uint8)

    if not target.exists():
        write(target, frames())
    return Film(target, events, PASTED_S)


def recorded(clip: Path, duration_s: float) -> Film:
    """A recording as it is."""
    return Film(clip, EVENTS[clip.name], duration_s)


def fixed_films(folder: Path, extra: Path) -> Iterator[Film]:
    """The ten films, each made when it is asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    yield recorded(extra / VISITS, 139.4)
    yield recorded(extra / CARS, 30.2)
    for number, (clip, plan) in enumerate(PLANS):
        yield rearranged(extra / clip, plan, folder / f"rearranged_{number}.mp4")
    for number, (background, subject, events) in enumerate(PASTED):
        target = folder / f"pasted_{number}.mp4"
        yield pasted(FIRST / background, FIRST / subject, events, target)


def talk(target: Path, order: Sequence[int]) -> Path:
    """A film of drawn slides with a photograph, 14 s each, in an order of their numbers."""

    def slide(number: int) -> Picture:
        rng = np.random.default_rng(number)
        page = np.full((SIZE[1], SIZE[0], 3), 245, np.uint8)
        page[20:50, 40 : 200 + 40 * number] = (30, 40, 120)
        for line in range(4 + number % 3):
            top = 90 + 40 * line
            for start in np.cumsum(rng.integers(25, 80, 7)):
                page[top : top + 14, start + 10 : start + 10 + rng.integers(12, 24)] = 40
        photograph = next(pictures(FIRST / PHOTOGRAPHS[number], 0, 2))
        page[80:340, 330:630] = photograph[50:310, 170:470]
        return page

    if not target.exists():
        write(target, (slide(number) for number in order for _ in range(14 * FPS)))
    return target


@contextmanager
def without_rule() -> Iterator[None]:
    """Leave scores as they are."""
    with (
        patch.object(summarize_module, "prefer_events", lambda scored, *_: scored),
        patch.object(highlights_module, "prefer_events", lambda scored, *_: scored),
    ):
        yield


Answers = tuple[list[Interval], list[Interval]]
"""The segments of a summary, and the highlights."""


def answers(path: Path, model: str = "auto") -> Answers:
    """The answers about a film; highlights have a model of their own."""
    segments = summarize(path, model=model).segments
    return list(segments), [moment.interval for moment in find_highlights(path).moments]


def answers_without_rule(path: Path) -> Answers:
    """The default answers without the rule."""
    with without_rule():
        return answers(path)


def fixed_facts(path: Path) -> str:
    """Return the measurements of the test for a fixed camera, as text."""
    (features,), known = open_input(path, Extraction()).read(None)
    assert known is not None
    assert known.changes is not None
    changes = known.changes.array
    steps = changes[1:, 0]
    still, has_usual = np.median(np.maximum(changes[1:, 2], steps)), usual_picture(features) is not None
    verdict = "fixed" if is_fixed(known.changes) and has_usual else "not fixed"
    return f"half a second {still:.1f}, cut {has_cut(steps)}, usual picture {has_usual}: {verdict}"


def n_events(segments: Sequence[Interval], events: Sequence[Interval]) -> int:
    """How many segments are filled with events by half or more."""
    return sum(shared_with(segment, events) >= (segment[1] - segment[0]) / 2 for segment in segments)


def main() -> None:
    """Print the tables."""
    small = "films --extra shared/cameras --films 1"
    parser = argument_parser(__doc__, "folder", small=small)
    parser.add_argument("--extra", type=Path, default=EXTRA)
    parser.add_argument("--films", type=int, metavar="N", help="of each table, the first ones")
    options = parser.parse_args()
    films = islice(fixed_films(options.folder, options.extra), options.films)
    rows: dict[str, Callable[[Path], Answers]] = {
        "default": answers,
        "without the rule": answers_without_rule,
        "uniform": partial(answers, model="uniform"),
        "random": partial(answers, model="random"),
    }
    print(f"| film | events, of the time | {' | '.join(rows)} | highlights | without the rule | test |")
    print(f"|{'---|' * (len(rows) + 5)}")
    totals = np.zeros((len(rows) + 2, 2), int)
    for film in films:
        found = [row(film.path) for row in rows.values()]
        lists = [*(segments for segments, _ in found), found[0][1], found[1][1]]
        counts = [(n_events(segments, film.events), len(segments)) for segments in lists]
        totals += np.array(counts)
        share = sum(end_s - start_s for start_s, end_s in film.events) / film.duration_s
        cells = " | ".join(f"{shown} of {n}" for shown, n in counts)
        print(f"| {film.path.stem} | {share:.2f} | {cells} | {fixed_facts(film.path)} |", flush=True)
    print(f"| all | | {' | '.join(f'{shown} of {n}' for shown, n in totals)} | |")
    moving = [path for path in uncut_films(options.extra, 20) if path.name not in ALSO_FIXED][:10]
    slides = {"talk.mp4": range(6), "talk_returns.mp4": (0, 1, 0, 2, 0, 3, 0, 4, 0)}
    talks = (talk(options.folder / name, order) for name, order in slides.items())
    print("\n| film | same without the rule | test |\n|---|---|---|")
    for path in islice(chain(moving, talks), options.films):
        same = answers(path) == answers_without_rule(path)
        print(f"| {path.stem} | {same} | {fixed_facts(path)} |", flush=True)


if __name__ == "__main__":
    main()
