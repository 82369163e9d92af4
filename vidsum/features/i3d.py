"""I3D RGB on clips (Carreira and Zisserman 2017), DeepMind's Kinetics-400 weights: 1024-d and 400 class
logits.

25 frames a second, as it was trained; the short side at 256 and a crop of 224 in [-1, 1]. A clip of 16
frames is the shortest that fills the last pool, and 16 frames apart (0.64 s) they tile the video about as
finely as 2 fps does.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vidsum.features.extractor import Network, Preprocessing, Spec
from vidsum.video.frames import ShortSide

if TYPE_CHECKING:
    from torch import Tensor

HALF_RANGE = (127.5, 127.5, 127.5)


def build(weights: "Mapping[str, Tensor]") -> Network:
    """The network up to its average pool, and the classifier after it."""
    from vidsum.models.i3d import I3D, from_released

    state, head = from_released(weights)
    model = I3D()
    model.load_state_dict(state, strict=False)
    return Network(model, head)


def class_names() -> Sequence[str]:
    """The 400 Kinetics classes, in the alphabetic order of the released model."""
    from torchvision.models.video import R3D_18_Weights

    names: Sequence[str] = R3D_18_Weights.KINETICS400_V1.meta["categories"]
    return names


SPEC = Spec(
    name="i3d",
    checkpoint="i3d",
    dim=1024,
    fps=25.0,
    preprocessing=Preprocessing(ShortSide(256), 224, HALF_RANGE, HALF_RANGE),
    build=build,
    clip_frames=16,
    stride_frames=16,
    clip_lengths=range(9, 251),
    class_names=class_names,
)
