"""Topic boundaries of `vidsum chapters` on joined lectures, and against sections that people made.

    python -m docs.benchmarks.chapters CAPTIONS TALKS [--fit] [--vectors FILE.npz]

CAPTIONS is a checkout of 3b1b/captions (9aef876b): lectures with the time of each sentence. TALKS is one of
bitcointranscripts/bitcointranscripts (52ccbbe2): talks under headings, without times: 150 words a minute are
assumed. Prices are chosen (`--fit`) on lectures up to 2018 and four series of talks, and reported on the
others. Vectors of sentences take half an hour, and are kept in FILE. In brackets: 95 % of a bootstrap over
films.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from docs.benchmarks import argument_parser
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.pipelines.chapters import PRICES
from vidsum.results.shots import MIN_CHAPTER_S, MIN_CHAPTERS
from vidsum.shots.topics import cut_topics
from vidsum.types import FloatArray, TimeArray

TOLERANCE_S, PAUSE_S, WORDS_A_S = 5.0, 0.5, 2.5
FIT_SERIES = ("scalingbitcoin", "stanford-blockchain-conference", "edgedevplusplus", "chaincode-residency")
_OTHER_SERIES = [
    "london",
    "advancing",
    "breaking",
    "building",
    "mit-bitcoin",
    "tabconf",
    "sf-bitcoin",
    "baltic",
]
_SKIPPED = ("results", "manim", "speech", "qa", "some", "quick", "preview")  # no lectures
_TALKS = 40  # of each half
_BLOCK = 10  # sentences on either side of a gap, for TextTiling
_SEPARATOR = "\x1e"  # of sentences in the file of vectors


@dataclass(frozen=True)
class Text:
    """Sentences with their times, and where topics begin after the first."""

    texts: list[str]
    starts_s: TimeArray
    ends_s: TimeArray
    truth_s: tuple[float, ...] = ()

    def until(self, length_s: float) -> "Text":
        """Return the beginning, three sentences at least."""
        n = max(3, int((self.ends_s <= length_s).sum()))
        return Text(self.texts[:n], self.starts_s[:n], self.ends_s[:n])


Method = Callable[[Text, np.random.Generator], Sequence[float]]


def read_lectures(folder: Path) -> dict[str, Text]:
    """Return lectures of four minutes and more, by year and name; times from the first sentence on."""
    lectures = {}
    for path in sorted(folder.glob("*/*/english/sentence_timings.json")):
        rows = [row for row in json.loads(path.read_text("utf-8")) if row[0].strip()]
        name = f"{path.parts[-4]}/{path.parts[-3]}"
        if len(rows) >= 25 and rows[-1][2] > 240 and not any(word in name for word in _SKIPPED):
            texts, starts, ends = zip(*rows, strict=True)
            lectures[name] = Text(list(texts), np.array(starts) - starts[0], np.array(ends) - starts[0])
    return lectures


def read_talks(folder: Path) -> dict[str, Text]:
    """Return talks of 60 to 349 sentences under four headings or more."""
    talks = {}
    for path in sorted(folder.glob("*/**/*.md")):
        name = path.relative_to(folder).as_posix()
        is_english = not re.search(r"\.(es|zh|pt)\.md|_index", name)
        if is_english and name.startswith((*FIT_SERIES, *_OTHER_SERIES)):
            sections = [part for part in map(_sentences, _sections(path.read_text("utf-8"))) if part]
            texts = [text for part in sections for text in part]
            if sum(len(part) >= 3 for part in sections) >= 4 and 60 <= len(texts) < 350:
                ends = np.cumsum([len(text.split()) for text in texts]) / WORDS_A_S
                starts = np.append(0.0, ends[:-1])
                firsts = np.cumsum([len(part) for part in sections])[:-1]
                talks[name] = Text(texts, starts, ends, tuple(starts[firsts].tolist()))
    return talks


def _sections(text: str) -> list[str]:
    body = re.sub(r"\A---.*?---\n", "", text, flags=re.DOTALL)
    return re.split(r"^#{1,3} +.+$", body, flags=re.MULTILINE)[1:]


def _sentences(section: str) -> list[str]:
    """Return the sentences of a section, without code, links, speakers and times."""
    text = re.sub(r"```.*?```", "", section, flags=re.DOTALL)
    text = re.sub(r"!\[.*?\]\(.*?\)|<[^>]+>|\[(.*?)\]\(.*?\)", r"\1", text)
    text = re.sub(r"^(\W*[A-Z][\w .()-]{0,30}: |[-*] )", "", text, flags=re.MULTILINE)
    text = re.sub(r"https?://\S+|\d\d:\d\d:\d\d", "", text)
    return [part.strip() for part in re.split(r"(?<=[.?!])\s+", text) if len(part.split()) > 1]


def join(pieces: Sequence[Text]) -> Text:
    """Return texts one after the other; each begins a short pause after the one before."""
    begins, texts, starts, ends = [0.0], list[str](), [], []
    for piece in pieces:
        texts += piece.texts
        starts.append(begins[-1] + piece.starts_s)
        ends.append(begins[-1] + piece.ends_s)
        begins.append(float(ends[-1][-1]) + PAUSE_S)
    return Text(texts, np.concatenate(starts), np.concatenate(ends), tuple(begins[1:-1]))


def make_films(lectures: Sequence[Text], talks: Sequence[Text], n: int, seed: int) -> dict[str, list[Text]]:
    """Return films of five lectures each, and the talks by themselves."""
    rng = np.random.default_rng(seed)

    def choose(pool: Sequence[Text], count: int) -> list[Text]:
        return [pool[number] for number in rng.choice(len(pool), count, replace=False)]

    def begin(pieces: Sequence[Text]) -> list[Text]:
        return [piece.until(rng.uniform(180, 420)) for piece in pieces]

    films: dict[str, list[Text]] = {
        "3 to 7 min of lectures": [],
        "of lectures and talks": [],
        "whole lectures": [],
    }
    for _ in range(n):
        films["3 to 7 min of lectures"].append(join(begin(choose(lectures, 5))))
        mixed = [*zip(begin(choose(lectures, 3)), begin(choose(talks, 3)), strict=True)]
        films["of lectures and talks"].append(join([piece for pair in mixed for piece in pair][:5]))
        films["whole lectures"].append(join(choose(lectures, 5)))
    return {**films, "sections of a talk": list(talks)}


class Vectors:
    """Vectors of sentences, kept in a file."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._rows = path, dict[str, FloatArray]()
        if path and path.exists():
            with np.load(path) as content:
                self._rows = dict(zip(str(content["texts"]).split(_SEPARATOR), content["rows"], strict=True))

    def of(self, texts: Sequence[str]) -> FloatArray:
        """Return [n, 384] of texts."""
        missing = sorted(set(texts) - set(self._rows))
        if missing:
            self._rows |= zip(missing, load_text_encoder("minilm").encode(missing), strict=True)
            if self._path:
                np.savez(
                    self._path, texts=_SEPARATOR.join(self._rows), rows=np.stack(list(self._rows.values()))
                )
        return np.stack([self._rows[text] for text in texts]).astype(np.float32)


