"""Try decoders whose steps depend on the video and on what was chosen, and break each in four ways.

    python -m docs.benchmarks.decoder --tvsum FOLDER [--splits FILE] [--fold 0 ...] [--trial NAME ...]
        [--updates 300]

FOLDER holds `frame_captions.json` and `ydata-tvsum50.mat`. A trial is trained on the training videos of each
fold of `--splits` (the 30 that chose all recipes) and measured on the others, in `vse`: people's mean score
of the 15 % that is selected. Tokens are means over shots, or over about a second of one; two layers, norm
before each sub-layer, half of the target from ridge regression but in the trial without it. Trials in the
order of time learn the next shot of summaries that are drawn by what people like; `coverage` weighs what
people like by how new it is beside what was chosen. The curve is the mean, over 16 summaries that the decoder
draws, of the probability that a token is chosen. A decoder decides if each of the first three columns after
`whole` costs .1.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn

from docs.benchmarks import argument_parser
from docs.benchmarks.captured import captured, interval
from docs.benchmarks.human_summaries import MAT
from docs.benchmarks.tables import print_table
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shot_of_sample, target_of
from vidsum.lab.datasets.captioned import FeatureSimulator, draw_of, in_space, read_captioned
from vidsum.lab.datasets.splits import Split, splits_of
from vidsum.lab.evaluation.reference import BUDGET
from vidsum.lab.training.run import start_run
from vidsum.lab.training.summary_settings import RidgeSettings
from vidsum.lab.training.train_ridge import fit_ridge
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import DecoderState, FullTransNet, positions
from vidsum.summary.importance_model import FeatureTransform
from vidsum.types import FloatArray, IntArray, TimeArray

SPLITS = Path(__file__).with_name("tvsum_ship_folds.json")
INPUTS = FeatureTransform("vse", ends=True)
DRAWS, BATCH, ROLLOUTS, WARM_UP, SHARPNESS = 12, 8, 16, 100, 2.0
LR, DECAY, CROP = 1e-3, 1e-2, 0.4


@dataclass(frozen=True)
class Trial:
    """A way to make the decoder decide."""

    target: str = "time"  # the next in time; or `coverage`
    keys: str = "output"  # of the pointer: the encoder's output, its `input`, or the `place` alone
    fed: str = "picture"  # back to the decoder: what the choice shows, or its `place` in the video too
    newness: float = 4.0  # power of the newness in `coverage`
    piece: int = 0  # samples of a token; 0: a shot
    joined: float = 0.0  # updates on joined films without labels before, per update
    sampling: float = 0.0  # largest fraction of choices fed back that are the decoder's
    ridge: bool = True  # half of the target


TRIALS: Mapping[str, Trial] = {
    "any order, as ships": Trial(target="coverage", newness=0),
    "coverage": Trial(target="coverage"),
    "coverage, pretrained on joined films": Trial(target="coverage", keys="input", joined=2),
    "time": Trial(),
    "time, place fed back": Trial(fed="place"),
    "time, place fed back, keys are the input": Trial(fed="place", keys="input"),
    "time, place fed back, keys are places": Trial(fed="place", keys="place"),
    "time, scheduled sampling": Trial(keys="input", sampling=0.5),
    "time, place fed back, without ridge": Trial(fed="place", ridge=False),
    "time, seconds": Trial(fed="place", piece=2),
}
BREAKS = ("whole", "another video", "random fed back", "first step alone", "keys shuffled")


@dataclass(frozen=True, eq=False)
class Tokens:
    """A video as the trials read it."""

    video: AnnotatedVideo
    draws: Sequence[FloatArray]  # [P, D] of each simulation
    token: IntArray  # [T] of each sample
    shot: IntArray  # [P] of each token
    likes: TimeArray  # [P] share of what people like
    lengths: IntArray  # [P] samples


Example = tuple[FloatArray, IntArray, TimeArray]
"""[P, D] input, [L] tokens chosen, [L + 1, P + 1] the target of each step, the end last."""


class TriedNet(FullTransNet):
    """FullTransNet with other keys of the pointer, and perhaps the place of a choice fed back."""

    def __init__(self, trial: Trial, dim_in: int) -> None:
        super().__init__(
            FullTransNetConfig(
                dim_in=dim_in, layers=2, heads=4, d_ff=256, head="pointer", attention="full", norm="before"
            )
        )
        self.trial = trial

    def encode(self, features: Tensor, is_global: Tensor, is_valid: Tensor | None = None) -> DecoderState:
        state = super().encode(features, is_global, is_valid)
        places = positions(features.shape[1], state.embedded).expand_as(state.embedded)
        keys = {"output": state.memory, "input": state.embedded + places, "place": places}
        fed = state.embedded + places if self.trial.fed == "place" else state.embedded
        return replace(state, memory=keys[self.trial.keys], embedded=fed)


def tokens_of(video: AnnotatedVideo, draws: Sequence[AnnotatedVideo], likes: TimeArray, piece: int) -> Tokens:
    """The means over shots, or over about `piece` samples of one."""
    _, shot = np.unique(shot_of_sample(video), return_inverse=True)
    edges = [0, *np.flatnonzero(np.diff(shot)) + 1, len(shot)]
    parts = [
        part
        for start, end in pairwise(edges)
        for part in np.array_split(
            np.arange(start, end), max(1, round((end - start) / piece)) if piece else 1
        )
    ]
    token = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    arrays = [INPUTS.of(draw.features) for draw in draws]
    means = [np.stack([array[part].mean(axis=0) for part in parts]) for array in arrays]
    sums = np.array([likes[part].sum() for part in parts])
    lengths = np.array([len(part) for part in parts])
    return Tokens(video, means, token, np.array([shot[part[0]] for part in parts]), sums, lengths)


def likes_of(video: AnnotatedVideo, scores: FloatArray | None) -> TimeArray:
    """[T] probability that a sample is chosen first: half by people, half by [T] scores, or all by people."""
    target = target_of(video) if scores is None else target_of(video) + scores / scores.std()
    likes = np.exp(SHARPNESS * (target - target.mean()) / target.std())
    return np.asarray(likes / likes.sum(), np.float64)


def chances(likes: TimeArray, lengths: IntArray) -> TimeArray:
    """[S] chance of each shot to be in a summary, 15 % long on average, by likes per sample."""
    low, high = 0.0, 1e4
    for _ in range(40):
        factor = (low + high) / 2
        short = (1 - np.exp(-factor * likes / lengths)) @ lengths < BUDGET * lengths.sum()
        low, high = (factor, high) if short else (low, factor)
    return np.asarray((1 - np.exp(-high * likes / lengths)).clip(1e-4, 1 - 1e-4))


def in_time(
    likes: TimeArray, lengths: IntArray, shot: IntArray, rng: np.random.Generator
) -> tuple[IntArray, TimeArray]:
    """Tokens of drawn shots, and the distribution of the next after each; the end is the last column."""
    _, first, shot = np.unique(shot, return_index=True, return_inverse=True)
    per_shot = [np.bincount(shot, of) for of in (likes, lengths)]
    chance = chances(*per_shot)
    drawn = np.flatnonzero(rng.random(len(chance)) < chance)
    drawn = drawn if len(drawn) else np.array([rng.choice(len(chance), p=chance / chance.sum())])
    chosen = np.flatnonzero(np.isin(shot, drawn))
    rows = np.zeros((len(chosen) + 1, len(likes) + 1))
    for row, last in zip(rows, [-1, *chosen], strict=True):
        if last >= 0 and last + 1 < len(shot) and shot[last + 1] == shot[last]:
            row[last + 1] = 1
            continue
        after = slice(shot[last] + 1 if last >= 0 else 0, None)
        none = np.cumprod(np.append(1, 1 - chance[after]))
        row[first[after]], row[-1] = chance[after] * none[:-1], none[-1]
    return chosen, rows


def by_coverage(
    rows: FloatArray, likes: TimeArray, lengths: IntArray, power: float, rng: np.random.Generator
) -> tuple[IntArray, TimeArray]:
    """Tokens drawn one by one by likes times newness, and the distributions that they are drawn from."""
    units = rows[:, :-2] / np.linalg.norm(rows[:, :-2], axis=1, keepdims=True).clip(1e-6)
    likeness, nearest = (units @ units.T).clip(0, 1), np.zeros(len(rows))
    chosen, targets = list[int](), list[TimeArray]()
    while lengths[chosen].sum() < BUDGET * lengths.sum():
        weights = likes * (1 - nearest) ** power
        weights[chosen] = 0
        if not weights.sum():
            break
        targets.append(np.append(weights / weights.sum(), 0))
        chosen.append(int(rng.choice(len(rows), p=weights / weights.sum())))
        nearest = np.maximum(nearest, likeness[chosen[-1]])
    end = np.append(np.zeros(len(rows)), 1)
    return np.array(chosen), np.stack([*targets, end])


def draw_example(trial: Trial, videos: Sequence[Tokens], rng: np.random.Generator) -> Example:
    """A random part of a random video, with a summary of it."""
    of = videos[rng.integers(len(videos))]
    count = min(len(of.likes), max(4, int(rng.uniform(CROP, 1) * len(of.likes)) + 1))
    start = rng.integers(len(of.likes) - count + 1)
    part = slice(start, start + count)
    rows, likes, lengths = of.draws[rng.integers(len(of.draws))][part], of.likes[part], of.lengths[part]
    if trial.target == "time":
        return rows, *in_time(likes, lengths, of.shot[part], rng)
    return rows, *by_coverage(rows, likes, lengths, trial.newness, rng)


def draw_joined(trial: Trial, videos: Sequence[Tokens], rng: np.random.Generator) -> Example:
    """Runs of shots of several videos, one after the other, with a summary that covers them."""
    parts = []
    for _ in range(rng.integers(3, 8)):
        of = videos[rng.integers(len(videos))]
        count = min(len(of.lengths), int(rng.integers(3, 12)))
        start = rng.integers(len(of.lengths) - count + 1)
        run = slice(start, start + count)
        parts.append((of.draws[rng.integers(len(of.draws))][run], of.lengths[run]))
    rows, lengths = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return rows, *by_coverage(rows, lengths.astype(np.float64), lengths, trial.newness, rng)


def loss_of(model: TriedNet, batch: Sequence[Example]) -> Tensor:
    """The mean cross-entropy of the steps."""
    n_tokens, n_steps = (max(len(example[part]) for example in batch) for part in (0, 2))
    features = torch.zeros(len(batch), n_tokens, batch[0][0].shape[1])
    is_valid = torch.zeros(len(batch), n_tokens, dtype=torch.bool)
    chosen = torch.zeros(len(batch), n_steps - 1, dtype=torch.int64)
    targets = torch.zeros(len(batch), n_steps, n_tokens + 1)
    for number, (rows, picks, steps) in enumerate(batch):
        features[number, : len(rows)], is_valid[number, : len(rows)] = torch.from_numpy(rows), True
        chosen[number, : len(picks)] = torch.from_numpy(picks)
        targets[number, : len(steps), : len(rows)] = torch.from_numpy(steps[:, :-1])
        targets[number, : len(steps), -1] = torch.from_numpy(steps[:, -1])
    steps = model(features, torch.zeros_like(is_valid), chosen, is_valid)
    return -(steps.masked_fill(targets == 0, 0) * targets).sum() / targets.sum()


@torch.no_grad()
def with_its_choices(model: TriedNet, example: Example, rate: float, rng: np.random.Generator) -> Example:
    """An example in which some of the choices fed back are the decoder's."""
    rows, chosen, steps = example
    is_swapped = rng.random(len(chosen)) < rate
    if not is_swapped.any():
        return example
    features, none = torch.from_numpy(rows)[None], torch.zeros(1, len(rows), dtype=torch.bool)
    rates = model(features, none, torch.from_numpy(chosen)[None])[0, :-1, :-1].exp() + 1e-9
    return rows, np.where(is_swapped, torch.multinomial(rates, 1)[:, 0].numpy(), chosen), steps


