"""Memory of `vidsum watch` over a day: an endless MPEG-TS from a pipe, as fast as it decodes.

    python -m docs.benchmarks.watch_day [--minutes 1440] [--every 60] [--out FILE.csv]

A minute of pictures with sound is sent again and again, so that its time stamps jump back each time. The
decoder, the sampling, the evidence, the alerts and the clips of alerts are those of the command; only the
network is replaced by noise, and each hour one query is made to match for half a minute. A row per `--every`
minutes has the resident memory in MiB, and how many times faster than life it went.
"""

import csv
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

import av
import numpy as np

from docs.benchmarks import argument_parser
from vidsum.features.extractor import Extractor
from vidsum.grounding.live import LiveEvidence
from vidsum.pipelines import watch as pipeline
from vidsum.pipelines.decoding import extractor_of
from vidsum.types import FloatArray

_FPS, _SIDE, _RATE = 4, 64, 8000


class Endless:
    """Bytes, over and over, up to a number of times."""

    def __init__(self, data: bytes, times: int) -> None:
        self._data, self._times, self._at = data, times, 0

    def read(self, size: int) -> bytes:
        """The next bytes; none at the end."""
        if self._at == len(self._data):
            self._times, self._at = self._times - 1, 0
        if not self._times:
            return b""
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part


def minute(path: Path) -> bytes:
    """An MPEG-TS of a minute: a square that moves over noise, and a tone."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as output:
        pictures = output.add_stream("libx264", _FPS, options={"preset": "ultrafast", "g": "8", "bf": "0"})
        pictures.width = pictures.height = _SIDE
        pictures.pix_fmt = "yuv420p"
        sound = output.add_stream("aac", _RATE, layout="mono")
        for number in range(60 * _FPS):
            image = rng.integers(0, 30, (_SIDE, _SIDE, 3), np.uint8)
            image[8:24, number % 40 : number % 40 + 16] = 200
            frame = av.VideoFrame.from_ndarray(image)
            frame.pts, frame.time_base = number, Fraction(1, _FPS)
            output.mux(pictures.encode(frame))
            tone = np.sin(np.arange(_RATE // _FPS) / 8).astype(np.float32)[None]
            samples = av.AudioFrame.from_ndarray(tone, "fltp", "mono")
            samples.pts, samples.sample_rate, samples.time_base = (
                number * _RATE // _FPS,
                _RATE,
                Fraction(1, _RATE),
            )
            output.mux(sound.encode(samples))
        output.mux([*pictures.encode(None), *sound.encode(None)])
    return path.read_bytes()


class Noise:
    """An extractor whose network was replaced."""

    def __init__(self, real: Extractor) -> None:
        self.spec, self._rng = real.spec, np.random.default_rng(0)
        features = real.encode(real.spec.crop(np.zeros((256, 256, 3), np.uint8))[None, None])
        self._sizes = features.shape[1], real.logits(features).shape[1]

    def encode(self, clips: FloatArray) -> FloatArray:
        """[n, D] for any pictures."""
        return self._rng.random((len(clips), self._sizes[0]), np.float32)

    def logits(self, features: FloatArray) -> FloatArray:
        """[n, K] for any features."""
        return self._rng.random((len(features), self._sizes[1]), np.float32)


class Hourly(LiveEvidence):
    """The evidence, and half a minute of each hour in which the first query matches.

    The map to sentences is of the network that was replaced: rows of noise stand for its results.
    """

    def __init__(self, queries: FloatArray, device: str = "auto", model: str | None = None) -> None:
        super().__init__(queries, device, model)
        rng, d = np.random.default_rng(1), queries.shape[1]
        self._map, self._second = lambda features: rng.standard_normal((len(features), d), np.float32), 0

    def present(self, features: FloatArray, logits: FloatArray) -> FloatArray:
        """See `LiveEvidence`."""
        found, self._second = super().present(features, logits), self._second + 1
        found[0] = 0.9 if self._second % 3600 in range(90, 120) else 0.1
        return found


def memory_mib() -> float:
    """Resident, of this process."""
    facts = Path("/proc/self/status").read_text().split("VmRSS:")[1]
    return int(facts.split()[0]) / 1024


def day(minutes: int, every: int, folder: Path) -> Iterator[dict[str, float]]:
    """A row per `every` minutes."""
    data, began = minute(folder / "minute.ts"), time.perf_counter()
    with ExitStack() as stack:
        stdin = SimpleNamespace(buffer=Endless(data, minutes))
        stack.enter_context(patch.object(sys, "stdin", stdin))
        stack.enter_context(patch.object(pipeline, "LiveEvidence", Hourly))
        stack.enter_context(patch.object(pipeline, "extractor_of", lambda run: Noise(extractor_of(run))))
        alerts = seconds = 0
        for event in pipeline.watch("-", ["a dog in the snow", "a car"], clips=folder / "clips"):
            alerts += isinstance(event, pipeline.Alert) and event.end_s is None
            seconds += isinstance(event, pipeline.Second)
            if isinstance(event, pipeline.Second) and seconds % (60 * every) == 0:
                speed = seconds / (time.perf_counter() - began)
                yield {
                    "minute": seconds // 60,
                    "MiB": round(memory_mib(), 1),
                    "alerts": alerts,
                    "speed": round(speed),
                }


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--minutes", type=int, default=24 * 60)
    parser.add_argument("--every", type=int, default=60)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    rows = []
    with TemporaryDirectory() as folder:
        for row in day(chosen.minutes, chosen.every, Path(folder)):
            print(row, flush=True)
            rows.append(row)
    if chosen.out:
        with chosen.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
