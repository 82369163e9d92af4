"""Transcripts of files, by a recognizer that needs no weights."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests.program import check_schema
from tests.speech import stub
from tests.voices import write_wav
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.pipelines.transcribe import (
    _describe_stopped,
    _doubt_alike,
    _needs_translation,
    describe_damage,
    describe_doubtful,
    find_transcript,
    plan_transcript,
    transcribe_query,
)
from vidsum.results.sentences import SHORTEST_S
from vidsum.results.transcript import Segment, Transcript
from vidsum.speech.settings import Transcription
from vidsum.video.listen import SoundInfo, probe_sound


@pytest.fixture(autouse=True)
def model(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Sound from 40 to 44 s and from 62 to 68 s of 75 s."""
    samples = np.zeros(75 * 16_000, np.float32)
    for start_s, end_s in ((40, 44), (62, 68)):
        samples[start_s * 16_000 : end_s * 16_000] = 0.5
    write_wav(samples, tmp_path / "talk.wav")
    return tmp_path / "talk.wav"


def test_words_have_their_times_in_the_file(talk: Path) -> None:
    transcript = vidsum.transcribe(talk)
    assert [word.start_s for word in transcript.words] == pytest.approx(
        [40, 41, 42, 43, 62, 63, 64, 65, 66, 67], abs=0.01
    )


def test_transcript_is_as_long_as_its_file(talk: Path) -> None:
    assert vidsum.transcribe(talk).duration_s == pytest.approx(75)


def test_transcript_ends_no_earlier_than_its_last_segment(
    talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe(*arguments: Any) -> SoundInfo:
        return replace(probe_sound(*arguments), duration_s=60.0)  # a header that is wrong

    monkeypatch.setattr("vidsum.pipelines.transcribe.probe_sound", probe)
    transcript = vidsum.transcribe(talk)
    assert transcript.duration_s == transcript.segments[-1].end_s


def test_language_is_detected_with_its_probability(talk: Path) -> None:
    transcript = vidsum.transcribe(talk)
    assert (transcript.language, transcript.language_probability) == ("de", 0.97)


def test_pieces_of_speech_share_a_window(talk: Path, model: stub.StubModel) -> None:
    vidsum.transcribe(talk)
    assert model.tasks == [("transcribe", "de")]


def test_open_video_is_transcribed_as_its_path(talk: Path) -> None:
    expected = vidsum.transcribe(talk).segments
    assert vidsum.transcribe(vidsum.Video(talk)).segments == expected


def test_array_is_no_file_to_transcribe() -> None:
    with pytest.raises(UsageError, match="ndarray"):
        vidsum.transcribe(np.zeros(3))  # type: ignore[arg-type]


def test_renamed_file_has_its_transcript_in_the_cache(talk: Path, model: stub.StubModel) -> None:
    first = vidsum.transcribe(talk)
    moved = talk.rename(talk.with_name("renamed.wav"))
    assert vidsum.transcribe(moved).segments == first.segments
    assert len(model.tasks) == 1


def test_transcript_is_not_stored_without_the_cache(talk: Path, model: stub.StubModel) -> None:
    vidsum.transcribe(talk, cache=False)
    vidsum.transcribe(talk)
    assert len(model.tasks) == 2


def test_cached_transcript_is_not_read_without_the_cache(talk: Path, model: stub.StubModel) -> None:
    vidsum.transcribe(talk)
    vidsum.transcribe(talk, cache=False)
    assert len(model.tasks) == 2


def test_language_and_translation_have_transcripts_of_their_own(talk: Path, model: stub.StubModel) -> None:
    vidsum.transcribe(talk)
    vidsum.transcribe(talk, "fr")
    vidsum.transcribe(talk, "fr", translate=True)
    assert model.tasks == [("transcribe", "de"), ("transcribe", "fr"), ("translate", "fr")]


def test_devices_without_half_precision_share_a_cached_transcript(talk: Path, model: stub.StubModel) -> None:
    stored = [vidsum.transcribe(talk, device=device).provenance for device in ("auto", "cpu", "mps")]
    assert stored[0] == stored[1] == stored[2]
    assert len(model.tasks) == 1


def test_gpu_has_a_cached_transcript_of_its_own(talk: Path, model: stub.StubModel) -> None:
    on_cpu = vidsum.transcribe(talk, device="cpu").provenance
    assert vidsum.transcribe(talk, device="cuda:0").provenance != on_cpu
    assert len(model.tasks) == 2


@pytest.mark.parametrize(("n_damaged", "n_made"), [(0, 1), (3, 2)], ids=["whole", "damaged"])
def test_transcript_of_damaged_sound_is_made_again_each_time(
    talk: Path, monkeypatch: pytest.MonkeyPatch, n_damaged: int, n_made: int
) -> None:
    made = list[Transcript]()

    def recognize(*_: object) -> tuple[Transcript, int]:
        made.append(Transcript((), None, None, 75.0))
        return made[-1], n_damaged

    monkeypatch.setattr("vidsum.pipelines.transcribe._recognize", recognize)
    for _ in range(2):
        assert len(vidsum.transcribe(talk).warnings) == 1 + bool(n_damaged)
    assert len(made) == n_made


def test_damaged_cached_transcript_is_made_again(talk: Path, model: stub.StubModel, tmp_path: Path) -> None:
    first = vidsum.transcribe(talk)
    (entry,) = (tmp_path / "home" / "transcript").iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"word1", b"word9")):
        entry.write_bytes(damaged)
        assert vidsum.transcribe(talk).segments == first.segments
        assert entry.read_bytes() == whole
    assert len(model.tasks) == 4


