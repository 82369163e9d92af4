"""LAM's Table 1d and STAMP's Table 5 in small: a vision transformer with and without masks.

    OMP_NUM_THREADS=1 nice -n 19 python -m docs.benchmarks.vit_masks digits --out RUNS
    ... vit_masks flickr8k --captions captions.csv.gz --pictures images --out RUNS     # then --table

digits: scikit-learn's 1,797 digits of 8 x 8 pixels, patches of 2 x 2, ten classes.
flickr8k: photographs at 64 x 64 pixels, patches of 16 x 16. The class is which of five clusters the mean of a
picture's five sentences (MiniLM) belongs to; the clusters are those of k-means on the training pictures.

Every eighth picture in order of name (of the digits: of number) is for testing and for nothing else. Sizes,
epochs and rates were set before the first run and are the same for all rows; the last epoch counts. The rows
of a seed start from the same weights, but those that only one has, and read the same batches. A run is a file
in RUNS; what is there is not done again.
"""

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from scipy.stats import t
from torch import Tensor
from torch.nn.functional import cross_entropy

from docs.benchmarks import argument_parser
from vidsum.models.configs import MaskConfig
from vidsum.models.vit import ONE_LAYER, ViT, ViTConfig
from vidsum.outputs import atomic_write

TEST_EVERY, CLUSTERS = 8, 5
BATCH, RATE, DECAY, WARM_UP = 128, 1e-3, 0.05, 0.1
SEEDS = 10
LAST = "lam, from 1"
"""The row that is trained after all others: its mask starts as none."""


@dataclass(frozen=True)
class Contest:
    """A model without masks, and how long it trains."""

    config: ViTConfig
    epochs: int
    mirrored: bool
    """Whether half of the pictures of a step are mirrored."""


DIGITS: Final = ViTConfig(channels=1, image=8, patch=2, d=48, layers=3, heads=4, classes=10)
FLICKR8K: Final = replace(DIGITS, channels=3, image=64, patch=16, classes=CLUSTERS)
CONTESTS: Final[Mapping[str, Contest]] = {
    "digits": Contest(DIGITS, epochs=30, mirrored=False),
    "flickr8k": Contest(FLICKR8K, epochs=6, mirrored=True),
}


