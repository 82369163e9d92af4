"""GoogLeNet on single frames (Szegedy et al. 2015), torchvision's ImageNet weights IMAGENET1K_V1: 1024-d
"pool5".

These are not the numbers of the published SumMe and TVSum files, whose features come from the Caffe model.
"""

from vidsum.features.extractor import HALF_RANGE, Network, Preprocessing, Spec, Weights, imagenet_classes
from vidsum.video.frames import ShortSide


def build(weights: Weights) -> Network:
    """Return the network without its auxiliary heads and its classifier: the global average pool.

    torchvision normalises by ImageNet's mean and deviation, and `transform_input` turns that into [-1, 1];
    here the pixels go to [-1, 1] at once.
    """
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
