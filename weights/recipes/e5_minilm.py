"""Fit the matrix that ships from multilingual-e5-small's sentences to MiniLM's.

    python -m vidsum.weights.recipes.e5_minilm weights/e5-minilm.safetensors FILE...

The files have English sentences about pictures and films: Flickr8k's in CSV with a column `caption`, timed
sentences of ActivityNet Captions, Charades-STA and TACoS in 2D-TAN's JSON, QVHighlights' queries in JSON
lines. 20,480 of them are drawn, and every tenth of these chooses the penalty of ridge regression.
"""

import csv
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from vidsum import checkpoints
from vidsum.grounding.languages import ENCODER, load_e5
from vidsum.grounding.text_encoders import embed_cached, load_text_encoder
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

COUNT = 20_480
_CHUNK = 2048  # sentences whose embeddings are one file of the cache, so that a killed run resumes
_PENALTIES = (0.1, 1.0, 10.0, 100.0)


def read_sentences(path: Path) -> Iterator[str]:
    """Yield the sentences of a file; see above for the layouts."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if suffix == ".csv":
        yield from (row["caption"] for row in csv.DictReader(text.splitlines()))
    elif suffix == ".jsonl":
        yield from (json.loads(line)["query"] for line in text.splitlines())
    else:
        yield from (sentence for video in json.loads(text).values() for sentence in video["sentences"])


def draw(files: Sequence[Path], count: int) -> list[str]:
    """Return distinct sentences of files, at most `count`, in a random order."""
    texts = sorted({text.strip() for path in files for text in read_sentences(path)})
    return [texts[number] for number in np.random.default_rng(0).permutation(len(texts))[:count]]


def embed_both(texts: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Return [N, 384] of sentences by E5, and by MiniLM."""
    encoders = {
        ENCODER: load_e5(checkpoints.sha256_of(ENCODER)),
        "minilm": load_text_encoder("minilm").encode,
    }
    rows: dict[str, list[FloatArray]] = {name: [] for name in encoders}
    for start in range(0, len(texts), _CHUNK):
        for name, encode in encoders.items():
            rows[name].append(
                embed_cached(texts[start : start + _CHUNK], encode, checkpoints.sha256_of(name))
            )
    return np.concatenate(rows[ENCODER]), np.concatenate(rows["minilm"])


def fit_ridge(x: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Return [D + 1, E], the least squares of y - x W - offset with a penalty on W; the offset comes last."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred = x - mean_x
    gram = centred.T @ centred + penalty * np.eye(x.shape[1], dtype=np.float32)
    matrix = np.linalg.solve(gram, centred.T @ (y - mean_y))
    return np.concatenate([matrix, (mean_y - mean_x @ matrix)[None]]).astype(np.float32)


def choose(x: FloatArray, y: FloatArray) -> tuple[FloatArray, dict[float, float]]:
    """Return the matrix of the best penalty, and the mean cosine of each on the rows held out."""
    is_held = np.arange(len(x)) % 10 == 0
    cosines = {}
    for penalty in _PENALTIES:
        matrix = fit_ridge(x[~is_held], y[~is_held], penalty)
        mapped = unit_rows(x[is_held] @ matrix[:-1] + matrix[-1])
        cosines[penalty] = float((mapped * y[is_held]).sum(axis=1).mean())
    best = max(cosines, key=cosines.__getitem__)
    return fit_ridge(x[~is_held], y[~is_held], best), cosines


def main() -> None:
    """Fit the matrix, print the cosines, and write it."""
    target, *files = map(Path, sys.argv[1:])
    matrix, cosines = choose(*embed_both(draw(files, COUNT)))
    for penalty, cosine in cosines.items():
        print(f"penalty {penalty:g}: mean cosine {cosine:.4f} with MiniLM")
    target.write_bytes(save({"matrix": matrix.astype(np.float16)}))


if __name__ == "__main__":
    main()
