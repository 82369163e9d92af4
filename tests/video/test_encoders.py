"""The encoder: what is read back, and its quality."""

from pathlib import Path

import av

from tests import media
from vidsum.video.probe import probe
from vidsum.video.write import write_segments


def test_frames_and_key_frames(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    film = media.make_video(tmp_path / "film.mp4", n_frames=60, sound=True).path
    written = write_segments(probe(film), [(0.2, 0.8), (1.2, 2.0)], clip, crf=10)
    with av.open(str(clip)) as container:
        codec = container.streams.video[0].codec_context
        assert (codec.name, codec.codec_tag) == ("h264", "avc1")
        frames = list(container.decode(video=0))
    numbers = [media.read_number(frame.to_ndarray(format="rgb24")) for frame in frames]
    assert numbers == [*range(5, 20), *range(30, 50)]
    assert [number for number, frame in zip(numbers, frames, strict=True) if frame.key_frame] == [5, 30]
    assert (written.n_frames, written.warnings) == (35, ())


def test_crf(tmp_path: Path) -> None:
    silent, sizes = media.make_video(tmp_path / "silent.mp4", n_frames=60).path, []
    for crf in (10, 20, 45):
        write_segments(probe(silent), [(0.0, 2.0)], tmp_path / "clip.mp4", crf=crf)
        sizes.append((tmp_path / "clip.mp4").stat().st_size)
    assert sizes[0] > sizes[1] > sizes[2]
