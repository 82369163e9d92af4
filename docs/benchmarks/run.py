"""All benchmarks, one after the other: ratios, each measured within one run of its own process.

python -m docs.benchmarks.run [NAME ...]

With names of modules of this folder (`attention`, `shots`), only those.

Those that need the shared clips are left out where these are not there, and say so.
"""

import subprocess
import sys
from pathlib import Path

from docs.benchmarks import argument_parser
from tests.conftest import SHARED

ROOT = Path(__file__).parents[2]


def sections() -> dict[str, list[str]]:
    """What each heading runs: a module of this folder and its arguments."""
    alone = {
        "Networks: folded against plain, precision, onnxruntime": ["extractors", "networks"],
        "Kernel temporal segmentation against the direct programme": ["shots"],
        "Knapsack against the plain programme": ["knapsack"],
        "Local-global attention against dense attention": ["attention"],
        "Learned masks: parameters, FLOPs and time": ["learned_mask"],
    }
    with_clips = {
        "Extraction against decoding alone, 1080p": ["extractors", "film"],
        "Seconds per minute of video, by the extractors of frames": ["extractors", "speed"],
        "Live footage against dull": ["liveness", str(SHARED / "videos" / "wide")],
        "Repetitions in summaries": ["duplicates", str(SHARED / "videos")],
        "Edges of known composites by the features of each extractor": ["extractors", "edges"],
        "Edges of known composites by each way to find shots": ["shots", "--sizes", "--shared", str(SHARED)],
        "Moments in natural footage": ["natural"],
        "F-measures of published summaries of SumMe": [
            "summe_published",
            str(SHARED / "data" / "summe" / "summe_protocol.npz"),
            str(SHARED / "data" / "summe" / "csnet_summaries.npz"),
        ],
        "TVSum's highlight protocol: chance and annotators": [
            "tvsum_highlights",
            str(SHARED / "data" / "tvsum" / "ydata-tvsum50.mat"),
        ],
    }
    if not SHARED.is_dir():
        print(f"left out, for want of the shared clips: {'; '.join(with_clips)}")
        return alone
    return alone | with_clips


def main() -> None:
    """Run every section."""
    parser = argument_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules to run; all if not given")
    options = parser.parse_args()
    for heading, (module, *arguments) in sections().items():
        if options.names and module not in options.names:
            continue
        print(f"\n== {heading}\n   python -m docs.benchmarks.{' '.join([module, *arguments])}\n", flush=True)
        command = [sys.executable, "-m", f"docs.benchmarks.{module}", *arguments]
        subprocess.run(command, cwd=ROOT, check=False)


if __name__ == "__main__":
    main()
