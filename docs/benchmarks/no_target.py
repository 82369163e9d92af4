"""Does the score of the best moment tell whether a query matches the video at all?

    python -m docs.benchmarks.no_target FOLDER [--seeds 0 1 ... 9] [--model mrnet] [--model FILE ...]

The joined films of docs/benchmarks/grounding.py are asked for the captions of all clips: of those that they
show, and of those that are absent. They are also asked for captions that are nearly true: one thing is
changed in that of a clip that is shown. Prints, for each model, the area under the ROC curve of the best
score (.5 is chance) against both, with intervals of a bootstrap over clips, and quartiles of the scores.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, composite, embed, known_clips, names_of, notes
from vidsum.grounding.find import Request, locate, model_for
from vidsum.grounding.spaces import embed_queries

SPACE = "conse"
_DRAWS = 500
SHOWN, ABSENT, NEAR = "shown", "absent", "nearly true"
Scored = tuple[str, str, float]
"""Whether the query is true, its clip, the best score."""


def queries_of(half: str) -> list[tuple[str, str, bool]]:
    """Each clip's name, a caption, and whether that is the clip's own (else it is nearly true)."""
    near, kept = notes()["near"], names_of(half)
    own = [(Path(clip["file"]).name, clip["query"], True) for clip in known_clips()]
    changed = [(name, text, False) for name, text in near.items()]
    return [row for row in own + changed if row[0] in kept]


def auc(rows: Sequence[Scored], against: str) -> str:
    """Area under the ROC curve, and its interval."""
    names = np.array([name for _, name, _ in rows])
    here = np.array([kind == SHOWN for kind, _, _ in rows])
    counts = here | np.array([kind == against for kind, _, _ in rows])
    scores = np.array([score for _, _, score in rows])
    rng, (clips, of) = np.random.default_rng(0), np.unique(names, return_inverse=True)
    draws = []
    for _ in range(_DRAWS):
        weight = np.bincount(rng.integers(len(clips), size=len(clips)), minlength=len(clips))[of] * counts
        draws.append(roc_auc_score(here, scores, sample_weight=weight))
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{roc_auc_score(here[counts], scores[counts]):.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--ask", choices=HALVES, default="all")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--model", action="append", default=["similarity"])
    options = parser.parse_args()
    asked = queries_of(options.ask)
    queries = Request(texts := [text for _, text, _ in asked], embed_queries(SPACE, texts))
    found: dict[str, list[Scored]] = {}
    for seed in options.seeds:
        path, truth = composite(options.folder, "all", 120, seed)
        video, present = embed(path, SPACE, options.precision), {query.qid for query in truth.queries}
        for model in options.model:
            answers = locate(model_for(model, SPACE)[0], video, queries, 1)
            for (name, _, is_own), answer in zip(asked, answers, strict=True):
                if is_own or name in present:
                    kind = (SHOWN if name in present else ABSENT) if is_own else NEAR
                    found.setdefault(model, []).append((kind, name, answer.moments[0].score))
    print("| | AUC, absent | AUC, nearly true | shown | absent | nearly true |\n|---|---|---|---|---|---|")
    for model, rows in found.items():
        by_kind = [
            np.array([score for kind, _, score in rows if kind == each]) for each in (SHOWN, ABSENT, NEAR)
        ]
        quartiles = ["{:.2f} {:.2f} {:.2f}".format(*np.quantile(each, [0.25, 0.5, 0.75])) for each in by_kind]
        print("| " + " | ".join([model, auc(rows, ABSENT), auc(rows, NEAR), *quartiles]) + " |")
    sizes = ", ".join(
        f"{len(each)} {kind}" for kind, each in zip((SHOWN, ABSENT, NEAR), by_kind, strict=True)
    )
    print(f"\n{len(options.seeds)} films of {len(names_of(options.ask))} clips; queries: {sizes}")


if __name__ == "__main__":
    main()
