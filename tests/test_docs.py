"""The documentation is true: its Python runs, its links lead somewhere."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import real_weights

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("weights/**/*.md")])
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)


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
    exec(compile(block, "docs/python.md", "exec"), {})


def test_the_page_has_examples() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []
