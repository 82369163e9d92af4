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
from vidsum.io.provenance import identify_file
from vidsum.pipelines import embedding
from vidsum.pipelines import ground as pipeline
from vidsum.pipelines.queries import read_queries
from vidsum.results.features import Features
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


def test_each_query_finds_its_colour(film: Path, colours: list[int]) -> None:
    result = pipeline.ground(film, ["green", "a yellow wall", "blue"], device="cpu")
    assert [item.query for item in result.queries] == ["green", "a yellow wall", "blue"]
    assert best(result) == [(2, 4), (6, 10), (4, 6)]


def test_result_names_model_and_space_and_the_length_of_the_video(film: Path, colours: list[int]) -> None:
    result = pipeline.ground(film, "green", device="cpu")
    assert (result.model, result.space, result.video_duration_s) == ("similarity", "vse", 10)


def test_film_is_decoded_once_for_all_queries(film: Path, colours: list[int]) -> None:
    pipeline.ground(film, ["green", "a yellow wall", "blue"], device="cpu")
    assert colours == [1]
    assert best(pipeline.ground(film, "red", device="cpu")) == [(0, 2)]
    assert colours == [1]  # the second call took the features from the cache


def test_another_query_cuts_no_shots(film: Path, colours: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    first = pipeline.ground(film, ["green", "blue"], device="cpu")
    monkeypatch.setattr(embedding, "find", lambda *_: pytest.fail("cut again"))
    assert best(pipeline.ground(film, ["green", "blue"], device="cpu")) == best(first)


@pytest.mark.parametrize(("fast", "recorded"), [(True, {"fast": True}), (False, {})])
def test_provenance_says_whether_pictures_were_left_out(
    fast: bool, recorded: dict[str, bool], film: Path, colours: list[int]
) -> None:
    result = pipeline.ground(film, "green", device="cpu", fast=fast)
    parameters = result.provenance["extractions"][0]["parameters"]
    assert {name: value for name, value in parameters.items() if name == "fast"} == recorded
    assert result.warnings == ()


HUNDREDS = [f"{name} {number}" for number in range(100) for name in ("red", "green", "blue")]


def test_hundreds_of_queries_find_each_their_moment(film: Path, colours: list[int]) -> None:
    result = pipeline.ground(film, HUNDREDS, 1, device="cpu")
    assert best(result) == [(0, 2), (2, 4), (4, 6)] * 100


def test_query_has_the_curve_alone_that_it_has_among_hundreds(film: Path, colours: list[int]) -> None:
    alone = pipeline.ground(film, HUNDREDS[280], 1, device="cpu").queries[0]
    among = pipeline.ground(film, HUNDREDS, 1, device="cpu").queries[280]
    np.testing.assert_array_equal(alone.saliency, among.saliency)


def test_moments_have_the_provenance_of_their_plan_which_decodes_nothing(
    film: Path, colours: list[int]
) -> None:
    plan = pipeline.plan_moments(
        film, read_queries(["green", "red"]), Retrieval(top_k=3), Extraction(device="cpu")
    )
    assert colours == []
    assert plan.provenance == plan.run().provenance == json.loads(json.dumps(plan.provenance))


def test_provenance_of_moments_has_queries_and_settings(film: Path, colours: list[int]) -> None:
    queries, options = read_queries(["green", "red"]), Extraction(device="cpu")
    settings = Retrieval(top_k=3)
    known = pipeline.plan_moments(film, queries, settings, options).provenance
    others = [
        pipeline.plan_moments(film, read_queries(["green"]), settings, options),
        pipeline.plan_moments(film, queries, Retrieval(top_k=4), options),
        pipeline.plan_moments(film, queries, settings, replace(options, reader="opencv")),
    ]
    assert known not in [other.provenance for other in others]


@pytest.mark.parametrize("model", ["auto", "similarity"])
def test_features_are_searched_by_similarity_though_it_is_named(model: str) -> None:
    features = Features.from_array(np.repeat(np.eye(3), 20, axis=0), fps=10.0)
    result = pipeline.ground(features, "green", 1, model=model, encode_text=lambda texts: np.eye(3)[[1]])
    assert best(result) == [(2.0, 4.0)]


@pytest.mark.parametrize("setting", ["extractor", "fps", "clip_frames", "stride_frames", "logits"])
def test_settings_that_the_space_decides_are_refused(film: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=f"{setting} is chosen by the space"):
        pipeline.ground(film, "green", **{setting: 1})


@dataclass(frozen=True)
class Reader:
    """A trained model without weights."""

    space: str = "vse"
    max_words: int | None = None
    family: str = "mrnet"
    in_bf16: bool = False
    guided: bool = False


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, bool]]:
    """Queries, most moments and precision of each call of the model, which answers 1 to 2 s."""
    requests: list[tuple[int, int, bool]] = []

    def answer(
        grounder: Reader, video: ClipEmbeddings, tokens: Any, vectors: FloatArray, top_k: int
    ) -> list[Prediction]:
        requests.append((len(tokens), top_k, grounder.in_bf16))
        return [Prediction([Moment(1.0, 2.0, 0.9)], None, np.zeros(len(video))) for _ in tokens]

    monkeypatch.setattr(chosen_model, "_load_checkpoint", lambda model, device, sha256: Reader())
    monkeypatch.setattr("vidsum.grounding.moment_model.ground_video", answer)
    return requests


