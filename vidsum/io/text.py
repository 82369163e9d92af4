"""Text, JSON, JSON lines and YAML from files that anyone may have written: any fault is one InputError.

A key that occurs twice in an object or mapping is an error: Python would drop the first value. NaN and
Infinity, which JSON does not have, are read as Python does, so that the reader of a number can say where
it is; see `vidsum.lab.datasets.entries.number_of`.
"""

import codecs
import csv
import gzip
import io
import json
import os
import re
import shlex
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vidsum.errors import InputError, quote
from vidsum.io.file_names import existing_path, missing_file

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 256 * 2**20  # no list or configuration is longer; devices such as /dev/zero have no end
_BLOCK_BYTES = 2**20  # read at a time
_GUESSED_BYTES = 65_536  # bytes of a text that tell its encoding
_HIGH = re.compile(rb"[\x80-\xff]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x7f]")
STDIN = "-"  # the name of stdin among files


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, without a byte order mark. Raises InputError: see `decode`."""
    return _decoded(read_bytes(path), str(path))


def read_packed_text(path: Path) -> str:
    """Return the text of a file, packed by gzip if it ends in `.gz`; errors as `read_text`."""
    if path.suffix != ".gz":
        return read_text(path)
    try:
        with gzip.open(path) as file:
            content = _read_bounded(file, str(path))
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("is damaged, or not a gzip file", subject=path) from error
    return _decoded(content, str(path))


def decode(content: bytes) -> str:
    """Return a text in UTF-8, or in UTF-16 or UTF-32 by its byte order mark, as PowerShell writes it.

    UTF-16 without a mark is known by the NULs of its digits, blanks and Latin letters. Raises
    UnicodeDecodeError: it is none of these.
    """
    marks = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
    marks |= {"utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}
    encoding = next((name for name, known in marks.items() if content.startswith(known)), "utf-8-sig")
    if encoding == "utf-8-sig" and len(content) % 2 == 0:
        nulls = content[::2].count(0), content[1::2].count(0)
        if max(nulls) > len(content) / 10 and min(nulls) < max(nulls) / 3:
            encoding = "utf-16-be" if nulls[0] > nulls[1] else "utf-16-le"
    return content.decode(encoding)


def _decoded(content: bytes, name: str) -> str:
    try:
        return decode(content)
    except ValueError as error:
        guess = _guess_encoding(content)
        likely = f" (probably {guess})" if guess else ""
        hint = f"iconv -f {guess} -t UTF-8 {shlex.quote(name)} > converted.txt" if guess else None
        raise InputError(f"is not a text file in UTF-8{likely}", hint=hint, subject=name) from error


def _guess_encoding(content: bytes) -> str | None:
    """Return the likely encoding of a text that is not in UTF-8; None if the content is no text.

    Letters with accents stand alone among others; letters of other alphabets make words; East Asian letters
    take two bytes each.
    """
    head = content[:_GUESSED_BYTES]
    runs = [len(run) for run in _HIGH.findall(head)]
    if _CONTROL.search(head) or not runs:
        return None
    if sum(runs) < 2 * len(runs):
        return "WINDOWS-1252"
    return "GB18030" if sum(length % 2 == 0 for length in runs) > 0.8 * len(runs) else "WINDOWS-1251"


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file or pipe, `MAX_BYTES` at most. Raises InputError: it cannot be read."""
    source = Path(existing_path(os.fspath(path)))
    try:
        with source.open("rb") as file:
            return _read_bounded(file, str(source))
    except FileNotFoundError as error:
        raise missing_file(source) from error
    except (OSError, ValueError, MemoryError) as error:  # ValueError: its name holds a NUL
        reason = (getattr(error, "strerror", None) or str(error) or "too large").lower()
        raise InputError(f"cannot be read ({reason})", subject=source) from error


def _read_bounded(file: IO[bytes] | gzip.GzipFile, name: str) -> bytes:
    """Return the rest of a file, in blocks: a single read would first allocate `MAX_BYTES`."""
    content = io.BytesIO()
    while block := file.read(_BLOCK_BYTES):
        content.write(block)
        if content.tell() > MAX_BYTES:
            raise InputError(f"is longer than {MAX_BYTES // 2**20} MiB", subject=name)
    return content.getvalue()


