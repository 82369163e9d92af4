"""What a narrator does to moments: sentences that name what is shown, or what is not, under joined films.

    python -m docs.benchmarks.narration FOLDER [--fit captions.csv.gz]

Ten films are made in FOLDER (docs/benchmarks/joined.py). In each, seven clips are named, by their captions or
by other words for them: where they are shown (true narration), or where another one of the seven is (false).
The film is asked for all of its clips. The last rows have a talk about other things (spoken_paragraphs.json),
and questions to it. Transcripts are made up, so nothing is misheard. R@1 at IoU .5; 95 % of a bootstrap over
clips (of the talk: over questions). Even rows chose the rule, odd ones test it.

`--fit` prints the logistic curve of what is said: of the questions to every second paragraph, and of
Flickr8k's captions, where 30 photographs are told of, and 60 are asked for by another caption; true and
absent queries, and both sources, count alike.
"""

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import intervals
from docs.benchmarks.joined import composite, embed, known_clips, names_of
from vidsum.grounding.find import Request, locate
from vidsum.grounding.presence import probabilities
from vidsum.grounding.said import Passage, both, evidence_of, moments_said, passages_of
from vidsum.grounding.spaces import embed_queries
from vidsum.intervals import iou
from vidsum.results.moments import QueryMoments
from vidsum.types import FloatArray, Interval, TimeArray

_TOP_K, _NAMED, _EVERY_S = 5, 7, 15
_WORD_S, _PAUSE_S = 0.35, 0.3
_TOLD, _FILMS = 30, 40
"""Photographs that a made-up transcript of the fit tells of, and how many of these there are."""
WAYS = ("seen", "said", "both")


class Hits(NamedTuple):
    """A query to a film with some narration, and by which of WAYS its first moment is right."""

    row: str
    item: str
    """The clip or the question."""
    is_even: bool
    hits: tuple[bool, ...]


def paragraphs() -> list[tuple[str, str]]:
    """The paragraphs of a talk, each with a question to it."""
    listed = json.loads(Path(__file__).with_name("spoken_paragraphs.json").read_text())["paragraphs"]
    return [(text, question) for text, question in listed]


def told(text: str, start_s: float, end_s: float = np.inf) -> list[Passage]:
    """The sentences of a text, said from one time on, at the latest until another."""
    said = []
    for sentence in text.rstrip(".").split(". "):
        stop_s = min(start_s + _WORD_S * len(sentence.split()), end_s)
        said.append(Passage(start_s, stop_s, f"{sentence}."))
        start_s = stop_s + _PAUSE_S
    return said


def asked(film: Path, truth: Sequence[tuple[str, str, Sequence[Interval]]], number: int) -> Iterator[Hits]:
    """All queries to a film, of which are given clip, caption and where it is shown, with each narration."""
    texts, words = [caption for _, caption, _ in truth], {Path(c["file"]).name: c for c in known_clips()}
    talk = paragraphs()[number % 5 * 8 :][:8]
    questions = [question for _, question in talk]
    vectors, video = embed_queries("vse", [*texts, *questions]), embed(film, "vse", "auto")
    found = locate("similarity", video, Request([*texts, *questions], vectors), _TOP_K)
    present = probabilities("vse", video, vectors)
    assert present is not None
    seen = [replace(one, present=float(p)) for one, p in zip(found, present, strict=True)]
    rng = np.random.default_rng(number)
    named = rng.permutation(len(truth))[:_NAMED].tolist()
    elsewhere = [*named[1:], named[0]]
    for narration, shown in ("true", named), ("false", elsewhere):
        for wording in "query", "paraphrase":
            said = [
                one
                for clip, place in sorted(zip(named, shown, strict=True), key=lambda pair: truth[pair[1]][2])
                for one in told(words[truth[clip][0]].get(wording, texts[clip]), *truth[place][2][0])
            ]
            passages = list(passages_of(said))
            for at, row in enumerate(evidence_of(passages, texts)):
                clip, _, windows = truth[at]
                name = f"{narration}, {wording}, {'named' if at in named else 'not named'}"
                yield Hits(name, clip, clip in names_of("even"), hit(seen[at], passages, row, windows))
    said = [told(text, 2.0 + place * _EVERY_S) for place, (text, _) in enumerate(talk)]
    passages = list(passages_of([one for paragraph in said for one in paragraph]))
    rows = evidence_of(passages, [*texts, *questions])
    for at, (clip, _, windows) in enumerate(truth):
        yield Hits(
            "talk, captions", clip, clip in names_of("even"), hit(seen[at], passages, rows[at], windows)
        )
    if number < len(paragraphs()) // len(talk):
        for at, (question, paragraph) in enumerate(zip(questions, said, strict=True)):
            own, windows = len(texts) + at, [(paragraph[0].start_s, paragraph[-1].end_s)]
            yield Hits("talk, questions", question, at % 2 == 0, hit(seen[own], passages, rows[own], windows))


