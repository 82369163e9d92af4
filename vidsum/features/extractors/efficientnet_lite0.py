"""EfficientNet-Lite0 on single frames (Tan and Le 2019; Liu 2020), ImageNet weights: 1280-d."""

from vidsum.features.extractor import Network, Preprocessing, Spec, Weights, imagenet_classes
from vidsum.video.frames import ShortSide


def build(weights: Weights) -> Network:
    """Return the network up to its average pool, and the classifier after it."""
    from vidsum.models.efficientnet_lite import EfficientNetLite0, from_published

    state, head = from_published(weights)
    model = EfficientNetLite0()
    model.load_state_dict(state)
    return Network(model, head)


SPEC = Spec(
    name="efficientnet_lite0",
    checkpoint="efficientnet_lite0",
    dim=1280,
    inner=2304,
    fps=2.0,
    preprocessing=Preprocessing(ShortSide(256), 224, (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)),
    build=build,
    class_names=imagenet_classes,
    graphs={"fp32": "efficientnet_lite0.onnx", "int8": "efficientnet_lite0-int8.onnx"},
    classifier=("_fc.weight", "_fc.bias"),
)
