"""How much memory summaries and moments of a long video take: resident memory while they run, and its peak.

python docs/benchmarks/memory.py [CLIP ...] --minutes 120 [--task summarize] [--every 60] [--film KEPT.mp4]

The film is made of the clips (or of noise that moves, if none is given) at 320x240, encoded once and repeated
without encoding it again. Each task runs in a process of its own with an empty cache. Linux only: what is
resident is read from /proc.
"""

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import c_double
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

import vidsum
from vidsum.memory import use_one_arena

FPS, WIDTH, HEIGHT = 25, 320, 240
QUERY = "a person rides a bike"


def summarize(film: str, progress: Any) -> None:
    """`vidsum summarize --dry-run`."""
    vidsum.summarize(film, progress=progress, cache=False)


def ground(film: str, progress: Any) -> None:
    """`vidsum ground`, by the model that it takes of itself."""
    vidsum.ground(film, QUERY, progress=progress, cache=False)


def ground_similarity(film: str, progress: Any) -> None:
    """`vidsum ground --model similarity`."""
    vidsum.ground(film, QUERY, model="similarity", progress=progress, cache=False)


def transnetv2(film: str, progress: Any) -> None:
    """`vidsum summarize --dry-run --shots transnetv2`: two networks, one of which sees every frame."""
    vidsum.summarize(film, shots="transnetv2", progress=progress, cache=False)


TASKS = {
    "summarize": summarize,
    "ground": ground,
    "ground-similarity": ground_similarity,
    "transnetv2": transnetv2,
}


def make_film(clips: Sequence[Path], minutes: float, target: Path) -> None:
    """A film of the clips' pictures, over and over until it has so many minutes."""
    with tempfile.TemporaryDirectory() as folder:
        once = Path(folder) / "once.mp4"
        _encode(_pictures(clips), once)
        _repeat(once, minutes * 60, target)


def _pictures(clips: Sequence[Path]) -> Iterator[av.VideoFrame]:
    for clip in clips:
        with av.open(str(clip)) as container:
            for frame in container.decode(video=0):
                yield frame.reformat(WIDTH, HEIGHT, "yuv420p")
    if not clips:
        noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        for number in range(20 * FPS):
            yield av.VideoFrame.from_ndarray(np.roll(noise, 4 * number, axis=1), format="rgb24")


def _encode(pictures: Iterator[av.VideoFrame], target: Path) -> None:
    with av.open(str(target), "w") as output:
        stream = output.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "28"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number, picture in enumerate(pictures):
            picture.pts, picture.time_base = number, Fraction(1, FPS)
            picture.pict_type = 0
            output.mux(stream.encode(picture))
        output.mux(stream.encode(None))


def _repeat(source: Path, seconds: float, target: Path) -> None:
    """The packets of `source` again and again, each time later by its length."""
    with av.open(str(target), "w") as output:
        written = None
        shift = 0
        while written is None or shift * written.time_base < seconds:
            with av.open(str(source)) as container:
                stream = container.streams.video[0]
                written = written or output.add_stream_from_template(stream)
                for packet in container.demux(stream):
                    if packet.dts is not None:
                        packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                        packet.stream = written
                        output.mux(packet)
                shift += stream.duration


def watch(task: str, film: Path, every_s: float) -> float:
    """Run a task in a process of its own, print a row about every so many seconds; its peak in MiB."""
    context = multiprocessing.get_context("spawn")
    done_s, peak = context.Value(c_double, 0.0), context.Value(c_double, 0.0)
    process = context.Process(target=_run, args=(task, str(film), done_s, peak))
    start = time.perf_counter()
    process.start()
    while process.is_alive():
        process.join(every_s)
        with suppress(OSError):  # it may just have ended
            resident = _memory_mib(f"/proc/{process.pid}/status", "VmRSS")
            if resident:
                print(f"{time.perf_counter() - start:8.0f} {done_s.value:9.0f} {resident:6.0f}", flush=True)
    if process.exitcode:
        raise SystemExit(f"{task} failed")
    return peak.value


def _run(task: str, film: str, done_s: Any, peak: Any) -> None:
    lock = threading.Lock()

    def progress(_what: str, done: float, _total: float) -> None:
        with lock:  # of two networks, the one that is ahead
            done_s.value = max(done_s.value, done)

    use_one_arena()  # as the program does
    TASKS[task](film, progress)
    peak.value = _memory_mib("/proc/self/status", "VmHWM")


def _memory_mib(status: str, key: str) -> float:
    for line in Path(status).read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, for each task, memory over time and its peak."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("clips", nargs="*", type=Path)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--task", action="append", choices=list(TASKS))
    parser.add_argument("--every", type=float, default=5.0, help="seconds between looks")
    parser.add_argument("--film", type=Path, help="where the film is kept, or is already")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        film = options.film or Path(folder) / "film.mp4"
        if not film.exists():
            make_film(options.clips, options.minutes, film)
        for task in options.task or ["summarize", "ground", "ground-similarity"]:
            print(f"{task}\n  wall s   video s    MiB", flush=True)
            print(f"{task}: peak {watch(task, film, options.every):.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
