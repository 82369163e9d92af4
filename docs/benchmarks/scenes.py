"""Whether queries are true of clips that chose nothing (scenes.json), and the curves of the probability.

    python -m docs.benchmarks.scenes SCENES --actions CLIPS

SCENES has the clips of scenes.json, CLIPS those of action_moments.json, by the names that they have there.
Films are joined in memory, of some seconds of each of 14 to 20 clips. First come the clips and queries that
the curves are fitted to: in ten folds without the clip that a query is of, and by the curves that ship. Then
the scenes, by the curves that ship. True and absent queries count alike; in brackets are 95 % of a bootstrap
over the clips that the queries are of. The last lines are the curves fitted to all but the scenes.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.action_moments import noted_videos, path_of
from docs.benchmarks.joined import KINDS, embed, known_clips, notes, one_after_another
from docs.benchmarks.judged import Action, JudgedQuery, truth_about
from docs.benchmarks.presence import (
    background,
    best_evidence,
    cross_fitted,
    embed_one,
    fit_curve,
    print_kinds,
    print_words,
    shipped,
)
from vidsum.evidence.match_probability import NAMED, commonness
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings

_NOTES = Path(__file__).with_name("scenes.json")
_FILMS = 24
_CLIP_S = (3, 9)  # seconds of a clip in a film
_WITHOUT = 4  # number of the measure without actions

Truth = Callable[[int, set[str]], bool | None]
"""Whether a query, by its number, is true of a video of some clips; None where that is unclear."""


@cache
def clip(path: Path) -> ClipEmbeddings:
    """A clip in `vse`."""
    return embed(path, "vse", "auto")


def part_of(video: ClipEmbeddings, rng: random.Random) -> ClipEmbeddings:
    """Some seconds of a clip, with the edges of its shots."""
    length = min(rng.randint(*_CLIP_S), len(video))
    first = rng.randint(0, len(video) - length)
    span = slice(first, first + length)

    def cut(mixture: ClassMixture | None) -> ClassMixture | None:
        return mixture and replace(mixture, probabilities=mixture.probabilities[span])

    edges_s = video.shots_s if video.shots_s is not None else np.zeros(0)
    inside_s = edges_s[(edges_s > first) & (edges_s < first + length)] - first
    shots_s = np.array([0, *inside_s, length])
    times, whole_s = np.arange(float(length)), np.array([0.0, length])
    objects, actions = cut(video.objects), cut(video.actions)
    return ClipEmbeddings(video.rows[span], times, 1.0, length, objects, shots_s, None, whole_s, actions)


def film_of(paths: Sequence[Path], seed: int, most: int) -> tuple[ClipEmbeddings, set[str]]:
    """A film of up to `most` clips that last three seconds or more, and their file names."""
    rng = random.Random(seed)
    long = [path for path in paths if len(clip(path)) >= _CLIP_S[0]]
    chosen = rng.sample(long, min(most, len(long) * 3 // 4))
    film, _ = one_after_another([part_of(clip(path), rng) for path in chosen], [])
    return film, {path.name for path in chosen}


def ask(
    source: str, video: ClipEmbeddings, files: set[str], queries: Sequence[JudgedQuery], is_true: Truth
) -> list[JudgedQuery]:
    """Queries of a video of some clips, without those of which the truth is unclear."""
    vectors = np.stack([embed_one(query.text) for query in queries])
    whole, without = (best_evidence(part, vectors) for part in (video, replace(video, actions=None)))
    common, none = commonness(background(), vectors), np.zeros(len(vectors), np.float32)
    answers = []
    for number, *values in zip(count(), whole, none, none, common, without):  # as presence.measure
        truth = is_true(number, files)
        if truth is not None:
            measures = tuple(map(float, values))
            answers.append(queries[number]._replace(source=source, is_true=truth, measures=measures))
    return answers


def ask_known() -> list[JudgedQuery]:
    """The queries of the shared clips, of films joined from them and of each by itself."""
    clips = known_clips()
    paths = [Path(known["file"]) for known in clips]
    pairs = [(kind, known) for kind in KINDS for known in clips if known.get(kind)]
    queries = [
        JudgedQuery("", kind, known[kind], Path(known["file"]).name, is_true=False, measures=())
        for kind, known in pairs
    ]
    fits: dict[str, list[str]] = notes()["fits"]

    def is_true(number: int, files: set[str]) -> bool:
        query = queries[number]
        others = fits.get(query.text, ()) if query.kind == "short" else ()
        return bool(files & {query.group, *others})

    answers = []
    for seed in range(_FILMS):
        answers += ask("film", *film_of(paths, seed, 20), queries, is_true)
    for path in paths:
        answers += ask("clip", clip(path), {path.name}, queries, is_true)
    return answers


def ask_about_actions(extra: Path) -> list[JudgedQuery]:
    """The queries about actions, of uncut videos, and of films joined from the clips of a half."""
    videos = [(path_of(video["file"], extra), video) for video in noted_videos()]
    videos = [(path, video) for path, video in videos if path.exists()]
    actions = [
        Action(
            path.name,
            query["query"],
            {*(query["kinetics"] or [query["query"]])},
            {*query.get("also", ())},
            whole,
        )
        for path, video in videos
        for whole, queries in ((False, video["moments"]), (True, video["whole"]))
        for query in queries
    ]
    queries = [
        JudgedQuery("", "action", action.text, action.video, is_true=False, measures=()) for action in actions
    ]

    def truth_in(*, is_film: bool) -> Truth:
        def is_true(number: int, files: set[str]) -> bool | None:
            action = actions[number]
            if is_film and not action.is_whole:
                return None
            near = {name for other in actions if other.is_in(files) for name in other.classes}
            return True if action.is_in(files) else None if action.classes & near else False

        return is_true

    answers = []
    for path, _ in videos:
        answers += ask("uncut", clip(path), {path.name}, queries, truth_in(is_film=False))
    for seed in range(_FILMS):
        half = [path for path, video in videos if video["whole"] and video["half"] == "ab"[seed % 2]]
        answers += ask("action film", *film_of(half, seed, 18), queries, truth_in(is_film=True))
    return answers


def ask_scenes(folder: Path) -> list[JudgedQuery]:
    """The queries of scenes.json, of each clip by itself and of films joined from them."""
    noted: dict[str, Any] = json.loads(_NOTES.read_text())
    paths = [folder / listed["file"] for listed in noted["clips"]]
    queries = [
        JudgedQuery(
            "", query["kind"], query["query"], (*query["true"], query["query"])[0], is_true=False, measures=()
        )
        for query in noted["queries"]
    ]

    def is_true(number: int, files: set[str]) -> bool | None:
        query = noted["queries"][number]
        return True if files & {*query["true"]} else None if files & {*query["unclear"]} else False

    answers = []
    for path in paths:
        answers += ask("scene", clip(path), {path.name}, queries, is_true)
    for seed in range(_FILMS):
        answers += ask("scene film", *film_of(paths, seed, 14), queries, is_true)
    return answers


def print_all(answers: Sequence[JudgedQuery], probabilities: dict[str, npt.NDArray[np.float64]]) -> None:
    """Print accuracy, calibration and words."""
    print_kinds(answers, probabilities)
    for name, said in probabilities.items():
        print(f"\n{name}:")
        print_words(answers, said)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "scenes")
    parser.add_argument("--actions", type=Path, required=True, help="clips of other repositories")
    options = parser.parse_args()
    answers = ask_known() + ask_about_actions(options.actions)
    scenes = ask_scenes(options.scenes)
    by_shipped = {"shipped": shipped(answers, 0), "shipped, without actions": shipped(answers, _WITHOUT)}
    print_all(answers, {"in folds": cross_fitted(answers, 0), **by_shipped})
    print_all(scenes, {"shipped": shipped(scenes, 0), "shipped, without actions": shipped(scenes, _WITHOUT)})
    for rule in NAMED:
        rows = np.flatnonzero([answer.rule == rule for answer in answers])
        curve = fit_curve(answers, truth_about(answers), rows, 0)
        print(f"{rule}: Curve({', '.join(f'{value:.2f}' for value in curve)})")


if __name__ == "__main__":
    main()
