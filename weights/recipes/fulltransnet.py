"""Train the FullTransNet that ships, and calibrate it in folds of its videos; a killed run resumes.

    python -m vidsum.weights.recipes.fulltransnet weights/fulltransnet-vse.safetensors frame_captions.json \\
        ydata-tvsum50.mat docs/benchmarks/tvsum_ship.json FOLDER

FOLDER gets the runs. Prints the slope of people's scores on the logit of its importance, which the file
records, and what weights/registry.yaml has to say of it. Weights are in half precision.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.io.provenance import hash_file
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of, target_of
from vidsum.lab.datasets.captioned import draw_of, read_captioned
from vidsum.lab.datasets.splits import k_fold, splits_of
from vidsum.lab.training.run import TrainingRun
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.lab.training.train_fulltransnet import prepare_run, train_split
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.scaling import LEAST_IMPORTANCE, logit
from vidsum.summary.importance_model import ImportanceModel, build_importance_model, importance
from vidsum.types import FloatArray

SETTINGS = FullTransNetSettings(
    model=FullTransNetConfig(head="pointer", layers=2, heads=4, d_ff=256, norm="before"),
    loop=LoopSettings(epochs=12),
    lr=1e-3,
    warm_up=1,
    order="any",
    ridge=0.5,
    crop=0.2,
    ends=True,
    anneal=True,
    validation=0,
    device="cpu",
)
FOLDS, DRAWS = 5, 1


def main(target: Path, captions: Path, annotations: Path, splits: Path, folder: Path) -> None:
    """Write the checkpoint of the first split."""
    videos = read_captioned([captions], [annotations])
    whole = splits_of(str(splits), videos, "tvsum")[0]
    parts = [whole, *k_fold(whole.train, FOLDS, SETTINGS.loop.seed)]
    sources = [captions, annotations]
    run = prepare_run(videos, parts, SETTINGS, folder, sources=sources, draw=draw_of("vse"))
    for number in range(len(parts)):
        train_split(run, number)
    slope = slope_of([pair for number in range(1, len(parts)) for pair in held_out(run, number)])
    trained = read_trained(folder / "split_0/best.safetensors")
    halves = {name: tensor.half() for name, tensor in trained.tensors.items()}
    save_trained(target, replace(trained, training={**trained.training, "slope": slope}, tensors=halves))
    print(f"slope {slope:.3f}\nsha256: {hash_file(target)}\nbytes: {target.stat().st_size}")


def held_out(run: TrainingRun[FullTransNetSettings], number: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield [T] importance and people's standardised scores of draws of a split's test videos."""
    path = run.folder(number) / "best.safetensors"
    model = build_importance_model(read_trained(path), str(path), "cpu")
    for name in run.splits[number].test:
        for draw in range(DRAWS):
            video = run.drawn(name, SETTINGS.loop.seed, draw)
            yield curve_of(model, video), target_of(video)


def curve_of(model: ImportanceModel, video: AnnotatedVideo) -> FloatArray:
    """Return [T] importance by a model of another rate than the video's, which has every 15th frame."""
    at_its_rate = replace(model, fps=1 / video.features.step_s)
    return importance(at_its_rate, video.features, shots_of(video))


def slope_of(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """Return the slope of scores on the logit of importance, both centred over each video."""
    together = squares = 0.0
    for curve, scores in pairs:
        centred = logit(curve, LEAST_IMPORTANCE)
        centred = centred - centred.mean()
        together += float((centred * scores).mean())
        squares += float((centred**2).mean())
    return together / squares


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:6]))
