"""The program `vidsum` in this process: options that have no flag on a command become variables."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for

from vidsum.__main__ import main
from vidsum.commands.app import COMMANDS, find_command
from vidsum.commands.options import settings_of
from vidsum.commands.reproduce import without_flags
from vidsum.options import item_of


def check_schema(document: Any, name: str) -> None:
    """Validate a document against one of the published schemas."""
    _validator(name).validate(document)


def read_valid(path: str, schema: str) -> Any:
    """Return the document in a file, which is valid by one of the published schemas."""
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    check_schema(document, schema)
    return document


@cache
def _validator(name: str) -> Any:
    schema = json.loads((resources.files("vidsum") / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@dataclass(frozen=True)
class Ran:
    """The exit code and outputs of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The single JSON value on stdout."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        """The JSON values on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Run:
    """`vidsum ARGUMENTS`."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: object, code: int | None = 0, error: str | tuple[str, ...] = ()) -> Ran:
        """Run it; it must end with this exit code (None: any), and print these errors."""
        words, variables = as_variables(arguments)
        self._monkeypatch.setattr(sys, "argv", ["vidsum", *words])
        self._capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, text in variables.items():
                patch.setenv(name, text)
            with pytest.raises(SystemExit) as left:
                main()
        printed = self._capsys.readouterr()
        ran = Ran(int(left.value.code or 0), printed.out, printed.err)
        assert code in (None, ran.code), f"exit code {ran.code}: {ran.err or ran.out}"
        for text in (error,) if isinstance(error, str) else error:
            assert text in ran.err, f"{text!r} is not in {ran.err!r}"
        return ran


def heed_interruptions() -> None:
    """Heed Ctrl-C, which processes in the background of a shell ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def as_variables(arguments: Sequence[object]) -> tuple[list[str], dict[str, str]]:
    """Return the words of a command line, and variables for the options that have no flag."""
    words = list(map(str, arguments))
    if not words or words[0] not in COMMANDS or words[0] == "help":
        return words, {}
    try:
        command = _find(tuple(word for word in words[:2] if not word.startswith("-")))
    except Exception:
        return words, {}
    rest, values = without_flags(command, words)
    paths = {leaf.parameter for leaf in settings_of(command) if item_of(leaf.kind) is Path}
    names = words[: 2 if words[0] in ("train", "evaluate", "weights") else 1]
    variables = {}
    for name, value in values.items():
        texts = value if isinstance(value, list) else [str(value)]
        variable = "_".join(["VIDSUM", *names, name]).upper()
        variables[variable] = (os.pathsep if name in paths else " ").join(texts)
    return rest, variables


_find = cache(find_command)
