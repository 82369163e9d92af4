"""Objects in fp32, bf16 and int8: what they cost, and what changes.

    python -m docs.benchmarks.precision FOLDER [--seeds 0 1 ...]
    python -m docs.benchmarks.precision --ranges CLIP ...

The films of docs/benchmarks/joined.py, joined from all clips, are made in FOLDER. Of each way: processor
for a second of video, from the file to the features; mean cosine of the features with those in fp32; F1 of
the KTS edges with the cuts (within a second); Spearman's correlation of the summary's scores with those in
fp32; the share of the summary that both have; and R@1 at IoU .5 of captions by similarity, whose motion is
the same in all. In brackets 95 % intervals, of a bootstrap over films.

`--ranges` prints what `vidsum/features/onnx_lite.py` has to know, measured on the frames of clips.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import vidsum
from docs.benchmarks import argument_parser, processor_s, shared_s
from docs.benchmarks.grounding import by_curve
from docs.benchmarks.joined import composite, truth_of
from tests.shots.boundaries import f1
from vidsum import checkpoints
from vidsum.features import describe
from vidsum.features.extract import iter_clips
from vidsum.features.onnx_lite import LiteGraph
from vidsum.grounding.spaces import embed_queries, similarity
from vidsum.intervals import iou
from vidsum.keywords import ReadingOptions
from vidsum.pipelines.sight import seen
from vidsum.results.features import Features
from vidsum.scaling import unit_rows
from vidsum.shots import find
from vidsum.types import FloatArray
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

SPEC = describe("efficientnet_lite0")
WAYS: Mapping[str, ReadingOptions] = {
    "fp32": {"precision": "fp32"},
    "bf16, in PyTorch": {"precision": "bf16"},
    "int8": {"precision": "int8"},
}
_WITHIN_S = 1.0
_RESAMPLES = 2000


def ranges(clips: Sequence[Path]) -> dict[str, tuple[float, float]]:
    """Least and greatest value of each tensor that no ReLU6 clips."""
    import onnx
    import onnxruntime

    model = onnx.load_from_string(
        LiteGraph(checkpoints.load_arrays(SPEC.checkpoint)).written(SPEC.preprocessing)
    )
    names = [each.output[0] for each in model.graph.node]
    names = [name for name in names if name.endswith((".project_conv.out", ".sum"))]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(name, 1, None) for name in names)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = dict.fromkeys(names, (0.0, 0.0))
    for clip in clips:
        with read_frames(probe(clip), [SPEC.sampling]) as frames:
            for _, pictures in iter_clips((frame for _, frame in frames), SPEC):
                values = session.run(names, {"clips": np.stack(pictures)[None]})
                for name, value in zip(names, values, strict=True):
                    low, high = found[name]
                    found[name] = min(low, float(value.min())), max(high, float(value.max()))
    return found


def read(film: Path, how: ReadingOptions) -> tuple[Features, float]:
    """Features with class scores, and the processor seconds that they took."""
    start_s = processor_s()
    features = vidsum.extract(film, cache=False, logits=True, **how)
    return features, processor_s() - start_s


def measures(film: Path, features: Features, took_s: float, plain: Features) -> FloatArray:
    """A row of the table."""
    truth = truth_of(film)
    starts = np.unique([start for query in truth.queries for start, _ in query.windows])
    edges_s = find(features).edges_s
    summary, theirs = vidsum.summarize(features), vidsum.summarize(plain)
    video = seen("vse", (features,), edges_s, "cpu")
    embedded = embed_queries("vse", [query.text for query in truth.queries])
    answers = by_curve(video, similarity(video, embedded))
    hits = [
        iou([(row[0].start_s, row[0].end_s)], query.windows).max() >= 0.5
        for row, query in zip(answers, truth.queries, strict=True)
    ]
    cosines = (unit_rows(features.array) * unit_rows(plain.array)).sum(1)
    summary_s = sum(end - start for start, end in theirs.segments)
    rho = spearmanr(summary.importance, theirs.importance).statistic
    return np.array(
        [
            took_s / truth.duration_s,
            cosines.mean(),
            f1(edges_s[1:-1], starts[starts > 0], _WITHIN_S),
            rho,
            shared_s(summary.segments, theirs.segments) / summary_s,
            np.mean(hits),
        ]
    )


def main() -> None:
    """Print the table, or the ranges."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path, nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--ranges", action="store_true")
    options = parser.parse_args()
    if options.ranges:
        for name, (low, high) in ranges(options.folder).items():
            print(f'    "{name}": ({low:.4g}, {high:.4g}),')
        return
    rows: dict[str, list[FloatArray]] = {name: [] for name in WAYS}
    for seed in options.seeds:
        film = composite(options.folder[0], "all", 120, seed)[0]
        read_ways = {name: read(film, how) for name, how in WAYS.items()}
        plain = read_ways["fp32"][0]
        for name, (features, took_s) in read_ways.items():
            rows[name].append(measures(film, features, took_s, plain))
    print("| objects | processor s per s | cosine | F1 of cuts | rho of scores | same summary | R@1 .5 |")
    print("|---|---|---|---|---|---|---|")
    picks = np.random.default_rng(0).integers(0, len(options.seeds), (_RESAMPLES, len(options.seeds)))
    for name, found in rows.items():
        values = np.stack(found)
        low, high = np.percentile(values[picks].mean(axis=1), [2.5, 97.5], axis=0)
        cells = [f"{m:.3f} [{a:.3f}, {b:.3f}]" for m, a, b in zip(values.mean(0), low, high, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
