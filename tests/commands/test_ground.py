"""`vidsum ground`."""

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.special import logit

from tests.archive.made import film as write_film
from tests.commands.conftest import copies, csv_rows, files_here, files_in
from tests.program import Run, check_schema, read_valid
from tests.untrained import save_untrained
from vidsum.evidence.match_probability import MatchedQueries, Usual, WindowMatches
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.io.provenance import hash_file
from vidsum.models.configs import MaskConfig
from vidsum.pipelines.ground import MomentSearch
from vidsum.video.probe import probe

_JUDGED = MomentSearch._judged
ASK = ("--device", "cpu", "--query", "green")


pytestmark = pytest.mark.usefixtures("known_colours")


def test_ground_json_lines(run: Run, film: Path, tmp_path: Path) -> None:
    (other,) = copies(film, tmp_path / "other.mp4")
    ran = run("ground", film, other, "none.mp4", *ASK, "--json", code=1)
    assert [line["ok"] for line in ran.json_lines] == [True, True, False]
    for line in ran.json_lines:
        check_schema(line, "result")
    (query,) = ran.json_lines[0]["data"]["queries"]
    assert (query["moments"][0]["start_s"], query["moments"][0]["end_s"]) == (2, 4)
    assert ran.json_lines[0]["data"]["outputs"] == {"json": "film_moments.json"}
    assert "saliency" not in query
    assert files_here() == ["film_moments.json", "other_moments.json"]
    lines = run("ground", film, other, *ASK, "--json").json_lines
    assert ["do not rank videos" in " ".join(line["messages"]) for line in lines] == [True, False]
    assert run("ground", film, *ASK, "--json", "--overwrite", "--in", "picture").json["messages"] == []


@pytest.fixture
def likely(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """How likely the first query is present in each video, in the order of asking; others are at .9."""
    shares = {"film.mp4": 0.084, "other.mp4": 0.6}
    order = iter(shares)

    def match_windows(video: ClipEmbeddings, queries: MatchedQueries, usual: Usual) -> WindowMatches:
        present = np.array([shares[next(order)], *[0.9] * (len(queries.vectors) - 1)])
        in_windows = np.stack([present / 2, present], axis=1)
        return WindowMatches(logit(in_windows).astype(np.float32), np.array([3.0, 0.0]))

    monkeypatch.setattr("vidsum.evidence.picture.match_windows", match_windows)
    monkeypatch.setattr(MomentSearch, "_judged", _JUDGED)
    return shares


def test_ground_match_probability(run: Run, film: Path, likely: dict[str, float]) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1")
    head, green, red, _, doubt, _ = ran.out.splitlines()
    assert head.split() == ["query", "match", "rank", "start", "end", "seconds", "score"]
    assert green.split()[:5] == ["green", "no", "4", "%", "1"]
    assert red.split()[:5] == ["red", "yes", "90", "%", "1"]
    assert doubt == "'green': probably not in this video (8 %)"
    document = read_valid("film_moments.json", "moments")
    assert [item["present"] for item in document["queries"]] == pytest.approx([0.084, 0.9])
    assert [item["verdict"] for item in document["queries"]] == ["no", "yes"]
    assert [item["moments"][0]["present"] for item in document["queries"]] == pytest.approx([0.042, 0.9])


def test_no_match_is_certain(run: Run, film: Path, likely: dict[str, float]) -> None:
    likely["film.mp4"] = 0.9971
    ran = run("ground", film, *ASK, "-k", "1", "--min-present", "1")
    assert "'green': may be in this video (99 %, below --min-present: no moments)" in ran.out
    run("report", "film_moments.json")
    assert "match 99 %" in Path("report.html").read_text()


def test_report_links_clips_of_earlier_queries(run: Run, film: Path) -> None:
    run("ground", film, *ASK, "-k", "1", "--clips")
    run("ground", film, "--device", "cpu", "--query", "red", "-k", "1")
    run("report", "film_moments.json")
    assert 'class="clip" href="green_film_0m02s.mp4"' in Path("report.html").read_text()


def test_ground_clips_of_an_absent_query(run: Run, film: Path, likely: dict[str, float]) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1", "--clips", "--json")
    clips = ["green_film_0m02s.mp4", "red_film_0m00s.mp4"]
    assert ran.json["data"]["outputs"]["clips"] == clips, ran.err
    assert files_here() == ["film_moments.json", *clips]
    again = run("ground", film, *ASK, "--query", "red", "-k", "1", "--clips").out
    assert "unchanged" in again
    note = "'green': probably not in this video (8 %); clips saved (--min-present 0.1 skips them)"
    assert note in again.splitlines()


def test_ground_min_present(run: Run, film: Path, likely: dict[str, float]) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "--min-present", "0.89", "--plot", "--clips")
    assert "'green': probably not in this video (8 %, below --min-present: no moments)" in ran.out
    assert "'red': " not in ran.out
    document = read_valid("film_moments.json", "moments")
    assert [bool(item["moments"]) for item in document["queries"]] == [False, True]
    assert not [name for name in files_here() if name.startswith("green_")]
    assert Path("red_film_0m00s.mp4").is_file()
    run("ground", film, *ASK)  # so red is answered again
    queries = json.loads(Path("film_moments.json").read_text())["queries"]
    assert [(item["query"], bool(item["moments"])) for item in queries] == [("green", True), ("red", True)]


