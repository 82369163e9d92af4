"""LAM's Table 1d and STAMP's Table 5 in small: a vision transformer with and without masks.

    OMP_NUM_THREADS=1 nice -n 19 python -m docs.benchmarks.vit_masks digits --out RUNS
    ... vit_masks flickr8k --captions captions.csv.gz --pictures images --out RUNS     # then --table

digits: scikit-learn's 1,797 digits of 8 x 8 pixels, patches of 2 x 2, ten classes.
digits-long: the same for three times as many epochs.
flickr8k: photographs at 32 x 32 pixels, patches of 8 x 8. The class is which of five clusters a picture's
sentences belong to: k-means on their words (tf-idf, 100 singular vectors), fitted without the test pictures.

Every eighth picture in order of name (of the digits: of number) is for testing, every eighth of the others
for choosing the epoch. The rows of a seed start from the same weights, but those that only one has, and read
the same batches. A run is a file in RUNS; what is there is not done again.
"""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import t
from torch import Tensor
from torch.nn.functional import cross_entropy

from docs.benchmarks import argument_parser
from docs.benchmarks.qvhighlights_measures import holm
from vidsum.models.attention.learned_mask import static_sparsity
from vidsum.models.configs import MaskConfig
from vidsum.models.vit import ONE_LAYER, ViT, ViTConfig
from vidsum.outputs import atomic_write

EVERY, CLUSTERS, SEEDS = 8, 5, 10
BATCH, RATE, DECAY, WARM_UP, SPARSITY = 128, 1e-3, 0.05, 0.1, 0.5


@dataclass(frozen=True)
class Contest:
    """A model without masks, and how long it trains."""

    config: ViTConfig
    epochs: int
    mirrored: bool = False
    """Whether half of the pictures of a step are mirrored."""
    only: Collection[str] = ("none", "lam", "static", "static product", "+ linear")
    """Its rows."""


DIGITS: Final = ViTConfig(channels=1, image=8, patch=2, d=32, layers=2, heads=4, classes=10)
FLICKR8K: Final = replace(DIGITS, channels=3, image=32, patch=8, classes=CLUSTERS)
CONTESTS: Final[Mapping[str, Contest]] = {
    "digits": Contest(DIGITS, epochs=30),
    "digits-long": Contest(DIGITS, epochs=90, only=("none", "lam")),
    "flickr8k": Contest(FLICKR8K, epochs=12, mirrored=True),
}


