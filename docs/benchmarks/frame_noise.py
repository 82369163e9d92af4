"""How evidence of real frames and simulated evidence compare: the basis of `vidsum.captioned.classes`.

    python -m docs.benchmarks.frame_noise FOLDER [FOLDER ...] [--extractor efficientnet_lite0|i3d]

Each FOLDER holds videos and `clips.json`, with a caption (`query`) that is true of each whole video. Prints

1. the mean score of a class by the cosine of its name with the caption (`Response.cosines`, `scores`);
2. the variance of scores that lasts as long as a clip, and that between frames some time apart;
3. along the directions of the simulated noise, strongest first: the variance of the evidence within a clip
   and between clips, real and simulated, and how much of what the names say is left (`gain`);
4. how often a clip's own caption is the closest of all.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from vidsum.captioned.classes import EXTRACTOR, RESPONSES, Classifier, evidence_of, load_classifier
from vidsum.grounding.text import load_text_encoder
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

EDGES = (-1, 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.45, 0.5, 0.6, 1)
DRAWS = 20
BANDS = (0, 1, 4, 16, 32, 64, 128, 256, 384)


def read(folders: list[Path], extractor: str) -> tuple[list[FloatArray], list[str]]:
    """Class scores [T, K] of each clip at the extractor's own rate, less their mean, and its caption."""
    scores, captions = [], []
    for folder in folders:
        for clip in json.loads((folder / "clips.json").read_text())["clips"]:
            logits = vidsum.extract(folder / clip["file"], extractor, logits=True).logits
            assert logits is not None
            scores.append(logits - logits.mean(axis=1, keepdims=True))
            captions.append(clip["query"])
    return scores, captions


def by_cosine(scores: list[FloatArray], cosines: FloatArray) -> None:
    """Table 1."""
    every = np.concatenate(scores)
    own = np.repeat(cosines, [len(each) for each in scores], axis=0)
    print("\n| cosine | classes and frames | mean score | deviation |\n|---|---|---|---|")
    for low, high in pairwise(EDGES):
        inside = every[(own >= low) & (own < high)]
        print(f"| {low} to {high} | {len(inside)} | {inside.mean():.2f} | {inside.std():.2f} |")


def over_time(scores: list[FloatArray], seconds: float) -> None:
    """Table 2."""
    means = np.stack([each.mean(axis=0) for each in scores])
    within = np.concatenate([each - each.mean(axis=0) for each in scores])
    print(f"\nbetween clips {(means - means.mean(axis=0)).std():.2f}, within {within.std():.2f}")
    print("\n| seconds apart | half the mean square of the difference |\n|---|---|")
    for steps in (1, 2, 4, 8):
        apart = [((each[steps:] - each[:-steps]) ** 2).mean() / 2 for each in scores if len(each) > steps + 2]
        print(f"| {steps * seconds:.2f} | {np.mean(apart):.2f} |")


def by_direction(scores: list[FloatArray], captions: FloatArray, classifier: Classifier) -> None:
    """Table 3."""
    evidence = [classifier.evidence(each) for each in scores]
    means = np.stack([each.mean(axis=0) for each in evidence])
    response = classifier.response
    by_name = np.interp(captions @ classifier.names.T, response.cosines, response.scores)
    said = classifier.evidence(by_name.astype(np.float32))
    squares, directions = np.linalg.eigh(classifier.noise.T @ classifier.noise)
    order = np.argsort(-squares)
    along = directions[:, order]
    within = (np.concatenate([each - each.mean(axis=0) for each in evidence]) @ along).var(axis=0)
    real, named = (means - means.mean(axis=0)) @ along, (said - said.mean(axis=0)) @ along
    gain = np.diag(along.T @ classifier.gain @ along)
    unexplained = (real - named * gain).var(axis=0)
    print(
        "\n| directions | within a clip | simulated | between, unexplained | simulated | left | simulated |"
    )
    print("|---|---|---|---|---|---|---|")
    for low, high in pairwise(BANDS):
        band = slice(low, high)
        noise = squares[order][band].sum()
        left = (real[:, band] * named[:, band]).sum() / (named[:, band] ** 2).sum()
        simulated = (gain[band] * (named[:, band] ** 2).sum(axis=0)).sum() / (named[:, band] ** 2).sum()
        passing, lasting = noise * response.passing**2, noise * response.lasting**2
        figures = (within[band].sum(), passing, unexplained[band].sum(), lasting)
        print(
            f"| {low} to {high - 1} | " + " | ".join(f"{value:.2f}" for value in (*figures, left, simulated)),
            "|",
        )


def recognised(scores: list[FloatArray], captions: FloatArray, classifier: Classifier) -> None:
    """How often the evidence of a clip is closest to its own caption."""
    drawn = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        clips = [
            np.repeat(each[None], len(rows), axis=0) for each, rows in zip(captions, scores, strict=True)
        ]
        drawn.append(_first([evidence_of(clip, classifier, rng) for clip in clips], captions))
    real = _first([classifier.evidence(each) for each in scores], captions)
    print(f"\nown caption first: real clips {real:.2f}, simulated {np.mean(drawn):.2f} ({DRAWS} draws)")


def _first(evidence: list[FloatArray], captions: FloatArray) -> float:
    means = np.stack([each.mean(axis=0) for each in evidence])
    cosines = unit_rows(means - means.mean(axis=0)) @ (captions - captions.mean(axis=0)).T
    return float((cosines.argmax(axis=0) == np.arange(len(captions))).mean())


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--extractor", choices=RESPONSES, default=EXTRACTOR)
    options = parser.parse_args()
    scores, texts = read(options.folders, options.extractor)
    classifier = load_classifier(extractor=options.extractor)
    captions = load_text_encoder("minilm").encode(texts)
    print(f"{len(scores)} clips, {sum(map(len, scores))} frames")
    by_cosine(scores, captions @ classifier.names.T)
    over_time(scores, 0.5 if options.extractor == EXTRACTOR else 16 / 25)
    by_direction(scores, captions, classifier)
    recognised(scores, captions, classifier)


if __name__ == "__main__":
    main()
