"""Training data simulated from captions files, with text encoders that need no weights."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.lab.training.test_captions import WORDS, one_hot
from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.lab.datasets.clip_captions import Captions
from vidsum.lab.training import simulated, training_examples
from vidsum.lab.training.settings import DataSettings
from vidsum.lab.training.training_examples import simulated_moments
from vidsum.types import FloatArray

N = len(WORDS)


@pytest.fixture(autouse=True)
def _no_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    encoder = SimpleNamespace(encode=one_hot)
    monkeypatch.setattr(training_examples, "load_text_encoder", lambda name: encoder)
    monkeypatch.setattr(
        training_examples, "load_map", lambda: SimpleNamespace(simulate=training_examples.show_in_clip)
    )
    monkeypatch.setattr(checkpoints, "sha256_of", lambda name: f"that of {name}")


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    """Ten videos in the layout of ActivityNet Captions."""
    videos = {
        f"v_{number}": {
            "duration": 60.0,
            "timestamps": [[0.0, 10.0], [30.0, 60.0]],
            "sentences": [f"{WORDS[number]} runs", f"cook {WORDS[-number]}"],
        }
        for number in range(10)
    }
    path = tmp_path / "train.json"
    path.write_text(json.dumps(videos))
    return path


def recipe(*annotations: Path, **choices: Any) -> DataSettings:
    return DataSettings(data=tuple(map(str, annotations)), videos=12, **choices)


def test_epoch_has_always_the_same_videos(annotations: Path) -> None:
    data = simulated_moments(recipe(annotations), clips=16)
    first, again = data.examples(1), data.examples(1)
    assert len(first) == 12
    assert all(np.array_equal(a.video, b.video) for a, b in zip(first, again, strict=True))


def test_each_epoch_has_its_own_videos(annotations: Path) -> None:
    data = simulated_moments(recipe(annotations), clips=16)
    pairs = zip(data.examples(1), data.examples(2), strict=True)
    assert not any(np.array_equal(a.video, b.video) for a, b in pairs)


def test_validation_is_simulated_from_other_videos(annotations: Path) -> None:
    data = simulated_moments(recipe(annotations, validation="0.3"), clips=16)
    names = {example.name for example in data.validation} - {"joined"}
    assert len(names) == 3
    assert not names & {example.name for epoch in range(1, 9) for example in data.examples(epoch)}


def test_queries_of_the_validation_are_all_true_somewhere(annotations: Path) -> None:
    data = simulated_moments(recipe(annotations, validation="0.3"), clips=16)
    assert all(example.windows.any() for example in data.validation)


@pytest.mark.parametrize("space", ["vse", "clip"])
def test_checkpoint_knows_what_it_will_read(annotations: Path, space: Any) -> None:
    data = simulated_moments(recipe(annotations, space=space), clips=16)
    assert data.features == {"space": space, "dim": N + 1, "clip_s": 1.0, "guided": True}


def test_only_the_space_of_the_map_has_its_digest(annotations: Path) -> None:
    vse, clip = (
        simulated_moments(recipe(annotations, **choices), clips=16).about
        for choices in ({}, {"space": "clip"})
    )
    assert vse["map_sha256"] == "that of vse"
    assert "map_sha256" not in clip


def test_several_files_may_have_sentences_of_one_video(annotations: Path, tmp_path: Path) -> None:
    other = tmp_path / "more.json"
    other.write_text(annotations.read_text())
    data = simulated_moments(recipe(annotations, other, validation="0"), clips=16)
    names = {example.name for epoch in range(1, 30) for example in data.examples(epoch)}
    assert {"train/v_3", "more/v_3"} <= names
    assert [one["name"] for one in data.about["annotations"]] == ["train.json", "more.json"]


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Captions of the clips of three of those videos, and of one more."""
    path = tmp_path / "clips.jsonl"
    captions = {f"v_{number}": ["snow"] * 14 + ["egg"] * 16 for number in (1, 2, 3, 99)}
    path.write_text(
        "".join(json.dumps({"vid": name, "captions": texts}) + "\n" for name, texts in captions.items())
    )

    def embedded(videos: Captions, progress: object) -> dict[str, FloatArray]:
        return {name: one_hot(texts) for name, texts in videos.items()}

    monkeypatch.setattr(training_examples, "embed_captions", embedded)
    return path


def test_half_of_the_annotated_videos_are_described_by_captions_of_their_clips(
    annotations: Path, clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "_JOINED", 0)
    data = simulated_moments(recipe(annotations, features=(clips,), validation="0"), clips=60)
    names = [example.name for epoch in range(1, 9) for example in data.examples(epoch)]
    described = np.isin(names, ["train/v_1", "train/v_2", "train/v_3"])
    assert "joined" not in names
    assert 0.5 < described.mean() < 0.85  # half, and three tenths of the others
    assert data.about["captions_of_clips"][0]["name"] == "clips.jsonl"
    assert data.about["described"] == 3


def test_captions_of_clips_are_refused_for_another_space(annotations: Path, clips: Path) -> None:
    with pytest.raises(UsageError, match="embedded by minilm"):
        simulated_moments(recipe(annotations, features=(clips,), space="clip"), clips=16)


def test_captions_of_other_videos_are_refused(annotations: Path, clips: Path) -> None:
    clips.write_text('{"vid": "v_99", "captions": ["snow"]}\n')
    with pytest.raises(UsageError, match="of no video"):
        simulated_moments(recipe(annotations, features=(clips,)), clips=16)
