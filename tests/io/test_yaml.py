"""YAML that anyone may have written: read, or refused in one line."""

from datetime import date
from pathlib import Path

import pytest

from vidsum.errors import InputError
from vidsum.io.yaml import parse_yaml, read_yaml


def test_plain_values_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "a: &a {x: 1, y: [2.5, no, null]}\nb: {<<: *a, x: 3}\nc: 2001-09-09\nd: '2001-99-99'\ne: [*a, *a]\n"
    )
    a = {"x": 1, "y": [2.5, False, None]}
    assert read_yaml(path) == {
        "a": a, "b": {**a, "x": 3}, "c": date(2001, 9, 9), "d": "2001-99-99", "e": [a, a]
    }  # fmt: skip
    assert parse_yaml("", "a.yaml") is None


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: [1", "line 1"),
        ("a: 1\nb: 2001-99-99", "line 2: '2001-99-99'"),
        ("seed: 0b_", "'0b_'"),
        ("seed: 0x_", "'0x_'"),
        ("a: 99999999999999999999", "looks like"),
        ("a: " + "9" * 5000, "looks like"),
        ("a: 0x" + "f" * 5000, "looks like"),
        ("a: !!bool maybe", "looks like"),
        ("a: !!int ''", "looks like"),
        ("a: !!timestamp soon", "looks like"),
        ("a: !!pairs [1]", "cannot be read as YAML"),
        ("a: !!python/object/apply:os.system [ls]", "python/object"),
        ("[" * 100_000, "nested too deep"),
        ("a: " + "{b: " * 20_000, "nested too deep"),
        ("- " * 20_000, "nested too deep"),
        ("\n".join(" " * depth + "a:" for depth in range(2000)), "nested too deep"),
        ("a: &a [*a]", "holds itself"),
        (BOMB, "aliases"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "line 2: a mapping has the key 'c' twice"),
        ("a: 1\n--- \nb: 2", "document"),
        ("a: \x07", "not allowed"),
        ("? {a: 1}\n: 2", "unhashable"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(text: str, word: str) -> None:
    with pytest.raises(InputError, match=r"^mine\.yaml: ") as caught:
        parse_yaml(text, "mine.yaml")
    assert word in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