def rows(contest: Contest) -> dict[str, ViTConfig]:
    """The rows of a contest; + linear has as many parameters as LAM, but for a few."""
    plain = contest.config
    configs = {
        "none": plain,
        "lam": replace(plain, mask=ONE_LAYER),
        "static": replace(plain, mask=MaskConfig(kind="static")),
        "static product": replace(plain, mask=MaskConfig(kind="static", fusion="product")),
        "+ linear": replace(plain, linear=(plain.n_patches + 1) // 2),
    }
    return {row: configs[row] for row in contest.only}


# --- data ---


@dataclass(frozen=True)
class Data:
    """Pictures [V, channels, image, image] and their classes [V]."""

    pictures: Tensor
    classes: Tensor

    def parts(self) -> tuple["Data", "Data", "Data"]:
        """Those to train on, to choose the epoch by, and to test on."""
        number = torch.arange(len(self.classes))
        is_test = number % EVERY == 0
        rest = number[~is_test]
        is_val = torch.arange(len(rest)) % EVERY == 0
        train, val, test = (
            Data(self.pictures[part], self.classes[part])
            for part in (rest[~is_val], rest[is_val], number[is_test])
        )
        return train, val, test


@cache
def digits() -> Data:
    """Grey levels from -1 to 1."""
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    pictures = torch.tensor(images / 8 - 1, dtype=torch.float32).reshape(-1, 1, 8, 8)
    return Data(pictures, torch.tensor(classes, dtype=torch.long))


@cache
def flickr8k(captions: Path, folder: Path) -> Data:
    """Colours from -1 to 1, of the middle square."""
    from PIL import Image, ImageOps

    from vidsum.lab.datasets.captioned_pictures import read_captioned_pictures

    described, _ = read_captioned_pictures(captions, folder)
    size = (FLICKR8K.image, FLICKR8K.image)
    arrays = [
        np.asarray(ImageOps.fit(Image.open(each.still.path).convert("RGB"), size)) for each in described
    ]
    pictures = torch.tensor(np.stack(arrays)).permute(0, 3, 1, 2) / 127.5 - 1
    classes = clusters([" ".join(each.sentences) for each in described])
    return Data(pictures, torch.tensor(classes, dtype=torch.long))


def clusters(texts: Sequence[str]) -> list[int]:
    """Which of five clusters a picture's sentences belong to; the clusters are those of training."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    words = TfidfVectorizer(stop_words="english", min_df=5, sublinear_tf=True)
    latent = TruncatedSVD(100, random_state=0)
    grouped = KMeans(CLUSTERS, n_init=10, random_state=0)
    model = make_pipeline(words, latent, Normalizer(), grouped)
    model.fit([text for number, text in enumerate(texts) if number % EVERY])
    found: list[int] = model.predict(texts).tolist()
    return found


# --- runs ---


def train(contest: Contest, config: ViTConfig, data: Data, seed: int) -> dict[str, Any]:
    """The epochs' accuracy in validation, and a digit per test picture, 1 if the best epoch is right."""
    torch.manual_seed(seed)
    start = ViT(contest.config).state_dict()
    model = ViT(config)
    model.load_state_dict(start, strict=False)
    learned, val, test = data.parts()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY, fused=True)
    n_steps, step = contest.epochs * math.ceil(len(learned.classes) / BATCH), 0
    draw = torch.Generator().manual_seed(seed)
    curve: list[float] = []
    right = ""
    for _ in range(contest.epochs):
        model.train()
        for batch in torch.randperm(len(learned.classes), generator=draw).split(BATCH):
            done = (step := step + 1) / n_steps
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(done / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * done))
            mirrored = torch.rand(len(batch), generator=draw) < (0.5 if contest.mirrored else 0.0)
            shown = learned.pictures[batch]
            shown = torch.where(mirrored[:, None, None, None], shown.flip(3), shown)
            loss = cross_entropy(model(shown), learned.classes[batch]) + SPARSITY * static_sparsity(model)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        curve.append(float(_is_right(model, val).float().mean()))
        if curve[-1] > max(curve[:-1], default=-1):
            right = "".join(str(int(each)) for each in _is_right(model, test))
    n_parameters = sum(each.numel() for each in model.parameters())
    return {"parameters": n_parameters, "curve": curve, "right": right}


def _is_right(model: ViT, data: Data) -> Tensor:
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(part).argmax(dim=1) for part in data.pictures.split(256)])
    return found == data.classes


def run_file(out: Path, name: str, row: str, seed: int) -> Path:
    """The file of a run."""
    return out / name / f"{row.replace(' ', '-')}-{seed}.json"


def run_all(out: Path, contests: Mapping[str, Data], seeds: int) -> None:
    """Do what is missing, seed by seed."""
    for seed, (name, data) in product(range(seeds), contests.items()):
        for row, config in rows(CONTESTS[name]).items():
            file = run_file(out, name, row, seed)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                made = json.dumps(train(CONTESTS[name], config, data, seed))
                with atomic_write(file) as target:
                    target.write_text(made)
                print(name, row, seed, flush=True)


# --- tables ---

Values = npt.NDArray[np.int64]

Runs = Mapping[str, Mapping[int, dict[str, Any]]]
"""By row and seed."""


def read_runs(out: Path, name: str) -> tuple[Runs, list[int]]:
    """The runs of a contest, and the seeds that all rows have."""
    files = {
        row: {seed: run_file(out, name, row, seed) for seed in range(SEEDS)} for row in rows(CONTESTS[name])
    }
    runs = {
        row: {seed: json.loads(file.read_text()) for seed, file in of_row.items() if file.exists()}
        for row, of_row in files.items()
    }
    return runs, sorted(set.intersection(*({*of_row} for of_row in runs.values())))


