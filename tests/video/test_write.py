"""Clips have the right frames at the right times, in step with their sound, in a form that browsers play."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import islice
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import deep, deep_but, fewer_examples
from tests.full_disk import files_up_to
from tests.media import GOOD_VIDEOS, NTSC, MadeVideo, colour_picture, cut_short, damage, make_video
from tests.video.clips import (
    REAL_CLIPS,
    decode_all,
    make_flash_beep,
    numbers_by_opencv,
    numbers_by_pyav,
    numbers_within,
    packets_of,
    samples_of,
    worst_offsets_s,
)
from tests.video.conftest import Made
from vidsum.errors import InputError, OutputError, UsageError
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream
from vidsum.video.probe import probe
from vidsum.video.segments import in_ticks, segment_frames
from vidsum.video.write import WrittenVideo, write_segments

SYNC_S = 0.04


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> MadeVideo:
    """Three seconds at 25 frames/s, a key frame every 0.48 s, with sound."""
    return make_video(tmp_path_factory.mktemp("plain") / "plain.mp4", n_frames=75, sound=True)


@pytest.fixture(scope="module")
def written(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], WrittenVideo]:
    """written(kind) is the clip of three segments of that kind of `GOOD_VIDEOS`."""
    folder = tmp_path_factory.mktemp("clips")

    @cache
    def write(kind: str) -> WrittenVideo:
        return write_segments(probe(made(kind).path), parts_of(made(kind)), folder / f"{kind}.mp4")

    return write


def parts_of(video: MadeVideo) -> list[tuple[float, float]]:
    """Three segments, of which the last ends with the video."""
    return [(a * video.duration_s, b * video.duration_s) for a, b in ((0.0, 0.11), (0.32, 0.58), (0.77, 1.0))]


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_clip_has_exactly_the_frames_of_its_segments(
    kind: str, made: Made, written: Callable[[str], WrittenVideo]
) -> None:
    expected = numbers_within(made(kind), parts_of(made(kind)))
    assert numbers_by_pyav(written(kind).path) == expected
    assert numbers_by_opencv(written(kind).path) == expected
    assert written(kind).n_frames == len(expected)


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_clip_of_a_good_video_does_not_warn(kind: str, written: Callable[[str], WrittenVideo]) -> None:
    assert written(kind).warnings == ()


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_clip_has_sound_where_its_source_has(
    kind: str, made: Made, written: Callable[[str], WrittenVideo]
) -> None:
    has_audio = probe(made(kind).path).has_audio
    assert (written(kind).has_audio, probe(written(kind).path).has_audio) == (has_audio, has_audio)


@given(edges=st.lists(st.integers(0, 3100), min_size=2, max_size=12, unique=True).map(sorted))
@fewer_examples(2)
def test_clip_of_any_segments_has_their_frames(edges: list[int], plain: MadeVideo, clip: Path) -> None:
    segments = [(a / 1000, b / 1000) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    expected = numbers_within(plain, segments)
    if not expected:
        with pytest.raises((InputError, UsageError)):
            write_segments(probe(plain.path), segments, clip)
        return
    assert write_segments(probe(plain.path), segments, clip).n_frames == len(expected)
    assert numbers_by_pyav(clip) == expected


@pytest.mark.parametrize("suffix", [".mp4", deep(".mkv"), deep(".ts"), ".h264"])
def test_segments_far_apart_are_exact(suffix: str, tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / f"long{suffix}", n_frames=600, gop=48, start_s=1.4)
    segments = [(1.3, 1.5), (9.0, 9.5), (16.3, 16.4), (20.0, 20.2), (23.5, 25.0)]
    write_segments(probe(video.path), segments, clip)
    assert numbers_by_pyav(clip) == numbers_within(video, segments)


def test_frames_between_segments_are_not_decoded(tmp_path: Path) -> None:
    video, log = make_video(tmp_path / "long.mp4", n_frames=1000, gop=25), DecodeLog()
    with open_video(video.path) as container:
        stream = video_stream(container, video.path)
        wanted = in_ticks([(5, 5.4), (15, 15.4), (35, 35.4)], stream.time_base)
        frames = list(segment_frames(container, stream, wanted, Jumps(), log))
    assert len(frames) == 30
    assert log.frames < 200


@pytest.mark.deep
def test_pictures_and_sound_are_in_step_after_sixty_segments(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "long.mp4", duration_s=36, fps=NTSC, sample_rate=44_100)
    segments = [(start, start + 0.41) for start in np.arange(0.13, 35.5, 0.59)]
    written = write_segments(probe(source.path), segments, clip)
    assert len(written.segments) == 60
    assert worst_offsets_s(source, clip, written.segments)[2] < SYNC_S
    with av.open(str(clip)) as container:
        lengths = [float(stream.duration * stream.time_base) for stream in container.streams]
    assert lengths[0] == pytest.approx(lengths[1], abs=0.002)


def test_segments_that_touch_are_one(plain: MadeVideo, clip: Path) -> None:
    write_segments(probe(plain.path), [(0.5, 1.0), (1.0, 1.5)], clip)
    apart = clip.read_bytes()
    write_segments(probe(plain.path), [(0.5, 1.5)], clip)
    assert clip.read_bytes() == apart


def test_segments_end_with_the_video(plain: MadeVideo, clip: Path) -> None:
    written = write_segments(probe(plain.path), [(2.8, 10.0), (20.0, 30.0)], clip)
    assert numbers_by_pyav(clip) == [70, 71, 72, 73, 74]
    assert written.segments == ((2.8, 3.0),)


def test_progress_of_writing_rises_from_nothing_to_all(plain: MadeVideo, clip: Path) -> None:
    calls: list[tuple[str, float, float]] = []
    write_segments(probe(plain.path), [(0.5, 1.0), (2, 2.5)], clip, progress=lambda *call: calls.append(call))
    assert {(what, total) for what, _, total in calls} == {("writing", 1.0)}
    done = [done for _, done, _ in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0.0, 1.0)


@pytest.fixture(scope="module")
def two_segments(plain: MadeVideo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clip of two segments of twelve frames, with a comment."""
    path = tmp_path_factory.mktemp("two") / "clip.mp4"
    write_segments(probe(plain.path), [(0.5, 1.0), (2.0, 2.5)], path, comment="sha256:0123abcd")
    return path


