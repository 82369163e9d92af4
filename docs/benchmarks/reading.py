"""How long each reader takes for a few frames a second, as a ratio to decoding alone, all in one run.

python -m docs.benchmarks.reading VIDEO --fps 2 --size 224 --repeat 3
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from vidsum.video.frames import Exact, Sampling
from vidsum.video.pyav_reader import decode_frames, open_video, video_stream
from vidsum.video.read import READERS, read_frames


def decode_alone(path: Path) -> None:
    """Decode every frame with all threads, and look at none."""
    with open_video(path) as container:
        for _ in decode_frames(container, video_stream(container, path)):
            pass


def read_with(path: Path, reader: str, sampling: Sampling) -> None:
    """Go through a sampling of the video."""
    for _ in read_frames(path, [sampling], reader=reader):
        pass


def reading_ratios(path: Path, *, fps: float = 2.0, pixels: int = 224, repeat: int = 3) -> dict[str, float]:
    """Fastest of `repeat` interleaved runs of each reader, over that of decoding alone."""
    sampling = Sampling(fps, Exact(pixels, pixels))
    runs: dict[str, Callable[[], None]] = {"decode alone": lambda: decode_alone(path)}
    for reader in READERS:
        runs[reader] = lambda reader=reader: read_with(path, reader, sampling)  # type: ignore[misc]
    fastest = dict.fromkeys(runs, float("inf"))
    for _ in range(repeat):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            fastest[name] = min(fastest[name], time.perf_counter() - start)
    return {name: seconds / fastest["decode alone"] for name, seconds in fastest.items()}


def main(arguments: list[str] | None = None) -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("video", type=Path)
    parser.add_argument("--fps", type=float, default=2.0)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args(arguments)
    ratios = reading_ratios(options.video, fps=options.fps, pixels=options.size, repeat=options.repeat)
    for name, ratio in ratios.items():
        print(f"{name:14} {ratio:5.2f}")


if __name__ == "__main__":
    main()
