"""`vidsum reel`: order, choice, what is left out, outputs that stay, timelines of the originals."""

import json
import re
import shutil
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

import vidsum
from tests import media
from tests.commands.conftest import files_here
from tests.conftest import deep
from tests.full_disk import files_up_to
from tests.program import Run, read_valid
from vidsum.results.decisions import decisions_path, write_decisions

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "yellow": (190, 180, 40)}


def clip(path: Path, colour: str, recorded: str = "", *, seconds: float = 4.0, **facts: Any) -> Path:
    """Write a clip of one colour, with a time of recording."""

    def paint(number: int, width: int, height: int) -> media.Picture:
        picture = np.full((height, width, 3), COLOURS[colour], np.uint8)
        picture[:, number % width] = 0  # it moves
        return picture

    made = media.make_video(path, n_frames=round(25 * seconds), paint=paint, **facts).path
    if recorded:
        shutil.move(made, plain := path.with_name(f"plain{path.suffix}"))
        with av.open(str(plain)) as source, av.open(str(path), "w") as target:
            target.metadata["creation_time"] = recorded
            streams = {stream: target.add_stream_from_template(stream) for stream in source.streams}
            for packet in source.demux():
                if packet.dts is not None:
                    packet.stream = streams[packet.stream]
                    target.mux(packet)
        plain.unlink()
    return path


def photograph(path: Path, colour: str, taken: str = "", offset: str = "+00:00") -> Path:
    """Write a photograph, with EXIF if it has a time."""
    image = Image.new("RGB", (80, 60), COLOURS[colour])
    exif = image.getexif()
    if taken:
        exif.get_ifd(0x8769).update({0x9003: taken, 0x9011: offset})
    image.save(path, exif=exif)
    return path


pytestmark = pytest.mark.usefixtures("loads")


@pytest.fixture
def folder(own_home: Path) -> Path:
    """A folder with a clip and a photograph of each of two days, whose names tell another order."""
    place = Path("Holiday")
    place.mkdir()
    clip(place / "d.mp4", "red", "2024-07-13T10:00:00Z", sound=True)
    photograph(place / "c.jpg", "green", "2024:07:13 13:00:00", "+02:00")
    clip(place / "b.mp4", "blue", "2024-07-14T10:00:00Z")
    photograph(place / "a.jpg", "yellow", "2024:07:14 09:00:00")
    return place


def names_of(document: Any) -> list[str]:
    """Return the files of the segments, in the order of the film."""
    sources = [Path(source["path"]).name for source in document["sources"]]
    return [sources[segment["source"]] for segment in document["segments"]]


def test_a_film_in_order_of_recording(run: Run, folder: Path) -> None:
    ran = run("reel", folder, "-o", "holiday.mp4", "--budget", "12s", "--titles")
    assert files_here() == ["Holiday", "holiday.json", "holiday.mp4"]
    document = read_valid("holiday.json", "reel")
    assert names_of(document) == ["d.mp4", "c.jpg", "a.jpg", "b.mp4"]
    assert [segment["title"] for segment in document["segments"]] == ["13 July 2024", "", "14 July 2024", ""]
    assert document["budget"]["used_s"] <= 12
    with av.open("holiday.mp4") as container:
        assert float(container.duration or 0) / av.time_base == pytest.approx(
            document["duration_s"], abs=0.05
        )
    assert "from 4 of 4 inputs" in ran.out


@pytest.mark.parametrize(
    ("order", "names"),
    [deep("name", ["a.jpg", "b.mp4", "c.jpg", "d.mp4"]), ("given", ["d.mp4", "a.jpg", "b.mp4", "c.jpg"])],
)
def test_other_orders(run: Run, folder: Path, order: str, names: list[str]) -> None:
    run("reel", folder / "d.mp4", folder, "-o", "-", "--budget", "12s", "--order", order)
    ran = run("reel", folder / "d.mp4", folder, "-o", "-", "--budget", "12s", "--order", order)
    assert names_of(json.loads(ran.out)) == names


def test_times_that_files_do_not_say(run: Run, folder: Path) -> None:
    clip(folder / "0.mp4", "green")
    for name, colour in (("a", "yellow"), ("c", "green")):
        photograph(folder / f"{name}.jpg", colour, "2024:07:13 13:00:00", "")
    ran = run("reel", folder, "-o", "-", "--budget", "15s")
    assert Path(json.loads(ran.out)["sources"][-1]["path"]).name == "0.mp4"
    assert "no recording time in 0.mp4: at the end, by name" in ran.err
    assert "no time zone in a.jpg and 1 more: taken as UTC" in ran.err