def test_ground_ranks_videos(run: Run, film: Path, likely: dict[str, float], tmp_path: Path) -> None:
    folder = tmp_path / "holiday"
    copies(film, *(folder / name for name in likely))
    (folder / "notes.txt").write_text("not a film")
    *_, title, head, best, worst = run("ground", folder, *ASK).out.splitlines()
    assert "best match first" in title
    assert head.split() == ["query", "match", "video"]
    assert best.split() == ["green", "60", "%", str(folder / "other.mp4")]
    assert worst.split() == ["8", "%", str(folder / "film.mp4")]
    # from the files of the first run
    assert run("ground", folder, *ASK).out.splitlines()[-2:] == [best, worst]
    skipped = run("ground", folder, *ASK, "--query", "red", "--skip-existing")
    assert skipped.out.splitlines()[-2:] == [best, worst]  # red was not looked for
    lines = run("ground", folder, *ASK, "--json").json_lines
    assert [line["data"]["queries"][0]["present"] for line in lines] == pytest.approx([*likely.values()])


def test_ground_table_and_document(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--saliency", "-o", "-")
    check_schema(ran.json, "moments")
    assert len(ran.json["queries"][0]["saliency"]) == len(ran.json["timestamps_s"]) == 20
    assert files_here() == []
    ran = run("ground", film, *ASK, "--query", "a yellow wall", "-k", "2")
    assert files_here() == ["film_moments.json"]
    head, first, *_ = ran.out.splitlines()
    assert head.split() == ["query", "rank", "start", "end", "seconds", "score"]
    assert first.split()[:5] == ["green", "1", "0:02.00", "0:04.00", "2.00"]
    assert "(model: similarity, space: vse)" in ran.out
    document = read_valid("film_moments.json", "moments")
    assert [item["query"] for item in document["queries"]] == ["green", "a yellow wall"]
    assert [len(item["moments"]) for item in document["queries"]] == [2, 2]


def test_ground_detr_checkpoint(run: Run, film: Path) -> None:
    # A checkpoint with the mask lam that reads colours, untrained
    reads, sizes = {"space": "vse", "clip_s": 0.5}, {"dim_video": 5, "dim_query": 3, "clips": 8, "words": 4}
    detr = save_untrained(Path("best.safetensors"), "qd-detr", reads, **sizes, mask=MaskConfig(kind="lam"))
    ask = ("ground", film, *ASK, "--query", "red or yellow or green or blue", "-k", "3", "--saliency", "-o")
    ran = run(*ask, "mine.json", "--model", detr, "--plot", "--clips")
    assert "(model: best.safetensors, space: vse)" in ran.out
    assert "'red or yellow or green or blue': only the first 4 tokens are read" in ran.err
    document = read_valid("mine.json", "moments")
    assert document["provenance"]["grounding"]["model_sha256"] == hash_file(detr)
    for item in document["queries"]:
        assert 1 <= len(item["moments"]) <= 3
        assert len(item["saliency"]) == len(document["timestamps_s"]) == 20
    assert cv2.imread("mine_moments.png").shape[2] == 3
    assert [name for name in files_here() if re.fullmatch(r"\w+_film_0m\d\ds(-\d)?\.mp4", name)]
    by_curve = run(*ask, "-", "--model", "similarity").json
    assert by_curve["queries"][0]["saliency"] != document["queries"][0]["saliency"]
    assert "unchanged" in run(*ask, "mine.json", "--model", detr, "--plot", "--clips").out


def test_ground_clips_paths(run: Run, film: Path) -> None:
    run("ground", film, "--clips", *ASK, "--query", "yellow", "-k", "1")
    assert files_here() == ["film_moments.json", "green_film_0m02s.mp4", "yellow_film_0m06s.mp4"]
    assert probe("yellow_film_0m06s.mp4").duration_s == pytest.approx(4, abs=0.1)
    ran = run("ground", *ASK, "-k", "1", "-o", "green.json", "--clips-dir", "parts", film, "--json")
    assert ran.json["data"]["outputs"]["clips"] == ["parts/green_film_0m02s.mp4"]
    assert Path("parts/green_film_0m02s.mp4").exists()
    run("ground", *ASK, "-k", "1", "-o", "{stem}_1.json", film, "--clips")
    assert Path("green_film_1_0m02s.mp4").exists()
    for folder in ("one", "two"):
        run("ground", film, *ASK, "--plot", "--clips", "-k", "1", "--output-dir", folder, "--no-cache")
    for name in ("film_moments.json", "film_moments.png", "green_film_0m02s.mp4"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name
    queries = [part for number in range(13) for part in ("--query", f"green {number}")]
    run("ground", film, "--plot", *queries, "-k", "1", error="first 12 of 13 queries")
    assert cv2.imread("film_moments.png").shape[2] == 3


def test_records_with_one_clip(run: Run, film: Path) -> None:
    """Two records list a clip: either may replace it, and it stays while one of them needs it."""
    first, second = (("ground", film, "-k", "1", "--clips", "-o", name) for name in ("a.json", "b.json"))
    run(*first, *ASK)
    run(*second, *ASK)
    clip = Path("green_film_0m02s.mp4")
    assert "unchanged" in run(*first, *ASK).out
    write_film(film, ("red", "blue", "blue", "green"))
    run(*second, *ASK)
    assert clip.exists()
    assert Path("green_film_0m06s.mp4").exists()
    run(*first, *ASK)
    assert not clip.exists()
    write_film(film, ("red", "green", "blue", "yellow"))
    clip.write_bytes(b"mine")
    run(*first, *ASK, code=1, error="was not written by vidsum, or edited since")
    assert clip.read_bytes() == b"mine"


@pytest.mark.parametrize("added", ["--plot", "--clips"])
def test_ground_keeps_curves(run: Run, film: Path, added: str) -> None:
    run("ground", film, *ASK, "--saliency")
    before = json.loads(Path("film_moments.json").read_text())
    run("ground", film, *ASK, added)
    after = json.loads(Path("film_moments.json").read_text())
    assert sorted(after.pop("outputs")) == [name for name in files_here() if name != "film_moments.json"]
    assert {**after, "digest": None} == {**before, "digest": None}  # the digest is of `outputs`, too


def test_ground_clips_spare_inputs(run: Run, film: Path) -> None:
    inputs = copies(film, "green_1_0m02s.mp4", "a.mp4", "x_a_1h02m03s-2.mp4")
    for arguments in (["green_1_0m02s.mp4", "-o", "{n}.json"], ["a.mp4", "x_a_1h02m03s-2.mp4"]):
        ran = run("ground", "--clips", *ASK, "--overwrite", *arguments, code=2 if "-o" in arguments else 1)
        assert "name of a clip" in ran.err
        assert all(path.read_bytes() == film.read_bytes() for path in inputs)
    assert not Path("a_moments.json").exists()
    more = ("-k", "1", "--overwrite")
    run("ground", "--clips-dir", "parts", *ASK, *more, "a.mp4", "x_a_1h02m03s-2.mp4")
    assert files_in("parts") == ["green_a_0m02s.mp4", "green_x_a_1h02m03s-2_0m02s.mp4"]


def test_ground_failed_export(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--export", "chapters", "--export", "csv", "--report", code=1)
    assert "YouTube wants 3 chapters" in ran.err
    assert "green" in ran.out
    displayed = [name for name in files_here() if not name.startswith(".")]
    assert displayed == ["film_moments.csv", "film_moments.html", "film_moments.json"]
    again = run("ground", film, *ASK, "--export", "chapters", "--json", code=1).json
    assert (again["ok"], again["data"]["exports"]) == (False, [])
    Path("queries.txt").write_text("green\n\U0001f436\nred\n", encoding="utf-16")
    ran = run("ground", film, "--device", "cpu", "--queries", "queries.txt", "--export", "csv", code=1)
    assert "line 2: holds no text" in ran.err
    assert "red" in ran.out
    assert len(json.loads(Path("film_moments.json").read_text())["queries"]) == 2
    Path("queries.txt").write_text("\U0001f436")
    run("ground", film, "--queries", "queries.txt", code=2)


def test_ground_sheet(run: Run, film: Path) -> None:
    ask = ("ground", film, *ASK, "--query", "red", "-k", "2", "--sheet")
    run(*ask)
    assert files_here() == ["film_moments.json", "film_moments_sheet.png"]
    sheet = cv2.imread("film_moments_sheet.png").astype(int)
    height, width, _ = sheet.shape
    assert width > height > 200
    strip = sheet[-70:, 28:-28]  # below the pictures: the whole video, its moments in colour
    is_moment = (np.ptp(strip, axis=2) > 80).any(axis=0)
    grounding = json.loads(Path("film_moments.json").read_text())
    times_s = (np.arange(len(is_moment)) + 0.5) / len(is_moment) * grounding["duration_s"]
    moments = [moment for query in grounding["queries"] for moment in query["moments"]]
    is_inside = np.any([(m["start_s"] <= times_s) & (times_s < m["end_s"]) for m in moments], axis=0)
    assert (is_moment == is_inside).mean() > 0.95
    assert "unchanged" in run(*ask).out


def test_clips_of_earlier_queries_stay(run: Run, film: Path) -> None:
    run("ground", film, *ASK, "-k", "1", "--clips-dir", "clips")
    run("ground", film, "--device", "cpu", "--query", "red", "-k", "2", "--clips-dir", "clips")
    assert [name.partition("_")[0] for name in files_in("clips")] == ["green", "red", "red"]
    run("ground", film, "--device", "cpu", "--query", "red", "-k", "1", "--clips-dir", "clips")
    assert [name.partition("_")[0] for name in files_in("clips")] == ["green", "red"]
    copies(film, "films/a.mp4", "films/b.mp4")
    ask = ("ground", "films", *ASK, "-k", "1")
    ran = run(*ask, "-o", "moments.csv")
    assert ran.out.splitlines()[-1] == "moments.csv: 2 rows, 2 videos"
    assert not Path("a_moments.json").exists()
    for name in ("a.mp4", "b.mp4"):
        assert f"films/{name} (model: similarity, space: vse)" in ran.out.splitlines()
    rows = [(row["Start"], row["End"], row["video"]) for row in csv_rows("moments.csv")]
    assert rows == [("2.0", "4.0", "films/a.mp4"), ("2.0", "4.0", "films/b.mp4")]
    again = run(*ask, "-o", "moments.csv", "--json")
    assert again.json_lines[-1]["data"] == {"output": "moments.csv", "rows": 2}
    other = run("ground", "films", "--device", "cpu", "--query", "red", "-o", "moments.csv")
    assert "moments.csv: " in other.out
    run("ground", "no.mp4", *ASK, "-o", "x.csv", code=3)
    assert not Path("x.csv").exists()
    run("ground", "films/a.mp4", "no.mp4", *ASK, "-k", "1", "-o", "part.csv", code=1)
    assert Path("part.csv").read_text().count("\n") == 2
