"""LAM's and STAMP's Tables 2 and 3 in small: audio description of joined photographs, with and without masks.

OMP_NUM_THREADS=1 nice -n 19 python -m docs.benchmarks.audio_description captions.csv.gz images --work FOLDER

A clip of 2 s shows two photographs of Flickr8k one after the other, as 10 visual tokens: the vector of the
map `vse` with noise in each frame. The one to describe is the one that is heard: while it is seen, the 10
sound tokens hold a vector of its class (of 16, by the nearest of 16 photographs) with noise, else noise. A
model must find out from the sound which pictures count. The sound is made up, photographs and sentences are
real.

Language model and adapter are trained once, on clips of one picture, in place of LLaMA's and
LLaMA-Adapter V2's weights; each row then trains in the paper's two phases, with new layers of the encoder,
from the same seeds and clips. It is measured on the held-out eighth of the pictures, each described once.
What is done is kept in FOLDER: a run that was stopped goes on.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from docs.benchmarks import argument_parser
from vidsum.features.pictures import features_of_views
from vidsum.grounding.vse import load_map
from vidsum.lab.datasets.captioned_pictures import read_captioned_pictures
from vidsum.lab.evaluation.caption_metrics import cider, mean_of, rouge_l, tokenize
from vidsum.models.attention.learned_mask import static_sparsity
from vidsum.models.audio_description import (
    SMALL,
    STAMP,
    AudioDescription,
    AudioDescriptionConfig,
    Phase,
    train_in,
)
from vidsum.models.configs import MaskConfig

HE: Final = replace(STAMP, init="he")
"""At depth 16 other weights start a mask that is the same for all tokens."""
ROWS: Final[dict[str, AudioDescriptionConfig]] = {
    "full attention": SMALL,
    "static mask": replace(SMALL, mask=MaskConfig(kind="static")),
    "static mask, product": replace(SMALL, mask=MaskConfig(kind="static", fusion="product")),
    "one mask (STAMP)": replace(SMALL, mask=replace(HE, shared=True)),
    "mask per layer (STAMP, depth 16)": replace(SMALL, mask=HE),
    "+ linear layers": replace(SMALL, linear_layers=15),
    "+ transformer layers": replace(SMALL, layers=9),
    "mask per layer (depth 2)": replace(SMALL, mask=MaskConfig(kind="stamp")),
}
END, UNKNOWN, BEGIN = 0, 1, 2
MOST = 8
"""Words of a sentence."""
BATCH = 32
"""Clips of a step."""
NOISE = 0.5
"""Length of the noise of a token, whose vector has length 1."""
CLASSES = 16
RATE = 2e-3
EVERY = 50
"""Steps between two states that are kept."""
STEPS: Final[dict[Phase | None, int]] = {None: 1000, "align": 250, "tune": 100}
"""None is what all rows share."""


@dataclass(frozen=True)
class Pictures:
    """Photographs of a split."""

    vectors: Tensor
    """[N, 384] of the map, of length 1."""
    sounds: Tensor
    """[N, dim_audio] of their classes, of length 1."""
    words: Tensor
    """[N, 5, MOST + 1] numbers of the words of sentences, `END` behind them."""
    sentences: list[tuple[str, ...]]


def clips(
    pictures: Pictures, chosen: Tensor, seeded: torch.Generator, *, alone: bool = False
) -> tuple[Tensor, Tensor]:
    """[B, S, 384] and [B, S, dim_audio]: the clips that have the chosen pictures [B] to describe.

    `alone`: they show no other one.
    """
    n_tokens, n = SMALL.n_tokens, len(chosen)
    others = chosen if alone else torch.randint(len(pictures.vectors), (n,), generator=seeded)
    cut = torch.randint(3, n_tokens - 2, (n, 1), generator=seeded)
    is_first = torch.rand(n, 1, generator=seeded) < 0.5
    heard = ((torch.arange(n_tokens) < cut) == is_first)[..., None]
    visual = torch.where(heard, pictures.vectors[chosen][:, None], pictures.vectors[others][:, None])
    audio = torch.where(heard, pictures.sounds[chosen][:, None], torch.zeros(()))
    return _noisy(visual, seeded), _noisy(audio, seeded)


def _noisy(tokens: Tensor, seeded: torch.Generator) -> Tensor:
    """Vectors of length 1 or 0 with noise, in numbers of about 1."""
    noise = NOISE * torch.randn(tokens.shape, generator=seeded)
    return tokens * tokens.shape[2] ** 0.5 + noise


def read(captions: Path, folder: Path) -> tuple[dict[str, Pictures], list[str]]:
    """The pictures of each split, and the vocabulary."""
    pictures, _ = read_captioned_pictures(captions, folder)
    by_split = {
        split: [each for each in pictures if each.split == split] for split in ("train", "val", "test")
    }
    counts = Counter(word for each in by_split["train"] for text in each.sentences for word in tokenize(text))
    words = ["", "?", "", *(word for word, _ in counts.most_common(SMALL.vocabulary - 3))]
    number_of = {word: number for number, word in enumerate(words) if word}
    seeded = torch.Generator().manual_seed(0)
    marks = nn.functional.normalize(torch.randn(CLASSES, SMALL.dim_audio, generator=seeded), dim=1)
    vse, prototypes, parts = load_map(), None, {}
    for split, own in by_split.items():
        features = features_of_views([each.still for each in own], "efficientnet_lite0", [0])[0]
        vectors = torch.from_numpy(vse(features))
        if prototypes is None:
            prototypes = vectors[torch.randperm(len(vectors), generator=seeded)[:CLASSES]]
        numbers = torch.zeros(len(own), 5, MOST + 1, dtype=torch.long)
        for row, each in enumerate(own):
            for column in range(5):
                text = tokenize(each.sentences[column % len(each.sentences)])[:MOST]
                numbers[row, column, : len(text)] = torch.tensor(
                    [number_of.get(word, UNKNOWN) for word in text]
                )
        sounds = marks[(vectors @ prototypes.T).argmax(dim=1)]
        parts[split] = Pictures(vectors, sounds, numbers, [each.sentences for each in own])
    return parts, words


def train(model: AudioDescription, pictures: Pictures, phase: Phase | None, seed: int, kept: Path) -> float:
    """Train in one phase, or everything on clips of one picture; returns the mean loss of its last tenth.

    The state is kept in a file every `EVERY` steps, from which training goes on.
    """
    steps, seeded = STEPS[phase], torch.Generator().manual_seed(seed)
    parameters = train_in(model, phase) if phase else list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, RATE, weight_decay=0.05, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "schedule": schedule}
    losses: list[float] = []
    if kept.exists():
        state = torch.load(kept, weights_only=True)
        for name, part in parts.items():
            part.load_state_dict(state[name])
        losses = state["losses"]
        seeded.set_state(state["seeded"])
        torch.set_rng_state(state["dropout"])
    model.train()
    while len(losses) < steps:
        loss = _loss(model, pictures, phase, seeded)
        losses.append(loss.item())
        optimizer.zero_grad()
        (loss + 0.5 * static_sparsity(model)).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        if len(losses) % EVERY == 0:
            print(kept.stem, len(losses), f"{np.mean(losses[-EVERY:]):.3f}", flush=True)
            state = {name: part.state_dict() for name, part in parts.items()}
            generators = {"seeded": seeded.get_state(), "dropout": torch.get_rng_state()}
            torch.save({**state, **generators, "losses": losses}, kept)
    return float(np.mean(losses[-steps // 10 :]))


def _loss(
    model: AudioDescription, pictures: Pictures, phase: Phase | None, seeded: torch.Generator
) -> Tensor:
    """Cross-entropy of the words of clips drawn at random, a sentence each."""
    chosen = torch.randint(len(pictures.vectors), (BATCH,), generator=seeded)
    words = pictures.words[chosen, torch.randint(5, (BATCH,), generator=seeded)]
    given = torch.cat([torch.full((len(words), 1), BEGIN), words[:, :-1]], dim=1)
    evidence = model.evidence(*clips(pictures, chosen, seeded, alone=phase is None))
    # each sentence has one end: the rest behind it does not count, nor rare words, which are never written
    target = words.masked_fill((words == END) & (given == END) | (words == UNKNOWN), -100)
    logits = model(given, evidence)
    return cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100)


def written(model: AudioDescription, pictures: Pictures, words: list[str]) -> list[str]:
    """The likeliest sentence of a clip of each picture; the clips are the same for all models."""
    model.eval()
    seeded = torch.Generator().manual_seed(1)
    texts = []
    for chosen in torch.arange(len(pictures.vectors)).split(256):
        with torch.no_grad():
            evidence = model.evidence(*clips(pictures, chosen, seeded))
        sentences = model.write(evidence, torch.tensor([BEGIN]), END, MOST).tolist()
        texts += [" ".join(words[token] for token in tokens if token != END) for tokens in sentences]
    return texts


def run(row: str, seed: int, parts: dict[str, Pictures], words: list[str], work: Path) -> Any:
    """Train a row, and write the captions of the test pictures."""
    shared = shared_parameters(parts["train"], work)
    torch.manual_seed(seed)
    model = AudioDescription(ROWS[row])
    model.load_state_dict(shared, strict=False)
    name, phases = f"{seed}_{list(ROWS).index(row)}", get_args(Phase)[1:]
    losses = {
        phase: train(model, parts["train"], phase, seed, work / f"{name}_{phase}.pt") for phase in phases
    }
    count = sum(parameter.numel() for parameter in model.parameters())
    captions = written(model, parts["test"], words)
    return {"row": row, "seed": seed, "parameters": count, **losses, "captions": captions}


def shared_parameters(pictures: Pictures, work: Path) -> dict[str, Tensor]:
    """What all rows start from: all but the layers of the encoder."""
    torch.manual_seed(0)
    model = AudioDescription(SMALL)
    train(model, pictures, None, 0, work / "shared.pt")
    return {name: each for name, each in model.state_dict().items() if "encoder.l" not in name}


def measured(captions: list[str], references: list[list[list[str]]]) -> dict[str, np.ndarray]:
    """[N, 2] sums and counts of each measure."""
    tokens = [tokenize(caption) for caption in captions]
    return {
        "CIDEr-D": mean_of(cider(tokens, references)).parts,
        "ROUGE-L": mean_of(rouge_l(tokens, references)).parts,
    }


def table(results: list[Any], pictures: Pictures) -> Iterator[dict[str, object]]:
    """A line per row and measure: the mean over seeds, and its paired difference from full attention.

    Intervals are 95 % of a bootstrap over pictures and seeds.
    """
    references = [[tokenize(text) for text in own] for own in pictures.sentences]
    kept = {(each["row"], each["seed"]): measured(each["captions"], references) for each in results}
    seeds = sorted({seed for _, seed in kept if all((row, seed) in kept for row in ROWS)})
    first = next(iter(ROWS))
    draws, n = np.random.default_rng(0), len(pictures.sentences)
    picks = [(draws.choice(seeds, len(seeds)), draws.integers(n, size=n)) for _ in range(1000)]
    for row in ROWS:
        of_row = [each for each in results if each["row"] == row and each["seed"] in seeds]
        for name in ("CIDEr-D", "ROUGE-L"):

            def value(row: str, seeds: Any, items: Any, name: str = name) -> float:
                sums = sum(kept[row, seed][name][items].sum(axis=0) for seed in seeds)
                return float(100 * sums[0] / sums[1])

            whole = np.arange(n)
            gaps = [value(row, *pick) - value(first, *pick) for pick in picks]
            low, high = np.percentile(gaps, (2.5, 97.5))
            yield {
                "row": row,
                "parameters": of_row[0]["parameters"],
                "seeds": len(seeds),
                "measure": name,
                "mean": round(value(row, seeds, whole), 2),
                "of_seeds": " ".join(f"{value(row, [seed], whole):.2f}" for seed in seeds),
                "difference": round(value(row, seeds, whole) - value(first, seeds, whole), 2),
                "low": round(low, 2),
                "high": round(high, 2),
                "loss": round(float(np.mean([each["tune"] for each in of_row])), 3),
            }


def main() -> None:
    """Run what is not done, row by row for each seed, and write the table."""
    parser = argument_parser(__doc__, "captions", "pictures")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    parts, words = read(arguments.captions, arguments.pictures)
    results = []
    for seed in range(arguments.seeds):
        for number, row in enumerate(ROWS):
            kept = arguments.work / f"{seed}_{number}.json"
            if not kept.exists():
                kept.write_text(json.dumps(run(row, seed, parts, words, arguments.work)))
            results.append(json.loads(kept.read_text()))
    lines = list(table(results, parts["test"]))
    with (Path(__file__).parent / "audio_description.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
