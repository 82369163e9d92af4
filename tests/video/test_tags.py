"""The choices of an MP4 are read again from the label of its file."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.video.settings import Aspect, Clips, Encoding, SoundLevel, Styling

SOUNDS = st.builds(SoundLevel, loudness=st.none() | st.integers(-100, -10).map(lambda half: half / 2))
SHORTS = st.builds(
    Styling, vertical=st.just(True), aspect=st.sampled_from(get_args(Aspect)), burn=st.booleans()
) | st.builds(Styling, burn=st.booleans())


@given(st.integers(1, 51), SOUNDS, SHORTS)
def test_an_encoding_is_read_from_its_tag(crf: int, sound: SoundLevel, styling: Styling) -> None:
    encoding = Encoding(crf=crf, sound=sound)
    tag = encoding.tag(styling=styling)
    assert (Encoding.from_tag(tag), Styling.from_tag(tag)) == (encoding, styling)


@given(st.floats(0, 1e4).map(lambda pad_s: float(f"{pad_s:g}")), SOUNDS, SHORTS)
def test_clips_are_read_from_their_tag(pad_s: float, sound: SoundLevel, styling: Styling) -> None:
    clips = Clips(pad_s=pad_s, sound=sound, styling=styling)
    assert Clips.from_tag(clips.tag) == clips


@pytest.mark.parametrize("tag", ["", "copy"])
def test_other_tags_are_the_defaults(tag: str) -> None:
    assert Encoding.from_tag(tag) == Encoding()
