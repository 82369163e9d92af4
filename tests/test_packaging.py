"""An installation: its files, imports and network calls, and a killed command."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest

import vidsum
from tests.commands.conftest import made_film as made_film
from tests.conftest import real_weights
from tests.kills import kill_often
from vidsum.io import cache
from vidsum.io.packages import TELEMETRY_VARIABLES

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The files in a wheel built from what git tracks; building fetches setuptools from the package index."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.decode().split("\0")[:-1]:
        if not name.startswith(("tests/", "docs/")) and (ROOT / name).exists():
            place = source / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_symlink():
                place.symlink_to((ROOT / name).readlink())
            else:
                place.write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(target), str(source)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in built.stderr or "Connection" in built.stderr:
        pytest.skip("no package index to build with")
    assert built.returncode == 0, built.stderr[-2000:]
    (wheel,) = target.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.deep
def test_wheel_top_level(wheel_files: set[str]) -> None:
    assert {name.split("/")[0] for name in wheel_files} == {
        "vidsum",
        f"vidsum-{vidsum.__version__}.dist-info",
    }


@pytest.mark.deep
def test_wheel_files(wheel_files: set[str]) -> None:
    assert {"vidsum/commands/app.py", "vidsum/weights/registry.yaml", "vidsum/py.typed"} <= wheel_files
    assert {f"vidsum/features/class_names/{name}.txt" for name in ("imagenet", "kinetics_400")} <= wheel_files


@pytest.mark.deep
def test_wheel_modules(wheel_files: set[str]) -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "vidsum").rglob("*.py")}
    modules |= {f"vidsum/{path.relative_to(ROOT)}" for path in (ROOT / "commands").glob("*.py")}
    assert {name for name in modules if "__pycache__" not in name} <= wheel_files


def test_installed_version() -> None:
    assert metadata.version("vidsum") == vidsum.__version__


def test_import_is_light() -> None:
    heavy = ("torch", "numpy", "cv2", "av", "ctranslate2")
    program = f"import sys, vidsum; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_public_names() -> None:
    assert all(getattr(vidsum, name) is not None for name in vidsum.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = vidsum.nonsense


WEIGHTS = ("efficientnet_lite0", "i3d", "minilm", "glove", "whisper_base")
COMMANDS = """
summarize film.mp4
ground film.mp4 --query butterflies
transcribe film.mp4
report film_summary.json film_moments.json
"""
PROGRAM = """
import sys
from vidsum.commands.app import main
for line in sys.stdin.read().split("\\n"):
    sys.argv = ["vidsum", *line.split()]
    try:
        line and main()
    except SystemExit as left:
        assert left.code == 0, line
assert {"onnxruntime", "faster_whisper"} < set(sys.modules)
"""
OUTPUTS = {".vidsum.json", "film.mp4", "film_summary.mp4", "report.html"} | {
    f"film_{what}.json" for what in ("summary", "moments", "transcript")
}


@dataclass(frozen=True)
class Traced:
    """A run of the commands with empty folders."""

    folder: Path
    calls: str | None
    """Network calls that strace recorded; None where there is no strace."""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory, made_film: Path) -> Traced:
    """The commands in one process, in a current and home folder of their own."""
    for name in WEIGHTS:
        real_weights(name)
    folder = tmp_path_factory.mktemp("traced")
    for name in ("work", "user", "home"):
        (folder / name).mkdir()
    (folder / "home/weights").symlink_to(cache.home() / "weights")
    shutil.copy(made_film, folder / "work/film.mp4")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in TELEMETRY_VARIABLES and not name.startswith(("VIDSUM_", "XDG_"))
    } | {"HOME": str(folder / "user"), "VIDSUM_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=network", "-o", str(folder / "calls")]
    has_strace = bool(shutil.which("strace")) and not subprocess.run([*trace, "true"]).returncode
    subprocess.run(
        [*(trace if has_strace else ()), sys.executable, "-c", PROGRAM],
        input=COMMANDS.encode(),
        env=environment,
        cwd=folder / "work",
        check=True,
    )
    return Traced(folder, (folder / "calls").read_text() if has_strace else None)


@pytest.mark.deep
@pytest.mark.weights
def test_no_files_of_libraries(traced: Traced) -> None:
    assert list((traced.folder / "user").rglob("*")) == []
    assert {path.name for path in (traced.folder / "work").iterdir()} == OUTPUTS


@pytest.mark.deep
@pytest.mark.weights
def test_nothing_asks_the_network(traced: Traced) -> None:
    if traced.calls is None:
        pytest.skip("strace is not installed, or may not trace")
    families = re.findall(r"\b(?:sa_family=|socket\(|socketpair\()(AF_\w+)", traced.calls)
    assert set(families) <= {"AF_UNIX"}


def test_telemetry_is_off() -> None:
    """Whoever loads one after vidsum, and whatever the user's variables say."""
    program = f"import os, vidsum; assert {TELEMETRY_VARIABLES!r}.items() <= os.environ.items()"
    environment = os.environ | dict.fromkeys(TELEMETRY_VARIABLES, "") | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.deep
def test_kill_and_rerun(default_weights: Path) -> None:
    assert kill_often("summarize", 2, seed=0)["killed"] <= 2
