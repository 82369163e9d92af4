"""`python -m docs.benchmarks.spaces NAME`, with random weights of a shallow CLIP and a few pictures."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from docs.benchmarks import judged, spaces
from docs.benchmarks.joined import KINDS
from tests import media
from tests.features import networks
from vidsum import checkpoints
from vidsum.grounding import text
from vidsum.lab.datasets.moments import MomentVideo, Query

pytest.importorskip("open_clip")


@pytest.fixture
def clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Three clips, and films that show the first two."""
    films = [media.make_colour_film(tmp_path / f"{name}.mp4") for name in ("first", "second", "third")]
    known = [
        {"file": str(film), **{kind: f"{kind} {number}" for kind in KINDS}}
        for number, film in enumerate(films)
    ]
    queries = [Query(film.name, "a text", "film", 10.0, ((0.0, 2.0),)) for film in films[:2]]
    truth = MomentVideo("film", 10.0, tuple(queries))
    for module in (spaces, judged):
        monkeypatch.setattr(module, "known_clips", lambda: known)
    monkeypatch.setattr(judged, "composite", lambda *_: (films[0], truth))
    monkeypatch.setattr(judged, "truth_of", lambda _film: truth)
    monkeypatch.setattr(judged, "notes", lambda: {"fits": {}})
    return known


@pytest.fixture
def photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight pictures, the first of a dog."""
    rng, sentences = np.random.default_rng(0), {}
    for number in range(8):
        pixels = rng.integers(0, 256, (32, 32, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        sentences[f"{number}.png"] = [f"a {'dog' if number == 0 else 'cat'} and the number {number}"] * 2
    monkeypatch.setattr(spaces, "held_out", lambda _folder: sentences)
    monkeypatch.setattr(judged, "short_queries", lambda: [("noun", "dog", ([{"dog"}], set()))])
    return tmp_path


@pytest.fixture(autouse=True)
def random_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def state_dict(name: str, *_: Any, **__: Any) -> networks.Weights:
        return dict(networks.clip(name).state_dict())

    monkeypatch.setattr("open_clip.get_model_config", networks.shallow_clip_config)
    monkeypatch.setattr(checkpoints, "find", Path)
    monkeypatch.setattr(checkpoints, "sha256_of", lambda name, *_: name)
    monkeypatch.setattr(checkpoints, "load_state_dict", state_dict)
    text._load.cache_clear()


def test_it_prints_the_row_of_a_space_by_its_name(
    clips: list[dict[str, str]],
    photographs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(judged, "_DRAWS", 3)
    options = ["clip", "--films", str(tmp_path), "--photographs", str(photographs)]
    monkeypatch.setattr(sys, "argv", ["spaces", *options])
    spaces.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    counts = {row[0].removeprefix("| "): row[1] for row in rows if ": " in row[0] or "photographs" in row[0]}
    assert counts["photographs"] == "8"
    # the first table has a query of each clip, the second asks them of ten films or of each clip
    assert {counts[f"clip: {kind}"] for kind in KINDS} == {"9"}
    assert {counts[f"film: {kind}"] for kind in KINDS} == {"30"}
    assert {counts[f"clips: {kind}"] for kind in KINDS} == {str(len(clips))}
    assert {"photograph: noun", "photograph: sentence"} <= {*counts}
