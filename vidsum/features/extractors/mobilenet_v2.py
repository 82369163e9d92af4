"""MobileNetV2 on single frames (Sandler et al. 2018), torchvision's weights IMAGENET1K_V1: 1280-d."""

from vidsum.features.extractor import IMAGENET, Network, Preprocessing, Spec, Weights, imagenet_classes
from vidsum.video.frames import ShortSide


def build(weights: Weights) -> Network:
    """Return the network without its classifier: the globally average-pooled last layer."""
    from torch import nn
    from torchvision.models import mobilenet_v2

    model = mobilenet_v2(weights=None)
    model.load_state_dict(weights)
    head = model.classifier[1]
    model.classifier = nn.Identity()
    return Network(model, head)


SPEC = Spec(
    name="mobilenet_v2",
    checkpoint="mobilenet_v2",
    dim=1280,
    fps=2.0,
    preprocessing=Preprocessing(ShortSide(256), 224, *IMAGENET),
    build=build,
    class_names=imagenet_classes,
)
