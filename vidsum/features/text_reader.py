"""Text in pictures by RapidOCR, which runs the PP-OCR networks (Cui et al., "PaddleOCR 3.0", 2025).

The networks are in the package; nothing is downloaded.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from vidsum.device import cached_model, n_threads
from vidsum.io.packages import installed_version, load_onnxruntime, require_extra
from vidsum.io.provenance import hash_file
from vidsum.results.screen_text import Box, ScreenLine, ScreenWord
from vidsum.types import Picture

PACKAGE: Final = "rapidocr"
_USER: Final = "text on the screen"
_NETWORKS: Final = ("*_det_*.onnx", "*_rec_*.onnx")
_MIN_CONFIDENCE: Final = 0.7  # of a line: texture that is read as text has less
_MIN_SINGLE_CONFIDENCE: Final = 0.95  # of a line of one character, most of which are no text


@dataclass(frozen=True, eq=False)
class TextReader:
    engine: Any

    def read(self, picture: Picture) -> list[ScreenLine]:
        """Return the lines of an RGB picture [H, W, 3] in reading order, with times 0."""
        result = self.engine(np.ascontiguousarray(picture[..., ::-1]), return_word_box=True)
        if result.txts is None or result.boxes is None:
            return []
        height, width = picture.shape[:2]
        words = result.word_results or [()] * len(result.txts)
        read = zip(result.txts, result.scores, result.boxes, words, strict=True)
        lines = [
            ScreenLine(
                *(0.0, 0.0, " ".join(text.split()), _rounded(score), _to_box(corners, width, height)),
                words=_words(parts, width, height),
            )
            for text, score, corners, parts in read
        ]
        return [line for line in lines if is_legible(line)]


def is_legible(line: ScreenLine) -> bool:
    letters = sum(map(str.isalnum, line.text))
    return letters > 0 and line.confidence >= (_MIN_CONFIDENCE if letters > 1 else _MIN_SINGLE_CONFIDENCE)


def reader_facts() -> tuple[str, str]:
    """Return the package with its version, and a digest of its networks. Raises PackageError: no RapidOCR."""
    require_extra("ocr", _USER)
    hashes = ",".join(map(_hash, _network_paths()))
    return f"{PACKAGE} {installed_version(PACKAGE)}", sha256(hashes.encode()).hexdigest()


@cached_model(maxsize=1)
def load_reader() -> TextReader:
    """Return the reader, loaded once. Raises PackageError: no RapidOCR."""
    require_extra("ocr", _USER)
    load_onnxruntime()
    from rapidocr import RapidOCR

    detector, recognizer = map(str, _network_paths())
    parameters = {
        "Global.log_level": "critical",
        "Global.use_cls": False,  # lines that stand on their heads
        "Det.model_path": detector,
        "Rec.model_path": recognizer,
        "EngineConfig.onnxruntime.intra_op_num_threads": n_threads(),
    }
    return TextReader(RapidOCR(params=parameters))


def _network_paths() -> list[Path]:
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "models"
    return [next(iter(sorted(folder.glob(pattern)))) for pattern in _NETWORKS]


_hash = cache(hash_file)


def _words(words: Any, width: int, height: int) -> tuple[ScreenWord, ...]:
    return tuple(
        ScreenWord(text, _rounded(score), _to_box(corners, width, height)) for text, score, corners in words
    )


def _to_box(corners: Any, width: int, height: int) -> Box:
    points = np.asarray(corners, np.float64).reshape(-1, 2) / (width, height)
    (left, top), (right, bottom) = points.min(axis=0).round(4).tolist(), points.max(axis=0).round(4).tolist()
    return left, top, right, bottom


def _rounded(score: float) -> float:
    return round(float(score), 4)
