"""`vidsum shorts`: from a film with subtitles to clips, their subtitles and a JSON; bad input in a line."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from PIL import Image

import vidsum
from tests import media
from tests.commands.conftest import files_here, use_mean_colours
from tests.conftest import deep
from tests.program import Run, read_valid
from tests.results.test_edits import leave
from vidsum.description.writers import SeenSegments
from vidsum.outputs import artifacts
from vidsum.outputs.clips import video_stem
from vidsum.outputs.staging import move
from vidsum.pipelines import make_shorts
from vidsum.results.decisions import write_decisions
from vidsum.times import format_time, parse_subtitles, to_srt
from vidsum.types import Picture

SHORT = ("--length", "3s-6s", "--no-vertical", "--no-burn", "--loudness", "none")
SAID = (
    "Movable metal letters are an old art of the East.",
    "Printers in Mainz cast their letters from lead.",
    "A sourdough starter takes about five days to grow.",
    "It needs a spoon of flour twice a day.",
    "How do most plants drink in the summer?",
    "Roots take the water from wet soil every day.",
)


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched: pictures are their colours."""
    use_mean_colours(monkeypatch)
    monkeypatch.setattr(make_shorts, "extraction_for", lambda space, options: options)
    monkeypatch.setattr(
        make_shorts, "see_segments", lambda features, spans, *_: SeenSegments(np.zeros((len(spans), 3)))
    )
    monkeypatch.setattr(
        make_shorts, "write_words", lambda seen, *_: [SimpleNamespace(text="")] * len(seen.rows)
    )


def make_film(path: Path, shot_s: float = 4.0, *, sound: bool = True) -> Path:
    """Five shots in different colours, at five frames a second."""
    shades = np.random.default_rng(3).integers(0, 255, (5, 3)).astype(np.uint8)

    def paint(number: int, width: int, height: int) -> Picture:
        return np.broadcast_to(shades[min(int(number / (5 * shot_s)), 4)], (height, width, 3)).copy()

    return media.make_video(path, n_frames=round(25 * shot_s), fps=5, paint=paint, sound=sound).path


@pytest.fixture
def talk(own_home: Path) -> Path:
    """A film of 20 s, in which a sentence begins every three seconds."""
    cues = [(3.0 * n + 0.5, 3.0 * n + 2.8, text) for n, text in enumerate(SAID)]
    Path("talk.srt").write_text(to_srt(cues))
    return make_film(Path("talk.mp4"))


def shorts_in(path: str = "talk_shorts.json") -> list[dict[str, object]]:
    shorts: list[dict[str, object]] = read_valid(path, "shorts")["shorts"]
    return shorts


def test_clips_subtitles_and_titles_are_written(talk: Path, run: Run) -> None:
    ran = run("shorts", talk, "-n", 2, *SHORT)
    assert "talk_shorts.json and 2 clips in .: 2 shorts by speech" in ran.out.splitlines()
    made = [
        "talk_short_1.mp4",
        "talk_short_1.srt",
        "talk_short_2.mp4",
        "talk_short_2.srt",
        "talk_shorts.json",
    ]
    assert files_here() == ["talk.mp4", *made, "talk.srt"] or set(made) <= set(files_here())
    for rank, short in enumerate(shorts_in(), 1):
        length_s = short["end_s"] - short["start_s"]
        with av.open(f"talk_short_{rank}.mp4") as clip:
            assert clip.duration / av.time_base == pytest.approx(length_s, abs=0.21)
        said = " ".join(text for *_, text in parse_subtitles(Path(f"talk_short_{rank}.srt").read_text()))
        assert said == short["text"]
        assert short["title"]


