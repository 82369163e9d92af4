"""The public function that finds moments: one decode pass, the cache, its provenance and its settings."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import media
from tests.conftest import real_weights
from tests.grounding.colours import use_colours
from tests.program import check_schema
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding import chosen_model
from vidsum.grounding.moment_model import Prediction
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.pipelines import embedding
from vidsum.pipelines import ground as pipeline
from vidsum.pipelines.queries import read_queries
from vidsum.results.moments import Grounding, Moment
from vidsum.types import FloatArray, iou


@pytest.fixture
def colours(own_home: Path, served: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Queries are colours; lists the decode passes."""
    use_colours(monkeypatch)
    return served


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Red for 2 s, green for 2 s, blue for 2 s, then yellow for 4 s."""
    return media.make_colour_film(tmp_path_factory.mktemp("film") / "film.mp4")


def best(result: Grounding) -> list[tuple[float, float]]:
    return [(item.moments[0].start_s, item.moments[0].end_s) for item in result.queries]


def test_ground_in_one_pass(film: Path, colours: list[int]) -> None:
    result = pipeline.ground(film, ["green", "a yellow wall", "blue"], device="cpu")
    assert [item.query for item in result.queries] == ["green", "a yellow wall", "blue"]
    assert best(result) == [(2, 4), (6, 10), (4, 6)]
    assert (result.model, result.space, result.video_duration_s) == ("similarity", "vse", 10)
    assert colours == [1]
    assert best(pipeline.ground(film, "red", device="cpu")) == [(0, 2)]
    assert colours == [1]  # the second call took the features from the cache


def test_another_query_cuts_no_shots(film: Path, colours: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    first = pipeline.ground(film, ["green", "blue"], device="cpu")
    monkeypatch.setattr(embedding, "find", lambda *_: pytest.fail("cut again"))
    assert best(pipeline.ground(film, ["green", "blue"], device="cpu")) == best(first)


def test_ground_fast(film: Path, colours: list[int]) -> None:
    result = pipeline.ground(film, "green", device="cpu", fast=True)
    assert result.provenance["extractions"][0]["parameters"]["fast"] is True
    assert result.warnings == ()
    whole = pipeline.ground(film, "green", device="cpu")
    assert "fast" not in whole.provenance["extractions"][0]["parameters"]
    assert whole.warnings == ()


def test_ground_thousands_of_queries(film: Path, colours: list[int]) -> None:
    texts = [f"{name} {number}" for number in range(100) for name in ("red", "green", "blue")]
    result = pipeline.ground(film, texts, 1, device="cpu")
    assert best(result) == [(0, 2), (2, 4), (4, 6)] * 100
    alone = pipeline.ground(film, texts[280], 1, device="cpu")
    np.testing.assert_array_equal(alone.queries[0].saliency, result.queries[280].saliency)


def test_planned_provenance_of_moments(film: Path, colours: list[int]) -> None:
    queries, options = read_queries(["green", "red"]), Extraction(device="cpu")
    settings = Retrieval(top_k=3)
    plan = pipeline.plan_moments(film, queries, settings, options)
    assert colours == []
    known = plan.provenance
    assert known == plan.run().provenance == json.loads(json.dumps(known))
    others = [
        pipeline.plan_moments(film, read_queries(["green"]), settings, options),
        pipeline.plan_moments(film, queries, Retrieval(top_k=4), options),
        pipeline.plan_moments(film, queries, settings, replace(options, reader="opencv")),
    ]
    assert known not in [other.provenance for other in others]


@pytest.mark.parametrize("setting", ["extractor", "fps", "clip_frames", "stride_frames", "logits"])
def test_options_of_the_space(film: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=f"{setting} is chosen by the space"):
        pipeline.ground(film, "green", **{setting: 1})


def test_trained_model(
    film: Path, colours: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[tuple[int, int, bool]] = []

    @dataclass(frozen=True)
    class Reader:
        space: str = "vse"
        max_words: int | None = None
        family: str = "mrnet"
        in_bf16: bool = False
        guided: bool = False

    def answer(
        grounder: Reader, video: ClipEmbeddings, tokens: Any, vectors: FloatArray, top_k: int
    ) -> list[Prediction]:
        requests.append((len(tokens), top_k, grounder.in_bf16))
        return [Prediction([Moment(1.0, 2.0, 0.9)], None, np.zeros(len(video))) for _ in tokens]

    path = tmp_path / "best.safetensors"
    path.write_bytes(b"weights")
    monkeypatch.setattr(chosen_model, "_load_checkpoint", lambda model, device, sha256: Reader())
    monkeypatch.setattr("vidsum.grounding.moment_model.ground_video", answer)
    ask = {"model": str(path), "device": "cpu"}
    result = pipeline.ground(film, ["green", "red"], 3, precision="bf16", **ask)
    exact = pipeline.ground(film, ["green", "red"], 3, precision="fp32", **ask)
    assert requests == [(2, 3, True), (2, 3, False)]
    assert [item.provenance["grounding"].get("precision") for item in (result, exact)] == ["bf16", None]
    check_schema(result.to_dict(with_saliency=False), "moments")
    assert best(result) == [(1, 2)] * 2
    assert (result.model, result.space) == (str(path), "vse")
    assert len(result.provenance["grounding"]["model_sha256"]) == 64
    monkeypatch.setattr(chosen_model, "_load_checkpoint", lambda model, device, sha256: Reader(guided=True))
    added, values = (pipeline.ground(film, ["green", "red"], alone=alone, **ask) for alone in (False, True))
    assert best(values) == best(result) != best(added)
    assert [item.provenance["grounding"].get("alone") for item in (added, values)] == [None, True]


@pytest.mark.parametrize(
    ("space", "expected"),
    [("vse", ("similarity", "vse")), ("auto", ("similarity", "vse")), ("clip", ("similarity", "clip"))],
)
def test_resolve_auto_model(monkeypatch: pytest.MonkeyPatch, space: str, expected: tuple[str, str]) -> None:
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None)
    assert chosen_model.resolve_model("auto", space) == expected


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_real_clips_are_told_apart(shared: Path, tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    names = ("pancake.mkv", "yoga.mp4", "basketball.mp4")
    film, truth = media.join_clips(shared, tmp_path, names, "--seconds=15", "--size=320x240")
    result = pipeline.ground(film, [item["query"] for item in truth], space="vse")
    overlaps = [
        iou([stretch], [(item["start"], item["end"])])[0, 0]
        for stretch, item in zip(best(result), truth, strict=True)
    ]
    assert np.mean(overlaps) > 0.5
