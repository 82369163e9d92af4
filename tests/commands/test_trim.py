"""`vidsum trim`: what is kept, and that pictures and sound stay together."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

import vidsum
from tests import media
from tests.commands.conftest import files_here
from tests.conftest import deep
from tests.program import Run, check_schema, read_valid
from tests.speech import stub
from tests.video.clips import numbers_by_pyav
from vidsum.pipelines.plan import Plan
from vidsum.results.transcript import Segment, Transcript
from vidsum.times import format_time

Spans = list[tuple[float, float]]
_TALKS: dict[str, tuple[bytes, media.MadeVideo]] = {}
"""Films of `talk` by their options: many tests have the same."""


def talk(path: Path, spans: Spans, duration_s: float = 8.0, **options: object) -> media.MadeVideo:
    """A film with tones of rising pitch in some spans, and a hiss of -70 dB."""
    named = f"{path.suffix} {spans} {duration_s} {options}"
    if named not in _TALKS:
        made = _make_talk(path, spans, duration_s, **options)
        _TALKS[named] = path.read_bytes(), made
    content, made = _TALKS[named]
    path.write_bytes(content)
    return replace(made, path=path)


def _make_talk(path: Path, spans: Spans, duration_s: float, **options: object) -> media.MadeVideo:
    rate = media.SAMPLE_RATE
    sound = np.random.default_rng(0).normal(0, 10 ** (-70 / 20), round(duration_s * rate)).astype(np.float32)
    times = np.arange(len(sound)) / rate
    for number, (start_s, end_s) in enumerate(spans):
        inside = (times >= start_s) & (times < end_s)
        sound[inside] += 0.3 * np.sin(2 * np.pi * (300 + 200 * number) * times[inside])
    about: dict[str, object] = {"n_frames": round(duration_s * 25)} | options
    return media.make_video(path, samples=sound, **about)  # type: ignore[arg-type]


def lengths_of(path: Path) -> tuple[float, float]:
    """The lengths of the picture track and of the sound track."""
    with av.open(str(path)) as container:
        tracks = (container.streams.video[0], container.streams.audio[0])
        video, audio = (float((track.duration or 0) * (track.time_base or 0)) for track in tracks)
        return video, audio


def sound_of(path: Path) -> np.ndarray:
    with av.open(str(path)) as container:
        return np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])


def pitches_of(sound: np.ndarray) -> list[int]:
    """The pitch of each stretch of tone, to 100 Hz, in order."""
    rate, loud = media.SAMPLE_RATE, np.abs(sound) > 0.05
    at = np.flatnonzero(loud)
    parts = np.split(at, np.flatnonzero(np.diff(at) > rate // 20) + 1)
    pitches = []
    for part in parts:
        spectrum = np.abs(np.fft.rfft(sound[part[0] : part[-1]]))
        pitches.append(round(int(spectrum.argmax()) * rate / (part[-1] - part[0]), -2))
    return [int(pitch) for pitch in pitches]


@pytest.fixture
def pauses(tmp_path: Path) -> Path:
    """A film with sound from 1 to 3 s, without a long pause, and from 5 to 6.5 s."""
    return talk(tmp_path / "talk.mp4", [(1, 2), (2.3, 3), (5, 6.5)]).path


def test_long_pauses_are_removed_but_for_their_margins(run: Run, pauses: Path) -> None:
    ran = run("trim", pauses)
    assert files_here() == ["talk_trim.json", "talk_trim.mp4"]
    document = read_valid("talk_trim.json", "trim")
    edges = [(part["start_s"], part["end_s"]) for part in document["segments"]]
    assert edges == [(0.8, 3.2), (4.8, 6.72)]
    assert [part["reason"] for part in document["removed"]] == ["silence"] * 3
    assert "0:04.32 of 0:08.00 in 2 segments" in ran.out


def test_pictures_and_sound_of_a_trimmed_film_stay_together(run: Run, pauses: Path) -> None:
    run("trim", pauses)
    video_s, audio_s = lengths_of(Path("talk_trim.mp4"))
    assert video_s == pytest.approx(4.32, abs=1e-3)
    assert audio_s == pytest.approx(video_s, abs=1e-3)
    assert numbers_by_pyav(Path("talk_trim.mp4")) == [*range(20, 80), *range(120, 168)]
    assert pitches_of(sound_of(Path("talk_trim.mp4"))) == [300, 500, 700]


def test_trimmed_film_is_up_to_date_in_a_second_run(run: Run, pauses: Path) -> None:
    run("trim", pauses)
    assert "(unchanged)" in run("trim", pauses).out


@pytest.fixture
def late(tmp_path: Path) -> Path:
    """A film whose pictures begin a second behind its sound."""
    return talk(tmp_path / "late.mkv", [(2, 3), (5, 6)], late_s=1.0, n_frames=175).path


def test_pictures_that_begin_behind_the_sound_stay_with_it(run: Run, late: Path) -> None:
    run("trim", late)
    document = json.loads(Path("late_trim.json").read_text())
    edges = [(part["start_s"], part["end_s"]) for part in document["segments"]]
    assert np.allclose(edges, [(0.8, 2.2), (3.8, 5.2)], atol=0.041)
    frames = [np.arange(round(25 * start_s), round(25 * end_s)) for start_s, end_s in edges]
    assert numbers_by_pyav(Path("late_trim.mp4")) == np.concatenate(frames).tolist()
    sound = sound_of(Path("late_trim.mp4"))
    at = np.flatnonzero(np.abs(sound) > 0.05) / media.SAMPLE_RATE
    assert (at[0], at[-1]) == pytest.approx((0.2, 2.6), abs=0.06)
    assert pitches_of(sound) == [300, 500]


def test_removed_parts_are_printed_as_a_player_counts(run: Run, late: Path) -> None:
    assert "0:01.80" in run("trim", late).out


@pytest.fixture
def click(tmp_path: Path) -> Path:
    """A film with a short sound between long ones."""
    return talk(tmp_path / "talk.mp4", [(1, 2), (2.3, 3), (5, 5.05), (6, 7)]).path


TIGHT = ("--min-pause", "0.25", "--margin-before", "0", "--margin-after", "0.04")


@pytest.mark.parametrize(
    ("options", "spans"),
    [
        ((), [(0.8, 3.2), (5.8, 7.2)]),
        (("--min-sound", "0"), [(0.8, 3.2), (4.8, 5.28), (5.8, 7.2)]),
        (TIGHT, [(1.0, 2.04), (2.28, 3.04), (6.0, 7.04)]),
        (("--min-pause", "3s"), [(0.0, 8.0)]),
    ],
    ids=["defaults", "shortest sound", "shortest pause and margins", "long pause"],
)
def test_shortest_pause_and_sound_and_margins_decide_what_stays(
    run: Run, click: Path, options: tuple[str, ...], spans: Spans
) -> None:
    segments = run("trim", click, "-o", "-", *options).json["segments"]
    assert [(part["start_s"], part["end_s"]) for part in segments] == spans


def test_trim_on_stdout_and_a_dry_run_write_nothing(run: Run, click: Path) -> None:
    run("trim", click, "-o", "-")
    assert "removed" in run("trim", click, "--dry-run").out
    assert files_here() == []


def test_film_without_sound_is_refused(run: Run, tmp_path: Path) -> None:
    mute = media.make_video(tmp_path / "mute.mp4").path
    run("trim", mute, code=3, error=("mute.mp4: has no sound", "vidsum summarize"))
    assert files_here() == []


def test_silent_film_is_refused(run: Run, tmp_path: Path) -> None:
    silent = talk(tmp_path / "silent.mp4", []).path
    run("trim", silent, code=3, error="silent.mp4: is silent: nothing in it is louder than -60 dB")


def test_film_without_a_sound_above_the_threshold_is_refused(run: Run, tmp_path: Path) -> None:
    quiet = talk(tmp_path / "quiet.mp4", [(1, 2)]).path
    ran = run("trim", quiet, "--threshold", "-3", code=3, error="nothing in it is as loud as -3 dB")
    assert "--threshold -3" in ran.err


def test_film_whose_sounds_are_all_too_short_is_refused(run: Run, tmp_path: Path) -> None:
    click = talk(tmp_path / "click.mp4", [(1, 1.02)]).path
    run("trim", click, code=3, error=("no sound lasts 0.1 s", "--min-sound"))


def test_threshold_is_refused_where_voices_decide(run: Run, pauses: Path) -> None:
    run("trim", pauses, "--by", "voice", "--threshold", "-30", code=2)


def test_sound_without_a_film_is_refused(run: Run, tmp_path: Path) -> None:
    song = media.make_sound(tmp_path / "song.mp3")
    run("trim", song, code=3, error=("song.mp3: has sound but no video", f"vidsum transcribe {song}"))


def test_film_without_pauses_is_written_whole_and_says_so(run: Run, film: Path) -> None:
    ran = run("trim", film)
    assert "nothing to remove: no pause below" in ran.out
    assert "0:00.50" in ran.out
    assert lengths_of(Path("film_trim.mp4"))[0] == pytest.approx(10, abs=0.01)
    assert json.loads(Path("film_trim.json").read_text())["removed"] == []


@pytest.fixture
def two_talks(tmp_path: Path) -> Path:
    """A film of which 0.8 to 3.2 s and 4.8 to 6.72 s stay."""
    return talk(tmp_path / "talk.mp4", [(1, 3), (5, 6.5)]).path


def test_timelines_have_what_stays_of_a_trim(run: Run, two_talks: Path) -> None:
    run("trim", two_talks, "-o", "cuts.json", "--export", "otio", "--export", "csv", "--report")
    assert files_here() == ["cuts.csv", "cuts.html", "cuts.json", "cuts.otio"]
    clips = json.loads(Path("cuts.otio").read_text())["tracks"]["children"][0]["children"]
    assert [clip["source_range"]["start_time"]["value"] for clip in clips] == [20, 120]
    assert [clip["source_range"]["duration"]["value"] for clip in clips] == [60, 48]


def test_trim_is_exported_afterwards(run: Run, two_talks: Path) -> None:
    run("trim", two_talks, "-o", "cuts.json")
    run("export", "cuts.json", "-o", "cuts.edl")
    assert "00:00:04:20 00:00:06:18" in Path("cuts.edl").read_text()


def test_report_of_a_trim_says_what_stays_and_how_silence_was_found(run: Run, two_talks: Path) -> None:
    run("trim", two_talks, "-o", "cuts.json")
    run("report", "cuts.json", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "Trim: 0:04.32 of 0:08.00 in 2 segments" in page
    assert "by loudness, silence below" in page


def test_sound_between_rare_pictures_stays_whole(run: Run, tmp_path: Path) -> None:
    times = [0.0, 0.5, 0.54, 2.9, 3.5, 6.0, 6.3, 7.96]
    film = talk(tmp_path / "screen.mp4", [(0.7, 1.5), (3.2, 4.2), (6.4, 7.2)], times_s=times).path
    run("trim", film)
    segments = json.loads(Path("screen_trim.json").read_text())["segments"]
    pairs = zip(segments, (0.7, 3.2, 6.4), strict=True)
    assert all(part["start_s"] <= sound_s - 0.19 for part, sound_s in pairs)
    sound = sound_of(Path("screen_trim.mp4"))
    assert pitches_of(sound) == [300, 500, 700]
    assert np.sum(np.abs(sound) > 0.05) > 0.8 * 2.6 * media.SAMPLE_RATE
    video_s, audio_s = lengths_of(Path("screen_trim.mp4"))
    assert audio_s == pytest.approx(video_s, abs=0.01)
    assert audio_s == pytest.approx(sum(part["end_s"] - part["start_s"] for part in segments), abs=0.05)


def test_filler_words_are_removed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stub says a word a second; the second goes."""
    model = stub.install(monkeypatch, language=("en", 0.9))
    film = talk(tmp_path / "talk.mp4", [(1, 1.6), (2, 2.5), (3, 3.6), (4, 7)]).path
    ran = run("trim", film, "--filler", "word1", "-o", "-")
    (filler,) = (part for part in ran.json["removed"] if part["reason"] == "filler")
    assert filler["text"] == "word1"
    assert (filler["start_s"], filler["end_s"]) == pytest.approx((1.72, 2.88))
    check_schema(ran.json, "trim")
    assert ran.json["provenance"]["speech"]["verbatim"] is True
    assert len(model.tasks) == 1