def hit(
    seen: QueryMoments, passages: Sequence[Passage], row: FloatArray, windows: Sequence[Interval]
) -> tuple[bool, ...]:
    """Whether the first moment overlaps a true one by half, by each of WAYS."""
    said = replace(seen, moments=tuple(moments_said(passages, row, _TOP_K)))
    first = [one.moments[:1] for one in (seen, said, both(seen, said, _TOP_K))]
    return tuple(
        bool(one and iou([(one[0].start_s, one[0].end_s)], list(windows)).max() >= 0.5) for one in first
    )


def table(answers: Sequence[Hits]) -> Iterator[str]:
    """In Markdown, a row for each narration and half."""
    yield f"| half, narration | queries | {' | '.join(WAYS)} |\n|---|---|{'---|' * len(WAYS)}"
    for is_even in True, False:
        for row in dict.fromkeys(one.row for one in answers):
            own = [one for one in answers if (one.row, one.is_even) == (row, is_even)]
            hits = np.array([one.hits for one in own], np.float64)
            means, ends = intervals(hits, [one.item for one in own])
            cells = [
                f"{100 * m:.0f} [{100 * a:.0f}, {100 * b:.0f}]" for m, a, b in zip(means, *ends, strict=True)
            ]
            yield f"| {'even' if is_even else 'odd'}, {row} | {len(own)} | {' | '.join(cells)} |"


def examples(captions: Path) -> Iterator[tuple[TimeArray, TimeArray]]:
    """[N] evidence of the best passage, and whether the query is said: of questions, and of captions."""
    rng, few = np.random.default_rng(0), paragraphs()[::2]
    by_picture: dict[str, list[str]] = {}
    with gzip.open(captions, "rt", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            by_picture.setdefault(line["image"], []).append(line["caption"])
    pictures = list(by_picture.values())
    values: list[list[FloatArray]] = [[], []]
    for start in range(0, len(few), 8):
        values[0].append(
            best([text for text, _ in few[start : start + 8]], [question for _, question in few])
        )
    for _ in range(_FILMS):
        own = [pictures[number] for number in rng.choice(len(pictures), 2 * _TOLD, replace=False)]
        values[1].append(best([one[0] for one in own[:_TOLD]], [one[1] for one in own]))
    is_said = [np.arange(len(few)) // 8 == number for number in range(len(values[0]))]
    yield np.concatenate(values[0]), np.concatenate(is_said)
    yield np.concatenate(values[1]), np.tile(np.arange(2 * _TOLD) < _TOLD, _FILMS)


def best(texts: Sequence[str], queries: Sequence[str]) -> FloatArray:
    """[M] evidence of the best passage of texts that are said one after another."""
    said: list[Passage] = []
    for text in texts:
        said += told(text, said[-1].end_s + 2 * _PAUSE_S if said else 0.0)
    return evidence_of(list(passages_of(said)), queries).max(axis=1)


def fitted(captions: Path) -> tuple[float, float]:
    """SURE and SLOPE of `vidsum.grounding.said`."""
    values, is_said = zip(*examples(captions), strict=True)
    weights = [np.where(of, 1 / of.sum(), 1 / (~of).sum()) * 1000 for of in is_said]
    joined = (np.concatenate(values)[:, None], np.concatenate(is_said), np.concatenate(weights))
    curve = LogisticRegression(C=1e4).fit(*joined)
    return float(-curve.intercept_[0] / curve.coef_[0, 0]), float(curve.coef_[0, 0])


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--fit", type=Path, help="photographs' captions: print the curve of what is said")
    options = parser.parse_args()
    if options.fit:
        print("sure from {:.2f}, slope {:.1f}\n".format(*fitted(options.fit)))
    answers: list[Hits] = []
    for number in range(10):
        film, truth = composite(options.folder, "all", 120, number)
        answers += asked(film, [(query.qid, query.text, query.windows) for query in truth.queries], number)
    print("\n".join(table(answers)))


if __name__ == "__main__":
    main()
