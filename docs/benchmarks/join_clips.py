"""Join clips to a film: stretches of 3 to 9 s in a random order, as H.264, each with a tone of its own."""

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from vidsum.types import Picture

_WIDTH, _HEIGHT, _FPS = 640, 360, 25
_RATE, _BLOCK = 44_100, 1024
_STRETCH_S = (3, 9)


def join_clips(
    clips: Sequence[Mapping[str, str]], target: Path, seconds: float, seed: int, preset: str
) -> dict[str, Any]:
    """Write a film and return where each clip is: `duration`, and `moments` of `start`, `end` and `file`.

    Of `clips`, each with its `file` and `query`. When all have been in, they begin anew in another order.
    """
    draw, turn, moments, n_frames = random.Random(seed), list[Mapping[str, str]](), [], 0
    with av.open(str(target), "w") as film:
        video: Any = film.add_stream("libx264", rate=_FPS, options={"preset": preset, "crf": "25"})
        video.width, video.height, video.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
        sound = _Tones(film)
        while n_frames / _FPS < seconds:
            turn = turn or draw.sample(list(clips), len(clips))
            clip = turn.pop()
            with av.open(clip["file"]) as opened:
                whole_s = (opened.duration or 0) / av.time_base
            length_s, begin = min(whole_s, draw.uniform(*_STRETCH_S)), n_frames
            for picture in _stretch(clip["file"], draw.uniform(0, whole_s - length_s), length_s):
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts, frame.time_base = n_frames, Fraction(1, _FPS)
                film.mux(video.encode(frame))
                n_frames += 1
                sound.fill(n_frames, 200 + 60 * list(clips).index(clip))
            if n_frames > begin:
                span = {"start": begin / _FPS, "end": n_frames / _FPS}
                moments.append({"query": clip["query"], **span, "file": clip["file"]})
        film.mux(video.encode())
        sound.close()
    return {"duration": n_frames / _FPS, "moments": moments}


def _stretch(path: str, start_s: float, length_s: float) -> Iterator[Picture]:
    """Yield [360, 640, 3] pictures of a part of a clip at a constant rate, with bars around other shapes."""
    due_s = start_s
    with av.open(path) as clip:
        for frame in clip.decode(video=0):
            if frame.time is None or frame.time < start_s:
                continue
            scale = min(_WIDTH / frame.width, _HEIGHT / frame.height)
            width, height = int(frame.width * scale) // 2 * 2, int(frame.height * scale) // 2 * 2
            picture = np.zeros((_HEIGHT, _WIDTH, 3), np.uint8)
            top, left = (_HEIGHT - height) // 2, (_WIDTH - width) // 2
            scaled = frame.reformat(width, height).to_ndarray(format="rgb24")
            picture[top : top + height, left : left + width] = scaled
            while due_s <= frame.time and due_s < start_s + length_s:
                yield picture
                due_s += 1 / _FPS
            if due_s >= start_s + length_s:
                return


class _Tones:
    """The sound of a film, which follows its pictures."""

    def __init__(self, film: Any) -> None:
        self._film, self._stream, self._n_samples = film, film.add_stream("aac", rate=_RATE), 0

    def fill(self, n_frames: int, hertz: int) -> None:
        """Write a tone up to the end of so many pictures."""
        while self._n_samples + _BLOCK <= n_frames * _RATE // _FPS:
            times = np.arange(self._n_samples, self._n_samples + _BLOCK) / _RATE
            wave = 0.05 * np.sin(2 * np.pi * hertz * times.astype(np.float32))
            frame = av.AudioFrame.from_ndarray(wave[None].astype(np.float32), format="fltp", layout="mono")
            frame.sample_rate, frame.pts, frame.time_base = _RATE, self._n_samples, Fraction(1, _RATE)
            self._film.mux(self._stream.encode(frame))
            self._n_samples += _BLOCK

    def close(self) -> None:
        self._film.mux(self._stream.encode())