def topics(vectors: Vectors, price: float, *, is_number_known: bool = False) -> Method:
    """Return the method of `vidsum chapters` without a picture."""

    def find(film: Text, _: np.random.Generator) -> Sequence[float]:
        number = len(film.truth_s) + 1 if is_number_known else MIN_CHAPTERS
        first = cut_topics(
            vectors.of(film.texts),
            film.starts_s,
            float(film.ends_s[-1]),
            price * float(np.sqrt(len(film.texts))),
            min_s=0.0 if is_number_known else MIN_CHAPTER_S,  # some sections of people are shorter
            count=number,
            or_more=not is_number_known,
        )
        return film.starts_s[(first or [0])[1:]].tolist()

    return find


def uniform(film: Text, _: np.random.Generator) -> Sequence[float]:
    """Return as many boundaries as there are, at even distances."""
    n = len(film.truth_s) + 1
    return [float(film.ends_s[-1]) * number / n for number in range(1, n)]


def random(film: Text, rng: np.random.Generator) -> Sequence[float]:
    """Return as many boundaries as there are, at random sentences."""
    return film.starts_s[rng.choice(np.arange(1, len(film.texts)), len(film.truth_s), replace=False)].tolist()


def text_tiling(film: Text, _: np.random.Generator) -> Sequence[float]:
    """Hearst, "TextTiling" (1997), with blocks of sentences and the cutoff mean less half a deviation.

    A gap is scored by how far the cosine of the words around it lies below the peaks on either side.
    """
    bags = [
        Counter(word for word in re.findall(r"[a-z]+", text.lower()) if word not in ENGLISH_STOP_WORDS)
        for text in film.texts
    ]

    def cosine(gap: int) -> float:
        left = sum(bags[max(0, gap - _BLOCK) : gap], Counter[str]())
        right = sum(bags[gap : gap + _BLOCK], Counter[str]())
        length = np.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
        return sum(n * right[word] for word, n in left.items()) / max(float(length), 1e-9)

    scores = np.array([cosine(gap) for gap in range(1, len(bags))])

    def peak(steps: TimeArray) -> float:
        falls = np.flatnonzero(np.diff(steps) < 0)
        return float(steps[falls[0]] if len(falls) else steps[-1])

    depths = np.array(
        [peak(scores[at::-1]) + peak(scores[at:]) - 2 * scores[at] for at in range(len(scores))]
    )
    gaps = list[int]()
    for at in np.argsort(-depths, kind="stable").tolist():
        if depths[at] > depths.mean() - depths.std() / 2 and all(abs(at - other) > 3 for other in gaps):
            gaps.append(at)
    return film.starts_s[np.array(sorted(gaps), np.int64) + 1].tolist()


