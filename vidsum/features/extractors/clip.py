"""CLIP ViT-B/32 on a frame for every two seconds (Radford et al. 2021): image and text, 512-d, length 1."""

from collections.abc import Sequence

from vidsum.features.extractor import Network, Preprocessing, Spec, TextTower, Weights
from vidsum.types import FloatArray
from vidsum.video.frames import ShortSide

MODEL = "ViT-B-32-quickgelu"  # open_clip's name of it: OpenAI trained with an approximate GELU

_NOT_WEIGHTS = ("input_resolution", "context_length", "vocab_size")  # among the weights in OpenAI's archive


def build(weights: Weights) -> Network:
    """Return the image encoder, and the text encoder with its tokenizer; both end in features of length 1."""
    import open_clip
    import torch
    from torch import Tensor, nn
    from torch.nn import functional

    class ImageEncoder(nn.Module):
        def __init__(self, visual: nn.Module) -> None:
            super().__init__()
            self.visual = visual

        def forward(self, x: Tensor) -> Tensor:
            return functional.normalize(self.visual(x).float(), dim=-1)

    model = open_clip.CLIP(**open_clip.get_model_config(MODEL))
    model.load_state_dict({key: value.float() for key, value in weights.items() if key not in _NOT_WEIGHTS})
    model.eval()
    tokenizer = open_clip.get_tokenizer(MODEL)

    def encode(texts: Sequence[str]) -> FloatArray:
        with torch.inference_mode():
            features: FloatArray = model.encode_text(tokenizer(list(texts)), normalize=True).numpy()
        return features

    def encode_words(texts: Sequence[str]) -> list[FloatArray]:
        tokens = tokenizer(list(texts))
        with torch.inference_mode():
            x = model.token_embedding(tokens) + model.positional_embedding
            x = functional.normalize(model.ln_final(model.transformer(x, attn_mask=model.attn_mask)), dim=2)
        # the token that marks the end has the highest number; zeros after it are padding
        lengths = (tokens.argmax(dim=1) + 1).tolist()
        return [rows[:length].numpy() for rows, length in zip(x, lengths, strict=True)]

    return Network(ImageEncoder(model.visual), text_encoder=TextTower(encode, encode_words))


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
