"""Subtitle tracks: which of them is read, and the cues in it."""

from pathlib import Path

import pytest
from av.stream import Disposition

from tests.media import SubtitleText, Track, add_subtitles, make_tracks
from vidsum.errors import InputError
from vidsum.video.subtitle_tracks import choose_subtitle_track, read_subtitle_track, sound_language

CUES = [(0.5, 1.0, "<i>Hello</i> &amp; you,"), (1.25, 1.75, "{\\an8}on two\r\nlines")]
PICTURES = SubtitleText((), "eng", codec="hdmv_pgs_subtitle")
FORCED, DEAF, DEFAULT = Disposition.forced, Disposition.hearing_impaired, Disposition.default


def film_with(folder: Path, *tracks: SubtitleText, language: str | None = "eng") -> Path:
    source = make_tracks(folder / "source.mp4", Track((64, 48)), Track(1, language=language, value=0.1))
    return add_subtitles(source, folder / "film.mkv", *tracks)


def text(language: str | None = None, flags: int = 0) -> SubtitleText:
    return SubtitleText(CUES, language, flags)


def choose(folder: Path, *tracks: SubtitleText, spoken: str | None = "eng") -> tuple[int, str | None]:
    """Return number and language of the track that is read of a film."""
    chosen = choose_subtitle_track(film_with(folder, *tracks, language=spoken))
    return chosen.number, chosen.language


@pytest.mark.parametrize("other", [text("ger"), text()], ids=["other language", "no language"])
def test_track_in_the_language_of_the_sound_is_read(other: SubtitleText, tmp_path: Path) -> None:
    assert choose(tmp_path, other, text("en-GB")) == (2, "en")


def test_forced_track_is_not_read_though_it_comes_first(tmp_path: Path) -> None:
    assert choose(tmp_path, text("eng", FORCED), text("eng")) == (2, "en")


def test_forced_track_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it has 1 eng \(forced\)"):
        choose(tmp_path, text("eng", FORCED))


def test_track_of_pictures_is_not_read_though_it_comes_first(tmp_path: Path) -> None:
    assert choose(tmp_path, PICTURES, text("eng")) == (2, "en")


def test_track_for_the_deaf_is_read_where_there_is_no_other(tmp_path: Path) -> None:
    assert choose(tmp_path, text("eng", DEAF), text("eng")) == (2, "en")


def test_track_without_a_language_comes_before_another_language(tmp_path: Path) -> None:
    assert choose(tmp_path, text("ger"), text()) == (2, None)


def test_default_track_is_read_where_the_sound_names_no_language(tmp_path: Path) -> None:
    assert choose(tmp_path, text("ger"), text("fre", DEFAULT), spoken=None) == (2, "fr")


def test_first_track_is_read_where_nothing_decides(tmp_path: Path) -> None:
    assert choose(tmp_path, text("ger"), text("fre"), spoken=None) == (1, "de")


NO_WHOLE = "has no whole subtitle track in the language of its sound (en); it has"


@pytest.mark.parametrize(("tracks", "fault"), [
    ([], "has no subtitle track"),
    ([PICTURES], "its subtitles are pictures, not text (hdmv_pgs_subtitle)"),
    ([text("ger")], f"{NO_WHOLE} 1 ger"),
])  # fmt: skip
def test_film_without_a_track_of_text_in_its_language_is_refused(
    tracks: list[SubtitleText], fault: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        choose_subtitle_track(film_with(tmp_path, *tracks))
    assert caught.value.message.endswith(f"film.mkv: {fault}")


def test_language_of_the_chosen_sound(tmp_path: Path) -> None:
    sounds = [Track(1, language=code, value=0.1) for code in ("eng", "ger")]
    film = make_tracks(tmp_path / "film.mkv", Track((64, 48)), *sounds)
    assert (sound_language(film), sound_language(film, 2)) == ("en", "de")
    assert sound_language(make_tracks(tmp_path / "mute.mkv", Track((64, 48)))) is None


def test_cues_without_tags(tmp_path: Path) -> None:
    film = film_with(tmp_path, text("ger"), SubtitleText([(0.1, 0.2, "other")]))
    cues = read_subtitle_track(film, 1)
    assert [said for _, _, said in cues] == ["Hello & you,", "on two lines"]
    shift_s = cues[0][0] - 0.5  # of all tracks, as sound begins before 0
    times_s = [time_s - shift_s for cue in cues for time_s in cue[:2]]
    assert times_s == pytest.approx([time_s for cue in CUES for time_s in cue[:2]], abs=1e-3)