def count_right(placed: Sequence[float], truth: Sequence[float]) -> tuple[int, int, int]:
    """Return boundaries that are right, placed and true; each is matched once, in order of time."""
    left, right = sorted(placed), 0
    for time_s in truth:
        near = [other for other in left if abs(other - time_s) <= TOLERANCE_S]
        if near:
            right += 1
            left.remove(min(near, key=lambda other: abs(other - time_s)))
    return right, len(placed), len(truth)


def f1(counts: TimeArray) -> TimeArray:
    """F1 of counts [..., films, 3], summed over the films."""
    right, placed, true = np.moveaxis(counts.sum(axis=-2), -1, 0)
    return np.asarray(2 * right / np.maximum(placed + true, 1))


def measure(films: Sequence[Text], method: Method) -> TimeArray:
    """[films, 3] counts."""
    rng = np.random.default_rng(0)
    return np.array([count_right(method(film, rng), film.truth_s) for film in films], np.float64)


def cells(name: str, method: str, counts: TimeArray) -> list[str]:
    """A row: F1 with its interval over films, precision, recall and boundaries per film."""
    right, placed, true = counts.sum(axis=0)
    rates = f"{right / max(placed, 1):.2f}", f"{right / true:.2f}", f"{placed / len(counts):.1f}"
    return [name, method, with_interval(float(f1(counts)), bootstrap(counts, f1)), *rates]


def main() -> None:
    """Choose the price, or report on the other half."""
    small = "lectures talks --made-up"
    parser = argument_parser(__doc__, "captions", "talks", small=small)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--made-up", action="store_true", help="a few lectures of random sentences")
    options = parser.parse_args()
    if options.made_up:
        print_tables(make_films(*made_up(), 2, 0), Vectors(None))
        return
    lectures, talks = read_lectures(options.captions), read_talks(options.talks)
    rng, vectors = np.random.default_rng(1), Vectors(options.vectors)
    halves = [[name for name in talks if name.startswith(FIT_SERIES) is is_fit] for is_fit in (True, False)]
    halves = [sorted(rng.choice(names, _TALKS, replace=False).tolist()) for names in halves]
    used = (
        [text for name, text in lectures.items() if (int(name[:4]) <= 2018) is options.fit],
        [talks[name] for name in halves[not options.fit]],
    )
    films = make_films(*used, 25 if options.fit else 20, int(not options.fit))
    if options.fit:
        for price in np.arange(0.1, 0.31, 0.02).tolist():
            scores = [float(f1(measure(group, topics(vectors, price)))) for group in films.values()]
            joined = np.mean(scores[:3])
            print(f"{price:.2f}", *(f"{score:.3f}" for score in scores), f"joined {joined:.3f}", flush=True)
        return
    print_tables(films, vectors)


def made_up() -> tuple[list[Text], list[Text]]:
    """Six lectures and two talks, each of sentences about one thing."""
    things = ("dog", "sea", "car", "tree", "boat", "snow", "bread", "music")
    texts = []
    for thing in things:
        sentences = [f"The {thing} number {number} is a good {thing}." for number in range(30)]
        starts = np.arange(30) * 8.0
        texts.append(Text(sentences, starts, starts + 7, (80.0, 160.0)))
    return texts[:6], texts[3:]


def print_tables(films: Mapping[str, Sequence[Text]], vectors: "Vectors") -> None:
    """Print a table of all methods."""
    methods = {
        "vidsum": topics(vectors, PRICES["speech"]),
        "vidsum, number given": topics(vectors, PRICES["speech"], is_number_known=True),
        "TextTiling": text_tiling,
        "uniform, number given": uniform,
        "random, number given": random,
    }
    for name, group in films.items():
        n = np.mean([len(film.truth_s) for film in group])
        minutes = np.mean([film.ends_s[-1] for film in group]) / 60
        print(f"{name}: {len(group)} films, {n:.1f} boundaries, {minutes:.0f} min")
    rows = (
        cells(name, method, measure(group, find))
        for name, group in films.items()
        for method, find in methods.items()
    )
    print_table(["films", "method", "F1", "precision", "recall", "boundaries"], rows)


if __name__ == "__main__":
    main()
