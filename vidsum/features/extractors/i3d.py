"""I3D RGB on clips (Carreira and Zisserman 2017), DeepMind's Kinetics-400 weights: 1024-d, 400 class logits.

25 frames a second, as it was trained; the short side at 256 and a crop of 224 in [-1, 1]. It was trained on
clips of 64 frames. The default is 32 (1.28 s), one every 16 (0.64 s): with 16 it misses actions that take
longer (flipping a pancake), and a feature of 64 costs twice as much.

`i3d_128` reads pictures of 128 pixels that show the same as pictures of 224, for a third of the work.

The class of a whole video comes from the logits averaged over its clips, before the softmax.
"""

from dataclasses import replace

from vidsum.features.extractor import HALF_RANGE, Network, Preprocessing, Spec, Weights, kinetics_classes
from vidsum.video.frames import ShortSide

LENGTHS = range(9, 129)  # at least nine: the last pool spans two positions in time


def build(weights: Weights) -> Network:
    """Return the network up to its average pool, and the classifier after it."""
    from vidsum.models.clip_networks import I3D, from_released

    state, head = from_released(weights)
    model = I3D()
    model.load_state_dict(state)
    return Network(model, head)


SPEC = Spec(
    name="i3d",
    checkpoint="i3d",
    dim=1024,
    fps=25.0,
    preprocessing=Preprocessing(ShortSide(256), 224, HALF_RANGE, HALF_RANGE),
    build=build,
    clip_frames=32,
    stride_frames=16,
    clip_lengths=LENGTHS,
    class_names=kinetics_classes,
)
SPECS = (
    SPEC,
    replace(SPEC, name="i3d_128", preprocessing=replace(SPEC.preprocessing, size=ShortSide(146), crop=128)),
)
