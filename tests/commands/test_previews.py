"""`--preview` of the commands that find something to cut."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.program import Run

pytestmark = pytest.mark.usefixtures("loads")

COLOURS = ((200, 30, 30), (30, 200, 30), (30, 30, 200), (180, 180, 40))
"""Of the film, two seconds each, the last to its end."""


@pytest.mark.parametrize(
    ("command", "kind"), [(["summarize", "--budget", "60%"], "summary"), (["highlights"], "highlights")]
)
def test_previews_of_segments(run: Run, film: Path, command: list[str], kind: str) -> None:
    ran = run(*command, film, "--device", "cpu", "--preview", "webp", "--json")
    folder = Path(f"film_{kind}_previews")
    assert ran.json["data"]["exports"] == [str(folder)]
    cuts = ran.json["data"]["segments" if kind == "summary" else "moments"]
    assert sorted(path.name for path in folder.iterdir()) == [f"{n}.webp" for n in range(1, len(cuts) + 1)]
    for number, cut in enumerate(cuts, 1):
        with Image.open(folder / f"{number}.webp") as image:
            shown = np.asarray(image.convert("RGB")).mean(axis=(0, 1))
        assert shown == pytest.approx(COLOURS[min(3, int(cut["start_s"] / 2 + 1e-6))], abs=12)


def test_each_shot_has_a_preview(run: Run, film: Path) -> None:
    ran = run("shots", film, "--preview", "gif", "-o", "cut.json")
    n_shots = len(json.loads(Path("cut.json").read_text())["shots"])
    assert ran.out.splitlines()[-1] == f"{n_shots} previews in cut_previews"
    assert len(list(Path("cut_previews").iterdir())) == n_shots > 1


def test_previews_are_up_to_date_made_again_or_left_alone(run: Run, film: Path) -> None:
    ask = ("summarize", film, "--budget", "60%", "--preview", "gif")
    assert "in film_summary_previews\n" in run(*ask).out
    first = Path("film_summary_previews/1.gif")
    before = first.read_bytes()
    assert run(*ask).out.endswith("in film_summary_previews (unchanged)\n")
    first.unlink()
    assert run(*ask).out.endswith("in film_summary_previews\n")
    assert first.read_bytes() == before
    first.write_bytes(b"mine")
    run(*ask, code=1, error="1.gif: already exists")
    assert first.read_bytes() == b"mine"
    run(*ask, "--overwrite")
    assert first.read_bytes() == before


def test_dry_run_writes_no_previews(run: Run, film: Path) -> None:
    run("summarize", film, "--dry-run", "--preview", "gif")
    assert list(Path().iterdir()) == []
