"""Measure what a summary captures: people's mean score of the 15 % that a summarizer selects.

    python -m docs.benchmarks.captured --tvsum FOLDER --summe FOLDER --out RUNS [--seeds 3] [--epochs 12]
        [--splits canonical|FILE] [--chosen-by FILE]

The recipe that ships is trained for each seed and split, in RUNS; what is there is not trained again. Scores
are in deviations from the mean of their video; shots are chosen by score times length. Ridge regression and
the clock are fitted to the same videos. The rows below the model's are the model with a part of it broken: at
the end its decoder, which reads the encoder's states of a training video, is fed random frames, or takes its
first step alone, and the pointer, whose keys are shuffled. `--chosen-by` names splits whose training videos
chose the recipe: two columns are of the other videos. The last ones are of `vidsum evaluate summary`.

A second table has F by its published knapsack, which adds up the mean scores of shots whatever their lengths:
with the scores as they are, and with those of shots evenly from .5 to 1 in the same order.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from docs.benchmarks import argument_parser
from docs.benchmarks.human_summaries import (
    CLOCK,
    MEASURES,
    Data,
    Videos,
    as_seen_by,
    cell,
    figures,
    measured,
    read,
    train,
)
from docs.benchmarks.tables import print_table, with_interval
from vidsum.checkpoints.trained import read_trained
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame, f_measures, key_shots
from vidsum.lab.evaluation.reference import captured as of_summaries
from vidsum.lab.training.predict import predict_run
from vidsum.lab.training.run import read_run, unfinished_splits
from vidsum.lab.training.train_fulltransnet import prepare_run, train_split
from vidsum.models.fulltransnet import DecoderState, FullTransNet
from vidsum.summary.importance_model import ImportanceModel, build_importance_model, importance
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import FloatArray, IntArray, TimeArray
from vidsum.weights.recipes.fulltransnet import SETTINGS

EXPERIMENT, RIDGE = "tvsum-vse", "ridge, ends, novelty"
BASES = ("ridge", "clock", "fulltransnet")
N_RANDOM = 10
Curves = Mapping[str, FloatArray]
Spoil = Callable[[FullTransNet, FloatArray], None]
"""Breaks a part of a model, for which it may read [T, D] another video."""


def captured(curve: FloatArray, video: AnnotatedVideo) -> float:
    """The mean of people's standardised scores over the frames that a curve selects."""
    means, lengths = means_of_shots(curve, video), lengths_of_shots(video)
    taken = knapsack(values_of(means) * lengths, lengths, int(BUDGET * video.n_frames))
    people = at_every_frame(video.gtscore, video.picks, video.n_frames)
    return float(of_summaries(in_frames(taken, video)[None], people)[0])


def lengths_of_shots(video: AnnotatedVideo) -> IntArray:
    """[S] frames of each shot."""
    return np.asarray(np.diff(video.change_points)[:, 0] + 1)


def means_of_shots(curve: FloatArray, video: AnnotatedVideo) -> TimeArray:
    """[S] the mean of a curve over each shot's frames."""
    frames = at_every_frame(curve, video.picks, video.n_frames)
    return np.array([frames[first : last + 1].mean() for first, last in video.change_points])


def in_frames(of_shots: npt.NDArray[Any], video: AnnotatedVideo) -> npt.NDArray[Any]:
    """[n_frames] of a value for each shot [S]; 0 outside of all."""
    frames = np.zeros(video.n_frames, of_shots.dtype)
    first, last = video.change_points[0, 0], video.change_points[-1, 1]
    frames[first : last + 1] = np.repeat(of_shots, lengths_of_shots(video))
    return frames


@torch.no_grad()
def zero_attention(model: FullTransNet, other: FloatArray) -> None:
    """Let the encoder's attention give nothing."""
    for layer in model.encoder:
        for weights in layer.attention.out.parameters():
            weights.zero_()


def add_noise(name: str) -> Spoil:
    """The function that puts noise of the same deviation in place of all weights of a part."""

    @torch.no_grad()
    def spoil(model: FullTransNet, other: FloatArray) -> None:
        torch.manual_seed(0)
        for weights in getattr(model, name).parameters():
            weights.copy_(torch.randn_like(weights) * weights.std() + weights.mean())

    return spoil


