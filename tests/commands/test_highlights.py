"""`vidsum highlights`, and `--preview` of the commands that find something to cut."""

import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from PIL import Image

from tests.commands.conftest import files_here
from tests.program import Run, check_schema

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("loads")


def test_nothing_stands_out(run: Run, film: Path) -> None:
    outputs = ("--clips", "--sheet", "--plot", "--preview", "webp", "--report", "--export", "csv")
    ran = run("highlights", film, *CPU, *outputs)
    assert "nothing stands out" in ran.err
    assert json.loads(Path("film_highlights.json").read_text())["moments"] == []
    assert [name for name in files_here() if name.endswith((".mp4", "_previews"))] == []
    ran = run("highlights", film, *CPU, "--export", "otio", "--export", "csv", "--overwrite", "--json")
    assert ran.json["data"]["exports"] == ["film_highlights.csv"]
    assert "film_highlights.otio: not written: the result has no moments" in ran.json["messages"]


@pytest.mark.usefixtures("low_level")
def test_highlights_table_and_document(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "--top-k", "2")
    assert files_here() == ["film_highlights.json"]
    head, *rows, message = ran.out.splitlines()
    assert head.split() == ["rank", "start", "end", "seconds", "score"]
    assert message == "film_highlights.json"
    document = json.loads(Path("film_highlights.json").read_text())
    check_schema(document, "highlights")
    assert 1 <= len(document["moments"]) == len(rows) <= 2
    assert document["saliency"]["timestamps_s"] == [0, 2, 4, 6, 8]


def test_highlights_to_stdout(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "-o", "-")
    check_schema(ran.json, "highlights")
    assert files_here() == []


@pytest.mark.usefixtures("low_level")
def test_highlights_plot_and_clips(run: Run, film: Path) -> None:
    ran = run("highlights", film, "--plot", "--clips", *CPU, "-k", "1", "--json")
    assert files_here() == ["film_highlights.json", "film_highlights.png", "highlight_film_0m06s.mp4"]
    assert ran.json["data"]["outputs"] == {
        "json": "film_highlights.json",
        "plot": "film_highlights.png",
        "clips": ["highlight_film_0m06s.mp4"],
    }
    (moment,) = ran.json["data"]["moments"]
    with av.open("highlight_film_0m06s.mp4") as container:
        assert float(container.duration or 0) / 1e6 == pytest.approx(
            moment["end_s"] - moment["start_s"], abs=0.1
        )
    assert cv2.imread("film_highlights.png").shape[2] == 3
    run("highlights", *CPU, "-k", "1", "-o", "best.json", "--clips-dir", "parts", film)
    assert Path("parts/highlight_film_0m06s.mp4").exists()


def test_highlights_clips_spare_inputs(run: Run, film: Path) -> None:
    Path("highlight_film_0m06s.mp4").write_bytes(film.read_bytes())
    ran = run("highlights", film, "highlight_film_0m06s.mp4", *CPU, "--clips", "--overwrite", code=1)
    assert "has the name of a clip" in ran.err


@pytest.mark.usefixtures("low_level")
def test_highlights_vertical_clips(run: Run, film: Path) -> None:
    requests = ("highlights", film, *CPU, "-k", "1", "--clips", "--vertical", "--pad", "1s")
    run(*requests)
    with av.open("highlight_film_0m06s.mp4") as container:
        stream = container.streams.video[0]
        assert stream.width / stream.height == pytest.approx(9 / 16, abs=0.02)
    assert "unchanged" in run(*requests).out
    assert "unchanged" not in run(*requests[:-2]).out


COLOURS = ((200, 30, 30), (30, 200, 30), (30, 30, 200), (180, 180, 40))
"""Colours of the film, two seconds each, the last to its end."""


@pytest.mark.usefixtures("low_level")
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
            displayed = np.asarray(image.convert("RGB")).mean(axis=(0, 1))
        assert displayed == pytest.approx(COLOURS[min(3, int(cut["start_s"] / 2 + 1e-6))], abs=12)


def test_each_shot_has_a_preview(run: Run, film: Path) -> None:
    ran = run("shots", film, "--preview", "gif", "-o", "cut.json")
    n_shots = len(json.loads(Path("cut.json").read_text())["shots"])
    assert ran.out.splitlines()[-1] == f"{n_shots} previews in cut_previews"
    assert len(list(Path("cut_previews").iterdir())) == n_shots > 1


def test_previews_overwrite(run: Run, film: Path) -> None:
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