def rows(plain: ViTConfig) -> dict[str, ViTConfig]:
    """The rows of a contest; + linear has as many parameters as LAM, but for a few."""
    return {
        "none": plain,
        "lam": replace(plain, mask=ONE_LAYER),
        "static": replace(plain, mask=MaskConfig(kind="static")),
        "+ linear": replace(plain, linear=(plain.n_patches + 1) // 2),
        LAST: replace(plain, mask=replace(ONE_LAYER, identity=True)),
    }


# --- data ---


@dataclass(frozen=True)
class Data:
    """Pictures [V, channels, image, image] and their classes [V]."""

    pictures: Tensor
    classes: Tensor

    @property
    def is_test(self) -> Tensor:
        """[V] bool"""
        return torch.arange(len(self.classes)) % TEST_EVERY == 0


@cache
def digits() -> Data:
    """Grey levels from -1 to 1."""
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    pictures = torch.tensor(images / 8 - 1, dtype=torch.float32).reshape(-1, 1, 8, 8)
    return Data(pictures, torch.tensor(classes, dtype=torch.long))


@cache
def flickr8k(captions: Path, folder: Path, kept: Path) -> Data:
    """Colours from -1 to 1, of the middle square; kept in a file."""
    if not kept.exists():
        from PIL import Image, ImageOps
        from sklearn.cluster import KMeans

        from vidsum.lab.datasets.captioned_pictures import read_captioned_pictures
        from vidsum.lab.evaluation.vse import embed_sentences

        described, _ = read_captioned_pictures(captions, folder)
        is_test = np.arange(len(described)) % TEST_EVERY == 0
        assert is_test.tolist() == [each.split == "test" for each in described]
        size = (FLICKR8K.image, FLICKR8K.image)
        arrays = [
            np.asarray(ImageOps.fit(Image.open(each.still.path).convert("RGB"), size)) for each in described
        ]
        vectors = embed_sentences([text for each in described for text in each.sentences], "cpu", None)
        ends = np.cumsum([len(each.sentences) for each in described])
        means = np.stack([part.mean(axis=0) for part in np.split(vectors, ends[:-1])])
        clusters = KMeans(CLUSTERS, n_init=10, random_state=0).fit(means[~is_test])
        with atomic_write(kept) as file, file.open("wb") as stream:
            np.savez(stream, pictures=np.stack(arrays), classes=clusters.predict(means))
    with np.load(kept) as arrays_kept:
        pictures = torch.tensor(arrays_kept["pictures"]).permute(0, 3, 1, 2) / 127.5 - 1
        return Data(pictures, torch.tensor(arrays_kept["classes"], dtype=torch.long))


# --- runs ---


def train(contest: Contest, config: ViTConfig, data: Data, seed: int) -> dict[str, Any]:
    """The number of parameters, the last epoch's loss, and a digit per test picture: 1 if it is right."""
    torch.manual_seed(seed)
    start = ViT(contest.config).state_dict()
    model = ViT(config)
    model.load_state_dict(start, strict=False)
    pictures, classes = data.pictures[~data.is_test], data.classes[~data.is_test]
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=DECAY)
    n_steps, step, losses = contest.epochs * math.ceil(len(pictures) / BATCH), 0, [0.0]
    draw = torch.Generator().manual_seed(seed)
    for _ in range(contest.epochs):
        losses = []
        for batch in torch.randperm(len(pictures), generator=draw).split(BATCH):
            done = (step := step + 1) / n_steps
            rate = min(done / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * done))
            for group in optimizer.param_groups:
                group["lr"] = RATE * rate
            mirrored = torch.rand(len(batch), generator=draw) < (0.5 if contest.mirrored else 0.0)
            shown = pictures[batch]
            shown = torch.where(mirrored[:, None, None, None], shown.flip(3), shown)
            loss = cross_entropy(model(shown), classes[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    model.eval()
    with torch.no_grad():
        found = torch.cat([model(part).argmax(dim=1) for part in data.pictures[data.is_test].split(256)])
    right = (found == data.classes[data.is_test]).int().tolist()
    n_parameters = sum(each.numel() for each in model.parameters())
    return {"parameters": n_parameters, "loss": float(np.mean(losses)), "right": "".join(map(str, right))}


def run_file(out: Path, name: str, row: str, seed: int) -> Path:
    """The file of a run."""
    return out / name / f"{row.replace(' ', '-').replace(',', '')}-{seed}.json"


def run_all(out: Path, name: str, data: Data, seeds: int) -> None:
    """Do what is missing."""
    contest = CONTESTS[name]
    configs = rows(contest.config)
    todo = sorted(product(range(seeds), configs), key=lambda run: (run[1] == LAST, run[0]))
    for seed, row in todo:
        file = run_file(out, name, row, seed)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            made = json.dumps(train(contest, configs[row], data, seed))
            with atomic_write(file) as target:
                target.write_text(made)
            print(name, row, seed, made[:70], flush=True)


# --- table ---


def print_table(out: Path, name: str) -> None:
    """Rows of the seeds that all have: accuracy, and its difference from none with its 95 % interval.

    Its variance is the sum of that over test pictures (each the mean of the seeds) and of that over seeds
    (each the mean of the pictures), which is on the safe side.
    """
    done = {
        row: {n for n in range(SEEDS) if run_file(out, name, row, n).exists()}
        for row in rows(CONTESTS[name].config)
    }
    names = [row for row in done if row != LAST or done[row] == done["none"]]
    seeds = sorted(set.intersection(*(done[row] for row in names)))
    if len(seeds) < 2:
        return
    print(f"{name}, {len(seeds)} seeds\n\n| row | parameters | top-1, % | minus none | p |")
    print("|---|---|---|---|---|")
    files = {row: [json.loads(run_file(out, name, row, n).read_text()) for n in seeds] for row in names}
    right = {row: np.array([[*map(int, each["right"])] for each in made]) for row, made in files.items()}
    for row in names:
        difference = right[row] - right["none"]
        error = math.hypot(
            *(difference.mean(axis).std(ddof=1) / difference.shape[1 - axis] ** 0.5 for axis in (0, 1))
        )
        mean, wide = difference.mean(), t.ppf(0.975, len(seeds) - 1) * error
        p = 2 * t.sf(abs(mean) / error, len(seeds) - 1) if error else 1.0
        cells = f"{100 * mean:+.2f} ± {100 * wide:.2f} | {p:.2f}" if row != "none" else "|"
        print(f"| {row} | {files[row][0]['parameters']:,} | {100 * right[row].mean():.2f} | {cells} |")
    print()


def main() -> None:
    """Run the contests, or print their tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("contest", nargs="*", default=[*CONTESTS], help=" or ".join(CONTESTS))
    parser.add_argument("--captions", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.contest:
        if arguments.table:
            print_table(arguments.out, name)
        else:
            run_all(arguments.out, name, _data(name, arguments), arguments.seeds)


def _data(name: str, arguments: argparse.Namespace) -> Data:
    if name == "digits":
        return digits()
    return flickr8k(arguments.captions, arguments.pictures, arguments.out / "flickr8k.npz")


if __name__ == "__main__":
    main()
