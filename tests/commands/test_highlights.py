"""`vidsum highlights`, and `vidsum summarize --model highlights`."""

import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests import media
from tests.commands.conftest import Run, check_schema, files_here

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("loads")


def test_the_highlights_are_printed_and_written(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "--top-k", "2")
    assert ran.code == 0, ran.err
    assert files_here() == ["film_highlights.json"]
    head, *rows, told = ran.out.splitlines()
    assert head.split() == ["rank", "start", "end", "seconds", "score"]
    assert told == "film_highlights.json"
    document = json.loads(Path("film_highlights.json").read_text())
    check_schema(document, "highlights")
    assert 1 <= len(document["moments"]) == len(rows) <= 2
    assert document["saliency"]["timestamps_s"] == [0, 2, 4, 6, 8]


def test_json_has_one_object_a_video_and_a_bad_one_stops_no_other(
    run: Run, film: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(film.read_bytes())
    Path("broken.mp4").write_bytes(film.read_bytes()[:200])
    ran = run("highlights", film, "none.mp4", "broken.mp4", other, *CPU, "--json")
    assert ran.code == 1
    assert [line["ok"] for line in ran.json_lines] == [True, False, False, True]
    assert [line["exit_code"] for line in ran.json_lines] == [0, 3, 3, 0]
    for line in ran.json_lines:
        check_schema(line, "result")
    assert ran.json_lines[0]["data"]["outputs"] == {"json": "film_highlights.json"}
    assert files_here() == ["broken.mp4", "film_highlights.json", "other_highlights.json"]


def test_a_dash_writes_the_document_to_stdout_and_nothing_else(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "-o", "-")
    check_schema(ran.json, "highlights")
    assert files_here() == []
    for also in ("--plot", "--clips"):
        refused = run("highlights", film, *CPU, also, "-o", "-")
        assert (refused.code, files_here()) == (2, [])


def test_a_plot_and_clips_are_written_beside_the_json_or_into_a_folder(run: Run, film: Path) -> None:
    ran = run("highlights", film, "--plot", "--clips", *CPU, "-k", "1", "--json")
    assert ran.code == 0, ran.err
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
    assert run("highlights", *CPU, "-k", "1", "-o", "best.json", "--clips-dir", "parts", film).code == 0
    assert Path("parts/highlight_best_0m06s.mp4").exists()


def test_up_to_date_and_overwrite(run: Run, film: Path) -> None:
    assert run("highlights", film, *CPU, "--clips", "-k", "1").code == 0
    again = run("highlights", film, *CPU, "--clips", "-k", "1")
    assert (again.code, "unchanged" in again.out) == (0, True)
    Path("highlight_film_0m06s.mp4").unlink()
    assert run("highlights", film, *CPU, "--clips", "-k", "1").code == 0
    assert Path("highlight_film_0m06s.mp4").exists()
    assert run("highlights", film, *CPU, "-k", "2").code == 0


def test_a_clip_that_is_another_is_not_replaced(run: Run, film: Path) -> None:
    Path("highlight_film_0m06s.mp4").write_bytes(film.read_bytes())
    ran = run("highlights", film, *CPU, "--clips", "-k", "1")
    assert ran.code == 1
    assert "highlight_film_0m06s.mp4: already exists" in ran.err
    assert Path("highlight_film_0m06s.mp4").read_bytes() == film.read_bytes()


def test_a_video_with_the_name_of_a_clip_is_not_written_over(run: Run, film: Path) -> None:
    Path("highlight_film_0m06s.mp4").write_bytes(film.read_bytes())
    ran = run("highlights", film, "highlight_film_0m06s.mp4", *CPU, "--clips", "--overwrite")
    assert ran.code == 1
    assert "has the name of a clip" in ran.err


def test_clips_are_cropped_and_kept_apart_from_others(run: Run, film: Path) -> None:
    asked = ("highlights", film, *CPU, "-k", "1", "--clips", "--vertical", "--pad", "1s")
    assert run(*asked).code == 0
    with av.open("highlight_film_0m06s.mp4") as container:
        stream = container.streams.video[0]
        assert stream.width / stream.height == pytest.approx(9 / 16, abs=0.02)
    assert "unchanged" in run(*asked).out
    assert "unchanged" not in run(*asked[:-2]).out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--vertical"], 2, "--vertical needs --clips"),
        (["--top-k", "0"], 2, "top-k"),
        (["-o", "x.txt"], 2, "-o x.json"),
        (["--extractor", "nonsense"], 2, "extractor"),
        (["--device", "nonsense"], 2, "device"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    run: Run, film: Path, arguments: list[str], code: int, said: str
) -> None:
    ran = run("highlights", film, *arguments)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert files_here() == []


@pytest.fixture
def moving_film(tmp_path: Path) -> Path:
    """Ten seconds of a bar that grows, in another colour every two seconds."""

    def paint(number: int, width: int, height: int) -> np.ndarray:
        picture = np.full((height, width, 3), 20, np.uint8)
        picture[:, : 1 + width * (number % 50) // 50] = (50 * (number // 50), 200, 90)
        return picture

    path = tmp_path / "moving.mp4"
    media.make_video(path, n_frames=250, fps=25, paint=paint)
    return path


def test_a_feature_file_is_refused_here_and_read_by_summarize(run: Run, moving_film: Path) -> None:
    film = moving_film
    assert run("extract", film, *CPU, "-o", "film.npz").code == 0
    refused = run("highlights", "film.npz")
    assert (refused.code, "give the video" in refused.err) == (2, True)
    ran = run("summarize", "film.npz", "--model", "highlights", "-o", "summary.json")
    assert ran.code == 0, ran.err
    from_features = json.loads(Path("summary.json").read_text())
    check_schema(from_features, "summary")
    assert from_features["model"] == "highlights"
    of_video = run("summarize", film, *CPU, "--model", "highlights", "-o", "-").json
    assert of_video["importance"] == from_features["importance"]
    saliency = run("highlights", film, *CPU, "-o", "-").json["saliency"]["scores"]
    scores = run("summarize", film, *CPU, "-o", "-").json["importance"]["scores"]  # by the same model: auto
    means = [sum(scores[first : first + 4]) / 4 for first in range(0, 20, 4)]
    assert saliency == pytest.approx(means, abs=2e-6)
