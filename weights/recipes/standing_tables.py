"""Measure the marks of sentences on labelled talks: passages for shorts, and summaries of 90 s.

Rows are means over talks, with 95 per cent intervals of a bootstrap over them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from sklearn.metrics import roc_auc_score

from docs.benchmarks.grounding import intervals
from docs.benchmarks.tables import print_table, with_interval
from vidsum.summary.standing import StandingRun, runs_of
from vidsum.types import TimeArray
from vidsum.weights.recipes.standing_model import LIKENESS, REFERENCES, Marks, Talk

SHORT_S, SHORTS = (20.0, 60.0), 3
PART_S, SUMMARY_S = (20.0, 45.0), 90.0
SAME = 0.5  # intersection over union of passages that count as one

Value = Callable[[StandingRun], float]


def areas(talks: Sequence[Talk], marks: Marks) -> TimeArray:
    """Return [N, 3] the areas under the curve of each talk for each mark; NaN without labels."""
    return np.array(
        [
            [_area(*pair) for pair in zip(talk.labels.T, rows.T, strict=True)]
            for talk, rows in zip(talks, marks, strict=True)
        ]
    )


def _area(labels: TimeArray, marks: TimeArray) -> float:
    return float("nan") if np.isnan(labels).any() else float(roc_auc_score(labels > 0, marks))


def best_of(
    talk: Talk, runs: Sequence[StandingRun], value: Value, count: int, total_s: float
) -> list[StandingRun]:
    """Return the runs of the highest value that do not overlap, up to a number and a length."""
    best, left_s = list[StandingRun](), total_s
    for run in sorted(runs, key=value, reverse=True):
        length_s = length_of(talk, run)
        if (
            len(best) < count
            and length_s <= left_s
            and all(run.last < other.first or run.first > other.last for other in best)
        ):
            best.append(run)
            left_s -= length_s
    return best


def length_of(talk: Talk, run: StandingRun) -> float:
    return talk.sentences[run.last].end_s - talk.sentences[run.first].start_s


def edges_are_good(talk: Talk, runs: Sequence[StandingRun]) -> list[float]:
    """Return the fractions of runs that begin well, end well, and do both."""
    begins, ends = (talk.labels[:, :2] > 0).T
    rows = [(begins[run.first], ends[run.last], begins[run.first] and ends[run.last]) for run in runs]
    return np.mean(rows, axis=0).tolist() if rows else [0.0] * 3


def among_the_best(talk: Talk, runs: Sequence[StandingRun]) -> float:
    """Return the fraction of runs that are mostly one of the passages that the labels name as the best."""
    found = []
    for run in runs:
        sentences = set(range(run.first, run.last + 1))
        others = (set(range(first, last + 1)) for first, last in talk.best)
        found.append(any(len(sentences & other) >= SAME * len(sentences | other) for other in others))
    return float(np.mean(found)) if found else 0.0


def in_a_summary(talk: Talk, runs: Sequence[StandingRun]) -> float:
    """Return the fraction of the seconds of runs that are in the labels' summary that has most of them."""
    chosen = [at for run in runs for at in range(run.first, run.last + 1)]
    seconds = [talk.sentences[at].length_s for at in chosen]
    shares = [0.0]
    for summary in talk.summaries:
        inside = {at for first, last in summary for at in range(first, last + 1)}
        shares.append(
            sum(s for at, s in zip(chosen, seconds, strict=True) if at in inside) / max(sum(seconds), 1e-9)
        )
    return max(shares)


def print_tables(talks: Sequence[Talk], marks: Marks, elsewhere: Marks) -> None:
    """Print how well sentences are known, and what passages and summaries are like."""
    rng = np.random.default_rng(0)
    chance = [rng.random((len(talk.sentences), 3), np.float32) for talk in talks]
    rows = {"the models": marks, "as in other languages": elsewhere, "random": chance}
    table = {name: areas(talks, row) for name, row in rows.items()}
    references = [np.repeat(-talk.inputs[:, [REFERENCES]], 3, axis=1) for talk in talks]
    central = [np.repeat(talk.inputs[:, [LIKENESS]], 3, axis=1) for talk in talks]
    table |= {
        "loose references alone": areas(talks, references),
        "likeness to the talk alone": areas(talks, central),
    }
    print_table(["area under the curve", "begins", "ends", "states the subject"], cells(table))
    print()
    print_table(
        ["passages", "begin well", "end well", "both", "among the best"], cells(passage_rows(talks, rows))
    )
    print()
    print_table(
        ["summaries of 90 s", "in a summary of the labels", "begin well", "end well", "both"],
        cells(summary_rows(talks, rows)),
    )


def passage_rows(talks: Sequence[Talk], rows: Mapping[str, Marks]) -> dict[str, TimeArray]:
    """Return [N, 4] what the three passages are like that stand best, and the first of each talk."""

    def measured(marks: Marks, value: Value) -> TimeArray:
        table = []
        for talk, row in zip(talks, marks, strict=True):
            chosen = best_of(talk, runs_of(row, talk.sentences, SHORT_S), value, SHORTS, np.inf)
            table.append([*edges_are_good(talk, chosen), among_the_best(talk, chosen)])
        return np.array(table)

    table = {name: measured(marks, lambda run: run.standing) for name, marks in rows.items()}
    return table | {"the first of the talk": measured(rows["random"], from_the_beginning)}


def summary_rows(talks: Sequence[Talk], rows: Mapping[str, Marks]) -> dict[str, TimeArray]:
    """Return [N, 4] what summaries are like of the talks for which the labels have one."""

    def measured(marks: Marks, value: Value) -> TimeArray:
        table = []
        for talk, row in zip(talks, marks, strict=True):
            if talk.summaries:
                runs = runs_of(row, talk.sentences, PART_S)
                chosen = best_of(talk, runs, value, len(runs), SUMMARY_S)
                table.append([in_a_summary(talk, chosen), *edges_are_good(talk, chosen)])
        return np.array(table)

    table = {name: measured(marks, lambda run: run.worth) for name, marks in rows.items()}
    return table | {
        "the models, by standing alone": measured(rows["the models"], lambda run: run.standing),
        "the first of the talk": measured(rows["random"], from_the_beginning),
    }


def from_the_beginning(run: StandingRun) -> float:
    """Return a value that is highest for the first run, and of those the longest."""
    return run.last / 1e6 - run.first


def cells(table: Mapping[str, TimeArray]) -> Iterator[list[str]]:
    """Yield rows of a table: the mean over talks, with its interval."""
    for name, rows in table.items():
        row = [name]
        for column in rows.T:
            known = column[~np.isnan(column)][:, None]
            means, ends = intervals(known, [f"{number}" for number in range(len(known))])
            row.append(with_interval(means[0], ends[:, 0].tolist()))
        yield row
