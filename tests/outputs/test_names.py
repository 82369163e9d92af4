"""Templates of output names, and the names of videos in files of several."""

from pathlib import Path

import pytest

from vidsum.errors import UsageError
from vidsum.outputs.names import _is_rival, fill_template


@pytest.mark.parametrize(
    ("name", "other", "is_rival"),
    [
        ("a.mp4", "a.mkv", True),
        ("a.mp4", "a.npz", False),
        ("a.mp4", "a.wav", False),
        ("a.mp4", "a.txt", False),
        ("a.npz", "a.h5", True),
        ("a.npz", "a.mkv", True),
        ("a.wav", "a.mp3", True),
        ("a.wav", "a.mkv", True),
        ("a.wav", "a.txt", False),
    ],
)
def test_video_of_the_same_stem_is_a_rival_and_features_or_sound_of_their_kind(
    name: str, other: str, is_rival: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.video.probe.is_video", lambda path: path.suffix in (".mp4", ".mkv"))
    assert _is_rival(Path(name), Path(other)) == is_rival


def test_fields_of_a_template_are_of_the_source() -> None:
    filled = fill_template("{parent}_{stem}{suffix}_{n:03}.json", "films/a.mp4", 7, ".json")
    assert filled == Path("films_a.mp4_007.json")


@pytest.mark.parametrize(
    "output", ["{stem!r}.json", "{other}.json", "{stem.upper}.json", "{stem", "{n:>999999}"]
)
def test_braces_that_hold_no_field_are_refused(output: str) -> None:
    with pytest.raises(UsageError, match="braces must hold"):
        fill_template(output, "films/a.mp4", 1, ".json")


def test_a_video_of_several_in_a_file_has_the_names_of_both() -> None:
    assert fill_template("{name}.json", "films/set.h5#video_1", 1, ".json") == Path("set.h5_video_1.json")
