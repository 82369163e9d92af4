"""Queries in other languages: fit the matrix from E5's space to MiniLM's, and measure it on clips.

    python -m docs.benchmarks.languages fit e5-minilm.safetensors
    python -m docs.benchmarks.languages measure

`fit` reads English sentences about pictures and films alone, and holds every tenth out. `measure` asks for 24
clips among 40 in six languages (tests/grounding/captions_in_languages.json, written before any run).
"""

import argparse
import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from docs.benchmarks.joined import known_clips
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.features.settings import Extraction
from vidsum.grounding.languages import ENCODER, is_english, load_e5
from vidsum.grounding.spaces import embed_queries
from vidsum.grounding.text import embed_cached, load_text_encoder
from vidsum.models.scaling import unit_rows
from vidsum.pipelines.embedding import open_in_space, plan_embedding
from vidsum.types import FloatArray

_CHUNK = 2048
_PENALTIES = (0.1, 1.0, 10.0, 100.0)
_DATA = SHARED / "data"
CAPTIONS = Path(__file__).parents[2] / "tests" / "grounding" / "captions_in_languages.json"
LANGUAGES = ("de", "es", "fr", "ja", "zh", "pt")


def english_sentences() -> list[str]:
    """All distinct sentences about photographs and films in `../shared/data`, in a random order."""
    texts = sorted({text.strip() for text in iter_sentences()})
    return [texts[number] for number in np.random.default_rng(0).permutation(len(texts))]


def iter_sentences() -> Iterator[str]:
    """Yield Flickr8k's captions, then the timed sentences of four sets of films."""
    with gzip.open(_DATA / "flickr8k" / "captions.csv.gz", "rt", encoding="utf-8") as file:
        yield from (row["caption"] for row in csv.DictReader(file))
    for name in ("activitynet", "charades", "tacos"):
        for path in sorted((_DATA / name).glob("*.json")):
            for video in json.loads(path.read_text("utf-8")).values():
                yield from video["sentences"]
    for path in sorted((_DATA / "qvhighlights").glob("highlight_*.jsonl")):
        yield from (json.loads(line)["query"] for line in path.read_text("utf-8").splitlines())


def embed_both(texts: list[str]) -> tuple[FloatArray, FloatArray]:
    """[N, 384] by E5 and by MiniLM, in chunks that are cached."""
    encoders = {
        ENCODER: load_e5(checkpoints.sha256_of(ENCODER)),
        "minilm": load_text_encoder("minilm").encode,
    }
    rows: dict[str, list[FloatArray]] = {name: [] for name in encoders}
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        for name, encode in encoders.items():
            rows[name].append(embed_cached(chunk, encode, checkpoints.sha256_of(name)))
        print(f"{start + len(chunk)} of {len(texts)} sentences", flush=True)
    return np.concatenate(rows[ENCODER]), np.concatenate(rows["minilm"])


def fit_ridge(x: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """[385, 384]: the least squares of y - x W - offset, with a penalty on W; the last row is the offset."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred = x - mean_x
    gram = centred.T @ centred + penalty * np.eye(x.shape[1], dtype=np.float32)
    matrix = np.linalg.solve(gram, centred.T @ (y - mean_y))
    return np.concatenate([matrix, (mean_y - mean_x @ matrix)[None]]).astype(np.float32)


def fit(target: Path, count: int) -> None:
    """Choose the penalty on every tenth sentence, and fit on the others."""
    x, y = embed_both(english_sentences()[:count])
    is_held = np.arange(len(x)) % 10 == 0
    cosines = {}
    for penalty in _PENALTIES:
        matrix = fit_ridge(x[~is_held], y[~is_held], penalty)
        mapped = unit_rows(x[is_held] @ matrix[:-1] + matrix[-1])
        cosines[penalty] = float((mapped * y[is_held]).sum(axis=1).mean())
        print(
            f"penalty {penalty:g}: mean cosine {cosines[penalty]:.4f} with MiniLM, {is_held.sum()} held out"
        )
    best = max(cosines, key=cosines.__getitem__)
    save_file({"matrix": fit_ridge(x[~is_held], y[~is_held], best).astype(np.float16)}, target)


def embed_clips(paths: list[str]) -> FloatArray:
    """[N, 384] the mean of each clip's rows in `vse`, of length 1."""
    rows = []
    for path in paths:
        opened = open_in_space("vse", path, Extraction())
        rows.append(plan_embedding(opened, "vse").run(None)[0].rows.mean(axis=0))
    return unit_rows(np.array(rows))


def measure() -> None:
    """Print the share of captions whose clip is first among all clips, by each encoder, in each language."""
    clips = {Path(clip["file"]).name: clip for clip in known_clips()}
    rows, names = embed_clips([clip["file"] for clip in clips.values()]), list(clips)
    captions = json.loads(CAPTIONS.read_text("utf-8"))
    truth = np.array([names.index(name) for name in captions])
    right: dict[str, list[np.ndarray]] = {"MiniLM": [], "E5": []}
    for code in ("en", *LANGUAGES):
        texts = [clips[name]["query"] if code == "en" else captions[name][code] for name in captions]
        others = [text for text in texts if not is_english(text)]
        for name, language in (("MiniLM", "en"), ("E5", "xx")):
            first = (embed_queries("vse", texts, language=language) @ rows.T).argmax(axis=1) == truth
            print(f"{code} {name}: R@1 {100 * first.mean():.1f} ({len(others)} of {len(texts)} by the rule)")
            if code != "en":
                right[name].append(first)
    draws = np.random.default_rng(0).integers(0, len(truth), (2000, len(truth)))
    for name, hits in right.items():
        means = np.mean(hits, axis=0)
        low, high = 100 * np.quantile(means[draws].mean(axis=1), (0.025, 0.975))
        print(f"mean of six languages, {name}: {100 * means.mean():.1f} [{low:.0f}, {high:.0f}] over clips")


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    fitting = commands.add_parser("fit")
    fitting.add_argument("target", type=Path)
    fitting.add_argument("--sentences", type=int, default=20_480)
    fitting.set_defaults(run=lambda options: fit(options.target, options.sentences))
    commands.add_parser("measure").set_defaults(run=lambda _options: measure())
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
