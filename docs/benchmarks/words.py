"""The writer `words` of `vidsum describe`: on photographs, on frames of videos, and on the shared clips.

    python -m docs.benchmarks.words PHOTOGRAPHS FRAMES test_videodatainfo.json

Photographs: every eighth of Flickr8k. Frames: the middle one of each test video of MSR-VTT in FRAMES, named
Test_video7013_*.jpg; the last argument is MSR-VTT's annotation. None trained the map. A word is true of a
picture if one of five people, or two of twenty, name it or a word below it. The even pictures fit the curve,
the odd ones are measured. A description is right if all its words are true, wrong if none is.

R@1/16: how likely no sentences of 15 other pictures are nearer (MiniLM) than the picture's own; a picture
without a description counts as wrong. Brackets hold 95 % of a bootstrap over pictures.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import known_clips
from docs.benchmarks.judged import held_out
from vidsum.features.pictures import encode_pictures
from vidsum.features.settings import Extraction
from vidsum.grounding.spaces import extraction_for
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.grounding.words import choose_words, log_shares, read_words, standard_scores, word_probabilities
from vidsum.grounding.writers import write_words
from vidsum.pipelines.description import MIN_SURE, MIN_SURE_IN_GAPS, segment_rows
from vidsum.pipelines.plan import open_video_input
from vidsum.types import FloatArray, TimeArray

_SMALL = frozenset(
    re.findall(r"\w+", "a an the in on at of with to by up s is are some for out it from into")
)
_SAME = {"men": "man", "women": "woman", "children": "child", "mice": "mouse", "leaves": "leaf"}
_DRAWS, _WINDOW = 1000, 16
_STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001)

Truth = npt.NDArray[np.bool_]


class Pictures(NamedTuple):
    """Pictures and what people say of them."""

    rows: FloatArray  # [N, 384] of length 1
    truth: Truth  # [N, P] of each word
    meanings: FloatArray  # [N, 384] mean embedding of the first five sentences


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


def truth_of(sentences: Sequence[Sequence[str]], least: int) -> Truth:
    """[N, P] whether at least so many sentences of a picture name each word, or a word below it."""
    words, places = read_words(), defaultdict(list)
    for number, word in enumerate(words):
        for name in word.names:
            parts = stems(name)
            places[max(sorted(parts), key=len)].append((parts, number))
    counts = np.zeros((len(sentences), len(words)), int)
    for row, texts in enumerate(sentences):
        for said in map(stems, texts):
            named = {number for part in said for parts, number in places.get(part, ()) if parts <= said}
            for number in tuple(named):
                above = words[number].parent
                while above is not None:
                    named.add(above)
                    above = words[above].parent
            counts[row, sorted(named)] += 1
    return counts >= least


def read_pictures(folder: Path, sentences: dict[str, list[str]], least: int) -> Pictures:
    """Embed the pictures of a folder."""
    features = encode_pictures([folder / name for name in sentences], EXTRACTOR)
    texts = [said[:5] for said in sentences.values()]
    vectors = load_text_encoder("minilm").encode([text for said in texts for text in said])
    edges = np.cumsum([0, *map(len, texts)])
    meanings = np.stack([vectors[low:high].mean(axis=0) for low, high in pairwise(edges)])
    return Pictures(load_map()(features), truth_of(list(sentences.values()), least), meanings)


def frames_of(folder: Path, annotation: Path) -> dict[str, list[str]]:
    """The middle frame of each test video, and the sentences about the video."""
    said, files = defaultdict(list), defaultdict(list)
    for row in json.loads(annotation.read_text())["sentences"]:
        said[row["video_id"]].append(row["caption"])
    for path in folder.glob("Test_video*.jpg"):
        video, *place = re.findall(r"video\d+|\d+", path.stem.removeprefix("Test_"))
        files[video].append((tuple(map(int, place)), path.name))
    chosen = {video: sorted(names)[len(names) // 2][1] for video, names in sorted(files.items())}
    return {name: said[video] for video, name in chosen.items()}


def take(pictures: Pictures, half: int) -> Pictures:
    """Every second picture."""
    return Pictures(*(part[half::2] for part in pictures))


def fit(parts: Sequence[Pictures]) -> None:
    """Print the curve."""
    scores = np.concatenate([standard_scores("vse", part.rows) for part in parts])
    truth = np.concatenate([part.truth for part in parts])
    inputs = np.stack([scores.ravel(), np.broadcast_to(log_shares(), scores.shape).ravel()], axis=1)
    curve = LogisticRegression(C=100).fit(inputs, truth.ravel())
    print(f"curve {curve.coef_[0].round(3)} {curve.intercept_.round(3)}")


def interval(values: TimeArray) -> str:
    """The mean in per cent, and 95 % of its bootstrap."""
    draws = np.random.default_rng(0).integers(len(values), size=(_DRAWS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1) * 100, [2.5, 97.5])
    return f"{values.mean() * 100:.1f} [{low:.1f}, {high:.1f}]"


def rank_first(texts: Sequence[str], meanings: FloatArray) -> TimeArray:
    """[N] how likely a picture's own sentences are the nearest of 16."""
    similarity = load_text_encoder("minilm").encode([text or "nothing" for text in texts]) @ meanings.T
    better = (similarity > np.diag(similarity)[:, None]).sum(axis=1)
    n, k = len(texts) - 1, _WINDOW - 1
    return np.array(
        [comb(n - int(b), k) / comb(n, k) if t else 0 for b, t in zip(better, texts, strict=True)]
    )


