"""The documentation is true: its commands and Python run, its links lead somewhere, its flags exist."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from docs import console, man, options, pictures
from tests.conftest import real_weights
from tests.golden.test_options import facts_of
from tests.test_benchmarks import has_small_run
from vidsum.checkpoints.registry import builtin_entries
from vidsum.checkpoints.trained import read_trained
from vidsum.commands.app import COMMANDS
from vidsum.commands.options import leaves_of
from vidsum.features.settings import EXTRACTORS
from vidsum.io.paths import home
from vidsum.models.configs import MaskKind
from vidsum.results.settings import ExportFormat
from vidsum.summary.settings import SHIPPED_MODELS, SUMMARIZERS
from vidsum.version import __version__

ROOT = console.ROOT
MAN_PAGES = dict(man.pages())
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("weights/**/*.md")])
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
WEIGHTS = ("i3d", "efficientnet_lite0", "minilm")
OPTIONS = {words: facts_of(words, command) for words, command in options.commands()}
"""The options of every command."""

PAGE_OF = {
    **{f"train {name}": f"train_{name}" for name in ("ridge", "mrnet", "detr")},
    **{f"evaluate {name}": f"evaluate_{name}" for name in ("moments", "highlights", "captions")},
    "help": "cli",
    "index": "archive",
    "search": "archive",
}
"""The page of a command, where it is not called like its first word."""
SHARED_PAGES = ("cli", "extract", "shots", "export", "report")
"""Pages that explain flags of several commands."""
NAMES_ON_PAGES: dict[str, tuple[str, ...]] = {
    "extract": EXTRACTORS,
    "summarize": SUMMARIZERS,
    "export": get_args(ExportFormat),
    "algorithms/learned-masks": get_args(MaskKind),
    "index": tuple(name for name in COMMANDS if name != "help"),
}
"""Names that users can choose, by the page that explains them."""


NEED_DATA = {"movinet", "scenes"}
"""Scripts without a small run: one compares with LiteRT's file, and one asks clips of other repositories."""


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.parametrize("block", BLOCKS)
def test_the_examples_run(
    block: str, default_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "vidsum.ground" in block:
        for name in ("i3d", "efficientnet_lite0", "minilm"):
            real_weights(name)
    shutil.copy(ROOT / "docs" / "sample" / "big_buck_bunny.mp4", tmp_path / "film.mp4")
    monkeypatch.chdir(tmp_path)
    Path("block.py").write_text(block)
    ran = subprocess.run([sys.executable, "block.py"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for printed in re.findall(r"^print\(.*\)  # (\w+\(.*\))$", block, re.MULTILINE):
        assert any(console.same(printed, line) for line in ran.stdout.splitlines()), ran.stdout


def test_options_page() -> None:
    printed = options.page()
    for words in OPTIONS:
        section = printed.split(f"\n## vidsum {words}\n")[1].split("\n## ")[0]
        assert {flag for flag in _flags_of(words) if f"`{flag}`" not in section} == set()


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.parametrize("precision", [None, "fp32"])
def test_console_examples(precision: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults depend on the processor: int8 where it has such instructions."""
    for name in WEIGHTS:
        real_weights(name)
    _compare(console.PAGES, tmp_path, tmp_path, monkeypatch, precision)


@pytest.mark.deep
@pytest.mark.shared
def test_console_examples_of_data(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(console.DATA_PAGES, tmp_path, shared, monkeypatch)


def _compare(
    pages: tuple[str, ...],
    folder: Path,
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: str | None = None,
) -> None:
    pytest.importorskip("faster_whisper")  # a line says whether pauses of speech were looked for
    cache = folder / "home"  # of this test: what is known of a video is searched too
    cache.mkdir()
    (cache / "weights").symlink_to(home() / "weights")
    monkeypatch.setenv("VIDSUM_HOME", str(cache))
    console.prepare(folder, shared)
    monkeypatch.chdir(folder)
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        renewed = console.outputs(text, precision, exact=page in console.DATA_PAGES)
        assert renewed == text, f"{page}: renew it with python -m docs.console"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("a bird 86 % 1 0:16.00 0:21.00 5.00 1.78", True),
        ("a bird 79 % 1 0:16.00 0:21.00 5.00 1.75", False),
        ("a bird 85 % 1 0:16.00 0:21.00 5.00 1.57", True),
        ("a bird 85 % 1 0:16.00 0:21.00 5.00 1.47", False),
        ("a bird 85 % 1 0:15.00 0:21.00 5.00 1.75", False),
        ("a bird 85 % 2 0:16.00 0:21.00 5.00 1.75", False),
        ("a bird 85 % 1 0:16.00 0:21.00 5.00", False),
    ],
)
def test_same_outputs(other: str, same: bool) -> None:
    assert console.same("a bird    85 %  1  0:16.00  0:21.00  5.00  1.75", other) is same
    assert console.same("a bird    85%  1  0:16.00  0:21.00  5.00  1.75", other.replace(" %", "%")) is same


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text())
    missing = [
        f"{path}#{anchor}"
        for path, anchor in links
        if not (target := page.parent / path if path else page).exists()
        or (anchor and anchor not in _anchors(target))
    ]
    assert missing == []


def test_changes_begin_with_this_version() -> None:
    first = re.search(r"^## (\S+) \(", (ROOT / "docs" / "changelog.md").read_text(), re.MULTILINE)
    assert first
    assert first[1] == __version__


def test_pictures_are_made_by_the_script_and_are_on_pages() -> None:
    images = {path.relative_to(pictures.FOLDER) for path in pictures.FOLDER.iterdir()}
    assert images == {Path(f"{name}.png") for name in pictures.PICTURES}
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {str(image) for image in images if f"images/{image})" not in texts} == set()


def test_pictures_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in pictures.FOLDER.iterdir()}
    assert {name: size for name, size in sizes.items() if size > pictures.LARGEST} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_benchmarks_that_pages_name_exist(page: Path) -> None:
    named = re.findall(r"docs\.benchmarks\.(\w+)", page.read_text())
    assert [name for name in named if not (ROOT / f"docs/benchmarks/{name}.py").exists()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem != "changelog"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_figures_have_a_command_in_the_tree(page: Path) -> None:
    """A script that only an older commit has cannot show whether a figure still holds."""
    old = r"git show \w+:docs/benchmarks/\w+\.py|docs[./]benchmarks[./]\w+(?:\.py)?`?\s+\[?at\s+[0-9a-f]{8}"
    old += r"|scripts\s+(?:that\s+)?are\s+not\s+in\s+the\s+tree"
    assert re.findall(old, page.read_text()) == []


def test_scripts_that_pages_run_have_a_small_run() -> None:
    texts = [page.read_text() for page in PAGES]
    commands = {name for text in texts for name in re.findall(r"-m\s+docs\.benchmarks\.(\w+)", text)}
    assert {name for name in commands if not has_small_run(ROOT / f"docs/benchmarks/{name}.py")} == NEED_DATA


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", result) for result in re.findall(r"^#+ (.*)$", text, re.M)
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", SHIPPED_MODELS)
def test_split_of_shipped_summarizer(name: str) -> None:
    """The command on its card names it."""
    shipped = read_trained(ROOT / "weights" / f"{name}-vse.safetensors").training["split"]
    card = (ROOT / "weights" / f"{name}-vse.md").read_text(encoding="utf-8")
    commands = r"(?:vidsum train|-m vidsum\.weights\.recipes).*?\s(docs/benchmarks/\S+\.json)"
    (path,) = set(re.findall(commands, card.replace("\\\n", "")))
    (split,) = json.loads((ROOT / path).read_text(encoding="utf-8"))
    assert (split["train_keys"], split["test_keys"]) == (shipped["train"], shipped["test"])


@pytest.mark.parametrize("card", sorted((ROOT / "weights").glob("*.md")), ids=lambda card: card.stem)
def test_model_card_files(card: Path) -> None:
    lines = card.read_text(encoding="utf-8").splitlines()
    named = set(re.findall(r"`([\w-]+\.(?:safetensors|json|onnx))`", "\n".join(lines)))
    shipped = [entry for entry in builtin_entries().values() if entry.shipped]
    files = {file.name: file for entry in shipped for file in entry.files}
    assert named
    assert named <= files.keys()
    for name in named:
        content = (ROOT / "weights" / name).read_bytes()
        sha256 = hashlib.sha256(content).hexdigest()
        assert (files[name].sha256, files[name].bytes) == (sha256, len(content))
        if len(named) > 1:  # a table with a row for each
            (row,) = (line for line in lines if f"`{name}`" in line)
            assert f"| {len(content):,} | `{sha256}` |" in row
        else:
            assert f"{len(content):,} bytes" in "\n".join(lines)
            assert f"| SHA-256 | `{sha256}` |" in lines


def test_cards_of_shipped_files() -> None:
    cards = "".join(card.read_text(encoding="utf-8") for card in (ROOT / "weights").glob("*.md"))
    shipped = [entry for entry in builtin_entries().values() if entry.shipped]
    files = {file.name for entry in shipped for file in entry.files}
    assert files
    assert {name for name in files if f"`{name}`" not in cards} == set()


@pytest.mark.parametrize("page", NAMES_ON_PAGES)
def test_every_name_is_on_its_page(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    code_and_links = re.findall(r"`[^`]*`|\[[^]]*\]", text)
    missing = set(NAMES_ON_PAGES[page]) - set(re.findall(r"[\w-]+", " ".join(code_and_links)))
    assert missing == set(), f"docs/{page}.md does not name them"


@pytest.mark.parametrize("command", OPTIONS)
def test_every_flag_is_explained(command: str) -> None:
    page = PAGE_OF.get(command, command.split()[0])
    assert (ROOT / "docs" / f"{page}.md").is_file(), f"vidsum {command}: write docs/{page}.md"
    explained = _flags("".join((ROOT / "docs" / f"{name}.md").read_text() for name in (page, *SHARED_PAGES)))
    assert _flags_of(command) - explained == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_flags_in_pages_exist(page: Path) -> None:
    text = page.read_text().replace("\\\n", " ")
    lines = re.findall(r"vidsum ((?:train|evaluate|weights) \w+|\w+)([^`\n#|]*)", text)
    unknown = [
        f"{command} {flag}"
        for command, rest in lines
        if command in OPTIONS
        for flag in _flags(rest) - _flags_of(command) - {"--help", "--help-all"}
    ]
    assert unknown == []


def _flags_of(command: str) -> set[str]:
    return {flag for option in OPTIONS[command].values() for flag in option["flags"] if flag.startswith("--")}


def _flags(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_imports_of_examples(page: Path) -> None:
    for line in re.findall(r"^from vidsum[.\w]* import [\w, ]+$", page.read_text(), re.MULTILINE):
        exec(line)


def test_man_pages() -> None:
    for words, command in options.commands():
        page = MAN_PAGES[f"vidsum-{words.replace(' ', '-')}"].replace("\\-", "-")
        flags = [flag for leaf in leaves_of(command) for flag in options.flags_of(leaf)]
        assert [flag for flag in flags if flag not in page] == []
        assert f"vidsum {words}" in MAN_PAGES["vidsum"].replace("\\-", "-")


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
@pytest.mark.parametrize("name", MAN_PAGES)
def test_groff_has_no_complaints(name: str) -> None:
    command = ["groff", "-man", "-Kutf8", "-Tutf8", "-P-cbou", "-ww"]
    ran = subprocess.run(command, input=MAN_PAGES[name], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert "NAME" in ran.stdout


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs(default_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, formats = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for name in ("i3d", "efficientnet_lite0", "minilm"):
        real_weights(name)
    shutil.copy(ROOT / "docs" / "sample" / "big_buck_bunny.mp4", tmp_path / "film.mp4")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = formats.read(ROOT / "docs" / "tour.ipynb", as_version=4)
    stored = _texts(notebook)
    client.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    duration_s, summary, _, segments, result, is_same = _texts(notebook)
    assert (duration_s, is_same) == ("30.0", "True")
    assert summary.startswith("Summary(film.mp4: ")
    assert "30.0)" in segments  # the scores grow with time
    assert "2 queries" in result
    assert _texts(notebook) == stored, "run docs/tour.ipynb again, and save it"


def _texts(notebook: object) -> list[str]:
    """The last output of each cell that has one, as text."""
    cells = notebook.cells  # type: ignore[attr-defined]
    return [cell.outputs[-1].data["text/plain"] for cell in cells if cell.get("outputs")]