def test_clip_has_its_index_first(two_segments: Path) -> None:
    data = two_segments.read_bytes()
    assert 0 < data.index(b"ftyp") < data.index(b"moov") < data.index(b"mdat")


def test_clip_has_codecs_that_browsers_play(two_segments: Path) -> None:
    data = two_segments.read_bytes()
    assert b"avc1" in data
    assert b"mp4a" in data
    with av.open(str(two_segments)) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        assert (video.codec_context.name, video.profile, video.pix_fmt) == ("h264", "High", "yuv420p")
        assert (audio.codec_context.name, audio.profile) == ("aac", "LC")


def test_clip_starts_at_zero(two_segments: Path) -> None:
    with av.open(str(two_segments)) as container:
        assert [stream.start_time for stream in container.streams] == [0, 0]


def test_clip_has_its_comment(two_segments: Path) -> None:
    with av.open(str(two_segments)) as container:
        assert container.metadata["comment"] == "sha256:0123abcd"


def test_each_segment_of_a_clip_begins_with_a_key_frame(two_segments: Path) -> None:
    keys = [number for number, frame in enumerate(decode_all(two_segments)) if frame.key_frame]
    assert keys == [0, 12]


@pytest.mark.parametrize(
    ("suffix", "fps"), [(".mp4", 25), (".mp4", NTSC), (".mkv", NTSC), (".ts", NTSC), (".mkv", 60)]
)
def test_clip_of_a_constant_rate_keeps_the_rate(
    suffix: str, fps: Fraction, tmp_path: Path, clip: Path
) -> None:
    video = make_video(tmp_path / f"steady{suffix}", n_frames=90, fps=fps)
    write_segments(probe(video.path), [(0.2, 0.7), (0.9, 1.3)], clip)
    frames = decode_all(clip)
    assert [frame.pts * frame.time_base * fps for frame in frames] == list(range(len(frames)))