@pytest.mark.parametrize("captioned", [True, False])
def test_captions_are_drawn_once(
    talk: Path, run: Run, monkeypatch: pytest.MonkeyPatch, *, captioned: bool
) -> None:
    def middle() -> Picture:
        with av.open("talk_short_1.mp4") as clip:
            frames = [frame.to_ndarray(format="rgb24") for frame in clip.decode(video=0)]
        return frames[len(frames) // 2]

    run("shorts", talk, "-n", 1, *SHORT)
    plain = middle()
    monkeypatch.setattr("vidsum.pipelines.clip_style.is_captioned", lambda *_: captioned)
    burned = [option for option in SHORT if option != "--no-burn"]
    ran = run("shorts", talk, "-n", 1, *burned)
    is_same = np.abs(plain.astype(int) - middle()).max() < 40  # but for the encoder
    assert is_same == captioned
    assert ("talk.mp4: has captions in its pictures: no others are drawn there" in ran.err) == captioned


def test_passages_are_whole_thoughts(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 9, *SHORT)
    texts = [short["text"] for short in shorts_in()]
    assert texts
    assert not [text for text in texts if text.startswith("It needs")]
    assert not [text for text in texts if text.endswith("?")]
    spans = sorted((short["start_s"], short["end_s"]) for short in shorts_in())
    assert all(end_s <= start_s for (_, end_s), (start_s, _) in pairwise(spans))


def test_fewer_than_asked_for_say_why(talk: Path, run: Run) -> None:
    ran = run("shorts", talk, "-n", 40, *SHORT)
    document = read_valid("talk_shorts.json", "shorts")
    assert document["note"].endswith("of 40 shorts: no other whole thought of 3 to 6 s is left")
    assert document["note"] in ran.out


def test_second_run_changes_nothing(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 2, *SHORT)
    before = {name: Path(name).read_bytes() for name in files_here()}
    assert "(unchanged)" in run("shorts", talk, "-n", 2, *SHORT).out
    run("shorts", talk, "-n", 2, *SHORT, "--overwrite")
    assert {name: Path(name).read_bytes() for name in files_here()} == before


def test_fewer_shorts_remove_the_others(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 2, *SHORT)
    assert "removed 2 of the earlier result" in run("shorts", talk, "-n", 1, *SHORT).out
    assert not Path("talk_short_2.mp4").exists()


def test_a_short_opens_the_result_that_it_is_from(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 2, *SHORT)
    first, second = (short["title"] for short in shorts_in())
    best = read_valid("talk_shorts.json", "shorts")["shorts"][0]
    decision = leave(best["start_s"], best["end_s"])
    write_decisions(Path("talk_shorts.edits"), {"decisions": [decision], "undone": []})
    ran = run("edit", "talk_short_1.mp4", "--apply")
    assert ran.out.splitlines() == ["talk_short_1.mp4", "talk_short_1.srt", "talk_shorts.json"]
    assert [short["title"] for short in shorts_in()] == [second] != [first]
    assert not Path("talk_short_2.mp4").exists()
    run("shorts", talk, "-n", 2, *SHORT)
    assert [short["title"] for short in shorts_in()] == [first, second]


@pytest.mark.deep
def test_other_looks_are_encoded_again(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 1, *SHORT)
    run("shorts", talk, "-n", 1, "--length", "3s-6s", "--no-burn", "--loudness", "none")
    with av.open("talk_short_1.mp4") as clip:
        assert clip.streams.video[0].width < clip.streams.video[0].height


def test_foreign_files_stay(talk: Path, run: Run) -> None:
    for name in ("talk_short_1.mp4", "talk_short_1.srt"):
        Path(name).write_text("mine")
        ran = run("shorts", talk, "-n", 1, *SHORT, code=1)
        assert ran.err.startswith(f"error: {name}: already exists, and was not written by vidsum")
        assert Path(name).read_text() == "mine"
        Path(name).unlink()
    assert not Path("talk_shorts.json").exists()


def test_dry_run_writes_nothing(talk: Path, run: Run) -> None:
    ran = run("shorts", talk, "-n", 2, *SHORT, "--dry-run")
    assert ran.out.splitlines()[0].split() == ["rank", "start", "length", "score", "title"]
    assert files_here() == ["talk.mp4", "talk.srt"]


def test_json_goes_to_stdout(talk: Path, run: Run) -> None:
    ran = run("shorts", talk, "-n", 1, *SHORT, "-o", "-")
    assert json.loads(ran.out)["schema"] == "vidsum.shorts/1"
    assert files_here() == ["talk.mp4", "talk.srt"]


def test_clips_are_named_after_the_json(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 1, *SHORT, "-o", "best_shorts.json")
    assert Path("best_short_1.mp4").exists()
    assert video_stem("best_short_1") == "best"


@pytest.mark.parametrize("sound", [True, False])
def test_scenes_of_a_film_without_speech(own_home: Path, run: Run, *, sound: bool) -> None:
    film = make_film(Path("film.mp4"), sound=sound)
    run("shorts", film, "-n", 2, "--in", "picture", *SHORT)
    shorts = shorts_in("film_shorts.json")
    assert [(short["start_s"] % 4, short["end_s"] % 4) for short in shorts] == [(0, 0), (0, 0)]
    assert {short["text"] for short in shorts} == {""}
    times = [format_time(float(str(short["start_s"]))) for short in shorts]
    assert [short["title"] for short in shorts] == [f"Scene at {time}" for time in times]
    assert not [*Path().glob("*.srt")]


def test_silent_film_needs_no_speech_recognition(own_home: Path, run: Run) -> None:
    film = make_film(Path("film.mp4"), sound=False)
    assert run("shorts", film, "-n", 1, *SHORT, "--dry-run").out.splitlines()[-1].endswith("by picture")


def test_film_shorter_than_a_short_is_refused(own_home: Path, run: Run) -> None:
    film = make_film(Path("film.mp4"), sound=False)
    ran = run("shorts", film, "--length", "30s-60s", code=3)
    fault = "error: film.mp4: is 20 s long, shorter than a short of 30 s"
    assert ran.err.splitlines() == [fault, "  try: --length 7s-20s"]


@pytest.mark.parametrize("text", ["20s", "60s-20s", "20s-end", "0-10"])
def test_lengths_that_are_no_range_are_refused(talk: Path, run: Run, text: str) -> None:
    ran = run("shorts", talk, "--length", text, code=2)
    assert len(ran.err.splitlines()) <= 2
    assert "20s-60s" in ran.err


def test_photograph_is_refused_as_such(own_home: Path, run: Run) -> None:
    Image.new("RGB", (64, 48)).save("p.jpg")
    ran = run("shorts", "p.jpg", code=3)
    assert ran.err.splitlines() == ["error: p.jpg: is a photograph, not a video", "  try: give a video"]


def test_hint_for_a_film_of_a_second_is_no_empty_range(own_home: Path, run: Run) -> None:
    ran = run("shorts", make_film(Path("film.mp4"), 0.2, sound=False), code=3)
    assert "--length" not in ran.err


def test_one_broken_film_leaves_the_others(talk: Path, run: Run) -> None:
    Path("broken.mp4").write_bytes(b"no film")
    ran = run("shorts", talk, "broken.mp4", "-n", 1, *SHORT, code=1)
    assert "broken.mp4" in ran.err
    assert Path("talk_short_1.mp4").exists()
    assert not Path("broken_shorts.json").exists()


def test_input_with_the_name_of_a_short_is_not_replaced(talk: Path, run: Run) -> None:
    other = make_film(Path("talk_short_1.mp4"), sound=False).read_bytes()
    ran = run("shorts", talk, "talk_short_1.mp4", "-n", 1, *SHORT, code=1)
    assert "has the name of a clip to be written" in ran.err
    assert Path("talk_short_1.mp4").read_bytes() == other


@pytest.mark.parametrize("n_moved", [2, deep(0)])
def test_next_run_completes_one_that_was_interrupted(
    talk: Path, run: Run, monkeypatch: pytest.MonkeyPatch, n_moved: int
) -> None:
    moved = list[Path]()

    def move_some(shadow: Path, target: Path) -> None:
        if len(moved) == n_moved:
            raise KeyboardInterrupt
        moved.append(target)
        move(shadow, target)

    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "move", move_some)
        run("shorts", talk, "-n", 2, *SHORT, code=130)
    run("shorts", talk, "-n", 2, *SHORT)
    clips = ["talk_short_1.mp4", "talk_short_1.srt", "talk_short_2.mp4", "talk_short_2.srt"]
    assert files_here() == ["talk.mp4", "talk.srt", *clips, "talk_shorts.json"]


def test_python_finds_and_writes_the_same(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 2, *SHORT)
    made = vidsum.make_shorts(talk, count=2, length_s=(3.0, 6.0))
    assert made.to_dict() == vidsum.load("talk_shorts.json").to_dict()
    paths = vidsum.write_clips(made, "out")
    assert [path.name for path in paths] == ["talk_short_1.mp4", "talk_short_2.mp4"]
    assert Path("out/talk_short_1.srt").read_text() == Path("talk_short_1.srt").read_text()


def test_titles_are_the_labels_of_exports(talk: Path, run: Run) -> None:
    run("shorts", talk, "-n", 1, *SHORT, "--export", "csv", "--report")
    (short,) = shorts_in()
    assert str(short["title"]) in Path("talk_shorts.csv").read_text()
    assert str(short["title"]) in Path("talk_shorts.html").read_text()
