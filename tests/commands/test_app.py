"""Rules of all commands: help, versions, exit codes, configuration, JSON on failure."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.options import commands
from tests.commands.conftest import copies
from tests.conftest import deep, real_weights
from tests.program import Run, check_schema
from vidsum.__main__ import main as start
from vidsum.archive.folders import ToolUseError
from vidsum.checkpoints.registry import builtin_entries
from vidsum.commands.options import default_of, leaves_of
from vidsum.errors import VidsumError
from vidsum.grounding.settings import Retrieval
from vidsum.options import leaves
from vidsum.version import __version__

ROOT = Path(__file__).parents[2]
HOME = os.environ.get("VIDSUM_HOME")
HEAVY = ("torch", "torchvision", "sklearn", "matplotlib", "open_clip", "decord", "h5py", "scipy", "pandas")


@pytest.mark.usefixtures("known_film")
def test_variable_of_a_command_sets_its_option(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_TRAIN_MRNET_CLIPS_PER_VIDEO", "64")
    monkeypatch.setenv("VIDSUM_SUMMARIZE_MODEL", "uniform")
    assert run("summarize", film, "-o", "-").json["model"] == "uniform"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("VIDSUM_SUMMARIZE_SEED", "VIDSUM_SUMMARIZE_SEED must be a whole number"),
        ("VIDSUM_SUMMARIZE_BUDGET", "(from VIDSUM_SUMMARIZE_BUDGET)"),
        ("VIDSUM_DEVICE", "unknown device 'many' (from VIDSUM_DEVICE)"),
    ],
)
def test_wrong_variable_is_named(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, name: str, error: str
) -> None:
    monkeypatch.setenv(name, "many")
    run("summarize", film, "-o", "-", code=2, error=error)


@pytest.mark.usefixtures("known_film")
def test_a_variable_without_a_command_sets_shared_options_alone(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_MODEL", "random")
    ran = run("summarize", film, "--model", "uniform", "-o", "-")
    assert (ran.json["model"], ran.err.count("VIDSUM_MODEL sets no option")) == ("uniform", 1)


MISSING = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing)
"""


def loaded(arguments: list[str], modules: tuple[str, ...], missing: tuple[str, ...] = ()) -> str:
    """List the modules that a command has imported when it ends, in a new process.

    The packages in `missing` cannot be imported there, as if they were not installed.
    """
    program = MISSING.format(missing=missing)
    program += f"sys.argv = ['vidsum', *{arguments}]\nfrom vidsum.commands.app import main\n"
    program += "try: main()\nexcept SystemExit as end: assert not end.code, end.code\n"
    program += f"print([m for m in {modules} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return ran.stdout.splitlines()[-1]


def test_help_loads_no_slow_library() -> None:
    heavy = ("numpy", "torch", "cv2", "av", "sklearn", "ctranslate2", "faster_whisper")
    assert loaded(["--help"], heavy) == "[]"


def test_command_loads_no_other_command_and_not_pydantic(film: Path) -> None:
    """Typer converts values with Pydantic; texts need no conversion."""
    others = ("vidsum.commands.train", "vidsum.commands.summarize", "pydantic")
    assert loaded(["info", str(film), "--video-track", "1", "-v"], others) == "[]"


def test_command_needs_neither_stdout_nor_stderr(film: Path) -> None:
    command = f"{sys.executable} -m vidsum info {film} >&- 2>&-"
    assert subprocess.run(command, shell=True, check=False, cwd=ROOT).returncode == 0


@pytest.fixture
def users_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of the user in place of the test's own, which would have to be filled."""
    monkeypatch.delenv("VIDSUM_HOME")
    if HOME:
        monkeypatch.setenv("VIDSUM_HOME", HOME)


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.usefixtures("users_home")
@pytest.mark.parametrize("command", ["summarize", "extract", "shots", "highlights", "info"])
def test_default_work_without_pytorch(command: str, film: Path, tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "ridge", "vse"):
        real_weights(name)
    target = tmp_path / {"extract": "f.npz", "summarize": "s.mp4"}.get(command, "f.json")
    output = [] if command == "info" else ["--device", "cpu", "--no-cache", "-o", str(target)]
    assert loaded([command, str(film), *output], HEAVY, missing=("torch", "torchvision")) == "[]"


