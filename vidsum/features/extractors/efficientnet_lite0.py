"""EfficientNet-Lite0 on single frames (Tan and Le 2019; Liu 2020), ImageNet weights: 1280-d."""

from vidsum.device import Precision
from vidsum.features.extractor import Arrays, Network, Preprocessing, Spec, Weights, imagenet_classes
from vidsum.video.frames import ShortSide


def build(weights: Weights) -> Network:
    """Return the network up to its average pool, and the classifier after it."""
    from vidsum.models.efficientnet_lite import EfficientNetLite0, from_published

    state, head = from_published(weights)
    model = EfficientNetLite0()
    model.load_state_dict(state)
    return Network(model, head)


def graph(weights: Arrays, preprocessing: Preprocessing, precision: Precision) -> bytes:
    """Return the same network for onnxruntime, in fp32 or int8."""
    if precision == "int8":
        from vidsum.features.onnx_lite import Int8Graph

        return Int8Graph(weights).to_bytes(preprocessing)
    from vidsum.features.onnx_lite import LiteGraph

    return LiteGraph(weights).to_bytes(preprocessing)


SPEC = Spec(
    name="efficientnet_lite0",
    checkpoint="efficientnet_lite0",
    dim=1280,
    inner=2304,
    fps=2.0,
    preprocessing=Preprocessing(ShortSide(256), 224, (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)),
    build=build,
    class_names=imagenet_classes,
    graph=graph,
    classifier=("_fc.weight", "_fc.bias"),
)
