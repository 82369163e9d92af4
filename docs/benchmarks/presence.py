"""Whether a query is true of a video at all: `present` on joined films, clips and photographs.

    python -m docs.benchmarks.presence FOLDER --photographs FOLDER --actions CLIPS

Every query of every shared clip is asked of each of ten films (docs.benchmarks.grounding joins them) and of
each clip by itself; docs.benchmarks.judged describes the photographs. With `--actions`, queries about
actions are asked of uncut videos and of films joined from them; CLIPS has those that action_moments.json
names of other repositories.

True and absent queries count alike in sum. The curve of each kind of query is fitted in ten folds, without
the clip, photograph or word that a query is of; the threshold of "nested no" is chosen in ten folds of the
others. In brackets are 95 % of a bootstrap over these. "watch" has the same curves, and the best second of
`vidsum watch`, which sees the source once. Then come the same tables by the curves that ship, which queries
about actions did not choose, with and without actions. The last lines are fitted to all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import embed
from docs.benchmarks.judged import (
    JudgedQuery,
    Truth,
    ask_actions,
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
from vidsum.evidence.match_probability import (
    NAMED,
    Curve,
    MatchedQueries,
    commonness,
    embed_background,
    list_windows,
    prepare_queries,
    usual_of,
    window_means,
)
from vidsum.evidence.running_match import RunningMatch
from vidsum.features import get_extractor
from vidsum.features.extractors.efficientnet_lite0 import SPEC
from vidsum.features.pictures import encode_pictures
from vidsum.grounding.scenes import look_cosine
from vidsum.grounding.spaces import (
    ClassMixture,
    ClipEmbeddings,
    class_probabilities,
    embed_queries,
    name_embeddings,
)
from vidsum.grounding.vse_map import EXTRACTOR, load_map
from vidsum.models.scaling import logistic, unit_rows
from vidsum.results.moments import NO_BELOW, YES_FROM, Verdict, verdict_on
from vidsum.types import FloatArray, TimeArray

_FOLDS = 10
_FILMS = {"film", "action film", "uncut"}  # what the verdicts of films are of, together


@cache
def embed_one(text: str) -> FloatArray:
    """A text in `vse`."""
    return embed_queries("vse", [text])[0]


@cache
def background() -> FloatArray:
    """The everyday phrases in `vse`."""
    return embed_background("vse")


def measure(video: ClipEmbeddings, texts: Sequence[str]) -> list[FloatArray]:
    """The evidence, by cosines alone, of the best second of `vidsum watch`, commonness, without actions."""
    vectors, phrases = np.stack([embed_one(text) for text in texts]), background()
    unmoved = replace(video, actions=None)
    whole, bare, without = (
        best_evidence(part, vectors) for part in (video, replace(unmoved, objects=None), unmoved)
    )
    return [whole, bare, live_evidence(video, vectors, phrases), commonness(phrases, vectors), without]


def best_evidence(video: ClipEmbeddings, vectors: FloatArray) -> FloatArray:
    """The evidence of the best window for each query, by what is known of a video."""
    evidence = prepare(video, vectors).clip_evidence(video, usual_of(video, background()))
    return window_means(evidence, list_windows(video)).max(axis=1)


def prepare(video: ClipEmbeddings, vectors: FloatArray) -> MatchedQueries:
    """Queries whose evidence is wanted, not their probability."""
    names = [part.names if part else None for part in (video.objects, video.actions)]
    return prepare_queries(["noun"] * len(vectors), vectors, background(), *names)


def live_evidence(video: ClipEmbeddings, vectors: FloatArray, phrases: FloatArray) -> FloatArray:
    """The evidence at the best second of a source that is seen once."""
    assert video.objects is not None
    queries, rows = prepare(video, vectors), video.rows
    match = RunningMatch(queries, phrases)
    starts = [True, *(np.sum(rows[1:] * rows[:-1], axis=1) < look_cosine("vse")).tolist()]
    best = np.zeros(len(vectors), np.float32)
    for t, (row, begins) in enumerate(zip(rows, starts, strict=True)):
        seen = [
            mixture and replace(mixture, probabilities=mixture.probabilities[t : t + 1])
            for mixture in (video.objects, video.actions)
        ]
        best = np.maximum(best, match.add(row, *seen, begins_shot=begins))
    logits = np.log(best / (1 - best))[:, None]
    return np.asarray((logits - queries.offsets) / queries.slopes, np.float32)[:, 0]


def folds_of(answers: Sequence[JudgedQuery]) -> TimeArray:
    """[N] the fold of each answer, by its group."""
    groups = {group: n % _FOLDS for n, group in enumerate(dict.fromkeys(answer.group for answer in answers))}
    return np.array([groups[answer.group] for answer in answers])


def cross_fitted(answers: Sequence[JudgedQuery], number: int, applied_to: int | None = None) -> TimeArray:
    """[N] probabilities by a measure, whose curves did not see the group; see `predict`."""
    fold, truth, probabilities = folds_of(answers), truth_about(answers), np.zeros(len(answers))
    for out in range(_FOLDS):
        probabilities[fold == out] = predict(answers, truth, fold == out, number, applied_to)
    return probabilities


def predict(
    answers: Sequence[JudgedQuery],
    truth: Truth,
    is_held: npt.NDArray[np.bool_],
    number: int,
    applied_to: int | None = None,
) -> TimeArray:
    """The probabilities of some answers by the curves of the others, maybe applied to another measure."""
    rule, probabilities = np.array([answer.rule for answer in answers]), np.zeros(len(answers))
    used = number if applied_to is None else applied_to
    values = np.array([[answer.measures[used], 1.0, answer.measures[3]] for answer in answers])
    for kind in set(rule[is_held]):
        curve = fit_curve(answers, truth, np.flatnonzero(~is_held & (rule == kind)), number)
        rows = is_held & (rule == kind)
        probabilities[rows] = logistic(values[rows] @ np.array(curve))
    return probabilities[is_held]


def fit_curve(
    answers: Sequence[JudgedQuery], truth: Truth, rows: npt.NDArray[np.int64], number: int
) -> Curve:
    """The curve of some answers."""
    columns = [[answers[row].measures[column] for row in rows] for column in (number, 3)]
    (slope, common), offset = fit_logistic(columns, truth, rows)
    return Curve(slope, offset, common)


def fit_logistic(
    columns: Sequence[Sequence[float]], truth: Truth, rows: npt.NDArray[np.int64]
) -> tuple[list[float], float]:
    """The weight of each column of measures of some answers, and the offset.

    Where all of these, or none, are true, as of few made-up clips, the share of all is the probability.
    """
    few = truth.take(rows)
    if len(set(few.is_true.tolist())) < 2:
        share = np.clip(np.mean(truth.is_true), 0.01, 0.99)
        return [0.0] * len(columns), float(np.log(share / (1 - share)))
    weights = few.weights * len(truth.weights)
    fit = LogisticRegression(C=1e4).fit(np.transpose(columns), few.is_true, sample_weight=weights)
    return fit.coef_[0].tolist(), float(fit.intercept_[0])


def nested_no(answers: Sequence[JudgedQuery]) -> npt.NDArray[np.bool_]:
    """[N] verdicts "no" by thresholds that, as the curves, were chosen without the group.

    A threshold is the highest at which 95 % of such verdicts are right in films, clips and photographs each.
    """
    fold, all_truth, is_no = folds_of(answers), truth_about(answers), np.zeros(len(answers), np.bool_)
    for out in range(_FOLDS):
        others = [answer for answer, number in zip(answers, fold, strict=True) if number != out]
        whole, said = truth_about(others), cross_fitted(others, 0)
        parts = [
            np.flatnonzero([o.source == source for o in others]) for source in ("film", "clip", "photograph")
        ]
        rights = {
            level: [
                share_right(whole.take(part), said[part] < level, is_absent=True)
                for part in parts
                if len(part)
            ]
            for level in np.arange(0.05, 0.31, 0.01).tolist()
        }
        level = max((level for level, right in rights.items() if np.nanmin(right) >= 0.95), default=0.05)
        print(f"threshold without fold {out}: {level:.2f}", flush=True)
        is_no[fold == out] = predict(answers, all_truth, fold == out, 0) < level
    return is_no


def embed_photographs(folder: Path, names: Sequence[str]) -> ClipEmbeddings:
    """Photographs in `vse`, one after another."""
    features = encode_pictures([folder / name for name in names], EXTRACTOR)
    logits = get_extractor(SPEC, device="cpu").logits(features)
    mixture = ClassMixture(class_probabilities(logits), name_embeddings())
    rows = unit_rows(load_map()(features))
    return ClipEmbeddings(rows, np.arange(len(rows), dtype=float), 1.0, float(len(rows)), mixture)


def ask_all(films: Path, photographs: Path | None) -> list[JudgedQuery]:
    """All queries of films, clips and photographs in `vse`."""
    answers = ask_films(films, lambda path: embed(path, "vse", "auto"), measure)
    if photographs is None:
        return answers
    sentences = held_out(photographs)
    video = embed_photographs(photographs, [*sentences])

    def group(numbers: Sequence[int]) -> ClipEmbeddings:
        objects, count = video.objects, len(numbers)
        assert objects is not None
        mixture = ClassMixture(objects.probabilities[numbers], objects.names)
        times, edges_s = np.arange(float(count)), np.arange(0.0, count + 1, 3)
        return ClipEmbeddings(video.rows[numbers], times, 1.0, count, mixture, edges_s)

    return answers + ask_photographs(sentences, group, measure)


def print_kinds(answers: Sequence[JudgedQuery], probabilities: Mapping[str, TimeArray]) -> None:
    """Print a table of accuracy and calibration by kind, of several probabilities by their names."""
    whole, kinds = truth_about(answers), dict.fromkeys((answer.source, answer.kind) for answer in answers)
    heads = [f"{measure}, {name}" for measure in ("AUC", "calibration error") for name in probabilities]
    print(f"\n| | queries | {' | '.join(heads)} |\n|---|---|{'---|' * len(heads)}")
    for source, kind in kinds:
        rows = rows_of(answers, source, kind)
        cells = [
            with_interval(measure, whole.take(rows), values[rows])
            for measure in (auc, calibration_error)
            for values in probabilities.values()
        ]
        print(f"| {source}: {kind} | {len(rows)} | {' | '.join(cells)} |")


def print_verdicts(answers: Sequence[JudgedQuery], said: TimeArray) -> None:
    """Print how many verdicts are right, and how many of the absent, or of the true, get one."""
    whole = truth_about(answers)
    print("\n| verdict | right | of films | of clips | of photographs | given |\n|---|---|---|---|---|---|")
    verdicts = {"no": (said < NO_BELOW, True), "yes": (said >= YES_FROM, False)}
    if any(answer.source == "photograph" for answer in answers):
        verdicts["nested no"] = nested_no(answers), True
    for name, (is_said, is_absent) in verdicts.items():
        right = partial(share_right, is_absent=is_absent)
        cells = [with_interval(right, whole, is_said)]
        for source in dict.fromkeys(answer.source for answer in answers):
            rows = np.flatnonzero([answer.source == source for answer in answers])
            cells.append(with_interval(right, whole.take(rows), is_said[rows]))
        due = whole.weights * (whole.is_true != is_absent)
        print(f"| {name} | {' | '.join(cells)} | {due @ is_said / due.sum():.2f} |")


def shipped(answers: Sequence[JudgedQuery], number: int) -> TimeArray:
    """[N] probabilities of a measure by the curves that ship."""
    curves = np.array([NAMED[answer.rule] for answer in answers])
    values = np.array([[answer.measures[number], 1.0, answer.measures[3]] for answer in answers])
    return logistic((curves * values).sum(axis=1))


def print_words(answers: Sequence[JudgedQuery], said: TimeArray) -> None:
    """Print how often each word is right, and what share of the true and absent queries gets it.

    First of each source; last of joined and uncut films together, in which each kind of query counts alike.
    """
    whole, words = truth_about(answers), np.array([verdict_on(present) for present in said])
    print(f"\n| | {' | '.join(get_args(Verdict))} |")
    print("|---|" + "---|" * len(get_args(Verdict)))
    groups = {source: {source} for source in dict.fromkeys(answer.source for answer in answers)}
    if groups.keys() >= _FILMS:
        groups["joined and uncut films"] = _FILMS
    for source, members in groups.items():
        rows = np.flatnonzero([answer.source in members for answer in answers])
        truth, given = whole.take(rows), words[rows]
        is_true = truth.is_true > 0
        for name, group in (("true", is_true), ("absent", ~is_true)):
            shares = [truth.weights[group & (given == word)].sum() for word in get_args(Verdict)]
            cells = [f"{share / truth.weights[group].sum():.2f}" for share in shares]
            print(f"| {source}: share of the {name} | {' | '.join(cells)} |")
        right = [
            with_interval(partial(share_right, is_absent=word in ("unlikely", "no")), truth, given == word)
            for word in get_args(Verdict)
        ]
        print(f"| {source}: right | {' | '.join(right)} |")


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder", small="films")
    parser.add_argument("--photographs", type=Path, help="Flickr8k's")
    parser.add_argument("--actions", type=Path, help="clips of other repositories")
    options = parser.parse_args()
    answers = ask_all(options.folder, options.photographs)
    if options.actions:
        answers += ask_actions(
            options.folder, options.actions, lambda path: embed(path, "vse", "auto"), measure
        )
    fitted = {"all": cross_fitted(answers, 0), "by cosines": cross_fitted(answers, 1)}
    fitted |= {"watch": cross_fitted(answers, 0, applied_to=2), "without actions": cross_fitted(answers, 4)}
    print_kinds(answers, fitted)
    print_verdicts(answers, fitted["all"])
    print_words(answers, fitted["all"])
    by_shipped = {"shipped": shipped(answers, 0), "shipped, without actions": shipped(answers, 4)}
    print_kinds(answers, by_shipped)
    for probabilities in by_shipped.values():
        print_words(answers, probabilities)
    for number, name in enumerate(("NAMED", "BARE")):
        for rule in NAMED:
            rows = np.flatnonzero([answer.rule == rule for answer in answers])
            curve = fit_curve(answers, truth_about(answers), rows, number)
            print(f"{name} {rule}: Curve({', '.join(f'{value:.2f}' for value in curve)})")


if __name__ == "__main__":
    main()
