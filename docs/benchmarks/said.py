"""Moments that are said: spoken paragraphs under films whose pictures show something else.

    python -m docs.benchmarks.said FOLDER [--voices flite:slt ...]

The films are those of docs/benchmarks/joined.py, made in FOLDER: five of two minutes, with eight paragraphs
each. Each is asked for the paragraphs by paraphrases (spoken_paragraphs.json), and for its clips by their
captions. The probability of passages was fitted to every second question (docs/benchmarks/narration.py); the
table is of the other queries. The last column has the paragraphs of a film half a second apart: the
transcript is moved together, as if they were one talk. What is heard is kept in the cache of transcripts: a
run that was stopped goes on.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import composite, embed
from docs.benchmarks.speech import decibels, interval
from docs.benchmarks.voices import RATE, VOICES, spoken, with_noise, write_wav
from vidsum.grounding.find import Request, locate
from vidsum.grounding.presence import probabilities
from vidsum.grounding.said import Passage, both, evidence_of, moments_said, passages_of, sentences_of
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.intervals import iou
from vidsum.lab.datasets.moments import MomentVideo
from vidsum.pipelines.speech import transcribe
from vidsum.results.moments import QueryMoments
from vidsum.types import FloatArray, Interval

_PARAGRAPHS = Path(__file__).with_name("spoken_paragraphs.json")
_FILMS, _SECONDS, _EVERY_S = 5, 120, 15
_NOISES_DB = (np.inf, 10.0)
_TOP_K = 5
_GAP_S, _BREATH_S = 3.0, 0.5
"""The paragraphs are further apart than the first; as one talk, by the second."""
ABOUT = ("what is said", "what is seen")
EVIDENCE = ("seen", "said", "both", "said in one talk")


@dataclass(frozen=True)
class Talk:
    """Paragraphs in the sound of a film, and where each is said."""

    samples: FloatArray
    times: tuple[Interval, ...]
    questions: tuple[str, ...]


def talk(duration_s: float, number: int, voice: str) -> Talk:
    """The film's share of the paragraphs, evenly spaced over it; `number` counts films from 0."""
    pairs = json.loads(_PARAGRAPHS.read_text())["paragraphs"]
    samples = np.zeros(round(duration_s * RATE), np.float32)
    times: list[Interval] = []
    questions = []
    fit = _SECONDS // _EVERY_S
    for place, (text, question) in enumerate(pairs[number * fit : (number + 1) * fit]):
        said, at = spoken(text, voice), round((place * _EVERY_S + 2) * RATE)
        sounding = np.flatnonzero(np.abs(said) > 0.01)
        end = min(at + len(said), len(samples))
        samples[at:end] = said[: end - at]
        times.append(((at + sounding[0]) / RATE, (at + sounding[-1]) / RATE))
        questions.append(question)
    return Talk(samples, tuple(times), tuple(questions))


@dataclass(frozen=True, eq=False)
class Query:
    """A query to a film, and all that its answer is made of."""

    about: str
    """What is said, or what is seen."""
    windows: tuple[Interval, ...]
    """Where it is true."""
    seen: QueryMoments
    passages: Sequence[Passage]
    evidence: FloatArray
    """[P] of the passages."""
    in_one_talk: "Query | None" = None
    """The same if the paragraphs are one talk; of queries about what is said."""

    def hits(self) -> dict[str, float]:
        """Whether the first moment overlaps a true one by half, by each of `EVIDENCE`."""
        joined = both(self.seen, self._of_said, _TOP_K)
        hits = [self._hit(one) for one in (self.seen, self._of_said, joined)]
        talk = self.in_one_talk
        hits.append(talk._hit(talk._of_said) if talk else np.nan)
        return dict(zip(EVIDENCE, hits, strict=True))

    @cached_property
    def _of_said(self) -> QueryMoments:
        return replace(self.seen, moments=tuple(moments_said(self.passages, self.evidence, _TOP_K)))

    def _hit(self, answer: QueryMoments) -> float:
        if not answer.moments:
            return 0.0
        first = answer.moments[0]
        return float(iou([(first.start_s, first.end_s)], list(self.windows)).max() >= 0.5)


