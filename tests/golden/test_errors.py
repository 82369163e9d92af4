"""Exit codes and the first line of stderr of wrong invocations are those of `errors.json`.

VIDSUM_REGENERATE=1 python -m pytest tests/golden/test_errors.py
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from tests import media
from tests.conftest import deep, pytest_configure
from tests.golden.stored import REGENERATE, renew
from tests.golden.test_documents import save_annotated, save_answers, save_features, save_highlights
from vidsum.__main__ import main
from vidsum.device import unload

_STORED = Path(__file__).with_name("errors.json")
ROWS: list[dict[str, Any]] = json.loads(_STORED.read_text("utf-8"))
"""`arguments`, `variables` (none by default), exit `code`, the `error`, and the line after it, the `hint`."""


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the arguments name."""
    folder = tmp_path_factory.mktemp("material")
    media.make_video(folder / "film.mp4", n_frames=20, fps=10)
    film = (folder / "film.mp4").read_bytes()
    (folder / "cut.mp4").write_bytes(film[: len(film) // 2])
    (folder / "noise.mp4").write_bytes(bytes(range(256)) * 40)
    (folder / "empty.mp4").write_bytes(b"")
    media.make_sound(folder / "sound.wav")
    save_features(folder / "f.npz")
    save_annotated(folder / "made.h5", 1)
    with chdir(folder):
        save_highlights("qv.jsonl")
        save_answers("mine.jsonl")
    (folder / "bad.npz").write_bytes(b"no features")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    (folder / "folder").mkdir()
    (folder / "folder2").mkdir()
    (folder / "folder2" / "notes.txt").write_text("my notes")
    unload()  # a model in memory needs no weights
    return folder


@pytest.fixture
def links(material: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with links to the material, the same for all tests; other files are removed afterwards."""
    folder = tmp_path_factory.getbasetemp() / f"{material.name}-links"
    folder.mkdir(exist_ok=True)
    names = {path.name for path in material.iterdir()}
    for name in names - {path.name for path in folder.iterdir()}:
        (folder / name).symlink_to(material / name)
    yield folder
    for path in folder.iterdir():
        if path.name not in names or not path.is_symlink():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


TEXTS = {
    "empty.txt": "",
    "broken.json": "{",
    "list.json": "[]",
    "taken.json": "my notes",
    "f_shots.json": "my notes",
    "config.yaml": "shots: {max_shots: many}\n",
    "unknown.yaml": "shots: {no_such: 1}\n",
    "broken.yaml": "shots: [",
    "notes.srt": "no cues",
    "prose.vtt": "00:01 --> 00:02\nNo milliseconds.",
    "late.vtt": "WEBVTT\n\n0:11.0 --> 0:12.0\nLate.",
    "backwards.vtt": "WEBVTT\n\n0:02.0 --> 0:01.0\nBackwards.",
    "captions.csv": "image,caption\n000.png,a red circle\n001.png,a blue bar\n001.png,a bar\n",
    "wrong.csv": "name,words\n001.png,a dog\n",
    "run.json": '{"schema": "vidsum.evaluation/1"}',
    "good_shots.json": (_STORED.parent / "documents" / "shots.json").read_text("utf-8"),
    "val.jsonl": "{}\n",
}


SLOW = (
    "describe film.mp4",
    "ground film.mp4 --query dog",
    "index empty.mp4 --archive a.vidsum",
    "index missing",
    "shots f.npz --from-file noise.mp4",
    "shots f.npz missing.npz --output-dir new",
)
"""Arguments that load networks or start a process: only deep tests run them."""


def words(row: dict[str, Any]) -> str:
    return " ".join(row["arguments"])


@pytest.mark.parametrize("row", [deep(row) if words(row) in SLOW else row for row in ROWS], ids=words)
def test_error(
    row: dict[str, Any],
    links: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(links)
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    monkeypatch.setenv("XDG_DATA_HOME", str(links))  # not the archive of whoever runs the tests
    monkeypatch.setattr("vidsum.io.progress.SLOW_S", float("inf"))  # no lines on a busy machine
    for name, value in row.get("variables", {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.argv", ["vidsum", *row["arguments"]])
    with pytest.raises(SystemExit) as left:
        main()
    printed = capsys.readouterr().err
    stderr = re.sub("`[^`]*?vidsum", "`vidsum", printed)  # however Python was started
    lines = stderr.replace(str(links), "<here>").splitlines()
    error, hint, *_ = *lines, "", ""
    got = {"code": left.value.code, "error": error, "hint": hint}
    if REGENERATE:
        row.update({key: value for key, value in got.items() if key in row or value})
        _STORED.write_text("[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n", "utf-8")
    assert got["code"] not in (2, 3, 4) or "\n  try: " in printed, printed
    known = [key for key in got if key in row]
    assert {key: got[key] for key in known} == {key: row[key] for key in known}, renew(__file__)


def test_stored_results_are_renewed_in_a_single_process(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process writes whole files, so that rows of the others would be lost."""
    monkeypatch.setenv("VIDSUM_REGENERATE", "1")
    monkeypatch.setattr(pytestconfig.option, "numprocesses", 2, raising=False)
    with pytest.raises(pytest.UsageError, match="leave out -n"):
        pytest_configure(pytestconfig)
