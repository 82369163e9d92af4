"""How often the words of `vidsum describe` are true of photographs and of frames of videos.

    python -m docs.benchmarks.words FOLDER

FOLDER has pictures and sentences as `vidsum.weights.recipes.vse_pictures` collects them: every eighth
photograph of Flickr8k, and a frame of each test video of MSR-VTT; none trained the map. A word is true of a
picture if one of five people, or two of twenty, name it or a word below it. A line is right if all its words
are true, wrong if none is, half if some are. Brackets hold 95 % of a bootstrap over pictures.

`marks of the other half`: the words that are named from a higher confidence
on are chosen on the even pictures and measured on the odd ones, and the other way round.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from vidsum.description import words as lists
from vidsum.description.animals import animal_shares, weigh_animals
from vidsum.description.words import choose_words, read_words, standard_scores, word_probabilities
from vidsum.features import describe, get_extractor
from vidsum.grounding.vse_map import EXTRACTOR, load_map
from vidsum.models.scaling import softmax
from vidsum.pipelines.describe import MIN_SURE, MIN_SURE_IN_GAPS
from vidsum.types import BoolArray, FloatArray
from vidsum.weights.recipes.vse_data import read_pictures
from vidsum.weights.recipes.vse_views import encode_views

_SMALL = frozenset(
    re.findall(r"\w+", "a an the in on at of with to by up s is are some for out it from into")
)
_SAME = {"men": "man", "women": "woman", "children": "child", "mice": "mouse", "leaves": "leaf"}
_DRAWS = 1000
_CONSTANT = (("thing", "a man"), ("activity", "talking"))
_UNSAID = ("indoors", "outdoors")  # people do not say so even where it is true
_LEAST, _PRIOR, _PRIOR_COUNT, _BELOW = 4.0, 0.75, 3.0, 0.6
"""A word is marked if it is written for four pictures or more and true of fewer than .6 of them, with three
more pictures of which .75 are right; a photograph counts a tenth, as the words are for videos."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures and what people say of them."""

    name: str
    weight: float
    scores: FloatArray  # [N, P] `standard_scores`
    animals: FloatArray  # [N] `animal_shares`
    truth: BoolArray  # [N, P] of each word

    def half(self, first: int) -> "Pictures":
        """Every second picture."""
        rows = slice(first, None, 2)
        return replace(self, scores=self.scores[rows], animals=self.animals[rows], truth=self.truth[rows])

    def chances(self) -> FloatArray:
        """The probabilities of words, [N, P]."""
        return weigh_animals(word_probabilities(self.scores), self.animals)


def stem(word: str) -> str:
    """A word without its ending, roughly."""
    word = _SAME.get(word, word)
    word = re.sub(r"(?<=..)ies$", "y", word)
    word = re.sub(r"(?<=ch|sh|ss)es$|(?<=..x)es$|(?<=..[^s])s$", "", word)
    word = re.sub(r"(?<=...)(ing|ed)$", "", word)
    word = re.sub(r"(?<=.)([bdfgmnprt])\1$", r"\1", word)
    return re.sub(r"(?<=...)e$", "", word)


def stems(text: str) -> frozenset[str]:
    """The stems of a text's words but small ones."""
    return frozenset(stem(word) for word in re.findall("[a-z]+", text.lower()) if word not in _SMALL)


def truth_of(sentences: Sequence[Sequence[str]], least: int) -> BoolArray:
    """[N, P] whether at least so many sentences of a picture name each word, or a word below it."""
    words, places = read_words(), defaultdict[str, list[tuple[frozenset[str], int]]](list)
    for number, word in enumerate(words):
        for name in word.names:
            parts = stems(name)
            places[max(sorted(parts), key=len)].append((parts, number))
    counts = np.zeros((len(sentences), len(words)), int)
    for row, texts in zip(counts, sentences, strict=True):
        for said in map(stems, texts):
            named = {number for part in said for parts, number in places.get(part, ()) if parts <= said}
            row[sorted(named.union(*map(lists.parents_of, named)))] += 1
    return np.asarray(counts >= least)


def compare(paths: Sequence[Path]) -> tuple[FloatArray, FloatArray]:
    """How near pictures are to each word, [N, P], and their `animal_shares` [N]."""
    features, network = encode_views(paths, 1)[0], get_extractor(describe(EXTRACTOR))
    logits = network.logits(features)
    return standard_scores("vse", load_map()(features)), animal_shares(softmax(logits))


def photographs(folder: Path) -> Pictures:
    """The held-out photographs of Flickr8k."""
    pictures = [picture for picture in read_pictures(folder, ("flickr8k",)) if picture.split == "test"]
    truth = truth_of([picture.sentences for picture in pictures], 1)
    return Pictures("photographs", 0.1, *compare([picture.path for picture in pictures]), truth)