def test_other_rules_of_recognition_make_another_transcript(
    talk: Path, model: stub.StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = vidsum.transcribe(talk).provenance
    monkeypatch.setattr("vidsum.speech.recognize.MIN_CERTAIN_PROBABILITY", 0.1)
    now = vidsum.transcribe(talk).provenance
    assert len(model.tasks) == 2
    assert now != before


@pytest.fixture
def mumbled(talk: Path, monkeypatch: pytest.MonkeyPatch) -> Transcript:
    """The talk, whose words are all improbable."""
    stub.install(monkeypatch, probability=0.4)
    return vidsum.transcribe(talk)


def test_segments_of_improbable_words_are_uncertain(mumbled: Transcript) -> None:
    assert [segment.uncertain for segment in mumbled.segments] == [True, True]  # at the pause


def test_uncertain_speech_is_counted_and_its_times_are_named(mumbled: Transcript) -> None:
    left_out = "uncertain throughout: subtitles, titles and searches leave it out"
    assert mumbled.warnings == (
        "uncertain speech in 2 of 2 segments",
        f"the text from 0:40.00 to 1:07.50 is {left_out}",
    )


def test_cached_transcript_has_the_warnings_of_the_first(mumbled: Transcript, talk: Path) -> None:
    assert vidsum.transcribe(talk).warnings == mumbled.warnings


def test_uncertain_segments_are_read_back(mumbled: Transcript, tmp_path: Path) -> None:
    vidsum.write_json(mumbled, tmp_path / "talk.json")
    assert vidsum.load(tmp_path / "talk.json").segments == mumbled.segments


@pytest.mark.parametrize(
    ("no_speech", "of_language", "n_segments"), [(0.7, 0.98, 2), (0.1, 0.2, 2), (0.5, 0.5, 0), (0.9, 0.2, 0)]
)
def test_text_without_speech_or_a_likely_language_is_dropped(
    talk: Path, monkeypatch: pytest.MonkeyPatch, no_speech: float, of_language: float, n_segments: int
) -> None:
    stub.install(monkeypatch, no_speech=no_speech, language=("nn", of_language))
    transcript = vidsum.transcribe(talk)
    assert len(transcript.segments) == n_segments
    if not n_segments:
        assert (transcript.language, transcript.warnings) == (None, ("no speech found",))


@pytest.fixture
def two_languages(tmp_path: Path) -> Path:
    """20 s in a low voice, then 25 in a loud one."""
    samples = np.zeros(80 * 16_000, np.float32)
    samples[: 20 * 16_000], samples[40 * 16_000 : 65 * 16_000] = 0.2, 0.6
    write_wav(samples, tmp_path / "interview.wav")
    return tmp_path / "interview.wav"


def of_volume(samples: np.ndarray) -> dict[str, float]:
    """English is loud."""
    return {"de": 0.05, "en": 0.9} if samples.max() > 0.4 else {"de": 0.8, "en": 0.1}


def test_each_window_is_transcribed_in_its_language(
    two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = stub.install(monkeypatch, language=of_volume)
    transcript = vidsum.transcribe(two_languages)
    assert model.tasks == [("transcribe", "de"), ("transcribe", "en")]
    assert transcript.languages == ["de", "en"]


def test_language_of_a_transcript_is_the_one_spoken_longest(
    two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, language=of_volume)
    transcript = vidsum.transcribe(two_languages)
    assert (transcript.language, transcript.language_probability) == ("en", 0.9)


def test_change_of_language_is_a_warning_with_its_time(
    two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, language=of_volume)
    assert vidsum.transcribe(two_languages).warnings == ("the language changes: de to en at 0:40.00",)


def test_document_names_languages_other_than_its_own(
    two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, language=of_volume)
    data = vidsum.transcribe(two_languages).to_dict()
    check_schema(data, "transcript")
    assert [segment.get("language") for segment in data["segments"]] == ["de", None]


def test_english_windows_are_not_translated(two_languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, language=of_volume)
    translated = vidsum.transcribe(two_languages, translate=True)
    assert model.tasks == [("translate", "de"), ("transcribe", "en")]
    assert [bool(segment.words) for segment in translated.segments] == [False, True]


def test_named_language_is_used_in_all_windows(two_languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, language=of_volume)
    assert vidsum.transcribe(two_languages, "fr").warnings == ()
    assert {language for _, language in model.tasks} == {"fr"}


def test_language_so_far_is_kept_in_a_window_that_leaves_it_likely(
    two_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def similar(samples: np.ndarray) -> dict[str, float]:
        return {"it": 0.5, "es": 0.3} if samples.max() > 0.4 else {"it": 0.1, "es": 0.8}

    model = stub.install(monkeypatch, language=similar)
    assert 0.3 < (vidsum.transcribe(two_languages).language_probability or 0) < 0.8
    assert {language for _, language in model.tasks} == {"es"}


def test_silence_is_not_recognized_and_has_a_warning(tmp_path: Path, model: stub.StubModel) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    for _ in range(2):
        transcript = vidsum.transcribe(tmp_path / "silence.wav")
        assert (transcript.segments, transcript.language, transcript.confidence) == ((), None, 0)
        assert transcript.warnings == ("no speech found",)
    assert model.tasks == []


@pytest.mark.parametrize(("no_speech", "n_segments"), [(0.2, 32), (0.7, 0)])
def test_repeated_segments_are_dropped_where_speech_is_unlikely(
    talk: Path, monkeypatch: pytest.MonkeyPatch, no_speech: float, n_segments: int
) -> None:
    class Yeah(stub.StubModel):
        """Hears the same word again and again, in a segment of its own each time."""

        def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
            result, _ = super().transcribe(samples, **options)
            (segment,) = result
            return iter([segment] * 16), None

    model = Yeah(text=" Yeah.", no_speech=no_speech)
    monkeypatch.setattr("vidsum.pipelines.transcribe.load_recognizer", lambda device, progress=None: model)
    assert len(vidsum.transcribe(talk).segments) == n_segments


def test_text_that_repeats_itself_is_dropped(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, text=20 * "thank you for watching ")
    assert vidsum.transcribe(talk).segments == ()


def test_unknown_language_is_refused(talk: Path) -> None:
    with pytest.raises(UsageError, match="unknown language 'xx'"):
        vidsum.transcribe(talk, "xx")


def test_missing_file_is_named(talk: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        vidsum.transcribe(talk.with_name("none.wav"))


def spoken(*uncertain: bool, language: str = "de") -> Transcript:
    """Segments of five seconds."""
    parts = [
        Segment(5.0 * n, 5.0 * n + 5, "text", 0.9, 0.0, (), is_uncertain)
        for n, is_uncertain in enumerate(uncertain)
    ]
    return Transcript(tuple(parts), language, 1.0, 30.0)


def test_a_translation_is_as_uncertain_as_what_it_translates() -> None:
    translated = _doubt_alike(spoken(*[False] * 5), spoken(False, True, True, True, False))
    assert [part.uncertain for part in translated.segments] == [False, True, True, True, False]


def test_translation_of_a_short_uncertain_passage_stays_certain() -> None:
    translated = _doubt_alike(spoken(*[False] * 3), spoken(False, True, False))
    assert not any(part.uncertain for part in translated.segments)


def test_english_needs_no_translation() -> None:
    assert not _needs_translation(spoken(False, language="en"))


def test_other_languages_need_a_translation() -> None:
    assert _needs_translation(spoken(False, False))


def test_text_that_is_doubtful_throughout_needs_no_translation() -> None:
    assert not _needs_translation(spoken(True, True, True))


def test_english_transcript_in_the_cache_is_found_with_its_doubts(
    talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (spoken(*doubts) for doubts in ([False, True, True], [False] * 3))
    cached = {False: first, True: replace(second, translated=True)}
    monkeypatch.setattr(
        "vidsum.pipelines.transcribe.find_cached", lambda _, facts: cached[facts["speech"]["translate"]]
    )
    english = find_transcript({}, Extraction(), 0.0, english=True)
    assert english is not None
    assert english.translated
    assert [part.uncertain for part in english.segments] == [False, True, True]


def test_no_transcript_is_found_without_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.transcribe.find_cached", lambda *_: spoken(False))
    assert find_transcript({}, Extraction(cache=False), 0.0) is None


def test_speech_that_was_given_up_is_named_with_the_times_of_the_player() -> None:
    (warning,) = _describe_stopped([(60.0, 75.0)], offset_s=5.0)
    assert warning.startswith("speech from 1:05.00 to 1:20.00 is left out")


def test_less_than_a_sentence_that_was_given_up_is_no_warning() -> None:
    assert _describe_stopped([(60.0, 60.0 + SHORTEST_S - 0.1)], 0.0) == ()


def test_more_than_three_times_of_given_up_speech_are_counted() -> None:
    (warning,) = _describe_stopped([(60.0 * n, 60.0 * n + 30) for n in range(5)], 0.0)
    assert "2:00.00 to 2:30.00 and 2 more is left out" in warning


def test_more_than_three_doubtful_passages_are_counted() -> None:
    (warning,) = describe_doubtful(spoken(*[False, True, True] * 5))
    assert "0:35.00 to 0:45.00 and 2 more is uncertain" in warning


def test_damaged_packets_of_sound_are_counted() -> None:
    assert describe_damage(3) == ["3 packets of its sound are damaged, and count as silence"]


def test_whole_sound_has_no_warning() -> None:
    assert describe_damage(0) == []


def test_uncertain_language_is_a_warning(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, language=("de", 0.3))
    assert vidsum.transcribe(talk).warnings == (
        "the language may not be de (30% confidence); name it if you know it",
    )


def test_progress_is_the_time_of_the_block_that_is_read(talk: Path) -> None:
    reports = list[tuple[str, float, float]]()
    vidsum.transcribe(talk, progress=lambda *report: reports.append(report))
    times = [done for what, done, _ in reports if what == "transcribing"]
    assert times == [0, 30, 60]


def test_track_of_sound_is_recorded_where_there_are_several(talk: Path) -> None:
    def recorded(track: int | None) -> Any:
        sound = replace(probe_sound(talk), track=track)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("vidsum.pipelines.transcribe.probe_sound", lambda *_: sound)
            return plan_transcript(talk, Transcription(), Extraction()).provenance["video"].get("audio_track")

    assert [recorded(None), recorded(2)] == [None, 2]


@pytest.fixture
def sentence(tmp_path: Path) -> str:
    """Four seconds of speech."""
    write_wav(np.full(4 * 16_000, 0.5, np.float32), tmp_path / "sentence.wav")
    return str(tmp_path / "sentence.wav")


def test_clear_spoken_query_has_its_text(sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, language=("en", 0.97), text="a dog")
    query = transcribe_query(sentence, Extraction())
    assert (query.text, query.language, query.file) == ("a dog", "en", "sentence.wav")


@pytest.mark.parametrize(
    "options",
    [{"language": ("en", 0.4)}, {"no_speech": 0.7}],
    ids=["language", "speech"],
)
def test_query_of_unsure_language_or_speech_is_refused(
    sentence: str, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    stub.install(monkeypatch, **{"language": ("en", 0.97), **options})
    with pytest.raises(InputError, match="not clear"):
        transcribe_query(sentence, Extraction())


def test_spoken_query_of_more_than_a_minute_is_refused(talk: Path, model: stub.StubModel) -> None:
    with pytest.raises(InputError, match="is 75 s long, and a spoken query is a sentence"):
        transcribe_query(str(talk), Extraction())
    assert model.tasks == []


def test_spoken_query_without_speech_is_refused(tmp_path: Path) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    with pytest.raises(InputError, match="no speech found"):
        transcribe_query(str(tmp_path / "silence.wav"), Extraction())
