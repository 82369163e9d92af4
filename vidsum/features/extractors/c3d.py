"""C3D on clips of 16 frames (Tran et al. 2015), Sports-1M: fc6 (`c3d`) or fc7 (`c3d_fc7`), 4096-d.

171x128 pixels whatever the video's shape and a crop of 112, as in the paper. The weights are MMAction's
conversion of the Caffe model: one mean (104, 117, 128) is taken from red, green and blue. The Caffe original
takes blue, green, red and a "mean cube": its features are others. The grounding data sets step 8 frames from
clip to clip (`stride_frames=8`); the default tiles the video.
"""

from functools import partial

from vidsum.features.extractor import Network, Preprocessing, Spec, Weights
from vidsum.video.frames import Exact


def build(weights: Weights, last: str) -> Network:
    """Return the network up to layer `last`, fc6 or fc7."""
    from vidsum.models.clip_networks import C3D

    model = C3D(last)
    names = model.state_dict().keys()
    model.load_state_dict({key: value for key, value in weights.items() if key in names})
    return Network(model)


def spec_of(name: str, last: str) -> Spec:
    """Return the extractor `name` that ends with layer `last`."""
    return Spec(
        name=name,
        checkpoint="c3d",
        dim=4096,
        fps=25.0,
        preprocessing=Preprocessing(Exact(171, 128), 112, mean=(104.0, 117.0, 128.0), std=(1.0, 1.0, 1.0)),
        build=partial(build, last=last),
        clip_frames=16,
        stride_frames=16,
        clip_lengths=range(16, 17),
    )


SPECS = (spec_of("c3d", "fc6"), spec_of("c3d_fc7", "fc7"))
