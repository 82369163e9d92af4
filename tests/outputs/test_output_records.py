"""Records: only those that nobody edited count, and locks meet beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vidsum.errors import OutputError
from vidsum.outputs.alone import own_record, save_text
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.output_records import hash_of, listed_beside, lock, record_of, write_record

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def edits(draw: st.DrawFn, document: dict[str, Any]) -> dict[str, Any]:
    """A record with a key changed, added or taken out, or another file listed."""
    edited = json.loads(json.dumps(document))
    place = draw(st.sampled_from([edited, edited["outputs"], edited["provenance"]]))
    known = st.sampled_from(sorted(place)) if place else st.nothing()
    name = draw(known | TEXTS | st.sampled_from(["mine.txt", "schema", "digest"]))
    if name in place and draw(st.booleans()):
        del place[name]
    else:
        place[name] = draw(VALUES | st.just("0" * 64))
    return edited


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_edited_record_counts_as_none(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("work")
    made, mine = root / "a.txt", root / "mine.txt"
    made.write_text("made")
    mine.write_text("mine")
    record = root / "r.txt.vidsum.json"
    write_record(record, {"provenance": {"text": "x"}}, {"a.txt": hash_of(made)})
    document = json.loads(record.read_text())
    edited = data.draw(edits(document).filter(lambda edited: edited != document))
    record.write_text(json.dumps(edited))
    before = {path: path.read_bytes() for path in root.iterdir()}
    artifacts = Artifacts(record, {"a": made})
    assert not artifacts.owns(made)
    assert listed_beside(root / "other.json") == {}
    for writers in ({"a": lambda _, path: path.write_text("again") and ()}, {}):
        with pytest.raises(OutputError, match="already exists"):
            artifacts.write("again", writers)  # type: ignore[arg-type]
    assert {path: path.read_bytes() for path in root.iterdir()} == before


def test_a_record_that_is_written_anew_in_another_layout_is_the_same(tmp_path: Path) -> None:
    save_text("text", tmp_path / "a.txt", overwrite=False)
    record = record_of(tmp_path / "a.txt")
    record.write_text(json.dumps(json.loads(record.read_text()), indent=4, sort_keys=True))
    assert own_record(tmp_path / "a.txt").owns(tmp_path / "a.txt")


def test_a_record_made_by_hand_deletes_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    listed = {"mine.txt": hash_of(tmp_path / "mine.txt")}
    record = tmp_path / "a.txt.vidsum.json"
    record.write_text(json.dumps({"schema": "vidsum.outputs/1", "outputs": listed}))
    with pytest.raises(OutputError, match=r"a.txt.vidsum.json: already exists"):
        save_text("text", tmp_path / "a.txt", overwrite=False)
    save_text("text", tmp_path / "a.txt", overwrite=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_lock_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    with lock(tmp_path / "a.json"):
        assert [path.name for path in tmp_path.iterdir()] == [".a.json.vidsum.lock"]
    assert [*tmp_path.iterdir()] == []


def test_links_to_a_folder_lead_to_one_lock(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with lock(tmp_path / "link" / "a.json"):
        assert [path.name for path in (tmp_path / "folder").iterdir()] == [".a.json.vidsum.lock"]
