"""Extractors from outside vidsum: registered by a program, or by an installed package's entry point."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NoReturn

from vidsum.errors import UsageError
from vidsum.settings import EXTRACTORS

if TYPE_CHECKING:
    import numpy.typing as npt

    from vidsum.features.extractor import Extractor, Spec
    from vidsum.types import FloatArray, Picture

GROUP = "vidsum.extractors"
"""Entry points in which packages name an `OwnExtractor`; `--extractor NAME` finds them."""

_registered: "dict[str, OwnExtractor]" = {}


@dataclass(frozen=True)
class OwnExtractor:
    """A network, or any other function, that makes features of frames.

    A video is read at `fps` frames a second; each frame is resized and its centre is cropped.
    """

    name: str
    encode: "Callable[[Picture], npt.ArrayLike]" = field(repr=False)
    """RGB frames [N, size, size, 3], uint8, to features [N, dim]."""
    dim: int
    fps: float = 2.0
    size: int = 224
    """Side of the square, in pixels."""
    version: str = "1"
    """Change it with the features: the cache keeps those of each version."""

    @property
    def sha256(self) -> str:
        """Stands for the weights where vidsum's own networks have the hash of theirs."""
        facts = (self.name, self.version, self.dim, self.size)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def spec(self) -> "Spec":
        """What it sees of a video and gives."""
        from vidsum.features.extractor import Preprocessing, Spec
        from vidsum.video.frames import ShortSide

        def build(weights: object) -> NoReturn:
            raise UsageError(f"{self.name} is not vidsum's: only its encode runs it")

        square = Preprocessing(ShortSide(self.size), self.size, (0.0,) * 3, (1.0,) * 3)
        return Spec(self.name, "", self.dim, self.fps, square, build, own=self)

    def extractor(self, spec: "Spec") -> "Extractor":
        """Ready to run, with the rate of `spec`."""
        from vidsum.features.extractor import Extractor

        return Extractor(spec, self._run, device="cpu", precision="fp32", backend="auto")

    def _run(self, clips: "Picture") -> "FloatArray":
        import numpy as np

        rows = np.asarray(self.encode(clips[:, 0]), np.float32)
        if rows.shape != (len(clips), self.dim):
            shape = [len(clips), self.dim]
            raise UsageError(f"{self.name} gave features of shape {list(rows.shape)}, not {shape}")
        return rows


def register_extractor(extractor: OwnExtractor) -> None:
    """Let `extract`, `summarize` and the like use an extractor by its name; the last of a name counts.

    Raises UsageError for a name of vidsum's own.
    """
    if extractor.name in EXTRACTORS:
        raise UsageError(f"{extractor.name} is an extractor of vidsum", hint="choose another name")
    _registered[extractor.name] = extractor


def own_extractor(name: str) -> OwnExtractor | None:
    """The extractor that was registered under a name, or that an installed package has."""
    if name not in _registered:
        entry = next(iter(entry_points(group=GROUP, name=name)), None)
        if entry is None:
            return None
        register_extractor(entry.load())
    return _registered.get(name)
