"""Fit the models that mark sentences of a talk: where a passage can begin and end, what states the subject.

    python -m vidsum.weights.recipes.standing_model weights/standing.safetensors FOLDER

FOLDER has the repositories of `talks`, as FOLDER/OWNER/NAME. `standing_labels.json` says of the sentences of
137 talks whether a passage can begin and end with them, well or fairly, and which passages are the best; of
62 whole talks also which sentences state the subject, and which passages make a summary of 90 s. Prints the
tables of `standing_tables`, of talks that did not fit the models, and what weights/registry.yaml has to say
of the file.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from vidsum.io.provenance import hash_file
from vidsum.results.sentences import SpokenSentence
from vidsum.summary.sentence_marks import mark_inputs, marks_of
from vidsum.types import BoolArray, FloatArray
from vidsum.weights.recipes.talks import read_talk

LABELS = Path(__file__).with_name("standing_labels.json")
FACTS, PLACES = 13, 3  # inputs after the meanings, and those of them that only the subject reads
REFERENCES, LIKENESS = -4, -3  # columns of the loose references, and of the cosine with the mean of the talk
MEANING = 0.25  # scale of a meaning's number, whose deviation is 1
PENALTY = 100.0  # C is its inverse
FOLDS = 6
MARGIN = 8  # sentences before and after the labelled part, which the inputs read too
GOOD, FAIR = 1.0, 0.5

Passage = tuple[int, int]
"""The first and the last sentence."""


@dataclass(frozen=True, eq=False)
class Talk:
    """The labelled sentences of a talk."""

    sentences: Sequence[SpokenSentence]
    inputs: FloatArray  # [S, D]
    labels: FloatArray  # [S, 3], NaN where the subject is not labelled
    best: Sequence[Passage]
    summaries: Sequence[Sequence[Passage]] = field(default=())


Marks = Sequence[FloatArray]
"""The marks [S, 3] of the sentences of talks."""


def read_talks(folder: Path) -> Iterator[Talk]:
    """Yield the labelled parts of talks. Raises ValueError where a transcript has other sentences."""
    for row in json.loads(LABELS.read_text(encoding="utf-8"))["talks"]:
        sentences = read_talk(folder, row["repository"], row["path"])
        if len(sentences) != row["sentences"]:
            raise ValueError(f"{row['path']}: {len(sentences)} sentences, not {row['sentences']}")
        first, last = row["labelled"]
        begin = max(first - MARGIN, 0)
        texts = [sentence.text for sentence in sentences[begin : last + MARGIN]]
        inputs = mark_inputs(texts, is_english=True)[first - begin : last - begin]
        best = [(start - first, end - first) for start, end in row["best"]]
        yield Talk(sentences[first:last], inputs, _labels(row), best, row.get("summaries", ()))


def _labels(row: Any) -> FloatArray:
    first, last = row["labelled"]
    labels = np.zeros((last - first, 3), np.float32)
    for column, name in enumerate(("begins", "ends")):
        for value, grade in ((FAIR, "fair"), (GOOD, "good")):
            labels[np.array(row[name][grade], int) - first, column] = value
    labels[:, 2] = np.nan if "subject" not in row else 0
    labels[np.array(row.get("subject", []), int), 2] = GOOD
    return labels


def columns_of(width: int) -> list[BoolArray]:
    """Return the inputs that each mark reads: all but the places; the sentence's own meaning and places."""
    numbers = np.arange(width)
    are_places, is_own = numbers >= width - PLACES, numbers < (width - FACTS) // 3
    return [~are_places, ~are_places, is_own | are_places]


def fit(talks: Sequence[Talk]) -> dict[str, FloatArray]:
    """Return the tensors of `marks_of`, by logistic regression: a fair sentence is half of a good one."""
    x, y = np.concatenate([talk.inputs for talk in talks]), np.concatenate([talk.labels for talk in talks])
    mean, scale = x.mean(axis=0), 1 / (x.std(axis=0) + 1e-6)
    scale[:-FACTS] *= MEANING
    weight, bias = np.zeros((3, x.shape[1]), np.float32), np.zeros(3, np.float32)
    for mark, columns in enumerate(columns_of(x.shape[1])):
        label = y[:, mark]
        rows, label = ((x - mean) * scale)[:, columns][~np.isnan(label)], label[~np.isnan(label)]
        fitted = LogisticRegression(C=1 / PENALTY, max_iter=500).fit(
            np.concatenate([rows, rows]),
            np.repeat([1, 0], len(rows)),
            sample_weight=np.concatenate([label, 1 - label]),
        )
        weight[mark, columns] = fitted.coef_[0] * scale[columns]
        bias[mark] = fitted.intercept_[0]
    return {"mean": mean, "weight": weight, "bias": bias}


def elsewhere(inputs: FloatArray) -> FloatArray:
    """Return the inputs as they are in other languages than English: meanings and references are unknown."""
    known = np.full_like(inputs, np.nan)
    width = inputs.shape[1]
    facts = slice(width - FACTS, REFERENCES - 2)  # up to the two cosines
    known[:, facts] = inputs[:, facts]
    known[:, LIKENESS + 1 :] = inputs[:, LIKENESS + 1 :]
    return known


def held_out(talks: Sequence[Talk], change: Callable[[FloatArray], FloatArray] = np.asarray) -> Marks:
    """Return the marks for talks, by models that other talks fitted, of inputs that are changed."""
    marks = [np.empty((0, 3), np.float32) for _ in talks]
    numbers = np.arange(len(talks))
    for train, test in GroupKFold(FOLDS).split(numbers, groups=numbers):
        model = fit([talks[number] for number in train])
        for number in test:
            marks[number] = marks_of(model, change(talks[number].inputs))
    return marks


def main(target: Path, folder: Path) -> None:
    """Print the tables and write the file."""
    from vidsum.weights.recipes.standing_tables import print_tables

    talks = [*read_talks(folder)]
    print_tables(talks, held_out(talks), held_out(talks, elsewhere))
    save_file(fit(talks), target)
    print(f"sha256: {hash_file(target)}\nbytes: {target.stat().st_size}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
