"""Existing outputs: up-to-date ones are left alone, ours are replaced, foreign or edited ones refused."""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import copies, csv_rows, files_here
from tests.commands.killed import kill
from tests.conftest import deep
from tests.grounding.colours import use_colours
from tests.program import Run
from tests.speech import stub
from vidsum.batch.deliver import ResultSpec
from vidsum.errors import OutputError
from vidsum.io.provenance import seal
from vidsum.outputs.alone import save_text
from vidsum.outputs.output_records import hash_of, record_of
from vidsum.pipelines.ground import _Work
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

pytestmark = pytest.mark.usefixtures("known_film", "quick_plots")


@pytest.fixture
def half(film: Path) -> bytes:
    """The first part of the film, as it is while it is uploaded: its index is at the start."""
    indexed = film.with_name("indexed.mp4")
    write_segments(probe(film), [(0, 10)], indexed)
    content = indexed.read_bytes()
    film.write_bytes(content)
    indexed.unlink()
    return content[: len(content) * 2 // 3]


def states(run: Run, *arguments: object) -> list[str]:
    """Return the state of each input."""
    run(*arguments, "--table", "all.csv")
    return [row["state"] for row in csv_rows("all.csv")]


def times() -> dict[str, int]:
    """Return when each file here was written."""
    return {str(path): path.stat().st_mtime_ns for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(("command", "more"), [
    ("summarize", ["--budget", "40%"]), ("summarize", ["--copy"]), ("summarize", ["--crf", "30"]),
    ("shots", ["--shots", "uniform"]), ("extract", ["--fps", "1"]), ("highlights", ["-k", "1"]),
])  # fmt: skip
def test_result_is_up_to_date_until_an_option_changes(
    run: Run, film: Path, command: str, more: list[str]
) -> None:
    for options in ([], more):
        first, before = run(command, film, *options).out, times()
        again = run(command, film, *options).out
        assert (again, times()) == (first.removesuffix("\n") + " (unchanged)\n", before)
        assert first.count("\n") > (command != "extract")


@pytest.fixture
def uploading(film: Path, half: bytes, tmp_path: Path) -> Path:
    """A folder with a whole film, `a`, and one that is half there, `b`."""
    folder = tmp_path / "films"
    copies(film, folder / "a.mp4")
    (folder / "b.mp4").write_bytes(half)
    return folder


@pytest.mark.deep
def test_table_names_a_film_that_is_half_there(run: Run, uploading: Path) -> None:
    run("summarize", uploading, "-m", "uniform", "--table", "table.csv", error=("b.mp4", "frames decoded"))
    assert "frames decoded" in Path("table.csv").read_text().splitlines()[2]


@pytest.mark.deep
def test_film_that_is_whole_now_is_summarized_again_alone(run: Run, film: Path, uploading: Path) -> None:
    ask = ("summarize", uploading, "--storyboard", "--plot", "-m", "uniform")
    run(*ask)
    before = {name: time for name, time in times().items() if name.startswith("a_")}
    copies(film, uploading / "b.mp4")
    assert states(run, *ask) == ["up to date", "done"]
    assert before.items() <= times().items()
    assert json.loads(Path("b_summary.json").read_text())["warnings"] == []


def test_strict_refuses_a_film_that_is_half_there(run: Run, film: Path, half: bytes) -> None:
    film.write_bytes(half)
    for _ in range(2):  # the second time, not from the cache either
        run("summarize", film, "--strict", code=3, error="frames decoded")
        assert list(Path().glob("film_*")) == []
        run("shots", film, "-o", "s.json")  # caches the features of what decodes


def test_no_key_frame_outlives_an_edited_document(run: Run, film: Path) -> None:
    run("summarize", film, "--storyboard", "--budget", "6s")
    record, folder = Path("film_summary.json"), Path("film_key_frames")
    (folder / "mine.jpg").write_bytes(b"mine")
    record.write_text(json.dumps({**json.loads(record.read_text()), "budget_note": "edited"}))
    run("summarize", film, "--storyboard", "--budget", "2s", "--overwrite")
    pictures = {path.name for path in folder.iterdir()}
    assert "mine.jpg" in pictures
    assert len(pictures) - 1 == len(json.loads(record.read_text())["segments"])


@pytest.mark.deep
def test_strict_accepts_a_film_that_is_whole_now(run: Run, film: Path, half: bytes) -> None:
    whole = film.read_bytes()
    film.write_bytes(half)
    run("summarize", film)
    film.write_bytes(whole)
    run("summarize", film, "--strict")


@pytest.fixture
def added(run: Run, film: Path) -> tuple[object, ...]:
    """A command that adds pictures to a summary that was there."""
    run("summarize", film)
    before = Path("film_summary.mp4").stat().st_mtime_ns
    ask = ("summarize", film, "--storyboard", "--plot")
    run(*ask)
    assert Path("film_summary.mp4").stat().st_mtime_ns == before
    return ask


@pytest.mark.usefixtures("added")
def test_record_lists_outputs_that_are_added(run: Run, film: Path) -> None:
    listed = json.loads(Path("film_summary.json").read_text())["outputs"]
    assert {"film_summary.mp4", "film_storyboard.png", "film_importance.png"} <= set(listed)
    assert any(name.startswith("film_key_frames/01_") for name in listed)


def test_result_with_added_outputs_is_up_to_date(run: Run, added: tuple[object, ...]) -> None:
    assert states(run, *added) == ["up to date"]


@pytest.mark.parametrize("kind", ["--plot", "--storyboard"])
def test_picture_of_an_earlier_result_is_drawn_again(run: Run, film: Path, kind: str) -> None:
    run("summarize", film, kind)
    before = {path.name: path.read_bytes() for path in Path().glob("*.png")}
    run("summarize", film, "--budget", "40%")
    assert states(run, "summarize", film, "--budget", "40%", kind) == ["done"]
    assert all(Path(name).read_bytes() != content for name, content in before.items())
    assert list(Path().glob(".*")) == []


def test_outdated_key_frames_go_and_foreign_ones_stay(run: Run, film: Path) -> None:
    run("summarize", film, "--storyboard", "--budget", "40%")
    mine = Path("film_key_frames/mine.jpg")
    mine.write_bytes(b"mine")
    run("summarize", film, "--storyboard")
    n_segments = len(json.loads(Path("film_summary.json").read_text())["segments"])
    assert (len([*Path("film_key_frames").iterdir()]), mine.read_bytes()) == (n_segments + 1, b"mine")


def test_files_that_a_copy_of_the_record_lists_stay(run: Run, film: Path) -> None:
    run("summarize", film, "--storyboard")
    shutil.copy("film_summary.json", "copy_summary.json")
    before = names_here()
    run("summarize", film, "-o", "copy_summary.json", "--budget", "40%")
    assert before <= names_here()


def names_here() -> set[str]:
    """Return the files that are not hidden."""
    paths = [path for path in Path().rglob("*") if path.is_file()]
    return {path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)}


def test_outdated_files_are_removed_unless_they_were_edited(run: Run, film: Path) -> None:
    run("summarize", film, "--storyboard", "--plot")
    old = {"film_storyboard.png", "film_importance.png"}
    old |= {name for name in names_here() if name.startswith("film_key_frames/")}
    Path("film_importance.png").write_bytes(b"mine")
    ran = run("summarize", film, "--budget", "40%")
    assert f"removed {len(old) - 1} of the earlier result (film_storyboard.png, film_key_frames/" in ran.out
    assert names_here() == {"film_summary.json", "film_summary.mp4", "film_importance.png"}
    assert not Path("film_key_frames").exists()


def test_folder_with_a_foreign_file_stays(run: Run, film: Path) -> None:
    run("summarize", film, "--storyboard")
    Path("film_key_frames/mine.txt").touch()
    ran = run("summarize", film, "--budget", "40%")
    assert "film_key_frames/01_3.00s.jpg" in ran.out
    assert [path.name for path in Path("film_key_frames").iterdir()] == ["mine.txt"]


@dataclass(frozen=True)
class Forged:
    """A record that lists files which vidsum may remove, and others."""

    record: Path
    document: dict[str, Any]
    kept: list[str]
    removed: list[str]


@pytest.fixture
def forged(run: Run, film: Path) -> Forged:
    """Such a record in the folder `out`; its digest is no longer right."""
    record = Path("out/film_summary.json")
    Path("out").mkdir()
    run("summarize", film, "-o", record)
    outside = str(Path("film_c.txt").absolute())
    kept = ["../film_a.txt", "film_a/../b.txt", "edited.png", outside]
    removed = ["film_old.png", "film_old/a.png", "album/a.png"]
    for folder in ("film_a", "album", "film_old"):
        Path("out", folder).mkdir()
    for name in (*kept, *removed):
        Path("out", name).write_text("written")
    document = json.loads(record.read_text())
    document["outputs"] = dict.fromkeys([*kept, *removed], hash_of(Path("out/film_old.png")))
    record.write_text(json.dumps(document))
    return Forged(record, document, kept, removed)


def test_edited_record_removes_nothing(run: Run, film: Path, forged: Forged) -> None:
    before = forged.record.read_bytes()
    run("summarize", film, "-o", forged.record, "--budget", "40%", code=1, error="was edited")
    assert forged.record.read_bytes() == before
    assert all(Path("out", name).exists() for name in forged.removed)


def test_sealed_record_removes_files_of_its_hash_in_its_folder_alone(
    run: Run, film: Path, forged: Forged
) -> None:
    forged.record.write_text(json.dumps(seal(forged.document)))  # by somebody who knows how
    Path("out/edited.png").write_text("mine")
    run("summarize", film, "-o", forged.record, "--budget", "40%")
    names = (*forged.kept, *forged.removed)
    assert [name for name in names if Path("out", name).exists()] == forged.kept


def test_sealed_record_removes_folders_in_which_nothing_is_left(run: Run, film: Path, forged: Forged) -> None:
    forged.record.write_text(json.dumps(seal(forged.document)))
    Path("out/album/mine.png").write_text("mine")
    run("summarize", film, "-o", forged.record, "--budget", "40%")
    assert (Path("out/film_old").exists(), Path("out/album").exists()) == (False, True)


def test_files_of_other_results_stay(run: Run, film: Path, ask: Callable[..., Any]) -> None:
    other = film.with_name("other.mp4")
    other.write_bytes(film.read_bytes() + bytes(8))
    for path in (film, other):
        for command in (("summarize", "--storyboard"), ("shots", "--sheet", "--clips", "--export", "csv")):
            run(command[0], path, *command[1:])
        run("highlights", path, "--plot", "--clips", "-k", "1")
        run("extract", path)
    before = names_here()
    assert ask("red", more=("--clips", "--plot"))["ok"]
    assert ask("green", more=("--overwrite",))["ok"]
    assert ask("blue", more=("-o", "m.json"))["ok"]
    assert before <= names_here()
    run("summarize", film, "--budget", "40%")
    assert {name.split("_")[1] for name in before - names_here()} == {"storyboard.png", "key"}
    assert {name.split("_")[0] for name in before - names_here()} == {"film"}


@pytest.mark.deep
@pytest.mark.parametrize("n_moved", [deep(0), 1, deep(2)])
def test_files_of_other_results_stay_after_a_kill(
    run: Run, film: Path, ask: Callable[..., Any], n_moved: int
) -> None:
    run("summarize", film, "--storyboard", "--plot")
    kill("summarize", film, "--storyboard", "--budget", "40%", n_moved=n_moved)
    before = names_here()
    assert ask("red", more=("--plot",))["ok"]
    run("shots", film, "--sheet")
    assert before <= names_here()
    run("summarize", film)
    assert not [name for name in names_here() if "storyboard" in name or "key_frames" in name]
    assert not Path("film_summary.json.vidsum.json").exists()


@pytest.mark.parametrize(
    ("link", "jobs"), [("symlink_to", "1"), deep("hardlink_to", "1"), deep("symlink_to", "2")]
)
def test_input_behind_a_linked_clip_is_spared(run: Run, film: Path, link: str, jobs: str) -> None:
    (other,), before = copies(film, film.with_name("other.mp4")), film.read_bytes()
    ask = ("shots", film, other, "--shots", "uniform", "--clips", "--jobs", jobs)
    run(*ask)
    clip = next(path for path in sorted(Path().glob("film-*.mp4")))
    clip.unlink()
    getattr(clip, link)(film)
    run(*ask, "--overwrite", code=1, error="over the input")
    assert film.read_bytes() == before


@pytest.mark.parametrize(
    "name",
    ["film_summary.json", deep("film_summary.mp4"), deep("film_storyboard.png"), "film_importance.svg"],
)
def test_a_foreign_file_is_refused(run: Run, film: Path, name: str) -> None:
    ask = ("summarize", film, "--storyboard", "--plot", "--plot-format", "svg")
    run(*ask)
    Path(name).write_text("mine")
    others = {path: path.read_bytes() for path in Path().rglob("*.*") if path.is_file()}
    for more in ([], ["--budget", "40%"]):
        run(*ask, *more, code=1, error=(name, "--overwrite"))
        assert {path: path.read_bytes() for path in others} == others
    run(*ask, "--overwrite")
    assert states(run, *ask) == ["up to date"]


def test_a_foreign_file_that_comes_while_the_film_is_read_is_refused(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(summary: object, path: Path, *_: object) -> tuple[str, ...]:
        path.write_bytes(b"ours")
        Path("film_summary.mp4").write_bytes(b"mine")
        return ()

    monkeypatch.setattr("vidsum.outputs.mp4.encode_segments", write)
    run("summarize", film, code=1, error=("film_summary.mp4", "--overwrite"))
    assert Path("film_summary.mp4").read_bytes() == b"mine"


@pytest.fixture
def foreign() -> Path:
    """A file that has the name of an output."""
    Path("film_summary.mp4").write_bytes(b"mine")
    return Path("film_summary.mp4")


@pytest.mark.usefixtures("foreign")
def test_output_that_is_skipped_is_listed(run: Run, film: Path) -> None:
    outputs = run("summarize", film, "--skip-existing", "--json").json["data"]["outputs"]
    assert [*outputs] == ["video"]


def test_a_foreign_file_is_skipped(run: Run, film: Path, foreign: Path) -> None:
    ran = run("summarize", film, "--skip-existing")
    assert ran.out == "film_summary.mp4: exists, skipped\n"
    assert foreign.read_bytes() == b"mine"
    assert not Path("film_summary.json").exists()


EXPORT = ("export", "film_shots.json", "-o", "cut.csv")
RECORD = Path("cut.csv.vidsum.json")


def test_a_foreign_record_is_refused(run: Run, film: Path) -> None:
    run("shots", film)
    RECORD.write_text("mine")
    run(*EXPORT, code=1, error=(RECORD.name, "--overwrite"))
    assert (RECORD.read_text(), Path("cut.csv").exists()) == ("mine", False)


def test_a_record_that_is_a_link_is_refused(run: Run, film: Path) -> None:
    run("shots", film)
    RECORD.symlink_to("notes")
    run(*EXPORT, code=1, error=RECORD.name)
    assert not Path("notes").exists()


SUBTITLES = ("--format", "srt")


@pytest.fixture
def recognizer(monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch)


@pytest.mark.usefixtures("recognizer")
def test_subtitles_are_made_again_with_options_that_change_them(run: Run, film: Path) -> None:
    ask = ("transcribe", film, *SUBTITLES)
    run(*ask)
    assert states(run, *ask, "--words") == ["done"]
    assert states(run, *ask) == ["up to date"]
    assert states(run, *ask, "--translate") == ["done"]


@pytest.mark.usefixtures("recognizer")
def test_edited_subtitles_are_refused(run: Run, film: Path) -> None:
    ask = ("transcribe", film, *SUBTITLES)
    run(*ask)
    Path("film_transcript.srt").write_text("mine")
    run(*ask, code=1, error="film_transcript.srt")
    assert Path("film_transcript.srt").read_text() == "mine"


LONGER = ["--budget", "40%"]
EXPORTS = {"film_shots.csv": ["--export", "csv"], "film_shots.html": ["--report"]}


UNIFORM = ("--shots", "uniform", "--max-shots", "2")


@pytest.mark.deep
@pytest.mark.parametrize("name", EXPORTS)
def test_export_of_a_changed_film_is_written_again(run: Run, film: Path, name: str) -> None:
    ask, target = ("shots", film, *EXPORTS[name]), Path(name)
    run(*ask)
    before = target.read_bytes()
    with film.open("ab") as file:
        file.write(bytes(8))
    assert states(run, *ask, *UNIFORM) == ["done"]
    assert target.read_bytes() != before
    assert states(run, *ask, *UNIFORM) == ["up to date"]


@pytest.mark.parametrize("name", EXPORTS)
def test_edited_export_is_refused(run: Run, film: Path, name: str) -> None:
    run("shots", film, *EXPORTS[name], *UNIFORM)
    Path(name).write_bytes(b"mine")
    record = Path("film_shots.json").read_bytes()
    run("shots", film, *EXPORTS[name], code=1, error=name)
    assert Path(name).read_bytes() == b"mine"
    assert Path("film_shots.json").read_bytes() == record


@pytest.mark.parametrize("name", EXPORTS)
def test_export_that_is_gone_is_written_with_other_shots(run: Run, film: Path, name: str) -> None:
    run("shots", film, *EXPORTS[name], *UNIFORM)
    Path(name).unlink()
    assert states(run, "shots", film, *EXPORTS[name]) == ["done"]
    assert Path(name).is_file()


@pytest.fixture
def exported(run: Run, film: Path) -> set[str]:
    """Files of shots and their exports, of which one, an EDL, was edited since."""
    run("shots", film, "--export", "csv", "--export", "edl", "--export", "ffmetadata", "--report")
    run("export", "film_shots.json", "--format", "srt")
    Path("film_shots.edl").write_text("mine")
    return names_here()


def test_exports_stay_with_a_further_output(run: Run, film: Path, exported: set[str]) -> None:
    run("shots", film, "--sheet")
    assert exported < names_here()


def test_outdated_exports_are_removed_unless_they_were_edited(
    run: Run, film: Path, exported: set[str]
) -> None:
    run("shots", film, "--sheet")
    ran = run("shots", film, *UNIFORM, "--export", "csv")
    assert "removed 3 of the earlier result (film_shots.ffmetadata, film_shots.html, film_shots_sh" in ran.out
    assert names_here() == exported - {"film_shots.ffmetadata", "film_shots.html"}


def test_export_of_another_result_stays(run: Run, film: Path) -> None:
    run("shots", film)
    run(*EXPORT)
    ran = run("summarize", film, "-m", "uniform", "-o", "cut.json")
    assert ("earlier" in ran.out + ran.err, Path("cut.csv").is_file()) == (False, True)


def test_record_of_an_export_has_its_hash(run: Run, film: Path) -> None:
    run("shots", film)
    assert run(*EXPORT).out == "cut.csv\n"
    record = json.loads(record_of(Path("cut.csv")).read_text())
    assert record["outputs"] == {"cut.csv": hash_of(Path("cut.csv"))}


def test_export_is_up_to_date_until_its_shots_change(run: Run, film: Path) -> None:
    run("shots", film)
    run(*EXPORT)
    run("shots", film, *UNIFORM)
    assert run(*EXPORT).out == "cut.csv\n"
    assert run(*EXPORT).out == "cut.csv (unchanged)\n"


@pytest.fixture
def ask(run: Run, film: Path, searched: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Look for colours in the film, and return the result."""
    use_colours(monkeypatch)
    monkeypatch.setenv("VIDSUM_HOME", str(searched))  # not the features that others extract

    def ask(*colours: str, more: tuple[str, ...] = ()) -> Any:
        queries = [word for colour in colours for word in ("--query", colour)]
        number = () if "-k" in more else ("-k", "1")
        return run("ground", film, "--device", "cpu", *number, *queries, *more, "--json", code=None).json

    return ask


def queries_of(name: str = "film_moments.json") -> list[str]:
    return [query["query"] for query in json.loads(Path(name).read_text())["queries"]]


def test_queries_are_added_to_those_of_the_file(ask: Callable[..., Any]) -> None:
    assert ask("red")["ok"]
    added = ask("green", "blue")
    assert [query["query"] for query in added["data"]["queries"]] == ["green", "blue"]
    assert queries_of() == ["blue", "green", "red"]


def test_query_of_several_is_up_to_date(ask: Callable[..., Any]) -> None:
    assert ask("red", "green")["ok"]
    again = ask("red")
    assert (again["data"]["up_to_date"], len(again["data"]["queries"])) == (True, 1)


def test_added_query_has_the_answer_that_it_has_alone(ask: Callable[..., Any], run: Run, film: Path) -> None:
    assert ask("red")["ok"]
    assert ask("blue")["ok"]
    alone = run("ground", film, "--device", "cpu", "-k", "1", "-o", "-", "--query", "blue").json
    assert alone["queries"] == json.loads(Path("film_moments.json").read_text())["queries"][:1]


@pytest.mark.parametrize("more", [(), ("--min-present", "0.2")])
def test_queries_added_meanwhile(
    ask: Callable[..., Any], run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    search, others = _Work.search_pictures, ["green"]

    def search_slowly(work: _Work, progress: Any) -> Any:
        if others:  # another run does not wait for this one
            assert ask(others.pop(), more=more)["ok"]
        return search(work, progress)

    monkeypatch.setattr(_Work, "search_pictures", search_slowly)
    ran = run("ground", film, "--device", "cpu", "-k", "1", "--query", "red")
    assert queries_of() == (["red"] if more else ["green", "red"])
    assert ("removed by these settings, ask again: 'green'" in ran.out) == bool(more)


@pytest.mark.parametrize(("more", "step"), [
    ((), "run"),
    (("--budget", "40%"), "writers"),
    deep((), "writers"),
    deep(("--budget", "40%"), "run"),
])  # fmt: skip
def test_result_made_meanwhile(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, step: str, more: tuple[str, ...]
) -> None:
    ask = ("summarize", film, "--storyboard", "--export", "csv", "--report")
    prepare, others = ResultSpec.__init__, [more]

    def slow(spec: ResultSpec[Any], *given: Any, **named: Any) -> None:
        prepare(spec, *given, **named)
        work = spec.run if step == "run" else spec.writers["storyboard"]

        def with_other(*given: Any) -> Any:
            if others:
                run(*ask, *others.pop())  # another process makes the same files
            return work(*given)

        slowed = with_other if step == "run" else {**spec.writers, "storyboard": with_other}
        object.__setattr__(spec, step, slowed)

    monkeypatch.setattr(ResultSpec, "__init__", slow)
    ran = run(*ask)
    assert ("(unchanged)" in ran.out.splitlines()[-3]) == (not more)
    assert states(run, *ask) == ["up to date"]
    records = {path.name for path in Path().glob("*.vidsum.json")}
    assert ([*Path().glob(".*")], records) == ([], {"all.csv.vidsum.json"})  # of the table of states


def test_a_file_that_two_processes_write_is_not_foreign_to_either(tmp_path: Path) -> None:
    target, texts = tmp_path / "cut.csv", [f"text {number}" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        lines = list(pool.map(lambda text: save_text(text, target, overwrite=False), texts))
    assert lines == [str(target)] * 40
    assert target.read_text() in texts


def test_an_edited_text_is_not_replaced(tmp_path: Path) -> None:
    save_text("text", tmp_path / "cut.csv", overwrite=False)
    (tmp_path / "cut.csv").write_text("mine")
    with pytest.raises(OutputError, match="already exists"):
        save_text("text", tmp_path / "cut.csv", overwrite=False)


def test_record_lists_clips_of_earlier_queries(ask: Callable[..., Any]) -> None:
    assert ask("green", more=("-k", "2", "--clips"))["ok"]
    clips = {path.name for path in Path().glob("green_*.mp4")}
    assert len(clips) == 2
    assert ask("red", more=("--clips",))["ok"]  # so green is answered again
    assert clips <= json.loads(Path("film_moments.json").read_text())["outputs"].keys()


def test_outdated_clip_of_an_earlier_query_is_removed(ask: Callable[..., Any]) -> None:
    assert ask("green", more=("-k", "2", "--clips"))["ok"]
    assert ask("green", more=("--clips", "--min-present", "0.2"))["ok"]
    assert len(list(Path().glob("green_*.mp4"))) == 1


@pytest.mark.parametrize("content", ["[" * 200_000, '{"outputs": 5}', '{"outputs": {"a": [[]]}}', "no JSON"])
@pytest.mark.parametrize("name", ["zz.json", deep("zz.mp4.vidsum.json")])
def test_odd_records_beside_a_result(ask: Callable[..., Any], name: str, content: str) -> None:
    Path(name).write_text(content)
    assert ask("red", "green", more=("--clips",))["ok"]
    assert ask("red", more=("--clips", "--min-present", "0.2"))["ok"]
    assert Path(name).read_text() == content


def test_pipes_beside_a_result_are_not_read(ask: Callable[..., Any]) -> None:
    for name in ("zz.json", "zz.mp4.vidsum.json"):
        os.mkfifo(name)
    assert ask("red", more=("--clips",))["ok"]


def test_queries_are_added_to_a_named_file(ask: Callable[..., Any]) -> None:
    for colours in (["red", "green"], ["blue"]):
        assert ask(*colours, more=("-o", "m.json"))["ok"]
    assert queries_of("m.json") == ["blue", "green", "red"]


def test_earlier_queries_are_answered_again_with_other_options(
    ask: Callable[..., Any], run: Run, film: Path
) -> None:
    assert ask("red")["ok"]
    ran = run("ground", film, "--device", "cpu", "-k", "2", "--query", "green")
    assert "red" not in ran.out
    queries = json.loads(Path("film_moments.json").read_text())["queries"]
    assert [(query["query"], len(query["moments"])) for query in queries] == [("green", 2), ("red", 2)]


def test_added_queries_have_curves_where_the_file_has_them(ask: Callable[..., Any]) -> None:
    assert ask("blue")["ok"]
    assert ask("red", more=("--saliency",))["ok"]  # so blue is answered again
    assert "timestamps_s" not in ask("green")["data"]
    document = json.loads(Path("film_moments.json").read_text())
    assert [len(query["saliency"]) for query in document["queries"]] == [len(document["timestamps_s"])] * 3


def test_curve_of_an_added_query_is_up_to_date(ask: Callable[..., Any]) -> None:
    assert ask("red", more=("--saliency",))["ok"]
    assert ask("green")["ok"]
    assert ask("green", more=("--saliency",))["data"]["up_to_date"]


@pytest.fixture
def clipped(ask: Callable[..., Any], film: Path) -> tuple[str, str]:
    """Clips of two queries of which the next run needs half; one of the others, the first, was edited."""
    assert ask("green", "red", more=("--clips", "-k", "2"))["ok"]
    first = clips_here()
    assert len(first) == 4
    assert ask("green", "red", more=("--clips-dir", "best", "-o", "best.json"))["ok"]
    mine, other = sorted(first.keys() - {path.name for path in Path("best").iterdir()})
    Path(mine).write_bytes(film.read_bytes())
    return mine, other


def clips_here() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().glob("*_film_0m0?s.mp4")}


def test_outdated_clips_are_removed_unless_they_were_edited(
    ask: Callable[..., Any], clipped: tuple[str, str]
) -> None:
    _, other = clipped
    before = clips_here()
    assert ask("red", more=("--clips",))["ok"]  # so green is answered again
    assert before.keys() - clips_here().keys() == {other}


def test_edited_clip_is_refused_before_any_is_written(
    ask: Callable[..., Any], clipped: tuple[str, str]
) -> None:
    mine, _ = clipped
    assert ask("red", more=("--clips",))["ok"]
    before = clips_here()
    refused = ask("green", "red", more=("--clips", "-k", "2"))
    assert (refused["ok"], clips_here() == before) == (False, True)
    assert mine in refused["errors"][0]["message"]


def test_plot_that_lacks_an_added_query_is_removed(ask: Callable[..., Any]) -> None:
    assert ask("green", more=("--clips", "--plot"))["ok"]
    assert ask("red", more=("--clips",))["ok"]
    assert files_here() == ["film_moments.json", "green_film_0m02s.mp4", "red_film_0m00s.mp4"]


def test_clips_with_added_queries_are_up_to_date(ask: Callable[..., Any]) -> None:
    assert ask("green", more=("--clips",))["ok"]
    assert ask("red", more=("--clips",))["ok"]
    assert ask("green", more=("--clips",))["data"]["up_to_date"]


@pytest.mark.parametrize(
    ("n_moved", "before", "after"),
    [
        deep(0, [], []),
        (1, [], LONGER),
        deep(0, ["--budget", "20%"], LONGER),
        deep(1, ["--budget", "20%"], []),
    ],
)
def test_next_run_completes_one_that_was_killed(
    run: Run, film: Path, n_moved: int, before: list[str], after: list[str]
) -> None:
    ask = ("summarize", film, "--storyboard", "--plot")
    if before:
        run(*ask, *before)
    kill(*ask, n_moved=n_moved)
    run(*ask, *after)
    assert "(unchanged)" in run(*ask, *after).out
    assert not list(Path().glob("*.vidsum.json"))
    assert probe("film_summary.mp4").duration_s == pytest.approx(4 if after else 5, abs=0.2)


@pytest.mark.deep
def test_edited_file_is_refused_after_a_kill(run: Run, film: Path) -> None:
    kill("summarize", film, "--plot")
    Path("film_summary.mp4").write_bytes(b"mine")
    run("summarize", film, "--plot", code=1)
    assert Path("film_summary.mp4").read_bytes() == b"mine"


@pytest.mark.deep
def test_export_is_completed_after_a_kill(run: Run, film: Path) -> None:
    run("shots", film)
    run("export", "film_shots.json", "-o", "cut.csv")
    run("shots", film, "--shots", "uniform")
    kill("export", "film_shots.json", "-o", "cut.csv", n_moved=0)
    assert run("export", "film_shots.json", "-o", "cut.csv").out == "cut.csv\n"