@pytest.mark.parametrize(("suffix", "b_frames"), [(".mkv", 2), deep(".mp4", 0)])
def test_clip_of_a_varying_rate_keeps_the_times(
    suffix: str, b_frames: int, tmp_path: Path, clip: Path
) -> None:
    times = [*np.arange(20) / 10, 9.0, 9.1, 9.2, 20.0, 20.1, 29.9, 30.0]
    video = make_video(tmp_path / f"screen{suffix}", times_s=times, fps=10, b_frames=b_frames, sound=True)
    written = write_segments(probe(video.path), [(0.0, 3.0), (8.5, 12.0), (19.0, 21.05)], clip)
    with av.open(str(clip)) as container:
        lengths = [float(stream.duration * stream.time_base) for stream in container.streams]
    packets = packets_of(clip)
    spans = [(float(p.pts * p.time_base), float(p.duration * p.time_base)) for p in packets]
    starts = [*np.arange(20) / 10, 3.0, 3.5, 3.6, 3.7, 6.5, 7.5, 7.6]
    assert lengths == pytest.approx([8.55, 8.55], abs=0.001)
    assert written.duration_s == pytest.approx(8.55)
    assert numbers_by_pyav(clip) == [*range(20), 19, 20, 21, 22, 22, 23, 24]
    assert [start for start, _ in spans] == pytest.approx(starts, abs=0.0011)
    assert [length for _, length in spans] == pytest.approx(np.diff([*starts, 8.55]).tolist(), abs=0.0011)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
@pytest.mark.parametrize(("start", "end"), [(2.953, 3.0), (2.91, 2.92), (0.05, 0.0501), (5.95, 6.0)])
def test_segment_shorter_than_a_frame_is_the_frame_on_screen(
    suffix: str, start: float, end: float, tmp_path: Path, clip: Path
) -> None:
    video = make_video(tmp_path / f"ten{suffix}", n_frames=60, fps=10)
    written = write_segments(probe(video.path), [(start, end)], clip)
    assert numbers_by_pyav(clip) == [int(start * 10)]
    assert written.segments == (pytest.approx((start, start + max(end - start, 0.1)), abs=0.101),)
    with av.open(str(clip)) as container:
        (stream,) = container.streams.video
        assert 0 < float(stream.duration * stream.time_base) <= 0.1


def test_slide_on_screen_for_a_moment_is_left_out(tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / "slides.mp4", n_frames=20, fps=1)
    written = write_segments(probe(video.path), [(2.5, 4.2), (10.8, 12.0)], clip)
    assert numbers_by_pyav(clip) == [2, 3, 4, 11]  # of slide 10 less than a third of a second is left
    assert written.segments[0] == pytest.approx((2.5, 4.2), abs=0.001)


def test_sound_goes_on_while_a_slide_stays(tmp_path: Path, clip: Path) -> None:
    slides = make_video(tmp_path / "slides.mp4", times_s=[0.0, 20.0, 40.0], sound=True)
    written = write_segments(probe(slides.path), [(0.0, 38.0)], clip)
    assert (written.n_frames, written.duration_s) == (2, 38.0)
    wave = samples_of(clip)[0]
    assert len(wave) == pytest.approx(38 * 48_000, abs=1024)
    assert np.abs(wave[1000:-2000]).reshape(-1, 8).max(axis=1).min() > 0.05


def test_higher_crf_makes_a_smaller_clip(tmp_path: Path, clip: Path) -> None:
    silent, sizes = make_video(tmp_path / "silent.mp4", n_frames=60).path, []
    for crf in (10, 20, 45):
        write_segments(probe(silent), [(0.0, 2.0)], clip, crf=crf)
        sizes.append(clip.stat().st_size)
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.deep
def test_sound_is_stored_near_its_pictures(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "source.mp4", duration_s=40)
    write_segments(probe(source.path), [(1, 15), (20, 38)], clip)
    with av.open(str(clip)) as container:
        times = [(p.stream.type, float(p.dts * p.time_base)) for p in container.demux() if p.size]
    reached = {"video": 0.0, "audio": 0.0}
    for kind, time_s in times:
        reached[kind] = time_s
        assert abs(reached["video"] - reached["audio"]) < 1.5


def test_stereo_sound_stays_on_its_side(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "source.mp4", layout="stereo", right_silent=True)
    write_segments(probe(source.path), [(1.0, 3.0)], clip)
    left, right = np.abs(samples_of(clip)).max(axis=1)
    assert left > 0.7
    assert right < 0.01


@pytest.mark.deep
def test_clip_has_the_same_bytes_in_every_run(tmp_path: Path, clip: Path) -> None:
    source = make_video(
        tmp_path / "colours.mp4", n_frames=60, sound=True, width=320, height=240, paint=colour_picture
    )
    files, litter = set(), []
    for number in range(10):
        write_segments(probe(source.path), [(0.5, 1.1), (1.7, 2.2)], clip, comment="same")
        files.add(clip.read_bytes())
        litter.append(np.full(70_000 * number, number, dtype=np.uint8))  # moves what is allocated next
    assert len(files) == 1