def read_stdin() -> bytes:
    """Return all of stdin, `MAX_BYTES` at most. Raises InputError: it is longer."""
    return _read_bounded(sys.stdin.buffer, "stdin")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the value in a JSON file, or stdin (`-`). Raises InputError: see `parse_json`."""
    name, content = ("stdin", read_stdin()) if path == STDIN else (str(path), read_bytes(path))
    return parse_json(_decoded(content, name), name)


def parse_json(text: str, where: str) -> Any:
    """Return the value of a JSON text; `where` is the file, and line or key in it, for messages.

    Raises InputError: it is not JSON, has a number or depth beyond what Python reads, or is too large.
    """
    try:
        return _JSON.decode(text)
    except (json.JSONDecodeError, _DuplicateKeyError) as error:
        reason = str(error)
    except (RecursionError, MemoryError, ValueError):  # the last for whole numbers
        reason = "nested too deep, too large, or a number of thousands of digits"
    raise InputError(f"cannot be read as JSON ({reason})", subject=where)


def json_lines(path: str | os.PathLike[str], text: str) -> Iterator[tuple[str, Any]]:
    """Yield the values of JSON lines, with file and line of each. Raises InputError: a line is not JSON."""
    for number, line in number_lines(text):
        where = f"{path}: line {number}"
        yield where, parse_json(line, where)


def number_lines(text: str) -> Iterator[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers. JSON may hold other signs that end a line."""
    return ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def is_json_lines(text: str) -> bool:
    """Return whether a text is several lines with a JSON object each, not one object."""
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and first.rstrip().endswith("}")


class _DuplicateKeyError(ValueError):
    """An object that has a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        (again, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _DuplicateKeyError(f"an object has the key {quote(again)} twice")
    return values


_JSON = json.JSONDecoder(object_pairs_hook=_object)


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Return the value in a YAML file. Raises InputError: it cannot be read, or is not YAML."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Return the value of a YAML text: plain values, no objects of Python; `where` is the file, for messages.

    Raises InputError: it is not YAML, a mapping has a key twice, or it is too deep or too large.
    """
    import yaml

    try:
        return yaml.load(text, _yaml_loader())
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
    except (RecursionError, MemoryError):
        reason = "nested too deep, or too large for the memory of this machine"
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        reason = "a value is not what its form or tag says, such as the date 2001-99-99"
    raise InputError(f"cannot be read as YAML ({reason})", subject=where)


def yaml_lines(text: str, depth: int) -> dict[tuple[str, ...], int]:
    """Return the line of each key of a valid YAML text, by the keys that lead to it, `depth` at most."""
    import yaml

    lines = dict[tuple[str, ...], int]()

    def walk(node: Any, place: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode) and len(place) < depth:
            for key, value in node.value:
                inner = (*place, str(key.value))
                lines[inner] = key.start_mark.line + 1
                walk(value, inner)

    walk(yaml.compose(text, _yaml_loader()), ())
    return lines


@cache
def _yaml_loader() -> "type[yaml.SafeLoader]":
    """Return PyYAML's safe loader, in C where it has that, which refuses a key that occurs twice."""
    import yaml

    base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = Counter((key.tag, key.value) for key, _ in node.value if isinstance(key.value, str))
            for (_, key), count in keys.most_common(1):
                if count > 1:
                    fault = f"a mapping has the key {quote(key)} twice"
                    raise yaml.constructor.ConstructorError(None, None, fault, node.start_mark)
            return dict(super().construct_mapping(node, deep))

    return Loader


_FORMULA = re.compile(r"\A(?![+-]?\d+(\.\d+)?([eE][+-]?\d+)?\Z)'*(\s*[=+\-@＝＋－＠]|[\t\r\n])")
"""The start of a text that begins as formulas do, or so after apostrophes; numbers are none."""


def plain_cell(cell: str) -> str:
    """Return the text of a cell that `csv_text` wrote."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with lines that end in LF; cells that hold CR or LF are quoted.

    Names and texts may be a stranger's. An apostrophe goes ahead of those that a spreadsheet would take for a
    formula; `plain_cell` removes it.
    """
    lines = list[str]()
    for row in rows:
        line = io.StringIO()
        cells = [_FORMULA.sub(r"'\g<0>", cell) if isinstance(cell, str) else cell for cell in row]
        csv.writer(line, lineterminator="\r\n").writerow(cells)  # it quotes the characters of its line end
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)
