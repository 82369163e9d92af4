"""Views of pictures: what an extractor sees, random ones that repeat, a cache that goes on, bad files."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests import media
from tests.pictures import EXTRACTOR, cells, painted, save, use_stand_ins
from vidsum.errors import InputError, UsageError
from vidsum.features import describe, pictures
from vidsum.features.extractor import CustomExtractor, _registered
from vidsum.features.pictures import DEGRADATIONS, Still, encode_views, make_view, read_stills


@pytest.fixture
def batches(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return use_stand_ins(monkeypatch)


@pytest.fixture
def stills(tmp_path: Path) -> list[Still]:
    for number, colour in enumerate(("red", "green", "blue", "red", "yellow")):
        save(tmp_path / f"{number}.png", painted(colour, "circle", 100 + number))
    return [Still(tmp_path / f"{number}.png") for number in range(5)]


def test_first_view_is_that_of_the_extractor(batches: list[int], tmp_path: Path) -> None:
    media.make_video(tmp_path / "film.mp4", n_frames=20, fps=10, paint=media.colour_picture)
    frame = Still(tmp_path / "film.mp4", 1.0)
    (picture,) = read_stills([frame])
    assert picture is not None
    Image.fromarray(picture).save(tmp_path / "frame.png")
    (of_frame, of_image), (mirrored, _) = encode_views(
        [frame, Still(tmp_path / "frame.png")], EXTRACTOR, [0, 1]
    )
    assert np.array_equal(of_frame, of_image)
    assert np.allclose(mirrored.reshape(4, 4, 3), of_frame.reshape(4, 4, 3)[:, ::-1])
    height, width = picture.shape[:2]
    small = Image.fromarray(picture).resize((64 * width // height, 64), Image.Resampling.BILINEAR)
    left = round((small.width - 64) / 2)
    assert np.abs(cells(np.asarray(small)[None, :, left : left + 64])[0] - of_frame).max() < 1


def test_make_view(batches: list[int], stills: list[Still]) -> None:
    spec, picture = describe(EXTRACTOR), painted("red", "cross")
    views = [make_view(picture, number, spec, 7) for number in range(2, 40)]
    assert all(view.shape == (64, 64, 3) for view in views)
    assert len({view.tobytes() for view in views}) == len(views)
    assert np.array_equal(make_view(picture, 5, spec, 7), views[3])
    for shape in ((1, 1), (3, 500), (500, 3)):
        assert make_view(np.zeros((*shape, 3), np.uint8), 9, spec, 0).shape == (64, 64, 3)
    # the rows of a picture do not depend on those beside it
    both = encode_views(stills[:2], EXTRACTOR, [3])[0]
    assert np.array_equal(both[1], encode_views(stills[1:2], EXTRACTOR, [3])[0, 0])


def test_degradations() -> None:
    picture = media.colour_picture(3, 61, 47)
    for degraded in DEGRADATIONS:
        made = degraded(picture, np.random.default_rng(0))
        assert (made.shape, made.dtype) == (picture.shape, np.uint8)
        assert 0 < np.abs(made.astype(int) - picture).mean() < 60


def test_encode_views_resumes(
    batches: list[int], stills: list[Still], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "_BLOCK", 2)

    def stop(what: str, done: float, total: float) -> None:
        assert (what, total) == ("views of pictures", 10)
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_views(stills, EXTRACTOR, [0, 2], progress=stop)
    assert batches == [2, 2, 2]
    features = encode_views(stills, EXTRACTOR, [0, 2])
    assert batches == [2, 2, 2, 2, 1, 1]
    assert features.shape == (2, 5, 48)
    again = encode_views(stills, EXTRACTOR, [0, 2])
    assert np.array_equal(again, features)
    assert len(batches) == 6
    save(stills[0].path, painted("blue", "bar"))  # another picture of the same name
    assert not np.array_equal(encode_views(stills, EXTRACTOR, [0])[0, 0], features[0, 0])


def test_encode_views_of_bad_files(batches: list[int], stills: list[Still], tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("a dog")
    whole = stills[0].path.read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    cases = (("text.jpg", None), ("cut.png", None), ("text.jpg", 1.0))
    bad = [Still(tmp_path / name, time) for name, time in cases]
    features = encode_views([bad[0], stills[0], *bad[1:], Still(tmp_path / "none.jpg")], EXTRACTOR, [0, 5])
    assert np.isnan(features).all(axis=2).tolist() == [[True, False, True, True, True]] * 2
    assert np.isnan(encode_views(bad, EXTRACTOR, [0])).all()


def test_read_stills(tmp_path: Path) -> None:
    grey = Image.fromarray(np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6))
    grey.save(tmp_path / "grey.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    grey.convert("RGB").save(tmp_path / "turned.png", exif=exif)
    grey.convert("RGBA").save(tmp_path / "clear.png")
    pictures = read_stills([Still(tmp_path / f"{n}.png") for n in ("grey", "turned", "clear")])
    assert [picture.shape for picture in pictures] == [(4, 6, 3), (6, 4, 3), (4, 6, 3)]  # type: ignore[union-attr]


def test_encode_views_not_finite(
    batches: list[int], stills: list[Still], monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(batch: np.ndarray) -> np.ndarray:
        rows = cells(batch)
        rows[3, 5] = np.nan
        return rows

    monkeypatch.setitem(_registered, "broken", CustomExtractor("broken", encode, dim=48, size=64))
    with pytest.raises(InputError, match=r"3.png: broken gives NaN or infinite features"):
        encode_views(stills, "broken", [0])


def test_encode_views_of_clips(stills: list[Still]) -> None:
    with pytest.raises(UsageError, match="sees clips"):
        encode_views(stills, "i3d", [0])
