"""Clips for phones: the crop goes where things are, shot by shot; captions, what cannot be done."""

import tracemalloc
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.crop.test_burned_captions import SAID, STAYS, film
from tests.grounding.colours import use_colours
from tests.media import make_video
from tests.program import Run
from tests.speech import stub
from vidsum.crop.saliency import STEP, Look, normalise
from vidsum.pipelines import clip_style
from vidsum.pipelines.speech_evidence import protected_words
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.summary.settings import Selection
from vidsum.types import Picture
from vidsum.video.probe import probe

NO_FACES = np.zeros((0, 2))


class Bright:
    """Sees what is bright; faces are where they are set."""

    faces = NO_FACES
    face_height = 0.0

    def look(self, picture: Picture, *, is_turned: bool) -> Look:
        lines = picture.mean(axis=(0, 2))
        at = np.arange(STEP / 2, picture.shape[1], STEP)
        return Look(normalise(np.interp(at, np.arange(len(lines)), lines)), self.faces, self.face_height)


@pytest.fixture(autouse=True)
def _bright(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clip_style, "_load_saliency_model", lambda *_: Bright())


def spot(width: int, height: int, at: float, grey: int = 20) -> Picture:
    picture = np.full((height, width, 3), grey, np.uint8)
    length = max(width, height)
    first, end = round((at - 0.06) * length), round((at + 0.06) * length)
    if width >= height:
        picture[:, max(first, 0) : end] = 230
    else:
        picture[max(first, 0) : end] = 230
    return picture


@pytest.mark.parametrize(("size", "aspect"), [((192, 108), "9:16"), ((108, 192), "1:1")])
def test_crop_follows_and_restarts_at_cuts(tmp_path: Path, size: tuple[int, int], aspect: str) -> None:
    """A bright bar on the left; from 2 s on, in another shot, on the right, and moving to the middle."""

    def paint(number: int, width: int, height: int) -> Picture:
        if number < 50:
            return spot(width, height, 0.2)
        return spot(width, height, 0.9 - 0.4 * min((number - 50) / 100, 1), grey=90)

    made = make_video(tmp_path / "film.mp4", n_frames=175, width=size[0], height=size[1], paint=paint)
    ratio = Fraction(*map(int, aspect.split(":")))
    framing = clip_style.choose_framing(probe(made.path), [(0.0, 7.0)], ratio)
    assert [round(shot.start_s, 3) for shot in framing.shots] == [0.0, 2.0]
    share = framing.shape.share
    for time_s, at in ((0.0, 0.2), (1.96, 0.2), (2.0, 0.9), (4.0, 0.7), (6.9, 0.5)):
        place = framing.position_at(time_s)
        assert place is not None
        first = place * (1 - share)
        assert first - 0.02 <= at - 0.05 < at + 0.05 <= first + share + 0.02, time_s
    framed = np.array([framing.position_at(time_s) for time_s in np.arange(2, 7, 0.04)], float)
    assert np.abs(np.diff(framed)).max() * (1 - share) / share <= 0.04 * 0.5 + 1e-6


def test_crop_of_wide_content(tmp_path: Path) -> None:
    def paint(number: int, width: int, height: int) -> Picture:
        picture = np.full((height, width, 3), 20, np.uint8)
        for at in (0.08, 0.5, 0.92):
            picture[:, round(at * width) - 6 : round(at * width) + 6] = 230
        return picture

    made = make_video(tmp_path / "text.mp4", n_frames=30, width=192, height=108, paint=paint)
    framing = clip_style.choose_framing(probe(made.path), [(0.0, 1.2)], Fraction(9, 16))
    assert framing.position_at(0.5) is None


def still(number: int, width: int, height: int) -> Picture:
    return spot(width, height, 0.2)


@pytest.mark.parametrize(
    ("faces", "is_cropped"),
    [([(0.12, 0.28)], True), ([(0.05, 0.15), (0.7, 0.8)], False), ([(0.15, 0.2), (0.2, 0.25)], True)],
)
def test_two_people_who_fit_no_crop_are_shown_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faces: list[tuple[float, float]], is_cropped: bool
) -> None:
    monkeypatch.setattr(Bright, "faces", np.array(faces))
    made = make_video(tmp_path / "talk.mp4", n_frames=50, width=192, height=108, paint=still)
    framing = clip_style.choose_framing(probe(made.path), [(0.0, 2.0)], Fraction(9, 16))
    place = framing.position_at(1.0)
    assert (place is not None) == is_cropped
    if place is not None:
        first = place * (1 - framing.shape.share)
        assert first <= faces[0][0] + 0.02
        assert faces[-1][1] - 0.02 <= first + framing.shape.share


def test_captions_are_not_cropped(tmp_path: Path) -> None:
    """The bright bar is cropped to in the first shot; the second has a caption in its later half."""

    def paint(number: int, width: int, height: int) -> Picture:
        picture = spot(width, height, 0.2, grey=20 if number < 50 else 90)
        if number < 75:
            return picture
        image = Image.fromarray(picture)
        font = ImageFont.load_default(22)
        ImageDraw.Draw(image).text((320, 345), "I have been on trial", "white", font, "mb", stroke_width=1)
        return np.asarray(image)

    made = make_video(tmp_path / "film.mp4", n_frames=100, width=640, height=360, paint=paint)
    framing = clip_style.choose_framing(probe(made.path), [(0.0, 4.0)], Fraction(9, 16))
    assert [shot.positions is None for shot in framing.shots] == [False, True]


