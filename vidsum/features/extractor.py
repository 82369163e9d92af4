"""The interface of feature extractors: the frames they read, and the call that makes features."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from vidsum.device import Backend, Precision
from vidsum.errors import UsageError, require_type
from vidsum.features.settings import EXTRACTORS
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import MAX_FPS, Sampling, ShortSide, Size

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch
    from torch import nn


Weights: TypeAlias = "Mapping[str, torch.Tensor]"  # the tensors of a checkpoint
Arrays: TypeAlias = "Mapping[str, npt.NDArray[Any]]"  # the tensors of a checkpoint, as NumPy arrays
Triple = tuple[float, float, float]  # values for red, green and blue

IMAGENET = ((0.485 * 255, 0.456 * 255, 0.406 * 255), (0.229 * 255, 0.224 * 255, 0.225 * 255))
"""Mean and deviation."""
HALF_RANGE: Triple = (127.5, 127.5, 127.5)  # as mean and as deviation: pixels become [-1, 1]


_CLASS_NAMES = Path(__file__).with_name("class_names")  # a file per set of classes, a name per line


def imagenet_classes() -> Sequence[str]:
    """Return the 1000 ImageNet classes, in the order of the logits."""
    return read_class_names("imagenet")


def kinetics_classes() -> Sequence[str]:
    """Return the 400 classes of Kinetics-400, in alphabetic order, which is the order of the logits."""
    return read_class_names("kinetics_400")


def read_class_names(classes: str) -> Sequence[str]:
    """Return the names of a set of classes, in the order of the logits."""
    return (_CLASS_NAMES / f"{classes}.txt").read_text(encoding="utf-8").splitlines()


@dataclass(frozen=True)
class Preprocessing:
    """From a video's picture to a network's input: resize, crop a centred square, (pixel - mean) / std."""

    size: Size  # size that the frame reader gives
    crop: int  # side of the square, in pixels
    mean: Triple  # for pixels from 0 to 255
    std: Triple


@dataclass(frozen=True, eq=False)
class Network:
    """A network with its weights, from a spec's `build`."""

    backbone: "nn.Module"  # normalised input [N, 3, H, W], or [N, 3, T, H, W] for clips, to features [N, D]
    head: "nn.Linear | None" = None  # features [N, D] to class scores [N, K] before the softmax


@dataclass(frozen=True)
class Spec:
    """An extractor without its weights."""

    name: str
    checkpoint: str  # name of its weights in the registry
    dim: int  # D, the length of a feature
    fps: float  # frames per second that it is fed with
    preprocessing: Preprocessing
    build: Callable[[Weights], Network] = field(repr=False)  # makes the network of a checkpoint's tensors
    inner: int = 0  # numbers of inner layers that the network gives after a feature, for a map to sentences
    clip_frames: int = 1  # frames that one feature sees
    stride_frames: int = 1  # frames from the start of one clip to the start of the next
    clip_lengths: range = range(1, 2)  # the lengths that `clip_frames` may have
    class_names: Callable[[], Sequence[str]] | None = field(default=None, repr=False)
    """Names of the K classes of the logits, where there are logits."""
    graphs: Mapping[Precision, str] = field(default_factory=dict, repr=False)
    """Names of the checkpoint's ONNX files: from `clips` uint8 to `features`, as for `Extractor.encode`."""
    prefers_onnx: bool = False  # whether it runs in onnxruntime on CPUs, as PyTorch exports it
    classifier: tuple[str, str] | None = None  # names of weights [K, D] and biases [K] of the last layer
    network: str | None = None  # the extractor of vidsum's whose network has weights of the user's own here
    custom: "CustomExtractor | None" = None  # replaces a built-in network; it has no checkpoint

    def __post_init__(self) -> None:
        if not 0 < self.fps <= MAX_FPS:
            raise UsageError(f"fps must be above 0 and at most {MAX_FPS:g}, not {self.fps:g}")
        if self.clip_frames not in self.clip_lengths:
            low, high = self.clip_lengths[0], self.clip_lengths[-1]
            lengths = str(low) if low == high else f"{low} to {high}"
            raise UsageError(f"{self.name} takes clips of {lengths} frame(s), not {self.clip_frames}")
        if self.stride_frames < 1:
            raise UsageError(f"the stride must be one frame or more, not {self.stride_frames}")

    @property
    def takes_clips(self) -> bool:
        """Whether the network sees several frames at once."""
        return self.clip_lengths.stop > 2

    @property
    def sampling(self) -> Sampling:
        return Sampling(self.fps, self.preprocessing.size)

    @property
    def step_s(self) -> float:
        return self.stride_frames / self.fps

    @property
    def covers_s(self) -> float:
        """Seconds that one feature covers; a single frame covers the time up to the next."""
        return self.clip_frames / self.fps if self.takes_clips else self.step_s

    def crop(self, image: Picture) -> Picture:
        """Return the centred square of a picture, as a view."""
        return crop_centre(image, self.preprocessing.crop)


