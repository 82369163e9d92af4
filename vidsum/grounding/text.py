"""Text towers: networks and word vectors that turn a text into one vector, behind one interface."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.types import FloatArray

MINILM_TOKENS = 256
"""The most tokens of a text that all-MiniLM-L6-v2 was published with; it was trained on 128."""
_BATCH = 64


@dataclass(frozen=True, eq=False)
class TextTower:
    """What turns texts into vectors."""

    name: str
    dim: int
    """D"""
    encode: Callable[[Sequence[str]], FloatArray] = field(repr=False)
    """Texts to [M, D], each of length 1. A text longer than the tower reads is cut; `warnings_of` says so."""
    warnings_of: Callable[[Sequence[str]], tuple[str, ...]] = field(repr=False)
    """What a user should know of how these texts are read: one line each."""


def load_text_tower(name: str, device: str = "auto") -> TextTower:
    """A text tower with its weights, fetched on first use; loaded once.

    Args:
        name: one of `TEXT_TOWERS`.
        device: where the network runs; `glove` has none, and `clip` always reads text on the CPU.

    Raises:
        UsageError: there is no such tower, or the device or a package that it needs is not there.
        WeightsError: the weights are missing, cannot be fetched or fail their check.
    """
    if name not in _LOADERS:
        raise UsageError(f"there is no text tower {name!r}", hint=f"choose from {', '.join(TEXT_TOWERS)}")
    return _load(name, device)


@lru_cache(maxsize=3)
def _load(name: str, device: str) -> TextTower:
    return _LOADERS[name](device)


def _load_minilm(device: str) -> TextTower:
    import torch
    from tokenizers import Tokenizer

    from vidsum.device import choose_device
    from vidsum.models.minilm import load_minilm

    place = choose_device(device)
    model = load_minilm(checkpoints.load_state_dict("minilm")).to(place)
    tokenizer = Tokenizer.from_file(str(checkpoints.path_of("minilm") / "tokenizer.json"))
    tokenizer.enable_truncation(MINILM_TOKENS)
    tokenizer.enable_padding()

    def encode(texts: Sequence[str]) -> FloatArray:
        rows = np.empty((len(texts), 384), np.float32)
        order = sorted(
            range(len(texts)), key=lambda number: len(texts[number])
        )  # alike in length: less padding
        for first in range(0, len(order), _BATCH):
            chosen = order[first : first + _BATCH]
            encodings = tokenizer.encode_batch([texts[number] for number in chosen])
            tokens = torch.tensor([one.ids for one in encodings], device=place)
            is_token = torch.tensor([one.attention_mask for one in encodings], device=place).bool()
            with torch.inference_mode():
                rows[chosen] = model(tokens, is_token).cpu().numpy()
        return rows

    def warnings_of(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            f"{_start(text)}: only the first {MINILM_TOKENS} tokens are read"
            for text, one in zip(texts, tokenizer.encode_batch(list(texts)), strict=True)
            if one.overflowing
        )

    return TextTower("minilm", 384, encode, warnings_of)


def _start(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")


_LOADERS: dict[str, Callable[[str], TextTower]] = {"minilm": _load_minilm}
TEXT_TOWERS = tuple(_LOADERS)
"""The names of the text towers."""