def change_state(change: Callable[[FullTransNet, DecoderState, FloatArray], DecoderState]) -> Spoil:
    """The function that changes all that the decoder reads of a video."""

    def spoil(model: FullTransNet, other: FloatArray) -> None:
        encode = model.encode
        model.encode = lambda *video: change(model, encode(*video), other)

    return spoil


def read_another(model: FullTransNet, state: DecoderState, other: FloatArray) -> DecoderState:
    """The state with the cross-attention's keys and values of another video, at the same number of times."""
    features = torch.from_numpy(other)[None]
    states = FullTransNet.encode(model, features, torch.zeros(1, len(other), dtype=torch.bool))
    places = torch.linspace(0, len(other) - 1, state.memory.shape[1]).round().long()
    return replace(state, cross=tuple((keys[:, :, places], of[:, :, places]) for keys, of in states.cross))


def shuffle_keys(model: FullTransNet, state: DecoderState, other: FloatArray) -> DecoderState:
    """The state with the pointer's keys in another order."""
    order = torch.randperm(state.memory.shape[1], generator=torch.Generator().manual_seed(0))
    return replace(state, memory=state.memory[:, order])


def feed_random(model: FullTransNet, other: FloatArray) -> None:
    """Let each step read a random frame in place of the choice before."""
    step, draw = model.step, torch.Generator().manual_seed(0)

    def fed(state: DecoderState, frame: Tensor | None) -> tuple[Tensor, DecoderState]:
        n_samples = state.memory.shape[1]
        return step(state, frame if frame is None else torch.randint(n_samples, (1,), generator=draw))

    model.step = fed


def repeat_first(model: FullTransNet, other: FloatArray) -> None:
    """Let each step be the first one."""
    step = model.step
    model.step = lambda state, frame: (step(state, None)[0], state)


BROKEN: Mapping[str, Spoil] = {
    "the encoder's attention zeroed": zero_attention,
    "noise in the encoder": add_noise("encoder"),
    "another video in the cross-attention": change_state(read_another),
    "random frames fed back": feed_random,
    "the first step alone": repeat_first,
    "the pointer's keys shuffled": change_state(shuffle_keys),
}


def curves_of(run: Path, videos: Videos, spoil: Spoil | None = None) -> dict[str, FloatArray]:
    """The curves of a run's test videos, perhaps of a model that is broken."""
    curves = {}
    for split in read_run(run)["splits"]:
        path = run / split["folder"] / "best.safetensors"
        summarizer = build_importance_model(read_trained(path), str(path), "cpu")
        assert isinstance(summarizer.model, FullTransNet)
        if spoil:
            spoil(summarizer.model, summarizer.inputs.of(videos[split["train"][0]].features))
        for name in split["test"]:
            features = videos[name].features
            reader = ImportanceModel(
                **{**vars(summarizer), "fps": 1 / features.step_s}  # every 15th frame is at no one rate
            )
            curves[name] = importance(reader, features, shots_of(videos[name]))
    return curves


def fitted(row: str, data: Data) -> Curves:
    """The curves of a regression."""
    with TemporaryDirectory() as folder:
        seen, run = as_seen_by(row, data), Path(folder) / "run"
        train(row, 0, seen, run, 0, range(len(data.splits)))
        return predict_run(run, seen.tested).scores


def train_seed(seed: int, epochs: int, data: Data, out: Path) -> Path:
    """Train what is missing of the run of a seed, and return its folder."""
    run = out / f"{seed}"
    if not (run / "run.json").exists() or unfinished_splits(run):
        settings = replace(SETTINGS, loop=replace(SETTINGS.loop, seed=seed, epochs=epochs))
        prepared = prepare_run(data.videos, data.splits, settings, run, draw=data.draw)
        for number in range(len(data.splits)):
            train_split(prepared, number)
    return run


def print_rows(rows: Mapping[str, list[Curves]], videos: Videos, clean: Iterable[str]) -> None:
    """A table of means and of differences from three rows, 95 % intervals."""
    differences = [f"less {base}" for base in BASES]
    heads = ("captured", *differences, "videos that chose nothing", "less clock", *MEASURES)
    values = {row: measure(curves, videos) for row, curves in rows.items()}
    names = list(clean)

    def cells_of(row: str) -> list[str]:
        of_row = values[row]
        less = [
            interval([of_row[name] - values[base][name] for name in some])
            for base, some in (*((base, of_row) for base in BASES), ("clock", names))
        ]
        whole, part = (interval([of_row[name] for name in some]) for some in (of_row, names))
        agreement = [measured(row, videos, curves) for curves in rows[row]]
        measures = (cell(figures(agreement, name)) for name in MEASURES)
        return [row, whole, *less[:-1], part, less[-1], *measures]

    print_table(["row", *heads], map(cells_of, values))


