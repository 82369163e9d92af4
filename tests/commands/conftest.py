"""Running the program in this process, with an extractor that needs no weights."""

import csv
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests import media
from tests.grounding.colours import use_colours
from tests.program import Ran as Ran
from tests.program import Run as Run
from vidsum.batch.workers import in_workers
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.settings import Extraction
from vidsum.pipelines import decoding as jobs
from vidsum.summary.highlight_scenes import HighlightParams


def files_here() -> list[str]:
    return files_in(".")


def files_in(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def copies(film: Path, *names: str | Path) -> list[Path]:
    """Copies of the film under these names, in folders that are made where they are missing."""
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(film, name)
    return [Path(name) for name in names]


def csv_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table, by its header."""
    with Path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch)


def work_here(
    work: Any, inputs: Sequence[Any], progress_of: Any, finish: Any, fail: Any, jobs: int
) -> Iterator[Any]:
    """Work in this process, unless there are several jobs: `in_workers` without workers."""
    if jobs > 1:
        yield from in_workers(work, inputs, progress_of, finish, fail, jobs)
        return
    for item in inputs:
        result = work(item, progress_of(item))
        finish(item, result)
        yield result


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a current folder of the test's own."""
    home = tmp_path / "home"
    monkeypatch.setenv("VIDSUM_HOME", str(home))
    monkeypatch.setattr("vidsum.commands.config.user_config_path", lambda name: tmp_path / "config")
    monkeypatch.setattr("vidsum.io.progress.SLOW_S", float("inf"))  # no lines on a busy machine
    # what a test replaces is not replaced in other processes; test_jobs.py has them
    monkeypatch.setattr("vidsum.batch.workers.in_workers", work_here)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return home


def use_mean_colours(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace all extractors by the mean colours of a 4x4 grid, without weights; return those loaded."""
    loaded: list[str] = []

    def colours(clips: np.ndarray, width: int) -> np.ndarray:
        side = clips.shape[2] // 4
        cells = clips[:, 0, : 4 * side, : 4 * side].reshape(len(clips), 4, side, 4, side, 3)
        mean = cells.mean(axis=(2, 4)).reshape(len(clips), 48).astype(np.float32)
        return np.tile(mean, 75)[:, :width].copy()  # over and over

    def extractor(options: Extraction) -> Extractor:
        loaded.append(options.extractor)
        spec = describe(options.extractor, fps=options.fps)
        run = partial(colours, width=1280 + spec.inner)
        return Extractor(spec=spec, encode=run, device="cpu", precision="fp32", backend="torch")

    monkeypatch.setattr(jobs, "load_extractor", extractor)
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: Path(name))
    return loaded


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Extractors without weights, whose feature is the mean colours of a 4x4 grid; lists those loaded."""
    return use_mean_colours(monkeypatch)


def use_quick_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the numbers of a plot, not its picture, which takes Matplotlib most of the time of a run."""

    def save(figure: Any, target: Path, label: str | None = None) -> None:
        curves = [line.get_xydata().tolist() for axes in figure.axes for line in axes.lines]
        spans = [patch.get_path().vertices.tolist() for axes in figure.axes for patch in axes.patches]
        Path(target).write_text(repr((label, curves, spans)))

    for module in ("vidsum.summary.storyboard", "vidsum.grounding.plot", "vidsum.results.figures"):
        monkeypatch.setattr(f"{module}.save_figure", save)


@pytest.fixture
def quick_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots without their pictures; test_storyboard.py and test_plot.py look at these."""
    use_quick_plots(monkeypatch)


@pytest.fixture(scope="session")
def analysed(made_film: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with what the extractors of `loads` say about the film."""
    home = tmp_path_factory.mktemp("analysed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(home))
        use_mean_colours(patch)
        vidsum.summarize(made_film, device="cpu")
    return home


@pytest.fixture
def known_film(analysed: Path, own_home: Path, loads: list[str]) -> None:
    """Copy that cache: most tests need not extract the features of the film again."""
    shutil.copytree(analysed, own_home, dirs_exist_ok=True)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace that cache by one that is empty."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "empty"))


@pytest.fixture(scope="session")
def searched(made_film: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with what searches for colours know of the film."""
    home = tmp_path_factory.mktemp("searched")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(home))
        use_colours(patch)
        vidsum.ground(made_film, ["red"], device="cpu")
    return home


@pytest.fixture
def known_colours(searched: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy that cache; queries are colours, and no real network is loaded."""
    use_colours(monkeypatch)
    shutil.copytree(searched, own_home, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def made_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten seconds with sound, in four shots of one colour."""
    return media.make_colour_film(tmp_path_factory.mktemp("films") / "film.mp4", sound=True)


@pytest.fixture
def film(made_film: Path, tmp_path: Path) -> Path:
    """A copy of the film that a test may spoil."""
    return copies(made_film, tmp_path / "film.mp4")[0]


@pytest.fixture
def film_with_tone(tmp_path: Path) -> Path:
    """The film with a tone in place of noise."""
    return media.make_colour_film(tmp_path / "film.mp4", tone=True)


@pytest.fixture
def low_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """List a scene of the film, whose still colours stand out too little."""
    monkeypatch.setattr("vidsum.summary.highlight_scenes.PARAMS", HighlightParams(min_score=0))
