"""Importance against what a summary shows of its film: one weight between them.

    python -m docs.benchmarks.trade --tvsum FOLDER --summe FOLDER [--splits FILE ...] [--films FOLDER]

Summaries of 15 % are chosen by the optimiser of `vidsum summarize`, to maximise

    sum over chosen units of seconds * value  +  weight * sum over all units of seconds * likeness

where the value is 1 and the expected score above the film's lowest, and likeness is the cosine with the most
similar chosen unit, of mean features less the film's mean, at least 0. The expected score is calibrated ridge
regression, fitted to the training videos of each split.
First table, TVSum: the mean of people's standardised scores in the chosen shots (`captured`), less the
clock's; the likeness per second; the mean, over the phrases of `shown_phrases.json`, of how far the chosen
captions are from the film's, in deviations. The whole objective has units of 2 to 5 s; in topics, its scores
are compared within topics, of simulated pictures as vidsum does, or of the captions themselves. Then whether
the expected score is calibrated. With `--films`, whose films `docs.benchmarks.shown` makes, the same choice
on windows of 2.5 s by the shipped regression: clips that are always or never chosen, phrases out of range,
and the mean of |log ratio|.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.captured import EXPERIMENT, interval
from docs.benchmarks.human_summaries import CLOCK, Data, as_seen_by, read, train
from docs.benchmarks.joined import composite
from docs.benchmarks.shown import FEW, RANGE, SEEDS, FilmClip, clips_of, phrases, ratio, times_of
from vidsum import extract, find_shots
from vidsum.checkpoints.trained import read_trained
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of, target_of
from vidsum.lab.datasets.clip_captions import embed_texts
from vidsum.lab.evaluation.reference import BUDGET
from vidsum.lab.training.run import read_run
from vidsum.models.scaling import logistic, logit, standardise, unit_rows
from vidsum.summary.film_topics import PART_S, compare_within_topics, topics_of
from vidsum.summary.importance_model import ImportanceModel, build_importance_model, importance
from vidsum.summary.objective import Objective, unit_values
from vidsum.summary.optimise import maximise
from vidsum.summary.score import best_score
from vidsum.summary.selection import select
from vidsum.summary.settings import Selection
from vidsum.types import BoolArray, FloatArray, Interval, TimeArray

ROW = "ridge, ends, novelty"
WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.0)
WINDOW_S = 2.5
_PER_SECOND = 1000  # units of length, which the optimiser counts in
BINS = (-1, -0.7, -0.45, -0.25, -0.1, 0.1, 0.25, 0.45, 0.7, 1)  # of expected scores


@dataclass(frozen=True)
class Units:
    """The units of a film, from which a summary is chosen."""

    seconds: TimeArray  # [U]
    expected: TimeArray  # [U] mean expected score
    likeness: FloatArray  # [U, U]

    def choose(self, budget_s: float, weight: float) -> BoolArray:
        """Return [U] the units that the optimiser of summaries chooses."""
        nothing = np.zeros(len(self.seconds))
        values = unit_values(self.seconds, self.expected, nothing, nothing)
        shows = np.asarray(weight * self.likeness * self.seconds, np.float32)
        objective = Objective(values, shows, np.zeros(len(values), np.float32))
        sizes = np.round(_PER_SECOND * self.seconds).astype(np.int64)
        chosen = np.zeros(len(values), bool)
        chosen[maximise(objective, sizes, int(_PER_SECOND * budget_s), lambda _, unit: np.array([unit]))] = (
            True
        )
        return chosen

    def coverage(self, chosen: BoolArray) -> float:
        """The mean likeness over the film."""
        return float(self.likeness[chosen].max(axis=0) @ self.seconds / self.seconds.sum())


def make_units(spans: Sequence[Interval], times: TimeArray, rows: FloatArray, expected: FloatArray) -> Units:
    """The units of spans in seconds, by the samples in them; a span of no sample takes the one before."""
    rows, means, scores = unit_rows(rows), [], []
    for start_s, end_s in spans:
        first = int(np.searchsorted(times, start_s))
        last = max(int(np.searchsorted(times, end_s)), first + 1)
        inside = slice(min(first, len(times) - 1), last)
        means.append(rows[inside].mean(axis=0))
        scores.append(expected[inside].mean())
    of_units = unit_rows(np.stack(means) - rows.mean(axis=0))
    seconds = np.array([end_s - start_s for start_s, end_s in spans])
    return Units(seconds, np.array(scores), np.maximum(of_units @ of_units.T, 0))


@dataclass(frozen=True)
class Measured:
    """A summary of a video of TVSum."""

    captured: float
    shown: float
    phrases: float


@dataclass(frozen=True)
class Judged:
    """A video of TVSum, its units, and what people and captions say of its samples."""

    units: Units
    number: TimeArray  # [T] of the unit of each sample
    people: FloatArray  # [T] standardised
    cosines: FloatArray  # [P, T] standardised

    def measure(self, weight: float) -> Measured:
        """A summary's figures."""
        chosen = self.units.choose(BUDGET * float(self.units.seconds.sum()), weight)
        is_in = chosen[self.number]
        return Measured(
            float(self.people[is_in].mean()),
            self.units.coverage(chosen),
            float(np.abs(self.cosines[:, is_in].mean(axis=1)).mean()),
        )


