"""Training a captioner: it learns sentences by heart, goes on, and writes 8 bits a weight."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.pictures import EXTRACTOR, make_pictures, use_stand_ins
from vidsum.checkpoints.trained import read_trained
from vidsum.errors import OutputError
from vidsum.lab.training.captioner import (
    IGNORED,
    TrainedCaptioner,
    batches,
    likelihood_loss,
    train_captioner,
    vocabulary,
)
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import CaptionerSettings, VSEData
from vidsum.models.captioner import END, SPECIAL, build_captioner
from vidsum.models.configs import CaptionerConfig

SMALL = CaptionerConfig(d=16, layers=1, heads=2, d_ff=16, prefix=1, longest=12)
SETTINGS = CaptionerSettings(
    model=SMALL, loop=LoopSettings(epochs=2), views=2, least=2, lr=0.01, batch_size=32, device="cpu"
)


@pytest.fixture
def data(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VSEData:
    """48 pictures of 16 kinds, and an extractor that needs no weights."""
    use_stand_ins(monkeypatch)
    make_pictures(folder := tmp_path / "data", 48)
    return VSEData(captions=folder / "captions.csv", pictures=folder / "images", extractor=EXTRACTOR)


def test_it_learns_sentences_by_heart() -> None:
    config = replace(SMALL, words=(*SPECIAL, "red", "blue", "cat", "dog"), dim_in=4)
    torch.manual_seed(0)
    model = TrainedCaptioner(config, 0.0, 0.0)
    x = torch.eye(4)
    words = torch.tensor([[2, 4, 0], [3, 4, 0], [5, 0, IGNORED], [3, 5, 0]])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        likelihood_loss(model, x, words, 0.0, 0.0).backward()
        optimizer.step()
    arrays = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    captioner = build_captioner(config, {**arrays, "mean": np.zeros(4), "scale": np.ones(4)})
    found = [each[0].text for each in captioner.write(np.eye(4, dtype=np.float32), 2)]
    assert found == ["Red cat.", "Blue cat.", "Dog.", "Blue dog."]


def test_a_run_writes_a_captioner_in_8_bits(data: VSEData, tmp_path: Path) -> None:
    result = train_captioner(data, SETTINGS, tmp_path / "run")
    assert (result.n_validation, result.up_to_date, result.warnings) == (3, False, ())
    trained = read_trained(result.checkpoint)
    captioner = build_captioner(CaptionerConfig(**trained.config), trained.tensors)
    assert captioner.config.words[:4] == (*SPECIAL, "a", "bar")
    assert (trained.model, trained.features["extractor"], captioner.config.dim_in) == (
        "captioner",
        EXTRACTOR,
        48,
    )
    assert trained.training["best"] == {
        "epoch": trained.training["best"]["epoch"],
        "cider": result.validation["cider"],
    }
    assert trained.tensors["words.weight"].dtype == np.int8


def test_it_can_be_stopped_anywhere_and_gives_the_same_bytes(data: VSEData, tmp_path: Path) -> None:
    train_captioner(data, SETTINGS, tmp_path / "whole")
    for calls in (2, 5, 6):
        steps = iter(range(calls - 1))

        def stop(what: str, done: float, total: float, steps: Iterator[int] = steps) -> None:
            if next(steps, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_captioner(data, SETTINGS, tmp_path / "parts", progress=stop)
    assert not train_captioner(data, SETTINGS, tmp_path / "parts").up_to_date
    first, second = ((tmp_path / run / "best.safetensors").read_bytes() for run in ("whole", "parts"))
    assert first == second
    assert train_captioner(data, SETTINGS, tmp_path / "parts").up_to_date
    with pytest.raises(OutputError, match="other settings"):
        train_captioner(data, replace(SETTINGS, lr=0.1), tmp_path / "parts")


def test_each_sentence_is_once_in_an_epoch_beside_others_of_its_length() -> None:
    rng = np.random.default_rng(0)
    sentences = [[(*[2 + picture] * rng.integers(1, 9), END) for _ in range(5)] for picture in range(40)]
    steps = batches(sentences, 3, replace(SETTINGS, batch_size=16), 1)
    rows = [
        (picture, tuple(token for token in row if token != IGNORED))
        for batch in steps.values()
        for picture, row in zip(batch.picture.tolist(), batch.words.tolist(), strict=True)
    ]
    assert sorted(rows) == sorted((picture, each) for picture, own in enumerate(sentences) for each in own)
    padding = [float((batch.words == IGNORED).float().mean()) for batch in steps.values()]
    assert np.mean(padding) < 0.1
    assert {int(view) for batch in steps.values() for view in batch.view} == {0, 1, 2}


def test_rare_words_are_not_in_the_vocabulary() -> None:
    assert vocabulary(["A dog runs .", "the dog", "A cat"], 2) == (*SPECIAL, "a", "dog")
