"""`vidsum ground`."""

import csv
import json
import re
from dataclasses import asdict
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
import torch

from tests.commands.conftest import Run, check_schema, files_here
from tests.grounding.colours import use_colours
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.io.provenance import hash_file
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr_models import build
from vidsum.results.feature_files import write_features
from vidsum.results.features import Features
from vidsum.types import FloatArray

ASK = ("--device", "cpu", "--query", "green")


@pytest.fixture(autouse=True)
def colours(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are colours, and no real network is loaded."""
    use_colours(monkeypatch)


def test_the_moments_are_printed_and_written(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--query", "a yellow wall", "-k", "2")
    assert ran.code == 0, ran.err
    assert files_here() == ["film_moments.json"]
    head, first, *_ = ran.out.splitlines()
    assert head.split() == ["query", "rank", "start", "end", "seconds", "score"]
    assert first.split()[:5] == ["green", "1", "0:02.00", "0:04.00", "2.00"]
    assert "(model: similarity, space: vse)" in ran.out
    document = json.loads(Path("film_moments.json").read_text())
    check_schema(document, "moments")
    assert [one["query"] for one in document["queries"]] == ["green", "a yellow wall"]
    assert [len(one["moments"]) for one in document["queries"]] == [2, 2]


def test_json_has_one_object_a_video(run: Run, film: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(film.read_bytes())
    ran = run("ground", film, other, "none.mp4", *ASK, "--json")
    assert ran.code == 1
    assert [line["ok"] for line in ran.json_lines] == [True, True, False]
    for line in ran.json_lines:
        check_schema(line, "result")
    (query,) = ran.json_lines[0]["data"]["queries"]
    assert (query["moments"][0]["start_s"], query["moments"][0]["end_s"]) == (2, 4)
    assert ran.json_lines[0]["data"]["outputs"] == {"json": "film_moments.json"}
    assert "saliency" not in query
    assert files_here() == ["film_moments.json", "other_moments.json"]


def test_a_batch_says_once_that_scores_do_not_rank_videos(run: Run, film: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(film.read_bytes())
    lines = run("ground", film, other, *ASK, "--json").json_lines
    assert ["do not rank videos" in " ".join(line["messages"]) for line in lines] == [True, False]
    assert run("ground", film, *ASK, "--json", "--overwrite").json["messages"] == []


@pytest.fixture
def likely(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """How likely the first query is present in each video, in the order of asking; others are at .9."""
    shares = {"film.mp4": 0.124, "other.mp4": 0.6}
    order = iter(shares)

    def probabilities(
        space: str, video: ClipEmbeddings, queries: FloatArray, without: FloatArray
    ) -> FloatArray:
        return np.array([shares[next(order)], *[0.9] * (len(queries) - 1)], np.float32)

    monkeypatch.setattr("vidsum.grounding.presence.probabilities", probabilities)
    return shares


def test_how_likely_a_query_is_present_is_written_and_said(
    run: Run, film: Path, likely: dict[str, float]
) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1")
    head, green, red, doubt, _ = ran.out.splitlines()
    assert head.split() == ["query", "match", "rank", "start", "end", "seconds", "score"]
    assert [line.split()[:4] for line in (green, red)] == [["green", "12", "%", "1"], ["red", "90", "%", "1"]]
    assert doubt == "'green': weak match (12 %), probably not in this video"
    document = json.loads(Path("film_moments.json").read_text())
    check_schema(document, "moments")
    assert [one["present"] for one in document["queries"]] == pytest.approx([0.124, 0.9])


def test_no_match_is_certain(run: Run, film: Path, likely: dict[str, float]) -> None:
    likely["film.mp4"] = 0.9971
    ran = run("ground", film, *ASK, "-k", "1", "--min-present", "1")
    assert "'green': matches this video with 99 % probability, below --min-present: no moments" in ran.out


def test_a_query_that_is_probably_absent_gets_no_clips(
    run: Run, film: Path, likely: dict[str, float]
) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1", "--clips", "--json")
    assert ran.json["data"]["outputs"]["clips"] == ["red_film_0m00s.mp4"], ran.err
    assert files_here() == ["film_moments.json", "red_film_0m00s.mp4"]
    assert "unchanged" in run("ground", film, *ASK, "--query", "red", "-k", "1", "--clips").out


def test_clips_that_are_left_out_are_told(run: Run, film: Path, likely: dict[str, float]) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1", "--clips")
    assert "'green': weak match (12 %), probably not in this video; no clips saved" in ran.out.splitlines()


def test_a_query_that_is_not_present_enough_has_no_moments(
    run: Run, film: Path, likely: dict[str, float]
) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "--min-present", "0.89", "--plot", "--clips")
    assert ran.code == 0, ran.err
    assert (
        "'green': weak match (12 %, below --min-present: no moments), probably not in this video" in ran.out
    )
    assert "'red': " not in ran.out
    document = json.loads(Path("film_moments.json").read_text())
    check_schema(document, "moments")
    assert [bool(one["moments"]) for one in document["queries"]] == [False, True]
    assert not [name for name in files_here() if name.startswith("green_")]
    assert Path("red_film_0m00s.mp4").is_file()
    assert "of other settings" in run("ground", film, *ASK, "--query", "red").out


def test_the_videos_of_a_folder_are_ranked_by_how_likely_they_show_the_query(
    run: Run, film: Path, likely: dict[str, float], tmp_path: Path
) -> None:
    folder = tmp_path / "holiday"
    folder.mkdir()
    for name in likely:
        (folder / name).write_bytes(film.read_bytes())
    (folder / "notes.txt").write_text("not a film")
    *_, title, head, best, worst = run("ground", folder, *ASK).out.splitlines()
    assert "best match first" in title
    assert head.split() == ["query", "match", "video"]
    assert best.split() == ["green", "60", "%", str(folder / "other.mp4")]
    assert worst.split() == ["12", "%", str(folder / "film.mp4")]
    again = run("ground", folder, *ASK)  # from the files of the first run
    assert again.out.splitlines()[-2:] == [best, worst]
    assert "several videos" not in again.err
    skipped = run("ground", folder, *ASK, "--query", "red", "--skip-existing")
    assert skipped.out.splitlines()[-2:] == [best, worst]  # red was not looked for
    lines = run("ground", folder, *ASK, "--json").json_lines
    assert [line["data"]["queries"][0]["present"] for line in lines] == pytest.approx([*likely.values()])


def test_a_folder_without_videos_is_reported(run: Run, film: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run("ground", tmp_path / "empty", *ASK)
    assert (ran.code, "is a folder" in ran.err) == (3, True)


def test_the_space_clip_does_not_tell_what_is_present(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--space", "clip", "--min-present", "0.5")
    assert (ran.code, "VIDSUM_GROUND_SPACE=vse" in ran.err) == (2, True)
    ran = run("ground", film, *ASK, "--space", "clip")
    head, *_, last = ran.out.splitlines()
    assert "match" not in head.split()
    assert "space: clip, which gives no match probability" in last
    (query,) = json.loads(Path("film_moments.json").read_text())["queries"]
    assert query["present"] is None


def test_a_terminal_is_told_once_how_to_get_clip(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*arguments: str) -> bool:
        return "vidsum weights pull clip (354 MB)" in run("ground", film, *ASK, "--overwrite", *arguments).err

    assert not told()  # a pipe
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert not any(told(*quiet) for quiet in (("--quiet",), ("--json",), ("--space", "vse")))
    assert [told(), told()] == [True, False]


def test_a_dash_writes_the_document_to_stdout_and_nothing_else(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--saliency", "-o", "-")
    check_schema(ran.json, "moments")
    assert len(ran.json["queries"][0]["saliency"]) == len(ran.json["timestamps_s"]) == 20
    assert files_here() == []
    for also in ("--plot", "--clips"):
        refused = run("ground", film, *ASK, also, "-o", "-")
        assert (refused.code, files_here()) == (2, [])


def test_a_query_without_text_does_not_stop_the_others(run: Run, film: Path) -> None:
    Path("queries.txt").write_text("green\n\U0001f436\nred\n", encoding="utf-16")
    ran = run("ground", film, "--device", "cpu", "--queries", "queries.txt", "--export", "csv")
    assert (ran.code, "line 2: holds no text" in ran.err, "red" in ran.out) == (1, True, True)
    assert len(json.loads(Path("film_moments.json").read_text())["queries"]) == 2
    Path("queries.txt").write_text("\U0001f436")
    assert run("ground", film, "--queries", "queries.txt").code == 2


def test_queries_of_a_file_come_after_those_given(run: Run, film: Path) -> None:
    Path("queries.txt").write_text("red\n\nblue\n")
    ran = run("ground", film, *ASK, "--queries", "queries.txt", "-o", "-")
    assert [one["query"] for one in ran.json["queries"]] == ["green", "red", "blue"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "no query"),
        (["--query", ""], 2, "holds no text"),
        (["--query", "?!"], 2, "holds no text"),
        (["--queries", "none.txt"], 3, "no such file"),
        (["--queries", "empty.txt"], 3, "holds no query"),
        (["--query", "red", "--top-k", "0"], 2, "top-k"),
        (["--query", "red", "--model", "nonsense"], 2, "unknown model"),
        (["--query", "red", "--model", "none.safetensors"], 3, "no such file"),
        (["--query", "red", "--model", "mrnet-activitynet"], 2, "published features, not videos"),
        (["--query", "red", "--model", "mrnet-charades"], 2, "published features, not videos"),
        (["--query", "red", "--model", "."], 2, "unknown model '.'"),
        (["--query", "red", "--model", "empty.txt"], 2, "empty.txt is not a checkpoint of vidsum"),
        (
            ["--query", "red", "--model", "moment-detr", "--mask", "lam"],
            4,
            "no checkpoint of moment-detr-lam",
        ),
        (["--query", "red", "--model", "qd-detr-qvhighlights"], 4, "qd-detr-qvhighlights"),
        (["--query", "red", "--mask", "nonsense"], 2, "mask"),
        (["--query", "red", "--mask", "lam"], 2, "only DETR models have a mask, not auto"),
        (["--query", "red", "--space", "nonsense"], 2, "space"),
        (["--query", "red", "-o", "x.txt"], 2, "-o x.json"),
        (["--query", "red", "--snap", "always"], 2, "snap"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    run: Run, film: Path, arguments: list[str], code: int, said: str
) -> None:
    Path("empty.txt").touch()
    ran = run("ground", film, *arguments)
    assert ran.code == code, ran.err
    assert said in ran.err
    assert files_here() == ["empty.txt"]


@pytest.fixture
def detr() -> Path:
    """A checkpoint with the mask lam that reads colours, untrained."""
    mask = MaskConfig(kind="lam")
    config = DETRConfig(dim_video=5, dim_query=3, clips=8, words=4, d=16, heads=2, d_ff=16, mask=mask)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        tensors = build("qd-detr", config).state_dict()
    path = Path("best.safetensors")
    save_trained(path, Trained("qd-detr", asdict(config), {"space": "vse", "clip_s": 0.5}, {}, tensors))
    return path


def test_a_detr_checkpoint_gives_moments_and_a_saliency_of_its_own(run: Run, film: Path, detr: Path) -> None:
    ask = ("ground", film, *ASK, "--query", "red or yellow or green or blue", "-k", "3", "--saliency", "-o")
    ran = run(*ask, "mine.json", "--model", detr, "--plot", "--clips")
    assert ran.code == 0, ran.err
    assert "(model: best.safetensors, space: vse)" in ran.out
    assert "'red or yellow or green or blue': only the first 4 tokens are read" in ran.err
    document = json.loads(Path("mine.json").read_text())
    check_schema(document, "moments")
    assert document["provenance"]["grounding"]["model_sha256"] == hash_file(detr)
    for one in document["queries"]:
        assert 1 <= len(one["moments"]) <= 3
        assert len(one["saliency"]) == len(document["timestamps_s"]) == 20
    assert cv2.imread("mine_moments.png").shape[2] == 3
    assert [name for name in files_here() if re.fullmatch(r"\w+_mine_0m\d\ds(-\d)?\.mp4", name)]
    by_curve = run(*ask, "-", "--model", "similarity").json
    assert by_curve["queries"][0]["saliency"] != document["queries"][0]["saliency"]
    assert "mask" not in by_curve["provenance"]["grounding"]
    # a mask that the file has changes nothing
    assert "unchanged" in run(*ask, "mine.json", "--model", detr, "--plot", "--clips", "--mask", "lam").out


def test_a_kind_of_plot_is_refused_with_its_replacement(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--plot", "weights")
    assert (ran.code, "vidsum evaluate attention VIDEO --query TEXT --kind weights" in ran.err) == (2, True)


def test_a_checkpoint_with_another_mask_is_refused(run: Run, film: Path, detr: Path) -> None:
    ran = run("ground", film, *ASK, "--model", detr, "--mask", "stamp")
    assert ran.code == 2
    assert "best.safetensors has the mask lam, not stamp" in ran.err
    assert files_here() == ["best.safetensors"]


def test_a_feature_file_is_refused(run: Run) -> None:
    write_features(Features.from_array(np.eye(8), extractor="googlenet"), "film.npz")
    ran = run("ground", "film.npz", *ASK)
    assert ran.code == 2
    assert "give the video" in ran.err


def test_other_languages_and_control_characters_are_warned_about(run: Run, film: Path) -> None:
    ran = run("ground", film, "--query", "une maison green dans la ville", "--query", "red\x07", "-k", "1")
    assert ran.code == 0
    assert "probably not English" in ran.err
    assert "control characters" in ran.err
    assert "\x07" not in ran.out + ran.err


def test_clips_are_written_beside_the_json_or_into_a_folder(run: Run, film: Path) -> None:
    assert run("ground", film, "--clips", *ASK, "--query", "yellow", "-k", "1").code == 0
    assert files_here() == ["film_moments.json", "green_film_0m02s.mp4", "yellow_film_0m06s.mp4"]
    with av.open("yellow_film_0m06s.mp4") as container:
        assert float(container.duration or 0) / 1e6 == pytest.approx(4, abs=0.1)
    ran = run("ground", *ASK, "-k", "1", "-o", "green.json", "--clips-dir", "parts", film, "--json")
    assert ran.json["data"]["outputs"]["clips"] == ["parts/green_green_0m02s.mp4"]
    assert Path("parts/green_green_0m02s.mp4").exists()
    assert run("ground", *ASK, "-k", "1", "-o", "before.json", film, "--clips").code == 0
    assert Path("green_before_0m02s.mp4").exists()


def test_padded_clips_are_longer_than_their_moments(run: Run, film: Path) -> None:
    ask = ("ground", film, *ASK, "-k", "1", "--clips")
    ran = run(*ask, "--pad", "1.5s")
    assert ran.code == 0, ran.err
    (moment,) = json.loads(Path("film_moments.json").read_text())["queries"][0]["moments"]
    assert (moment["start_s"], moment["end_s"]) == (2, 4)
    with av.open("green_film_0m02s.mp4") as container:
        assert float(container.duration or 0) / 1e6 == pytest.approx(5, abs=0.1)
    assert "unchanged" in run(*ask, "--pad", "1.5").out
    for other in ([], ["--pad", "2"]):
        assert "unchanged" not in run(*ask, *other).out


@pytest.mark.parametrize(
    ("pad", "fault"),
    [
        (["--clips", "--pad=-1"], "not a time: '-1'"),
        (["--clips", "--pad=nan"], "not a time"),
        (["--pad", "2"], "--pad"),
    ],
)
def test_padding_that_makes_no_sense_is_refused(run: Run, film: Path, pad: list[str], fault: str) -> None:
    ran = run("ground", film, *ASK, *pad)
    assert (ran.code, fault in ran.err, "Traceback" in ran.err) == (2, True, False)
    assert files_here() == []


def test_previews_have_the_numbers_of_query_and_rank(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--query", "yellow", "-k", "1", "--preview", "mp4")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "2 previews in film_moments_previews")
    for name, colour in (("1_1.mp4", (30, 200, 30)), ("2_1.mp4", (180, 180, 40))):
        with av.open(f"film_moments_previews/{name}") as container:
            first = next(container.decode(video=0)).to_ndarray(format="rgb24")
        assert first.mean(axis=(0, 1)) == pytest.approx(colour, abs=12)


def test_a_plot_and_its_limit(run: Run, film: Path) -> None:
    queries = [part for number in range(13) for part in ("--query", f"green {number}")]
    ran = run("ground", film, "--plot", *queries, "-k", "1")
    assert ran.code == 0
    assert "first 12 of 13 queries" in ran.err
    assert cv2.imread("film_moments.png").shape[2] == 3


def test_up_to_date_and_overwrite(run: Run, film: Path) -> None:
    assert run("ground", film, *ASK).code == 0
    again = run("ground", film, *ASK)
    assert again.code == 0
    assert "unchanged" in again.out
    assert run("ground", film, *ASK, "--query", "red", "--overwrite").code == 0
    assert "unchanged" not in run("ground", film, *ASK, "--query", "red", "--saliency").out


@pytest.mark.parametrize("added", ["--plot", "--clips"])
def test_curves_are_not_lost_where_another_file_is_added(run: Run, film: Path, added: str) -> None:
    assert run("ground", film, *ASK, "--saliency").code == 0
    before = json.loads(Path("film_moments.json").read_text())
    assert run("ground", film, *ASK, added).code == 0
    after = json.loads(Path("film_moments.json").read_text())
    assert sorted(after.pop("outputs")) == [name for name in files_here() if name != "film_moments.json"]
    assert after == before


def test_clips_that_are_missing_are_made_again_and_others_left_alone(run: Run, film: Path) -> None:
    ask = ("ground", film, *ASK, "-k", "1", "--clips-dir", "parts")
    assert run(*ask).code == 0
    clip = Path("parts/green_film_0m02s.mp4")
    before = clip.read_bytes()
    assert "unchanged" in run(*ask).out
    clip.unlink()
    assert run(*ask).code == 0
    assert clip.read_bytes() == before
    Path("film_moments.json").unlink()
    clip.write_bytes(b"something else")
    refused = run(*ask)
    assert (refused.code, clip.read_bytes()) == (1, b"something else")
    assert "--overwrite" in refused.err
    assert not Path("film_moments.json").exists()


def test_two_runs_give_the_same_bytes(run: Run, film: Path) -> None:
    for folder in ("one", "two"):
        ran = run("ground", film, *ASK, "--plot", "--clips", "-k", "1", "--output-dir", folder, "--no-cache")
        assert ran.code == 0, ran.err
    for name in ("film_moments.json", "film_moments.png", "green_film_0m02s.mp4"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name


def test_options_come_from_a_config_file(run: Run, film: Path) -> None:
    Path("options.yaml").write_text("device: cpu\nground:\n  query: [green, red]\n  top_k: 1\n")
    ran = run("ground", film, "--config", "options.yaml", "-o", "-")
    assert [len(one["moments"]) for one in ran.json["queries"]] == [1, 1]


def test_no_clip_is_written_over_a_video_that_is_read(run: Run, film: Path) -> None:
    names = ("green_film_0m02s.mp4", "a.mp4", "x_a_1h02m03s-2.mp4")
    for name in names:
        Path(name).write_bytes(film.read_bytes())
    for arguments in (["green_film_0m02s.mp4", "-o", "film.json"], ["a.mp4", "x_a_1h02m03s-2.mp4"]):
        ran = run("ground", "--clips", *ASK, "--overwrite", *arguments)
        assert (ran.code, "name of a clip" in ran.err) == (2 if "-o" in arguments else 1, True)
        assert all(Path(name).read_bytes() == film.read_bytes() for name in names)
    assert not Path("a_moments.json").exists()
    more = ("-k", "1", "--overwrite")
    assert run("ground", "--clips-dir", "parts", *ASK, *more, "a.mp4", "x_a_1h02m03s-2.mp4").code == 0
    assert sorted(path.name for path in Path("parts").iterdir()) == [
        "green_a_0m02s.mp4",
        "green_x_a_1h02m03s-2_0m02s.mp4",
    ]


def test_a_symlink_loop_is_one_bad_input_of_a_batch(run: Run, film: Path) -> None:
    Path("loop.mp4").symlink_to("loop.mp4")
    ran = run("ground", "loop.mp4", film, *ASK, "--clips", "--json")
    assert [line["exit_code"] for line in ran.json_lines] == [3, 0]


def test_an_update_leaves_no_picture_of_the_earlier_result(run: Run, film: Path) -> None:
    run("ground", film, "--device", "cpu", "--query", "green", "--plot", "--sheet", "--space", "vse")
    Path("film_own.png").write_bytes(b"\x89PNG\r\n\x1a\n of the user's")
    Path("film_best.png").write_bytes(
        Path("film_moments.png").read_bytes()
    )  # the user's copy, with our label
    before = files_here()
    ran = run("ground", film, "--device", "cpu", "--query", "red", "--sheet", "--space", "vse")
    assert (ran.code, "removed 1 of the earlier result" in ran.out) == (0, True), ran.err
    assert sorted({*before} - {*files_here()}) == ["film_moments.png"]


def test_a_format_that_the_moments_do_not_suit_keeps_no_other_output_back(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--export", "chapters", "--export", "csv", "--report")
    assert (ran.code, "YouTube wants 3 chapters" in ran.err, "green" in ran.out) == (1, True, True)
    shown = [name for name in files_here() if not name.startswith(".")]
    assert shown == ["film_moments.csv", "film_moments.html", "film_moments.json"]
    again = run("ground", film, *ASK, "--export", "chapters", "--json").json
    assert (again["ok"], again["data"]["exports"]) == (False, [])


def test_one_table_of_all_videos(run: Run, film: Path) -> None:
    Path("films").mkdir()
    for name in ("a.mp4", "b.mp4"):
        Path("films", name).write_bytes(film.read_bytes())
    ask = ("ground", "films", *ASK, "-k", "1")
    ran = run(*ask, "-o", "moments.csv")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "moments.csv: 2 rows, 2 videos"), ran.err
    assert not Path("a_moments.json").exists()
    assert [line for line in ran.out.splitlines() if line.startswith("films/")] == [
        f"films/{name} (model: similarity, space: vse)" for name in ("a.mp4", "b.mp4")
    ]
    wrong = run(*ask, "-o", "moments.txt")
    assert (wrong.code, "output must end in .json or .csv" in wrong.err) == (2, True)
    rows = list(csv.DictReader(Path("moments.csv").read_text().splitlines()))
    assert [(row["Start"], row["End"], row["video"]) for row in rows] == [
        ("2.0", "4.0", "films/a.mp4"),
        ("2.0", "4.0", "films/b.mp4"),
    ]
    again = run(*ask, "-o", "moments.csv", "--json")
    assert again.json_lines[-1]["data"] == {"output": "moments.csv", "rows": 2}
    other = run("ground", "films", "--device", "cpu", "--query", "red", "-o", "moments.csv")
    assert (other.code, "moments.csv: " in other.out) == (0, True)
    for more in (["--clips"], ["--sheet"], ["--export", "edl"], ["--report"]):
        refused = run(*ask, "-o", "other.csv", *more)
        assert (refused.code, "one table of all inputs" in refused.err) == (2, True)
    assert (run(*ask, "-o", "none/x.csv").code, run("ground", "no.mp4", *ASK, "-o", "x.csv").code) == (1, 3)
    assert not list(Path().glob("?.csv")) + list(Path().glob("other*"))
    part = run("ground", "films/a.mp4", "no.mp4", *ASK, "-k", "1", "-o", "part.csv")
    assert (part.code, Path("part.csv").read_text().count("\n")) == (1, 2)


def test_a_contact_sheet_shows_each_moment(run: Run, film: Path) -> None:
    ask = ("ground", film, *ASK, "--query", "red", "-k", "2", "--sheet")
    assert run(*ask).code == 0
    assert files_here() == ["film_moments.json", "film_moments_sheet.png"]
    height, width, _ = cv2.imread("film_moments_sheet.png").shape
    assert width > height > 200
    assert "unchanged" in run(*ask).out
    assert run("ground", film, *ASK, "--sheet", "-o", "-").code == 2
    assert run("ground", film, *ASK, "--min-clip", "2s").err.startswith("error: --min-clip needs --clips")