@pytest.mark.parametrize(("kind", "size", "shape"), [
    ("plain", (64, 48), 1), ("odd_size", (76, 54), 1), ("rotated_90", (48, 64), 1),
    ("rotated_180", (64, 48), 1), ("rotated_270", (48, 64), 1), ("wide_pixels", (64, 48), Fraction(4, 3)),
    ("tall_pixels_rotated", (48, 64), 2),
])  # fmt: skip
def test_clip_is_upright_and_even_with_the_pixels_of_its_source(
    kind: str, size: tuple[int, int], shape: Fraction, made: Made, clip: Path
) -> None:
    write_segments(probe(made(kind).path), [(0.0, 0.4)], clip)
    frame = decode_all(clip)[0]
    assert (frame.width, frame.height, frame.rotation) == (*size, 0)
    with av.open(str(clip)) as container:
        assert container.streams.video[0].sample_aspect_ratio == shape


def test_odd_sides_grow_by_a_repeated_line(tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / "odd.mp4", width=75, height=53, pix_fmt="yuv444p", paint=colour_picture)
    write_segments(probe(video.path), [(0.0, 0.4)], clip, crf=1)
    source, written = (decode_all(path)[0].to_ndarray(format="gray") for path in (video.path, clip))
    np.testing.assert_allclose(written[:53, :75].astype(int), source, atol=4)
    np.testing.assert_allclose(written[53, :75].astype(int), source[52], atol=4)
    np.testing.assert_allclose(written[:53, 75].astype(int), source[:, 74], atol=4)


def test_pictures_too_wide_for_h264_are_refused(tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / "wide.mkv", codec="ffv1", width=17_000, height=2, n_frames=2)
    with pytest.raises(InputError, match="17000 x 2"):
        write_segments(probe(video.path), [(0.0, 0.08)], clip)


def test_held_last_frame_changes_nothing_before_it(tmp_path: Path, clip: Path) -> None:
    times = [number / 25 for number in range(30)]
    video = make_video(tmp_path / "held.mp4", times_s=times, fps=1)  # the last frame stays for a second
    write_segments(probe(video.path), [(0.2, 0.8)], clip)
    assert numbers_by_pyav(clip) == list(range(5, 20))
    assert [frame.time for frame in decode_all(clip)] == pytest.approx([number / 25 for number in range(15)])


@pytest.mark.parametrize(("codec", "pix_fmt"), [
    ("libx264", "yuv422p"), ("libx264", "yuv444p"), ("libx264", "yuv420p10le"), ("libx264", "yuvj420p"),
    ("ffv1", "yuv444p16le"), ("ffv1", "gray"), ("ffv1", "bgr0"), ("ffv1", "gbrp10le"), ("png", "rgb24"),
    ("png", "rgba"),
])  # fmt: skip
def test_colours_of_any_pixel_format_are_kept(codec: str, pix_fmt: str, tmp_path: Path, clip: Path) -> None:
    path = tmp_path / ("source.mkv" if codec == "ffv1" else "source.mov")
    source = make_video(
        path, n_frames=5, codec=codec, pix_fmt=pix_fmt, paint=colour_picture, width=320, height=240
    )
    write_segments(probe(source.path), [(0.0, 1.0)], clip, crf=1)
    before, after = decode_all(source.path)[0], decode_all(clip)[0]
    assert after.format.name in ("yuv420p", "yuvj420p")
    difference = after.to_ndarray(format="rgb24").astype(int) - before.to_ndarray(format="rgb24")
    assert np.abs(difference).mean() < 2.5


