"""What a summary chooses: pieces of shots beside whole shots, on TVSum's people and on joined films.

    python -m docs.benchmarks.selection --tvsum FOLDER --out RUNS [--films FOLDER] [--budget .15]

FOLDER and RUNS are those of `docs.benchmarks.human_summaries`, whose row `ridge, ends` of seed 0 of
`tvsum-text` must be there; the films are those of `docs.benchmarks.grounding`. "People": the annotators' mean
score of what is chosen less that of the video, in standard deviations of the video's scores. "Clips": those
of a film of which half a second or more is shown. Both with the standard error. "Importance": the sum of the
curve in the summary over that of whole shots. The constants of `vidsum.summary.pieces` were chosen on the 30
videos that the shipped model was trained on, and the films of even number; there are rows of the others, and
of all.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.human_summaries import read
from docs.benchmarks.joined import truth_of
from vidsum.lab.datasets.summaries import shots_of
from vidsum.lab.training.predict import predict_run
from vidsum.pipelines.plan import input_of
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.settings import Extraction
from vidsum.shots import find
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.summary.pieces import Windows, held
from vidsum.summary.selection import select
from vidsum.types import FloatArray, Interval, TimeArray

SHOWN_S, BEST_S = 0.5, 5.0
SHIPPED = Path(__file__).with_name("tvsum_ship.json")


@dataclass(frozen=True)
class Video:
    """What there is to choose from, and what is known of it."""

    features: Features
    shots: Shots
    importance: FloatArray
    people: TimeArray | None = None
    """[T] standardised scores, of TVSum."""
    clips: Sequence[Interval] = ()
    """Of a joined film."""


Choice = Callable[[Video, float], Sequence[Interval]]


def pieces(video: Video, budget_s: float) -> Sequence[Interval]:
    """The default of `vidsum summarize`."""
    return select(video.features, video.shots, video.importance, budget_s).segments


def whole_shots(video: Video, budget_s: float) -> Sequence[Interval]:
    """`--max-segment none`."""
    limits_s = (1.0, None)
    return select(video.features, video.shots, video.importance, budget_s, limits_s=limits_s).segments


def uniform(video: Video, budget_s: float) -> Sequence[Interval]:
    """The default with `--model uniform`."""
    ones = np.ones_like(video.importance)
    return select(video.features, video.shots, ones, budget_s).segments


def best_five_seconds(video: Video, budget_s: float) -> Sequence[Interval]:
    """The best five seconds of each shot, by the plain knapsack."""
    fps = video.features.video_fps
    edges = np.round(video.shots.edges_s * fps).astype(np.int64)
    curve = held(video.importance, np.round(video.features.timestamps * fps).astype(np.int64), edges)
    windows = Windows(np.concatenate([[0.0], np.cumsum(curve)]), np.arange(edges[-1] + 1), 1)
    cells = enumerate(pairwise(edges.tolist()))
    found = [best for each in cells if (best := windows.best(*each, round(BEST_S * fps)))]
    sizes = np.array([each.size for each in found])
    values = values_of([each.score for each in found]) * sizes
    taken = np.flatnonzero(knapsack(values, sizes, int(budget_s * fps)))
    return [(found[number].start / fps, found[number].end / fps) for number in taken]


ROWS: Mapping[str, Choice] = {
    "whole shots": whole_shots,
    "pieces": pieces,
    "best 5 s of each shot": best_five_seconds,
    "pieces, uniform": uniform,
}


def is_inside(times: TimeArray, segments: Sequence[Interval]) -> np.ndarray:
    """[T] whether each time lies in one of the segments."""
    return np.any([(times >= start) & (times < end) for start, end in segments], axis=0)


def measures(video: Video, choice: Choice, budget_s: float) -> list[float]:
    """People or clips, importance over that of whole shots, segments, longest, part of the budget used."""
    segments = choice(video, budget_s)
    features = video.features
    samples = is_inside(features.timestamps + features.step_s / 2, segments)
    if video.people is not None:
        told = float(video.people[samples].mean())
    else:
        overlaps = [
            max(min(end, stop) - max(start, begin) for begin, stop in segments) for start, end in video.clips
        ]
        told = sum(overlap >= SHOWN_S for overlap in overlaps)
    frames = np.arange(round(features.duration_s * features.video_fps)) / features.video_fps
    curve = np.interp(frames, features.timestamps, video.importance)
    sums = [curve[is_inside(frames, each)].sum() for each in (segments, whole_shots(video, budget_s))]
    joined = list(segments[:1])
    for start, end in segments[1:]:
        touches = start - joined[-1][1] < 1e-3
        joined[-1:] = [(joined[-1][0], end)] if touches else [joined[-1], (start, end)]
    lengths = [max(end - start for start, end in each) for each in (segments, joined)]
    used = sum(end - start for start, end in segments) / budget_s
    return [told, sums[0] / sums[1], len(segments), *lengths, used]


def print_table(what: str, videos: Mapping[str, Sequence[Video]], budget: float) -> None:
    """A row for each choice and set of videos."""
    columns = (what, "importance", "segments", "longest s", "longest s, joined", "used")
    print(f"\n| videos | chosen | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 2)}")
    for name, some in videos.items():
        for row, choice in ROWS.items():
            found = np.array([measures(each, choice, budget * each.features.duration_s) for each in some])
            error = found.std(axis=0, ddof=1)[0] / np.sqrt(len(found))
            first, importance, n_segments, _, _, used = found.mean(axis=0)
            longest, joined = found.max(axis=0)[3:5]
            cells = f"{first:.2f} ± {error:.2f} | {importance:.3f} | {n_segments:.1f} | {longest:.1f}"
            print(f"| {len(found)} {name} | {row} | {cells} | {joined:.1f} | {used:.3f} |", flush=True)


def tvsum_videos(options: argparse.Namespace) -> dict[str, list[Video]]:
    """The videos that nothing was chosen on, and all."""
    folders = argparse.Namespace(tvsum=options.tvsum, summe=options.tvsum, splits="canonical")
    data = read("tvsum-text", folders)
    run = predict_run(options.out / "tvsum-text-canonical" / "ridge, ends-0", data.tested)
    known = set(json.loads(SHIPPED.read_text())[0]["train_keys"])
    rows: dict[str, list[Video]] = {"others": [], "all": []}
    for name, video in data.tested.items():
        assert video.user_scores is not None
        people = video.user_scores.mean(axis=0, dtype=np.float64)
        people = (people - people.mean()) / people.std()
        made = Video(video.features, shots_of(video), np.asarray(run.scores[name], np.float32), people)
        for row in ("all",) if name in known else ("all", "others"):
            rows[row].append(made)
    return rows


def films(folder: Path) -> dict[str, list[Video]]:
    """The films of odd number, and all."""
    rows: dict[str, list[Video]] = {"odd": [], "all": []}
    for number, path in enumerate(sorted(folder.glob("*.mp4"))):
        made, pictures = input_of(path, Extraction(device="cpu")).read()
        clips = [window for query in truth_of(path).queries for window in query.windows]
        shots, importance = find(made[-1], pictures=pictures), vidsum.summarize(path, device="cpu").importance
        for row in ("all", "odd") if number % 2 else ("all",):
            rows[row].append(Video(made[0], shots, importance, clips=clips))
    return rows


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--films", type=Path)
    parser.add_argument("--budget", type=float, action="append", help="a share; 0.15 if not given")
    options = parser.parse_args()
    for budget in options.budget or [0.15]:
        print(f"budget {budget:.0%}")
        print_table("people", tvsum_videos(options), budget)
        if options.films:
            print_table("clips", films(options.films), budget)


if __name__ == "__main__":
    main()
