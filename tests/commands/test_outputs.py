"""Outputs never cost an input, another output, a foreign file, or work that was for nothing."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.commands.conftest import copies, files_in
from tests.conftest import deep
from tests.program import Run
from tests.speech import stub
from vidsum.errors import InputError
from vidsum.io.atomic import is_special
from vidsum.outputs.names import own_names
from vidsum.results.load import load, read_document
from vidsum.results.summary import Summary

pytestmark = pytest.mark.usefixtures("known_film")


@pytest.mark.parametrize("command", ["extract", "shots", "summarize"])
def test_two_inputs_of_one_name(run: Run, film: Path, tmp_path: Path, command: str) -> None:
    ran = run(command, film, other := same_name(film, tmp_path / "other"), code=1)
    assert str(other) in ran.err
    assert "{parent}_{stem}" in ran.err
    assert len([*Path().glob("film_*.*")]) == (1 if command == "shots" else 2)


def test_up_to_date_result_has_the_data_of_the_first_run(run: Run, film: Path) -> None:
    first = run("summarize", film, "--json").json["data"]
    again = run("summarize", film, "--json").json["data"]
    assert again.pop("up_to_date") is True
    assert again == first


def test_written_video_names_vidsum(run: Run, film: Path) -> None:
    run("summarize", film)
    with av.open("film_summary.mp4") as container:
        assert container.metadata["comment"].startswith("vidsum ")


@pytest.mark.parametrize(
    "options",
    [["--min-segment", "9999", "--max-segment", "1"], ["--keep", "50-60", "--overwrite"]],
    ids=["contradiction", "outside the video"],
)
def test_wrong_options_leave_no_hidden_files(run: Run, film: Path, options: list[str]) -> None:
    run("summarize", film)
    run("summarize", film, *options, code=2)
    assert list(Path().glob(".*")) == []


@pytest.fixture
def odd(film: Path) -> Path:
    """The film under a name with a mark that begins a name inside a file."""
    return film.rename(film.with_name("a#b.mp4"))


def test_summary_of_a_name_with_a_hash_has_its_path(run: Run, odd: Path) -> None:
    assert run("summarize", odd, "-o", "-").json["video"]["path"] == str(odd)


def test_output_of_a_name_with_a_hash_keeps_it(run: Run, odd: Path) -> None:
    run("shots", odd)
    assert json.loads(Path("a#b_shots.json").read_text())["shots"]


def test_renamed_input_is_up_to_date(run: Run, film: Path) -> None:
    run("shots", film)
    assert "unchanged" in run("shots", film.rename("film.MP4")).out


def same_name(film: Path, folder: Path) -> Path:
    """A copy of a film under the same name in another folder."""
    return copies(film, folder / film.name)[0]


@pytest.mark.parametrize(("template", "names"), [
    ("{parent}_{stem}.json", ["one_film.json", "two_film.json"]),
    ("made/{parent}/{stem}.json", ["made/one/film.json", "made/two/film.json"]),
    ("{n:03d}.json", ["001.json", "002.json"]),
    ("{parent}_{name}.json", ["one_film.mp4.json", "two_film.mp4.json"]),
    ("{parent}/{stem}_of{suffix}.json", ["one/film_of.mp4.json", "two/film_of.mp4.json"]),
])  # fmt: skip
def test_output_template(run: Run, film: Path, tmp_path: Path, template: str, names: list[str]) -> None:
    films = [same_name(film, tmp_path / name) for name in ("one", "two")]
    run("shots", *films, "-o", template)
    assert all(Path(name).is_file() for name in names)


def test_second_input_of_a_templates_name_is_refused(run: Run, film: Path, tmp_path: Path) -> None:
    run("shots", film, same_name(film, tmp_path / "two"), "-o", "{stem}.json", code=1, error="both")
    assert Path("film.json").exists()


def test_output_folder_below_a_file_is_refused(run: Run, film: Path) -> None:
    Path("notes").write_text("mine")
    ran = run("shots", film, "--output-dir", "notes/new", code=1, error="notes/new: cannot be made")
    assert "Errno" not in ran.err


def test_output_folder_keeps_folders_of_several_inputs(run: Run, film: Path, tmp_path: Path) -> None:
    films = [same_name(film, tmp_path / name) for name in ("one", "two")]
    run("summarize", *films, "--output-dir", "out")
    for name in ("one", "two"):
        assert Path("out", name, "film_summary.mp4").is_file()
        assert Path("out", name, "film_summary.json").is_file()


def test_output_folder_of_one_input_has_no_folders(run: Run, film: Path) -> None:
    run("summarize", film, "--output-dir", "alone")
    assert Path("alone/film_summary.json").is_file()


@pytest.mark.parametrize("change", [
    lambda record: record["segments"][0].update(start_s=0.123),
    lambda record: record["importance"]["scores"].__setitem__(0, float("nan")),
    deep(lambda record: record.update(warnings=["none of this is true"])),
    lambda record: record.pop("digest"),
    deep(lambda record: record.update(digest="0" * 32)),
    lambda record: record.update(schema="vidsum.summary/2"),
    deep(lambda record: record.update(schema="vidsum.../2")),
    deep(lambda record: record.pop("shots")),
])  # fmt: skip
def test_changed_record(run: Run, film: Path, change: Callable[[dict[str, Any]], object]) -> None:
    run("summarize", film)
    record = Path("film_summary.json")
    document = json.loads(record.read_text())
    change(document)
    record.write_text(json.dumps(document))
    run("summarize", film, code=1, error=("already exists", "--overwrite"))
    run("summarize", film, "--overwrite")
    assert "unchanged" in run("summarize", film).out


@pytest.mark.shared
@pytest.mark.parametrize("name", ["m39", "m60", "m396", "m438"])
def test_forged_records(run: Run, film: Path, shared: Path, name: str) -> None:
    Path("film_summary.json").write_bytes((shared / "bad" / f"record_{name}.json").read_bytes())
    run("summarize", film, code=1, error="already exists")


@pytest.mark.usefixtures("quick_plots")
@pytest.mark.parametrize(("step", "stopped_by"), [
    ("storyboard", SystemExit(143)),
    ("importance_plot", OSError(28, "No space left on device")),
    deep("storyboard", OSError(28, "No space left on device")),
    deep("importance_plot", SystemExit(143)),
])  # fmt: skip
def test_stopped_run_leaves_nothing(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, step: str, stopped_by: BaseException
) -> None:
    def stop(*_: object) -> None:
        raise stopped_by

    arguments = ("summarize", film, "--storyboard", "--plot")
    for budget in ([], ["--budget", "40%"]):
        with monkeypatch.context() as context:
            context.setattr(f"vidsum.summary.storyboard.{step}", stop)
            before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
            assert run(*arguments, *budget, code=None).code != 0
        assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
        run(*arguments, *budget)
        assert "unchanged" in run(*arguments, *budget).out
    assert list(Path().glob(".*")) == []


@pytest.fixture
def interrupted(
    run: Run, film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Path], str]:
    """The films of a batch that Ctrl-C ended while it wrote the second, and what it said."""
    films = [film, *copies(film, tmp_path / "b.mp4", tmp_path / "c.mp4")]
    from vidsum.outputs import mp4

    encode = mp4.encode_segments

    def interrupt(summary: Summary, path: Path, *options: Any) -> Any:
        if path.name.startswith(".b_"):
            raise KeyboardInterrupt
        return encode(summary, path, *options)

    with monkeypatch.context() as context:
        context.setattr("vidsum.outputs.mp4.encode_segments", interrupt)
        ran = run("summarize", *films, code=130)
    return films, ran.err


def test_interrupted_batch_says_so(interrupted: tuple[list[Path], str]) -> None:
    _, printed = interrupted
    assert printed.splitlines()[-1] == "interrupted"


@pytest.mark.usefixtures("interrupted")
def test_interrupted_batch_leaves_whole_results_alone() -> None:
    assert [Path(f"{name}_summary.json").exists() for name in ("film", "b", "c")] == [True, False, False]
    assert list(Path().glob(".*")) == []


def test_interrupted_batch_is_completed_by_the_next_run(
    run: Run, interrupted: tuple[list[Path], str]
) -> None:
    films, _ = interrupted
    lines = run("summarize", *films, "--json").json_lines
    assert [line["data"].get("up_to_date", False) for line in lines] == [True, False, False]
    assert all(line["ok"] for line in lines)


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_output_linked_to_input(run: Run, film: Path, link: str) -> None:
    before = film.read_bytes()
    getattr(Path("s.mp4"), link)(film)
    run("summarize", film, "-o", "s.mp4", "--overwrite", code=2)
    assert film.read_bytes() == before


COMMANDS = {"shots": "_shots.json", "summarize": "_summary.mp4", "extract": "_efficientnet_lite0.npz"}


@pytest.mark.deep
@pytest.mark.parametrize("command", ["shots", deep("summarize"), deep("extract")])
def test_two_suffixes_of_one_stem(run: Run, film: Path, command: str) -> None:
    (other,), ending = copies(film, film.with_suffix(".MKV")), COMMANDS[command]
    run(command, other)
    run(command, film, other, "--jobs", 2)
    for order in ((film, other), (other, film)):
        run(command, *order, "--skip-existing")
    written = sorted(path.name for path in Path().glob(f"*{ending}"))
    assert written == [f"film.MKV{ending}", f"film.mp4{ending}"]


def stems(*paths: Path | str) -> list[str]:
    """Return the names that outputs of these inputs take, without their endings."""
    return [path.name for path in own_names(list(map(str, paths)), lambda _, stem: Path(stem)).values()]


@pytest.fixture
def mixed_folder(film: Path) -> Path:
    """The folder of the film, in which other files have its name, and some the name of a talk."""
    for name in ("film.wav", "film.npz", "film.srt", "talk.wav", "talk.npz", "talk.txt"):
        film.with_name(name).write_bytes(b"")
    return film.parent


def test_video_takes_the_name_that_other_inputs_share(mixed_folder: Path) -> None:
    inputs = [mixed_folder / name for name in ("film.mp4", "film.wav", "film.npz", "talk.wav")]
    assert stems(*inputs) == ["film", "film.wav", "film.npz", "talk.wav"]


def test_missing_inputs_take_their_stems(mixed_folder: Path) -> None:
    assert stems(mixed_folder / "film.mp4", "nowhere/film.mp4", "a\0/b.mp4") == ["film", "film", "b"]


def test_video_inside_a_file_takes_its_own_name(mixed_folder: Path) -> None:
    (mixed_folder / "film.h5").write_bytes(b"")
    assert stems(mixed_folder / "film.h5#video_1", mixed_folder / "film.mp4") == ["video_1", "film"]


def test_sound_alone_of_its_name_takes_its_stem(mixed_folder: Path) -> None:
    (mixed_folder / "talk.npz").unlink()
    assert stems(mixed_folder / "talk.wav") == ["talk"]


def test_output_with_the_name_of_an_input_is_refused(film: Path, run: Run) -> None:
    copies(film, "film_summary.mp4")
    run("summarize", film, "film_summary.mp4", "--overwrite", code=1, error="over the input")
    assert Path("film_summary.mp4").read_bytes() == film.read_bytes()
    assert Path("film_summary_summary.mp4").exists()


@pytest.mark.deep
@pytest.mark.parametrize("letter", [deep("x"), "\U0001f600"])
def test_shortened_names(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, letter: str) -> None:
    stub.install(monkeypatch)
    size = len(letter.encode())
    names = (letter * (250 // size) + end for end in ("1.ts", "2.ts", "2.mp4"))
    films = copies(film, *map(film.with_name, names))
    extra = ("--storyboard", "--save-subtitles", "--export", "ffmetadata")
    for path in films:
        run("summarize", path, *extra, "--skip-existing")
        run("shots", path, "--clips", "--images", 1, "--sheet")
    assert len([*Path().glob("*_summary.mp4")]) == 3
    assert max(len(os.fsencode(path.name)) for path in Path().iterdir()) <= 255


@pytest.fixture
def odd_inputs(film: Path) -> tuple[Path | str, ...]:
    """A film whose name no timeline can hold, features without a video, and a film."""
    (odd,) = copies(film, film.with_name(os.fsdecode(b"caf\xe9.mp4")))
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    return odd, "own.npz", film


def test_inputs_without_a_timeline_fail_alone(run: Run, odd_inputs: tuple[Path | str, ...]) -> None:
    ran = run("shots", *odd_inputs, "--export", "edl", "--export", "csv", "--json", code=1)
    assert [len(result["errors"]) for result in map(json.loads, ran.out.splitlines())] == [1, 1, 0]
    written = sorted(path.name for path in Path().glob("*_shots.*"))
    assert written == ["film_shots.csv", "film_shots.edl", "film_shots.json"]


def test_features_without_a_video_have_no_sheet(run: Run, odd_inputs: tuple[Path | str, ...]) -> None:
    run("shots", *odd_inputs, "--sheet", "--output-dir", "o", code=1)
    assert len([*Path("o").rglob("*_sheet.png")]) == 2


def test_features_without_a_video_have_no_summary_as_mp4(
    run: Run, odd_inputs: tuple[Path | str, ...]
) -> None:
    run("summarize", *odd_inputs, "-o", "o/{stem}.mp4", code=1)
    assert len([*Path("o").glob("*.mp4")]) == 2


@pytest.mark.parametrize(
    "taken", ["film.mp4", "out.json", "list.txt", "own.yaml", "notes.txt", "link.mp4", "hard.mp4"]
)
def test_table_spares_files(run: Run, film: Path, taken: str, loads: list[str]) -> None:
    Path("film.mp4").write_bytes(film.read_bytes())
    Path("link.mp4").symlink_to("film.mp4")
    os.link("film.mp4", "hard.mp4")
    for name, text in {"list.txt": "film.mp4\n", "own.yaml": "device: cpu\n", "notes.txt": "mine\n"}.items():
        Path(name).write_text(text)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    words = ["shots", "--from-file", "list.txt", "-o", "out.json", "--config", "own.yaml"]
    ran = run(*words, "--table", taken, code=None, error=taken)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err
    assert loads == []
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["queries.txt", "film_moments.json", "film_moments.csv"])
def test_table_over_files_of_ground(run: Run, film: Path, name: str) -> None:
    Path("queries.txt").write_text("a dog\n")
    ran = run("ground", film, "--queries", "queries.txt", "--export", "csv", "--table", name, code=2)
    assert name in ran.err
    assert Path("queries.txt").read_text() == "a dog\n"


def test_file_created_during_batch(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vidsum.pipelines import cut_shots

    plan = cut_shots.plan_shots

    def interfering(*arguments: object) -> object:
        Path("all.csv").write_text("mine")
        return plan(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cut_shots, "plan_shots", interfering)
    run("shots", film, "--table", "all.csv", code=1)
    assert Path("all.csv").read_text() == "mine"


def test_table_to_a_pipe_without_a_reader_is_refused(run: Run, film: Path) -> None:
    os.mkfifo("pipe")
    ran = run("shots", film, "--table", "pipe", code=1, error="no process reads this pipe")
    assert "Traceback" not in ran.err


def test_table_goes_to_a_pipe(run: Run, film: Path) -> None:
    os.mkfifo("pipe.csv")
    transcript: list[str] = []
    reader = threading.Thread(target=lambda: transcript.append(Path("pipe.csv").read_text()), daemon=True)
    reader.start()
    run("shots", film, "--table", "pipe.csv")
    reader.join(10)
    assert transcript[0].splitlines()[1].split(",")[1] == "done"
    assert is_special(Path("pipe.csv"))


def test_output_to_a_device_leaves_the_device(run: Run, film: Path) -> None:
    Path("null.json").symlink_to("/dev/null")
    run("shots", film, "-o", "null.json", "--overwrite")
    assert is_special(Path("/dev/null"))


def test_endless_lists_are_refused(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.text.MAX_BYTES", 2**20)
    for words in (["ground", film, "--queries", "/dev/zero"], ["shots", "--from-file", "/dev/zero"]):
        run(*words, code=3, error="longer than 1 MiB")


@pytest.fixture
def of_playlist(run: Run, film: Path) -> str:
    """A document that was edited: its video is a playlist, which reads the film."""
    run("shots", film)
    document, playlist = read_document("film_shots.json"), film.with_name("list.txt")
    playlist.write_text(f"ffconcat version 1.0\nfile '{film}'\n")
    document["video"] |= {"container": "concat", "path": str(playlist)}
    Path("film_shots.json").write_text(json.dumps(document))
    return "film_shots.json"


@pytest.mark.parametrize(("command", "code"), [(["export", "-o", "x.edl"], 3), (["report"], 0)])
def test_document_of_a_playlist_is_refused(run: Run, of_playlist: str, command: list[str], code: int) -> None:
    verb, *options = command
    run(verb, of_playlist, *options, code=code, error="is a playlist")


@pytest.mark.usefixtures("of_playlist")
def test_document_of_a_playlist_is_not_replaced(run: Run, film: Path) -> None:
    run("shots", film, "--report", code=1)


def test_document_of_a_playlist_is_not_loaded(of_playlist: str) -> None:
    with pytest.raises(InputError, match="edited after"):
        load(of_playlist)


def test_an_input_that_fails_leaves_no_folder(run: Run, film: Path) -> None:
    Path("broken.mp4").write_bytes(b"no video")
    run("shots", "broken.mp4", "--output-dir", "out/new", code=3)
    assert not Path("out").exists()
    run("shots", "broken.mp4", film, "--output-dir", "out/new", code=1)
    assert files_in("out/new") == ["film_shots.json"]


def test_a_table_in_the_folder_of_the_outputs(run: Run, film: Path) -> None:
    Path("broken.mp4").write_bytes(b"no video")
    run("shots", "broken.mp4", "--output-dir", "out", "--table", "out/all.csv", code=3)
    assert files_in("out") == ["all.csv", "all.csv.vidsum.json"]
    run("shots", "broken.mp4", "--table", "new/all.csv", code=1, error="no folder new")
