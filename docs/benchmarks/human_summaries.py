"""Summarizers measured on people: cross-validated on the captions of TVSum's and SumMe's frames.

    python -m docs.benchmarks.human_summaries --tvsum FOLDER --summe FOLDER --out RUNS
        [--experiment NAME ...] [--row NAME ...] [--seeds 3] [--splits canonical|FILE] [--table]
        [--against ROW] [--csv FILE]

Each folder holds `frame_captions.json`, and `ydata-tvsum50.mat` or `summe_protocol.npz`. A row is trained on
four fifths of the videos, of which folds choose the penalty of ridge regression, and measured on the rest,
for each fold and seed. A run that is finished is not made again; `--table` trains nothing and prints the rows
that are there, those named by `--row` or all. `--against` also prints their differences from a row, paired
by video; `--csv` puts the rows into a file in place of what it has of them. With five folds of the 30 videos
that the shipped models are trained on, `--splits docs/benchmarks/tvsum_ship_folds.json`, recipes were chosen.
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.without_words import STATISTICS, with_statistic
from vidsum.grounding.settings import CaptionSpace
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of
from vidsum.lab.datasets.captioned import FeatureSimulator, draw_of, in_space, read_captioned
from vidsum.lab.datasets.splits import Split, splits_of
from vidsum.lab.evaluation.summary_evaluation import evaluate_summaries
from vidsum.lab.evaluation.summary_metrics import HUMAN, MEAN, OTHERS, RANDOM, SummaryMeasures, VideoMeasures
from vidsum.lab.training.predict import predict_run
from vidsum.lab.training.run import start_run, unfinished_splits
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.lab.training.train_fulltransnet import prepare_run, train_split
from vidsum.lab.training.train_ridge import fit_split
from vidsum.models.configs import FullTransNetConfig, MaskConfig, RidgeConfig
from vidsum.summary.score import score
from vidsum.summary.settings import Selection

Videos = Mapping[str, AnnotatedVideo]
MAT = "ydata-tvsum50.mat"

EXPERIMENTS: Mapping[str, tuple[CaptionSpace, str]] = {
    "tvsum-text": ("text", "tvsum"),
    "tvsum-vse": ("vse", "tvsum"),
    "summe-text": ("text", "summe"),
    "summe-vse": ("vse", "summe"),
    "tvsum-to-summe-text": ("text", "summe"),
    "summe-to-tvsum-text": ("text", "tvsum"),
    "tvsum-to-summe-vse": ("vse", "summe"),
}
"""Space, and the data set that is tested on; the names with `to` train on the other one."""

SMALL: Mapping[str, Any] = {"layers": 2, "heads": 4, "d_ff": 128, "dropout": 0.5, "head": "pointer"}
"""Sizes of FullTransNet: 200,000 weights. The paper's has 3.6 million, for the 40 videos of a fold."""
EPOCHS: Mapping[CaptionSpace, int] = {"text": 8, "vse": 25}
"""Chosen, like all of the recipe, by folds of the 30 videos that `tvsum_ship.json` trains on."""
LAM = MaskConfig(kind="lam")
"""STAMP is the same model here: see docs/algorithms/learned-masks.md."""
FULLTRANSNET: Mapping[str, Mapping[str, Any]] = {
    "fulltransnet": {},
    "fulltransnet full": {"attention": "full"},
    "fulltransnet local": {"attention": "local"},
    "fulltransnet global": {"attention": "global"},
    "fulltransnet lam": {"mask": LAM, "attention": "full"},
    "fulltransnet linear": {"head": "linear"},
}
CLOCK = "clock alone"
"""The ridge regression of a row that sees nothing but the time from the start and to the end."""
RIDGE: dict[str, Mapping[str, Any]] = {
    "ridge": {"ends": False},
    "ridge, ends": {},
    "ridge, ends, novelty": {"model": RidgeConfig(novelty=0.2)},
    "ridge, ends, novelty .7": {"model": RidgeConfig(novelty=0.7)},
    CLOCK: {},
}
RIDGE |= {f"ridge, ends, {name}": {} for name in STATISTICS}
UNTRAINED = ("contrastive", "highlights")
TEACHER_FORCED = "fulltransnet"
"""The row that is also shown the key frames of the videos it is tested on, as in the paper."""


@dataclass(frozen=True)
class Data:
    """The videos of an experiment, as they are trained and tested on."""

    videos: Videos
    tested: Videos
    """For a space that is simulated, one draw of each."""
    splits: Sequence[Split]
    draw: FeatureSimulator | None


