"""The image encoders of the CLIP family on a frame for every two seconds; features of length 1.

CLIP (Radford et al. 2021), MobileCLIP2 (Faghri et al. 2025), SigLIP 2 (Tschannen et al. 2025), by open_clip.
"""

from functools import partial

from vidsum.features.clip_family import CLIP_MODELS, build_model
from vidsum.features.extractor import Network, Spec, Weights


def build(weights: Weights, name: str) -> Network:
    """Return the image encoder of a network of the family."""
    from torch import Tensor, nn
    from torch.nn import functional

    class ImageEncoder(nn.Module):
        def __init__(self, visual: nn.Module) -> None:
            super().__init__()
            self.visual = visual

        def forward(self, x: Tensor) -> Tensor:
            return functional.normalize(self.visual(x).float(), dim=-1)

    return Network(ImageEncoder(build_model(name, weights).visual))


SPECS = tuple(
    Spec(
        name=model.name,
        checkpoint=model.name,
        dim=model.dim,
        fps=0.5,
        preprocessing=model.preprocessing,
        build=partial(build, name=model.name),
        prefers_onnx=True,
    )
    for model in CLIP_MODELS.values()
)
