"""Results as data: JSON and back, tables, and what a notebook shows."""

import sys
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests import media
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.features import Features
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments
from vidsum.results.result import Result
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.types import VideoInfo

TIMES = np.array([0.0, 1.0, 2.0])
CURVE = np.array([0.25, 1.0, 0.5], np.float32)
MADE_FROM = {
    "vidsum": "1",
    "extractor": "none",
    "features": {"bytes": 1, "sha256": 64 * "0"},
    "highlights": {"top_k": 5, "clip_s": 2.0},
}
SHA256 = 64 * "0"
MOMENTS_MADE_FROM = {
    "vidsum": "1",
    "video": {"bytes": 1, "sha256": SHA256},
    "extractions": [{"extractor": "clip", "weights_sha256": SHA256, "parameters": {}}],
    "grounding": {
        "top_k": 5,
        "model": "similarity",
        "space": "clip",
        "snap": "none",
        "queries": {"count": 2, "sha256": SHA256},
        "text_weights_sha256": SHA256,
    },
}

HEARD = {
    "vidsum": "1",
    "video": {"bytes": 1, "sha256": SHA256},
    "speech": {
        "model": "whisper_base",
        "weights_sha256": SHA256,
        "language": None,
        "translate": False,
        "beams": 1,
        "precision": "int8",
    },
}

SEEN = {
    "vidsum": "1",
    "extractor": "efficientnet_lite0",
    "weights_sha256": SHA256,
    "parameters": {},
    "video": {"bytes": 1, "sha256": SHA256},
    "shots": {"max_shot_s": 10.0},
    "descriptions": {
        "writer": "retrieve",
        "every_s": None,
        "min_sure": 0.3,
        "map_sha256": SHA256,
        "text_weights_sha256": SHA256,
        "sentences_sha256": SHA256,
        "in_gaps": [2.0, 0.3, 160],
        "candidates": ["highlights"],
    },
}


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> VideoInfo:
    film = media.make_video(tmp_path_factory.mktemp("film") / "<b>film.mp4", n_frames=75)
    return vidsum.probe(film.path)


@pytest.fixture
def results(video: VideoInfo) -> dict[str, Result]:
    common = {"video": video, "provenance": MADE_FROM, "warnings": ("one",)}
    moments = (Moment(1.0, 2.5, 0.75), Moment(0.0, 1.0, 0.5))
    queries = (QueryMoments("a <dog>", moments, CURVE, 0.5), QueryMoments("nothing", (), CURVE, None))
    shots = (ScoredShot(0.0, 1.0, 0.25, False), ScoredShot(1.0, 3.0, 0.75, True))
    return {
        "summary": Summary(
            ((1.0, 3.0),), shots, CURVE, TIMES, 2.0, 3.0, video.fps, "ridge", "kts", "why", **common
        ),
        "shots": Shots(np.array([0.0, 1.0, 3.0]), "kts", video_fps=25.0, **common),
        "moments": Grounding(
            queries, TIMES, 1.0, 3.0, "similarity", "clip", **{**common, "provenance": MOMENTS_MADE_FROM}
        ),
        "transcript": Transcript(
            (
                Segment(
                    0.0, 1.5, "a <dog>", 0.75, 0.25, (Word(0.0, 0.5, "a", 0.5), Word(0.5, 1.5, "<dog>", 1.0))
                ),
                Segment(2.0, 3.0, "barks", 0.5, 0.125, ()),
            ),
            "en",
            0.75,
            3.0,
            **{**common, "provenance": HEARD},
        ),
        "descriptions": Descriptions(
            (Description(0.0, 1.0, "A <dog> runs.", 0.75), Description(1.25, 1.75, "It barks.", 0.5)),
            "retrieve",
            3.0,
            1,
            ((0.0, 1.75),),
            **{**common, "provenance": SEEN},
        ),
        "highlights": Highlights(CURVE, TIMES, 1.0, moments, 3.0, "ridge", "why", **common),
    }


