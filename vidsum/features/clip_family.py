"""The CLIP family: networks that were trained on pictures with texts, and how open_clip names them.

weights/registry.yaml has their sources and licences, docs/algorithms/grounding-spaces.md their figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from vidsum.features.extractor import HALF_RANGE, Preprocessing, Weights
from vidsum.video.frames import Exact, ShortSide

if TYPE_CHECKING:
    import open_clip
    from torch import Tensor, nn

_NOT_WEIGHTS = ("input_resolution", "context_length", "vocab_size")  # among the weights in OpenAI's archive


@dataclass(frozen=True)
class ClipModel:
    """A network of the family, without its weights."""

    name: str
    architecture: str  # open_clip's name
    dim: int  # D of pictures and texts
    preprocessing: Preprocessing
    max_tokens: int
    has_own_tokenizer: bool = False
    """Whether tokenizer.json comes with its weights; the others have CLIP's byte pairs, of open_clip."""
    is_multilingual: bool = False  # whether it was trained on texts of other languages than English too


_ZERO, _FULL = (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)
_OPENAI = (
    (0.48145466 * 255, 0.4578275 * 255, 0.40821073 * 255),
    (
        0.26862954 * 255,
        0.26130258 * 255,
        0.27577711 * 255,
    ),
)
_MOBILE = Preprocessing(ShortSide(256), 256, _ZERO, _FULL)

_MODELS = (
    ClipModel(
        "siglip2-b16-256",
        "ViT-B-16-SigLIP2-256",
        768,
        Preprocessing(Exact(256, 256), 256, HALF_RANGE, HALF_RANGE),
        64,
        has_own_tokenizer=True,
        is_multilingual=True,
    ),
    ClipModel("mobileclip2-s2", "MobileCLIP2-S2", 512, _MOBILE, 77),
    ClipModel("clip-b32-256", "ViT-B-32-256", 512, Preprocessing(ShortSide(256), 256, *_OPENAI), 77),
    ClipModel(
        "pe-core-s16-384",
        "PE-Core-S-16-384",
        512,
        Preprocessing(Exact(384, 384), 384, HALF_RANGE, HALF_RANGE),
        32,
    ),
    ClipModel("mobileclip2-s0", "MobileCLIP2-S0", 512, _MOBILE, 77),
    # OpenAI trained with an approximate GELU
    ClipModel("clip", "ViT-B-32-quickgelu", 512, Preprocessing(ShortSide(224), 224, *_OPENAI), 77),
)
CLIP_MODELS: Mapping[str, ClipModel] = MappingProxyType({model.name: model for model in _MODELS})


def build_model(name: str, weights: Weights) -> "open_clip.CLIP | open_clip.CustomTextCLIP":
    """Return open_clip's network with its weights, to be evaluated. Raises RuntimeError: they do not fit."""
    import open_clip
    from timm.utils.model import reparameterize_model

    config = dict(open_clip.get_model_config(CLIP_MODELS[name].architecture))
    is_custom = config.pop("custom_text", False)
    model = open_clip.CustomTextCLIP(**config) if is_custom else open_clip.CLIP(**config)
    model.load_state_dict({key: value.float() for key, value in weights.items() if key not in _NOT_WEIGHTS})
    model.eval().requires_grad_(False)
    if is_custom:  # one convolution for each sum of several, as the network runs once it is trained
        model.visual.trunk = reparameterize_model(model.visual.trunk)
    return model


def build_text_tower(name: str, weights: Weights) -> "nn.Module":
    """Return a module from tokens [N, L] to features [N, D] and the last layer's rows [N, L, W], length 1."""
    import torch
    from torch import nn
    from torch.nn import functional

    model = build_model(name, weights)

    class TextTower(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text = getattr(model, "text", model)
            self.text.output_tokens = True

        def forward(self, tokens: "Tensor") -> "tuple[Tensor, Tensor]":
            if self.text is not model:
                pooled, rows = self.text(tokens)
            else:
                x = model.token_embedding(tokens) + model.positional_embedding
                rows = model.ln_final(model.transformer(x, attn_mask=model.attn_mask))
                # the token that marks the end has the highest number
                last = torch.take_along_dim(rows, tokens.argmax(dim=1)[:, None, None], dim=1)[:, 0]
                pooled = last @ model.text_projection
            return functional.normalize(pooled, dim=-1), functional.normalize(rows, dim=-1)

    return TextTower().eval()
