"""The notebook of the documentation runs from top to bottom, and says what it says there."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import real_weights

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "tour.ipynb"


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
    notebook = formats.read(NOTEBOOK, as_version=4)
    client.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    duration_s, summary, _, segments, found, is_same = _texts(notebook)
    assert (duration_s, is_same) == ("30.0", "True")
    assert summary.startswith("Summary(film.mp4: ")
    assert "30.0)" in segments  # the scores grow with time
    assert "2 queries" in found


def _texts(notebook: object) -> list[str]:
    """The last output of each cell that has one, as text."""
    cells = notebook.cells  # type: ignore[attr-defined]
    return [cell.outputs[-1].data["text/plain"] for cell in cells if cell.get("outputs")]
