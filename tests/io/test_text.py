"""Text, JSON and YAML that anyone may have written: read, or refused in one line."""

import csv
import io
import tracemalloc
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError, quote
from vidsum.io.text import (
    csv_text,
    is_json_lines,
    json_lines,
    parse_json,
    parse_yaml,
    plain_cell,
    read_json,
    read_text,
    read_yaml,
)


def one_line(error: InputError) -> str:
    """The message, which must fit on a line."""
    assert "\n" not in error.message
    assert len(error.message) < 400
    return error.message


def test_key_that_a_mapping_of_yaml_has_twice_is_refused() -> None:
    with pytest.raises(InputError, match="the key 'a' twice"):
        parse_yaml("a: 1\na: 2", "mine.yaml")


def test_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("\ufeff[1]", encoding="utf-8")
    assert read_text(path) == "[1]"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8-sig"])
def test_json_in_other_unicode_encodings_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.json").write_text('["a caf\xe9"]', encoding=encoding)
    assert read_json(tmp_path / "a.json") == ["a caf\xe9"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "Expecting value"),
        ("[1, 2", "line 1 column 6"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
        ("9" * 5000, "thousands of digits"),
        ('{"a": 1, "b": {"c": 2, "d": 3, "c": 4}}', "the key 'c' twice"),
    ],
)
def test_bad_json_is_refused_in_one_line(text: str, word: str) -> None:
    with pytest.raises(InputError, match=r"^mine\.json: cannot be read as JSON") as caught:
        parse_json(text, "mine.json")
    assert word in one_line(caught.value)


def test_json_lines_are_numbered_and_blank_ones_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [*json_lines(path, '{"a": 1}\n\n {"a": "\u2028"} \n')]
    assert lines == [(f"{path}: line 1", {"a": 1}), (f"{path}: line 3", {"a": "\u2028"})]


def test_bad_json_line_is_refused_with_its_number(tmp_path: Path) -> None:
    lines = json_lines(tmp_path / "a.jsonl", '{"a": 1}\n\n\n{"a": 1}{\n')
    next(lines)
    with pytest.raises(InputError, match=r"a\.jsonl: line 4: cannot be read as JSON"):
        next(lines)


@pytest.mark.parametrize(
    ("text", "is_lines"),
    [
        ('{"a": {"b": 1}, "c": [2]}\n{"a": {"b": 1}, "c": [2]}', True),
        ('{"a": }\n{"a": 1}', True),
        ('{"a": {"b": 1}, "c": [2]}\n', False),
        ('{\n "a": {\n  "b": 1\n },\n "c": [\n  2\n ]\n}', False),
    ],
    ids=["lines", "damaged lines", "document on a line", "indented document"],
)
def test_json_lines_are_told_from_a_document(text: str, is_lines: bool) -> None:
    assert is_json_lines(text) == is_lines


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("none.json", None, "no such file"),
        ("n" * 260, None, "too long"),
        ("a\0b", None, ""),
        ("", None, "is a directory"),
        ("binary.json", b"\xff\xfe{", "UTF-8"),
    ],
)
def test_file_that_is_no_text_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes | None, word: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_text(tmp_path / name)
    assert word in one_line(caught.value)


def nested_lists(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        nested_lists(100_000),
        list(range(10_000)),
        "x\n" * 10_000,
        10**4000,
        {str(key): key for key in range(999)},
    ],
    ids=["deep list", "long list", "text", "number", "mapping"],
)
def test_quotation_of_a_large_value_is_a_short_line(value: object) -> None:
    assert len(quote(value)) < 200
    assert "\n" not in quote(value)


def test_quotation_of_a_small_value_is_its_json() -> None:
    assert quote([2, 1.5, None]) == "[2, 1.5, None]"


@pytest.mark.parametrize("name", ["/dev/zero", "long"])
def test_text_longer_than_the_limit_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.io.text.MAX_BYTES", 2**20)
    (tmp_path / "long").write_bytes(b"a" * (2**20 + 1))
    with pytest.raises(InputError, match="longer than 1 MiB"):
        read_text(tmp_path / name)


def test_text_as_long_as_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.text.MAX_BYTES", 2**20)
    (tmp_path / "long").write_bytes(b"a" * 2**20)
    assert len(read_text(tmp_path / "long")) == 2**20


def test_small_file_is_read_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"{}")
    tracemalloc.start()
    try:
        read_text(tmp_path / "small")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * 2**20


