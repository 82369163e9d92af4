"""vidsum.yaml of the user, none beside the inputs; hints, and help."""

import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import vidsum
from docs.options import commands
from tests.commands.conftest import copies
from tests.program import Run
from vidsum.archive.archive import Archive
from vidsum.archive.settings import SearchOptions
from vidsum.archive.store import connect
from vidsum.commands import config
from vidsum.commands.config import OptionNames, Source, find_sources, typed_sources, value_of
from vidsum.commands.options import settings_of
from vidsum.errors import Mention, UsageError, fill
from vidsum.options import Leaf, Option


@pytest.fixture
def films(film: Path, tmp_path: Path, known_film: None) -> Path:
    """A folder of films, one of them in a folder below."""
    copies(film, tmp_path / "films/a.mp4", tmp_path / "films/below/b.mp4")
    return tmp_path / "films"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The user's file."""
    (tmp_path / "config").mkdir()
    return tmp_path / "config" / "vidsum.yaml"


def seed_of(run: Run, *arguments: object) -> int:
    seed: int = run("summarize", *arguments, "-o", "-").json["provenance"]["summary"].get("seed", 0)
    return seed


def test_option_precedence(run: Run, films: Path, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (films, Path()):
        (folder / "vidsum.yaml").write_text("summarize:\n  seed: 2\nnonsense: 1\n")
    assert seed_of(run, films / "a.mp4") == 0
    film = films / "a.mp4"
    users.write_text("summarize:\n  seed: 1\n  model: uniform\n")
    assert seed_of(run, film) == 1
    Path("third.yaml").write_text("summarize:\n  max_shots: 3\n")
    assert seed_of(run, film, "--config", "third.yaml") == 0  # in its place
    monkeypatch.setenv("VIDSUM_SUMMARIZE_SEED", "4")
    assert seed_of(run, film) == 4
    assert seed_of(run, film, "--seed", "5") == 5


def test_info_config_file(run: Run, films: Path, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("info", "--json").json["data"]["config"] == f"none (looked for {users})"
    users.write_text("device: cpu\n")
    assert run("info", "--json").json["data"]["config"] == str(users)
    assert run("info", films / "a.mp4", "--json").json["data"]["config"] == str(users)
    Path("mine.yaml").write_text("device: cpu\n")
    monkeypatch.setenv("VIDSUM_CONFIG", "mine.yaml")
    assert run("info", "--json").json["data"]["config"] == "mine.yaml"


def words_and_place(run: Run) -> tuple[list[str], list[str], str]:
    """Return the texts of `--and` and `--not`, and the evidence, of a `vidsum search`."""
    connect(Path("new.vidsum"), create=True).close()
    result: list[SearchOptions] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Archive, "find", lambda archive, text, filters: result.append(filters) or [])
        patch.setattr(Archive, "query_warnings", lambda *_: ())
        run("search", "a dog", "--archive", "new.vidsum")
    return [*result[0].also], [*result[0].without], result[0].evidence


def test_keys_and_variables_are_flags(run: Run, users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users.write_text("search:\n  and: [deep snow]\n  not: [people]\n  in: picture\n")
    assert words_and_place(run) == (["deep snow"], ["people"], "picture")
    for name, value in {"AND": "a red car", "NOT": "two people", "IN": "picture"}.items():
        monkeypatch.setenv(f"VIDSUM_SEARCH_{name}", value)
    assert words_and_place(run) == (["a red car"], ["two people"], "picture")


def test_config_errors_name_the_file(run: Run, films: Path, users: Path) -> None:
    users.write_text("device: cpu\nnonsense: 1\n")
    run("shots", films / "a.mp4", code=2, error=f"{users}:2: `vidsum` has no command or option 'nonsense'")
    users.write_text("device: cpu\nshots:\n  fps: many\n")
    run("shots", films / "a.mp4", code=2, error=f"(from {users}:3)")


@pytest.mark.parametrize(("kind", "text", "values"), [
    (tuple[str, ...], "a red car", ("a red car",)),
    (tuple[Path, ...], os.pathsep.join(["my runs/a", "b"]), (Path("my runs/a"), Path("b"))),
    (tuple[int, ...], "1 2", (1, 2)),
])  # fmt: skip
def test_repeatable_variable(
    kind: Any, text: str, values: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = Leaf("it", kind, Option("It."), ())
    config = Leaf("config", Path | None, Option("File."), None)
    monkeypatch.setenv("VIDSUM_MADE_IT", text)
    context = SimpleNamespace(command_path="vidsum made")
    by_hand = typed_sources("made", [leaf, config], {})
    assert value_of(leaf, find_sources(context, [leaf, config], by_hand)) == values


@pytest.mark.parametrize(
    ("command", "mention", "named"),
    [
        ("ground", Mention("space", "vse"), "VIDSUM_GROUND_SPACE=vse"),
        ("ground", Mention("alone"), "VIDSUM_GROUND_ALONE=true"),
        ("ground", Mention("fast"), "--fast"),
        ("ground", Mention("without"), "--not"),
        ("ground", Mention("cache", False), "--no-cache"),
        ("ground", Mention("query", "a dog"), '--query "a dog"'),
        ("summarize", Mention("min_segment_s", 1.5), "VIDSUM_SUMMARIZE_MIN_SEGMENT=1.5"),
        ("summarize", Mention("max_shots"), "VIDSUM_SUMMARIZE_MAX_SHOTS"),
        ("summarize", Mention("vertical", True), "--vertical"),
        ("shots", Mention("max_shots"), "--max-shots"),
        ("shots", Mention("budget", "20%"), "--budget 20%"),
        ("extract", Mention("precision", "fp32"), "--precision fp32"),
        ("train mrnet", Mention("sparse", False), "VIDSUM_TRAIN_MRNET_SPARSE=false"),
        ("train fulltransnet", Mention("validation", 0), "VIDSUM_TRAIN_FULLTRANSNET_VALIDATION=0"),
    ],
)
def test_an_option_in_an_error_has_its_name_in_the_command(
    command: str, mention: Mention, named: str
) -> None:
    leaves = settings_of(dict(commands())[command])
    error = UsageError(("use ", mention), hint=mention)
    OptionNames.of(command, leaves, {}).explain(error)
    assert (error.message, error.hint) == (f"use {named}", named)


def test_an_error_names_the_origins_of_its_options() -> None:
    leaves = settings_of(dict(commands())["summarize"])
    sources = {
        "keep": Source([], "a.yaml:3"),
        "drop": Source([], "VIDSUM_SUMMARIZE_DROP"),
        "crf": Source("1"),
    }
    names = OptionNames.of("summarize", leaves, sources)
    error = UsageError(fill("{} and {} overlap, {{not {}}", Mention("keep"), Mention("drop"), "{}"))
    for _ in range(2):  # a batch may explain an error once more
        names.explain(error)
        expected = "--keep and --drop overlap, {{not {}} (from a.yaml:3 and VIDSUM_SUMMARIZE_DROP)"
        assert error.message == expected
    assert str(error) == "keep and drop overlap, {{not {}}"
    assert error.hint == "vidsum summarize --help"


@pytest.mark.parametrize("words", [["shots"], ["train", "mrnet"], []])
def test_help_is_a_command_too(run: Run, words: list[str]) -> None:
    assert run("help", *words).out == run(*words, "--help").out
    run("help", "nonsense", code=2)


@pytest.mark.parametrize(("text", "complaint"), [
    ("nonsense: 1", "no command or option"),
    ("summarize:\n  nonsense: 1", "no option"),
    ("- a\n- b", "mapping"),
    ("summarize: 3", "mapping"),
    ("a: [", "YAML"),
    ("summarize:\n  budget: true", "--budget takes a single value"),
    ("summarize:\n  budget: yes", 'put yes, no, on and off in quotes: "yes"'),
    ("summarize:\n  max-shots: [10]", "error: max_shots takes a single value (from bad.yaml:2)"),
    ("summarize:\n  fps: {a: 2}", "error: fps takes a single value (from bad.yaml:2)"),
    ("summarize:\n  keep: [[0:01-0:02]]", "--keep takes a single value"),
    ("summarize:\n  crf: 99", "error: crf must be"),
    ("summarize:\n  max-shots: 3\n  max_shots: 4", "twice"),
    ("[" * 100_000, "YAML"),
    ("device: 2001-99-99", "YAML"),
    ("device: 0b_", "YAML"),
    ("seed: 1\nseed: 2", "'seed' twice"),
    ("sources: a", "'sources'"),
    ("config: a", "'config'"),
    ("budget: 20%", "bad.yaml:1: `vidsum` has no command or option 'budget'"),
    ("# of all\njobs: 0", "--jobs must be at least 1, not 0 (from bad.yaml:2)"),
    ("train:\n  epochs: 3", "`vidsum train` has no command 'epochs'"),
    ("train:\n  fulltransnet:\n    epoch: 3", "`vidsum train fulltransnet` has no option 'epoch'"),
    ("train:\n  fulltransnet: 3", "train fulltransnet must be a mapping"),
    ("train: 3", "train must be a mapping"),
])  # fmt: skip
def test_config_errors(run: Run, text: str, complaint: str) -> None:
    Path("bad.yaml").write_text(text)
    train = ("train", "fulltransnet", "--data", "t.h5", "--out", "o")
    words = train if text.startswith("train") else ("summarize", "a.mp4")
    run(*words, "--config", "bad.yaml", code=2, error=complaint)


def test_config_sections(run: Run, films: Path) -> None:
    Path("a.yaml").write_text("summarize:\n  model: uniform\nshots:\n  shots: uniform\n")
    options = (films / "a.mp4", "--config", "a.yaml", "-o", "-")
    assert run("summarize", *options).json["model"] == "uniform"
    assert run("shots", *options).json["method"] == "uniform"
    words = {words.split()[0] for words, _ in commands()}
    shared = "archive: a.vidsum\njobs: 1\nquiet: no\nverbose: no\n"
    Path("a.yaml").write_text(shared + "".join(f"{word}: {{}}\n" for word in words))
    run("highlights", *options)  # any command may have a section, and shared options need not be of all


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("VIDSUM_BUDGET", "; these do: VIDSUM_SUMMARIZE_BUDGET, VIDSUM_REEL_BUDGET"),
        ("VIDSUM_SUMMARIZE_BUDGT", "; did you mean VIDSUM_SUMMARIZE_BUDGET?"),
        ("VIDSUM_SUMARIZE_BUDGET", "; did you mean VIDSUM_SUMMARIZE_BUDGET?"),
        ("VIDSUM_TRAIN_MRNET_EPOCH", "; did you mean VIDSUM_TRAIN_MRNET_EPOCHS?"),
        ("VIDSUM_HOEM", "; did you mean VIDSUM_HOME?"),
        ("VIDSUM_WATCH_SNAP", "; these do: VIDSUM_SUMMARIZE_SNAP, VIDSUM_REEL_SNAP"),
        ("VIDSUM_WATCH_MODEL", "; these do: VIDSUM_SUMMARIZE_MODEL, VIDSUM_GROUND_MODEL"),
        ("VIDSUM_QQQQQQ", ""),
    ],
)
def test_a_variable_that_sets_nothing_is_named_once(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, name: str, guess: str
) -> None:
    monkeypatch.setenv(name, "3")
    ran = run("info", film, *copies(film, "other.mp4"))
    assert [line for line in ran.err.splitlines() if name in line] == [
        f"warning: {name} sets no option{guess}"
    ]
    assert name not in run("info", film, "-q").err


@pytest.mark.parametrize(
    "name",
    [
        "VIDSUM_OFFLINE",
        "VIDSUM_CACHE_LIMIT",
        "VIDSUM_DESCRIBE_VLM_KEY",
        "VIDSUM_DEVICE",
        "VIDSUM_SEARCH_TOP_K",
    ],
)
def test_a_variable_that_something_reads_is_not_named(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1" if name != "VIDSUM_DEVICE" else "cpu")
    assert run("info", film).err == ""


def test_every_variable_in_the_source_is_known() -> None:
    """Return the environment variables that begin with the name of the program."""
    text = "".join(path.read_text(encoding="utf-8") for path in Path(vidsum.__file__).parent.rglob("*.py"))
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(VIDSUM_[A-Z_]+)", text))
    assert read
    assert read <= {*config._OTHER_VARIABLES, *(f"VIDSUM_{name.upper()}" for name in config.SHARED)}