def read(name: str, options: argparse.Namespace) -> Data:
    """The data of an experiment."""
    space, target = EXPERIMENTS[name]
    files = {"tvsum": options.tvsum / MAT, "summe": options.summe / "summe_protocol.npz"}
    annotations = list(files.values()) if "to" in name.split("-") else [files[target]]
    videos = read_captioned([path.with_name("frame_captions.json") for path in annotations], annotations)
    splits = splits_of("transfer" if len(annotations) > 1 else options.splits, videos, target)
    return Data(videos, in_space(videos, space), splits, draw_of(space))


def as_seen_by(row: str, data: Data) -> Data:
    """The data of a row; for the clock, one and the same feature everywhere."""
    statistic = row.removeprefix("ridge, ends, ")
    if statistic in STATISTICS:
        return with_statistic_of(data, statistic)
    if row != CLOCK:
        return data
    videos = blank(data.videos)
    return Data(videos, videos, data.splits, None)


def with_statistic_of(data: Data, name: str) -> Data:
    """The data with one more number for each frame."""

    def drawn(video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        return with_statistic(data.draw(video, *seed) if data.draw else video, name)

    tested = {video: with_statistic(of_video, name) for video, of_video in data.tested.items()}
    return Data(data.videos if data.draw else tested, tested, data.splits, data.draw and drawn)


def blank(videos: Videos) -> dict[str, AnnotatedVideo]:
    """The videos without what they show."""
    return {
        name: replace(
            video, features=replace(video.features, array=np.ones((len(video.picks), 1), np.float32))
        )
        for name, video in videos.items()
    }


def train(row: str, seed: int, data: Data, out: Path, epochs: int, folds: Sequence[int]) -> None:
    """Train what is missing of a run."""
    if (out / "run.json").exists() and not unfinished_splits(out):
        return
    if row in RIDGE:
        settings = RidgeSettings(**{**RIDGE[row], "seed": seed})
        run = start_run("ridge", data.videos, data.splits, settings, out, draw=data.draw)
        for number in range(len(data.splits)):
            fit_split(run, number)
        return
    fulltransnet = FullTransNetSettings(
        model=FullTransNetConfig(**{**SMALL, **FULLTRANSNET[row]}),
        loop=LoopSettings(epochs=epochs, seed=seed),
        order="any",
        warm_up=0,
        anneal=True,
        validation=0,
        ends=True,
        device="cpu",
    )
    prepared = prepare_run(data.videos, data.splits, fulltransnet, out, draw=data.draw)
    for number in folds:
        train_split(prepared, number)


Measures = Mapping[str, VideoMeasures]
"""One run's measures of each video."""


def measured(row: str, videos: Videos, scores: Mapping[str, Any]) -> Measures:
    """A row's measures."""
    report = evaluate_summaries(videos, {row: scores}, knapsacks=("pgl-sum",), n_seeds=10)
    measures = report.rows[row]
    assert isinstance(measures, SummaryMeasures)
    return measures.videos


def main() -> None:
    """Train the rows, and print a table for each experiment."""
    data = "--tvsum data/tvsum --summe data/summe --out runs --experiment tvsum-text"
    parser = argument_parser(__doc__, small=f"{data} --row 'ridge, ends' --seeds 1")
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--summe", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--experiment", action="append", choices=EXPERIMENTS)
    parser.add_argument("--row", action="append", choices=[*FULLTRANSNET, *RIDGE])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0, help="of those that are trained")
    parser.add_argument(
        "--fold", type=int, action="append", help="of FullTransNet's; several can run at once"
    )
    parser.add_argument("--epochs", type=int, help="of FullTransNet; default: 8 in text, 25 in vse")
    parser.add_argument("--splits", default="canonical")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--against", metavar="ROW")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for experiment in options.experiment or EXPERIMENTS:
        data = read(experiment, options)
        folder = options.out / f"{experiment}-{Path(options.splits).stem}"
        epochs = options.epochs or EPOCHS[EXPERIMENTS[experiment][0]]
        folds = options.fold or range(len(data.splits))
        if not options.table:
            for seed in range(options.first_seed, options.seeds):
                for row in options.row or (*RIDGE, *FULLTRANSNET):
                    train(row, seed, as_seen_by(row, data), folder / f"{row}-{seed}", epochs, folds)
                    print(f"{experiment}: {row}, seed {seed}", flush=True)
        print_table(experiment, data, folder, options)