def test_cameras_without_a_time_zone_have_that_of_the_nearest_phone(run: Run, folder: Path) -> None:
    photograph(folder / "0.jpg", "blue", "2024:07:13 12:30:00", "")
    ran = run("reel", folder, "-o", "-", "--budget", "15s")
    names = [Path(source["path"]).name for source in json.loads(ran.out)["sources"]]
    assert names == ["d.mp4", "0.jpg", "c.jpg", "a.jpg", "b.mp4"]
    assert "time zone" not in ran.err


def test_subfolders_that_are_left_out_are_counted(run: Run, folder: Path) -> None:
    (folder / "Phone").mkdir()
    photograph(folder / "Phone" / "e.jpg", "red")
    ran = run("reel", folder, "-o", "-", "--budget", "15s")
    assert "Holiday: 1 subfolder left out; --recursive includes subfolders" in ran.err
    assert "subfolder" not in run("reel", folder, "-r", "-o", "-", "--budget", "15s").err
    for path in folder.glob("*.*"):
        path.unlink()
    assert "warning" not in run("reel", folder, "-o", "-", code=3).err


def test_damaged_and_foreign_files_are_left_out(run: Run, folder: Path) -> None:
    (folder / "broken.jpg").write_bytes((folder / "a.jpg").read_bytes()[:200])
    (folder / "broken.mp4").write_bytes(b"no video")
    (folder / "notes.txt").write_text("not an input")
    Path("letter.txt").write_text("an input")
    ran = run("reel", folder, "letter.txt", "-o", "film.json", "--budget", "12s", code=1)
    document = read_valid("film.json", "reel")
    assert [Path(part["path"]).name for part in document["left_out"]] == [
        "broken.jpg",
        "broken.mp4",
        "letter.txt",
    ]
    assert len(names_of(document)) == 4
    for name in ("broken.jpg", "broken.mp4", "letter.txt"):
        assert re.search(rf"error: .*{name}: .*; left out\n", ran.err)
    again = run("reel", folder, "letter.txt", "-o", "film.json", "--budget", "12s", code=1)
    assert "(unchanged)" in again.out
    assert "damaged at its start; left out" in again.err


def test_files_that_are_left_out_are_those_of_this_run(run: Run, folder: Path) -> None:
    run("reel", folder, "-o", "film.mp4", "--budget", "12s")
    film = Path("film.mp4").stat().st_mtime_ns
    (folder / "broken.mp4").write_bytes(b"no video")
    ran = run("reel", folder, "-o", "film.mp4", "--budget", "12s", code=1)
    assert "damaged at its start; left out" in ran.err
    assert len(read_valid("film.json", "reel")["left_out"]) == 1
    (folder / "broken.mp4").unlink()
    assert "left out" not in run("reel", folder, "-o", "film.mp4", "--budget", "12s").err
    assert read_valid("film.json", "reel")["left_out"] == []
    assert Path("film.mp4").stat().st_mtime_ns == film  # it is not encoded again


def test_a_copy_is_left_out(run: Run, folder: Path) -> None:
    shutil.copy(folder / "d.mp4", folder / "copy of d.mp4")
    ran = run("reel", folder, "-o", "-", "--budget", "15s")
    document = json.loads(ran.out)
    assert sorted(names_of(document)) == ["a.jpg", "b.mp4", "c.jpg", "copy of d.mp4"]
    assert document["left_out"][0]["is_copy"]
    assert "d.mp4; left out" in ran.err


def test_one_file_by_two_names(run: Run) -> None:
    clip(Path("a.mp4"), "red")
    assert len(json.loads(run("reel", "a.mp4", "./a.mp4", "-o", "-").out)["sources"]) == 1


def test_files_that_were_renamed(run: Run, folder: Path) -> None:
    media.make_video(Path("score.mp4"), sound=True)
    options = ("-o", "film.json", "--budget", "12s", "--music")
    run("reel", folder, *options, "score.mp4")
    (folder / "d.mp4").rename(folder / "e.mp4")
    run("reel", folder, *options, "score.mp4")
    assert names_of(read_valid("film.json", "reel"))[0] == "e.mp4"
    run("export", "film.json", "--format", "otio")
    Path("score.mp4").rename("music.mp4")
    run("reel", folder, *options, "music.mp4")
    assert read_valid("film.json", "reel")["music"]["path"] == "music.mp4"
    assert "(unchanged)" in run("reel", folder, *options, "music.mp4").out


def test_nothing_that_can_be_read(run: Run) -> None:
    Path("letter.txt").write_text("an input")
    run("reel", "letter.txt", code=3)
    Path("empty").mkdir()
    assert "folder without a video or photograph" in run("reel", "empty", code=3).err
    assert files_here() == ["empty", "letter.txt"]