def tested_frames(folder: Path) -> dict[Path, list[str]]:
    """A frame of each test video of MSR-VTT, the first of the middle pair, and the sentences of the video."""
    document = json.loads((folder / "sentences" / "msrvtt.json").read_text("utf-8"))
    said, files = defaultdict[str, list[str]](list), defaultdict[str, list[Path]](list)
    for sentence in document["sentences"]:
        said[sentence["video_id"]].append(sentence["caption"])
    for path in sorted((folder / "pictures" / "msrvtt").glob("*.0.jpg")):
        files[path.name.split("-shot")[0]].append(path)
    tested = sorted(row["video_id"] for row in document["videos"] if row["split"] == "test")
    return {files[video][len(files[video]) // 2]: said[video] for video in tested if files[video]}


def frames(folder: Path) -> Pictures:
    """The frames of MSR-VTT."""
    chosen = tested_frames(folder)
    return Pictures("frames", 1.0, *compare([*chosen]), truth_of([*chosen.values()], 2))


@contextmanager
def marking(marked: frozenset[str]) -> Iterator[None]:
    """Mark these words alone as doubtful, a dog as specific."""
    words = [replace(word, is_doubtful=word.text in marked) for word in read_words()]
    words = [replace(word, is_specific="a dog" in marked) if word.text == "a dog" else word for word in words]
    with patch.object(lists, "read_words", lambda: tuple(words)):
        yield


def doubtful(parts: Sequence[Pictures]) -> frozenset[str]:
    """The words that are often written of pictures that they are not true of."""
    words, right, count = read_words(), np.zeros(len(read_words())), np.zeros(len(read_words()))
    with marking(frozenset()):
        for part in parts:
            for chances, truth in zip(part.chances(), part.truth, strict=True):
                chosen = choose_words(chances, MIN_SURE["words"])
                right[chosen] += part.weight * truth[chosen]
                count[chosen] += part.weight
    shares = (right + _PRIOR * _PRIOR_COUNT) / (count + _PRIOR_COUNT)
    rare = np.flatnonzero((shares < _BELOW) & (count >= _LEAST)).tolist()
    return frozenset(words[number].text for number in rare) - {*_UNSAID}


def interval(values: npt.NDArray[np.floating]) -> str:
    """The mean in per cent, and 95 % of its bootstrap; a dash of no values."""
    if not len(values):
        return "-"
    draws = np.random.default_rng(0).integers(len(values), size=(_DRAWS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1) * 100, [2.5, 97.5])
    return f"{values.mean() * 100:.1f} [{low:.1f}, {high:.1f}]"


def measure(name: str, part: Pictures, chosen: Sequence[Sequence[int]]) -> None:
    """Print a row: right, half, wrong, silent, and right of the lines that are said."""
    shares = np.array(
        [truth[row].mean() if row else np.nan for row, truth in zip(chosen, part.truth, strict=True)]
    )
    parts = [shares == 1, (shares > 0) & (shares < 1), shares == 0, np.isnan(shares)]
    cells = [interval(values.astype(float)) for values in parts]
    cells.append(interval((shares[~np.isnan(shares)] == 1).astype(float)))
    print(f"| {part.name}, {name} | {' | '.join(cells)} |", flush=True)


def choose(part: Pictures, min_sure: float) -> list[list[int]]:
    """The words of each picture."""
    return [choose_words(chances, min_sure) for chances in part.chances()]


def main() -> None:
    """Print all figures."""
    options = argument_parser(__doc__, "folder", small="pictures").parse_args()
    parts = [photographs(options.folder), frames(options.folder)]
    marks = [doubtful([part.half(first) for part in parts]) for first in (0, 1)]
    for name, marked in zip(("even", "odd", "all"), [*marks, doubtful(parts)], strict=True):
        print(f"doubtful by the {name} pictures: {', '.join(sorted(marked))}")
    usual, sure = MIN_SURE["words"], MIN_SURE_IN_GAPS["words"]
    numbers = {(word.kind, word.text): number for number, word in enumerate(read_words())}
    print("\n| | right | half | wrong | silent | right of those said |\n|---|---|---|---|---|---|")
    for part in parts:
        with marking(frozenset()):
            measure(f"{usual}, no marks", part, choose(part, usual))
        chosen: list[list[int]] = [[] for _ in part.scores]
        for first in (0, 1):
            with marking(marks[1 - first]):
                chosen[first::2] = choose(part.half(first), usual)
        measure(f"{usual}, marks of the other half", part, chosen)
        measure(f"{usual}", part, choose(part, usual))
        measure(f"{sure}", part, choose(part, sure))
        order = np.random.default_rng(0).permutation(len(part.scores))
        others = replace(part, scores=part.scores[order], animals=part.animals[order])
        measure(f"{usual}, words of other pictures", part, choose(others, usual))
        measure("a constant line", part, [[numbers[word] for word in _CONSTANT]] * len(part.scores))


if __name__ == "__main__":
    main()