KINDS = ["summary", "shots", "moments", "transcript", "highlights", "descriptions"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_result_is_loaded_as_it_was(kind: str, results: dict[str, Result], tmp_path: Path) -> None:
    result = results[kind]
    result.save(tmp_path / "r.json")
    loaded = vidsum.load(tmp_path / "r.json")
    assert type(loaded) is type(result)
    assert loaded.to_dict() == result.to_dict()
    for name, value in vars(result).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(loaded, name), value)
        elif name != "queries":  # they hold arrays
            assert getattr(loaded, name) == value


def test_features_are_saved_too(tmp_path: Path) -> None:
    features = Features.from_array(np.eye(4), fps=2.0, extractor="mine")
    vidsum.write_features(features, tmp_path / "f.npz")
    loaded = vidsum.load(tmp_path / "f.npz")
    assert isinstance(loaded, Features)
    np.testing.assert_array_equal(loaded.array, features.array)
    assert features.to_dict()["shape"] == [4, 4]
    with pytest.raises(vidsum.VidsumError, match="json"):
        features.save(tmp_path / "g.npz")


def test_moments_written_without_their_curves_are_loaded(results: dict[str, Result], tmp_path: Path) -> None:
    from vidsum.results.result import write_document

    grounding = results["moments"]
    assert isinstance(grounding, Grounding)
    write_document(grounding.to_dict(with_saliency=False), tmp_path / "m.json")
    loaded = vidsum.load(tmp_path / "m.json")
    assert isinstance(loaded, Grounding)
    assert [one.moments for one in loaded.queries] == [one.moments for one in grounding.queries]
    assert loaded.queries[0].saliency.size == 0


def test_other_files_are_refused_by_name(results: dict[str, Result], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"schema": "vidsum.evaluation/1"}')
    results["shots"].save(tmp_path / "changed.json")
    text = (tmp_path / "changed.json").read_text()
    (tmp_path / "changed.json").write_text(text.replace('"kts"', '"kts2"'))
    for name in ("other.json", "changed.json", "missing.json"):
        with pytest.raises(vidsum.VidsumError, match=name):
            vidsum.load(tmp_path / name)
    with pytest.raises(vidsum.VidsumError, match=r"must end in \.json"):
        results["shots"].save(tmp_path / "shots.mp4")


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_prints_on_one_line_and_is_escaped_in_html(kind: str, results: dict[str, Result]) -> None:
    shown, html = repr(results[kind]), results[kind]._repr_html_()
    assert len(shown) < 120
    assert "<b>film.mp4" in shown
    assert "<b>" not in html
    assert "&lt;b&gt;film.mp4" in html
    assert "<dog>" not in html
    assert html.count("<tr>") == 3


def test_long_tables_are_cut(video: VideoInfo) -> None:
    html = Shots(np.arange(31.0), "uniform", video)._repr_html_()
    assert html.count("<tr>") == 21
    assert "10 more" in html
    assert repr(Shots(np.arange(31.0), "uniform")) == "Shots(30 by uniform, 30 s)"


def test_tables_of_pandas(results: dict[str, Result]) -> None:
    pytest.importorskip("pandas")
    shots = results["summary"].to_pandas()
    assert shots["selected"].tolist() == [False, True]
    moments = results["moments"].to_pandas()
    assert moments[["query", "rank", "start_s"]].to_numpy().tolist() == [
        ["a <dog>", 1, 1.0],
        ["a <dog>", 2, 0.0],
    ]
    assert results["highlights"].to_pandas()["score"].tolist() == [0.75, 0.5]
    assert results["transcript"].to_pandas()["text"].tolist() == ["a <dog>", "barks"]
    assert results["shots"].to_pandas()["end_s"].tolist() == [1.0, 3.0]
    rows = Features.from_array(np.eye(3), fps=2.0).to_pandas()
    assert rows.index.tolist() == [0, 0.5, 1]


def test_without_pandas_it_is_said(results: dict[str, Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(vidsum.VidsumError, match="pandas is not installed"):
        results["shots"].to_pandas()


def test_a_missing_result_is_named(tmp_path: Path) -> None:
    with pytest.raises(vidsum.VidsumError, match=r"none\.json: no such file"):
        vidsum.load(tmp_path / "none.json")
