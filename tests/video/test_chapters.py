"""A copy with chapters: they begin with their pictures, whatever the container does to times."""

from pathlib import Path

import av
import pytest

from tests.media import make_video
from tests.video.clips import chapters_of, numbers_between
from vidsum.video.chapters import copy_with_chapters
from vidsum.video.probe import probe
from vidsum.video.write import write_segments


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".mov"])
def test_chapters_begin_with_their_pictures_where_sound_begins_before_0(tmp_path: Path, suffix: str) -> None:
    """As that of AAC does, whose first packets are not heard."""
    made = make_video(tmp_path / "made.mkv", n_frames=100, sound=True)
    film, target = tmp_path / "film.mp4", tmp_path / f"copy{suffix}"
    write_segments(probe(made.path), [(0.0, 4.0)], film)
    with av.open(str(film)) as container:
        assert min(packet.pts for packet in container.demux(audio=0) if packet.pts is not None) < 0
    copy_with_chapters(probe(film), target, [(0.0, 2.0, "one"), (2.0, 4.0, "two")], "x")
    one, two = chapters_of(target)
    assert (one.start_s, one.title, two.title) == (0.0, "one", "two")
    assert numbers_between(target, two)[0] == 50
