"""GoogLeNet on frames (Szegedy et al. 2015), torchvision's IMAGENET1K_V1: 1024-d "pool5", not Caffe's."""

from vidsum.features.extractor import HALF_RANGE, Network, Preprocessing, Spec, Weights, imagenet_classes
from vidsum.video.frames import ShortSide


def build(weights: Weights) -> Network:
    """Return the network up to the global average pool, for pixels in [-1, 1]."""
    from torch import nn
    from torchvision.models import googlenet

    model = googlenet(weights=None, aux_logits=False, transform_input=False, init_weights=False)
    model.load_state_dict({key: value for key, value in weights.items() if not key.startswith("aux")})
    head = model.fc
    model.fc = nn.Identity()
    return Network(model, head)


SPEC = Spec(
    name="googlenet",
    checkpoint="googlenet",
    dim=1024,
    fps=2.0,
    preprocessing=Preprocessing(ShortSide(256), 224, HALF_RANGE, HALF_RANGE),
    build=build,
    class_names=imagenet_classes,
)
