"""Small extensions as patches: each touches as few files as docs/contributing.md promises, and works."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.mutants.__main__ import copy_project

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "extensions"


@dataclass(frozen=True)
class Extension:
    """A patch, the most files that it may touch, and what shows that it works."""

    name: str
    most_files: int  # besides the page that has its name
    tests: tuple[str, ...]
    program: str  # it uses the extension

    @property
    def patch(self) -> Path:
        return FOLDER / f"{self.name}.patch"


USE_FORMAT = """
from vidsum.results.cut_list import Cut
from vidsum.results.formats import FORMATS
text = FORMATS["m3u"].write([Cut(1.0, 2.5, "a dog", video="film.mp4")], 9.0, 0.0)
assert "start-time=1.000" in text and "film.mp4" in text, text
"""
USE_MASK = """
import torch
from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import MaskConfig
mask, _ = learned_masks(MaskConfig(kind="low-rank"), 8, 5, 2)
assert mask(torch.randn(2, 7, 8), 5).dense().shape == (2, 7, 5)
"""
USE_OPTION = """
from vidsum.commands.app import find_command
from vidsum.commands.options import leaves_of
from vidsum.pipelines.trim import _join_short_pauses
assert "max_pauses" in {leaf.name for leaf in leaves_of(find_command(("trim",)))}
assert _join_short_pauses([(0, 1), (2, 3), (5, 6)], 1) == [(0, 3), (5, 6)]
"""
USE_EVIDENCE = """
from pathlib import Path
import vidsum
from tests.media import make_video
from vidsum.video.chapter_marks import copy_with_chapters
film = make_video(Path("film.mp4"), n_frames=250).path
copy_with_chapters(vidsum.probe(film), "marked.mp4", [(0, 5, "a dog runs"), (5, 10, "baking a cake")], "")
result = vidsum.ground("marked.mp4", "cookies in the oven", evidence="title")
vidsum.write_json(result, "marked.json")
(answer,) = vidsum.load("marked.json").queries  # as the next run reads it
assert answer.moments[0].interval == (5, 10), answer
assert answer.moments[0].evidence == "title", answer
"""
EXTENSIONS = (
    Extension(
        name="export_format",
        most_files=3,
        tests=("tests/results/test_lists.py", "tests/test_docs.py::test_every_name_is_on_its_page"),
        program=USE_FORMAT,
    ),
    Extension(
        name="attention_mask",
        most_files=2,
        tests=(
            "tests/models/test_configs.py",
            "tests/models/test_whole_models.py::test_each_kind_runs_in_each_model_or_is_refused",
            "tests/models/test_whole_models.py::test_identity_mask_changes_nothing",
            "tests/models/test_whole_models.py::test_masks_of_a_model_learn",
            "tests/test_docs.py::test_every_name_is_on_its_page",
        ),
        program=USE_MASK,
    ),
    Extension(
        name="option",
        most_files=2,
        tests=("tests/commands/test_trim.py", "tests/test_docs.py::test_every_flag_is_explained"),
        program=USE_OPTION,
    ),
    Extension(
        name="evidence",
        most_files=3,
        tests=("tests/evidence", "tests/commands/test_ground_said.py", "tests/archive/test_sounds.py"),
        program=USE_EVIDENCE,
    ),
)
each = pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda extension: extension.name)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what git tracks."""
    try:
        return copy_project(tmp_path)
    except subprocess.CalledProcessError:
        pytest.skip("not a git checkout")


def run(tree: Path, *command: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree), "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    ran = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]


@each
def test_extension_touches_few_files(extension: Extension) -> None:
    files = set(re.findall(r"^\+\+\+ b/(.+)$", extension.patch.read_text("utf-8"), re.MULTILINE))
    pages = {file for file in files if file.startswith("docs/")}
    assert 0 < len(files - pages) <= extension.most_files
    assert len(pages) <= 1


@pytest.mark.deep
@each
def test_extension_works(extension: Extension, tree: Path) -> None:
    run(tree, "git", "apply", str(extension.patch))
    run(tree, sys.executable, "-m", "docs.schemas")  # results are checked by the stored schemas
    run(tree, sys.executable, "-c", extension.program)


@pytest.mark.deep
@each
def test_extension_passes_the_tests_of_its_neighbours(extension: Extension, tree: Path) -> None:
    run(tree, "git", "apply", str(extension.patch))
    run(tree, sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *extension.tests)


def test_each_patch_is_an_extension() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {extension.name for extension in EXTENSIONS}
