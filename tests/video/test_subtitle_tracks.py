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


@pytest.mark.parametrize(("tracks", "spoken", "expected"), [
    ([text("ger"), text("en-GB")], "eng", (2, "en")),
    ([text("eng", FORCED), text("eng")], "eng", (2, "en")),
    ([PICTURES, text("eng")], "eng", (2, "en")),
    ([text("eng", DEAF), text("eng")], "eng", (2, "en")),
    ([text(), text("eng")], "eng", (2, "en")),
    ([text("ger"), text()], "eng", (2, None)),
    ([text("ger"), text("fre", DEFAULT)], None, (2, "fr")),
    ([text("ger"), text("fre")], None, (1, "de")),
])  # fmt: skip
def test_track_in_the_language_of_the_sound(
    tracks: list[SubtitleText], spoken: str | None, expected: tuple[int, str | None], tmp_path: Path
) -> None:
    film = film_with(tmp_path, *tracks, language=spoken)
    chosen = choose_subtitle_track(film)
    assert (chosen.number, chosen.language) == expected


NO_WHOLE = "has no whole subtitle track in the language of its sound (en); it has"


@pytest.mark.parametrize(("tracks", "fault"), [
    ([], "has no subtitle track"),
    ([PICTURES], "its subtitles are pictures, not text (hdmv_pgs_subtitle)"),
    ([text("ger")], f"{NO_WHOLE} 1 ger"),
    ([text("eng", FORCED)], f"{NO_WHOLE} 1 eng (forced)"),
])  # fmt: skip
def test_no_track_to_read(tracks: list[SubtitleText], fault: str, tmp_path: Path) -> None:
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
