"""Queries that are asked of films, clips and photographs whose contents are known, and their measures.

Each short query of `photograph_queries.json` is asked of groups of 1, 3, 6, 10 and 16 of Flickr8k's held-out
photographs, as is one sentence of up to four of them and as many of others. Each photograph is three clips.
"""

import csv
import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from docs.benchmarks import SHARED
from docs.benchmarks.action_moments import Half, files_in, joined_action_films, present_videos
from docs.benchmarks.joined import KINDS, known_clips, notes, ten_films, truth_of
from vidsum.evidence.match_probability import kind_of
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.types import TimeArray

_WORDS = Path(__file__).with_name("photograph_queries.json")
_GROUP_SIZES = (1, 3, 6, 10, 16)
_DRAWS = 300

Evidence = Callable[[ClipEmbeddings, Sequence[str]], Sequence[npt.NDArray[np.floating]]]
"""Measures [N] of each of N texts in a video, one after another."""


class JudgedQuery(NamedTuple):
    """A query of a video."""

    source: str  # film, clip, photograph, uncut or action film
    kind: str
    text: str
    group: str  # left out together: the clip that it describes, the photograph, or the text
    is_true: bool
    measures: tuple[float, ...]

    @property
    def rule(self) -> str:
        """The kind by the rule of `vidsum.evidence.match_probability`."""
        return kind_of(self.text)


def ask_films(folder: Path, embed: Callable[[Path], ClipEmbeddings], measure: Evidence) -> list[JudgedQuery]:
    """Every query of every clip, of ten films and of each clip by itself."""
    clips = known_clips()
    films = ten_films(folder)
    queries = [
        (kind, clip[kind], Path(clip["file"]).name) for kind in KINDS for clip in clips if clip.get(kind)
    ]
    videos = [("film", film, {query.qid for query in truth_of(film).queries}) for film in films]
    videos += [("clip", Path(clip["file"]), {Path(clip["file"]).name}) for clip in clips]
    answers = []
    for source, path, shown in videos:
        measured = measure(embed(path), [text for _, text, _ in queries])
        for (kind, text, clip), *values in zip(queries, *measured, strict=True):
            fits = notes()["fits"].get(text, ()) if kind == "short" else ()
            is_true = clip in shown or bool(shown & set(fits))
            answers.append(JudgedQuery(source, kind, text, clip, is_true, tuple(map(float, values))))
    return answers


class Action(NamedTuple):
    """A query about an action."""

    video: str  # the file name
    text: str
    classes: set[str]  # of Kinetics that it is near; itself if there is none
    also: set[str]  # other files that show it
    is_whole: bool  # whether the whole clip shows it

    def is_in(self, files: set[str]) -> bool:
        return bool(files & {self.video, *self.also})


def ask_actions(
    folder: Path, extra: Path, embed: Callable[[Path], ClipEmbeddings], measure: Evidence
) -> list[JudgedQuery]:
    """Every query about an action, of each uncut video, and those of whole clips of six joined films.

    These videos and queries chose nothing of the match probability. A query is absent where no action of the
    video is near a class of Kinetics that it is near; other queries are not asked.
    """
    halves: tuple[Half, ...] = ("a", "b")
    videos = [video for half in halves for video in present_videos(half, extra)]
    actions = [
        Action(
            Path(video["file"]).name, query["query"], {*(query["kinetics"] or [query["query"]])}, also, whole
        )
        for _, video in videos
        for whole, queries in ((False, video["moments"]), (True, video["whole"]))
        for query in queries
        for also in [{*query.get("also", ())}]
    ]
    films = [
        film.path for half in halves for film in joined_action_films(folder, half, range(3), extra=extra)
    ]
    rounds = [("uncut", path, {path.name}, actions) for path, _ in videos]
    rounds += [("action film", path, files_in(path), [a for a in actions if a.is_whole]) for path in films]
    answers = []
    for source, path, files, queries in rounds:
        near = {name for action in actions if action.is_in(files) for name in action.classes}
        chosen = [action for action in queries if action.is_in(files) or not action.classes & near]
        measured = measure(embed(path), [action.text for action in chosen])
        for action, *values in zip(chosen, *measured, strict=True):
            is_true, numbers = action.is_in(files), tuple(map(float, values))
            answers.append(JudgedQuery(source, "action", action.text, action.video, is_true, numbers))
    return answers


