"""Measure what a summary guided by a text shows, with and without actions.

    python -m docs.benchmarks.about FOLDER JOINED [--extra CLIPS] [--exchange]

Each query of action_moments.json, and of other films, guides a summary as long as the moments that it is true
of, of 2 s at least. Per cent: the share of the summary that shows them, and the average precision of the
importance. FOLDER, JOINED and CLIPS are those of `docs.benchmarks.actions`. Intervals of the difference, 95
per cent, by a bootstrap over the videos that the queries are about. With --exchange, of joined films: the
precision where each time has the actions of half a film later, which are of another clip, and its difference
to the precision with the film's actions in their places.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from docs.benchmarks import argument_parser, shared_s
from docs.benchmarks.action_moments import EXTRA, Half, action_films, joined_action_films
from docs.benchmarks.grounding import resampled
from docs.benchmarks.joined import KINDS, composite, truth_of
from docs.benchmarks.natural import natural_films
from vidsum.features.settings import Extraction
from vidsum.grounding.actions import mix_actions
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.pipelines.embedding import open_in_space
from vidsum.pipelines.summarize import summarize
from vidsum.results.summary import Summary
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.guided import guide_importance
from vidsum.summary.score import best_score, candidate_models
from vidsum.summary.settings import Selection
from vidsum.types import Interval

_LEAST_S = 2.0
_MOST = 0.9  # of a film that a summary may be
_HALVES: tuple[Half, ...] = ("a", "b")
_PARTS = ("actions", "natural", "clips")


def measured(summary: Summary, windows: Sequence[Interval]) -> tuple[float, float]:
    """The share of a summary that shows the windows, and how precise its importance is, per cent."""
    shown = 100 * shared_s(summary.segments, windows) / summary.duration_s
    true = [any(low <= time_s < high for low, high in windows) for time_s in summary.timestamps]
    return shown, 100 * float(average_precision_score(true, summary.importance)) if any(true) else np.nan


def row(name: str, films: Sequence[tuple[Path, MomentVideo]], most: int | None) -> str:
    """A row of the table, of the first `most` queries of each film."""
    rows, clips = [], []
    for path, truth in films:
        for query in truth.queries[:most]:
            budget_s = max(_LEAST_S, shared_s(query.windows, [(0.0, truth.duration_s)]))
            if budget_s > _MOST * truth.duration_s:
                continue  # any summary shows it
            made = [summarize(path, budget_s, about=query.text, actions=actions) for actions in (False, True)]
            rows.append([measured(summary, query.windows) for summary in made])
            clips.append(query.qid)
    cells = [name, str(len(clips))]
    for before, after in np.transpose(rows, (2, 1, 0)):
        change = (after - before)[:, None]
        low, high = np.percentile(resampled(change, clips), [2.5, 97.5], axis=0)[:, 0]
        cells += [f"{before.mean():.1f}", f"{after.mean():.1f}"]
        cells.append(f"{change.mean():+.1f} [{low:+.1f}, {high:+.1f}]")
    return f"| {' | '.join(cells)} |"


def guided_precisions(path: Path, truth: MomentVideo) -> Iterator[tuple[str, list[float]]]:
    """Yield each query and its precisions: without actions, with them, with those half a film later."""
    opened = open_in_space("vse", path, Extraction(), actions=True)
    (features, movement), pictures = opened.read()
    shots = find(features, ShotSettings(), pictures)
    models = candidate_models(Selection().model, *opened.kind)
    importance = best_score(models, features, shots, Selection(), 1.0).importance
    middles_s = features.timestamps + features.step_s / 2
    actions = mix_actions(movement, middles_s, shots.edges_s)
    later = replace(actions, probabilities=np.roll(actions.probabilities, len(middles_s) // 2, axis=0))
    for query in truth.queries:
        true = [any(low <= time_s < high for low, high in query.windows) for time_s in features.timestamps]
        curves = [
            guide_importance(importance, features, (query.text,), actions=used)
            for used in (None, actions, later)
        ]
        if any(true):
            yield query.qid, [100 * float(average_precision_score(true, curve)) for curve in curves]


def exchange_row(name: str, films: Sequence[tuple[Path, MomentVideo]]) -> str:
    """A row of the table of exchanged actions."""
    clips, rows = zip(*(row for film in films for row in guided_precisions(*film)), strict=True)
    without, own, later = np.transpose(rows)
    change = (later - own)[:, None]
    low, high = np.percentile(resampled(change, clips), [2.5, 97.5], axis=0)[:, 0]
    means = " | ".join(f"{values.mean():.1f}" for values in (without, own, later))
    return f"| {name} | {len(clips)} | {means} | {change.mean():+.1f} [{low:+.1f}, {high:+.1f}] |"


def main() -> None:
    """Print the table."""
    small = "films joined --seeds 1 --part clips --queries 1"
    parser = argument_parser(__doc__, "folder", "joined", small=small)
    parser.add_argument("--extra", type=Path, default=EXTRA)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--part", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--queries", type=int, metavar="N", help="of each film, the first ones")
    parser.add_argument("--exchange", action="store_true")
    options = parser.parse_args()
    if options.exchange:
        print("| queries | n | AP without | with | of half a film later | change |\n|" + "---|" * 6)
        for half in _HALVES:
            joined = joined_action_films(options.folder, half, range(options.seeds), extra=options.extra)
            pairs = [(film.path, film.truth) for film in joined]
            print(exchange_row(f"actions {half}, joined", pairs), flush=True)
        return
    print("| queries | n | shown without | with | change | AP without | with | change |\n|" + "---|" * 8)
    for half in _HALVES if "actions" in options.part else ():
        uncut = action_films(half, options.extra)
        joined = joined_action_films(options.folder, half, range(options.seeds), extra=options.extra)
        for kind, films in (("uncut", uncut), ("joined", joined)):
            pairs = [(film.path, film.truth) for film in films]
            print(row(f"actions {half}, {kind}", pairs, options.queries), flush=True)
    if "natural" in options.part:
        natural = [*natural_films(held_out=False), *natural_films(held_out=True)]
        pairs = [(film.path, film.truth) for film in natural]
        print(row("natural moments", pairs, options.queries), flush=True)
    if "clips" in options.part:
        composites = [composite(options.joined, "all", 120, seed)[0] for seed in range(options.seeds)]
        for kind in KINDS:
            pairs = [(film, truth_of(film, kind)) for film in composites]
            print(row(f"joined clips, {kind}", pairs, options.queries), flush=True)


if __name__ == "__main__":
    main()
