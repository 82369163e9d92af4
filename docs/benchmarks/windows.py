"""Whether a long video should be read at once or in windows: tau on videos joined to long ones.

    python -m docs.benchmarks.windows DATA.h5 RUN

The test videos of each split of the run are joined to one. Only pointer heads can read it at once.
"""

import time

import numpy as np

from docs.benchmarks import argument_parser
from vidsum.lab.datasets.summaries import AnnotatedVideo, read_annotated, shot_of_sample
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.lab.training.run import read_run
from vidsum.lab.training.state import BEST
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.fulltransnet import IntArray, curve_of, decode_samples, over_windows, windows
from vidsum.summary.summarizer import Summarizer, load_summarizer
from vidsum.types import FloatArray

LENGTHS = (None, 1536, 768, 480)


def joined(videos: list[AnnotatedVideo]) -> tuple[FloatArray, IntArray, FloatArray]:
    """Features [T, D], number of each sample's shot [T], annotators' scores [U, T]."""
    shots: list[IntArray] = []
    for video in videos:
        shots.append(shot_of_sample(video) + (shots[-1][-1] + 1 if shots else 0))
    scores = [video.gtscore[None] if video.user_scores is None else video.user_scores for video in videos]
    rows = np.concatenate([video.features.array for video in videos])
    return rows, np.concatenate(shots), np.concatenate(scores, axis=1)


def curve(summarizer: Summarizer, rows: FloatArray, shots: IntArray, longest: int | None) -> FloatArray:
    """[T] importance, read in windows of at most `longest`."""

    model = summarizer.model
    assert isinstance(model, FullTransNet)

    def of_window(window: slice) -> FloatArray:
        return curve_of(decode_samples(model, rows[window], shots[window], 0.15), shots[window])

    return over_windows(windows(shots, longest or len(rows)), len(rows), of_window)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "data", "run")
    options = parser.parse_args()
    videos = read_annotated(options.data)
    taus: dict[int | None, list[float]] = {longest: [] for longest in LENGTHS}
    seconds = dict.fromkeys(LENGTHS, 0.0)
    lengths = []
    for split in read_run(options.run)["splits"]:
        summarizer = load_summarizer(str(options.run / split["folder"] / BEST), "cpu")
        rows, shots, scores = joined([videos[name] for name in split["test"]])
        lengths.append(len(rows))
        for longest in LENGTHS:
            started = time.perf_counter()
            scored = curve(summarizer, rows, shots, longest)
            seconds[longest] += time.perf_counter() - started
            taus[longest].append(float(kendall_tau_b(scored[None], scores).mean()))
    print(f"{len(lengths)} videos of {min(lengths)} to {max(lengths)} samples\n")
    print("| read | tau | seconds a video |\n|---|---|---|")
    for longest in LENGTHS:
        name = f"in windows of {longest:,}" if longest else "at once"
        print(f"| {name} | {np.mean(taus[longest]):.3f} | {seconds[longest] / len(lengths):.1f} |")


if __name__ == "__main__":
    main()
