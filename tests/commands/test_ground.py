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
from vidsum.commands.ground import _missing_evidence
from vidsum.evidence.match_probability import MatchedQueries, Usual, WindowMatches
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.io.provenance import hash_file
from vidsum.models.configs import MaskConfig
from vidsum.pipelines.ground import MomentSearch
from vidsum.video.probe import probe

_JUDGED = MomentSearch._judged
ASK = ("--device", "cpu", "--query", "green")


pytestmark = pytest.mark.usefixtures("known_colours")


@pytest.mark.parametrize(
    ("codec", "kinds", "ways"),
    [
        ("aac", ["picture"], ["text (--in text), sound (--in sound), speech (vidsum transcribe)"]),
        ("aac", ["picture", "speech"], ["text (--in text), sound (--in sound)"]),
        (None, ["picture"], ["text (--in text)"]),
        ("aac", ["picture", "speech", "text", "sound"], []),
    ],
    ids=["picture alone", "picture and speech", "film without sound", "all"],
)
def test_each_kind_that_was_not_searched_is_named_with_its_command(
    codec: str | None, kinds: list[str], ways: list[str]
) -> None:
    document = {"video": {"audio_codec": codec}, "evidence": kinds}
    assert list(_missing_evidence(document)) == [f"not searched: {way}" for way in ways]


def test_ground_prints_a_json_line_per_input(run: Run, film: Path, tmp_path: Path) -> None:
    (other,) = copies(film, tmp_path / "other.mp4")
    ran = run("ground", film, other, "none.mp4", *ASK, "--json", code=1)
    assert [line["ok"] for line in ran.json_lines] == [True, True, False]
    for line in ran.json_lines:
        check_schema(line, "result")
    assert files_here() == ["film_moments.json", "other_moments.json"]


def test_json_of_ground_has_moments_and_outputs(run: Run, film: Path) -> None:
    data = run("ground", film, *ASK, "--json").json["data"]
    (query,) = data["queries"]
    assert (query["moments"][0]["start_s"], query["moments"][0]["end_s"]) == (2, 4)
    assert data["outputs"] == {"json": "film_moments.json"}
    assert "saliency" not in query


def test_first_of_several_videos_says_that_scores_do_not_rank_them(
    run: Run, film: Path, tmp_path: Path
) -> None:
    (other,) = copies(film, tmp_path / "other.mp4")
    lines = run("ground", film, other, *ASK, "--json").json_lines
    assert ["do not rank videos" in " ".join(line["messages"]) for line in lines] == [True, False]


def test_ground_in_pictures_has_no_messages(run: Run, film: Path) -> None:
    assert run("ground", film, *ASK, "--json", "--in", "picture").json["messages"] == []


