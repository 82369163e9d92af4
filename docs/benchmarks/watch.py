"""Alerts of `vidsum watch` in joined films, and the calibration of its probability.

    python -m docs.benchmarks.watch FOLDER

Ten joined films (docs.benchmarks.grounding), all queries about the 40 clips and the captions in six other
languages. The probability of each second is that of `vidsum.grounding.live_evidence`, whose curves are
fitted in ten folds without the clip that a query describes, to the best seconds of films and clips. An alert
begins after two likely seconds and ends after two unlikely ones; it is false where it meets no moment of
the query. In brackets are 95 % of a bootstrap over clips. The last lines are the curves fitted to all.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, composite, embed, known_clips, notes
from docs.benchmarks.judged import Asked, auc, calibration_error, rows_of, truth_about, with_interval
from docs.benchmarks.presence import fit_logistic
from vidsum.grounding.conse import log_likelihood
from vidsum.grounding.languages import is_other
from vidsum.grounding.live_evidence import RunningEvidence
from vidsum.grounding.match import embed_background
from vidsum.grounding.presence import build_cohort
from vidsum.grounding.settings import Watching
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.models.scaling import logistic
from vidsum.pipelines.watch import Alert, _Alarm
from vidsum.types import FloatArray, Interval, TimeArray

_FOLDS, _DRAWS, _LEVELS = 10, 500, (0.3, 0.5, 0.7)


class Seconds(NamedTuple):
    """A query of a video, second by second."""

    query: Asked
    evidence: FloatArray  # [T] with named classes
    bare: FloatArray  # [T] by the cosines alone
    moments: list[Interval]


def measure(video: ClipEmbeddings, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """[M, T] evidence with named classes, and without."""
    objects, background = video.objects, embed_background("vse")
    assert objects is not None
    named = build_cohort(objects.names, vectors).named(log_likelihood(objects, vectors))
    running = RunningEvidence(background)
    bare = np.stack([running.add(vectors, row) for row in video.rows], axis=1)
    return bare + named, bare


def list_queries() -> list[tuple[str, str, str]]:
    """Kind, text and clip."""
    clips = known_clips()
    queries = [
        (kind, clip[kind], Path(clip["file"]).name) for kind in KINDS for clip in clips if clip.get(kind)
    ]
    path = Path(__file__).parents[2] / "tests" / "grounding" / "captions_in_languages.json"
    texts = [(clip, text) for clip, row in json.loads(path.read_text()).items() for text in row.values()]
    return [*queries, *(("language", text, clip) for clip, text in texts if is_other(text, "auto"))]


def ask(folder: Path) -> list[Seconds]:
    """All queries of ten films, and of each clip."""
    queries, fits = list_queries(), notes()["fits"]
    vectors = embed_queries("vse", [text for _, text, _ in queries])
    videos: list[tuple[str, Path, list[tuple[str, Interval]]]] = []
    for seed in range(10):
        film = composite(folder, "all", 120, seed)[0]
        moments = json.loads(film.with_suffix(".json").read_text())["moments"]
        spans = [(Path(part["file"]).name, (part["start"], part["end"])) for part in moments]
        videos.append(("film", film, spans))
    paths = [Path(clip["file"]) for clip in known_clips()]
    videos += [("clip", path, [(path.name, (0.0, np.inf))]) for path in paths]
    answers = []
    for source, path, spans in videos:
        curves = zip(queries, *measure(embed(path, "vse", "auto"), vectors), strict=True)
        for (kind, text, clip), evidence, bare in curves:
            true_of = {clip, *(fits.get(text, ()) if kind == "short" else ())}
            moments = [span for name, span in spans if name in true_of]
            best = (float(evidence.max()), float(bare.max()))
            query = Asked(source, kind, text, clip, bool(moments), best)
            answers.append(Seconds(query, evidence, bare, moments))
    return answers


def fit_curve(queries: Sequence[Asked], rows: npt.NDArray[np.int64], number: int) -> tuple[float, float]:
    """Slope and offset of some answers."""
    column = [queries[row].measures[number] for row in rows]
    (slope,), offset = fit_logistic([column], truth_about(queries), rows)
    return slope, offset


def cross_fitted(answers: Sequence[Seconds]) -> list[TimeArray]:
    """The probability [T] of each answer, by curves that did not see its clip."""
    queries = [answer.query for answer in answers]
    groups = {group: n % _FOLDS for n, group in enumerate(dict.fromkeys(query.group for query in queries))}
    fold = np.array([groups[query.group] for query in queries])
    curves = [fit_curve(queries, np.flatnonzero(fold != out), 0) for out in range(_FOLDS)]
    lines = [curves[number] for number in fold]
    return [
        logistic(slope * answer.evidence + offset)
        for (slope, offset), answer in zip(lines, answers, strict=True)
    ]


def alert_times(present: TimeArray, level: float) -> list[Interval]:
    """When alerts begin and end."""
    alarm = _Alarm("", Watching(min_present=level), None, None)
    events: list[Alert | None] = [
        alarm.update(float(time_s), float(value)) for time_s, value in enumerate(present)
    ]
    events.append(alarm.end(float(len(present))))
    return [(event.start_s, event.end_s) for event in events if event and event.end_s is not None]


def print_alerts(answers: Sequence[Seconds], probabilities: Sequence[TimeArray]) -> None:
    """Print how many moments are announced, and false alarms."""
    for level in _LEVELS:
        counts: dict[str, TimeArray] = {}
        for answer, present in zip(answers, probabilities, strict=True):
            if answer.query.source != "film":
                continue
            alerts, moments = alert_times(present, level), answer.moments
            met = sum(any(a < end and start < b for a, b in alerts) for start, end in moments)
            false = sum(not any(a < end and start < b for start, end in moments) for a, b in alerts)
            row = np.array([met, len(moments), false, len(present) / 3600])
            counts[answer.query.group] = counts.get(answer.query.group, 0) + row
        rows, rng = np.stack([*counts.values()]), np.random.default_rng(0)
        drawn = rows[rng.integers(0, len(rows), (_DRAWS, len(rows)))].sum(axis=1)
        cells = []
        for over, under, scale in ((0, 1, 100), (2, 3, 1)):
            low, high = np.percentile(scale * drawn[:, over] / drawn[:, under], [2.5, 97.5])
            total = rows.sum(axis=0)
            cells.append(f"{scale * total[over] / total[under]:.1f} [{low:.1f}, {high:.1f}]")
        print(f"| {level} | {' | '.join(cells)} |")


def main() -> None:
    """Print the tables and curves."""
    everything = ask(argument_parser(__doc__, "folder").parse_args().folder)
    for is_language in (False, True):
        answers = [answer for answer in everything if (answer.query.kind == "language") == is_language]
        queries, probabilities = [answer.query for answer in answers], cross_fitted(answers)
        print("| `--min-present` | announced | false alarms per query and hour |\n|---|---|---|")
        print_alerts(answers, probabilities)
        best, whole = np.array([float(row.max()) for row in probabilities]), truth_about(queries)
        for source, kind in dict.fromkeys((query.source, query.kind) for query in queries):
            rows = rows_of(queries, source, kind)
            cells = [with_interval(test, whole.take(rows), best[rows]) for test in (auc, calibration_error)]
            print(f"{source}: {kind}: AUC {cells[0]}, calibration error {cells[1]}")
        for number, name in enumerate(("NAMED", "BARE")):
            slope, offset = fit_curve(queries, np.arange(len(queries)), number)
            print(f"{name}{'_OTHER' if is_language else ''}: Curve({slope:.2f}, {offset:.2f})")


if __name__ == "__main__":
    main()
