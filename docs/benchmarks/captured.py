"""Measure what a summary captures: people's mean score of the 15 % that a summarizer selects.

    python -m docs.benchmarks.captured --tvsum FOLDER --summe FOLDER --run RUN ... [--splits canonical|FILE]
        [--chosen-by FILE]

RUN are runs of `vidsum train fulltransnet --captions-as vse`, a seed each, over the same splits. Scores are
in deviations from the mean of their video; shots are chosen as `vidsum summarize` does, by score times
length. Ridge regression and the clock are fitted to the same videos. The rows below the model's are the
model with a part of it broken. `--chosen-by` names splits whose training videos chose the recipe: the last
columns are of the other videos.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.human_summaries import CLOCK, Data, Videos, as_seen_by, read, train
from vidsum.checkpoints.trained import read_trained
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame
from vidsum.lab.evaluation.reference import captured as of_summaries
from vidsum.lab.training.predict import predict_run
from vidsum.lab.training.run import read_run
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.importance_model import ImportanceModel, build_importance_model, importance
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import FloatArray

EXPERIMENT, RIDGE = "tvsum-vse", "ridge, ends, novelty"
N_RANDOM = 10
Curves = Mapping[str, FloatArray]


def captured(curve: FloatArray, video: AnnotatedVideo) -> float:
    """The mean of people's standardised scores over the frames that a curve selects."""
    frames, people = (at_every_frame(of, video.picks, video.n_frames) for of in (curve, video.gtscore))
    first, last = video.change_points.T
    lengths = last - first + 1
    means = np.array([frames[start : end + 1].mean() for start, end in zip(first, last, strict=True)])
    taken = knapsack(values_of(means) * lengths, lengths, int(BUDGET * video.n_frames))
    summary = np.zeros(video.n_frames, np.bool_)
    summary[first[0] : last[-1] + 1] = np.repeat(taken, lengths)
    return float(of_summaries(summary[None], people)[0])


@torch.no_grad()
def zero_attention(model: FullTransNet) -> None:
    """Let the encoder's attention give nothing."""
    for layer in model.encoder:
        for weights in layer.attention.out.parameters():
            weights.zero_()


def add_noise(name: str) -> Callable[[FullTransNet], None]:
    """The function that puts noise of the same deviation in place of all weights of a part."""

    @torch.no_grad()
    def spoil(model: FullTransNet) -> None:
        torch.manual_seed(0)
        for weights in getattr(model, name).parameters():
            weights.copy_(torch.randn_like(weights) * weights.std() + weights.mean())

    return spoil


BROKEN: Mapping[str, Callable[[FullTransNet], None]] = {
    "fulltransnet": lambda model: None,
    "the encoder's attention zeroed": zero_attention,
    "noise in the encoder": add_noise("encoder"),
    "noise in the decoder": add_noise("decoder"),
}


def curves_of(run: Path, videos: Videos, spoil: Callable[[FullTransNet], None]) -> dict[str, FloatArray]:
    """The curves of a run's test videos."""
    curves = {}
    for split in read_run(run)["splits"]:
        path = run / split["folder"] / "best.safetensors"
        summarizer = build_importance_model(read_trained(path), str(path), "cpu")
        assert isinstance(summarizer.model, FullTransNet)
        spoil(summarizer.model)
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


def print_rows(rows: Mapping[str, Mapping[str, float]], clean: Iterable[str]) -> None:
    """A table of means and of differences from ridge regression and the clock, 95 % intervals."""
    print("| row | captured | less ridge | less clock | videos that chose nothing | less clock |")
    print("|---|---|---|---|---|---|")
    names = list(clean)
    for row, values in rows.items():
        less = [
            interval([values[name] - rows[base][name] for name in some])
            for base, some in (("ridge", values), ("clock", values), ("clock", names))
        ]
        whole, part = (interval([values[name] for name in some]) for some in (values, names))
        print(f"| {row} | {whole} | {less[0]} | {less[1]} | {part} | {less[2]} |", flush=True)


def interval(values: list[float]) -> str:
    """The mean, and 1.96 standard errors to each side."""
    if not values:
        return "-"
    mean, side = np.mean(values), 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.2f} [{mean - side:.2f}, {mean + side:.2f}]"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    for name in ("--tvsum", "--summe"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--run", type=Path, action="append", required=True)
    parser.add_argument("--splits", default="canonical")
    parser.add_argument("--chosen-by", type=Path)
    options: argparse.Namespace = parser.parse_args()
    torch.set_num_threads(1)
    data = read(EXPERIMENT, options)
    tested = {name: data.tested[name] for split in data.splits for name in split.test}
    chose = json.loads(options.chosen_by.read_text())[0]["train_keys"] if options.chosen_by else []
    rng = np.random.default_rng(0)

    def measure(*curves: Curves) -> dict[str, float]:
        return {
            name: float(np.mean([captured(some[name], video) for some in curves]))
            for name, video in tested.items()
        }

    randoms = [{n: rng.random(len(v.picks), np.float32) for n, v in tested.items()} for _ in range(N_RANDOM)]
    rows = {
        "people's mean": measure({name: video.gtscore for name, video in tested.items()}),
        "ridge": measure(fitted(RIDGE, data)),
        "clock": measure(fitted(CLOCK, data)),
        "random": measure(*randoms),
        "uniform": measure({name: np.full(len(v.picks), 0.5, np.float32) for name, v in tested.items()}),
    }
    for row, spoil in BROKEN.items():
        rows[row] = measure(*(curves_of(run, data.tested, spoil) for run in options.run))
    print_rows(rows, [name for name in tested if name not in chose])


if __name__ == "__main__":
    main()
