"""An installation: its files, imports and network calls, and a killed command."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import vidsum
from tests.conftest import Once, real_weights
from tests.kills import kill_often
from tests.media import make_colour_film
from vidsum.checkpoints import registry
from vidsum.io.packages import TELEMETRY_VARIABLES
from vidsum.io.paths import home

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def source(made_once: Once) -> Path:
    """A copy of what git tracks."""
    return made_once("source", _copy_tracked)


def _copy_tracked(folder: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).exists():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place, follow_symlinks=False)


def _build(*command: str, **options: Any) -> None:
    """Run a step that fetches setuptools from the package index; the test is skipped where there is none."""
    built = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, **options)
    if "No matching distribution" in built.stderr or "Connection" in built.stderr:
        pytest.skip("no package index to build with")
    assert built.returncode == 0, built.stderr[-2000:]


def _build_wheel(source: Path, folder: Path) -> None:
    """Write the wheel of a folder or an sdist."""
    _build("-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(source))


def _files_of_wheel(folder: Path) -> dict[str, bytes]:
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel_folder(source: Path, made_once: Once) -> Path:
    return made_once("wheel", partial(_build_wheel, source))


@pytest.fixture(scope="module")
def wheel(wheel_folder: Path) -> dict[str, bytes]:
    return _files_of_wheel(wheel_folder)


@pytest.mark.deep
def test_wheel(wheel: dict[str, bytes]) -> None:
    files = set(wheel)
    assert {name.split("/")[0] for name in files} == {"vidsum", f"vidsum-{vidsum.__version__}.dist-info"}
    assert {"vidsum/commands/app.py", "vidsum/weights/registry.yaml", "vidsum/py.typed"} <= files
    assert {f"vidsum/features/class_names/{name}.txt" for name in ("imagenet", "kinetics_400")} <= files
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "vidsum").rglob("*.py")}
    modules |= {f"vidsum/{path.relative_to(ROOT)}" for path in (ROOT / "commands").glob("*.py")}
    assert {name for name in modules if "__pycache__" not in name} <= files


@pytest.mark.deep
def test_wheel_and_its_weights_are_small_enough(wheel: dict[str, bytes], wheel_folder: Path) -> None:
    weights = sum(len(content) for name, content in wheel.items() if name.startswith("vidsum/weights/"))
    assert weights <= 90e6
    assert sum(path.stat().st_size for path in wheel_folder.glob("*.whl")) <= 95e6


@pytest.mark.deep
def test_wheel_has_every_shipped_file_and_its_card_but_no_recipe(wheel: dict[str, bytes]) -> None:
    cards = {name: content.decode() for name, content in wheel.items() if "/licenses/weights/" in name}
    for entry in registry.builtin_entries().values():
        for file in entry.files if entry.shipped else ():
            assert sha256(wheel[f"vidsum/weights/{file.name}"]).hexdigest() == file.sha256
            card = next(text for text in cards.values() if f"`{file.name}`" in text and file.sha256 in text)
            assert re.search(r"licen[cs]e", card, re.IGNORECASE), file.name
    assert not [name for name in wheel if "recipes" in name]


def test_licence_of_the_package_covers_each_shipped_network() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    shipped = {entry.licence for entry in registry.builtin_entries().values() if entry.shipped}
    assert shipped - set(project["license"].split(" AND ")) == set()


@pytest.mark.deep
def test_sdist_makes_the_same_wheel(source: Path, wheel: dict[str, bytes], tmp_path: Path) -> None:
    """It holds all that git tracks, but for links to folders."""
    _build("-m", "pip", "install", "--quiet", "--target", str(tmp_path / "tools"), "setuptools>=77")
    make = f"from setuptools.build_meta import build_sdist; build_sdist({str(tmp_path)!r})"
    _build("-c", make, cwd=source, env=os.environ | {"PYTHONPATH": str(tmp_path / "tools")})
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {name for name in tracked - files if not name.startswith(("build/", "vidsum.egg-info/"))} == set()
    _build_wheel(sdist, tmp_path / "wheel")
    assert _files_of_wheel(tmp_path / "wheel") == wheel


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
OUTPUTS = {"report.html.vidsum.json", "film.mp4", "film_summary.mp4", "report.html"} | {
    f"film_{what}.json" for what in ("summary", "moments", "transcript")
}


@pytest.mark.deep
@pytest.mark.weights
def test_commands_leave_no_trace(tmp_path: Path) -> None:
    """In one process, with an empty current and home folder: no files of libraries, no network calls."""
    for name in WEIGHTS:
        real_weights(name)
    for name in ("work", "user", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home/weights").symlink_to(home() / "weights")
    make_colour_film(tmp_path / "work/film.mp4", sound=True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in TELEMETRY_VARIABLES and not name.startswith(("VIDSUM_", "XDG_"))
    } | {"HOME": str(tmp_path / "user"), "VIDSUM_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    calls = tmp_path / "calls"
    trace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=network", "-o", str(calls)]
    has_strace = bool(shutil.which("strace")) and not subprocess.run([*trace, "true"]).returncode
    subprocess.run(
        [*(trace if has_strace else ()), sys.executable, "-c", PROGRAM],
        input=COMMANDS.encode(),
        env=environment,
        cwd=tmp_path / "work",
        check=True,
    )
    assert list((tmp_path / "user").rglob("*")) == []
    assert {path.name for path in (tmp_path / "work").iterdir()} == OUTPUTS
    if not has_strace:
        pytest.skip("strace is not installed, or may not trace")
    families = re.findall(r"\b(?:sa_family=|socket\(|socketpair\()(AF_\w+)", calls.read_text())
    assert set(families) <= {"AF_UNIX"}


def test_telemetry_is_off() -> None:
    """Whoever loads one after vidsum, and whatever the user's variables say."""
    program = f"import os, vidsum; assert {TELEMETRY_VARIABLES!r}.items() <= os.environ.items()"
    environment = os.environ | dict.fromkeys(TELEMETRY_VARIABLES, "") | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


