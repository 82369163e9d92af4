"""The writers of `vidsum describe`: on photographs of Flickr8k, and on the shared clips.

    python -m docs.benchmarks.describe captions.csv.gz images

Photographs: the list of `retrieve` is all sentences of the training part. A sentence fits if its mean cosine
(MiniLM) with the photograph's sentences is at least that of four fifths of people's own with the others; the
curve of the confidence is fitted on the validation part, and all is told of the held-out eighth. R@1/16: how
often no sentences of 15 other photographs are nearer than the photograph's own.

Clips: each as one segment, all sentences of Flickr8k as the list. R@1/16: how likely no caption of 15 others
of the clips, drawn at random, is nearer. `shuffled` has the sentences of other clips. Brackets hold 95 % of a
bootstrap over photographs or clips.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import known_clips
from vidsum import checkpoints
from vidsum.features import describe as spec_of
from vidsum.features import kept_extractor
from vidsum.features.pictures import features_of_views
from vidsum.grounding.captioner import write
from vidsum.grounding.spaces import extractions_of
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.grounding.writers import SURE, Bank, Seen, Sentence, read_bank, retrieve, tags, tidied
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.pipelines.description import seen_in
from vidsum.pipelines.plan import video_input
from vidsum.settings import Extraction
from vidsum.types import FloatArray, TimeArray

_DRAWS, _WINDOW = 1000, 16
_STEPS = (0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0001)


def embed(texts: Sequence[str]) -> FloatArray:
    """[N, 384], kept on disk."""
    return embed_once(texts, load_text_encoder("minilm").encode, checkpoints.sha256_of("minilm"))


def seen_of(pictures: Sequence[CaptionedPicture]) -> Seen:
    """Photographs as a network sees frames."""
    features = features_of_views([one.still for one in pictures], EXTRACTOR, [0])[0]
    logits = kept_extractor(spec_of(EXTRACTOR)).logits(features)
    return Seen(features[:, : spec_of(EXTRACTOR).dim], load_map()(features), logits)


def interval(values: TimeArray, seed: int = 0) -> str:
    """The mean in per cent, and 95 % of its bootstrap."""
    draws = np.random.default_rng(seed).integers(len(values), size=(_DRAWS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return f"{values.mean():.1%} [{low:.1%}, {high:.1%}]"


def found_among(similarity: FloatArray) -> TimeArray:
    """[N] how likely row n's own column is the nearest of a random window of 16 that holds it."""
    better = (similarity > np.diag(similarity)[:, None]).sum(axis=1)
    n, k = len(similarity) - 1, _WINDOW - 1
    return np.array([comb(n - int(b), k) / comb(n, k) for b in better])


def on_photographs(captions: Path, folder: Path) -> None:
    """Fit the confidence, and print how well sentences fit."""
    pictures, _ = read_captioned_pictures(captions, folder)
    texts = list(
        dict.fromkeys(tidied(text) for one in pictures if one.split != "test" for text in one.sentences)
    )
    bank = Bank(tuple(texts), embed(texts))
    parts = {}
    for split in ("val", "test"):
        own = [one for one in pictures if one.split == split]
        train = [one for one in pictures if one.split == "train"]
        if split == "val":  # what people wrote of a photograph is not in the list
            texts = list(dict.fromkeys(tidied(text) for one in train for text in one.sentences))
            listed = Bank(tuple(texts), embed(texts))
        else:
            listed = bank
        vectors = embed([tidied(text) for one in own for text in one.sentences])
        edges = np.cumsum([0, *(len(one.sentences) for one in own)])
        parts[split] = (own, seen_of(own), listed, [vectors[a:b] for a, b in pairwise(edges)])
    _, seen, listed, theirs = parts["val"]
    level = np.quantile(np.concatenate([_among(rows) for rows in theirs]), 0.2)
    said, evidence = _with_evidence(seen, listed)
    fits = _nearness(said, theirs) >= level
    model = LogisticRegression(C=1e6, max_iter=1000).fit(evidence, fits)
    print(
        f"validation: people's lowest fifth {level:.3f};",
        f"weights {model.coef_[0].round(1)} {model.intercept_.round(1)}",
    )
    own, seen, listed, theirs = parts["test"]
    usual = [one.sentences[0] for one in own]
    rows: dict[str, list[Sentence]] = {
        "write": write(seen),
        "retrieve": retrieve(seen, listed),
        "tags": tags(seen),
        "shuffled": np.random.default_rng(0).permutation(np.array(retrieve(seen, listed), object)).tolist(),
        "a person": [Sentence(tidied(text), 1) for text in usual],
    }
    means = np.stack([each.mean(axis=0) for each in theirs])
    for name, sentences in rows.items():
        others = [each[1:] if name == "a person" and len(each) > 1 else each for each in theirs]
        fit = _nearness(sentences, others) >= level
        own_means = np.stack([each.mean(axis=0) for each in others])
        similarity = embed([one.text for one in sentences]) @ means.T
        np.fill_diagonal(similarity, (embed([one.text for one in sentences]) * own_means).sum(axis=1))
        print(f"| {name} | {interval(fit.astype(float))} | {interval(found_among(similarity))} |")
    for name in ("write", "retrieve"):
        print(name)
        _reliability(rows[name], _nearness(rows[name], theirs) >= level)


