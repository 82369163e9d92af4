"""Train a moment model that ships, on sentences alone; a killed run resumes.

    python -m vidsum.weights.recipes.moments weights/mrnet-vse.safetensors highlight_val_release.jsonl \\
        clip_captions_val.jsonl.gz highlight_train_release.jsonl charades_train.json FOLDER

The name of the file says which model: mrnet-vse, qd-detr-vse, qd-detr-lam-vse or qd-detr-stamp-vse. FOLDER
gets what it trains on (`val_train.jsonl`, `captions_train.jsonl.gz`) and the runs, one for each model. Prints
the best epoch, and what weights/registry.yaml has to say of the file. Weights are in half precision.
"""

import gzip
import json
import random
import sys
from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.io.provenance import hash_file
from vidsum.io.text import read_packed_text
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.settings import DataSettings, DETRSettings, MRNetSettings
from vidsum.lab.training.train_detr import train_detr
from vidsum.lab.training.train_mrnet import train_mrnet
from vidsum.lab.training.training_examples import highlight_data, moment_data
from vidsum.models.configs import MaskKind
from vidsum.options import build

OURS = {"warmup": 2.0, "device": "cpu"}  # docs.benchmarks.moment_models compares warm-ups, in epochs
MRNET_LENGTH = {"epochs": 8, "decay_at": (5, 7)}
MRNET_VIDEOS = 600  # simulated in an epoch
"""All else is the preset `captions`, with its number of videos: the DETR models differ in the mask alone."""
MASKS: dict[str, MaskKind | None] = {
    "qd-detr-vse": None,
    "qd-detr-lam-vse": "lam",
    "qd-detr-stamp-vse": "stamp",
}
TESTED, DESCRIBED = 1 / 5, 250
"""Fraction of QVHighlights' YouTube videos that no file learns from; videos whose clips have captions."""


def main(target: Path, queries: Path, captions: Path, *rest: Path) -> None:
    """Write the checkpoint that the target is named after."""
    *others, folder = rest
    folder.mkdir(parents=True, exist_ok=True)
    known = folder / "val_train.jsonl", folder / "captions_train.jsonl.gz"
    write_split(queries, captions, *known)
    data = tuple(map(str, (known[0], *others)))
    fitted = train(target.stem, data, known[1], folder / target.stem)
    trained = read_trained(fitted.checkpoint)
    halves = {name: tensor.half() for name, tensor in trained.tensors.items()}
    save_trained(target, replace(trained, tensors=halves))
    print(f"epoch {fitted.best.epoch}, validation {fitted.best.validation:.3f}")
    print(f"sha256: {hash_file(target)}\nbytes: {target.stat().st_size}")


def train(name: str, data: tuple[str, ...], captions: Path, out: Path) -> FitResult:
    """Train the model of a file, or go on with its run."""
    is_mrnet = name == "mrnet-vse"
    videos = MRNET_VIDEOS if is_mrnet else None
    source = DataSettings(data=data, recipe="captions", features=(captions,), space="vse", videos=videos)
    if is_mrnet:
        preset = MRNetSettings.published("captions", "light")
        mrnet = build(MRNetSettings, {**MRNET_LENGTH, **OURS}, preset)
        return train_mrnet(moment_data(source, mrnet), mrnet, out, progress=print_epoch)
    mask = MASKS[name]
    choices = {**OURS, **({"mask": mask} if mask else {})}
    detr = build(DETRSettings, choices, DETRSettings.published("captions", "light", mask))
    return train_detr(highlight_data(source, detr), "qd-detr", detr, out, progress=print_epoch)


def print_epoch(name: str, done: float, total: float) -> None:
    """Say how far a training is, after each epoch."""
    if done == int(done):
        print(f"{name}: {done:.0f} of {total:.0f} epochs", flush=True)


def write_split(queries: Path, captions: Path, train: Path, described: Path) -> None:
    """Write the queries of the YouTube videos to learn from, and captions of the clips of some of these."""
    lines = queries.read_text(encoding="utf-8").splitlines()
    of_line = [json.loads(line)["vid"] for line in lines]
    names = sorted({youtube_id(video) for video in of_line})
    random.Random(0).shuffle(names)
    learned = set(names[int(TESTED * len(names)) :])
    chosen = [line for line, video in zip(lines, of_line, strict=True) if youtube_id(video) in learned]
    train.write_text("".join(f"{line}\n" for line in chosen), encoding="utf-8")
    of_clips = [
        line
        for line in read_packed_text(captions).splitlines()
        if youtube_id(json.loads(line)["vid"]) in learned
    ]
    text = "".join(f"{line}\n" for line in of_clips[:DESCRIBED])
    described.write_bytes(gzip.compress(text.encode(), mtime=0))


def youtube_id(video: str) -> str:
    """Return the YouTube id of a part of a video, `ID_START_END`."""
    return video.rsplit("_", 2)[0]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