def test_yaml_is_read_with_its_anchors_merges_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "a: &a {x: 1, y: [2.5, no, null]}\nb: {<<: *a, x: 3}\nc: 2001-09-09\nd: '2001-99-99'\ne: [*a, *a]\n"
    )
    a = {"x": 1, "y": [2.5, False, None]}
    assert read_yaml(path) == {
        "a": a,
        "b": {**a, "x": 3},
        "c": date(2001, 9, 9),
        "d": "2001-99-99",
        "e": [a, a],
    }


def test_empty_yaml_is_none() -> None:
    assert parse_yaml("", "a.yaml") is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: [1", "line 1"),
        ("a: 1\nb: 2001-99-99", "such as the date"),
        ("a: !!bool maybe", "form or tag"),
        ("a: !!timestamp soon", "form or tag"),
        ("a: !!pairs [1]", "cannot be read as YAML"),
        ("a: !!python/object/apply:os.system [ls]", "python/object"),
        ("[" * 100_000, "nest"),
        ("a: " + "{b: " * 20_000, "nest"),
        ("- " * 20_000, "nest"),
        ("\n".join(" " * depth + "a:" for depth in range(2000)), "nest"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "the key 'c' twice in \"<unicode string>\", line 2"),
        ("a: 1\n--- \nb: 2", "document"),
        ("a: \x07", "not allowed"),
        ("? {a: 1}\n: 2", "unhashable"),
    ],
)
def test_bad_yaml_is_refused_in_one_line(text: str, word: str) -> None:
    with pytest.raises(InputError, match=r"^mine\.yaml: ") as caught:
        parse_yaml(text, "mine.yaml")
    assert word in one_line(caught.value)


FORMULAS = [
    "=1+1",
    "+1+1",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    " =1",
    "\n-1",
    "＝1",
    "-",
    "'=1",
]
CELLS = st.text(st.sampled_from("=+-@\t\r\n '\"1.e,;a＝é"), max_size=8) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_begins_as_a_formula_has_an_apostrophe(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(csv_text([[text]]), newline=""))
    assert (cell, plain_cell(cell)) == (f"'{text}", text)


@pytest.mark.parametrize("number", [-1, -2.5, 1e-9, -1e300, True, None, "-1", "+2.50", "-1e-05"])
def test_a_number_stays_a_number(number: object) -> None:
    assert csv_text([[number, "x"]]) == f"{'' if number is None else number},x\n"


@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), max_size=4))
def test_cells_are_read_back_as_they_were_and_none_is_a_formula(rows: list[list[str]]) -> None:
    cells = [*csv.reader(io.StringIO(csv_text(rows), newline=""))]
    assert [[plain_cell(cell) for cell in row] for row in cells] == rows
    for cell in (cell for row in cells for cell in row):
        assert not cell.startswith(("=", "@", "\t", "\r"))
        if cell.startswith(("+", "-")):
            float(cell)


def test_cells_with_line_ends_are_quoted() -> None:
    rows = [["a\rb", "c\nd", "e"], ["f", "", "g"]]
    text = csv_text(rows)
    assert text == '"a\rb","c\nd",e\nf,,g\n'
    assert [*csv.reader(io.StringIO(text, newline=""))] == rows


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("Où est le café? Déjà vu.", "cp1252", "WINDOWS-1252"),
        ("Grüße aus München", "latin-1", "WINDOWS-1252"),
        ("你好,这是一个测试。我们走吧", "gb18030", "GB18030"),
        ("Привет, как дела? Это я", "cp1251", "WINDOWS-1251"),
    ],
)
def test_a_text_in_another_encoding_is_refused_with_its_name(
    text: str, encoding: str, named: str, tmp_path: Path
) -> None:
    path = tmp_path / "film one.srt"
    path.write_bytes(f"1\n00:00:01,000 --> 00:00:02,000\n{text}\n".encode(encoding))
    with pytest.raises(InputError, match=rf"not a text file in UTF-8 \(probably {named}\)") as caught:
        read_text(path)
    assert caught.value.hint == f"iconv -f {named} -t UTF-8 '{path}' > converted.txt"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_text_in_utf_16_is_read_with_and_without_a_mark(encoding: str, tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\n你好,这是一个测试。我们走吧,这是一个很长的句子,没有拉丁字母\n"
    (tmp_path / "film.srt").write_bytes(text.encode(encoding))
    assert read_text(tmp_path / "film.srt") == text


def test_what_is_no_text_has_no_encoding(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"\x00\x00\x00\x20ftypisom\xff\xd8\x01" * 9)
    with pytest.raises(InputError, match="UTF-8") as caught:
        read_text(tmp_path / "film.mp4")
    assert caught.value.hint is None
