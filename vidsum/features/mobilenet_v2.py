"""MobileNetV2 on single frames (Sandler et al. 2018), torchvision's ImageNet weights IMAGENET1K_V1:
1280-d.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vidsum.features.extractor import IMAGENET_MEAN, IMAGENET_STD, Network, Preprocessing, Spec
from vidsum.video.frames import ShortSide

if TYPE_CHECKING:
    from torch import Tensor


def build(weights: "Mapping[str, Tensor]") -> Network:
    """The network without its classifier: the globally average-pooled last layer."""
    from torch import nn
    from torchvision.models import mobilenet_v2

    model = mobilenet_v2(weights=None)
    model.load_state_dict(weights)
    head = model.classifier[1]
    model.classifier = nn.Identity()
    return Network(model, head)


def class_names() -> Sequence[str]:
    """The 1000 ImageNet classes."""
    from torchvision.models import MobileNet_V2_Weights

    names: Sequence[str] = MobileNet_V2_Weights.IMAGENET1K_V1.meta["categories"]
    return names


SPEC = Spec(
    name="mobilenet_v2",
    checkpoint="mobilenet_v2",
    dim=1280,
    fps=2.0,
    preprocessing=Preprocessing(ShortSide(256), 224, IMAGENET_MEAN, IMAGENET_STD),
    build=build,
    class_names=class_names,
)