@pytest.mark.parametrize(
    ("pix_fmt", "primaries", "transfer", "matrix", "tags"),
    [
        (pix_fmt, "bt709", "bt709", matrix, (number, 1, 1))
        for pix_fmt in ("yuv420p", "yuvj420p")
        for matrix, number in (("bt709", 1), ("bt470bg", 5), ("bt2020nc", 9))
    ]
    + [("yuv420p10le", "bt2020", "smpte2084", "bt2020nc", (9, 9, 16))],
)
def test_colour_tags_are_kept(
    pix_fmt: str,
    primaries: str,
    transfer: str,
    matrix: str,
    tags: tuple[int, ...],
    tmp_path: Path,
    clip: Path,
) -> None:
    options = {"x264-params": f"colorprim={primaries}:transfer={transfer}:colormatrix={matrix}"}
    video = make_video(
        tmp_path / "tagged.mp4", n_frames=5, pix_fmt=pix_fmt, paint=colour_picture, codec_options=options
    )
    write_segments(probe(video.path), [(0.0, 1.0)], clip, crf=1)
    with av.open(str(clip)) as container:
        context = container.streams.video[0].codec_context
        assert (context.colorspace, context.color_primaries, context.color_trc) == tags
        assert (context.color_range == 2) == (pix_fmt == "yuvj420p")
        assert context.pix_fmt in ("yuv420p", "yuvj420p")
    before, after = (decode_all(path)[2].to_ndarray(format="yuv420p") for path in (video.path, clip))
    assert np.abs(after.astype(int) - before).mean() < 1


@pytest.mark.parametrize("size", [(1, 1), (2, 2), (5, 3), (16, 16)], ids=str)
def test_tiny_pictures_are_written(size: tuple[int, int], tmp_path: Path, clip: Path) -> None:
    width, height = size
    facts = {"codec": "ffv1", "pix_fmt": "bgr0", "paint": colour_picture, "n_frames": 3}
    video = make_video(tmp_path / "tiny.mkv", width=width, height=height, **facts)
    assert write_segments(probe(video.path), [(0.0, 1.0)], clip).n_frames == 3
    first = decode_all(clip)[0]
    assert (first.width, first.height) == (width + width % 2, height + height % 2)


MANY_CUTS = [(0.13, 0.9), (1.04, 1.31), (2.5, 3.07), (3.1, 3.15), (4.96, 6.61), (7.04, 7.9)]


@pytest.mark.parametrize(("suffix", "sound"), [
    (".mp4", {}),
    deep(".mp4", {"sample_rate": 44_100, "layout": "stereo"}),
    deep(".mp4", {"sample_rate": 22_050}),
    deep(".mp4", {"sample_rate": 48_000, "layout": "5.1"}),
    deep(".mp4", {"start_s": 5.0}),
    deep(".mp4", {"fps": NTSC, "sample_rate": 44_100}),
    deep(".mp4", {"sound_from_s": 2.7}),
    (".mp4", {"sound_until_s": 5.3}),
    deep(".mp4", {"gop": 1000}),
    deep(".mkv", {}),
    deep(".mkv", {"sound_codec": "libopus"}),
    (".mkv", {"sound_codec": "pcm_s16le", "sample_rate": 96_000}),
    (".mkv", {"sound_codec": "flac", "sample_rate": 44_100, "start_s": 3.0}),
    deep(".mkv", {"sound_codec": "libmp3lame", "sample_rate": 44_100, "fps": NTSC}),
    (".ts", {"sample_rate": 44_100, "layout": "stereo"}),
    deep(".ts", {"start_s": 7.0, "gop": 200, "sound_from_s": 0.9}),
    (".mp4", {"keep_every": 3, "sample_rate": 44_100}),
    deep(".mkv", {"keep_every": 3, "sound_from_s": 2.7}),
    (".mkv", {"keep_every": 1000, "start_s": 3.0}),
])  # fmt: skip
def test_pictures_and_sound_of_a_clip_are_in_step(
    suffix: str, sound: dict[str, object], tmp_path: Path, clip: Path
) -> None:
    source = make_flash_beep(tmp_path / f"source{suffix}", **sound)
    written = write_segments(probe(source.path), MANY_CUTS, clip)
    flashes_s, beeps_s, apart_s = worst_offsets_s(source, clip, written.segments)
    assert flashes_s < 0.002
    assert beeps_s < 0.012
    assert apart_s < SYNC_S


@pytest.mark.parametrize("codec_number", [0xFD, 0xDD, 0x6B])  # unknown; Vorbis and MP3, which it is not
def test_undecodable_sound_is_left_out_with_a_warning(
    codec_number: int, plain: MadeVideo, tmp_path: Path, clip: Path
) -> None:
    data = bytearray(plain.path.read_bytes().replace(b"mp4a", b"zzzz"))
    decoder_description = data.index(b"\x04\x80\x80\x80", data.index(b"esds"))
    data[decoder_description + 5] = codec_number
    path = tmp_path / "unknown_sound.mp4"
    path.write_bytes(data)
    written = write_segments(probe(path), [(0.5, 1.0)], clip)
    assert not written.has_audio
    assert written.warnings == ("the sound cannot be decoded and is left out",)
    assert len(numbers_by_pyav(clip)) == 12


