"""JSON documents as text, and files that hold none."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError
from vidsum.results.load import read_document
from vidsum.results.result import to_text, write_document


@given(st.binary(max_size=20).map(os.fsdecode))
def test_any_file_name_comes_back_from_valid_utf8(name: str) -> None:
    assert json.loads(to_text({"path": name}).encode("utf-8")) == {"path": name}


def test_names_stay_readable() -> None:
    assert "фильм 🎞.mp4" in to_text({"path": "фильм 🎞.mp4"})


def test_a_document_is_written_and_read_whatever_the_name(tmp_path: Path) -> None:
    document = {"path": os.fsdecode(b"caf\xe9.mp4"), "shots": [{"start_s": 0.5}]}
    write_document(document, tmp_path / "d.json")
    assert read_document(tmp_path / "d.json") == document


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"[1]",
        b"\xff\xfe",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b"[" * 100_000,
        None,
    ],
)
def test_what_is_no_document_is_refused_by_its_path(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "d.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_document(path)
    assert refused.value.message.startswith(f"{path}: ")
