"""Whether a query is true of a video at all: `present` on joined films, by kind of query.

    python -m docs.benchmarks.presence FOLDER

Every query of every shared clip is asked of each of ten films (docs.benchmarks.grounding joins them): it is
true where its clip is shown, or another one that it fits. The tables are of the queries of every second clip:
the even ones fitted the probability, the odd ones no choice saw. AUC has 95 %
of a bootstrap over clips. In the second table the answers are in fifths of what was said; true and absent
queries count alike in sum. The last figure is the fraction of true queries that are called absent. The last
table is of all clips, cross-fitted: each query is judged by curves that were fitted without its clip, in two
folds (even and odd clips) and in ten; and by the same with a third parameter, the square of the evidence.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, composite, embed, known_clips, names_of, notes, truth_of
from vidsum.grounding.presence import OFFSET, SLOPE, evidence
from vidsum.grounding.settings import UNLIKELY
from vidsum.grounding.spaces import embed_queries
from vidsum.types import TimeArray

_DRAWS = 500


class Asked(NamedTuple):
    """A query of a film."""

    clip: str
    kind: str
    is_true: bool
    evidence: float


def ask(film: Path) -> list[Asked]:
    """Every query of every clip, of one film."""
    video, answers = embed(film, "vse", "auto"), []
    shown_clips = {query.qid for query in truth_of(film).queries}
    for kind in KINDS:
        queries = [(Path(clip["file"]).name, clip[kind]) for clip in known_clips() if clip.get(kind)]
        values = evidence(video, embed_queries("vse", [text for _, text in queries])).tolist()
        fits = notes()["fits"] if kind == "short" else {}
        for (clip, text), value in zip(queries, values, strict=True):
            is_true = clip in shown_clips or bool(shown_clips & set(fits.get(text, ())))
            answers.append(Asked(clip, kind, is_true, value))
    return answers


def auc(answers: Sequence[Asked], seed: int = 0) -> str:
    """The area under the curve of the evidence, with its interval."""
    clips = np.array([answer.clip for answer in answers])
    is_true = np.array([answer.is_true for answer in answers])
    values = np.array([answer.evidence for answer in answers])
    names, draws, rng = np.unique(clips), [], np.random.default_rng(seed)
    of_clip = {name: np.flatnonzero(clips == name) for name in names}
    for _ in range(_DRAWS):
        rows = np.concatenate([of_clip[name] for name in rng.choice(names, len(names))])
        if 0 < is_true[rows].sum() < len(rows):
            draws.append(roc_auc_score(is_true[rows], values[rows]))
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{roc_auc_score(is_true, values):.2f} [{low:.2f}, {high:.2f}]"


def balanced(answers: Sequence[Asked]) -> tuple[TimeArray, TimeArray, TimeArray]:
    """[N] the evidence, whether it is true, and weights that make true and absent queries alike in sum."""
    is_true = np.array([answer.is_true for answer in answers])
    weights = np.where(is_true, 1 / is_true.mean(), 1 / (1 - is_true.mean())) / 2
    return np.array([answer.evidence for answer in answers]), is_true.astype(np.float64), weights


def reliability(answers: Sequence[Asked], said: TimeArray) -> list[str]:
    """Cells of a table in Markdown: what was said [N], and how often it was true, in fifths."""
    _, is_true, weights = balanced(answers)
    parts = np.array_split(np.argsort(said), 5)
    shares = [weights[part] / weights[part].sum() for part in parts]
    return [f"{said[of] @ by:.2f}, {is_true[of] @ by:.2f}" for of, by in zip(parts, shares, strict=True)]


def shipped(answers: Sequence[Asked]) -> TimeArray:
    """[N] what vidsum says."""
    return np.asarray(1 / (1 + np.exp(-SLOPE * balanced(answers)[0] - OFFSET)))


def fitted(answers: Sequence[Asked], degree: int = 1) -> LogisticRegression:
    """The logistic curve of a polynomial of the evidence."""
    values, is_true, weights = balanced(answers)
    return LogisticRegression(C=1e4).fit(powers(values, degree), is_true, sample_weight=weights)


def powers(values: TimeArray, degree: int) -> TimeArray:
    """[N, degree]"""
    return np.stack([values**power for power in range(1, degree + 1)], axis=1)


def cross_fitted(answers: Sequence[Asked], n_folds: int, degree: int) -> TimeArray:
    """[N] what curves say that did not see the clip; folds are of every `n_folds`-th clip."""
    place = {Path(clip["file"]).name: at for at, clip in enumerate(known_clips())}
    fold = np.array([place[answer.clip] % n_folds for answer in answers])
    said = np.empty(len(answers))
    for number in range(n_folds):
        curve = fitted([answer for answer, of in zip(answers, fold, strict=True) if of != number], degree)
        is_fold = fold == number
        said[is_fold] = curve.predict_proba(powers(balanced(answers)[0][is_fold], degree))[:, 1]
    return said


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder")
    options = parser.parse_args()
    answers = [answer for seed in range(10) for answer in ask(composite(options.folder, "all", 120, seed)[0])]
    for half in ("even", "odd"):
        half_answers = [answer for answer in answers if answer.clip in names_of(half)]
        print(f"{half} clips\n\n| kind | queries | AUC |\n|---|---|---|")
        for kind in KINDS:
            of_kind = [answer for answer in half_answers if answer.kind == kind]
            print(f"| {kind} | {len(of_kind)} | {auc(of_kind)} |")
        said = shipped(half_answers)
        missed = (said < UNLIKELY)[balanced(half_answers)[1] > 0].mean()
        print(
            f"\nsaid, true: {' | '.join(reliability(half_answers, said))}\n"
            f"called absent: {missed:.3f} of the true\n"
        )
        curve = fitted(half_answers)
        print(f"slope {curve.coef_[0, 0]:.2f}, offset {curve.intercept_[0]:.2f} would fit\n")
    for n_folds, degree in (2, 1), (10, 1), (2, 2), (10, 2):
        rows = reliability(answers, cross_fitted(answers, n_folds, degree))
        print(f"| {n_folds} folds, {degree + 1} parameters | {' | '.join(rows)} |")


if __name__ == "__main__":
    main()
