"""Ways to make an importance curve of the decoder's steps, compared on the test videos of a run.

    python -m docs.benchmarks.curves DATA.h5 RUN

Prints the mean Kendall tau-b of each with the annotators. `chosen` is 1 for samples that the decoder chose,
else 0: tau-b flatters it, as ties cost nothing.
"""

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from vidsum.lab.datasets.summaries import AnnotatedVideo, read_annotated, shot_of_sample
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.lab.training.run import read_run
from vidsum.lab.training.state import BEST
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.fulltransnet import Decoded, curve_of, decode_samples
from vidsum.summary.summarizer import Summarizer, load_summarizer

Curve = npt.NDArray[np.floating]


def curves_of(decoded: Decoded, shots: npt.NDArray[np.int64]) -> dict[str, Curve]:
    """Each way's [T] curve."""
    steps = decoded.steps.astype(np.float64)
    at_least_once = -np.expm1(np.log1p(-np.minimum(steps, 1 - 1e-12)).sum(axis=0))
    means = {"mean of the steps": steps.mean(axis=0), "largest step": steps.max(axis=0)}
    over_shots = {
        f"{name}, mean of the shot": (np.bincount(shots, curve) / np.bincount(shots))[shots]
        for name, curve in means.items()
    }
    return {
        "at least once, mean of the shot (vidsum)": curve_of(decoded, shots),
        "at least once, sample by sample": at_least_once,
        **over_shots,
        "chosen": np.isin(np.arange(len(shots)), decoded.key_frames).astype(np.float64),
    }


def taus(summarizer: Summarizer, video: AnnotatedVideo) -> dict[str, float]:
    """Mean tau-b of each curve with the annotators."""
    shots = shot_of_sample(video)
    assert isinstance(summarizer.model, FullTransNet)
    decoded = decode_samples(summarizer.model, video.features.array, shots, fraction=0.15)
    annotators = video.gtscore[None] if video.user_scores is None else video.user_scores
    return {
        name: float(kendall_tau_b(curve[None].astype(np.float32), annotators).mean())
        for name, curve in curves_of(decoded, shots).items()
    }


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "data", "run")
    options = parser.parse_args()
    videos, found = read_annotated(options.data), defaultdict(list)
    for split in read_run(options.run)["splits"]:
        summarizer = load_summarizer(str(options.run / split["folder"] / BEST), "cpu")
        for name in split["test"]:
            for curve, tau in taus(summarizer, videos[name]).items():
                found[curve].append(tau)
    print("| curve | tau |\n|---|---|")
    for curve, values in found.items():
        print(f"| {curve} | {np.mean(values):.3f} |")


if __name__ == "__main__":
    main()
