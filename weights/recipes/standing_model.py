"""Fit the model that ships of where a passage of a talk can begin and end.

    python -m vidsum.weights.recipes.standing_model weights/standing.safetensors FOLDER

FOLDER has the repositories of `talks`, as FOLDER/OWNER/NAME. `standing_labels.json` says of the sentences of
89 talks whether a passage can begin and end with them, well or fairly. Prints two tables of talks that did
not fit the model, with 95 per cent intervals of a bootstrap over talks: how well it knows these sentences,
and whether the three passages of 20 to 60 s that stand best begin and end well and are among the best. Then
what weights/registry.yaml has to say of the file.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from docs.benchmarks.grounding import intervals
from docs.benchmarks.tables import print_table, with_interval
from vidsum.io.provenance import hash_file
from vidsum.results.sentences import SpokenSentence
from vidsum.summary.passage_edges import edge_inputs, edges_of
from vidsum.summary.standing import StandingRun, runs_between
from vidsum.types import FloatArray, TimeArray
from vidsum.weights.recipes.talks import read_talk

LABELS = Path(__file__).with_name("standing_labels.json")
FACTS = 10  # inputs after the meanings
ELSEWHERE = slice(-FACTS, -3)  # the facts that are known in every language
MEANING = 0.25  # scale of a meaning's number, whose deviation is 1
PENALTY = 100.0  # C is its inverse
FOLDS = 6
MARGIN = 8  # sentences before and after the labelled part, which the inputs read too
LENGTH_S, CHOSEN = (20.0, 60.0), 3
SAME = 0.5  # intersection over union of passages that count as one
GOOD, FAIR = 1.0, 0.5


@dataclass(frozen=True, eq=False)
class Talk:
    """The labelled sentences of a talk."""

    sentences: Sequence[SpokenSentence]
    inputs: FloatArray  # [S, D]
    labels: FloatArray  # [S, 2]
    best: Sequence[tuple[int, int]]  # the first and the last sentence of passages that were chosen


Edges = Sequence[FloatArray]
"""Answers [S, 2] for talks: how well passages can begin and end with each sentence."""


def read_talks(folder: Path) -> Iterator[Talk]:
    """Yield the labelled parts of talks. Raises ValueError where a transcript has other sentences."""
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["talks"]:
        sentences = read_talk(folder, row["repository"], row["path"])
        if len(sentences) != row["sentences"]:
            raise ValueError(f"{row['path']}: {len(sentences)} sentences, not {row['sentences']}")
        first, last = row["labelled"]
        begin = max(first - MARGIN, 0)
        texts = [sentence.text for sentence in sentences[begin : last + MARGIN]]
        inputs = edge_inputs(texts, is_english=True)[first - begin : last - begin]
        best = [(start - first, end - first) for start, end in row["best"]]
        yield Talk(sentences[first:last], inputs, _labels(row), best)


def _labels(row: Any) -> FloatArray:
    first, last = row["labelled"]
    labels = np.zeros((last - first, 2), np.float32)
    for column, name in enumerate(("begins", "ends")):
        for value, grade in ((FAIR, "fair"), (GOOD, "good")):
            labels[np.array(row[name][grade], int) - first, column] = value
    return labels


def fit(talks: Sequence[Talk]) -> dict[str, FloatArray]:
    """Return the tensors of `edges_of`, by logistic regression: a fair sentence is half of a good one."""
    x, y = np.concatenate([talk.inputs for talk in talks]), np.concatenate([talk.labels for talk in talks])
    mean, scale = x.mean(axis=0), 1 / (x.std(axis=0) + 1e-6)
    scale[:-FACTS] *= MEANING
    rows = (x - mean) * scale
    weights, biases = [], []
    for label in y.T:
        fitted = LogisticRegression(C=1 / PENALTY, max_iter=500).fit(
            np.concatenate([rows, rows]),
            np.repeat([1, 0], len(rows)),
            sample_weight=np.concatenate([label, 1 - label]),
        )
        weights.append(fitted.coef_[0] * scale)
        biases.append(fitted.intercept_[0])
    return {
        "mean": mean,
        "weight": np.array(weights, np.float32),
        "bias": np.array(biases, np.float32),
    }


def elsewhere(inputs: FloatArray) -> FloatArray:
    """Return the inputs as they are in other languages than English."""
    known = np.full_like(inputs, np.nan)
    known[:, ELSEWHERE] = inputs[:, ELSEWHERE]
    return known


def held_out(talks: Sequence[Talk], change: Callable[[FloatArray], FloatArray]) -> Edges:
    """Return the answers [S, 2] for talks, by models that other talks fitted, with inputs changed."""
    edges = [np.empty((0, 2), np.float32) for _ in talks]
    numbers = np.arange(len(talks))
    for train, test in GroupKFold(FOLDS).split(numbers, groups=numbers):
        model = fit([talks[number] for number in train])
        for number in test:
            edges[number] = edges_of(model, change(talks[number].inputs))
    return edges


def areas(talks: Sequence[Talk], edges: Edges) -> TimeArray:
    """Return [N, 2] the areas under the curve of each talk for begins and ends, fair or good."""
    return np.array(
        [
            [roc_auc_score(talk.labels[:, at] > 0, rows[:, at]) for at in range(2)]
            for talk, rows in zip(talks, edges, strict=True)
        ]
    )


def chosen(runs: Sequence[StandingRun]) -> list[StandingRun]:
    """Return the runs with the highest standing that do not overlap."""
    best = list[StandingRun]()
    for run in sorted(runs, key=lambda run: -run.standing):
        if len(best) < CHOSEN and all(run.last < other.first or run.first > other.last for other in best):
            best.append(run)
    return best


def verdicts(talk: Talk, runs: Sequence[StandingRun]) -> list[float]:
    """Return the fractions of passages that begin well, end well, do both, and are among the best."""
    begins, ends = (talk.labels > 0).T
    rows = [
        (begins[run.first], ends[run.last], begins[run.first] and ends[run.last], is_best(talk, run))
        for run in runs
    ]
    return np.mean(rows, axis=0).tolist() if rows else [0.0] * 4


def is_best(talk: Talk, run: StandingRun) -> bool:
    """Return whether a passage is mostly one of those that the labels name as the best."""
    sentences = set(range(run.first, run.last + 1))
    others = (set(range(first, last + 1)) for first, last in talk.best)
    return any(len(sentences & other) >= SAME * len(sentences | other) for other in others)


def random_edges(talks: Sequence[Talk]) -> Edges:
    """Return answers [S, 2] for talks that read nothing."""
    rng = np.random.default_rng(0)
    return [rng.random((len(talk.sentences), 2), np.float32) for talk in talks]


def first_passages(talk: Talk) -> list[StandingRun]:
    """Return passages of the longest length, from the beginning of a talk."""
    runs = runs_between(np.full((len(talk.sentences), 2), 0.5), talk.sentences, LENGTH_S)
    return chosen([StandingRun(run.first, run.last, run.last / 1e6 - run.first) for run in runs])


def best_passages(talks: Sequence[Talk], edges: Edges) -> list[list[StandingRun]]:
    """Return the passages that stand best, by the answers for each talk."""
    return [
        chosen(runs_between(rows, talk.sentences, LENGTH_S)) for talk, rows in zip(talks, edges, strict=True)
    ]


def print_areas(talks: Sequence[Talk], rows: Mapping[str, Edges]) -> None:
    """Print how well sentences are known."""
    table = {name: areas(talks, edges) for name, edges in rows.items()}
    print_table(["area under the curve", "begins", "ends"], cells(table))


def print_passages(talks: Sequence[Talk], rows: Mapping[str, Edges]) -> None:
    """Print what the first three passages of each talk are like."""
    passages = {name: best_passages(talks, edges) for name, edges in rows.items()}
    passages["the first of the talk"] = [first_passages(talk) for talk in talks]
    table = {
        name: np.array([verdicts(talk, runs) for talk, runs in zip(talks, of_talks, strict=True)])
        for name, of_talks in passages.items()
    }
    print_table(["passages", "begin well", "end well", "both", "among the best"], cells(table))


def cells(table: Mapping[str, TimeArray]) -> Iterator[list[str]]:
    """Yield rows of a table: the mean over talks, with its interval."""
    for name, rows in table.items():
        means, ends = intervals(rows, [f"{number}" for number in range(len(rows))])
        yield [name, *(with_interval(mean, end) for mean, end in zip(means, ends.T, strict=True))]


def main(target: Path, folder: Path) -> None:
    """Print the tables and write the file."""
    talks = [*read_talks(folder)]
    answers = {
        "the model": held_out(talks, lambda inputs: inputs),
        "as in other languages": held_out(talks, elsewhere),
        "random": random_edges(talks),
    }
    references = [np.repeat(-talk.inputs[:, -1:], 2, axis=1) for talk in talks]
    print_areas(talks, {**answers, "loose references alone": references})
    print()
    print_passages(talks, answers)
    save_file(fit(talks), target)
    print(f"sha256: {hash_file(target)}\nbytes: {target.stat().st_size}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