def print_table(experiment: str, data: Data, folder: Path, options: argparse.Namespace) -> None:
    """The rows that are trained, beside those that need no training."""
    tests = {name: data.tested[name] for split in data.splits for name in split.test}
    rows: dict[str, list[Measures]] = {}
    for row in options.row or (*RIDGE, *FULLTRANSNET):
        for seed in range(options.seeds):
            run = folder / f"{row}-{seed}"
            if not (run / "run.json").exists() or unfinished_splits(run):
                continue
            predicted = predict_run(run, as_seen_by(row, data).tested)
            rows.setdefault(row, []).append(measured(row, predicted.videos, predicted.scores))
            if row == TEACHER_FORCED:
                forced = predict_run(run, data.tested, "paper")
                name = f"{row}, shown the labels"
                rows.setdefault(name, []).append(measured(name, forced.videos, forced.scores))
    others = {} if options.row else untrained(tests)
    rows |= {name: [measured(name, tests, scores)] for name, scores in others.items()}
    if not options.row:
        baselines = evaluate_summaries(tests, {}, knapsacks=("pgl-sum",), n_seeds=10).rows
        for name in (HUMAN, MEAN, OTHERS, RANDOM):
            measures = baselines[name]
            assert isinstance(measures, SummaryMeasures)
            rows[name] = [measures.videos]
    print(f"\n{experiment}: {len(tests)} videos, {len(data.splits)} folds")
    columns = {row: [figures(runs, measure) for measure in MEASURES] for row, runs in rows.items()}
    print_rows({row: (len(rows[row]), cells) for row, cells in columns.items()})
    if options.csv:
        cells = {row: [str(len(rows[row])), *map(cell, predicted)] for row, predicted in columns.items()}
        write_csv(options.csv, experiment, Path(options.splits).stem, cells)
    if base := columns.get(options.against):
        print(f"\nthe same minus {options.against}, by video")
        print_rows(
            {
                row: (len(rows[row]), [less(*pair) for pair in zip(cells, base, strict=True)])
                for row, cells in columns.items()
                if row != options.against
            }
        )


def untrained(tests: Videos) -> dict[str, Mapping[str, Any]]:
    """Scores of the rows that need no training."""
    rows: dict[str, Mapping[str, Any]] = {}
    for model in UNTRAINED:
        selection = Selection(model=model)
        rows[model] = {
            name: score(video.features, shots_of(video), selection, 0.15) for name, video in tests.items()
        }
    for name, statistic in STATISTICS.items():
        rows[f"{name} alone"] = {video: statistic(of_video.features) for video, of_video in tests.items()}
    return rows


ByVideo = Mapping[str, float | None]
"""A measure of each video, the mean over seeds."""
MEASURES: Sequence[str] = ("tau", "rho", "F max", "F avg")


def figures(runs: Sequence[Measures], measure: str) -> ByVideo:
    """A column's figures of a row."""
    by_run = [figures_of(run, measure) for run in runs]
    return {name: mean([run[name] for run in by_run]) for name in by_run[0]}


def figures_of(run: Measures, measure: str) -> ByVideo:
    """A measure of one run."""
    field = {"F max": "f_max", "F avg": "f_avg"}.get(measure)
    return {
        name: getattr(of_video.key_shots[0], field) if field else getattr(of_video, measure)
        for name, of_video in run.items()
    }


def mean(values: Sequence[float | None]) -> float | None:
    """None where one is None."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def less(first: ByVideo, second: ByVideo) -> ByVideo:
    """The differences of two rows on the videos of both."""
    return {
        name: None if value is None or (other := second[name]) is None else value - other
        for name, value in first.items()
        if name in second
    }


def print_rows(rows: Mapping[str, tuple[int, Sequence[ByVideo]]]) -> None:
    """A table of the number of seeds and the columns of each row."""
    print(f"\n| row | seeds | {' | '.join(MEASURES)} |\n|{'---|' * (len(MEASURES) + 2)}")
    for row, (n_seeds, columns) in rows.items():
        print(f"| {row} | {n_seeds} | {' | '.join(map(cell, columns))} |", flush=True)


def write_csv(path: Path, experiment: str, splits: str, cells: Mapping[str, Sequence[str]]) -> None:
    """Put the cells of rows into a file, beside or in place of what it has."""
    known: dict[tuple[str, ...], Sequence[str]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            known = {tuple(line[:3]): line[3:] for line in list(csv.reader(file))[1:]}
    known |= {(experiment, splits, row): row_cells for row, row_cells in cells.items()}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["experiment", "splits", "row", "seeds", *MEASURES])
        writer.writerows([*key, *row_cells] for key, row_cells in sorted(known.items()))


def cell(column: ByVideo) -> str:
    """The mean over videos and its standard error; a dash where there are none."""
    known = [value for value in column.values() if value is not None]
    if not known or len(known) < len(column):
        return "-"
    return f"{np.mean(known):.3f} ± {np.std(known, ddof=1) / np.sqrt(len(known)):.3f}"


if __name__ == "__main__":
    main()
