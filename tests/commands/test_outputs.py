"""Outputs never cost an input, another output, or work that was for nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.commands.conftest import Run
from vidsum.commands.names import own_names
from vidsum.io.provenance import identify_file
from vidsum.results.summary import Summary


@pytest.fixture(autouse=True)
def without_weights(loads: list[str]) -> list[str]:
    """No test here loads a real network; lists those that would have been."""
    return loads


@pytest.mark.parametrize("arguments", [["summarize"], ["summarize", "--overwrite"]])
def test_an_input_is_never_written_over(run: Run, film: Path, arguments: list[str]) -> None:
    before = film.read_bytes()
    ran = run(*arguments, film, "-o", film)
    assert ran.code == 2
    assert "over the input" in ran.err
    assert film.read_bytes() == before


def test_another_input_of_the_batch_is_not_written_over_either(run: Run, film: Path) -> None:
    Path("film_summary.mp4").write_bytes(film.read_bytes())
    ran = run("summarize", film, "film_summary.mp4", "--overwrite")
    assert (ran.code, "over the input" in ran.err) == (1, True)
    assert Path("film_summary.mp4").read_bytes() == film.read_bytes()
    assert Path("film_summary_summary.mp4").exists()


@pytest.mark.parametrize("command", ["extract", "shots", "summarize"])
def test_the_second_of_two_inputs_of_one_name_is_refused(
    run: Run, film: Path, tmp_path: Path, command: str
) -> None:
    ran = run(command, film, other := same_name(film, tmp_path / "other"))
    assert (ran.code, str(other) in ran.err, "{parent}_{stem}" in ran.err) == (1, True, True)
    assert len([*Path().glob("film_*.*")]) == (2 if command == "summarize" else 1)


@pytest.mark.parametrize(
    ("command", "output"), [("extract", "f.mp4"), ("shots", "s.mp4"), ("summarize", "s.avi")]
)
def test_a_suffix_that_does_not_fit_is_refused_before_any_work(
    run: Run, film: Path, command: str, output: str, loads: list[str]
) -> None:
    ran = run(command, film, "-o", output)
    assert ran.code == 2
    assert "must end in" in ran.err
    assert loads == []


def test_a_missing_folder_is_told_before_any_work(run: Run, film: Path, loads: list[str]) -> None:
    ran = run("summarize", film, "-o", "no/s.mp4")
    assert ran.code == 1
    assert "mkdir -p no" in ran.err
    assert loads == []


def test_the_output_folder_is_made(run: Run, film: Path) -> None:
    assert run("extract", film, "--output-dir", "new/folder").code == 0
    assert Path("new/folder/film_efficientnet_lite0.npz").exists()


def test_a_file_that_is_not_ours_is_left_alone(run: Run, film: Path) -> None:
    Path("film_summary.json").write_text("{}")
    ran = run("summarize", film)
    assert ran.code == 1
    assert "not known to be made by vidsum" in ran.err
    assert Path("film_summary.json").read_text() == "{}"


def test_an_up_to_date_result_tells_the_same_and_that_it_is(run: Run, film: Path) -> None:
    first = run("summarize", film, "--json").json["data"]
    again = run("summarize", film, "--json").json["data"]
    assert again.pop("up_to_date") is True
    assert again == first
    with av.open("film_summary.mp4") as container:
        assert container.metadata["comment"].startswith("vidsum ")


def test_a_video_with_a_hash_in_its_name_keeps_it(run: Run, film: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a#b.mp4"
    film.rename(odd)
    assert run("summarize", odd, "-o", "-").json["video"]["path"] == str(odd)
    assert run("shots", odd).code == 0
    assert json.loads(Path("a#b_shots.json").read_text())["shots"]


def same_name(film: Path, folder: Path) -> Path:
    """A copy of a film under the same name in another folder."""
    folder.mkdir()
    copy = folder / film.name
    copy.write_bytes(film.read_bytes())
    return copy


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{parent}_{stem}.json", ["one_film.json", "two_film.json"]),
        ("made/{parent}/{stem}.json", ["made/one/film.json", "made/two/film.json"]),
        ("{n:03d}.json", ["001.json", "002.json"]),
        ("{parent}_{name}.json", ["one_film.mp4.json", "two_film.mp4.json"]),
        ("{parent}/{stem}_of{suffix}.json", ["one/film_of.mp4.json", "two/film_of.mp4.json"]),
    ],
)
def test_a_template_names_the_output_of_each_input(
    run: Run, film: Path, tmp_path: Path, template: str, names: list[str]
) -> None:
    films = [same_name(film, tmp_path / name) for name in ("one", "two")]
    ran = run("shots", *films, "-o", template)
    assert ran.code == 0, ran.err
    assert all(Path(name).is_file() for name in names)


@pytest.mark.parametrize("template", ["{nam}.json", "{stem.x}.json", "{stem", "{}.json", "{n:q}.json"])
def test_a_template_that_makes_no_sense_is_refused(run: Run, film: Path, template: str) -> None:
    ran = run("shots", film, "-o", template)
    assert (ran.code, "{parent}" in ran.err) == (2, True)


def test_a_template_that_gives_one_name_twice_is_refused(run: Run, film: Path, tmp_path: Path) -> None:
    ran = run("shots", film, same_name(film, tmp_path / "two"), "-o", "{stem}.json")
    assert (ran.code, "both" in ran.err, Path("film.json").exists()) == (1, True, True)


def test_one_name_for_several_inputs_is_refused_with_their_names(run: Run, film: Path) -> None:
    ran = run("shots", film, "nonsense", "third", "-o", "s.json")
    assert ran.code == 2
    assert f"there are several inputs: {film}, nonsense and 1 more" in ran.err


def test_an_output_folder_keeps_the_folders_of_the_inputs(run: Run, film: Path, tmp_path: Path) -> None:
    films = [same_name(film, tmp_path / name) for name in ("one", "two")]
    assert run("summarize", *films, "--output-dir", "out").code == 0
    for name in ("one", "two"):
        assert Path("out", name, "film_summary.mp4").is_file()
        assert Path("out", name, "film_summary.json").is_file()
    assert run("summarize", films[0], "--output-dir", "alone").code == 0
    assert Path("alone/film_summary.json").is_file()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["segments"][0].update(start_s=0.123),
        lambda record: record["importance"]["scores"].__setitem__(0, float("nan")),
        lambda record: record.update(warnings=["none of this is true"]),
        lambda record: record.pop("digest"),
        lambda record: record.update(digest="0" * 32),
        lambda record: record.update(schema="vidsum.summary/2"),
        lambda record: record.update(schema="vidsum.../2"),
        lambda record: record.pop("shots"),
    ],
)
def test_a_record_that_was_changed_is_not_trusted(
    run: Run, film: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    assert run("summarize", film).code == 0
    record = Path("film_summary.json")
    document = json.loads(record.read_text())
    change(document)
    record.write_text(json.dumps(document))
    ran = run("summarize", film)
    assert (ran.code, "already exists" in ran.err, "--overwrite" in ran.err) == (1, True, True)
    assert run("summarize", film, "--overwrite").code == 0
    assert "unchanged" in run("summarize", film).out


@pytest.mark.shared
@pytest.mark.parametrize("name", ["m39", "m60", "m396", "m438"])
def test_records_that_were_taken_for_ours_are_not(run: Run, film: Path, shared: Path, name: str) -> None:
    Path("film_summary.json").write_bytes((shared / "bad" / f"record_{name}.json").read_bytes())
    ran = run("summarize", film)
    assert (ran.code, "already exists" in ran.err) == (1, True)


@pytest.mark.parametrize("step", ["write_storyboard", "write_plot"])
@pytest.mark.parametrize("stopped_by", [SystemExit(143), OSError(28, "No space left on device")])
def test_a_run_that_was_stopped_leaves_nothing(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, step: str, stopped_by: BaseException
) -> None:
    def stop(*_: object) -> None:
        raise stopped_by

    arguments = ("summarize", film, "--storyboard", "--plot")
    for budget in ([], ["--budget", "40%"]):
        with monkeypatch.context() as context:
            context.setattr(f"vidsum.pipelines.export.{step}", stop)
            before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
            assert run(*arguments, *budget).code != 0
        assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
        assert run(*arguments, *budget).code == 0
        assert "unchanged" in run(*arguments, *budget).out
    assert list(Path().glob(".*")) == []


def test_an_interrupted_batch_keeps_what_is_done_and_goes_on_from_there(
    run: Run, film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    films = [film, *(same_name(film, tmp_path / name).rename(tmp_path / f"{name}.mp4") for name in "bc")]
    from vidsum.pipelines import export

    write_video = export.write_video

    def interrupted(summary: Summary, path: Path, **options: Any) -> Any:
        if path.name.startswith(".b_"):
            raise KeyboardInterrupt
        return write_video(summary, path, **options)

    with monkeypatch.context() as context:
        context.setattr("vidsum.pipelines.export.write_video", interrupted)
        ran = run("summarize", *films)
    assert (ran.code, ran.err.splitlines()[-1]) == (130, "interrupted")
    assert [Path(f"{name}_summary.json").exists() for name in ("film", "b", "c")] == [True, False, False]
    assert list(Path().glob(".*")) == []
    lines = run("summarize", *films, "--json").json_lines
    assert [line["data"].get("up_to_date", False) for line in lines] == [True, False, False]
    assert all(line["ok"] for line in lines)


@pytest.mark.parametrize("link", ["symlink", "hardlink"])
def test_a_link_to_the_input_is_no_way_to_write_over_it(run: Run, film: Path, link: str) -> None:
    before = film.read_bytes()
    if link == "symlink":
        Path("s.mp4").symlink_to(film)
    else:
        Path("s.mp4").hardlink_to(film)
    ran = run("summarize", film, "-o", "s.mp4", "--overwrite")
    assert ran.code == 2, ran.err
    assert film.read_bytes() == before


def test_a_run_that_wrote_nothing_leaves_no_mark(run: Run, film: Path) -> None:
    assert run("summarize", film).code == 0
    for options in (["--min-segment", "9999", "--max-segment", "1"], ["--keep", "50-60", "--overwrite"]):
        assert run("summarize", film, *options).code == 2
        assert list(Path().glob(".*")) == []
    Path("film_summary.json").write_text("my notes")
    assert run("summarize", film).code == 1
    assert Path("film_summary.json").read_text() == "my notes"


def test_the_result_of_a_command_is_no_record(run: Run, film: Path) -> None:
    Path("film_summary.json").write_text(run("summarize", film, "--dry-run", "--json").out)
    ran = run("summarize", film)
    assert (ran.code, "internal" in ran.err) == (1, False)


COMMANDS = {"shots": "_shots.json", "summarize": "_summary.mp4", "extract": "_efficientnet_lite0.npz"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_second_input_of_one_stem_has_its_suffix_in_its_names(run: Run, film: Path, command: str) -> None:
    other, ending = film.with_suffix(".MKV"), COMMANDS[command]
    other.write_bytes(film.read_bytes())
    assert run(command, other).code == 0
    assert run(command, film, other, "--jobs", 2).code == 0
    for order in ((film, other), (other, film), (film,), (other,)):
        for option in ("--json", "--update", "--skip-existing"):
            assert run(command, *order, option).code == 0, option
    assert sorted(path.name for path in Path().glob(f"*{ending}")) == [f"film.mp4{ending}", f"film{ending}"]
    film.rename("FILM.mp4")
    assert "FILM_" in run(command, "FILM.mp4").out


def test_a_record_of_sound_belongs_to_the_file_that_it_was_made_of(tmp_path: Path) -> None:
    def owned(*sounds: Path) -> list[str]:
        names = own_names([*map(str, sounds)], lambda _, stem: tmp_path / f"{stem}_transcript.json")
        return [path.name for path in names.values()]

    sounds = [tmp_path / "talk.flac", tmp_path / "talk.wav"]
    plain, longer = "talk_transcript.json", "talk.wav_transcript.json"
    for number, sound in enumerate(sounds):
        sound.write_bytes(bytes(100 + number))
    assert owned(*sounds) == [plain, longer]
    for sound, name in zip(sounds, owned(*sounds), strict=True):
        (tmp_path / name).write_text(
            json.dumps({"video": None, "provenance": {"video": identify_file(sound)}})
        )
        assert (owned(sounds[0]), owned(sounds[1])) == ([plain], [longer])
    assert owned(*sounds[::-1]) == [longer, plain]
    sounds[0].write_bytes(b"edited")
    assert owned(sounds[0]) == [plain]


def test_a_stem_belongs_to_the_input_whose_run_was_stopped(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = film.with_suffix(".mov")
    other.write_bytes(film.read_bytes()[:-9])
    with monkeypatch.context() as context:
        context.setattr("vidsum.commands.staging.move", lambda *_: os._exit(9))
        if (child := os.fork()) == 0:
            run("summarize", film, "--copy")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert [path.name for path in Path().glob("film_*")] == ["film_summary.json"]
    assert run("summarize", other, film, "--copy").code == 0
    assert Path("film.mov_summary.mp4").exists()


def test_a_renamed_input_keeps_its_outputs(run: Run, film: Path) -> None:
    assert run("shots", film).code == 0
    assert "unchanged" in run("shots", film.rename("film.MP4")).out


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_long_names_are_shortened_and_stay_apart(run: Run, film: Path, letter: str) -> None:
    size = len(letter.encode())
    films = [film.with_name(letter * (250 // size) + end) for end in ("1.ts", "2.ts", "2.mp4")]
    for path in films:
        path.write_bytes(film.read_bytes())
    extra = ("--storyboard", "--subtitles", "--export", "ffmetadata", "--preview", "gif")
    for path in films:
        assert run("summarize", path, *extra, "--skip-existing").code == 0
        assert run("shots", path, "--clips", "--images", 1, "--stats", "--sheet").code == 0
    assert len([*Path().glob("*_summary.mp4")]) == 3
    assert max(len(os.fsencode(path.name)) for path in Path().iterdir()) <= 255


def test_one_bad_item_does_not_stop_the_others(run: Run, film: Path) -> None:
    odd = film.with_name(os.fsdecode(b"caf\xe9.mp4"))
    odd.write_bytes(film.read_bytes())
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    inputs = (odd, "own.npz", film)
    ran = run("shots", *inputs, "--export", "edl", "--export", "csv", "--json")
    assert ran.code == 1
    assert [len(result["errors"]) for result in map(json.loads, ran.out.splitlines())] == [1, 1, 0]
    assert len([*Path().glob("*_shots.csv")]) == len([*Path().glob("*_shots.json")]) == 3
    assert [path.name for path in Path().glob("*.edl")] == ["film_shots.edl"]
    assert run("shots", *inputs, "--sheet", "--output-dir", "o").code == 1
    assert run("summarize", *inputs, "-o", "o/{stem}.mp4").code == 1
    assert len([*Path("o").rglob("*_sheet.png")]) == len([*Path("o").glob("*.mp4")]) == 2


def test_the_current_folder_keeps_the_folders_too_if_it_is_named(
    run: Run, film: Path, tmp_path: Path
) -> None:
    films = [same_name(film, tmp_path / name) for name in ("one", "two")]
    assert run("shots", *films, "--output-dir", ".").code == 0
    assert Path("two/film_shots.json").is_file()


def test_an_mp4_of_another_encoding_is_not_up_to_date(run: Run, film: Path) -> None:
    hevc = ("--codec", "hevc", "--crf", "30")
    assert run("summarize", film, *hevc).code == 0
    with av.open("film_summary.mp4") as container:
        assert container.streams.video[0].codec_context.name == "hevc"
    assert run("summarize", film, *hevc, "--json").json["data"]["up_to_date"] is True
    assert "up_to_date" not in run("summarize", film, *hevc[:3], "31", "--json").json["data"]
    assert run("summarize", film, "--codec", "copy").code == 0
    assert run("summarize", film, "--copy", "--json").json["data"]["up_to_date"] is True


def test_a_copy_has_no_encoder(run: Run, film: Path) -> None:
    assert run("summarize", film, "--copy", "--crf", "20").code == 2
    assert run("summarize", film, "--codec", "copy", "--preset", "slow").code == 2


def test_chapters_are_the_segments_and_a_form_of_their_own(run: Run, film: Path) -> None:
    assert run("summarize", film, "--chapters", "--plot").code == 0
    segments = json.loads(Path("film_summary.json").read_text())["segments"]
    with av.open("film_summary.mp4") as container:
        titles = [chapter["metadata"]["title"] for chapter in container.chapters()]
    assert titles == [f"0:{each['start_s']:05.2f}-0:{each['end_s']:05.2f}" for each in segments]
    assert run("summarize", film, "--chapters", "--plot", "--json").json["data"]["up_to_date"] is True
    for other in ([], ["--chapters", "--copy"], ["--chapters"]):
        assert "up_to_date" not in run("summarize", film, *other, "--json").json["data"]
