"""Results as data: their fields, JSON and back, tables, and their look in a notebook."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vidsum
from tests.media import make_video
from tests.results.made import results, texts
from vidsum.errors import InputError, UsageError
from vidsum.results.features import Features
from vidsum.results.load import read_document
from vidsum.results.result import Result, seal, to_text, write_document
from vidsum.results.shots import Shots

GOLDEN = Path(__file__).parents[1] / "golden" / "documents"
KINDS = ["summary", "moments", "highlights", "shots", "transcript", "descriptions"]


@pytest.fixture(scope="module")
def made(film: Path) -> dict[str, Result]:
    all_results = [*(result for _, result in results(film, with_saliency=True)), *texts(film)]
    return dict(zip(KINDS, all_results, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_result_round_trip(kind: str, made: dict[str, Result]) -> None:
    result = made[kind]
    assert type(result).from_dict(json.loads(to_text(result.to_dict()))) == result  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["summary_auto", "shots", "moments", "highlights"])
def test_load_golden_documents(name: str, tmp_path: Path) -> None:
    document = json.loads((GOLDEN / f"{name}.json").read_text())
    document = seal({key: value for key, value in document.items() if key != "digest"})
    write_document(document, tmp_path / "r.json")
    loaded = vidsum.load(tmp_path / "r.json")
    assert loaded.kind == name.partition("_")[0]
    rounded = {key: loaded.to_dict()[key] for key in ("budget", "digest") if key in document}
    assert loaded.to_dict() == document | rounded  # what is used is added up from rounded times
    loaded.save(tmp_path / "again.json")
    assert vidsum.load(tmp_path / "again.json") == loaded


def test_load_features(tmp_path: Path) -> None:
    features = Features.from_array(np.eye(4), fps=2.0, extractor="mine")
    vidsum.write_features(features, tmp_path / "f.npz")
    assert vidsum.load(tmp_path / "f.npz") == features
    assert features.to_dict()["shape"] == [4, 4]
    with pytest.raises(vidsum.VidsumError, match="json"):
        features.save(tmp_path / "g.npz")


def test_load_and_save_errors(made: dict[str, Result], tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"schema": "vidsum.evaluation/1"}')
    made["transcript"].save(tmp_path / "changed.json")
    assert vidsum.load(tmp_path / "changed.json") == made["transcript"]
    text = (tmp_path / "changed.json").read_text()
    (tmp_path / "changed.json").write_text(text.replace('"en"', '"de"'))
    made["descriptions"].save(tmp_path / "texts.json")
    assert vidsum.load(tmp_path / "texts.json") == made["descriptions"]
    for name in ("other.json", "changed.json", r"missing.json: no such file"):
        with pytest.raises(vidsum.VidsumError, match=name):
            vidsum.load(tmp_path / name.partition(":")[0])
    with pytest.raises(vidsum.VidsumError, match=r"must end in \.json"):
        made["shots"].save(tmp_path / "shots.mp4")


@pytest.mark.parametrize("kind", KINDS)
def test_repr_and_html(kind: str, made: dict[str, Result]) -> None:
    text, html = repr(made[kind]), made[kind]._repr_html_()
    assert len(text) < 140
    assert "<script>alert(1)<b>" in text
    assert "&lt;script&gt;alert(1)&lt;b&gt;" in html
    assert not {"<b>", "<script>", "<img"} & set(html.replace(">", "> ").split())
    assert html.count("<tr>") == 1 + len(made[kind].rows())


def test_html_of_a_long_table() -> None:
    shots = Shots(np.arange(31.0), "uniform")
    html = shots._repr_html_()
    assert html.count("<tr>") == 21
    assert "10 more" in html
    assert repr(shots) == "Shots(30 by uniform, 30 s)"


def test_to_pandas(made: dict[str, Result]) -> None:
    pytest.importorskip("pandas")
    tables = {kind: result.to_pandas() for kind, result in made.items()}
    assert tables["summary"]["selected"].tolist() == [False, False, True, False, False]
    moments = tables["moments"][["query", "rank", "start_s"]].to_numpy().tolist()
    assert moments[:2] == [["a bird", 1, 6.0], ["a bird", 2, 1.0]]
    assert tables["highlights"]["score"].tolist() == [0.5]
    assert tables["transcript"]["text"].tolist()[0] == "<b> hello"
    assert tables["shots"]["end_s"].tolist() == [3.0, 10.0]
    rows = Features.from_array(np.eye(3), fps=2.0).to_pandas()
    assert rows.index.tolist() == [0, 0.5, 1]


def test_to_pandas_without_pandas(made: dict[str, Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(vidsum.VidsumError, match="pandas is not installed"):
        made["shots"].to_pandas()


@given(st.binary(max_size=20).map(os.fsdecode))
def test_to_text_of_any_file_name(name: str) -> None:
    assert json.loads(to_text({"path": name}).encode("utf-8")) == {"path": name}
    assert "фильм 🎞.mp4" in to_text({"path": "фильм 🎞.mp4"})


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": 1, "a": 2}', b"[" * 100_000, None],
)
def test_read_document_errors(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "d.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_document(path)
    assert refused.value.message.startswith(f"{path}: ")


def test_features_from_array() -> None:
    features = Features.from_array(np.ones((5, 3)), fps=2.0)
    assert features.timestamps.tolist() == [0, 0.5, 1, 1.5, 2]
    assert (features.step_s, features.duration_s, features.dim, len(features)) == (0.5, 2.5, 3, 5)
    assert features.array.dtype == np.float32


def test_times_must_increase() -> None:
    for fps in (0, -1, np.nan):
        with pytest.raises(UsageError, match="fps must be positive"):
            Features.from_array(np.ones((5, 3)), fps=fps)
    with pytest.raises(UsageError, match="increase"):
        Features(np.ones((2, 1), np.float32), np.ones(2), 0.5, 0.5, 2.0, 30.0)
    for edges in ([0.0], [0.0, 0.0], [1.0, 0.5], [[0.0, 1.0]]):
        with pytest.raises(UsageError, match="edges"):
            Shots(np.array(edges), "uniform")


@pytest.mark.parametrize(
    "array",
    [np.ones(5), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 2, 2)), np.float32(1), [[np.nan]], [[np.inf]]],
)
def test_features_from_array_errors(array: object) -> None:
    with pytest.raises(UsageError):
        Features.from_array(array)  # type: ignore[arg-type]


def test_features_from_array_of_a_video(tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.mp4", n_frames=50).path
    video = vidsum.probe(film)
    features = Features.from_array(np.ones((round(video.duration_s * 4), 3)), fps=4.0, video=film)
    assert features.video == video
    assert (features.duration_s, features.video_fps) == (video.duration_s, video.fps)
    with pytest.raises(UsageError, match=r"3 features at 0\.1 a second are 30 s") as error:
        Features.from_array(np.ones((3, 1)), fps=0.1, video=video)
    assert error.value.hint == f"fps={3 / video.duration_s:.4g}"


def test_shots_intervals() -> None:
    shots = Shots(np.array([0.0, 1.0, 2.5]), method="uniform", video_fps=30.0)
    assert shots.intervals == [(0.0, 1.0), (1.0, 2.5)]
    assert shots.change_points.tolist() == [[0, 29], [30, 74]]
