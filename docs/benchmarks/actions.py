"""Measure `ground` with and without actions, on queries about actions in two halves and on other queries.

    python -m docs.benchmarks.actions FOLDER JOINED [--extra CLIPS] [--line SLOPE LEAST] [--labels]

FOLDER gets films joined from clips of actions, and JOINED the ten films of `docs.benchmarks.grounding`; films
that are there are used again. CLIPS has the clips of the repositories that action_moments.json names. R@1 at
IoU .5 and mIoU of the first moment, per cent, without and with actions; intervals of the difference, 95 per
cent, by a bootstrap over the videos that the queries are about. `--line` gives actions the weight SLOPE times
what the nearest name's cosine exceeds LEAST by. `--labels` tells instead how often the likeliest action of a
shot is among those that were written down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.action_moments import EXTRA, Half, action_films, joined_action_films, present_videos
from docs.benchmarks.grounding import by_curve, resampled, scored
from docs.benchmarks.joined import KINDS, embed, ten_films, truth_of
from docs.benchmarks.natural import SPACE, natural_films
from vidsum.features.movinet import action_names
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries, similarity
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.types import FloatArray, TimeArray

_LEAST_LABELS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_LEAST_SHOT_S, _LEAST_SHARED_S = 1.5, 0.3
_HALVES: tuple[Half, ...] = ("a", "b")
VideoWithQueries = tuple[ClipEmbeddings, MomentVideo]
"""A video, and its queries."""


def measured(videos: Sequence[VideoWithQueries], *, actions: bool) -> TimeArray:
    """[Q, 4] `docs.benchmarks.grounding.measures` of the answers to all queries."""
    rows = []
    for video, truth in videos:
        vectors = embed_texts(tuple(query.text for query in truth.queries))
        curves = similarity(video if actions else replace(video, actions=None), vectors)
        rows.append(scored({truth.name: truth}, {truth.name: by_curve(video, curves)}))
    return np.concatenate(rows)


@cache
def embed_texts(texts: tuple[str, ...]) -> FloatArray:
    """[M, D] of texts, which several rows ask for."""
    return embed_queries(SPACE, texts)


def weighted(video: ClipEmbeddings, line: Sequence[float] | None) -> ClipEmbeddings:
    """A video whose actions have the weight of a slope and a least cosine."""
    if line is None or video.actions is None:
        return video
    slope, least = line
    return replace(video, actions=replace(video.actions, weight_line=(slope, -slope * least)))


def row(name: str, videos: Sequence[VideoWithQueries]) -> str:
    """A row of the table."""
    clips = [query.qid for _, truth in videos for query in truth.queries]
    before, after = measured(videos, actions=False), measured(videos, actions=True)
    change = 100 * (after - before)
    low, high = np.percentile(resampled(change, clips), [2.5, 97.5], axis=0)
    cells = [name, str(len(clips))]
    for column in (0, 3):
        cells += [f"{100 * before[:, column].mean():.1f}", f"{100 * after[:, column].mean():.1f}"]
        cells.append(f"{change[:, column].mean():+.1f} [{low[column]:+.1f}, {high[column]:+.1f}]")
    return f"| {' | '.join(cells)} |"


def named_shots(video: ClipEmbeddings, noted: Mapping[str, Any]) -> list[tuple[float, bool]]:
    """The probability of the likeliest action of each shot, and whether it was written down."""
    assert video.actions is not None
    assert video.shots_s is not None
    sharp = video.actions.probabilities**2  # softmax of the logits, not of half of them
    sharp /= sharp.sum(axis=1, keepdims=True)
    middles, names, shots = video.timestamps + video.step_s / 2, action_names(), list[tuple[float, bool]]()
    for start_s, end_s in pairwise(video.shots_s.tolist()):
        is_inside = (middles >= start_s) & (middles < end_s)
        if end_s - start_s < _LEAST_SHOT_S or not is_inside.any():
            continue
        moments = [
            moment
            for moment in noted["moments"]
            if any(min(b, end_s) - max(a, start_s) > _LEAST_SHARED_S for a, b in moment["windows"])
        ]
        true = {name for query in (*noted["whole"], *moments) for name in query.get("kinetics", ())}
        likely = sharp[is_inside].mean(axis=0)
        shots.append((float(likely.max()), names[int(likely.argmax())] in true))
    return shots


def print_labels(extra: Path) -> None:
    """Print how many shots have an action from a probability on, and how many are right."""
    for half in _HALVES:
        shots = [
            shot
            for path, noted in present_videos(half, extra)
            for shot in named_shots(embed(path, SPACE, "auto"), noted)
        ]
        for least in _LEAST_LABELS:
            right = [is_right for probability, is_right in shots if probability >= least]
            print(
                f"half {half}, from {least:g} on: {sum(right)} of {len(right)} right, of {len(shots)} shots"
            )


def main() -> None:
    """Print the table."""
    small = "films joined --extra shared/videos/actions --seeds 1"
    parser = argument_parser(__doc__, "folder", "joined", small=small)
    parser.add_argument("--extra", type=Path, default=EXTRA)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--line", type=float, nargs=2, metavar=("SLOPE", "LEAST"))
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    if options.labels:
        print_labels(options.extra)
        return

    def see(paths: Mapping[Path, MomentVideo]) -> list[VideoWithQueries]:
        videos = [(embed(path, SPACE, "auto"), truth) for path, truth in paths.items() if truth.queries]
        return [(weighted(video, options.line), truth) for video, truth in videos]

    print("| queries | n | R@1 .5 without | with | change | mIoU without | with | change |\n|" + "---|" * 8)
    parts: dict[str, list[VideoWithQueries]] = {}
    for half in _HALVES:
        uncut = action_films(half, options.extra)
        joined = joined_action_films(options.folder, half, range(options.seeds), extra=options.extra)
        for kind, films in (("uncut", uncut), ("joined", joined)):
            parts[f"{half}, {kind}"] = see({film.path: film.truth for film in films})
            print(row(f"actions {half}, {kind}", parts[f"{half}, {kind}"]), flush=True)
        print(row(f"actions {half}", [*parts[f"{half}, uncut"], *parts[f"{half}, joined"]]), flush=True)
    for kind in ("uncut", "joined"):
        print(row(f"actions, {kind}", [*parts[f"a, {kind}"], *parts[f"b, {kind}"]]), flush=True)
    print(row("actions", [video for videos in parts.values() for video in videos]), flush=True)
    natural = [*natural_films(held_out=False), *natural_films(held_out=True)]
    print(row("natural moments", see({film.path: film.truth for film in natural})), flush=True)
    films = ten_films(options.joined)
    for kind in KINDS:
        print(row(f"joined clips, {kind}", see({film: truth_of(film, kind) for film in films})), flush=True)


if __name__ == "__main__":
    main()
