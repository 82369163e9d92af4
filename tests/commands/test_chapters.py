"""`vidsum chapters`, with what is said made up and the meaning of a sentence its first word's."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import av
import numpy as np
import pytest

import vidsum
from tests import media
from tests.commands.conftest import use_mean_colours
from tests.program import Run, read_valid
from tests.results.made import texts
from vidsum.description.writers import SeenSegments
from vidsum.features.settings import Extraction
from vidsum.pipelines import chapters, speech_evidence
from vidsum.pipelines.plan import Plan
from vidsum.pipelines.transcribe import describe_doubtful
from vidsum.results.descriptions import Description
from vidsum.results.features import Features
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.results.shots import Chapters
from vidsum.results.transcript import Segment, Transcript
from vidsum.shots.settings import ChapterSettings
from vidsum.times import to_srt
from vidsum.types import FloatArray, Picture

TOPICS = ("Volcanoes", "Accordions", "Beekeeping", "Glaciers")
TITLES = tuple(f"We talk about the {topic.lower()} here" for topic in TOPICS)
SHOT_S = 15


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched: pictures are their colours, and sentences the topic that they name."""
    use_mean_colours(monkeypatch)

    def encode(texts: Sequence[str]) -> FloatArray:
        return np.array(
            [[float(topic[:6].lower() in text.lower()) for topic in TOPICS] for text in texts], np.float32
        )

    encoder = SimpleNamespace(encode=encode)
    monkeypatch.setattr(chapters, "load_text_encoder", lambda name: encoder)
    monkeypatch.setattr(chapters, "extraction_for", lambda space, options: options)  # no class scores
    monkeypatch.setattr(
        chapters, "see_segments", lambda features, spans, *_: SeenSegments(np.zeros((len(spans), 3)))
    )
    monkeypatch.setattr("vidsum.checkpoints.sha256_of", lambda name: "0" * 64)


def say(monkeypatch: pytest.MonkeyPatch, *sentences: tuple[float, float, str], language: str = "en") -> None:
    spoken = tuple(Segment(start, end, text, 0.9, 0.01) for start, end, text in sentences)
    transcript = Transcript(spoken, language, 0.9, 60.0)
    plan = Plan({"speech": {"model": "made up"}}, lambda progress: transcript)
    monkeypatch.setattr(speech_evidence, "plan_transcript", lambda *about: plan)


@cache
def talk_bytes(suffix: str, n_shots: int, shot_s: float, *, sound: bool) -> bytes:
    """The bytes of a film of shots in different colours, at five frames a second."""
    shades = np.random.default_rng(3).integers(0, 255, (n_shots, 3)).astype(np.uint8)

    def paint(number: int, width: int, height: int) -> Picture:
        shade = shades[min(int(number / (5 * shot_s)), n_shots - 1)]
        return np.broadcast_to(shade, (height, width, 3)).copy()

    n_frames = round(n_shots * shot_s * 5)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"talk{suffix}"
        media.make_video(path, n_frames=n_frames, fps=5, paint=paint, sound=sound, sound_rate=16_000)
        return path.read_bytes()


def make_talk(path: Path, n_shots: int = 4, shot_s: float = SHOT_S, *, sound: bool = True) -> Path:
    path.write_bytes(talk_bytes(path.suffix, n_shots, shot_s, sound=sound))
    return path


def topical(first_s: float = 0.4) -> list[tuple[float, float, str]]:
    """Five sentences of each topic; a shot begins in the pause before each but the first."""
    said = []
    for number, topic in enumerate(TOPICS):
        for place in range(5):
            start_s = number * SHOT_S + first_s + 2.8 * place
            said.append(
                (start_s, start_s + 2.5, f"We talk about the {topic.lower()} {'again' if place else 'here'}.")
            )
    return said


def titles(path: str = "talk_chapters.json") -> list[tuple[float, str]]:
    document = read_valid(path, "chapters")
    return [(chapter["start_s"], chapter["title"]) for chapter in document["chapters"]]


def packets(path: str) -> list[tuple[int, bytes]]:
    """Return the stored packets of pictures and sound, each with the number of its stream."""
    with av.open(path) as container:
        streams = [*container.streams.video, *container.streams.audio]  # an MP4 has one of chapters too
        return sorted((packet.stream.index, bytes(packet)) for packet in container.demux(streams))


STARTS_S = [0.0, 15.0, 30.0, 45.0]  # of shots, which begin in the pauses


