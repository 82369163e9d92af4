"""An image-text space whose weights are here: what it finds, and whether the match probability fits it.

    python -m docs.benchmarks.spaces NAME [--films FOLDER] [--photographs FOLDER]

The first table has the per cent of queries whose clip is first, or among the first five, of the 40 clips
(cosine with the mean of a clip's rows), and of sentences whose photograph is, among Flickr8k's held-out ones
(`--photographs`, one sentence each). The second has AUC and calibration error of the probability as it ships,
for the queries of docs.benchmarks.judged; `--films` keeps the joined films. In brackets are 95 % of a
bootstrap over clips, photographs or words.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import KINDS, embed, known_clips
from docs.benchmarks.judged import (
    JudgedQuery,
    ask_films,
    ask_photographs,
    auc,
    calibration_error,
    held_out,
    rows_of,
    truth_about,
    with_interval,
)
from vidsum.evidence.match_probability import (
    Condition,
    background_phrases,
    kind_of,
    match_windows,
    prepare_queries,
    usual_of,
)
from vidsum.grounding.spaces import ClipEmbeddings, describe_space
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, TimeArray

_DRAWS = 1000


class Encoders(NamedTuple):
    """Encoders of videos, images and texts in one space."""

    video: Callable[[Path], ClipEmbeddings]
    images: Callable[[Sequence[Path]], FloatArray]
    texts: Callable[[Sequence[str]], FloatArray]


def encoders_of(name: str) -> Encoders:
    """Return the encoders of a vidsum space, by its name."""
    space = describe_space(name)
    return Encoders(lambda path: embed(path, name, "auto"), space.encode_images, space.encode_texts)


def ranks(texts: FloatArray, pictures: FloatArray, own: Sequence[int]) -> TimeArray:
    """[M] the rank, from 0, of the own picture of each text [M, D] among pictures [N, D]."""
    similarities = texts @ pictures.T
    return np.asarray(
        (similarities > similarities[np.arange(len(own)), own][:, None]).sum(axis=1), np.float64
    )


def recall(found: TimeArray, most: int) -> str:
    """The per cent of ranks below `most`, with its interval."""
    hits = 100.0 * (found < most)
    draws = np.random.default_rng(0).choice(hits, (_DRAWS, len(hits))).mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{hits.mean():.1f} [{low:.0f}, {high:.0f}]"


def retrieve_clips(encoders: Encoders) -> dict[str, TimeArray]:
    """The ranks of the shared clips, by kind of query."""
    clips = known_clips()
    pictures = unit_rows(np.stack([encoders.video(Path(clip["file"])).rows.mean(axis=0) for clip in clips]))
    found = {}
    for kind in KINDS:
        own = [number for number, clip in enumerate(clips) if clip.get(kind)]
        found[f"clips: {kind}"] = ranks(encoders.texts([clips[n][kind] for n in own]), pictures, own)
    return found


def probabilities(
    encoders: Encoders, background: FloatArray, video: ClipEmbeddings, texts: Sequence[str]
) -> list[FloatArray]:
    """The probability of each text in a video."""
    names = [part.names if part else None for part in (video.objects, video.actions)]
    queries = prepare_queries([*map(kind_of, texts)], encoders.texts(texts), background, *names)
    matches = match_windows(video, queries, usual_of(video, background))
    return [np.exp([Condition((number,)).log_present(matches.logits).max() for number in range(len(texts))])]


def photograph_videos(rows: FloatArray) -> Callable[[Sequence[int]], ClipEmbeddings]:
    """Videos of some photographs [N, D], three clips of each."""

    def video(numbers: Sequence[int]) -> ClipEmbeddings:
        edges_s = np.arange(0.0, len(numbers) + 1, 3)
        times = np.arange(float(len(numbers)))
        return ClipEmbeddings(rows[list(numbers)], times, 1.0, float(len(numbers)), shots_s=edges_s)

    return video


def measure_space(encoders: Encoders, films: Path, photographs: Path | None) -> list[str]:
    """The lines of both tables."""
    found = retrieve_clips(encoders)
    measure = partial(probabilities, encoders, encoders.texts(background_phrases()))
    answers: list[JudgedQuery] = ask_films(films, encoders.video, measure)
    if photographs is not None:
        sentences = held_out(photographs)
        pictures = encoders.images([photographs / name for name in sentences])
        first = encoders.texts([texts[0] for texts in sentences.values()])
        found["photographs"] = ranks(first, pictures, range(len(pictures)))
        answers += ask_photographs(sentences, photograph_videos(pictures), measure)
    lines = ["| | queries | R@1 | R@5 |", "|---|---|---|---|"]
    lines += [f"| {name} | {len(row)} | {recall(row, 1)} | {recall(row, 5)} |" for name, row in found.items()]
    lines += ["", "| | queries | AUC | calibration error |", "|---|---|---|---|"]
    whole, said = truth_about(answers), np.array([answer.measures[0] for answer in answers])
    for source, kind in dict.fromkeys((answer.source, answer.kind) for answer in answers):
        rows = rows_of(answers, source, kind)
        cells = [with_interval(test, whole.take(rows), said[rows]) for test in (auc, calibration_error)]
        lines.append(f"| {source}: {kind} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, small="vse --films films")
    parser.add_argument("name")
    parser.add_argument("--films", type=Path, default=Path("films"))
    parser.add_argument("--photographs", type=Path)
    options = parser.parse_args()
    print("\n".join(measure_space(encoders_of(options.name), options.films, options.photographs)))


if __name__ == "__main__":
    main()