def baselines(data: Data) -> tuple[float, float]:
    """Accuracy of the class that most pictures have, and of logistic regression on the pixels."""
    from sklearn.linear_model import LogisticRegression

    (x, y), (x_val, y_val), (x_test, y_test) = (
        (part.pictures.flatten(1).numpy(), part.classes.numpy()) for part in data.parts()
    )
    models = [LogisticRegression(C=10.0**power, max_iter=200).fit(x, y) for power in range(-6, 1)]
    best = max(models, key=lambda model: float(model.score(x_val, y_val)))
    return float((y_test == np.bincount(y).argmax()).mean()), float(best.score(x_test, y_test))


def print_tables(out: Path, contests: Mapping[str, Data]) -> None:
    """Accuracy, and its difference from none with its 95 % interval; bold where Holm's test holds at .05."""
    found = {name: read_runs(out, name) for name in contests}
    right = {
        (name, row): np.array([[*map(int, of_row[seed]["right"])] for seed in seeds])
        for name, (runs, seeds) in found.items()
        for row, of_row in runs.items()
    }
    tested = {
        (name, row): difference(values - right[name, "none"])
        for (name, row), values in right.items()
        if row != "none"
    }
    is_sure = dict(zip(tested, holm([p for _, p in tested.values()]), strict=True))
    for name, (runs, seeds) in found.items():
        most, linear = baselines(contests[name])
        print(
            f"\n{name}, {len(seeds)} seeds\n\n| row | parameters | top-1, % | minus none |\n|---|---|---|---|"
        )
        print(f"| most frequent class | | {100 * most:.1f} | |\n| pixels, linear | | {100 * linear:.1f} | |")
        for row, of_row in runs.items():
            words, _ = tested.get((name, row), ("", None))
            words = f"**{words}**" if is_sure.get((name, row)) else words
            n_parameters, top = of_row[seeds[0]]["parameters"], 100 * right[name, row].mean()
            print(f"| {row} | {n_parameters:,} | {top:.1f} | {words} |")


def difference(values: Values) -> tuple[str, float]:
    """In words with its 95 % interval, and p, of differences [seeds, test pictures].

    The variance is the sum of that over pictures (each the mean of the seeds) and of that over seeds (each
    the mean of the pictures), which is on the safe side.
    """
    spreads = (values.mean(axis).std(ddof=1) / values.shape[1 - axis] ** 0.5 for axis in (0, 1))
    error, freedom = math.hypot(*spreads), len(values) - 1
    mean, wide = 100 * values.mean(), 100 * t.ppf(0.975, freedom) * error
    return f"{mean:+.1f} [{mean - wide:.1f}, {mean + wide:.1f}]", 2 * t.sf(abs(mean) / (100 * error), freedom)


def write_csv(out: Path, contests: Iterable[str]) -> None:
    """A row per run."""
    lines = ["contest,row,seed,parameters,epoch,epochs,validation,test"]
    for name in contests:
        for row, of_row in read_runs(out, name)[0].items():
            for seed, run in of_row.items():
                curve, right = run["curve"], [*map(int, run["right"])]
                best = f"{curve.index(max(curve)) + 1},{len(curve)},{100 * max(curve):.2f}"
                lines.append(f"{name},{row},{seed},{run['parameters']},{best},{100 * np.mean(right):.2f}")
    (out / "vit_masks.csv").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the contests, or print their tables and write their runs to OUT/vit_masks.csv."""
    parser = argument_parser(__doc__)
    parser.add_argument("contest", nargs="*", default=[*CONTESTS], help=" or ".join(CONTESTS))
    parser.add_argument("--captions", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    contests = {
        name: digits()
        if CONTESTS[name].config == DIGITS
        else flickr8k(arguments.captions, arguments.pictures)
        for name in arguments.contest
    }
    if arguments.table:
        print_tables(arguments.out, contests)
        write_csv(arguments.out, contests)
    else:
        run_all(arguments.out, contests, arguments.seeds)


if __name__ == "__main__":
    main()