@pytest.fixture
def spoken(run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a film of four topics."""
    make_talk(Path("talk.mp4"))
    say(monkeypatch, *topical())
    return "talk.mp4"


def test_chapters_begin_with_topics_and_have_their_titles(run: Run, spoken: str) -> None:
    ran = run("chapters", spoken)
    assert titles() == list(zip(STARTS_S, TITLES, strict=True))
    assert f"0:15  {TITLES[1]}" in ran.out


def test_chapters_are_exported_as_lists_and_a_page(run: Run, spoken: str) -> None:
    run("chapters", spoken, "--report", "--export", "chapters", "--export", "ffmetadata")
    assert Path("talk_chapters.chapters.txt").read_text().splitlines()[1] == f"0:15 {TITLES[1]}"
    assert f"title={TITLES[2]}" in Path("talk_chapters.ffmetadata").read_text()
    assert TITLES[3] in Path("talk_chapters.html").read_text()


def test_saved_video_is_the_film_with_marks_of_its_chapters(run: Run, spoken: str) -> None:
    run("chapters", spoken, "--save-video")
    assert packets("talk_chapters.mp4") == packets(spoken)
    with av.open("talk_chapters.mp4") as copy:
        marks = [
            (float(mark["start"] * mark["time_base"]), mark["metadata"]["title"]) for mark in copy.chapters()
        ]
    assert marks == list(zip(STARTS_S, TITLES, strict=True))


def test_written_chapters_are_loaded(run: Run, spoken: str) -> None:
    run("chapters", spoken)
    loaded = vidsum.load("talk_chapters.json")
    assert isinstance(loaded, Chapters)
    assert len(loaded.to_dict()["chapters"]) == 4


def test_chapters_are_up_to_date_in_a_second_run(run: Run, spoken: str) -> None:
    run("chapters", spoken, "--save-video")
    assert "unchanged" in run("chapters", spoken, "--save-video").out


def test_number_of_chapters_is_as_chosen(run: Run, spoken: str) -> None:
    run("chapters", spoken, "--chapters", "3")
    assert len(titles()) == 3


def show_slides(monkeypatch: pytest.MonkeyPatch, *edges_s: float) -> None:
    """Make slides of the film between these times."""
    monkeypatch.setattr(chapters, "find_slides", lambda changes: list(pairwise(edges_s)))


def test_chapters_begin_with_slides(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two topics in turn, so that none ends anywhere."""
    make_talk(Path("talk.mp4"), n_shots=5, shot_s=12)
    in_turn = [TOPICS[number % 5 % 2] for number in range(20)]
    said = zip(topical(), in_turn, strict=True)
    say(monkeypatch, *[(start_s, end_s, f"We talk about {topic}.") for (start_s, end_s, _), topic in said])
    show_slides(monkeypatch, 0, 12, 24, 36, 48, 60)
    ran = run("chapters", "talk.mp4")
    starts = [start_s for start_s, _ in titles()]
    assert starts == pytest.approx([0.0, 12.0, 24.0, 36.0, 48.0], abs=1.5)
    line = (
        "titles of slides were not considered: vidsum transcribe talk.mp4 --on-screen-text reads them first"
    )
    assert line in ran.out
    assert json.loads(Path("talk_chapters.json").read_text())["slides"] == 5
    run("chapters", "talk.mp4", "--chapters", "3")
    assert len(titles()) == 3
    monkeypatch.setattr(chapters, "find_screen_text", lambda video_input: ScreenText((), 60.0, 1))
    assert "were not considered" not in run("chapters", "talk.mp4").out


def test_topics_begin_chapters_within_long_slides(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_talk(Path("talk.mp4"))
    say(monkeypatch, *topical())
    show_slides(monkeypatch, 0, 15, 45, 60)
    run("chapters", "talk.mp4")
    assert [start_s for start_s, _ in titles()] == [0.0, 15.0, 30.0, 45.0]


def test_slides_of_less_than_twenty_seconds_begin_no_chapter() -> None:
    features = Features(np.eye(400, dtype=np.float32), np.arange(400.0), 1.0, 1.0, 400.0, 25.0)
    slides = list(pairwise([0.0, 50.0, 59.0, 100.0, 119.0, 300.0, 400.0]))
    assert chapters.chapter_slides(features, slides) == [0.0, 59.0, 119.0, 300.0]
    assert chapters.chapter_slides(features, []) == []


def test_slide_begins_at_the_row_nearest_before_it() -> None:
    starts_s = np.array([0.0, 49.0, 56.0, 110.0, 122.0, 310.0])
    assert chapters.rows_of_slides(starts_s, [0.0, 59.0, 119.0, 300.0]) == [0, 2, 4]


def test_chapters_of_subtitles_need_no_sound(run: Run) -> None:
    make_talk(Path("talk.mp4"), sound=False)
    Path("talk.srt").write_text(to_srt(topical()))
    assert "transcript: talk.srt" in run("chapters", "talk.mp4").out
    assert "transcript: talk.srt" in run("chapters", "talk.mp4").out  # unchanged
    document = read_valid("talk_chapters.json", "chapters")
    assert [title for _, title in titles()] == [*TITLES]
    assert (document["evidence"], document["provenance"]["speech"]["subtitles"]) == ("speech", "talk.srt")


def doubt(monkeypatch: pytest.MonkeyPatch, first: int, last: int) -> None:
    """Say all topics, those from `first` to `last` in uncertain words."""
    spoken = [
        Segment(*sentence, 0.9, 0.01, uncertain=first <= number // 5 <= last)
        for number, sentence in enumerate(topical())
    ]
    transcript = Transcript(tuple(spoken), "en", 0.9, 60.0)
    transcript = replace(transcript, warnings=describe_doubtful(transcript))
    plan = Plan({"speech": {"model": "made up"}}, lambda progress: transcript)
    monkeypatch.setattr(speech_evidence, "plan_transcript", lambda *about: plan)


LEFT_OUT = "is uncertain throughout: subtitles, titles and searches leave it out"


def test_uncertain_text_gives_no_title_and_a_warning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_talk(Path("talk.mp4"))
    doubt(monkeypatch, 1, 1)
    ran = run("chapters", "talk.mp4")
    document = read_valid("talk_chapters.json", "chapters")
    assert document["evidence"] == "speech"
    assert [title for _, title in titles()] == [TITLES[0], *TITLES[2:]]
    (warning,) = document["warnings"]
    assert warning == f"the text from 0:15.40 to 0:29.10 {LEFT_OUT}"
    assert warning in ran.err


def test_chapters_of_pictures_say_that_all_text_is_uncertain(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_talk(Path("talk.mp4"))
    doubt(monkeypatch, 0, 3)
    monkeypatch.setattr(
        chapters, "write_words", lambda seen, *_: [SimpleNamespace(text="a colour")] * len(seen.rows)
    )
    ran = run("chapters", "talk.mp4")
    document = read_valid("talk_chapters.json", "chapters")
    assert document["evidence"] == "picture"
    assert not {title for _, title in titles()} & {*TITLES}
    assert document["warnings"] == [f"the text from 0:00.40 to 0:59.10 {LEFT_OUT}"]
    assert LEFT_OUT in ran.err


def test_descriptions_of_a_vision_language_model_are_titles_and_others_are_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        chapters, "write_words", lambda seen, space, sure: [SimpleNamespace(text="")] * len(seen.rows)
    )
    _, made = texts(make_talk(Path("mute.mp4"), sound=False))
    sentences = ["A red wall by a lake.", "A field " * 10, "The blue sky."]
    seen = tuple(Description(n * SHOT_S, (n + 1) * SHOT_S, text, None) for n, text in enumerate(sentences))
    by_vlm = {"writer": "vlm:tiny:3b", "every_s": None, "server": "http://127.0.0.1:1/v1", "prompt": "What?"}
    for facts in (made.provenance["descriptions"], by_vlm):
        provenance = {**made.provenance, "descriptions": facts}
        described = replace(made, descriptions=seen, writer=facts["writer"], video_duration_s=60.0)
        vidsum.write_json(replace(described, provenance=provenance), "mute_descriptions.json")
        ran = run("chapters", "mute.mp4", "--chapters", "4")
        titled = [title for _, title in titles("mute_chapters.json")]
        is_by_vlm = facts is by_vlm
        assert ("; titles also from descriptions by vlm:tiny:3b" in ran.out) == is_by_vlm
        assert titled[0] == ("A red wall by a lake" if is_by_vlm else "Part 1")
        assert (len(titled[1]), titled[3]) == (60 if is_by_vlm else 6, "Part 4")


def test_film_of_less_than_half_a_minute_has_no_chapters(run: Run) -> None:
    make_talk(Path("short.mp4"), n_shots=2, shot_s=10)
    run("chapters", "short.mp4", code=3, error="20 s long, too short for chapters: 3 of 10 s need 30 s")


def test_film_of_exactly_half_a_minute_may_have_chapters() -> None:
    make_talk(Path("talk.mp4"), n_shots=3, shot_s=10)
    assert chapters.plan_chapters("talk.mp4", ChapterSettings(), Extraction()).provenance


@pytest.mark.parametrize(("more", "fault"), [
    ((), "too few shots for 3 chapters"), (("--in", "speech"), "no sound"),
])  # fmt: skip
def test_mute_film_of_one_shot_has_no_chapters(run: Run, more: tuple[str, ...], fault: str) -> None:
    make_talk(Path("still.mp4"), n_shots=1, shot_s=40, sound=False)
    run("chapters", "still.mp4", *more, code=3, error=fault)


def test_film_in_which_little_is_said_has_no_chapters_by_speech(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_talk(Path("quiet.mp4"))
    say(monkeypatch, (3.0, 5.0, "Ah."))
    run("chapters", "quiet.mp4", "--in", "speech", code=3, error="too little is said for 3 chapters of 10 s")


@pytest.fixture
def wordless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures for which there are no words."""
    monkeypatch.setattr(
        chapters, "write_words", lambda seen, space, sure: [SimpleNamespace(text="")] * len(seen.rows)
    )


@pytest.mark.usefixtures("wordless")
def test_chapters_without_words_are_numbered_and_say_how_to_get_titles(run: Run) -> None:
    make_talk(Path("talk.mp4"), sound=False)
    ran = run("chapters", "talk.mp4", "--chapters", "4")
    assert "titles are from the pictures only" in ran.out
    assert "vidsum transcribe talk.mp4 --on-screen-text\n" in ran.out
    assert titles() == [(start_s, f"Part {number}") for number, start_s in enumerate(STARTS_S, 1)]


@pytest.mark.usefixtures("wordless")
def test_chapters_are_by_pictures_where_little_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_talk(Path("music.mp4"))
    say(monkeypatch, (3.0, 5.0, "Ah."))
    run("chapters", "music.mp4")
    assert json.loads(Path("music_chapters.json").read_text())["evidence"] == "picture"


@pytest.mark.usefixtures("wordless")
def test_titles_need_no_remark_where_the_screen_was_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_talk(Path("talk.mp4"), sound=False)
    monkeypatch.setattr(chapters, "find_screen_text", lambda video_input: ScreenText((), 60.0, 1))
    assert "titles are" not in run("chapters", "talk.mp4").out


def work_with(*lines: ScreenLine) -> chapters._Work:
    text = ScreenText(lines, 40.0, 1)
    return chapters._Work(ChapterSettings(), SimpleNamespace(video=None), None, text, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start_s", "end_s", "heading"),
    [(0, 20, "Results of the year"), (14, 30, "Acme Corporation"), (20, 40, "")],
)
def test_heading_is_the_largest_sure_line_that_is_there_for_most_of_the_time(
    start_s: float, end_s: float, heading: str
) -> None:
    work = work_with(
        ScreenLine(0, 20, "Acme Corporation", 0.99, (0, 0.9, 1, 0.94)),
        ScreenLine(2, 18, "Results of the year", 0.95, (0, 0.1, 1, 0.2)),
        ScreenLine(3, 18, "Reslts 0f", 0.6, (0, 0.1, 1, 0.3)),  # unsure
        ScreenLine(4, 8, "a subtitle", 0.99, (0, 0.7, 1, 0.9)),  # short
        ScreenLine(0, 20, "2026", 0.99, (0, 0.2, 1, 0.5)),  # no letters
    )
    assert work.heading(start_s, end_s) == heading


def test_heading_is_above_a_list_whose_boxes_are_taller() -> None:
    work = work_with(
        ScreenLine(0, 20, "\u2022 Fuzzing a class by its interface", 0.99, (0, 0.51, 1, 0.617)),
        ScreenLine(0, 20, "Overview", 0.99, (0, 0.125, 1, 0.225)),
        ScreenLine(0, 20, "Acme Corporation", 0.99, (0, 0.02, 1, 0.06)),
    )
    assert work.heading(0, 20) == "Overview"


def test_heading_has_no_bullet_point() -> None:
    assert work_with(ScreenLine(0, 20, "\u2022 A dog", 0.99, (0, 0.5, 1, 0.6))).heading(0, 20) == "A dog"


@pytest.mark.parametrize(
    ("start_s", "end_s", "title"),
    [(0, 24, "Budget review"), (9, 30, "Revenue by region"), (24, 40, "")],
    ids=["first slide", "slide that is there for longer than the 3 s of the first", "no text"],
)
def test_title_of_a_chapter_is_that_of_its_first_slide(start_s: float, end_s: float, title: str) -> None:
    work = work_with(
        ScreenLine(0, 12, "Anna Keller, Finance", 0.99, (0, 0.3, 1, 0.35)),
        ScreenLine(0, 12, "Budget review", 0.99, (0, 0.1, 1, 0.2)),
        ScreenLine(12, 24, "Revenue by region", 0.99, (0, 0.1, 1, 0.21)),
    )
    slides = [(0.0, 12.0), (12.0, 24.0), (24.0, 40.0)]
    assert work.slide_title(start_s, end_s, slides) == title
    assert work.heading(0, 24) == "Revenue by region"
