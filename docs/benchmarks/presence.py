"""Whether a query is true of a video at all: `present` on joined films, clips and photographs.

    python -m docs.benchmarks.presence FOLDER --photographs FOLDER

Every query of every shared clip is asked of each of ten films (docs.benchmarks.grounding joins them) and of
each clip by itself; docs.benchmarks.judged describes the photographs. True and absent queries count alike in
sum. Slope and offset of each kind of query are fitted in ten folds, without the clip, photograph or word that
a query is of. In brackets are 95 % of a bootstrap over these. `before` is the rule of
`vidsum.grounding.presence`, by single clips. The last lines are fitted to all, and are the curves of
`vidsum.grounding.match`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import embed
from docs.benchmarks.judged import (
    Asked,
    ask_films,
    ask_photographs,
    auc,
    calibration_error,
    held_out,
    rows_of,
    share_right,
    truth_about,
    with_interval,
)
from vidsum.features import get_extractor
from vidsum.features.extractors.efficientnet_lite0 import SPEC
from vidsum.features.pictures import Still, encode_views
from vidsum.grounding.conse import ClassMixture, class_probabilities, name_embeddings
from vidsum.grounding.match import NAMED, best_evidence, embed_background
from vidsum.grounding.presence import OFFSET, SLOPE, evidence_curves
from vidsum.grounding.settings import UNLIKELY
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.models.scaling import logistic, unit_rows
from vidsum.results.moments import NO_BELOW, YES_FROM
from vidsum.types import TimeArray

_FOLDS = 10


def measure(video: ClipEmbeddings, texts: Sequence[str]) -> list[TimeArray]:
    """The evidence, by the cosines alone, and z by photographs of the best mean of three clips."""
    vectors, background = embed_queries("vse", texts), embed_background("vse")
    bare = ClipEmbeddings(video.rows, video.timestamps, video.step_s, video.duration_s, shots_s=video.shots_s)
    z = evidence_curves(video, vectors, background)
    means = sliding_window_view(z, min(3, len(video)), axis=1).mean(axis=2).max(axis=1)
    return [best_evidence(video, background, vectors), best_evidence(bare, background, vectors), means]


def cross_fitted(answers: Sequence[Asked], number: int) -> TimeArray:
    """[N] probabilities by a measure, whose curves did not see the group."""
    groups = {group: n % _FOLDS for n, group in enumerate(dict.fromkeys(answer.group for answer in answers))}
    fold = np.array([groups[answer.group] for answer in answers])
    probabilities = np.zeros(len(answers))
    for out in range(_FOLDS):
        for rule in {answer.rule for answer in answers}:
            is_rule = np.array([answer.rule == rule for answer in answers])
            rows, held = np.flatnonzero(is_rule & (fold != out)), np.flatnonzero(is_rule & (fold == out))
            if len(held):
                slope, offset = fit_curve(answers, rows, number)
                values = np.array([answers[row].measures[number] for row in held])
                probabilities[held] = logistic(slope * values + offset)
    return probabilities


def fit_curve(answers: Sequence[Asked], rows: TimeArray, number: int) -> tuple[float, float]:
    """Slope and offset for some answers."""
    values, truth = (
        np.array([[answers[row].measures[number]] for row in rows]),
        truth_about(answers).take(rows),
    )
    fit = LogisticRegression(C=1e4).fit(values, truth.is_true, sample_weight=truth.weights * len(answers))
    return float(fit.coef_[0, 0]), float(fit.intercept_[0])


def embed_photographs(folder: Path, names: Sequence[str]) -> ClipEmbeddings:
    """Photographs in `vse`, one after another."""
    (features,) = encode_views([Still(folder / name) for name in names], EXTRACTOR, (0,))
    logits = get_extractor(SPEC, device="cpu").logits(features)
    mixture = ClassMixture(class_probabilities(logits), name_embeddings(EXTRACTOR))
    rows = unit_rows(load_map()(features))
    return ClipEmbeddings(rows, np.arange(len(rows), dtype=float), 1.0, float(len(rows)), (mixture,))


def ask_all(films: Path, photographs: Path | None) -> list[Asked]:
    """All queries of films, clips and photographs in `vse`."""
    answers = ask_films(films, lambda path: embed(path, "vse", "auto"), measure)
    if photographs is None:
        return answers
    sentences = held_out(photographs)
    video = embed_photographs(photographs, [*sentences])

    def group(numbers: Sequence[int]) -> ClipEmbeddings:
        (objects,), count = video.mixtures, len(numbers)
        mixture = ClassMixture(objects.probabilities[numbers], objects.names)
        times, edges_s = np.arange(float(count)), np.arange(0.0, count + 1, 3)
        return ClipEmbeddings(video.rows[numbers], times, 1.0, count, (mixture,), edges_s)

    return answers + ask_photographs(sentences, group, measure)


def print_kinds(answers: Sequence[Asked], said: TimeArray, bare: TimeArray, before: TimeArray) -> None:
    """Print a table of accuracy and calibration by kind."""
    whole, kinds = truth_about(answers), dict.fromkeys((answer.source, answer.kind) for answer in answers)
    print("| | queries | AUC | by cosines | before | calibration error | by cosines | before |")
    print("|---|---|---|---|---|---|---|---|")
    for source, kind in kinds:
        rows = rows_of(answers, source, kind)
        cells = [
            with_interval(measure, whole.take(rows), values[rows])
            for measure in (auc, calibration_error)
            for values in (said, bare, before)
        ]
        print(f"| {source}: {kind} | {len(rows)} | {' | '.join(cells)} |")


def print_verdicts(answers: Sequence[Asked], said: TimeArray, before: TimeArray) -> None:
    """Print how many verdicts are right, and how many of the absent, or of the true, get one."""
    whole = truth_about(answers)
    print("\n| verdict | right | of films | of clips | of photographs | given |\n|---|---|---|---|---|---|")
    verdicts = {"no": (said < NO_BELOW, True), "yes": (said >= YES_FROM, False)}
    for name, (is_said, is_absent) in {**verdicts, "no, before": (before < UNLIKELY, True)}.items():
        right = partial(share_right, is_absent=is_absent)
        cells = [with_interval(right, whole, is_said)]
        for source in dict.fromkeys(answer.source for answer in answers):
            rows = np.flatnonzero([answer.source == source for answer in answers])
            cells.append(with_interval(right, whole.take(rows), is_said[rows]))
        due = whole.weights * (whole.is_true != is_absent)
        print(f"| {name} | {' | '.join(cells)} | {due @ is_said / due.sum():.2f} |")


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--photographs", type=Path, help="Flickr8k's")
    options = parser.parse_args()
    answers = ask_all(options.folder, options.photographs)
    said, bare = cross_fitted(answers, 0), cross_fitted(answers, 1)
    before = logistic(SLOPE * np.array([answer.measures[2] for answer in answers]) + OFFSET)
    print_kinds(answers, said, bare, before)
    print_verdicts(answers, said, before)
    for number, name in enumerate(("NAMED", "BARE")):
        for rule in NAMED:
            rows = np.flatnonzero([answer.rule == rule for answer in answers])
            slope, offset = fit_curve(answers, rows, number)
            print(f"{name} {rule}: Curve({slope:.2f}, {offset:.2f})")


if __name__ == "__main__":
    main()
