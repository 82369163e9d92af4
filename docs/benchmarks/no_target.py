"""Does the score of the best moment tell whether a query matches the video at all?

    python -m docs.benchmarks.no_target FOLDER [--seeds 5 6 7 8 9] [--model mrnet] [--model FILE ...]

Composites of one half of the shared clips (docs/benchmarks/grounding.py) are queried with the captions of
both halves. Prints, for each model, the area under the ROC curve of the best score (.5 is chance), and
quartiles of the scores of queries that match and of those that do not.
"""

from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import composite, embed
from vidsum.grounding.find import Request, locate, model_for
from vidsum.grounding.spaces import embed_queries

SPACE = "conse"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 6, 7, 8, 9])
    parser.add_argument("--model", action="append", default=["similarity"])
    options = parser.parse_args()
    films = [composite(options.folder, half, 120, seed) for half in ("even", "odd") for seed in options.seeds]
    texts = sorted({query.text for _, truth in films for query in truth.queries})
    queries = Request(texts, embed_queries(SPACE, texts))
    found: dict[str, list[tuple[bool, float]]] = {}
    for path, truth in films:
        video, true = embed(path, SPACE), {query.text for query in truth.queries}
        for model in options.model:
            answers = locate(model_for(model, SPACE)[0], video, queries, 1)
            found.setdefault(model, []).extend(
                (text in true, one.moments[0].score) for text, one in zip(texts, answers, strict=True)
            )
    print("| | AUC | match | no match |\n|---|---|---|---|")
    for model, rows in found.items():
        matches, scores = (np.array(column) for column in zip(*rows, strict=True))
        quartiles = [np.quantile(scores[matches == here], [0.25, 0.5, 0.75]) for here in (True, False)]
        shown = ["{:.2f} {:.2f} {:.2f}".format(*of_kind) for of_kind in quartiles]
        print(f"| {model} | {roc_auc_score(matches, scores):.2f} | " + " | ".join(shown) + " |")
    print(
        f"\n{len(films)} films, {int(matches.sum())} queries that match, {int((~matches).sum())} that do not"
    )


if __name__ == "__main__":
    main()