@pytest.mark.deep
@pytest.mark.usefixtures("known_film")
def test_pages_without_pytorch(run: Run, film: Path, tmp_path: Path) -> None:
    pytest.importorskip("opentimelineio")
    record = str(tmp_path / "film.json")
    run("summarize", film, "--device", "cpu", "-o", record)
    for command, target in (("export", "film.otio"), ("report", "film.html")):
        assert loaded([command, record, "-o", str(tmp_path / target)], (), ("torch", "torchvision")) == "[]"
        assert (tmp_path / target).stat().st_size > 1000


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.usefixtures("users_home")
def test_ground_without_torchvision(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [real_weights(name) for name in ("efficientnet_lite0", "minilm")]
    home = tmp_path / "empty"  # but for weights: nothing that was kept stands in for torchvision
    home.mkdir()
    (home / "weights").symlink_to(weights[-1].parent)
    monkeypatch.setenv("VIDSUM_HOME", str(home))
    target = tmp_path / "moments.json"
    ask = ["ground", str(film), "--query", "a bird", "--device", "cpu", "-o", str(target)]
    assert loaded(ask, (), missing=("torchvision",)) == "[]"
    assert json.loads(target.read_text())["queries"][0]["moments"]


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.usefixtures("users_home")
def test_second_query_loads_no_network(film: Path, tmp_path: Path) -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    ask = ["ground", str(film), "--device", "cpu", "-o", str(tmp_path / "moments.json"), "--overwrite"]
    loaded([*ask, "--query", "a dog runs"], ())
    modules = loaded([*ask, "--query", "two cats sleep"], (*HEAVY, "onnx", "onnxruntime"))
    assert modules == "['onnxruntime']"  # of the text encoder


@pytest.mark.parametrize("arguments", [[], ["weights"]])
def test_help_without_arguments(run: Run, arguments: list[str]) -> None:
    ran = run(*arguments, code=2)
    assert "Usage" in ran.out + ran.err
    assert "error:" not in ran.err


WORDS = [words for words, _ in commands()]


@pytest.mark.parametrize("words", WORDS)
def test_short_help_fits_on_a_screen(run: Run, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert len(run(*words.split(), "-h").out.strip().splitlines()) <= 40


def test_helps_do_not_depend_on_those_printed_before(run: Run) -> None:
    full, short = run("trim", "--help-all").out, run("trim", "--help").out
    assert (run("trim", "--help-all").out, run("trim", "--help").out) == (full, short)


@pytest.mark.parametrize("words", WORDS)
def test_full_help_has_all_options_and_defaults(
    run: Run, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # no text is wrapped
    leaves = leaves_of(dict(commands())[words])
    printed = unwrapped(run(*words.split(), "--help-all" if leaves else "--help").out)
    texts = [leaf.text for leaf in leaves]
    texts += [f"default: {default_of(leaf)}" for leaf in leaves if default_of(leaf)]
    assert [text for text in texts if unwrapped(text) not in printed] == []
    assert "default: default" not in printed


def test_commands_have_few_flags() -> None:
    counts = {words: len(leaves_of(command)) for words, command in commands()}
    advice = "give the new option no flag but a config key: flag_on=()"
    assert sum(counts.values()) <= 575, advice
    assert max(counts["summarize"], counts["ground"]) <= 36, advice


def test_models_of_ground_are_known_checkpoints() -> None:
    models = next(leaf.option.names for leaf in leaves(Retrieval) if leaf.name == "model")
    assert set(models) <= {"auto", "similarity", *builtin_entries()}


def test_each_kind_of_error_has_its_exit_code() -> None:
    def below(error: type[VidsumError]) -> dict[str, int]:
        codes = {error.__name__: error.exit_code}
        for child in error.__subclasses__():
            codes |= below(child)
        return codes

    assert below(VidsumError) == {
        "VidsumError": 1, "UsageError": 2, "SeveralQueriesError": 2, "StaleError": 2, "InputError": 3,
        "EmptyResultError": 3, "MissingError": 3, "ForeignFileError": 3, "DamagedArchiveError": 3,
        ToolUseError.__name__: 3, "WeightsError": 4, "PackageError": 1, "OutputError": 1,
    }  # fmt: skip


def unwrapped(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_help_lists_the_names_of_sounds(run: Run) -> None:
    assert "applause, the audience applauds" in run("help", "sounds").out


def test_help_of_an_unknown_word_suggests_another(run: Run) -> None:
    run("help", "train", "mrnt", code=2, error="mrnet")


def test_file_that_begins_with_a_dash_is_taken_for_an_option_and_named(run: Run) -> None:
    Path("-dash.mp4").touch()
    run("shots", "-dash.mp4", code=2, error=("No such option '-d'", "./-dash.mp4, if you mean that file"))


def test_version_is_printed(run: Run) -> None:
    assert run("--version").out == f"vidsum {__version__}\n"


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [("summarize a.mp4 --fps many", 2, "UsageError"), ("extract no.mp4", 3, "InputError")],
)
def test_json_of_errors(run: Run, line: str, code: int, kind: str) -> None:
    document = run(*line.split(), "--json", code=code).json
    check_schema(document, "result")
    assert (document["exit_code"], document["ok"], document["errors"][0]["kind"]) == (code, False, kind)


ESCAPE = "\x1b[31mred.mp4"
CONTROLS = ["a\nb.mp4", "\x9b31mred.mp4", "\u202egpm.mp4", "\x07.mp4"]


@pytest.mark.usefixtures("known_film")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        *((command, ESCAPE) for command in ("info", "summarize", "shots", "ground")),
        *(("shots", name) for name in CONTROLS),
        *(deep(command, name) for command in ("info", "summarize", "ground") for name in CONTROLS),
    ],
)
def test_control_characters_of_names_are_not_printed(run: Run, film: Path, command: str, name: str) -> None:
    Path(name).write_bytes(film.read_bytes())
    options = ["--query", "a dog", "--space", "none"] if command == "ground" else []
    for path in (Path(name), Path(name), Path("no") / name):
        ran = run(command, path, *options, code=None)
        assert (ran.code == 0) == (path.exists() and command != "ground"), ran.err
        assert name not in ran.out + ran.err
        assert not set(ran.out + ran.err) & set("\x1b\x9b\u202e\x07")


@pytest.mark.usefixtures("known_film")
def test_document_on_stdout_has_control_characters_as_escapes(run: Run, film: Path) -> None:
    (odd,) = copies(film, "\x9b31m\u202e\x7f.mp4")
    ran = run("shots", odd, "-o", "-")
    assert not set(ran.out) & set("\x9b\u202e\x7f")
    assert ran.json["video"]["path"] == str(odd)


@pytest.mark.usefixtures("known_film")
def test_link_to_itself_fails_alone(run: Run, film: Path) -> None:
    Path("loop.mp4").symlink_to("loop.mp4")
    ran = run("shots", "loop.mp4", film, "--json", code=1)
    assert [line["exit_code"] for line in ran.json_lines] == [3, 0]


@pytest.mark.parametrize("arguments", [["n" * 300 + ".mp4"], ["FILM", "-o", "n" * 300 + ".json"]])
def test_names_that_are_too_long_are_refused(run: Run, film: Path, arguments: list[str]) -> None:
    ran = run("shots", *[str(film) if word == "FILM" else word for word in arguments], code=None)
    assert ran.code in (1, 3)
    assert "too long" in ran.err
    assert "internal" not in ran.err


@pytest.mark.parametrize("broken", ["commands.shots.plan_moment_files", "pipelines.sources.probe"])
def test_traceback_of_faults_with_v_only(run: Run, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("something inside")

    monkeypatch.setattr(f"vidsum.{broken}", fail)
    assert "Traceback" not in run("shots", "a.mp4", code=1, error="something inside").err
    run("shots", "a.mp4", "-v", code=1, error="Traceback")


def test_interrupt_while_loading(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(name: str, *rest: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.__import__", interrupted)
    with pytest.raises(SystemExit) as left:
        start()
    monkeypatch.undo()
    assert left.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


BUSY = """
import time
from vidsum.commands import app

def run():
    try:
        print("busy", flush=True)
        time.sleep(300)
    finally:
        print("not done", flush=True)

app.run = run
app.main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")
def test_exit_code_where_the_terminal_is_gone() -> None:
    import pty

    terminal, end = pty.openpty()
    command = [sys.executable, "-c", BUSY]
    streams: Any = {"stdin": end, "stdout": end, "stderr": end}
    with subprocess.Popen(command, **streams, env=os.environ | {"PYTHONPATH": str(ROOT)}) as process:
        os.close(end)
        assert b"busy" in os.read(terminal, 100)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(300) == 128 + signal.SIGHUP


@pytest.mark.parametrize("settings", [[], deep(["--json"]), deep(["-o", "-"])])
def test_names_in_other_encodings(tmp_path: Path, film: Path, settings: list[str]) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.mp4"
    film.rename(os.fsdecode(name))
    command = [sys.executable, "-m", "vidsum", "info" if "-o" not in settings else "shots", name, *settings]
    if "-o" in settings:
        command += ["--shots", "uniform", "--quiet"]  # a slow machine says that weights are fetched
    ran = subprocess.run(command, capture_output=True, cwd=ROOT, env=os.environ | {"PYTHONUTF8": "1"})
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"caf\\udce9.mp4" in ran.stdout
    ran.stdout.decode("utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    [
        "info x --json",
        *map(deep, ("--version", "weights list", "--help", "info --help", "weights list --json")),
    ],
)
def test_full_stdout(arguments: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "vidsum", *arguments.split()]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "stdout" in ran.stderr


@pytest.mark.parametrize(("line", "names"), [
    ("summarize a.mp4 --model ri", {"ridge"}), ("ground a.mp4 -m mr", {"mrnet"}),
    ("extract a.mp4 --extractor i3", {"i3d", "i3d_128"}), ("summarize a.mp4 --shots k", {"kts"}),
    ("summarize a.mp4 --stor", {"--storyboard"}), ("help tr", {"train", "transcribe", "trim"}),
    ("weights pull mi", {"minilm"}), ("weights path mi", {"minilm"}), ("train mrn", {"mrnet"}),
    ("summ", {"summarize"}), ("summarize fi", set()), ("ground a.mp4 --queries fi", set()),
])  # fmt: skip
def test_completion(run: Run, monkeypatch: pytest.MonkeyPatch, line: str, names: set[str]) -> None:
    monkeypatch.setenv("_VIDSUM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"vidsum {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
    assert set(run().out.split()) == names
