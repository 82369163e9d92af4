"""How well moments are found in natural footage, whose moments were annotated (natural_moments.json).

    python -m docs.benchmarks.natural [--model mrnet] [--model qd-detr]

Tables for the clips that were looked at when the rule was chosen, for those held out, and for all. "Shots
alone" ranks KTS shots by the mean of the curve, and knows nothing else. The baselines are the whole video,
random moments, and the fifths of the video, the middle one first. Per cent; 95 % intervals of a bootstrap
over clips; the last column is the paired difference from similarity in R@1 IoU .5.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docs.benchmarks import SAMPLE, argument_parser
from docs.benchmarks.grounding import TOP_K, Answers, answers, table
from docs.benchmarks.joined import FIRST, embed
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries, similarity
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query
from vidsum.results.moments import Moment
from vidsum.types import FloatArray
from vidsum.video.probe import probe

SPACE = "vse"
_NOTES = Path(__file__).with_name("natural_moments.json")
_FIFTHS = (2, 1, 3, 0, 4)


@dataclass(frozen=True)
class Film:
    """Footage that nobody joined, with its annotated moments."""

    path: Path
    truth: MomentVideo


def natural_films(*, held_out: bool) -> list[Film]:
    """The footage that settings were chosen by, or the rest; of what is here."""
    listed = json.loads(_NOTES.read_text())["videos"]
    films = []
    for video in (entry for entry in listed if entry.get("held_out", False) == held_out):
        name = Path(video["file"])
        path = SAMPLE / name.name if name.parts[0] == "sample" else FIRST / name
        if not path.exists():
            print(f"left out because it is not here: {path.name}", file=sys.stderr)
            continue
        duration_s = probe(path).duration_s
        moments = [
            (moment["query"], tuple((a, b) for a, b in moment["windows"])) for moment in video["moments"]
        ]
        queries = tuple(Query(name.name, text, name.stem, duration_s, windows) for text, windows in moments)
        films.append(Film(path, MomentVideo(name.stem, duration_s, queries)))
    return films


def by_shots(video: ClipEmbeddings, curve: FloatArray) -> list[Moment]:
    """The shots of a video, ranked by the mean of a curve [T] over the clips that begin in them."""
    assert video.shots_s is not None
    shot_of = np.searchsorted(video.shots_s[1:-1], video.timestamps + video.step_s / 2, side="right")
    spans = list(zip(video.shots_s[:-1], video.shots_s[1:], strict=True))
    levels = {shot: float(curve[shot_of == shot].mean()) for shot in np.unique(shot_of).tolist()}
    best = sorted(levels, key=lambda shot: -levels[shot])[:TOP_K]
    return [Moment(*map(float, spans[shot]), levels[shot]) for shot in best]


def fifths(duration_s: float) -> list[Moment]:
    """A video in five equal windows, the middle one first."""
    return [Moment(i * duration_s / 5, (i + 1) * duration_s / 5, -rank) for rank, i in enumerate(_FIFTHS)]


def answered(film: Film, models: Sequence[str], precision: str) -> Answers:
    """The moments of each query of a video, by each row of the table."""
    texts = [query.text for query in film.truth.queries]
    video = embed(film.path, SPACE, precision)
    rows = answers({SPACE: video}, texts, models)
    curves = similarity(video, embed_queries(SPACE, texts))
    rows[f"{SPACE}: similarity, shots alone"] = [by_shots(video, curve) for curve in curves]
    return {**rows, "fifths": [fifths(video.duration_s)] * len(texts)}


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, small="")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    looked_at, held_out = natural_films(held_out=False), natural_films(held_out=True)
    rows: dict[str, dict[str, list[list[Moment]]]] = {}
    for film in [*looked_at, *held_out]:
        for row, moments in answered(film, ["similarity", *options.model], options.precision).items():
            rows.setdefault(row, {})[film.truth.name] = moments
    groups = {"looked at": looked_at, "held out": held_out, "all": [*looked_at, *held_out]}
    for name, films in groups.items():
        truths = {film.truth.name: film.truth for film in films}
        print(f"{name}, {table(truths, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