def measure(name: str, pictures: Pictures, scores: FloatArray, min_sure: float) -> None:
    """Print a row: right, partly right, wrong, silent, words and R@1/16."""
    chosen = [choose_words(chances, min_sure) for chances in word_probabilities(scores)]
    shares = [truth[row].mean() if row else np.nan for row, truth in zip(chosen, pictures.truth, strict=True)]
    right = np.array(shares)
    texts = [", ".join(read_words()[number].text for number in row) for row in chosen]
    parts = [right == 1, (right > 0) & (right < 1), right == 0, np.isnan(right)]
    cells = [interval(part.astype(float)) for part in parts]
    spoken = right[~np.isnan(right)] == 1
    cells.append(interval(spoken.astype(float)) if len(spoken) else "-")
    print(f"| {name} | {' | '.join(cells)} | {interval(rank_first(texts, pictures.meanings))} |")


def print_reliability(parts: Sequence[Pictures]) -> None:
    """Print how often words of a confidence are true."""
    chances = np.concatenate([word_probabilities(standard_scores("vse", part.rows)) for part in parts])
    truth = np.concatenate([part.truth for part in parts])
    kinds = np.array([word.kind for word in read_words()])
    for low, high in pairwise(_STEPS):
        inside = (chances >= low) & (chances < high)
        cells = [f"{truth[:, kinds == k][inside[:, kinds == k]].mean():.0%}" for k in dict.fromkeys(kinds)]
        print(f"| {low:.1f} to {min(high, 1):.1f} | {inside.sum()} | {' | '.join(cells)} |")


def describe_clips() -> None:
    """Print what is said of each shared clip, as one segment, and R@1/16 by the clips' captions."""
    clips, texts = known_clips(), []
    for clip in clips:
        (features,), _ = open_video_input(clip["file"], extraction_for("vse", Extraction())).read()
        seen = segment_rows(features, [(0.0, features.duration_s)])
        (sentence,) = write_words(seen, "vse", MIN_SURE["words"])
        texts.append(sentence.text)
        print(f"{Path(clip['file']).stem},{sentence.confidence:.2f},{sentence.text}")
    captions = load_text_encoder("minilm").encode([clip["query"] for clip in clips])
    print(f"clips: R@1/16 {interval(rank_first(texts, captions))}; silent {texts.count('')}")


def main() -> None:
    """Print all figures."""
    options = argument_parser(__doc__, "photographs", "frames", "annotation").parse_args()
    parts = {
        "photographs": read_pictures(options.photographs, held_out(options.photographs), 1),
        "frames": read_pictures(options.frames, frames_of(options.frames, options.annotation), 2),
    }
    fit([take(part, 0) for part in parts.values()])
    odd = {name: take(part, 1) for name, part in parts.items()}
    print_reliability([*odd.values()])
    for name, part in odd.items():
        scores = standard_scores("vse", part.rows)
        shuffled = np.random.default_rng(0).permutation(scores)
        for min_sure in sorted({MIN_SURE["words"], MIN_SURE_IN_GAPS["words"], 0.5, 0.6, 0.7, 0.75, 0.8, 0.9}):
            measure(f"{name}, {min_sure}", part, scores, min_sure)
        measure(f"{name}, of other pictures", part, shuffled, MIN_SURE["words"])
    describe_clips()


if __name__ == "__main__":
    main()
