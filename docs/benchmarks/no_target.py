"""Does anything tell whether a query matches a video at all: the score of the best moment, or `present`?

    python -m docs.benchmarks.no_target FOLDER [--seeds 0 1 ... 9] [--kinds query ...] [--model mrnet ...]

The joined films of docs/benchmarks/grounding.py are asked for the captions (or paraphrases, or short queries)
of all clips: of those that they show, and of those that are absent. They are also asked for captions that are
nearly true: one thing is changed in that of a clip that is shown. `present, one clip` asks each clip by
itself, as a video of its own, for all of them. `--steps` adds evidence that is not yet that of `present`: the
largest mean of three clips of the curve, of the log-likelihoods, and of those against background clips.
Prints, for each row:

AUC     area under the ROC curve (.5 is chance) against absent queries, and against those nearly true
5, 10   per cent of the true queries that score higher than all but 5 or 10 per cent of the absent ones
ECE     expected calibration error of a probability: mean distance, over ten bins, from the fraction true
scores  quartiles for queries that are true, absent, nearly true

Intervals are of a bootstrap over clips, 95 per cent.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score, roc_curve

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import HALVES, KINDS, composite, embed, known_clips, names_of, notes
from vidsum.checkpoints import sha256_of
from vidsum.grounding.conse import ClassMixture, log_likelihood
from vidsum.grounding.find import Request, locate, model_for
from vidsum.grounding.presence import NAME, against_clips, largest_means, load_background, probabilities
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, embed_queries, of_mixtures, similarity
from vidsum.types import FloatArray

SPACE = "conse"
_DRAWS = 500
_SHORTEST = 3
"""Clips of the grid: a shorter segment of a film is not asked by itself."""
_BINS = 10
SHOWN, ABSENT, NEAR = "shown", "absent", "nearly true"


class Scored(NamedTuple):
    """A query of a video."""

    kind: str
    """Whether it is true."""
    name: str
    """The clip that it is about: the bootstrap draws clips."""
    score: float


class Asked(NamedTuple):
    """Queries for all films."""

    names: Sequence[str]
    """The clip that each is about."""
    true_of: Sequence[set[str]]
    """The clips that each is true of; none of those that are nearly true."""
    request: Request


def queries_of(half: str, kind: str) -> Asked:
    """The queries of a kind of a half of the clips; beside the captions, those that are nearly true."""
    fits, kept = notes()["fits"] if kind == "short" else {}, names_of(half)
    own = [(Path(clip["file"]).name, clip[kind]) for clip in known_clips() if clip.get(kind)]
    rows = [(name, {name, *fits.get(text, ())}, text) for name, text in own]
    rows += [(name, set(), text) for name, text in notes()["near"].items() if kind == "query"]
    names, true_of, texts = zip(*(row for row in rows if row[0] in kept), strict=True)
    return Asked(names, true_of, Request(texts, embed_queries(SPACE, texts)))


def judged(asked: Asked, scores: Sequence[float], present: set[str]) -> Iterator[Scored]:
    """The queries of a video that shows the clips `present`, less those nearly true of what is absent."""
    for name, true_of, score in zip(asked.names, asked.true_of, scores, strict=True):
        if true_of:
            yield Scored(SHOWN if true_of & present else ABSENT, name, score)
        elif name in present:
            yield Scored(NEAR, name, score)


def likely(video: ClipEmbeddings, asked: Asked) -> list[float]:
    """How likely each query is true of a video."""
    found = probabilities(video, asked.request.vectors)
    assert found is not None
    return found.astype(float).tolist()


def steps_of(video: ClipEmbeddings, asked: Asked) -> dict[str, list[float]]:
    """The scores of evidence that is not, or not yet, that of `present`."""
    vectors = asked.request.vectors
    curves = {
        "standardised within the video": similarity(video, vectors),
        "raw": np.sum([log_likelihood(mixture, vectors) for mixture in video.mixtures], axis=0),
        "against background clips": against_clips(video, vectors, load_background(sha256_of(NAME))),
    }
    return {row: largest_means(each).tolist() for row, each in curves.items()}


def single_clips(film: Path, video: ClipEmbeddings) -> dict[str, ClipEmbeddings]:
    """The segments of a film as videos of their own, by the name of their clip."""
    clips = {}
    for moment in json.loads(film.with_suffix(".json").read_text())["moments"]:
        inside = slice(int(np.ceil(moment["start"] / STEP_S)), int(moment["end"] / STEP_S))
        times = video.timestamps[: inside.stop - inside.start]
        if len(times) >= _SHORTEST:
            mixtures = [ClassMixture(each.probabilities[inside], each.names) for each in video.mixtures]
            clips[Path(moment["file"]).name] = of_mixtures(mixtures, times, len(times) * STEP_S)
    return clips


def kept_at(fraction: float) -> Callable[[npt.NDArray[np.bool_], FloatArray, FloatArray], float]:
    """The measure: the fraction of true queries above all but a fraction of the false ones."""

    def measure(is_true: npt.NDArray[np.bool_], scores: FloatArray, weights: FloatArray) -> float:
        false, true, _ = roc_curve(is_true, scores, sample_weight=weights)
        return float(np.interp(fraction, false, true))

    return measure


def calibration_error(is_true: npt.NDArray[np.bool_], scores: FloatArray, weights: FloatArray) -> float:
    """Expected calibration error (Naeini, Cooper and Hauskrecht 2015), with bins of equal width."""
    bins = np.minimum((scores * _BINS).astype(np.int64), _BINS - 1)
    distance = np.bincount(bins, weights * (scores - is_true), _BINS)
    return float(np.abs(distance).sum() / weights.sum())


def auc(is_true: npt.NDArray[np.bool_], scores: FloatArray, weights: FloatArray) -> float:
    """Area under the ROC curve."""
    return float(roc_auc_score(is_true, scores, sample_weight=weights))


def measured(
    rows: Sequence[Scored],
    against: str,
    measure: Callable[[npt.NDArray[np.bool_], FloatArray, FloatArray], float],
    scale: float = 1.0,
) -> str:
    """A measure of true queries against others, and its interval."""
    rows = [row for row in rows if row.kind in (SHOWN, against)]
    is_true, scores = np.array([row.kind == SHOWN for row in rows]), np.array([row.score for row in rows])
    if is_true.all():
        return ""
    rng, (clips, of) = np.random.default_rng(0), np.unique([row.name for row in rows], return_inverse=True)
    draws = []
    for _ in range(_DRAWS):
        weights = np.bincount(rng.integers(len(clips), size=len(clips)), minlength=len(clips))[of]
        draws.append(scale * measure(is_true, scores, weights.astype(float)))
    low, high = np.percentile(draws, [2.5, 97.5])
    digits = 2 if scale == 1 else 0
    value = scale * measure(is_true, scores, np.ones(len(rows)))
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def table(rows: dict[str, list[Scored]]) -> str:
    """The measures of each row, in Markdown."""
    lines = [
        "| | AUC, absent | AUC, nearly true | kept at 5 % | at 10 % | ECE | true | absent | nearly true |",
        "|---" * 9 + "|",
    ]
    for name, scored in rows.items():
        quartiles = []
        for kind in (SHOWN, ABSENT, NEAR):
            scores = [row.score for row in scored if row.kind == kind]
            quartiles.append(
                " ".join(f"{q:.2f}" for q in np.quantile(scores, [0.25, 0.5, 0.75])) if scores else ""
            )
        error = measured(scored, ABSENT, calibration_error) if name.startswith("present") else ""
        kept = [measured(scored, ABSENT, kept_at(fraction), 100.0) for fraction in (0.05, 0.1)]
        areas = [measured(scored, against, auc) for against in (ABSENT, NEAR)]
        lines.append("| " + " | ".join([name, *areas, *kept, error, *quartiles]) + " |")
    counts = [
        ", ".join(f"{sum(row.kind == kind for row in scored)} {kind}" for kind in (SHOWN, ABSENT, NEAR))
        for scored in rows.values()
    ]
    sizes = "; ".join(f"{name}: {count}" for name, count in zip(rows, counts, strict=True))
    n_clips = len({row.name for scored in rows.values() for row in scored})
    return "\n".join([*lines, "", f"queries of {n_clips} clips: {sizes}"])


def main() -> None:
    """Print a table for each kind of query."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--ask", choices=HALVES, default="all")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--precision", default="bf16")
    parser.add_argument(
        "--quick", action="store_true", help="see motion as `vidsum ground` does without --thorough"
    )
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--model", action="append", default=["similarity"])
    options = parser.parse_args()
    films = [composite(options.folder, "all", 120, seed) for seed in options.seeds]
    videos = [embed(path, SPACE, options.precision, thorough=not options.quick) for path, _ in films]
    alone = {
        name: clip
        for (path, _), video in zip(films, videos, strict=True)
        for name, clip in single_clips(path, video).items()
    }
    for kind in options.kinds:
        asked = queries_of(options.ask, kind)
        rows: dict[str, list[Scored]] = {}
        for (_, truth), video in zip(films, videos, strict=True):
            present = {query.qid for query in truth.queries}
            for model in options.model:
                answers = locate(model_for(model, SPACE)[0], video, asked.request, 1)
                best = [answer.moments[0].score for answer in answers]
                rows.setdefault(model, []).extend(judged(asked, best, present))
            for row, scores in steps_of(video, asked).items() if options.steps else ():
                rows.setdefault(row, []).extend(judged(asked, scores, present))
            rows.setdefault("present", []).extend(judged(asked, likely(video, asked), present))
        for name, clip in sorted(alone.items()):
            rows.setdefault("present, one clip", []).extend(judged(asked, likely(clip, asked), {name}))
        print(f"{kind}, {len(films)} films:\n\n{table(rows)}\n", flush=True)


if __name__ == "__main__":
    main()
