"""Measure what the trained moment models lose in real footage with another query, or another film.

    python -m docs.benchmarks.exchanged FOLDER [--model mrnet] [--model FILE ...]

The ten joined films of `grounding`, asked by caption for the clips that chose no setting; each model answers
by itself. "Another query" is the next one about another clip, "another film" the next of the ten, which joins
the same clips in another order. The right moments stay those of the query and the film: where nothing is
lost, the model does not read it. Per cent; 95 % intervals of a bootstrap over clips, the last column of the
paired difference from the model's own answers.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, intervals, scored
from docs.benchmarks.joined import embed, names_of, ten_films, truth_of
from docs.benchmarks.states import MODELS
from docs.benchmarks.tables import print_table, with_interval
from vidsum.grounding.chosen_model import EncodedQueries, load_model, locate
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.results.moments import Moment
from vidsum.types import TimeArray

SPACE = "vse"
PARTS = ("", "query", "film")
"""The part of the input that comes from elsewhere."""


def with_queries_of(truth: MomentVideo, half: str) -> MomentVideo:
    """A film with its queries about one half of the clips."""
    names = names_of(half)
    return replace(truth, queries=tuple(query for query in truth.queries if query.qid in names))


def moments_of(model: str, video: ClipEmbeddings, texts: Sequence[str]) -> list[list[Moment]]:
    """The moments of each text by a model alone."""
    request = EncodedQueries(texts, embed_queries(SPACE, texts))
    return [list(answer.moments) for answer in locate(load_model(model), video, request, TOP_K, alone=True)]


def measured(
    model: str, videos: Sequence[ClipEmbeddings], truths: Sequence[MomentVideo], part: str
) -> TimeArray:
    """[Q, 4] measures of all queries (`grounding.measures`), with a part of the input from elsewhere."""
    seen = [*videos[1:], videos[0]] if part == "film" else videos
    answered = {}
    for video, truth in zip(seen, truths, strict=True):
        texts = [query.text for query in truth.queries]  # one for each clip
        queries = [*texts[1:], texts[0]] if part == "query" else texts
        answered[truth.name] = moments_of(model, video, queries)
    return scored({truth.name: truth for truth in truths}, answered)


def main() -> None:
    """Print a row for each model and part."""
    parser = argument_parser(__doc__, "folder", small="films --model mrnet")
    parser.add_argument("--model", action="append", help="default: those that ship")
    options = parser.parse_args()
    films = ten_films(options.folder)
    videos = [embed(film, SPACE) for film in films]
    truths = [with_queries_of(truth_of(film, "query"), "odd") for film in films]
    clips = [query.qid for truth in truths for query in truth.queries]

    def cells_of(model: str) -> list[list[str]]:
        rows = {part: measured(model, videos, truths, part) for part in PARTS}
        cells = []
        for part, figures in rows.items():
            of_all = 100 * np.column_stack([figures[:, [0, 3]], figures[:, 0] - rows[""][:, 0]])
            means, ends = intervals(of_all, clips)
            shown = [with_interval(*cell, 1) for cell in zip(means, ends.T, strict=True)]
            cells.append([f"{model}, another {part}" if part else model, *shown])
        return cells

    heads = ("model", "R@1 IoU .5", "mIoU", "R@1 IoU .5 less its own")
    print_table(heads, (row for model in options.model or MODELS for row in cells_of(model)))


if __name__ == "__main__":
    main()
