"""Alerts of `vidsum watch` in joined films.

    python -m docs.benchmarks.watch FOLDER

Ten joined films (docs.benchmarks.grounding makes them), each seen once; all queries about the 40 clips, and
their captions in six other languages. The probabilities are those that ship; their curves were fitted to
the same clips and films (docs.benchmarks.presence). An alert begins after two likely seconds and ends after
two unlikely ones; it is false where it meets no moment of the query. "At random" moves the probabilities of a
film by some seconds, its end to its beginning. In brackets are 95 % of a bootstrap over clips. The last lines
have AUC and calibration error of the best second.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, embed, known_clips, notes, ten_films
from docs.benchmarks.judged import JudgedQuery, auc, calibration_error, rows_of, truth_about, with_interval
from vidsum.evidence.match_probability import embed_background, kind_of, prepare_queries
from vidsum.evidence.running_match import RunningMatch
from vidsum.grounding.languages import is_other
from vidsum.grounding.scenes import look_cosine
from vidsum.grounding.settings import Watching
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.pipelines.watch import _Alarm
from vidsum.types import FloatArray, Interval, TimeArray

_DRAWS, _SHIFTS, _LEVELS = 500, 3, (0.3, 0.5, 0.7)


class Seconds(NamedTuple):
    """A query of a film, second by second."""

    query: JudgedQuery
    present: FloatArray  # [T]
    moments: list[Interval]


def list_queries() -> list[tuple[str, str, str]]:
    """Kind, text and clip."""
    clips = known_clips()
    queries = [
        (kind, clip[kind], Path(clip["file"]).name) for kind in KINDS for clip in clips if clip.get(kind)
    ]
    path = Path(__file__).parents[2] / "tests" / "grounding" / "captions_in_languages.json"
    texts = [(clip, text) for clip, row in json.loads(path.read_text()).items() for text in row.values()]
    return [*queries, *(("language", text, clip) for clip, text in texts if is_other(text, "auto"))]


def watch(video: ClipEmbeddings, texts: list[str], vectors: FloatArray) -> FloatArray:
    """[M, T] probabilities of a film that is seen once."""
    objects, actions = video.objects, video.actions
    assert objects is not None
    assert actions is not None
    names, background, rows = (objects.names, actions.names), embed_background("vse"), video.rows
    match = RunningMatch(prepare_queries([*map(kind_of, texts)], vectors, background, *names), background)
    starts = [True, *(np.sum(rows[1:] * rows[:-1], axis=1) < look_cosine("vse")).tolist()]
    seen = [
        [replace(mixture, probabilities=shares[None]) for shares in mixture.probabilities]
        for mixture in (objects, actions)
    ]
    seconds = zip(rows, *seen, starts, strict=True)
    return np.stack([match.add(*second, begins_shot=begins) for *second, begins in seconds], axis=1)


def ask(folder: Path, queries: Sequence[tuple[str, str, str]]) -> list[Seconds]:
    """Ask ten films for queries, each a kind, a text and the clip that it is of."""
    fits = notes()["fits"]
    texts = [text for _, text, _ in queries]
    vectors, answers = embed_queries("vse", texts), []
    for film in ten_films(folder):
        parts = json.loads(film.with_suffix(".json").read_text())["moments"]
        for (kind, text, clip), present in zip(
            queries, watch(embed(film, "vse", "auto"), texts, vectors), strict=True
        ):
            true_of = {clip, *(fits.get(text, ()) if kind == "short" else ())}
            moments = [(part["start"], part["end"]) for part in parts if Path(part["file"]).name in true_of]
            query = JudgedQuery("film", kind, text, clip, bool(moments), (float(present.max()),))
            answers.append(Seconds(query, present, moments))
    return answers


def alert_times(present: FloatArray, level: float) -> list[Interval]:
    """When alerts begin and end."""
    alarm = _Alarm("", Watching(min_present=level), None, None)
    events = [alarm.update(float(time_s), float(value)) for time_s, value in enumerate(present)]
    events.append(alarm.end(float(len(present))))
    return [(event.start_s, event.end_s) for event in events if event and event.end_s is not None]


def count_met(alerts: Sequence[Interval], moments: Sequence[Interval]) -> int:
    """The number of moments that an alert meets."""
    return sum(any(a < end and start < b for a, b in alerts) for start, end in moments)


def print_alerts(answers: list[Seconds]) -> None:
    """Print how many moments are announced, by the same alerts at random times too, and false alarms."""
    print("| `--min-present` | announced | at random | false alarms per query and hour |\n|---|---|---|---|")
    for level in _LEVELS:
        counts: dict[str, TimeArray] = {}
        rng = np.random.default_rng(0)
        for query, present, moments in answers:
            alerts = alert_times(present, level)
            false = len(alerts) - count_met(moments, alerts)
            moved = [np.roll(present, shift) for shift in rng.integers(len(present), size=_SHIFTS)]
            by_chance = np.mean([count_met(alert_times(curve, level), moments) for curve in moved])
            hours = len(present) / 3600
            row = np.array([count_met(alerts, moments), by_chance, len(moments), false, hours])
            counts[query.group] = counts.get(query.group, np.zeros(5)) + row
        rows = np.stack([*counts.values()])
        drawn = rows[rng.integers(0, len(rows), (_DRAWS, len(rows)))].sum(axis=1)
        total, cells = rows.sum(axis=0), []
        for over, under, scale in ((0, 2, 100), (1, 2, 100), (3, 4, 1)):
            low, high = np.percentile(scale * drawn[:, over] / drawn[:, under], [2.5, 97.5])
            cells.append(f"{scale * total[over] / total[under]:.1f} [{low:.1f}, {high:.1f}]")
        print(f"| {level} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder", small="films --english")
    parser.add_argument("--english", action="store_true", help="leave out the captions in other languages")
    options = parser.parse_args()
    everything = ask(
        options.folder, [query for query in list_queries() if not options.english or query[0] in KINDS]
    )
    for is_language in (False, True):
        answers = [answer for answer in everything if (answer.query.kind == "language") == is_language]
        if not answers:
            continue
        print_alerts(answers)
        queries = [answer.query for answer in answers]
        best, whole = np.array([query.measures[0] for query in queries]), truth_about(queries)
        for kind in dict.fromkeys(query.kind for query in queries):
            rows = rows_of(queries, "film", kind)
            cells = [with_interval(test, whole.take(rows), best[rows]) for test in (auc, calibration_error)]
            print(f"{kind}: AUC {cells[0]}, calibration error {cells[1]}")


if __name__ == "__main__":
    main()