WITHOUT_DOWNLOADS = """
shots film.mp4
summarize film.mp4
ground film.mp4 --query butterflies
highlights film.mp4
describe film.mp4
"""
SERVED = """
import fcntl, json, socket, struct, subprocess, sys
from urllib.request import urlopen
with socket.socket() as any_socket:  # 127.0.0.1 exists only while the loopback interface is up
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))
command = [sys.argv[1], "serve", "--archive", "films.vidsum", "--port", "0", "--json"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
url = json.loads(server.stdout.readline())["data"]["url"]
with urlopen(url + "api/search?q=butterflies") as answer:
    assert json.load(answer)["moments"]
server.terminate()
server.wait()
"""


@pytest.fixture(scope="module")
def base_install(wheel_folder: Path, made_once: Once) -> Path:
    """The program `vidsum` of the wheel, installed without extras into an environment of its own."""
    return made_once("environment", partial(_install, wheel_folder)) / "bin/vidsum"


def _install(wheel_folder: Path, environment: Path) -> None:
    _build("-m", "venv", str(environment))
    (file,) = wheel_folder.glob("*.whl")
    _build("-m", "pip", "--python", str(environment / "bin/python"), "install", "--quiet", str(file))


@pytest.fixture(scope="module")
def offline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("offline")
    shutil.copy(ROOT / "docs/sample/big_buck_bunny.mp4", folder / "film.mp4")
    return folder


@pytest.fixture(scope="module")
def indexed_folder(base_install: Path, offline_folder: Path) -> Path:
    _run_isolated(offline_folder, str(base_install), "index", "film.mp4", "--archive", "films.vidsum")
    return offline_folder


@pytest.mark.deep
@pytest.mark.parametrize("line", WITHOUT_DOWNLOADS.strip().splitlines())
def test_command_without_a_network_or_a_home(base_install: Path, offline_folder: Path, line: str) -> None:
    _run_isolated(offline_folder, str(base_install), *line.split())


@pytest.mark.deep
def test_search_without_a_network_or_a_home(base_install: Path, indexed_folder: Path) -> None:
    _run_isolated(indexed_folder, str(base_install), "search", "butterflies", "--archive", "films.vidsum")


@pytest.mark.deep
def test_page_without_a_network_or_a_home(base_install: Path, indexed_folder: Path) -> None:
    _run_isolated(indexed_folder, sys.executable, "-c", SERVED, str(base_install))


def _run_isolated(folder: Path, *command: str) -> None:
    """Run a command in a network namespace without interfaces, and with an empty VIDSUM_HOME."""
    isolated = ["unshare", "-rn"]
    if not shutil.which("unshare") or subprocess.run([*isolated, "true"], capture_output=True).returncode:
        pytest.skip("network namespaces are not allowed here")
    (folder / "user").mkdir(exist_ok=True)
    variables = {"HOME": str(folder / "user"), "PATH": os.environ["PATH"]}
    with TemporaryDirectory() as home:
        ran = subprocess.run(
            [*isolated, *command],
            cwd=folder,
            env=variables | {"VIDSUM_HOME": home},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr[-2000:]
        assert not (Path(home) / "weights").exists()


@pytest.mark.deep
@pytest.mark.parametrize("command", ["summarize", "reel"])
def test_kill_and_rerun(default_weights: Path, command: str) -> None:
    assert kill_often(command, 2, seed=0)["killed"] <= 2