def test_at_most_five_seconds_of_each_clip(run: Run) -> None:
    clip(Path("long.mp4"), "red", seconds=12)
    clip(Path("other.mp4"), "blue", seconds=12)
    used = json.loads(run("reel", "long.mp4", "other.mp4", "-o", "-", "--budget", "20s").out)
    for number in (0, 1):
        spans = [part["end_s"] - part["start_s"] for part in used["segments"] if part["source"] == number]
        assert sum(spans) <= 5.001
    assert "of each clip at most" in used["budget"]["note"]


def test_a_rest_that_is_too_short_is_named(run: Run) -> None:
    clip(Path("long.mp4"), "red", seconds=12)
    clip(Path("short.mp4"), "blue", seconds=3)
    note = json.loads(run("reel", "short.mp4", "-o", "-", "--budget", "10s").out)["budget"]["note"]
    assert note == "there is little more footage"
    notes = {
        "4s": "the rest is too short for another part",
        "6s": "0:03.00 of each clip at most, and nothing twice",
    }
    for budget, note in notes.items():
        ran = run("reel", "long.mp4", "-o", "-", "--budget", budget, "--max-clip", "3s")
        assert json.loads(ran.out)["budget"]["note"] == note


def test_the_help_names_the_inputs(run: Run) -> None:
    assert "[MEDIA|FOLDER]..." in run("reel", "--help").out


def test_scenes_are_not_repeated(run: Run) -> None:
    for number in range(3):
        clip(Path(f"{number}.mp4"), "red", seconds=3 + number)
    clip(Path("3.mp4"), "blue", seconds=4)
    clip(Path("4.mp4"), "green", seconds=4)
    document = json.loads(run("reel", ".", "-o", "-", "--budget", "10s").out)
    names = names_of(document)
    assert len(names) == 3
    assert {"3.mp4", "4.mp4"} < {*names}


@pytest.mark.deep
def test_the_same_bytes(run: Run, folder: Path) -> None:
    for name in ("one", "two"):
        run("reel", folder, "-o", f"{name}.mp4", "--budget", "12s", "--no-cache")
    one, two = (json.loads(Path(f"{name}.json").read_text()) for name in ("one", "two"))
    del one["outputs"], two["outputs"], one["digest"], two["digest"]
    assert one == two
    assert Path("one.mp4").read_bytes() == Path("two.mp4").read_bytes()


def test_timelines_name_the_originals(run: Run, folder: Path) -> None:
    run("reel", folder, "-o", "film.json", "--budget", "12s", "--export", "otio", "--export", "edl")
    assert "film.mp4" not in files_here()
    timeline = json.loads(Path("film.otio").read_text())
    clips = timeline["tracks"]["children"][0]["children"]
    places = [part["media_references"]["DEFAULT_MEDIA"]["target_url"] for part in clips]
    assert [Path(place).name for place in places] == ["d.mp4", "c.jpg", "a.jpg", "b.mp4"]
    document = json.loads(Path("film.json").read_text())
    for part, segment in zip(clips, document["segments"], strict=True):
        length_s = part["source_range"]["duration"]["value"] / part["source_range"]["duration"]["rate"]
        assert length_s == pytest.approx(segment["end_s"] - segment["start_s"], abs=0.041)
    run("export", "film.json", "--format", "fcpxml")
    assert "d.mp4" in Path("film.fcpxml").read_text()
    assert "is not for several videos" in run("export", "film.json", "--format", "srt", code=2).err
    run("reel", "none.mp4", "-o", "b.json", "--export", "srt", code=2, error="--export")


def test_decisions_are_applied_and_a_new_run_replaces_them(run: Run, folder: Path) -> None:
    command = ("reel", folder, "-o", "film.mp4", "--budget", "12s", "--titles")
    run(*command)
    made = read_valid("film.json", "reel")
    decisions: list[Any] = [
        {"action": "reorder", "segment": 3, "place": 0},
        {"action": "leave_out", "segment": 1},
    ]
    write_decisions(decisions_path(Path("film.json")), {"decisions": decisions, "undone": []})
    assert run("edit", "film.json", "--apply").out.splitlines() == ["film.json", "film.mp4"]
    edited = read_valid("film.json", "reel")
    assert names_of(edited) == ["b.mp4", "d.mp4", "a.jpg"]
    assert [part["title"] for part in edited["segments"]] == ["14 July 2024", "13 July 2024", "14 July 2024"]
    assert vidsum.probe("film.mp4").duration_s == pytest.approx(edited["duration_s"], abs=0.05)
    run(*command)
    assert read_valid("film.json", "reel") == made