def print_f(rows: Mapping[str, list[Curves]], videos: Videos) -> None:
    """A table of F by the published knapsack, with scores as they are and evenly from .5 to 1."""
    heads = ("deviation of shots' scores / mean", "shots", "F avg", "evenly: shots", "F avg")

    def cells_of(row: str) -> list[str]:
        cells = []
        for curves in rows[row]:
            for name, video in videos.items():
                means = means_of_shots(curves[name], video)
                even = 0.5 + means.argsort().argsort() / max(1, 2 * len(means) - 2)
                cells.append((means.std() / means.mean(), *f_of(means, video), *f_of(even, video)))
        spread, *counts_and_f = np.mean(cells, axis=0)
        return [row, f"{spread:.2f}", *(f"{v:.1f}" if v > 1 else f"{v:.3f}" for v in counts_and_f)]

    print_table(["row", *heads], map(cells_of, rows))


def f_of(scores: TimeArray, video: AnnotatedVideo) -> tuple[int, float]:
    """The shots that the published knapsack takes by scores of shots [S], and their mean F with people's."""
    assert video.user_scores is not None
    of_people = at_every_frame(video.user_scores, video.picks, video.n_frames)
    frames = np.concatenate([in_frames(scores.astype(np.float32), video)[None], of_people])
    summary, *people = key_shots(frames, video.change_points, "pgl-sum")
    taken = summary[video.change_points[:, 0]]
    return int(taken.sum()), float(f_measures(summary, people, np.ones(video.n_frames)).mean())


def measure(of_runs: list[Curves], videos: Videos) -> dict[str, float]:
    """Return the mean score captured of each video, averaged over runs."""
    return {
        name: float(np.mean([captured(curves[name], video) for curves in of_runs]))
        for name, video in videos.items()
    }


def interval(values: list[float]) -> str:
    """The mean, and 1.96 standard errors to each side."""
    if not values:
        return "-"
    mean, side = float(np.mean(values)), float(1.96 * np.std(values, ddof=1) / np.sqrt(len(values)))
    return with_interval(mean, (mean - side, mean + side))


def main() -> None:
    """Print the table."""
    data_files = "--tvsum data/tvsum --summe data/summe"
    short = "--splits data/tvsum/split.json --seeds 1 --epochs 1"
    parser = argument_parser(__doc__, small=f"{data_files} --out runs {short}")
    for name in ("--tvsum", "--summe", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=SETTINGS.loop.epochs)
    parser.add_argument("--splits", default="canonical")
    parser.add_argument("--chosen-by", type=Path)
    options: argparse.Namespace = parser.parse_args()
    torch.set_num_threads(1)
    data = read(EXPERIMENT, options)
    tested = {name: data.tested[name] for split in data.splits for name in split.test}
    chose = json.loads(options.chosen_by.read_text())[0]["train_keys"] if options.chosen_by else []
    rng = np.random.default_rng(0)
    runs = [train_seed(seed, options.epochs, data, options.out) for seed in range(options.seeds)]

    randoms = [{n: rng.random(len(v.picks), np.float32) for n, v in tested.items()} for _ in range(N_RANDOM)]
    rows: dict[str, list[Curves]] = {
        "people's mean": [{name: video.gtscore for name, video in tested.items()}],
        "ridge": [fitted(RIDGE, data)],
        "clock": [fitted(CLOCK, data)],
        "random": randoms,
        "uniform": [{name: np.full(len(v.picks), 0.5, np.float32) for name, v in tested.items()}],
        "fulltransnet": [curves_of(run, data.tested) for run in runs],
    }
    rows |= {f"fulltransnet, seed {seed}": [curves] for seed, curves in enumerate(rows["fulltransnet"])}
    broken = {row: [curves_of(run, data.tested, spoil) for run in runs] for row, spoil in BROKEN.items()}
    print_rows(rows | broken, tested, [name for name in tested if name not in chose])
    print()
    print_f(rows, tested)


if __name__ == "__main__":
    main()
