"""`vidsum highlights`."""

import json
from pathlib import Path

import av
import cv2
import pytest

from tests.commands.conftest import files_here
from tests.program import Run, check_schema

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("loads")


def test_nothing_stands_out(run: Run, film: Path) -> None:
    outputs = ("--clips", "--sheet", "--plot", "--report", "--export", "csv")
    ran = run("highlights", film, *CPU, *outputs)
    assert "nothing stands out" in ran.err
    assert json.loads(Path("film_highlights.json").read_text())["moments"] == []
    assert [name for name in files_here() if name.endswith(".mp4")] == []
    ran = run("highlights", film, *CPU, "--export", "otio", "--export", "csv", "--overwrite", "--json")
    assert ran.json["data"]["exports"] == ["film_highlights.csv"]
    assert "film_highlights.otio: not written: the result has no moments" in ran.json["messages"]
    Path("highlight_film_0m06s.mp4").write_bytes(film.read_bytes())
    ran = run("highlights", film, "highlight_film_0m06s.mp4", *CPU, "--clips", "--overwrite", code=1)
    assert "has the name of a clip" in ran.err


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
    requests = ("highlights", film, *CPU, "-k", "1", "--clips", "--vertical", "--pad", "1s")
    run(*requests)
    with av.open("highlight_film_0m06s.mp4") as container:
        stream = container.streams.video[0]
        assert stream.width / stream.height == pytest.approx(9 / 16, abs=0.02)
    assert "unchanged" in run(*requests).out
    assert "unchanged" not in run(*requests[:-2]).out
