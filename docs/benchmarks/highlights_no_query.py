"""How well sources of saliency tell footage from dull segments, with no query.

    python -m docs.benchmarks.highlights_no_query FOLDER [--half odd] [--seeds 10 11 12 13 14]

Films of real and dull footage are made in FOLDER, one a seed (`docs.benchmarks.dull_footage` says what they
show and which grade that has). The network and the rule were chosen on `--half even --seeds 0 1 2 3 4`. Of
clips of 2 s: AP and HIT@1 as QVHighlights has them, a clip being right that shows footage for half its time
or more, and Spearman's rho with the grades.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.dull_footage import FOOTAGE, HALVES, GradedFilm, graded_film
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum import extract
from vidsum.grounding.windows import to_grid
from vidsum.lab.datasets.timed_sentences import CLIP_S
from vidsum.lab.evaluation.highlight_metrics import best_clip_hits, clip_precisions
from vidsum.lab.evaluation.summary_metrics import spearman_rho
from vidsum.pipelines.highlights import find_highlights
from vidsum.summary.importance import SCORERS
from vidsum.types import FloatArray

_SOURCES = (
    ("highlights", "efficientnet_lite0"),
    ("highlights", "i3d"),
    ("random", "efficientnet_lite0"),
    ("uniform", "efficientnet_lite0"),
)


def curves(film: GradedFilm, sources: Sequence[tuple[str, str]]) -> dict[str, FloatArray]:
    """The saliency [C] of the clips of a film by each source."""
    default = find_highlights(film.path).saliency
    rows = {"ridge, efficientnet_lite0 (default)": default}
    times = np.arange(len(default)) * CLIP_S
    for scorer, extractor in sources:
        features = extract(film.path, extractor=extractor)
        curve = SCORERS[scorer](features, 0)
        rows[f"{scorer}, {extractor}"] = to_grid(curve[:, None], features, times, CLIP_S)[:, 0]
    return rows


def measures(film: GradedFilm, curve: FloatArray) -> tuple[float, float, float]:
    """AP, HIT@1 and rho of a curve [C] of a film."""
    n_clips = len(curve)
    right = film.shares(CLIP_S, FOOTAGE)[:n_clips] >= 0.5
    precision = clip_precisions(curve[None], right[None, None])[0, 0]
    hit = best_clip_hits(curve[None], right[None, None])[0, 0]
    rho = spearman_rho(curve[None], film.grades(CLIP_S)[None, :n_clips])[0, 0]
    return float(precision), float(hit), float(rho)


def cells(rows: Mapping[str, Sequence[tuple[float, float, float]]]) -> Iterator[list[str]]:
    """The rows of the table, with the interval of AP over films."""
    for name, of_films in rows.items():
        precisions = [ap for ap, *_ in of_films]
        ap = with_interval(float(np.mean(precisions)), bootstrap(precisions))
        hit, rho = np.mean(of_films, axis=0)[1:]
        yield [name, ap, f"{hit:.2f}", f"{rho:.2f}"]


def main() -> None:
    """Print the table."""
    small = "films --seconds 12 --seeds 10 --extractor efficientnet_lite0"
    parser = argument_parser(__doc__, "folder", small=small)
    parser.add_argument("--half", choices=HALVES, default="odd")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10, 15))
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--extractor", nargs="+", default=["efficientnet_lite0", "i3d"])
    options = parser.parse_args()
    sources = [source for source in _SOURCES if source[1] in options.extractor]
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for seed in options.seeds:
        film = graded_film(options.folder, options.half, seed, options.seconds)
        for name, curve in curves(film, sources).items():
            rows.setdefault(name, []).append(measures(film, curve))
    print_table(["source", "AP", "HIT@1", "rho"], cells(rows))


if __name__ == "__main__":
    main()