def queries_of(video: ClipEmbeddings, truth: MomentVideo, told: Talk, sound: Path) -> Iterator[Query]:
    """The questions to a film with what is said in it, heard in a file, and its captions."""
    shown = [query.text for query in truth.queries]
    texts = [*told.questions, *shown]
    windows = [*((time,) for time in told.times), *(query.windows for query in truth.queries)]
    vectors = embed_queries("vse", texts, "cpu")
    seen = locate("similarity", video, Request(texts, vectors), _TOP_K, "cpu")
    present = probabilities("vse", video, vectors)
    assert present is not None
    sentences = sentences_of(transcribe(sound, "en", device="cpu"))
    passages = list(passages_of(sentences))
    rows = evidence_of(passages, texts, "cpu")
    close, moved = one_talk(sentences, told.times)
    close_passages = list(passages_of(close))
    close_rows = evidence_of(close_passages, told.questions, "cpu")
    for at, (true, answer, chance, row) in enumerate(zip(windows, seen, present, rows, strict=True)):
        answer = replace(answer, present=float(chance))
        if at < len(told.questions):
            talk = Query(ABOUT[0], (moved[at],), answer, close_passages, close_rows[at])
            yield Query(ABOUT[0], true, answer, passages, row, talk)
        else:
            yield Query(ABOUT[1], true, answer, passages, row)


def one_talk(sentences: Sequence[Passage], times: Sequence[Interval]) -> tuple[list[Passage], list[Interval]]:
    """The sentences of paragraphs that are said at `times`, and those times, with all moved together.

    A paragraph of which nothing was heard has no place there: its time is empty.
    """
    close, moved, end_s = [], [(0.0, 0.0)] * len(times), 0.0
    starts = [start_s - _GAP_S for start_s, _ in times]
    for number, (low_s, high_s) in enumerate(zip(starts, [*starts[1:], np.inf], strict=True)):
        own = [one for one in sentences if low_s <= one.start_s < high_s]
        if own:
            shift_s = end_s + _BREATH_S - own[0].start_s
            close += [replace(one, start_s=one.start_s + shift_s, end_s=one.end_s + shift_s) for one in own]
            moved[number] = (times[number][0] + shift_s, times[number][1] + shift_s)
            end_s = close[-1].end_s
    return close, moved


Asked = dict[tuple[str, float], list[Query]]
"""By voice and noise, the queries of all films, always in the same order."""


def asked(voices: Sequence[str], folder: Path) -> Asked:
    """All queries, by every voice and noise."""
    films = [composite(folder, "all", _SECONDS, seed) for seed in range(_FILMS)]
    videos = [embed(path, "vse") for path, _ in films]
    queries: Asked = {}
    with TemporaryDirectory() as scratch:
        for voice, noise_db in product(voices, _NOISES_DB):
            of_sound = queries[voice, noise_db] = []
            for number, ((_, truth), video) in enumerate(zip(films, videos, strict=True)):
                told = talk(video.duration_s, number, voice)
                sound = Path(scratch) / "talk.wav"
                write_wav(with_noise(told.samples, noise_db, seed=0), sound)
                of_sound += queries_of(video, truth, told, sound)
    return queries


def table(queries: Asked) -> Iterator[str]:
    """R@1 at IoU 0.5 of every other query; intervals resample the queries, not their voices."""
    yield "| sound | queries about | n | " + " | ".join(EVIDENCE) + " |"
    yield "|---|---|---|" + "---|" * len(EVIDENCE)
    voices = list(dict.fromkeys(voice for voice, _ in queries))
    for noise_db, about in product(_NOISES_DB, ABOUT):
        by_voice = {
            voice: [query.hits() for query in queries[voice, noise_db][1::2] if query.about == about]
            for voice in voices
        }
        groups = {"all voices": voices, **{voice: [voice] for voice in voices}}
        for name, members in groups.items():
            rows = zip(*(by_voice[voice] for voice in members), strict=True)
            sums = [{where: sum(one[where] for one in row) for where in EVIDENCE} for row in rows]
            cells = [_share([one[where] for one in sums], len(members)) for where in EVIDENCE]
            yield f"| {name}, {decibels(noise_db)} | {about} | {len(sums)} | {' | '.join(cells)} |"


def _share(hits: Sequence[float], of: int) -> str:
    if np.isnan(hits).any():
        return ""
    rate, low, high = interval(hits, [of] * len(hits))
    return f"{rate:.0%} ({low:.0%} to {high:.0%})"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--voices", nargs="+", default=VOICES)
    options = parser.parse_args()
    print("\n".join(table(asked(options.voices, options.folder))))


if __name__ == "__main__":
    main()