def test_language_without_known_filler_words_has_a_warning(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, language=("ja", 0.9))
    film = talk(tmp_path / "talk.mp4", [(1, 3), (4, 7)]).path
    assert "the filler words of ja are not known" in run("trim", film, "--fillers").err


def test_voice_decides_what_stays_on_demand(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    film = talk(tmp_path / "talk.mp4", [(1, 6)]).path
    ran = run("trim", film, "--by", "voice", "-o", "-")
    assert ran.json["threshold_db"] is None
    assert ran.json["segments"] == [{"start_s": 0.68, "end_s": 6.32}]


def test_film_without_a_voice_is_refused_where_voices_decide(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hum = talk(tmp_path / "hum.mp4", [(1, 3)], duration_s=4.0).path
    monkeypatch.setattr("vidsum.speech.voice._detect", lambda *_: [])
    run("trim", hum, "--by", "voice", code=3, error=("no speech found", "--by loudness"))


TONES: Spans = [(1, 1.5), (2, 2.5), (3, 3.5), (4, 5.2)]  # of 300, 500, 700 and 900 Hz


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A talk with a tone for each of the words word0 to word3."""
    stub.install(monkeypatch, language=("en", 0.9))
    return talk(tmp_path / "talk.mp4", TONES, duration_s=6.0).path


@pytest.mark.parametrize(("script", "pitches"), [
    ("word0 word1 word3", [300, 500, 900]),
    deep("word2 word3\nword0", [700, 900, 300]),
    ("word3\nword1\nword0 word1", [900, 500, 300, 500]),
    deep("Word1! (?)\n[music]\nword3", [500, 900]),
    deep("word0 word1\nword0 word1", [300, 500] * 2),
    deep("word1 word2\nword3\nword1 word2", [500, 700, 900, 500, 700]),
    ("word0 word1\nword1 word2", [300, 500, 500, 700]),
])  # fmt: skip
def test_film_follows_the_order_of_its_script(script: str, pitches: list[int], said: Path, run: Run) -> None:
    Path("edited.txt").write_text(script)
    run("trim", said, "--script", "edited.txt")
    document = read_valid("talk_trim.json", "trim")
    assert document["by"] == "script"
    assert pitches_of(sound_of(Path("talk_trim.mp4"))) == pitches
    video_s, audio_s = lengths_of(Path("talk_trim.mp4"))
    assert audio_s == pytest.approx(video_s, abs=1e-3)
    frames = [range(round(25 * part["start_s"]), round(25 * part["end_s"])) for part in document["segments"]]
    assert numbers_by_pyav(Path("talk_trim.mp4")) == [number for part in frames for number in part]
    assert "(unchanged)" in run("trim", said, "--script", "edited.txt").out


def test_words_that_a_script_lacks_are_removed(said: Path, run: Run) -> None:
    Path("edited.txt").write_text("word3\nword1")
    run("trim", said, "--script", "edited.txt", "-o", "cuts.json")
    removed = read_valid("cuts.json", "trim")["removed"]
    assert [part["text"] for part in removed if part["reason"] == "deleted"] == ["word0", "word2"]
    script = vidsum.trim(said, script="edited.txt")
    assert [*script.segments] == [
        (part["start_s"], part["end_s"]) for part in read_valid("cuts.json", "trim")["segments"]
    ]
    Path("edited.txt").write_text("word1")
    assert "(unchanged)" not in run("trim", said, "--script", "edited.txt", "-o", "cuts.json").out


@pytest.mark.parametrize("form", ["txt", "srt", "vtt"])
def test_a_script_that_was_not_edited_keeps_the_film(form: str, said: Path, run: Run) -> None:
    run("transcribe", said, "--format", form)
    ran = run("trim", said, "--script", f"talk_transcript.{form}")
    assert "nothing to remove: the script says all that is said" in ran.out
    assert read_valid("talk_trim.json", "trim")["segments"] == [{"start_s": 0.0, "end_s": 6.0}]


def test_film_follows_cues_that_were_moved(said: Path, run: Run) -> None:
    cues = ["2\n00:00:03,000 --> 00:00:04,500\nword2 word3\n", "1\n00:00:01,000 --> 00:00:01,500\nword0\n"]
    Path("edited.srt").write_text("\n".join(cues))
    run("trim", said, "--script", "edited.srt")
    assert pitches_of(sound_of(Path("talk_trim.mp4"))) == [700, 900, 300]


def test_dry_run_has_the_new_order(said: Path, run: Run) -> None:
    Path("edited.txt").write_text("word3\nword1")
    ran = run("trim", said, "--script", "edited.txt", "--dry-run")
    late, early = vidsum.trim(said, script="edited.txt").segments
    spans = ", ".join(f"{format_time(start_s)}-{format_time(end_s)}" for start_s, end_s in (late, early))
    assert f"new order: {spans}" in ran.out.splitlines()
    assert late > early
    Path("edited.txt").write_text("word1\nword3")
    assert "new order" not in run("trim", said, "--script", "edited.txt", "--dry-run").out


def test_cue_of_a_script_without_times_is_an_error(said: Path, run: Run) -> None:
    cues = ["1\n00:00:01,000 --> 00:00:01,500\nword0\n", "2\n00:00:0x,000 --> 00:00:04,500\nword2 word3\n"]
    Path("edited.srt").write_text("\n".join(cues))
    fault = "edited.srt: line 6 does not hold the times of a cue"
    run("trim", said, "--script", "edited.srt", code=3, error=fault)


@pytest.mark.parametrize(("script", "faults"), [
    ("word0\nword1 kiwi", ("edited.txt: has words that were never said: 'kiwi' (line 2)",)),
    (" \n?\n", ("edited.txt: has no words: nothing of the film would stay",)),
])  # fmt: skip
def test_script_with_other_words_or_none_is_refused(
    script: str, faults: tuple[str, ...], said: Path, run: Run
) -> None:
    Path("edited.txt").write_text(script)
    run("trim", said, "--script", "edited.txt", code=3, error=faults)
    assert files_here() == ["edited.txt"]


def test_script_is_refused_where_words_have_no_times(
    said: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("edited.txt").write_text("word1")
    plain = Transcript((Segment(1, 4.5, "word0 word1", 0.9, 0.0),), "en", 0.9, 6.0)
    plan = Plan({"speech": {"model": "made up"}}, lambda progress: plain)
    monkeypatch.setattr("vidsum.pipelines.trim.plan_transcript", lambda *about: plan)
    ran = run("trim", said, "--script", "edited.txt", code=3)
    assert "the words of its transcript have no times" in ran.err
    assert f"vidsum transcribe {said} --words" in ran.err


def test_script_for_several_videos_is_refused(said: Path, run: Run) -> None:
    Path("edited.txt").write_text("word1")
    ran = run("trim", said, shutil.copy(said, "other.mp4"), "--script", "edited.txt", code=2)
    assert "--script edited.txt is for one video; there are 2" in ran.err


def test_script_is_refused_beside_options_that_decide_too(said: Path, run: Run) -> None:
    Path("edited.txt").write_text("word1")
    for option in (("--fillers",), ("--min-pause", "1s"), ("--by", "voice")):
        ran = run("trim", said, "--script", "edited.txt", *option, code=2)
        assert f"--script already decides what is removed: leave out {option[0]}" in ran.err