@pytest.mark.parametrize(("segments", "message"), [
    ([(0.5, 1.0), (0.9, 1.5)], "the segment 0.9-1.5 s begins before the one ahead of it ends, at 1 s"),
    ([(1.0, 1.5), (0.2, 0.5)], "the segment 0.2-0.5 s begins before the one ahead of it ends, at 1.5 s"),
    ([(-0.5, 1.0)], "the segment -0.5-1 s begins before 0 s"),
    ([(1.0, 1.0)], "the segment 1-1 s is empty"),
    ([(float("nan"), 1.0)], "the segment nan-1 s is empty"),
    ([], "no segment lies within the 3 s of the video"),
    ([(3.0, 4.0)], "no segment lies within the 3 s of the video"),
])  # fmt: skip
def test_impossible_segments_are_refused(
    segments: list[tuple[float, float]], message: str, plain: MadeVideo, clip: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        write_segments(probe(plain.path), segments, clip)
    assert caught.value.message == message
    assert list(clip.parent.iterdir()) == []


MOVED = st.lists(
    st.tuples(st.integers(0, 74), st.integers(1, 40)).map(lambda pair: (pair[0], min(sum(pair), 75))),
    min_size=1,
    max_size=4,
)  # first and last frame of segments in any order


@given(MOVED)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_segments_in_any_order(plain: MadeVideo, clip: Path, frames: list[tuple[int, int]]) -> None:
    segments = [(first / 25, end / 25) for first, end in frames]
    written = write_segments(probe(plain.path), segments, clip, may_move=True)
    assert numbers_by_pyav(clip) == [number for first, end in frames for number in range(first, end)]
    assert written.duration_s == pytest.approx(sum(end - start for start, end in segments))
    assert written.warnings == ()


def test_segments_are_moved_only_where_a_seek_lands_right(
    plain: MadeVideo, clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("write", "segments"):
        monkeypatch.setattr(f"vidsum.video.{module}.can_seek", lambda *_: False)
    write_segments(probe(plain.path), [(0.4, 1.0), (1.6, 2.0)], clip, may_move=True)
    assert len(numbers_by_pyav(clip)) == 25
    with pytest.raises(InputError, match="its parts cannot be moved: a seek in it fails"):
        write_segments(probe(plain.path), [(1.6, 2.0), (0.4, 1.0)], clip, may_move=True)


def test_clip_of_damaged_pictures_has_its_length_and_a_warning(tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / "whole.mp4", n_frames=100, width=320, height=240, paint=colour_picture)
    path = damage(video.path, tmp_path / "damaged.mp4", at=0.4, n_bytes=3000)
    written = write_segments(probe(path), [(0.5, 3.5)], clip)
    assert any("damaged" in warning for warning in written.warnings)
    assert 40 < len(decode_all(clip)) <= 75
    assert written.duration_s == pytest.approx(3.0, abs=0.05)


def test_damaged_sound_is_silent_and_warns_once(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "whole.mkv", duration_s=10)
    data = bytearray(source.path.read_bytes())
    packets = [packet for packet in packets_of(source.path, "audio") if packet.pts > 6000]
    at = 0
    for content in map(bytes, packets):
        at = data.index(content, at)
        data[at : at + len(content)] = b"\xff" * len(content)
    path = tmp_path / "damaged.mkv"
    path.write_bytes(data)
    written = write_segments(probe(path), [(1.0, 3.0), (7.0, 9.0)], clip)
    assert sum("sound" in warning for warning in written.warnings) == 1
    assert (written.has_audio, written.n_frames) == (True, 100)
    wave = samples_of(clip)[0]
    assert np.abs(wave[: 48_000 * 2]).max() > 0.5
    assert np.abs(wave[48_000 * 2 + 3000 :]).max() < 0.1


@pytest.fixture(scope="module", params=[".mp4", ".mkv"])
def cut_video(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[MadeVideo, Path]:
    """A video of eight seconds, and its file cut off in the sixth."""
    folder, suffix = tmp_path_factory.mktemp("cut"), request.param
    options = {"movflags": "faststart"} if suffix == ".mp4" else None
    video = make_video(folder / f"whole{suffix}", n_frames=200, container_options=options)
    return video, cut_short(video.path, folder / f"cut{suffix}", keep=0.7)


def test_clip_of_a_cut_file_has_what_is_left(cut_video: tuple[MadeVideo, Path], clip: Path) -> None:
    video, path = cut_video
    written = write_segments(probe(path), [(1.0, 2.0), (3.0, 7.5)], clip)
    whole = numbers_within(video, [(1.0, 2.0), (3.0, 7.5)])
    assert 40 < written.n_frames < len(whole)
    assert numbers_by_pyav(clip) == whole[: written.n_frames]
    lost_s = 5.5 - written.duration_s
    assert written.warnings == (f"has no pictures for {lost_s:.1f} s of the segments, which are left out",)


def test_clip_of_nothing_but_the_lost_part_is_refused(cut_video: tuple[MadeVideo, Path], clip: Path) -> None:
    with pytest.raises(InputError, match="no frame of the segments"):
        write_segments(probe(cut_video[1]), [(7.0, 7.5)], clip)


def test_interrupted_writing_leaves_the_old_clip_alone(plain: MadeVideo, clip: Path) -> None:
    clip.write_bytes(b"old")

    def interrupt(what: str, done: float, total: float) -> None:
        if done > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_segments(probe(plain.path), [(0.5, 2.0)], clip, progress=interrupt)
    assert clip.read_bytes() == b"old"
    assert list(clip.parent.iterdir()) == [clip]


def test_clip_may_replace_its_source(plain: MadeVideo, tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    path.write_bytes(plain.path.read_bytes())
    write_segments(probe(path), [(0.5, 1.0)], path)
    assert numbers_by_pyav(path) == numbers_within(plain, [(0.5, 1.0)])


def test_full_disk_leaves_no_half_clip(plain: MadeVideo, clip: Path) -> None:
    with files_up_to(10_000), pytest.raises(OutputError, match="cannot be written"):
        write_segments(probe(plain.path), [(0.0, 3.0)], clip, crf=1)
    assert list(clip.parent.iterdir()) == []


@pytest.mark.shared
@pytest.mark.parametrize(
    "name",
    deep_but(
        [REAL_CLIPS[0], "odd/rotated_90.mov"],
        [*REAL_CLIPS, "odd/rotated_0.mov", "odd/rotated_90.mov", "odd/rotated_180.mov"],
    ),
)
def test_clip_of_a_real_video_has_the_frames_of_its_segments(
    name: str, shared_videos: Path, clip: Path
) -> None:
    path = shared_videos / name
    times = [frame.time for frame in decode_all(path)]
    length = times[-1]
    segments = [(0.0, 0.1 * length), (0.5 * length, 0.62 * length)]
    written = write_segments(probe(path), segments, clip)
    expected = [time for time in times for start, end in segments if start - 5e-4 <= time < end - 5e-4]
    assert written.n_frames == len(expected) == len(decode_all(clip))
    assert written.segments[1][0] == pytest.approx(
        min(time for time in expected if time >= 0.5 * length - 5e-4)
    )


@pytest.mark.deep
@pytest.mark.shared
def test_pictures_of_an_old_x264_in_444_are_right_behind_a_gap(shared_videos: Path, clip: Path) -> None:
    source = shared_videos / "wide" / "cockatoo.mp4"  # by an x264 of before build 151
    write_segments(probe(source), [(7.15, 8.0)], clip, crf=1)
    with av.open(str(source)) as container:
        expected = list(islice(container.decode(video=0), 143, 160))
    for written, frame in zip(decode_all(clip), expected, strict=True):
        pixels = written.to_ndarray(format="rgb24").astype(int)
        assert np.abs(pixels - frame.to_ndarray(format="rgb24")).mean() < 4


def test_pictures_that_no_encoder_takes_are_refused(plain: MadeVideo, tmp_path: Path) -> None:
    wide = replace(probe(plain.path), width=20_000)
    with pytest.raises(InputError, match="has pictures of 20000 x"):
        write_segments(wide, [(0, 1)], tmp_path / "clip.mp4")
    assert not (tmp_path / "clip.mp4").exists()