def test_sources_that_changed(run: Run, folder: Path) -> None:
    run("reel", folder, "-o", "film.json", "--budget", "12s")
    clip(folder / "d.mp4", "red", seconds=2)
    assert "not the file that the reel was made from" in run("export", "film.json", code=3).err


def test_music_that_changed(folder: Path) -> None:
    music = media.make_video(Path("score.mp4"), sound=True).path
    reel = vidsum.make_reel([folder], "12s", music=str(music))
    clip(Path("score.mp4"), "red", sound=True)
    with pytest.raises(vidsum.VidsumError, match="not the file that the reel was made from"):
        vidsum.write_video(reel, "film.mp4")
    music.unlink()
    with pytest.raises(vidsum.VidsumError, match="is not there any more"):
        vidsum.write_video(reel, "film.mp4")


def test_a_source_of_another_length(own_home: Path) -> None:
    """Nothing is computed for the hours that a document claims."""
    made = vidsum.make_reel([clip(Path("a.mp4"), "red", sound=True)])
    source, segment = replace(made.sources[0], length_s=1e8), replace(made.segments[0], end_s=1e8)
    claimed = replace(made, sources=(source,), segments=(segment,))
    with pytest.raises(vidsum.VidsumError, match="not the file that the reel was made from"):
        vidsum.write_video(claimed, "film.mp4")


def test_inputs_are_not_written_over(run: Run, folder: Path) -> None:
    before = (folder / "d.mp4").read_bytes()
    run("reel", folder, "-o", folder / "d.mp4", "--overwrite", code=2)
    assert (folder / "d.mp4").read_bytes() == before
    (folder / "d.json").write_text("{}")
    run("reel", folder, folder / "d.json", "-o", folder / "d.json", "--overwrite", code=2)
    assert (folder / "d.json").read_text() == "{}"
    assert files_here() == ["Holiday"]


def test_a_dry_run_writes_nothing(run: Run, folder: Path) -> None:
    ran = run("reel", folder, "--budget", "12s", "--dry-run")
    assert files_here() == ["Holiday"]
    assert "c.jpg" in ran.out


@pytest.mark.deep
def test_a_full_disk(run: Run, folder: Path) -> None:
    run("reel", folder, "-o", "film.json", "--budget", "12s")
    with files_up_to(20_000):
        run("reel", folder, "-o", "full.mp4", "--budget", "12s", code=1)
    assert files_here() == ["Holiday", "film.json"]


@pytest.mark.deep
def test_photographs_alone(run: Run, folder: Path) -> None:
    run("reel", folder / "a.jpg", folder / "c.jpg", "-o", "still.mp4", "--budget", "10s", "--photo", "2s")
    document = read_valid("still.json", "reel")
    assert (document["canvas"]["width"], document["canvas"]["height"]) == (1920, 1080)
    assert document["duration_s"] == 4


def test_recording_times_are_stored_as_files_say_them(run: Run, folder: Path) -> None:
    document = json.loads(run("reel", folder, "-o", "-", "--budget", "12s").out)
    times = [source["recorded"] for source in document["sources"]]
    assert times[1] == "2024-07-13T13:00:00+02:00"
    assert [datetime.fromisoformat(time).tzinfo is not None for time in times] == [True] * 4


def test_a_reel_in_python(folder: Path) -> None:
    steps = list[tuple[str, float, float]]()
    reel = vidsum.make_reel([folder], "12s", fit="crop", progress=lambda *step: steps.append(step))
    names = {step for step, _, _ in steps}
    assert {"looking at files", "reading d.mp4 (1 of 2)", "reading b.mp4 (2 of 2)"} <= names
    for what in ("reading files", "reading photographs"):
        assert [(done, total) for step, done, total in steps if step == what] == [(0, 2), (1, 2)]
    vidsum.write_video(reel, "film.mp4")
    vidsum.write_json(reel, "film.json")
    assert vidsum.load("film.json").to_dict() == reel.to_dict()
    assert vidsum.probe("film.mp4").duration_s == pytest.approx(reel.duration_s, abs=0.05)
    with pytest.raises(vidsum.VidsumError, match="its looks"):
        vidsum.write_video(reel, "other.mp4", vertical=True)
    with pytest.raises(vidsum.VidsumError, match="written over"):
        vidsum.write_video(reel, folder / "d.mp4", overwrite=True)


def test_a_document_with_a_source_that_is_not_there(run: Run, folder: Path) -> None:
    document = json.loads(run("reel", folder, "-o", "-", "--budget", "12s").out)
    document["segments"][0]["source"] = 9
    Path("edited.json").write_text(json.dumps(document))
    assert "there is no source 9" in run("export", "edited.json", code=3).err
