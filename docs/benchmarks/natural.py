"""How well moments are found in natural footage, whose moments were annotated (natural_moments.json).

    python -m docs.benchmarks.natural [--model mrnet] [--model qd-detr]

Tables for the clips that were looked at when the rule was chosen, for those held out, and for all. "Contrast"
knows no shots, "shots alone" knows nothing else: it ranks KTS shots by the mean of the curve. The baselines
are the whole video, random moments, and the fifths of the video, the middle one first. The second table of
each has the difference from the default. Per cent; 95 % intervals of a bootstrap over clips.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, Answers, answers, resampled, scored, table
from docs.benchmarks.joined import Film, embed, natural_films
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries, similarity
from vidsum.lab.evaluation.submissions import MomentPredictions
from vidsum.results.moments import Moment
from vidsum.types import FloatArray

SPACE = "vse"
DEFAULT = f"{SPACE}: similarity"
_FIFTHS = (2, 1, 3, 0, 4)


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


def differences(films: Sequence[Film], rows: Mapping[str, MomentPredictions]) -> str:
    """By how much each row beats the default in R@1 IoU .5, in Markdown."""
    truths = {film.truth.name: film.truth for film in films}
    clips = [query.qid for truth in truths.values() for query in truth.queries]
    lines = ["| less the default | R@1 IoU .5 | R@5 IoU .5 |", "|---|---|---|"]
    for name, of_row in rows.items():
        more = 100 * (scored(truths, of_row) - scored(truths, rows[DEFAULT]))
        low, high = np.percentile(resampled(more, clips), [2.5, 97.5], axis=0)
        cells = [f"{more[:, n].mean():+.1f} [{low[n]:.0f}, {high[n]:.0f}]" for n in (0, 2)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--model", action="append", default=["similarity"])
    options = parser.parse_args()
    looked_at, held_out = natural_films(held_out=False), natural_films(held_out=True)
    rows: dict[str, dict[str, list[list[Moment]]]] = {}
    for film in [*looked_at, *held_out]:
        for row, moments in answered(film, options.model, options.precision).items():
            rows.setdefault(row, {})[film.truth.name] = moments
    groups = {"looked at": looked_at, "held out": held_out, "all": [*looked_at, *held_out]}
    for name, films in groups.items():
        truths = {film.truth.name: film.truth for film in films}
        print(f"{name}, {table(truths, rows)}\n\n{differences(films, rows)}\n", flush=True)


if __name__ == "__main__":
    main()
