"""The confidence of `retrieve` with short lists, on the validation photographs of Flickr8k.

    python -m docs.benchmarks.describe_short captions.csv.gz images

A list holds the first sentence of each of N photographs, drawn at random. One of them is described, with its
own sentence in the list or without it; the other four tell whether what is said fits. The curve is fitted on
every second photograph for the figures of the others, and on all for the weights that are printed last.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.describe import embed, seen_of
from vidsum.grounding.writers import TEMPERATURE, tidied
from vidsum.lab.datasets.captioned_pictures import read_captioned_pictures
from vidsum.scaling import softmax, unit_rows
from vidsum.types import FloatArray

SIZES = (10, 20, 50, 100, 200, 400)
NEAREST, FITS, LEAST = 100, 0.51, 0.3
"""As in docs/algorithms/describe.md; the least confidence of the last column."""


def trials(pictures: FloatArray, theirs: FloatArray) -> Iterator[tuple[float, ...]]:
    """Size of the list, cosine, own vote, whether it fits, and the number of the photograph."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        for _ in range(max(1, 200 // size)):
            drawn = rng.choice(len(pictures), size, replace=False)
            for place, number in enumerate(drawn[:200]):
                for texts in (theirs[drawn, 0], np.delete(theirs[drawn, 0], place, 0)):
                    cosines = texts @ pictures[number]
                    near = np.argsort(-cosines)[:NEAREST]
                    weights = softmax(cosines[near] / np.float32(TEMPERATURE))
                    best = int(np.argmax(texts[near] @ (texts[near].T @ weights)))
                    fits = float((theirs[number, 1:] @ texts[near[best]]).mean() >= FITS)
                    yield size, cosines[near[best]], weights[best], fits, number


def main() -> None:
    """Print how well the confidence of each size fits, and the weights."""
    parser = argument_parser(__doc__, "captions", "pictures")
    options = parser.parse_args()
    pictures, _ = read_captioned_pictures(options.captions, options.pictures)
    own = [one for one in pictures if one.split == "val" and len(one.sentences) == 5]
    theirs = embed([tidied(text) for one in own for text in one.sentences]).reshape(len(own), 5, -1)
    sizes, *evidence, fits, numbers = np.array(list(trials(unit_rows(seen_of(own).embeddings), theirs))).T
    seen, is_other = np.stack(evidence, axis=1), numbers % 2 == 1
    curve = LogisticRegression(C=1e6).fit(seen[~is_other], fits[~is_other])
    sure = curve.predict_proba(seen)[:, 1]
    print(f"AUC {roc_auc_score(fits[is_other], sure[is_other]):.2f}")
    for size in SIZES:
        rows = is_other & (sizes == size)
        said = rows & (sure >= LEAST)
        print(f"| {size} | {fits[rows].mean():.0%} | {sure[rows].mean():.2f} |", end=" ")
        print(f"{said.sum() / rows.sum():.0%}, {fits[said].mean():.0%} |")
    curve.fit(seen, fits)
    print("weights", curve.coef_[0].round(2), curve.intercept_.round(2))


if __name__ == "__main__":
    main()