def crop_centre(image: Picture, side: int) -> Picture:
    """Return the square in the middle of a picture [H, W, 3], as a view."""
    height, width = image.shape[:2]
    top, left = round((height - side) / 2), round((width - side) / 2)
    return image[top : top + side, left : left + side]


@dataclass(frozen=True, eq=False)
class Extractor:
    """An extractor with its weights, ready to run."""

    spec: Spec
    encode: Callable[[Picture], FloatArray] = field(repr=False)
    """Clips [N, clip_frames, crop, crop, 3] of RGB pixels to features [N, D + inner]."""
    device: str
    precision: Precision
    backend: Backend
    classify: Callable[[FloatArray], FloatArray] | None = field(default=None, repr=False)
    """Features [T, D] to class scores [T, K] before the softmax."""

    def logits(self, features: FloatArray) -> FloatArray:
        """Class scores [T, K], before the softmax, of `encode`'s rows. Raises UsageError without classes."""
        if self.classify is None:
            from vidsum.features import describe  # which imports this module

            names = [name for name in EXTRACTORS if describe(name).class_names]
            raise UsageError(f"{self.spec.name} has no class scores", hint=f"choose from {', '.join(names)}")
        return self.classify(features[:, : self.spec.dim])


GROUP = "vidsum.extractors"  # entry points in which packages name a `CustomExtractor`

_registered: "dict[str, CustomExtractor]" = {}


@dataclass(frozen=True)
class CustomExtractor:
    """A function that makes features of frames: `fps` a second, resized, and cropped to the centre."""

    name: str
    encode: "Callable[[Picture], npt.ArrayLike]" = field(repr=False)
    """RGB frames [N, size, size, 3], uint8, to features [N, dim]."""
    dim: int
    fps: float = 2.0
    size: int = 224  # side of the square, in pixels
    version: str = "1"  # change it with the features: the cache separates versions

    @property
    def sha256(self) -> str:
        """Identifies the extractor in caches, like the weights' hash of a built-in network."""
        facts = (self.name, self.version, self.dim, self.size)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def spec(self) -> Spec:
        def build(weights: object) -> NoReturn:
            raise UsageError(f"{self.name} is not vidsum's: only its encode runs it")

        square = Preprocessing(ShortSide(self.size), self.size, (0.0,) * 3, (1.0,) * 3)
        return Spec(self.name, "", self.dim, self.fps, square, build, custom=self)

    def extractor(self, spec: Spec) -> Extractor:
        """Return it ready to run, with the rate of `spec`."""
        return Extractor(spec, self._run, device="cpu", precision="fp32", backend="auto")

    def _run(self, clips: Picture) -> FloatArray:
        rows = np.asarray(self.encode(clips[:, 0]), np.float32)
        if rows.shape != (len(clips), self.dim):
            shape = [len(clips), self.dim]
            raise UsageError(f"{self.name} gave features of shape {list(rows.shape)}, not {shape}")
        return rows


def register_extractor(extractor: CustomExtractor) -> None:
    """Make an extractor available by its name. Raises UsageError for the name of a built-in extractor."""
    require_type(extractor, CustomExtractor)
    if extractor.name in EXTRACTORS:
        raise UsageError(f"{extractor.name} is an extractor of vidsum", hint="choose another name")
    _registered[extractor.name] = extractor


def find_custom_extractor(name: str) -> CustomExtractor | None:
    """Return the extractor registered under a name, or provided by an installed package."""
    if name not in _registered:
        entry = next(iter(entry_points(group=GROUP, name=name)), None)
        if entry is None:
            return None
        register_extractor(entry.load())
    return _registered.get(name)
