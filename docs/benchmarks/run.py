"""Run the benchmarks that need no arguments, one after the other.

python -m docs.benchmarks.run [NAME ...]

NAME is a module of this folder, such as `natural`.
Without the shared clips, those that need them are skipped.
"""

import subprocess
import sys
from pathlib import Path

from docs.benchmarks import argument_parser
from tests.conftest import SHARED

ROOT = Path(__file__).parents[2]


def sections() -> dict[str, list[str]]:
    """Return the module and arguments behind each heading."""
    networks = {"Networks: folded against plain, precision, onnxruntime": ["extractors", "networks"]}
    with_clips = {
        "Extraction against decoding alone, 1080p": ["extractors", "film"],
        "Seconds per minute of video, by frame extractor": ["extractors", "speed"],
        "Live footage against dull": ["liveness", str(SHARED / "videos" / "wide")],
        "Edges of known composites by the features of each extractor": ["extractors", "edges"],
        "Moments in natural footage": ["natural"],
    }
    if not SHARED.is_dir():
        print(f"skipped, because the shared clips are missing: {'; '.join(with_clips)}")
        return networks
    return networks | with_clips


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