@pytest.fixture
def likely(known_colours: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
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


@pytest.mark.usefixtures("likely")
def test_table_has_match_probabilities_and_names_doubt(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--query", "red", "-k", "1")
    head, green, red, _, doubt, _ = ran.out.splitlines()
    assert head.split() == ["query", "match", "rank", "start", "end", "seconds", "score"]
    assert green.split()[:5] == ["green", "no", "4", "%", "1"]
    assert red.split()[:5] == ["red", "yes", "90", "%", "1"]
    assert doubt == "'green': probably not in this video (8 %)"


@pytest.mark.usefixtures("likely")
def test_document_has_match_probabilities(run: Run, film: Path) -> None:
    run("ground", film, *ASK, "--query", "red", "-k", "1")
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


ASK_TWO = (*ASK, "--query", "red", "-k", "1")


@pytest.mark.usefixtures("likely")
def test_clips_of_an_absent_query_are_saved(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK_TWO, "--clips", "--json")
    clips = ["green_film_0m02s.mp4", "red_film_0m00s.mp4"]
    assert ran.json["data"]["outputs"]["clips"] == clips, ran.err
    assert files_here() == ["film_moments.json", *clips]


@pytest.mark.usefixtures("likely")
def test_saved_clips_of_an_absent_query_are_named(run: Run, film: Path) -> None:
    run("ground", film, *ASK_TWO, "--clips")
    again = run("ground", film, *ASK_TWO, "--clips").out
    assert "unchanged" in again
    note = "'green': probably not in this video (8 %); clips saved (--min-present 0.1 skips them)"
    assert note in again.splitlines()


def test_clips_of_doubtful_moments_are_counted(run: Run, film: Path, likely: dict[str, float]) -> None:
    likely["film.mp4"] = 0.15
    ran = run("ground", film, *ASK_TWO, "--clips")
    assert "'green': 1 of 1 clips probably do not show it" in ran.out.splitlines()
    assert "'red': " not in ran.out


LIKELY_ONLY = (*ASK, "--query", "red", "--min-present", "0.89")


@pytest.mark.usefixtures("likely")
def test_min_present_leaves_out_moments_of_an_absent_query(run: Run, film: Path) -> None:
    ran = run("ground", film, *LIKELY_ONLY)
    assert "'green': probably not in this video (8 %, below --min-present: no moments)" in ran.out
    assert "'red': " not in ran.out
    document = read_valid("film_moments.json", "moments")
    assert [bool(item["moments"]) for item in document["queries"]] == [False, True]


@pytest.mark.usefixtures("likely", "quick_plots")
def test_min_present_leaves_out_clips_of_an_absent_query(run: Run, film: Path) -> None:
    run("ground", film, *LIKELY_ONLY, "--plot", "--clips")
    assert not [name for name in files_here() if name.startswith("green_")]
    assert Path("red_film_0m00s.mp4").is_file()


@pytest.mark.usefixtures("likely")
def test_queries_are_answered_again_without_min_present(run: Run, film: Path) -> None:
    run("ground", film, *LIKELY_ONLY)
    run("ground", film, *ASK)  # so red is answered again
    queries = json.loads(Path("film_moments.json").read_text())["queries"]
    assert [(item["query"], bool(item["moments"])) for item in queries] == [("green", True), ("red", True)]


@pytest.fixture
def holiday(film: Path, likely: dict[str, float], tmp_path: Path) -> Path:
    """A folder of two films, of which the second is likelier to show the first query, and of a text."""
    folder = tmp_path / "holiday"
    copies(film, *(folder / name for name in likely))
    (folder / "notes.txt").write_text("not a film")
    return folder


def test_ground_ranks_the_videos_of_a_folder(run: Run, holiday: Path) -> None:
    *_, title, head, best, worst = run("ground", holiday, *ASK).out.splitlines()
    assert "best match first" in title
    assert head.split() == ["query", "match", "video"]
    assert best.split() == ["green", "60", "%", str(holiday / "other.mp4")]
    assert worst.split() == ["8", "%", str(holiday / "film.mp4")]


@pytest.mark.parametrize("more", [(), ("--query", "red", "--skip-existing")], ids=["asked", "skipped"])
def test_ranks_of_stored_answers_are_the_same(run: Run, holiday: Path, more: tuple[str, ...]) -> None:
    """With --skip-existing red is not looked for."""
    ranks = run("ground", holiday, *ASK).out.splitlines()[-2:]
    assert run("ground", holiday, *ASK, *more).out.splitlines()[-2:] == ranks


def test_json_of_ranked_videos_is_in_the_order_of_inputs(
    run: Run, holiday: Path, likely: dict[str, float]
) -> None:
    lines = run("ground", holiday, *ASK, "--json").json_lines
    assert [line["data"]["queries"][0]["present"] for line in lines] == pytest.approx([*likely.values()])


def test_ground_prints_a_document_with_saliency(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--saliency", "-o", "-")
    check_schema(ran.json, "moments")
    assert len(ran.json["queries"][0]["saliency"]) == len(ran.json["timestamps_s"]) == 20
    assert files_here() == []


TWO_QUERIES = (*ASK, "--query", "a yellow wall", "-k", "2")


def test_ground_prints_a_table_of_moments_and_the_model(run: Run, film: Path) -> None:
    ran = run("ground", film, *TWO_QUERIES)
    head, first, *_ = ran.out.splitlines()
    assert head.split() == ["query", "rank", "start", "end", "seconds", "score"]
    assert first.split()[:5] == ["green", "1", "0:02.00", "0:04.00", "2.00"]
    assert "(model: similarity, space: vse)" in ran.out


def test_ground_writes_a_document_of_all_queries(run: Run, film: Path) -> None:
    run("ground", film, *TWO_QUERIES)
    assert files_here() == ["film_moments.json"]
    document = read_valid("film_moments.json", "moments")
    assert [item["query"] for item in document["queries"]] == ["green", "a yellow wall"]
    assert [len(item["moments"]) for item in document["queries"]] == [2, 2]


LONG_QUERY = "red or yellow or green or blue"


@pytest.fixture
def detr() -> Path:
    """A checkpoint with the mask lam that reads colours, untrained; it reads four tokens of a query."""
    reads, sizes = {"space": "vse", "clip_s": 0.5}, {"dim_video": 5, "dim_query": 3, "clips": 8, "words": 4}
    return save_untrained(Path("best.safetensors"), "qd-detr", reads, **sizes, mask=MaskConfig(kind="lam"))


@pytest.fixture
def by_detr(detr: Path, film: Path) -> tuple[object, ...]:
    """A command that asks the checkpoint two queries."""
    return ("ground", film, *ASK, "--query", LONG_QUERY, "-k", "3", "--saliency", "--model", detr)


def test_checkpoint_is_named_by_its_table_and_its_hash(
    run: Run, by_detr: tuple[object, ...], detr: Path
) -> None:
    assert "(model: best.safetensors, space: vse)" in run(*by_detr).out
    document = read_valid("film_moments.json", "moments")
    assert document["provenance"]["grounding"]["model_sha256"] == hash_file(detr)


def test_query_longer_than_a_checkpoint_reads_is_a_warning(run: Run, by_detr: tuple[object, ...]) -> None:
    assert f"'{LONG_QUERY}': only the first 4 tokens are read" in run(*by_detr, "-o", "-").err


def test_answers_of_a_checkpoint_have_moments_and_saliency(run: Run, by_detr: tuple[object, ...]) -> None:
    document = run(*by_detr, "-o", "-").json
    for item in document["queries"]:
        assert 1 <= len(item["moments"]) <= 3
        assert len(item["saliency"]) == len(document["timestamps_s"]) == 20


def test_saliency_of_a_checkpoint_is_not_similarity(
    run: Run, by_detr: tuple[object, ...], film: Path
) -> None:
    by_curve = run("ground", film, *ASK, "--saliency", "--model", "similarity", "-o", "-").json
    document = run(*by_detr, "-o", "-").json
    assert by_curve["queries"][0]["saliency"] != document["queries"][0]["saliency"]


def test_checkpoint_has_a_plot_and_clips_that_are_up_to_date(run: Run, by_detr: tuple[object, ...]) -> None:
    ask = (*by_detr, "-o", "mine.json", "--plot", "--clips")
    run(*ask)
    assert cv2.imread("mine_moments.png").shape[2] == 3
    assert [name for name in files_here() if re.fullmatch(r"\w+_film_0m\d\ds(-\d)?\.mp4", name)]
    assert "unchanged" in run(*ask).out


def test_clips_are_named_by_query_film_and_start(run: Run, film: Path) -> None:
    run("ground", film, "--clips", *ASK, "--query", "yellow", "-k", "1")
    assert files_here() == ["film_moments.json", "green_film_0m02s.mp4", "yellow_film_0m06s.mp4"]
    assert probe("yellow_film_0m06s.mp4").duration_s == pytest.approx(4, abs=0.1)


def test_clips_go_to_a_folder(run: Run, film: Path) -> None:
    ran = run("ground", *ASK, "-k", "1", "-o", "green.json", "--clips-dir", "parts", film, "--json")
    assert ran.json["data"]["outputs"]["clips"] == ["parts/green_film_0m02s.mp4"]
    assert Path("parts/green_film_0m02s.mp4").exists()


def test_clips_take_their_names_from_the_output(run: Run, film: Path) -> None:
    run("ground", *ASK, "-k", "1", "-o", "{stem}_1.json", film, "--clips")
    assert Path("green_film_1_0m02s.mp4").exists()


def test_ground_writes_the_same_bytes_in_every_run(run: Run, film: Path) -> None:
    for folder in ("one", "two"):
        run("ground", film, *ASK, "--plot", "--clips", "-k", "1", "--output-dir", folder, "--no-cache")
    for name in ("film_moments.json", "film_moments.png", "green_film_0m02s.mp4"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name


def test_plot_shows_the_first_of_many_queries(run: Run, film: Path) -> None:
    queries = [part for number in range(13) for part in ("--query", f"green {number}")]
    run("ground", film, "--plot", *queries, "-k", "1", error="first 12 of 13 queries")
    assert cv2.imread("film_moments.png").shape[2] == 3


@pytest.fixture
def records_of_a_clip(run: Run, film: Path) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Two commands whose records list the same clip, green."""
    first, second = (("ground", film, "-k", "1", "--clips", "-o", name) for name in ("a.json", "b.json"))
    run(*first, *ASK)
    run(*second, *ASK)
    return first, second


GREEN = Path("green_film_0m02s.mp4")


def test_clip_of_two_records_is_up_to_date_for_the_first(
    run: Run, records_of_a_clip: tuple[tuple[object, ...], tuple[object, ...]]
) -> None:
    first, _ = records_of_a_clip
    assert "unchanged" in run(*first, *ASK).out


def test_clip_stays_while_one_of_two_records_needs_it(
    run: Run, film: Path, records_of_a_clip: tuple[tuple[object, ...], tuple[object, ...]]
) -> None:
    first, second = records_of_a_clip
    write_film(film, ("red", "blue", "blue", "green"))
    run(*second, *ASK)
    assert GREEN.exists()
    assert Path("green_film_0m06s.mp4").exists()
    run(*first, *ASK)
    assert not GREEN.exists()


def test_edited_clip_of_two_records_is_refused(
    run: Run, records_of_a_clip: tuple[tuple[object, ...], tuple[object, ...]]
) -> None:
    first, _ = records_of_a_clip
    GREEN.write_bytes(b"mine")
    run(*first, *ASK, code=1, error="was not written by vidsum, or edited since")
    assert GREEN.read_bytes() == b"mine"


@pytest.mark.usefixtures("quick_plots")
@pytest.mark.parametrize("added", ["--plot", "--clips"])
def test_ground_keeps_curves(run: Run, film: Path, added: str) -> None:
    run("ground", film, *ASK, "--saliency")
    before = json.loads(Path("film_moments.json").read_text())
    run("ground", film, *ASK, added)
    after = json.loads(Path("film_moments.json").read_text())
    assert sorted(after.pop("outputs")) == [name for name in files_here() if name != "film_moments.json"]
    assert {**after, "digest": None} == {**before, "digest": None}  # the digest is of `outputs`, too


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["green_1_0m02s.mp4", "-o", "{n}.json"], 2), (["a.mp4", "x_a_1h02m03s-2.mp4"], 1)],
    ids=["template", "several inputs"],
)
def test_input_with_the_name_of_a_clip_is_refused(
    run: Run, film: Path, arguments: list[str], code: int
) -> None:
    inputs = copies(film, "green_1_0m02s.mp4", "a.mp4", "x_a_1h02m03s-2.mp4")
    run("ground", "--clips", *ASK, "--overwrite", *arguments, code=code, error="name of a clip")
    assert all(path.read_bytes() == film.read_bytes() for path in inputs)
    assert not Path("a_moments.json").exists()


def test_input_with_the_name_of_a_clip_may_have_clips_in_a_folder(run: Run, film: Path) -> None:
    copies(film, "a.mp4", "x_a_1h02m03s-2.mp4")
    run("ground", "--clips-dir", "parts", *ASK, "-k", "1", "a.mp4", "x_a_1h02m03s-2.mp4")
    assert files_in("parts") == ["green_a_0m02s.mp4", "green_x_a_1h02m03s-2_0m02s.mp4"]


def test_failed_export_leaves_the_other_outputs(run: Run, film: Path) -> None:
    ran = run("ground", film, *ASK, "--export", "chapters", "--export", "csv", "--report", code=1)
    assert "YouTube wants 3 chapters" in ran.err
    assert "green" in ran.out
    displayed = [name for name in files_here() if not name.startswith(".")]
    assert displayed == ["film_moments.csv", "film_moments.html", "film_moments.json"]


def test_failed_export_fails_again_where_the_answer_is_up_to_date(run: Run, film: Path) -> None:
    run("ground", film, *ASK)
    again = run("ground", film, *ASK, "--export", "chapters", "--json", code=1).json
    assert (again["ok"], again["data"]["outputs"]) == (False, {"json": "film_moments.json"})


def test_query_without_text_fails_alone(run: Run, film: Path) -> None:
    Path("queries.txt").write_text("green\n\U0001f436\nred\n", encoding="utf-16")
    ran = run("ground", film, "--device", "cpu", "--queries", "queries.txt", "--export", "csv", code=1)
    assert "line 2: holds no text" in ran.err
    assert "red" in ran.out
    assert len(json.loads(Path("film_moments.json").read_text())["queries"]) == 2


def test_queries_without_any_text_are_refused(run: Run, film: Path) -> None:
    Path("queries.txt").write_text("\U0001f436")
    run("ground", film, "--queries", "queries.txt", code=2)


SHEET = (*ASK, "--query", "red", "-k", "2", "--sheet")


def test_sheet_marks_the_moments_of_the_whole_video(run: Run, film: Path) -> None:
    run("ground", film, *SHEET)
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


def test_sheet_is_up_to_date(run: Run, film: Path) -> None:
    run("ground", film, *SHEET)
    assert "unchanged" in run("ground", film, *SHEET).out


def queries_of_clips() -> list[str]:
    return [name.partition("_")[0] for name in files_in("clips")]


def test_clips_of_earlier_queries_stay(run: Run, film: Path) -> None:
    run("ground", film, *ASK, "-k", "1", "--clips-dir", "clips")
    run("ground", film, "--device", "cpu", "--query", "red", "-k", "2", "--clips-dir", "clips")
    assert queries_of_clips() == ["green", "red", "red"]


def test_outdated_clips_of_a_query_are_removed(run: Run, film: Path) -> None:
    for most in ("2", "1"):
        run("ground", film, "--device", "cpu", "--query", "red", "-k", most, "--clips-dir", "clips")
    assert queries_of_clips() == ["red"]


@pytest.fixture
def films(film: Path) -> str:
    """A folder with two copies of the film."""
    copies(film, "films/a.mp4", "films/b.mp4")
    return "films"


TABLE = (*ASK, "-k", "1", "-o", "moments.csv")


def test_table_has_the_moments_of_all_videos(run: Run, films: str) -> None:
    run("ground", films, *TABLE)
    rows = [(row["Start"], row["End"], row["video"]) for row in csv_rows("moments.csv")]
    assert rows == [("2.0", "4.0", "films/a.mp4"), ("2.0", "4.0", "films/b.mp4")]
    assert not Path("a_moments.json").exists()


def test_table_of_all_videos_is_counted_behind_their_moments(run: Run, films: str) -> None:
    lines = run("ground", films, *TABLE).out.splitlines()
    assert lines[-1] == "moments.csv: 2 rows, 2 videos"
    for name in ("a.mp4", "b.mp4"):
        assert f"films/{name} (model: similarity, space: vse)" in lines


def test_json_counts_the_rows_of_a_table_that_is_replaced(run: Run, films: str) -> None:
    run("ground", films, *TABLE)
    again = run("ground", films, *TABLE, "--json")
    assert again.json_lines[-1]["data"] == {"outputs": {"csv": "moments.csv"}, "rows": 2}


def test_table_of_other_queries_replaces_ours(run: Run, films: str) -> None:
    run("ground", films, *TABLE)
    other = run("ground", films, "--device", "cpu", "--query", "red", "-o", "moments.csv")
    assert "moments.csv: " in other.out


def test_no_table_is_written_of_no_videos(run: Run) -> None:
    run("ground", "no.mp4", *ASK, "-o", "x.csv", code=3)
    assert not Path("x.csv").exists()


def test_table_has_the_videos_that_are_read(run: Run, films: str) -> None:
    run("ground", f"{films}/a.mp4", "no.mp4", *ASK, "-k", "1", "-o", "part.csv", code=1)
    assert Path("part.csv").read_text().count("\n") == 2
