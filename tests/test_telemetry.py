"""Nothing leaves the machine: no library opens a connection, or leaves a file in the user's folders."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands.conftest import made_film as made_film
from tests.conftest import real_weights
from vidsum.io import cache
from vidsum.io.packages import TELEMETRY_VARIABLES

ROOT = Path(__file__).parents[1]
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
OUTPUTS = {".vidsum.sha256", "film.mp4", "film_summary.mp4", "report.html"} | {
    f"film_{what}.json" for what in ("summary", "moments", "transcript")
}


@dataclass(frozen=True)
class Traced:
    """A run of the commands with empty folders."""

    folder: Path
    calls: str | None
    """What strace saw of the network; None where there is no strace."""


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
def test_no_library_leaves_files_of_its_own(traced: Traced) -> None:
    assert list((traced.folder / "user").rglob("*")) == []
    assert {path.name for path in (traced.folder / "work").iterdir()} == OUTPUTS


@pytest.mark.deep
@pytest.mark.weights
def test_nothing_asks_the_network(traced: Traced) -> None:
    if traced.calls is None:
        pytest.skip("strace is not installed, or may not trace")
    families = re.findall(r"\b(?:sa_family=|socket\(|socketpair\()(AF_\w+)", traced.calls)
    assert set(families) <= {"AF_UNIX"}


def test_telemetry_is_off_before_any_library_is_loaded() -> None:
    """Whoever loads one after vidsum, and whatever the user's variables say."""
    program = f"import os, vidsum; assert {TELEMETRY_VARIABLES!r}.items() <= os.environ.items()"
    environment = os.environ | dict.fromkeys(TELEMETRY_VARIABLES, "") | {"PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