def _among(rows: FloatArray) -> TimeArray:
    """[R] the mean cosine of each sentence with the others of its photograph."""
    return np.asarray((rows @ rows.T).sum(axis=1) - 1) / max(1, len(rows) - 1)


def _nearness(said: Sequence[Sentence], theirs: Sequence[FloatArray]) -> TimeArray:
    vectors = embed([one.text for one in said])
    return np.array([float((rows @ vector).mean()) for rows, vector in zip(theirs, vectors, strict=True)])


def _with_evidence(seen: Seen, bank: Bank) -> tuple[list[Sentence], TimeArray]:
    """The sentences, and [N, 2] cosine and agreement of each, from the confidence and the cosine."""
    said = retrieve(seen, bank)
    cosines = (embed([one.text for one in said]) * seen.embeddings).sum(axis=1)
    odds = np.array([np.log(one.confidence / (1 - one.confidence)) for one in said])
    return said, np.stack([cosines, (odds - SURE[2] - SURE[0] * cosines) / SURE[1]], axis=1)


def _reliability(said: Sequence[Sentence], fits: TimeArray) -> None:
    sure = np.array([one.confidence for one in said])
    print(f"AUC {roc_auc_score(fits, sure):.2f}")
    for low, high in pairwise(_STEPS):
        rows = (sure >= low) & (sure < high)
        print(f"| {low:.1f} to {min(high, 1):.1f} | {rows.sum()} | {fits[rows].mean():.0%} |")
    for level in (0.2, 0.3, 0.5):
        kept = sure >= level
        print(f"--min-sure {level}: says {kept.mean():.0%}, of which {fits[kept].mean():.0%} fit")


def on_clips(captions: Path) -> None:
    """Print what the writers say of each clip, and how often it leads to its caption."""
    bank, clips = read_bank(captions), known_clips()
    parts = []
    for clip in clips:
        given = video_input(clip["file"], extractions_of("vse", Extraction())[-1])
        (features,), _ = given.read()
        parts.append(seen_in(features, [(0.0, features.duration_s)]))
    seen = Seen(*(np.concatenate(rows) for rows in zip(*(vars(one).values() for one in parts), strict=True)))
    theirs = embed([clip["query"] for clip in clips])
    writers: dict[str, Callable[[], list[Sentence]]] = {
        "write": lambda: write(seen),
        "retrieve": lambda: retrieve(seen, bank),
        "tags": lambda: tags(seen),
        "shuffled": lambda: np.roll(np.array(retrieve(seen, bank), object), 7).tolist(),
    }
    for name, make in writers.items():
        said = make()
        print(f"| {name} | {interval(found_among(embed([one.text for one in said]) @ theirs.T))} |")
        for clip, one in zip(clips, said, strict=True):
            if name != "shuffled":
                print(f"    {Path(clip['file']).name}: {one.text} ({one.confidence:.2f})")


def main() -> None:
    """Print all figures."""
    parser = argument_parser(__doc__, "captions", "pictures")
    options = parser.parse_args()
    on_clips(options.captions)
    on_photographs(options.captions, options.pictures)


if __name__ == "__main__":
    main()