def fit(trial: Trial, videos: Sequence[Tokens], updates: int) -> TriedNet:
    """The trained network, and the last losses printed."""
    torch.manual_seed(0)
    rng, model = np.random.default_rng(0), TriedNet(trial, videos[0].draws[0].shape[1])
    for draw, count in ((draw_joined, int(trial.joined * updates)), (draw_example, updates)):
        optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
        for number in range(count):
            share = min(1, (number + 1) / WARM_UP) * (1 + np.cos(np.pi * number / count)) / 2
            optimizer.param_groups[0]["lr"] = LR * share
            batch = [draw(trial, videos, rng) for _ in range(BATCH)]
            rate = trial.sampling * number / count
            batch = [with_its_choices(model, example, rate, rng) for example in batch] if rate else batch
            loss = loss_of(model, batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return model.eval()


@torch.inference_mode()
def curve_of(model: TriedNet, tokens: Tokens, other: FloatArray, broken: str) -> FloatArray:
    """[P] mean probability that a token is chosen at some step, over summaries that the decoder draws."""
    draw, n_tokens = torch.Generator().manual_seed(0), len(tokens.lengths)
    state = encoded(model, tokens.draws[0])
    if broken == "another video":
        cross, places = (
            encoded(model, other).cross,
            torch.linspace(0, len(other) - 1, n_tokens).round().long(),
        )
        state = replace(state, cross=tuple((keys[:, :, places], of[:, :, places]) for keys, of in cross))
    if broken == "keys shuffled":
        state = replace(state, memory=state.memory[:, torch.randperm(n_tokens, generator=draw)])
    state = repeated(state, ROLLOUTS)
    missed, chosen = torch.zeros(ROLLOUTS, n_tokens), torch.zeros(ROLLOUTS, n_tokens, dtype=torch.bool)
    is_over, fed = torch.zeros(ROLLOUTS, dtype=torch.bool), None
    lengths = torch.from_numpy(tokens.lengths).float()
    for _ in range(n_tokens):
        rows, state = model.step(state, fed)
        rates = rows.exp()
        missed += torch.log1p(-rates[:, :-1].clamp(max=1 - 1e-6)) * ~is_over[:, None]
        left = torch.where(chosen, 0, rates[:, :-1] + 1e-9)
        pick = torch.multinomial(left, 1, generator=draw)[:, 0]
        is_over |= torch.rand(ROLLOUTS, generator=draw) < rates[:, -1]
        chosen[torch.arange(ROLLOUTS)[~is_over], pick[~is_over]] = True
        is_over |= (chosen * lengths).sum(dim=1) >= BUDGET * lengths.sum()
        if is_over.all() or broken == "first step alone":
            break
        is_random = broken == "random fed back"
        fed = torch.randint(n_tokens, (ROLLOUTS,), generator=draw) if is_random else pick
    return np.asarray((1 - missed.exp()).mean(dim=0).numpy(), np.float32)


def encoded(model: TriedNet, rows: FloatArray) -> DecoderState:
    """The state before the first step."""
    return model.encode(torch.from_numpy(rows)[None], torch.zeros(1, len(rows), dtype=torch.bool))


def repeated(state: DecoderState, count: int) -> DecoderState:
    """Repeat a state for a batch of summaries."""
    cross = tuple((keys.expand(count, -1, -1, -1), of.expand(count, -1, -1, -1)) for keys, of in state.cross)
    wide = (of.expand(count, *of.shape[1:]) for of in (state.embedded, state.memory, state.is_valid))
    return DecoderState(*wide, cross)


def measure(model: TriedNet, tests: Sequence[Tokens]) -> dict[str, list[float]]:
    """Return the score captured of each test video, by the whole model and by each broken one."""
    return {
        broken: [
            captured(curve_of(model, test, tests[number - 1].draws[0], broken)[test.token], test.video)
            for number, test in enumerate(tests)
        ]
        for broken in BREAKS
    }


def read_fold(
    videos: Mapping[str, AnnotatedVideo], draw: FeatureSimulator, split: Split, trial: Trial
) -> tuple[list[Tokens], list[Tokens]]:
    """The videos that a fold trains and tests on."""
    with TemporaryDirectory() as folder:
        run = start_run("ridge", videos, [split], RidgeSettings(), Path(folder), draw=draw)
        teacher = fit_ridge(run, split.train).model
    train, test = list[Tokens](), list[Tokens]()
    for name in split.train:
        draws = [draw(videos[name], 1, 0, number + 1) for number in range(DRAWS)]
        scores = teacher(INPUTS.of(draws[0].features)) if trial.ridge else None
        train.append(tokens_of(videos[name], draws, likes_of(videos[name], scores), trial.piece))
    for video in in_space({name: videos[name] for name in split.test}, "vse").values():
        test.append(tokens_of(video, [video], np.ones(len(video.picks)), trial.piece))
    return train, test


def main() -> None:
    """Print a row for each trial."""
    small = "--tvsum data/tvsum --splits data/tvsum/split.json --updates 2 --trial time"
    parser = argument_parser(__doc__, small=small)
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--splits", type=Path, default=SPLITS)
    parser.add_argument("--fold", type=int, nargs="+", default=[0])
    parser.add_argument("--trial", nargs="+", choices=TRIALS, default=list(TRIALS), metavar="NAME")
    parser.add_argument("--updates", type=int, default=300)
    options: argparse.Namespace = parser.parse_args()
    torch.set_num_threads(1)
    videos = read_captioned([options.tvsum / "frame_captions.json"], [options.tvsum / MAT])
    splits, draw = splits_of(str(options.splits), videos, "tvsum"), draw_of("vse")
    assert draw is not None

    def cells_of(name: str) -> list[str]:
        values: dict[str, list[float]] = {broken: [] for broken in BREAKS}
        for fold in options.fold:
            train, test = read_fold(videos, draw, splits[fold], TRIALS[name])
            model = fit(TRIALS[name], train, options.updates)
            for broken, captures in measure(model, test).items():
                values[broken] += captures
        whole = values[BREAKS[0]]
        less = [interval(list(np.subtract(whole, values[broken]))) for broken in BREAKS[1:]]
        return [name, interval(whole), *less]

    heads = ["trial", BREAKS[0], *(f"less {broken}" for broken in BREAKS[1:])]
    print_table(heads, map(cells_of, options.trial))


if __name__ == "__main__":
    main()
