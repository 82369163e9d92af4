"""The captioner in NumPy: equal to PyTorch's, its search exhaustive where it can be, words there and back."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.lab.training.captioner import TrainedCaptioner
from vidsum.models.captioner import (
    END,
    SPECIAL,
    UNKNOWN,
    Captioner,
    build_captioner,
    join_words,
    number_words,
    split_words,
    tensor_shapes,
)
from vidsum.models.configs import CaptionerConfig
from vidsum.models.scaling import unit_rows
from vidsum.models.vse import STEPS, pack

CONFIG = CaptionerConfig(
    words=(*SPECIAL, "dog", "runs", "wet"), dim_in=6, d=8, layers=2, heads=2, d_ff=12, prefix=2, longest=3
)


def pair(config: CaptionerConfig = CONFIG, seed: int = 0) -> tuple[TrainedCaptioner, Captioner]:
    """Return one captioner with random weights, in PyTorch and in NumPy."""
    torch.manual_seed(seed)
    model = TrainedCaptioner(config, 0.5, 0.5).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.copy_(torch.randn_like(weights))
    rng = np.random.default_rng(seed)
    standard = {"mean": rng.normal(size=config.dim_in), "scale": rng.uniform(1, 2, config.dim_in)}
    arrays = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    return model, build_captioner(config, {**arrays, **standard})


def features(count: int) -> np.ndarray:
    return np.random.default_rng(1).random((count, CONFIG.dim_in), np.float32)


def chances_of(model: TrainedCaptioner, x: np.ndarray, words: list[int]) -> np.ndarray:
    """[L + 1, W] log-probabilities along a sentence, unknown words apart."""
    with torch.no_grad():
        logits = model(torch.from_numpy(x[None]), torch.tensor([words], dtype=torch.int64))[0]
    logits[:, UNKNOWN] = -torch.inf
    return logits.log_softmax(dim=1).numpy()


def test_it_equals_pytorch_word_by_word() -> None:
    model, captioner = pair()
    x = captioner.standardise(features(4))
    chances, memory = captioner.begin(x)
    words = np.array([[2, 4, 3], [3, 3, 2], [4, 2, 2], [2, 2, 2]])
    said = np.arange(len(CONFIG.words)) != UNKNOWN
    for place in range(4):
        want = np.stack([chances_of(model, *each)[place] for each in zip(x, words.tolist(), strict=True)])
        assert np.allclose(chances[:, said], want[:, said], atol=1e-4)
        if place < 3:
            chances = captioner.read(words[:, place], memory)


def test_a_wide_search_finds_the_likeliest_of_all_sentences() -> None:
    model, captioner = pair(seed=3)
    seen = features(3)
    for x, found in zip(captioner.standardise(seen), captioner.write(seen, 27), strict=True):
        every = {}
        for words in (words for length in (1, 2, 3) for words in product((2, 3, 4), repeat=length)):
            chances = chances_of(model, x, list(words))
            total = sum(chances[place, word] for place, word in enumerate((*words, END)))
            every[captioner.sentence(words)] = total / (len(words) + 1)
        order = sorted(every, key=lambda text: -every[text])[:27]
        assert [each.text for each in found] == order
        assert np.allclose(
            [each.log_probability for each in found], [every[text] for text in order], atol=1e-4
        )


def test_a_narrow_search_keeps_its_width_and_pictures_do_not_touch() -> None:
    _, captioner = pair()
    seen = features(5)
    together = captioner.write(seen, 2)
    assert [len(each) for each in together] == [2] * 5
    alone = [captioner.write(row[None], 2)[0] for row in seen]
    assert [[one.text for one in each] for each in together] == [[one.text for one in each] for each in alone]
    assert captioner.write(seen[:0], 2) == []


def test_eight_bits_lose_at_most_half_a_step() -> None:
    _, captioner = pair()
    small = pack(captioner.tensors)
    assert all(small[name].dtype == np.int8 for name, whole in captioner.tensors.items() if whole.ndim == 2)
    again = build_captioner(CONFIG, small)
    for name, tensor in captioner.tensors.items():
        step = np.abs(tensor).max(axis=-1, keepdims=True) / STEPS if tensor.ndim == 2 else 0
        assert (np.abs(again.tensors[name] - tensor) <= 0.501 * step).all()


def test_tensors_that_do_not_fit_are_refused() -> None:
    _, captioner = pair()
    with pytest.raises(ValueError, match="shapes"):
        build_captioner(replace(CONFIG, d=4), captioner.tensors)
    with pytest.raises(ValueError, match="finite"):
        build_captioner(CONFIG, {**captioner.tensors, "bias": np.full(5, np.nan, np.float32)})
    assert {name: each.shape for name, each in captioner.tensors.items()} == tensor_shapes(CONFIG)


def test_features_are_read_as_the_map_reads_them() -> None:
    _, captioner = pair()
    seen = -4 * unit_rows(features(2))
    want = (-2 * np.sqrt(-seen / 4) - captioner.tensors["mean"]) / captioner.tensors["scale"]
    assert np.allclose(captioner.standardise(seen), want, atol=1e-6)


@settings(max_examples=25)
@given(st.lists(st.from_regex(r"[a-z0-9]{1,5}(-[a-z]{1,4})?", fullmatch=True), min_size=1, max_size=8))
def test_words_there_and_back(words: list[str]) -> None:
    vocabulary = (*SPECIAL, *sorted({*words, "'s"}))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    said = [*words, "'s", "end"]
    tokens = number_words(join_words(said), numbers)
    assert [vocabulary[token] for token in tokens] == [*words, "'s", vocabulary[numbers.get("end", UNKNOWN)]]


def test_sentences_are_written_as_people_write_them() -> None:
    assert split_words("A man 's T-shirt , 2 dogs !") == ["a", "man", "'s", "t-shirt", "2", "dogs"]
    assert join_words(["a", "man", "'s", "dog"]) == "A man's dog."
    assert join_words([]) == ""