@pytest.fixture
def ask(colours: list[int], requests: list[tuple[int, int, bool]], tmp_path: Path) -> dict[str, Any]:
    """Options that choose the model."""
    (tmp_path / "best.safetensors").write_bytes(b"weights")
    return {"model": str(tmp_path / "best.safetensors"), "device": "cpu"}


def test_moments_of_a_trained_model_are_the_answer(film: Path, ask: dict[str, Any]) -> None:
    result = pipeline.ground(film, ["green", "red"], 3, **ask)
    assert best(result) == [(1, 2)] * 2
    assert (result.model, result.space) == (ask["model"], "vse")
    check_schema(result.to_dict(with_saliency=False), "moments")


@pytest.mark.parametrize(
    ("precision", "in_bf16", "recorded"), [("bf16", True, "bf16"), ("fp32", False, None)]
)
def test_trained_model_computes_in_the_chosen_precision(
    precision: str,
    in_bf16: bool,
    recorded: str | None,
    film: Path,
    ask: dict[str, Any],
    requests: list[tuple[int, int, bool]],
) -> None:
    result = pipeline.ground(film, ["green", "red"], 3, precision=precision, **ask)
    assert requests == [(2, 3, in_bf16)]
    assert result.provenance["grounding"].get("precision") == recorded


def test_provenance_has_the_hash_of_a_trained_model(film: Path, ask: dict[str, Any]) -> None:
    result = pipeline.ground(film, "green", **ask)
    assert result.provenance["grounding"]["model_sha256"] == identify_file(Path(ask["model"]))["sha256"]


@pytest.mark.parametrize(("alone", "recorded"), [(False, None), (True, True)])
def test_guided_model_answers_alone_on_demand(
    alone: bool, recorded: bool | None, film: Path, ask: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chosen_model, "_load_checkpoint", lambda model, device, sha256: Reader(guided=True))
    result = pipeline.ground(film, ["green", "red"], alone=alone, **ask)
    assert (best(result) == [(1, 2)] * 2) == alone
    assert result.provenance["grounding"].get("alone") == recorded


@pytest.mark.parametrize(
    ("space", "expected"),
    [("vse", ("similarity", "vse")), ("auto", ("similarity", "vse")), ("clip", ("similarity", "clip"))],
)
def test_automatic_model_is_similarity_where_no_other_is_installed(
    monkeypatch: pytest.MonkeyPatch, space: str, expected: tuple[str, str]
) -> None:
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
