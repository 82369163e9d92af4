"""Running the program in this process, with an extractor that needs no weights."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests import media
from tests.flags import as_variables
from vidsum.commands.app import main
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.settings import Extraction
from vidsum.pipelines import decoding as jobs


@dataclass(frozen=True)
class Ran:
    """What a run of the program left behind."""

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


Run = Callable[..., Ran]
SCHEMAS = Path(__file__).parents[2] / "vidsum" / "schemas"


def check_schema(document: Any, name: str) -> None:
    """Validate a document against one of the published schemas."""
    jsonschema.validate(document, json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


def files_here() -> list[str]:
    """The names in the current folder."""
    return sorted(path.name for path in Path().iterdir())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `vidsum ARGUMENTS`."""

    def run_program(*arguments: object) -> Ran:
        words, variables = as_variables(arguments)
        monkeypatch.setattr(sys, "argv", ["vidsum", *words])
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, text in variables.items():
                patch.setenv(name, text)
            with pytest.raises(SystemExit) as left:
                main()
        printed = capsys.readouterr()
        return Ran(int(left.value.code or 0), printed.out, printed.err)

    return run_program


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a current folder of the test's own."""
    home = tmp_path / "home"
    monkeypatch.setenv("VIDSUM_HOME", str(home))
    monkeypatch.setattr("vidsum.commands.config.user_config_path", lambda name: tmp_path / "config")
    monkeypatch.setattr("vidsum.commands.progress.SLOW_S", float("inf"))  # no lines on a busy machine
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Extractors without weights, whose feature is the mean colours of a 4x4 grid; lists those loaded."""
    loaded: list[str] = []

    def colours(clips: np.ndarray, width: int) -> np.ndarray:
        side = clips.shape[2] // 4
        cells = clips[:, 0, : 4 * side, : 4 * side].reshape(len(clips), 4, side, 4, side, 3)
        mean = cells.mean(axis=(2, 4)).reshape(len(clips), 48).astype(np.float32)
        return np.tile(mean, 75)[:, :width].copy()  # over and over

    def extractor(how: Extraction) -> Extractor:
        loaded.append(how.extractor)
        spec = describe(how.extractor, fps=how.fps)
        run = partial(colours, width=1280 + spec.inner)
        return Extractor(spec=spec, run=run, device="cpu", precision="fp32", backend="torch")

    monkeypatch.setattr(jobs, "load_extractor", extractor)
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: Path(name))
    return loaded


@pytest.fixture(scope="session")
def made_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds with sound, in four shots of one colour each."""
    colours = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200], [180, 180, 40]], np.uint8)

    def paint(number: int, width: int, height: int) -> np.ndarray:
        picture = np.empty((height, width, 3), np.uint8)
        picture[:] = colours[min(3, number // 50)]
        return picture

    path = tmp_path_factory.mktemp("films") / "film.mp4"
    media.make_video(path, n_frames=250, fps=25, sound=True, paint=paint)
    return path


@pytest.fixture
def film(made_film: Path, tmp_path: Path) -> Path:
    """A copy of the film that a test may spoil."""
    copy = tmp_path / "film.mp4"
    copy.write_bytes(made_film.read_bytes())
    return copy