def judged(seen: AnnotatedVideo, captioned: AnnotatedVideo, expected: FloatArray) -> Judged:
    """A video as the model saw it, with its captions."""
    spans = [(float(first), float(last + 1)) for first, last in seen.change_points]  # in frames
    units = make_units(spans, seen.picks.astype(np.float64), seen.features.array, expected)
    ends = seen.change_points[:, 1]
    number = np.minimum(np.searchsorted(ends, seen.picks), len(ends) - 1)
    texts = embed_texts(list(phrases()))
    cosines = standardise(texts @ unit_rows(captioned.features.array).T)
    return Judged(units, number, standardise(seen.gtscore), cosines)


def predicted(row: str, data: Data) -> dict[str, FloatArray]:
    """Return [T] expected scores of each test video, by the models of the splits that did not see it."""
    curves = {}
    with TemporaryDirectory() as folder:
        seen, run = as_seen_by(row, data), Path(folder) / "run"
        train(row, 0, seen, run, 0, range(len(data.splits)))
        for split in read_run(run)["splits"]:
            path = run / split["folder"] / "best.safetensors"
            model = build_importance_model(read_trained(path), str(path), "cpu")
            for name in split["test"]:
                features = seen.tested[name].features
                reader = ImportanceModel(**{**vars(model), "fps": 1 / features.step_s})
                curves[name] = model.slope * logit(importance(reader, features, None))
    return curves


def captured_by_default(
    video: AnnotatedVideo, expected: FloatArray, in_topics: FloatArray | None = None
) -> float:
    """People's mean standardised score in the summary that the whole objective chooses.

    With `in_topics`, [T, D], the expected score is compared within the topics of these rows.
    """
    features = video.features
    budget_s, curve = BUDGET * features.duration_s, logistic(expected)
    if in_topics is not None:
        curve = compare_within_topics(curve, topics_of(in_topics, round(PART_S / features.step_s)))
    chosen = select(features, shots_of(video), curve, budget_s, slope=1.0).segments
    middles = features.timestamps + features.step_s / 2
    is_in = np.any([(start_s <= middles) & (middles < end_s) for start_s, end_s in chosen], axis=0)
    return float(standardise(video.gtscore)[is_in].mean())