def held_out(folder: Path) -> dict[str, list[str]]:
    """Sentences of every eighth photograph of Flickr8k in a folder, which trained no map of ours."""
    with gzip.open(SHARED / "data" / "flickr8k" / "captions.csv.gz", "rt") as file:
        sentences = defaultdict(list)
        for row in csv.DictReader(file):
            sentences[row["image"]].append(row["caption"].rstrip(" ."))
    names = sorted(name for name in sentences if (folder / name).is_file())
    return {name: sentences[name] for name in names[::8]}


def ask_photographs(
    sentences: dict[str, list[str]], embed: Callable[[Sequence[int]], ClipEmbeddings], measure: Evidence
) -> list[JudgedQuery]:
    """Short queries and sentences, of groups of photographs, which `embed` gets by their numbers."""
    rng, names = random.Random(0), list(sentences)
    order = rng.sample(range(len(names)), len(names))
    truths = {
        (kind, text): np.array([is_true_of(words, sentences[name]) for name in names])
        for kind, text, words in short_queries()
    }
    own = [rng.choice(sentences[name]) for name in names]
    answers, sizes = [], cycle(_GROUP_SIZES)
    while order:
        size = next(sizes)
        photographs, order = order[:size], order[size:]
        others = rng.sample(sorted({*range(len(names))} - {*photographs}), min(4, len(photographs)))
        queries: list[tuple[str, str, str, bool]] = []
        for (kind, text), truth in truths.items():
            of_these = truth[photographs]
            if (of_these == 1).any() or (of_these == 0).all():
                queries.append((kind, text, text, bool((of_these == 1).any())))
        queries += [("sentence", own[n], names[n], True) for n in photographs[:4]]
        queries += [("sentence", own[n], names[n], False) for n in others]
        measured = measure(embed(np.repeat(photographs, 3).tolist()), [text for _, text, *_ in queries])
        for (kind, text, group, is_true), *values in zip(queries, *measured, strict=True):
            answers.append(JudgedQuery("photograph", kind, text, group, is_true, tuple(map(float, values))))
    return answers


Words = tuple[list[set[str]], set[str]]
"""Groups of words of which a sentence needs one each, and related words."""


def short_queries() -> list[tuple[str, str, Words]]:
    """Kind, text and words of the short queries."""
    read: dict[str, Any] = json.loads(_WORDS.read_text())
    queries: list[tuple[str, str, Words]] = []
    for noun, related in read["nouns"].items():
        queries.append(("noun", noun, ([_inflected(noun)], set(related))))
    for text, words in read["actions"].items():
        queries.append(("action", text, ([set(words)], set())))
    for text in read["phrases"]:
        content = [word for word in text.split() if word not in ("a", "an", "of")]
        queries.append(("phrase", text, ([_inflected(word) for word in content], set())))
    return queries


def _inflected(word: str) -> set[str]:
    return {word, f"{word}s", word.removesuffix("s")}


def is_true_of(words: Words, sentences: Sequence[str]) -> float:
    """1 if a query is true of a photograph by its sentences, 0 if not, NaN if that is unclear."""
    groups, related = words
    said = [set(re.findall("[a-z]+", sentence.lower())) for sentence in sentences]
    if sum(all(sentence & group for group in groups) for sentence in said) >= 2:
        return 1.0
    all_words = set().union(*said)
    return np.nan if all(all_words & (group | related) for group in groups) else 0.0


