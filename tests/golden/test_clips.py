"""The shots, summaries, moments of two queries and highlights of 14 real clips are those of `clips.json`.

Texts, times and structure are stored as one SHA-256 with the numbers left out, and the numbers apart, which
may differ by 1e-3: what is long as its size, mean and deviation.

    VIDSUM_REGENERATE=1 python -m pytest -m "deep or not deep" tests/golden/test_clips.py
"""

import hashlib
import json
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import real_weights
from tests.golden.stored import REGENERATE, assert_close, portable
from vidsum.__main__ import main
from vidsum.io.paths import home

pytestmark = [pytest.mark.shared, pytest.mark.weights]

COMMANDS = {
    "shots": ("shots",),
    "summarize": ("summary",),
    "ground": ("moments", "--query", "a person outdoors", "--query", "a dog in the snow"),
    "highlights": ("highlights",),
}
"""Name of the result in the name of its file, and the options."""
_STORED = Path(__file__).with_name("clips.json")
_LONG = 8
"""Lists of more numbers are stored by their size, mean and deviation."""


def clips_of(shared: Path) -> list[Path]:
    return sorted(path for path in (shared / "videos").iterdir() if path.suffix in (".mp4", ".mkv"))


@pytest.fixture(scope="module")
def answers(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The documents of every command, by command and name of the clip."""
    return answers_about(clips_of(shared), shared, tmp_path_factory.mktemp("clips"))


def answers_about(clips: Collection[Path], shared: Path, folder: Path) -> dict[str, dict[str, Any]]:
    pytest.importorskip("faster_whisper")  # edges avoid voices where it is installed
    for name in ("efficientnet_lite0", "minilm", "vse"):
        real_weights(name)
    with pytest.MonkeyPatch.context() as context:
        (folder / "home").mkdir()
        for name in ("weights", "onnx"):
            (home() / name).mkdir(parents=True, exist_ok=True)
            (folder / "home" / name).symlink_to(home() / name)
        context.setenv("VIDSUM_HOME", str(folder / "home"))
        context.chdir(folder)
        context.setenv("VIDSUM_DEVICE", "cpu")
        for command, (_, *options) in COMMANDS.items():
            context.setenv(f"VIDSUM_{command.upper()}_PRECISION", "fp32")
            context.setattr(sys, "argv", ["vidsum", command, *map(str, clips), *options])
            with pytest.raises(SystemExit) as left:
                main()
            assert not left.value.code, command
        return {
            command: {path.name: portable_document(f"{path.stem}_{kind}.json", shared) for path in clips}
            for command, (kind, *_) in COMMANDS.items()
        }


def portable_document(name: str, shared: Path) -> Any:
    text = portable(Path(name).read_text("utf-8")).replace(str(shared), "<shared>")
    return json.loads(text)


@pytest.mark.deep
@pytest.mark.parametrize("command", COMMANDS)
def test_answers_about_clips(answers: dict[str, dict[str, Any]], command: str) -> None:
    got = {name: entry(document) for name, document in answers[command].items()}
    stored = json.loads(_STORED.read_text("utf-8")) if _STORED.exists() else {}
    if REGENERATE:
        stored[command] = dict(sorted({**stored.get(command, {}), **got}.items()))
        lines = (
            f"{json.dumps(command)}: {{\n"
            + ",\n".join(f"  {json.dumps(name)}: {json.dumps(facts)}" for name, facts in entries.items())
            for command, entries in stored.items()
        )
        _STORED.write_text("{\n" + "\n},\n".join(lines) + "\n}\n}\n", "utf-8")
    assert got, "no clips"
    assert_close(got, {name: stored[command][name] for name in got}, command, close=1e-3)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_clip_has_stored_answers(shared: Path, command: str) -> None:
    stored = json.loads(_STORED.read_text("utf-8"))
    assert set(stored[command]) == {path.name for path in clips_of(shared)}


def entry(document: dict[str, Any]) -> dict[str, Any]:
    """Return the stored form of a document, without the hashes of its files, which depend on the encoder."""
    document = {key: value for key, value in document.items() if key != "outputs"}
    texts = json.dumps(without_numbers(document), sort_keys=True)
    numbers = dict(flat_numbers({key: value for key, value in document.items() if key != "provenance"}))
    return {"sha256": hashlib.sha256(texts.encode()).hexdigest(), "numbers": numbers}


def without_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_numbers(inner) for inner in value]
    return 0.0 if isinstance(value, float) else value


def flat_numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the floats of a document by the keys that lead to them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat_numbers(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value and all(isinstance(inner, float) for inner in value):
        yield (
            path,
            value if len(value) <= _LONG else [len(value), rounded(np.mean(value)), rounded(np.std(value))],
        )
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from flat_numbers(inner, f"{path}.{number}")
    elif isinstance(value, float):
        yield path, value


def rounded(value: Any) -> float:
    return round(float(value), 4)