def print_whole(
    name: str,
    data: Data,
    curves: dict[str, FloatArray],
    in_topics: Mapping[str, AnnotatedVideo] | None = None,
    less: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Print a row of what the whole objective captures, and return it of each video."""
    captured = {}
    for video, curve in curves.items():
        rows = in_topics[video].features.array if in_topics else None
        captured[video] = captured_by_default(data.tested[video], curve, rows)
    more = interval([value - less[video] for video, value in captured.items()]) if less else ""
    print(f"| {name} | {interval([*captured.values()])} | {more} | | |", flush=True)
    return captured


def print_slope(row: str, data: Data, curves: dict[str, FloatArray]) -> None:
    """The slope of people's scores on the expected ones, with a bootstrap over videos."""
    pairs = []
    for name, curve in curves.items():
        centred = curve - curve.mean()
        pairs.append([(centred * target_of(data.tested[name])).mean(), (centred**2).mean()])
    sums, rng = np.array(pairs), np.random.default_rng(0)
    drawn = [sums[picked].sum(axis=0) for picked in rng.integers(0, len(sums), (2000, len(sums)))]
    low, high = np.quantile([together / squares for together, squares in drawn], (0.025, 0.975))
    together, squares = sums.sum(axis=0)
    deviation = np.sqrt(squares / len(sums))
    print(f"{row}: slope {together / squares:.2f} [{low:.2f}, {high:.2f}], deviation {deviation:.2f}")
    expected = np.concatenate([curve - curve.mean() for curve in curves.values()])
    people = np.concatenate([target_of(data.tested[name]) for name in curves])
    numbers = np.digitize(expected, BINS)
    means = [
        f"{expected[numbers == number].mean():.2f}: {people[numbers == number].mean():.2f}"
        for number in np.unique(numbers)
    ]
    print("  means of expected and people's scores in bins: " + ", ".join(means))


def print_tvsum(options: argparse.Namespace, splits: str) -> None:
    """The table of TVSum's videos under some splits."""
    options.splits = splits
    data = read(EXPERIMENT, options)
    curves = {row: predicted(row, data) for row in (ROW, CLOCK)}
    films = {
        row: {name: judged(data.tested[name], data.videos[name], curve) for name, curve in of_row.items()}
        for row, of_row in curves.items()
    }
    clock = {name: film.measure(0).captured for name, film in films[CLOCK].items()}
    print(f"\nTVSum, {len(clock)} videos, {splits}\n| weight | captured | less clock | likeness | phrases |")
    print("|---|---|---|---|---|")
    for weight in WEIGHTS:
        of_videos = {name: film.measure(weight) for name, film in films[ROW].items()}
        captured = [measured.captured for measured in of_videos.values()]
        less = [measured.captured - clock[name] for name, measured in of_videos.items()]
        shown = np.mean([measured.shown for measured in of_videos.values()])
        far = np.mean([measured.phrases for measured in of_videos.values()])
        print(
            f"| {weight:g} | {interval(captured)} | {interval(less)} | {shown:.3f} | {far:.3f} |", flush=True
        )
    by_clock = print_whole("whole objective, clock", data, curves[CLOCK])
    print_whole("whole objective", data, curves[ROW], less=by_clock)
    print_whole("whole objective, in topics", data, curves[ROW], data.tested, by_clock)
    print_whole("whole objective, in topics of captions", data, curves[ROW], data.videos, by_clock)
    at_random = [
        film.measure(0)
        for name, film in films[ROW].items()
        for film in (shuffled(film, name, seed) for seed in range(5))
    ]
    means = [np.mean([getattr(row, key) for row in at_random]) for key in ("captured", "shown", "phrases")]
    print(f"| random | {means[0]:.2f} | | {means[1]:.3f} | {means[2]:.3f} |")
    print(f"| clock | {interval(list(clock.values()))} | | | |\n")
    for row, of_row in curves.items():
        print_slope(row, data, of_row)


def shuffled(film: Judged, name: str, seed: int) -> Judged:
    """A video whose units have expected scores at random."""
    rng = np.random.default_rng([seed, *name.encode()])
    units = film.units
    return Judged(
        Units(units.seconds, rng.random(len(units.seconds)), units.likeness),
        film.number,
        film.people,
        film.cosines,
    )


def windows_of(film: Path) -> tuple[list[Interval], Units]:
    """The windows of the shots of a film, and their expected scores by the shipped model."""
    features = extract(film, fps=2.0)
    scored = best_score(("ridge",), features, None, Selection(), BUDGET, "cpu")
    spans = list[Interval]()
    for start_s, end_s in find_shots(film).intervals:
        n_windows = max(1, round((end_s - start_s) / WINDOW_S))
        edges = np.linspace(start_s, end_s, n_windows + 1).tolist()
        spans += pairwise(edges)
    return spans, make_units(spans, features.timestamps, features.array, scored.expected)


def print_films(folder: Path) -> None:
    """The table of joined films."""
    films = [composite(folder, "all", 120, seed)[0] for seed in SEEDS]
    made = [windows_of(film) for film in films]
    print(f"\n{len(films)} joined films")
    print("| weight | always | never | out of range | mean abs log ratio | likeness |")
    print("|---|---|---|---|---|---|")

    def row(name: str, choose: Callable[[Units, int], BoolArray]) -> None:
        of_films, shown = list[list[FilmClip]](), list[float]()
        for number, (film, (spans, units)) in enumerate(zip(films, made, strict=True)):
            chosen = choose(units, number)
            shown.append(units.coverage(chosen))
            of_films.append(
                clips_of(film, [span for span, is_in in zip(spans, chosen, strict=True) if is_in])
            )
        rates: dict[str, list[bool]] = {}
        for clip in (clip for clips in of_films for clip in clips):
            rates.setdefault(clip.name, []).append(clip.chosen_s >= 1)
        ratios = []
        for names in phrases().values():
            times = times_of(of_films, names)
            if times[:, 1].sum() >= FEW * times[:, 3].sum():
                ratios.append(ratio(times))
        outside = sum(not RANGE[0] <= value <= RANGE[1] for value in ratios)
        spread = np.mean(np.abs(np.log(np.maximum(ratios, 0.05))))
        always, never = (sum(map(rule, rates.values())) for rule in (all, lambda is_in: not any(is_in)))
        print(
            f"| {name} | {always} | {never} | {outside} | {spread:.3f} | {np.mean(shown):.3f} |", flush=True
        )

    for weight in WEIGHTS:
        row(f"{weight:g}", lambda units, _, weight=weight: units.choose(BUDGET * units.seconds.sum(), weight))

    def at_random(units: Units, number: int) -> BoolArray:
        scores = np.random.default_rng(number).random(len(units.seconds))
        return Units(units.seconds, scores, units.likeness).choose(BUDGET * units.seconds.sum(), 0)

    row("random", at_random)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, small="--tvsum data/tvsum --summe data/summe")
    for name in ("--tvsum", "--summe"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--splits", nargs="+", default=["canonical"])
    parser.add_argument("--films", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for splits in options.splits:
        print_tvsum(options, splits)
    if options.films:
        print_films(options.films)


if __name__ == "__main__":
    main()