def balanced(answers: Sequence[JudgedQuery]) -> TimeArray:
    """[N] weights: true and absent ones count alike, of each kind, and of each short query of photographs."""
    weights = np.zeros(len(answers))
    rows: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for row, answer in enumerate(answers):
        is_short = answer.source == "photograph" and answer.kind != "sentence"
        rows[answer.source, answer.kind, answer.text if is_short else ""].append(row)
    for members in rows.values():
        is_true = np.array([answers[row].is_true for row in members])
        if 0 < (share := is_true.mean()) < 1:
            weights[members] = np.where(is_true, 0.5 / share, 0.5 / (1 - share)) / len(members)
    of_kind: dict[tuple[str, str], float] = defaultdict(float)
    for answer, weight in zip(answers, weights, strict=True):
        of_kind[answer.source, answer.kind] += weight
    return np.array(
        [
            weight / of_kind[answer.source, answer.kind]
            for answer, weight in zip(answers, weights, strict=True)
        ]
    )


def rows_of(answers: Sequence[JudgedQuery], source: str, kind: str) -> npt.NDArray[np.int64]:
    """The rows of the answers of one kind."""
    return np.flatnonzero([(answer.source, answer.kind) == (source, kind) for answer in answers])


class Truth(NamedTuple):
    """Truth values, weights and groups of N answers."""

    is_true: TimeArray
    weights: TimeArray
    groups: list[str]

    def take(self, rows: npt.NDArray[np.int64]) -> "Truth":
        return Truth(self.is_true[rows], self.weights[rows], [self.groups[row] for row in rows])


def truth_about(answers: Sequence[JudgedQuery]) -> Truth:
    is_true = np.array([answer.is_true for answer in answers], np.float64)
    return Truth(is_true, balanced(answers), [answer.group for answer in answers])


def auc(truth: Truth, values: TimeArray) -> float:
    """The area under the curve: how often the value of a true query is above that of an absent one."""
    _, place = np.unique(values, return_inverse=True)
    true, absent = (np.bincount(place, truth.weights * (truth.is_true == is_true)) for is_true in (1.0, 0.0))
    below = np.cumsum(absent) - absent / 2  # equal values count half
    return float(true @ below / (true.sum() * absent.sum()))


def calibration_error(truth: Truth, values: TimeArray) -> float:
    """The mean difference of what was said and how often it was true, over fifths of what was said."""
    order = np.argsort(values)
    place = np.ceil(5 * np.cumsum(truth.weights[order]) / truth.weights.sum() - 1e-9)
    sums = [
        truth.weights[rows] @ (values - truth.is_true)[rows]
        for rows in (order[place == n + 1] for n in range(5))
    ]
    return float(np.abs(sums).sum() / truth.weights.sum())


def share_right(truth: Truth, is_said: TimeArray, *, is_absent: bool = False) -> float:
    """How many of what is said to be there, or to be absent, is."""
    weights = truth.weights * is_said
    return float(weights @ (truth.is_true != is_absent) / weights.sum()) if weights.any() else np.nan


Measure = Callable[[Truth, TimeArray], float]


def with_interval(measure: Measure, truth: Truth, values: TimeArray) -> str:
    """A measure with 95 % of a bootstrap over the groups."""
    rng, rows, draws = np.random.default_rng(0), defaultdict(list), []
    for row, group in enumerate(truth.groups):
        rows[group].append(row)
    groups = [np.array(group) for group in rows.values()]
    for _ in range(_DRAWS):
        drawn = np.concatenate([groups[n] for n in rng.integers(len(groups), size=len(groups))])
        if 0 < truth.is_true[drawn].mean() < 1:
            draws.append(measure(truth.take(drawn), values[drawn]))
    low, high = np.nanpercentile(draws, [2.5, 97.5])
    return f"{measure(truth, values):.2f} [{low:.2f}, {high:.2f}]"
