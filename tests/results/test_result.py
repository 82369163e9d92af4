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
from tests.results.made import EVIL, results, texts
from vidsum.errors import InputError
from vidsum.io.provenance import seal
from vidsum.results.features import Features
from vidsum.results.load import read_document
from vidsum.results.moments import Moment
from vidsum.results.result import Result, to_data, to_text, write_document
from vidsum.results.shots import Shots

GOLDEN = Path(__file__).parents[1] / "golden" / "documents"
KINDS = ["summary", "moments", "highlights", "shots", "transcript", "descriptions"]


def test_fractions_alone_are_rounded_in_documents() -> None:
    data = to_data({"time_s": 1.23456789, "count": 3, "name": "a", "is_on": True, "nothing": None})
    assert data == {"time_s": 1.234568, "count": 3, "name": "a", "is_on": True, "nothing": None}


def test_arrays_and_tuples_are_lists_in_documents() -> None:
    assert to_data((np.array([0.5, 1.5]), [(1, 2)])) == [[0.5, 1.5], [[1, 2]]]


def test_dataclasses_are_objects_in_documents() -> None:
    assert to_data(Moment(1.0, 2.0, 0.5))["start_s"] == 1.0


@pytest.fixture(scope="module")
def made(film: Path) -> dict[str, Result]:
    all_results = [*(result for _, result in results(film, with_saliency=True)), *texts(film)]
    return dict(zip(KINDS, all_results, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_document_of_a_result_is_read_back(kind: str, made: dict[str, Result]) -> None:
    result = made[kind]
    assert type(result).from_dict(json.loads(to_text(result.to_dict()))) == result  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["summary_auto", "shots", "moments", "highlights"])
def test_stored_documents_are_loaded_and_saved_alike(name: str, tmp_path: Path) -> None:
    document = json.loads((GOLDEN / f"{name}.json").read_text())
    document = seal(document)
    write_document(document, tmp_path / "r.json")
    loaded = vidsum.load(tmp_path / "r.json")
    assert loaded.kind == name.partition("_")[0]
    rounded = {key: loaded.to_dict()[key] for key in ("budget", "digest") if key in document}
    assert loaded.to_dict() == document | rounded  # what is used is added up from rounded times
    vidsum.write_json(loaded, tmp_path / "again.json")
    assert vidsum.load(tmp_path / "again.json") == loaded


def test_files_that_a_document_lists_stay_listed_when_it_is_saved_again(
    made: dict[str, Result], tmp_path: Path
) -> None:
    path, listed = tmp_path / "r.json", {"r.mp4": "0" * 64}
    write_document(seal({**made["summary"].to_dict(), "outputs": listed}), path)
    vidsum.write_json(vidsum.load(path), path)
    assert json.loads(path.read_text())["outputs"] == listed


def test_files_that_an_edited_document_lists_are_forgotten(made: dict[str, Result], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    edited = {**made["summary"].to_dict(), "digest": "0" * 32, "outputs": {"r.mp4": "0" * 64}}
    write_document(edited, path)
    vidsum.write_json(made["summary"], path, overwrite=True)
    assert "outputs" not in json.loads(path.read_text())


def test_saved_features_are_loaded(tmp_path: Path) -> None:
    features = Features.from_array(np.eye(4), fps=2.0, extractor="mine")
    vidsum.write_features(features, tmp_path / "f.npz")
    assert vidsum.load(tmp_path / "f.npz") == features


def test_document_of_features_has_their_shape() -> None:
    assert Features.from_array(np.eye(4), fps=2.0).to_dict()["shape"] == [4, 4]


def test_features_are_not_saved_as_a_document(tmp_path: Path) -> None:
    with pytest.raises(vidsum.VidsumError, match="json"):
        vidsum.write_json(Features.from_array(np.eye(4), fps=2.0), tmp_path / "g.npz")


@pytest.mark.parametrize("kind", ["transcript", "descriptions"])
def test_saved_texts_are_loaded(made: dict[str, Result], tmp_path: Path, kind: str) -> None:
    vidsum.write_json(made[kind], tmp_path / "texts.json")
    assert vidsum.load(tmp_path / "texts.json") == made[kind]


def test_document_of_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"schema": "vidsum.evaluation/1"}')
    with pytest.raises(vidsum.VidsumError, match=r"other\.json"):
        vidsum.load(tmp_path / "other.json")


def test_transcript_that_was_changed_by_hand_is_refused(made: dict[str, Result], tmp_path: Path) -> None:
    path = tmp_path / "changed.json"
    vidsum.write_json(made["transcript"], path)
    path.write_text(path.read_text().replace('"en"', '"de"'))
    with pytest.raises(vidsum.VidsumError, match=r"changed\.json"):
        vidsum.load(path)


def test_missing_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(vidsum.VidsumError, match=r"missing\.json: no such file"):
        vidsum.load(tmp_path / "missing.json")


def test_result_is_saved_as_json_only(made: dict[str, Result], tmp_path: Path) -> None:
    with pytest.raises(vidsum.VidsumError, match=r"must end in \.json"):
        vidsum.write_json(made["shots"], tmp_path / "shots.mp4")


@pytest.mark.parametrize("kind", KINDS)
def test_result_is_a_short_line_in_a_console(kind: str, made: dict[str, Result]) -> None:
    text = repr(made[kind])
    assert len(text) < 140
    assert "<script>alert(1)<b>" in text


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_a_result_are_no_elements_of_a_notebook(kind: str, made: dict[str, Result]) -> None:
    html = made[kind]._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;b&gt;" in html
    assert not {"<b>", "<script>", "<img"} & set(html.replace(">", "> ").split())


@pytest.mark.parametrize("kind", KINDS)
def test_result_is_a_table_in_a_notebook(kind: str, made: dict[str, Result]) -> None:
    assert made[kind]._repr_html_().count("<tr>") == 1 + len(made[kind].rows())


def test_long_table_of_a_notebook_is_cut_short() -> None:
    html = Shots(np.arange(31.0), "uniform")._repr_html_()
    assert html.count("<tr>") == 21
    assert "10 more" in html


def test_line_of_shots_has_number_method_and_length() -> None:
    assert repr(Shots(np.arange(31.0), "uniform")) == "Shots(30 by uniform, 30 s)"


@pytest.mark.parametrize(
    ("kind", "columns", "rows"),
    [
        ("summary", ["selected"], [[False], [False], [True], [False], [False]]),
        ("moments", ["query", "rank", "start_s"], [["a bird", 1, 6.0], ["a bird", 2, 1.0], [EVIL, 1, 3.0]]),
        ("highlights", ["score"], [[0.5]]),
        ("transcript", ["text"], [["<b> hello"], [EVIL]]),
        ("shots", ["end_s"], [[3.0], [10.0]]),
    ],
)
def test_result_is_a_table_of_pandas(
    made: dict[str, Result], kind: str, columns: list[str], rows: list[list[object]]
) -> None:
    pytest.importorskip("pandas")
    table = made[kind].to_pandas()
    assert [[row[column] for column in columns] for _, row in table.iterrows()] == rows


def test_table_of_features_has_their_times() -> None:
    pytest.importorskip("pandas")
    assert Features.from_array(np.eye(3), fps=2.0).to_pandas().index.tolist() == [0, 0.5, 1]


def test_missing_pandas_is_named(made: dict[str, Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(vidsum.VidsumError, match="pandas is not installed"):
        made["shots"].to_pandas()


@given(st.binary(max_size=20).map(os.fsdecode))
def test_document_of_any_file_name_is_json(name: str) -> None:
    assert json.loads(to_text({"path": name}).encode("utf-8")) == {"path": name}
    assert "фильм 🎞.mp4" in to_text({"path": "фильм 🎞.mp4"})


@pytest.mark.parametrize(
    "content",
    [b"", b"[1]", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": 1, "a": 2}', b"[" * 100_000, None],
)
def test_bad_json_of_a_document_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "d.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_document(path)
    assert refused.value.message.startswith(f"{path}: ")
