"""How fast the extractors run, and how well shots are found from their features. Nothing is asserted.

python -m docs.benchmarks.extractors networks   # random weights: as vidsum runs them against plain modules
python -m docs.benchmarks.extractors film       # extraction at 2 fps against decoding alone, at 1080p
python -m docs.benchmarks.extractors speed      # seconds per minute of three clips, per extractor of frames
python -m docs.benchmarks.extractors edges      # shots of composites whose edges are known

`film`, `speed` and `edges` need the shared clips and real weights.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import videos_in
from tests.conftest import SHARED
from tests.features.networks import WEIGHTS
from vidsum import checkpoints
from vidsum.device import PRECISIONS
from vidsum.features import describe, load_extractor
from vidsum.features.extract import extract_features
from vidsum.features.extractor import Extractor, Spec
from vidsum.features.onnx_backend import build_onnx_extractor
from vidsum.features.settings import EXTRACTORS
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.results.features import Features
from vidsum.shots.find import find
from vidsum.types import Picture
from vidsum.video.frames import Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

Times = npt.NDArray[np.float64]

CLIPS_PER_BATCH = {"googlenet": 6, "mobilenet_v2": 6, "i3d": 2, "c3d": 2, "clip": 6}
TOLERANCE_S = 1.0
"""An edge is found if one is put this close to it."""


def least_seconds(runs: dict[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """The least time of each run. They take turns, so that a busy machine slows all alike."""
    seconds = dict.fromkeys(runs, float("inf"))
    for turn in range(rounds + 1):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            if turn:  # the first is to warm up
                seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def plain_run(spec: Spec, model: nn.Module, clips: Picture) -> Callable[[], Tensor]:
    """The module as it is built, on floats in the usual layout."""
    axes = (0, 4, 1, 2, 3) if spec.takes_clips else (0, 3, 1, 2)
    pixels = torch.from_numpy(clips if spec.takes_clips else clips[:, 0]).permute(axes)
    floats = ((pixels.float() - 127.5) / 127.5).contiguous()
    model.eval()

    @torch.inference_mode()
    def run() -> Tensor:
        out: Tensor = model(floats)
        return out

    return run


def compare_networks(only: str | None) -> None:
    """Frames per second of each network, plain and as vidsum runs it, on random weights."""
    print(f"{torch.get_num_threads()} threads; frames/s, and the ratio to the plain module in the same run")
    for name, count in CLIPS_PER_BATCH.items():
        if only not in (None, name):
            continue
        spec, weights = describe(name), WEIGHTS[name]()
        side = spec.preprocessing.crop
        shape = (count, spec.clip_frames, side, side, 3)
        clips = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
        ways: dict[str, Callable[[], object]] = {
            "plain": plain_run(spec, spec.build(weights).backbone, clips),
            "fp32": partial(build_torch_extractor(spec, spec.build(weights)).encode, clips),
            "bf16": partial(build_torch_extractor(spec, spec.build(weights), precision="bf16").encode, clips),
            "onnx": partial(build_onnx_extractor(spec, partial(spec.build, weights), "0" * 64).encode, clips),
        }
        seconds = least_seconds(ways)
        for way, best in seconds.items():
            rate = count * spec.clip_frames / best
            print(f"  {name:13}{way:6}{rate:9.1f}{seconds['plain'] / best:7.2f}x", flush=True)


def composite(
    shared: Path, folder: Path, seed: int, seconds: int, size: str = "640x360"
) -> tuple[Path, Times]:
    """A film of many clips, and the times at which one gives way to the next."""
    target = folder / f"{size}-{seed}.mp4"
    clips, tool = shared / "videos" / "clips.json", shared / "tools" / "make_composite.py"
    options = ["--seconds", str(seconds), "--seed", str(seed), "--size", size]
    subprocess.run([sys.executable, str(tool), str(clips), str(target), *options], check=True)
    moments = json.loads(target.with_suffix(".json").read_text())["moments"]
    return target, np.array([moment["start"] for moment in moments[1:]])


def features_of(path: Path, extractor: Extractor) -> Features:
    frames = (frame for _, frame in read_frames(probe(path), [extractor.spec.sampling]))
    return extract_features(frames, extractor, probe(path))


def compare_with_decoding(shared: Path, folder: Path) -> None:
    """Wall time of extraction against that of decoding alone, on a 1080p film of 60 s."""
    film, _ = composite(shared, folder, seed=0, seconds=60, size="1920x1080")
    every = Sampling(describe("mobilenet_v2").fps, describe("mobilenet_v2").preprocessing.size)
    ways: dict[str, Callable[[], object]] = {"decode": lambda: list(read_frames(probe(film), [every]))}
    for precision in PRECISIONS[:2]:
        extractor = load_extractor(describe("mobilenet_v2"), precision=precision)
        ways[f"mobilenet_v2 {precision}"] = partial(features_of, film, extractor)
    seconds = least_seconds(ways, rounds=3)
    print(f"{torch.get_num_threads()} threads; 60 s of 1080p H.264 at {every.fps:g} fps")
    for way, best in seconds.items():
        print(f"  {way:20}{best:7.2f} s{best / seconds['decode']:7.2f}x", flush=True)


def compare_on_clips(shared: Path, count: int = 3) -> None:
    """Seconds per minute of the first clips by name: decoding alone, and each extractor of frames."""
    names = ("mobilenet_v2", "efficientnet_lite0")
    every = Sampling(describe(names[0]).fps, describe(names[0]).preprocessing.size)
    extractors = {name: load_extractor(describe(name), device="cpu") for name in names}
    print(f"{torch.get_num_threads()} threads; seconds per minute of video, and times real time")
    for path in videos_in([shared / "videos"])[:count]:
        ways: dict[str, Callable[[], object]] = {
            "decode": lambda path=path: list(read_frames(probe(path), [every])),  # type: ignore[misc]
            **{name: partial(features_of, path, extractor) for name, extractor in extractors.items()},
        }
        seconds, minutes = least_seconds(ways), probe(path).duration_s / 60
        speeds = ", ".join(f"{way} {s / minutes:.2f} ({60 * minutes / s:.0f}x)" for way, s in seconds.items())
        ratio = seconds[names[1]] / seconds[names[0]]
        print(f"  {path.stem} ({60 * minutes:.0f} s): {speeds}; ratio {ratio:.2f}", flush=True)


def edge_scores(edges: Times, true: Times) -> tuple[float, float, float]:
    """(precision, recall, F1) of edges, each true one matched with the nearest found one still free."""
    free = list(edges)
    hits = 0
    for edge in true:
        near = min(free, key=lambda other: abs(other - edge), default=np.inf)
        if abs(near - edge) <= TOLERANCE_S:
            free.remove(near)
            hits += 1
    precision, recall = hits / max(len(edges), 1), hits / len(true)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def compare_edges(shared: Path, folder: Path, only: str | None, films: int = 3) -> None:
    """KTS on each extractor's features against the known edges of composites of 120 s."""
    made = [composite(shared, folder, seed, seconds=120) for seed in range(films)]
    rng = np.random.default_rng(0)
    print(f"{films} films of 120 s; edges within {TOLERANCE_S:g} s; precision, recall, F1; MB to download")
    report(
        "equal shots, right number", [edge_scores(np.linspace(0, 120, len(t) + 2)[1:-1], t) for _, t in made]
    )
    draws = [edge_scores(rng.uniform(0, 120, len(true)), true) for _, true in made for _ in range(100)]
    report("random edges, right number", draws)
    for name, clip_frames in [("mobilenet_v2", 1), ("efficientnet_lite0", 1), ("i3d", 16), ("i3d", 32)]:
        if only not in (None, name):
            continue
        extractor = load_extractor(describe(name, clip_frames=clip_frames))
        begin = time.perf_counter()
        features = [features_of(path, extractor) for path, _ in made]
        speed = 120 * films / (time.perf_counter() - begin)
        scores = [
            edge_scores(find(array).edges_s[1:-1], true)
            for array, (_, true) in zip(features, made, strict=True)
        ]
        size = checkpoints.path_of(extractor.spec.checkpoint).stat().st_size / 1e6
        report(
            f"{name} {extractor.spec.clip_frames} frames", scores, f"{speed:5.1f} x real time {size:5.0f} MB"
        )


def report(name: str, scores: list[tuple[float, float, float]], rest: str = "") -> None:
    precision, recall, f1 = np.mean(scores, axis=0)
    print(f"  {name:28}{precision:6.3f}{recall:7.3f}{f1:7.3f}   {rest}", flush=True)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("what", choices=["networks", "film", "speed", "edges"])
    parser.add_argument("--only", choices=EXTRACTORS, help="one network of `networks` or `edges`")
    parser.add_argument("--shared", type=Path, default=SHARED)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        if arguments.what == "networks":
            os.environ["VIDSUM_HOME"] = folder  # nothing made of random weights stays
            compare_networks(arguments.only)
        elif arguments.what == "film":
            compare_with_decoding(arguments.shared, Path(folder))
        elif arguments.what == "speed":
            compare_on_clips(arguments.shared)
        else:
            compare_edges(arguments.shared, Path(folder), arguments.only)


if __name__ == "__main__":
    main()
