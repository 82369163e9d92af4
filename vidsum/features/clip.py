"""CLIP ViT-B/32 on single frames (Radford et al. 2021), OpenAI's weights: image and text features, 512-d,
length 1.

One frame for every two seconds, the clips of QVHighlights: the frame on screen when each begins.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vidsum.features.extractor import Network, Preprocessing, Spec
from vidsum.types import FloatArray
from vidsum.video.frames import ShortSide

if TYPE_CHECKING:
    from torch import Tensor

MODEL = "ViT-B-32-quickgelu"
"""open_clip's name of it: OpenAI trained with an approximate GELU."""

_NOT_WEIGHTS = ("input_resolution", "context_length", "vocab_size")
"""Numbers about the model that OpenAI's archive keeps among the weights."""


def build(weights: "Mapping[str, Tensor]") -> Network:
    """The image tower, and the text tower with its tokenizer; both end in features of length 1."""
    import open_clip
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

    class ImageTower(nn.Module):
        def __init__(self, visual: nn.Module) -> None:
            super().__init__()
            self.visual = visual

        def forward(self, x: Tensor) -> Tensor:
            return functional.normalize(self.visual(x).float(), dim=-1)

    model = open_clip.CLIP(**open_clip.get_model_config(MODEL))
    model.load_state_dict({key: value.float() for key, value in weights.items() if key not in _NOT_WEIGHTS})
    model.eval()
    tokenizer = open_clip.get_tokenizer(MODEL)

    def encode_text(texts: Sequence[str]) -> FloatArray:
        with torch.inference_mode():
            features: FloatArray = model.encode_text(tokenizer(list(texts)), normalize=True).numpy()
        return features

    return Network(ImageTower(model.visual), encode_text=encode_text)


SPEC = Spec(
    name="clip",
    checkpoint="clip",
    dim=512,
    fps=0.5,
    preprocessing=Preprocessing(
        ShortSide(224),
        224,
        mean=(0.48145466 * 255, 0.4578275 * 255, 0.40821073 * 255),
        std=(0.26862954 * 255, 0.26130258 * 255, 0.27577711 * 255),
    ),
    build=build,
)
