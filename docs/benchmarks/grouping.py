"""What the grouping of curves into moments was chosen by: composites of real clips, whose moments are known.

    python -m docs.benchmarks.grouping FOLDER [--clips even] [--seeds 0 1 2 3 4] [--model mrnet]

FOLDER is that of `docs.benchmarks.grounding`, which makes the composites. They are asked as they are; drawn
out in time, each clip of a second standing for four or ten; and, for each query and each of the first three
videos, with all videos one after the other, six times, where only one moment of the query is left.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, by_curve, table
from docs.benchmarks.joined import FIRST, HALVES, composite, embed
from vidsum import ground
from vidsum.datasets.moments import MomentVideo, Query
from vidsum.grounding import find as locate
from vidsum.grounding.conse import ClassMixture
from vidsum.grounding.proposals import Grouping
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, curves_of, embed_queries, of_mixtures
from vidsum.types import FloatArray, Moment

SECONDS, RARE_TIMES, RARE_VIDEOS = 120, 6, 3
Asked = tuple[ClipEmbeddings, MomentVideo]
Way = Callable[[ClipEmbeddings, locate.Request, FloatArray], list[list[Moment]]]
"""A video, its M queries and their curves [M, T] to the moments of each."""


def by(grouping: Grouping) -> Way:
    """A rule that groups curves."""
    return lambda video, queries, curves: by_curve(video, curves, grouping)


def by_model(name: str) -> Way:
    """A trained model."""
    return lambda video, queries, curves: [
        list(one.moments) for one in locate.locate(name, video, queries, TOP_K)
    ]


def drawn_out(video: ClipEmbeddings, truth: MomentVideo, times: int) -> Asked:
    """Each clip so many times."""
    queries = tuple(
        replace(
            one,
            duration_s=times * one.duration_s,
            windows=tuple((times * start, times * end) for start, end in one.windows),
        )
        for one in truth.queries
    )
    chances = [np.repeat(one.probabilities, times, axis=0) for one in video.mixtures]
    return made_of(chances, video), MomentVideo(truth.name, times * truth.duration_s, queries)


def rare(videos: Sequence[Asked]) -> Iterator[Asked]:
    """For each query of each of the first videos: all videos, again and again, with one moment of it."""
    for kept in range(RARE_VIDEOS):
        for query in videos[kept][1].queries:
            yield _with_one_moment(videos, kept, query)


def _with_one_moment(videos: Sequence[Asked], kept: int, query: Query) -> Asked:
    parts: list[list[FloatArray]] = [[] for _ in videos[0][0].mixtures]
    length, window = 0, (0.0, 0.0)
    for turn in range(RARE_TIMES):
        for number, (video, truth) in enumerate(videos):
            stays = np.ones(len(video), np.bool_)
            windows = next(one.windows for one in truth.queries if one.text == query.text)
            for start, end in windows:
                stays[int(start) : int(np.ceil(end))] = False
            if (turn, number) == (RARE_TIMES // 2, kept):
                start, end = windows[0]
                stays[int(start) : int(np.ceil(end))] = True
                begin = length + int(stays[: int(start)].sum()) + start - int(start)
                window = (begin, begin + end - start)
            for part, one in zip(parts, video.mixtures, strict=True):
                part.append(one.probabilities[stays])
            length += int(stays.sum())
    name = f"{query.text} {kept}"
    truth = MomentVideo(name, float(length), (Query("", query.text, name, float(length), (window,)),))
    return made_of([np.concatenate(part) for part in parts], videos[0][0]), truth


def made_of(chances: Sequence[FloatArray], like: ClipEmbeddings) -> ClipEmbeddings:
    """A video of these clips, seen by the same networks."""
    mixtures = [ClassMixture(rows, one.names) for rows, one in zip(chances, like.mixtures, strict=True)]
    n_clips = len(chances[0])
    return of_mixtures(mixtures, np.arange(n_clips) * STEP_S, n_clips * STEP_S)


Answers = dict[str, dict[str, list[list[Moment]]]]
"""Name of the row -> name of the video -> moments of each query."""


def answered(videos: Sequence[Asked], ways: dict[str, Way]) -> Answers:
    """The moments of some videos by all ways."""
    rows: Answers = {name: {} for name in ways}
    for video, truth in videos:
        texts = [one.text for one in truth.queries]
        queries = locate.Request(texts, embed_queries("conse", texts))
        curves = curves_of(video, queries.vectors)[:, -1]
        for name, way in ways.items():
            rows[name][truth.name] = way(video, queries, curves)
    return rows


def snapped(films: Sequence[tuple[Path, MomentVideo]], models: Sequence[str]) -> Answers:
    """The moments with their edges moved to those of near shots."""
    rows: Answers = {}
    for model in models:
        for path, truth in films:
            texts = [one.text for one in truth.queries]
            found = ground(path, texts, TOP_K, model=model, space="conse", snap="kts")
            moments = [list(one.moments) for one in found.queries]
            rows.setdefault(f"{model}, --snap kts", {})[truth.name] = moments
    return rows


def shown(heading: str, videos: Sequence[Asked], rows: Answers) -> None:
    """Print a table."""
    print(f"{heading}: {table({truth.name: truth for _, truth in videos}, rows)}\n", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clips", choices=HALVES, default="even")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    films = [composite(options.folder, options.clips, SECONDS, seed, (FIRST,)) for seed in options.seeds]
    videos = [(embed(path, "conse"), truth) for path, truth in films]
    ways = {"hybrid": by("hybrid"), "contrast": by("contrast"), "shots": by("shots")}
    ways |= {name: by_model(name) for name in options.model}
    shown("As they are", videos, answered(videos, ways) | snapped(films, ["similarity", *options.model]))
    for times in (4, 10):
        drawn = [drawn_out(video, truth, times) for video, truth in videos]
        shown(f"Drawn out {times} times", drawn, answered(drawn, ways))
    alone = list(rare(videos))
    shown("Rare", alone, answered(alone, ways))


if __name__ == "__main__":
    main()