SLIDE = ["It began with words", "posters, jokes, laws", "and nobody objected"]


@pytest.mark.parametrize(("height", "is_cropped"), [(0.0, False), (0.1, False), (0.2, True)])
def test_a_wall_of_text_behind_somebody_who_is_close_may_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, height: float, is_cropped: bool
) -> None:
    def paint(number: int, width: int, height: int) -> Picture:
        image = Image.fromarray(spot(width, height, 0.2))
        for row, text in enumerate(SLIDE):
            place = 380, 60 + 50 * row
            ImageDraw.Draw(image).text(place, text, "white", ImageFont.load_default(20))
        return np.asarray(image)

    monkeypatch.setattr(Bright, "faces", np.array([(0.15, 0.25)]))
    monkeypatch.setattr(Bright, "face_height", height)
    made = make_video(tmp_path / "talk.mp4", n_frames=50, width=640, height=360, paint=paint)
    framing = clip_style.choose_framing(probe(made.path), [(0.0, 2.0)], Fraction(9, 16))
    assert (framing.position_at(1.0) is not None) == is_cropped


@pytest.mark.deep
def test_memory_of_long_shots() -> None:
    """The evidence moves from the left to the right, once."""
    n_times, places = 3600 * 4, np.arange(50)

    def curve(number: int) -> np.ndarray:
        return normalise(np.exp(-((places - 49 * number / n_times) ** 2) / 20))

    seen = clip_style._ShotEvidence(
        0.0, 0.0, looked=[(number / 4, Look(curve(number), NO_FACES)) for number in range(0, n_times, 4)]
    )
    seen.moved = [(number / 4, curve(number)) for number in range(1, n_times)]
    tracemalloc.start()
    shot = seen.shot(0.3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 250e6
    assert shot.positions is not None
    assert np.abs(shot.positions - np.clip(np.linspace(0, 1, n_times) * 1.4 - 0.2, 0, 1)).max() < 0.1


def test_video_of_target_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    made = make_video(tmp_path / "film.mp4", n_frames=10, width=54, height=96)
    monkeypatch.setattr(clip_style, "_scan_shots", None)
    assert clip_style.choose_framing(probe(made.path), [(0.0, 1.0)], Fraction(9, 16)).position_at(0.2) == 0.5
    make_video(tmp_path / "mute.mp4", n_frames=50)
    ran = run("summarize", tmp_path / "mute.mp4", "--model", "uniform", "--burn")
    assert "has no sound: no captions are drawn" in ran.err
    texts = "One two three. Four five six seven eight nine ten."
    words = tuple(Word(n, n + 0.9, text, 0.9) for n, text in enumerate(texts.split()))
    transcript = Transcript((Segment(0, 9.9, texts, 0.9, 0.0, words),), "en", 1.0, 10.0)
    spoken = [(word.start_s, word.end_s) for word in words]
    assert protected_words(Selection(snap="speech"), transcript) == spoken
    assert protected_words(Selection(snap="sentence"), transcript) == [*spoken, (0, 2.9), (3, 9.9)]


def size_of(path: str) -> tuple[int, int]:
    return probe(path).display_width, probe(path).display_height


@pytest.mark.deep
def test_the_options_of_summarize(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, language=("en", 0.99))
    options = ("summarize", film, "--model", "uniform", "--budget", "10%")
    run(*options)
    run(*options, "--vertical", "--aspect", "4:5", "--burn", "--json")
    assert size_of("film_summary.mp4") == (540, 676)
    with av.open("film_summary.mp4") as container:
        assert "vertical-4:5-burn" in container.metadata["comment"]
    again = run(*options, "--vertical", "--aspect", "4:5", "--burn")
    assert "(unchanged)" in again.out
    ran = run(*options, "--vertical", "--burn")
    assert "(unchanged)" not in ran.out
    assert size_of("film_summary.mp4") == (540, 960)
    use_colours(monkeypatch)
    options = ("ground", film, "--query", "green", "-k", "1", "--clips")
    run(*options, "--vertical", "--aspect", "1:1")
    assert [size_of(str(path)) for path in Path().glob("green_film_*.mp4")] == [(540, 540)]
    assert "(unchanged)" in run(*options, "--vertical", "--aspect", "1:1").out
    run(*options, "--vertical")
    assert [size_of(str(path)) for path in Path().glob("green_film_*.mp4")] == [(540, 960)]


@pytest.mark.parametrize(("lines", "is_seen"), [(SAID, True), (STAYS, False)], ids=["captions", "a sign"])
def test_captions_in_the_pictures_are_seen(tmp_path: Path, lines: tuple[str, ...], *, is_seen: bool) -> None:
    pictures = film(lines, n=10)

    def paint(number: int, width: int, height: int) -> Picture:
        return pictures[number // 2]

    made = make_video(tmp_path / "film.mp4", n_frames=20, fps=2, width=640, height=360, paint=paint)
    assert clip_style.is_captioned(probe(made.path), (0.0, 10.0)) == is_seen
    assert not clip_style.is_captioned(probe(made.path), (0.0, 3.0))
