"""Fit the ridge regression that ships, and calibrate it in folds of its videos.

    python -m vidsum.weights.recipes.ridge weights/ridge-vse.safetensors frame_captions.json \\
        ydata-tvsum50.mat docs/benchmarks/tvsum_ship.json

Prints the slope of people's scores on its scores, which the file records, and what weights/registry.yaml has
to say of it.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from vidsum.io.provenance import hash_file
from vidsum.lab.datasets.captioned import draw_of, read_captioned
from vidsum.lab.datasets.splits import splits_of
from vidsum.lab.training.run import start_run
from vidsum.lab.training.summary_settings import RidgeSettings
from vidsum.lab.training.train_ridge import fit_split
from vidsum.models.configs import RidgeConfig

SETTINGS = RidgeSettings(model=RidgeConfig(novelty=0.2), draws=10)


def main(target: Path, captions: Path, annotations: Path, splits: Path) -> None:
    """Write the checkpoint of the first split."""
    videos = read_captioned([captions], [annotations])
    chosen = splits_of(str(splits), videos, "tvsum")
    sources = [captions, annotations]
    with TemporaryDirectory() as folder:
        run = start_run(
            "ridge", videos, chosen, SETTINGS, Path(folder) / "run", sources=sources, draw=draw_of("vse")
        )
        checkpoint, fitted = fit_split(run, 0)
        shutil.copyfile(checkpoint, target)
    print(f"penalty {fitted.penalty}, rho in folds {fitted.validation:.3f}, slope {fitted.slope:.3f}")
    print(f"sha256: {hash_file(target)}\nbytes: {target.stat().st_size}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))
