"""From frames to features: clips, batches and results."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media import video_info
from vidsum.errors import InputError, UsageError
from vidsum.features import extract
from vidsum.features.extract import batch_size, extract_features, iter_clips
from vidsum.features.extractor import HALF_RANGE, Extractor, Preprocessing, Spec
from vidsum.types import FloatArray, Picture, VideoInfo
from vidsum.video.frames import Frame, ShortSide

SIDE = 2


def spec_of(clip_frames: int = 1, stride_frames: int = 1, fps: float = 10.0) -> Spec:
    return Spec(
        name="stand-in",
        checkpoint="none",
        dim=2,
        fps=fps,
        preprocessing=Preprocessing(ShortSide(SIDE), SIDE, HALF_RANGE, HALF_RANGE),
        build=lambda _: pytest.fail("a stand-in has no network"),
        clip_frames=clip_frames,
        stride_frames=stride_frames,
        clip_lengths=range(1, 100),
    )


def stand_in(spec: Spec) -> tuple[Extractor, list[int]]:
    """An extractor whose feature is (first, last) pixel value of a clip, and the sizes of its batches."""
    batches: list[int] = []

    def run(clips: Picture) -> FloatArray:
        batches.append(len(clips))
        return clips[:, [0, -1], 0, 0, 0].astype(np.float32)

    return Extractor(spec, run, device="cpu", precision="fp32", backend="torch"), batches


def frames(count: int, fps: float = 10.0) -> Iterator[Frame]:
    """Frames whose pixels are their number."""
    for index in range(count):
        yield Frame(index, index / fps, index / fps, np.full((SIDE, SIDE + 1, 3), index, np.uint8))


@pytest.fixture
def video() -> VideoInfo:
    return video_info(duration_s=2.5, n_frames=63, width=4, height=2)


def numbers(clips: Iterator[tuple[float, list[Picture]]]) -> list[list[int]]:
    """The frame numbers in each clip."""
    return [[int(picture[0, 0, 0]) for picture in pictures] for _, pictures in clips]


def test_batch_has_the_frames_that_suit_the_device_and_not_too_few_clips() -> None:
    for length in (1, 2, 99):
        extractor, _ = stand_in(spec_of(length))
        assert batch_size(extractor) == max(extract.MIN_CLIPS, extract.CPU_FRAMES // length)


any_clips = given(count=st.integers(1, 60), length=st.integers(1, 9), stride=st.integers(1, 12))


def whole_clips(count: int, length: int, stride: int) -> list[list[int]]:
    return [list(range(start, start + length)) for start in range(0, count - length + 1, stride)]


@any_clips
def test_whole_clips_begin_at_each_stride(count: int, length: int, stride: int) -> None:
    whole = whole_clips(count, length, stride)
    assert numbers(iter_clips(frames(count), spec_of(length, stride)))[: len(whole)] == whole


@any_clips
def test_last_clip_repeats_its_last_frame_where_half_of_it_is_new(
    count: int, length: int, stride: int
) -> None:
    whole = whole_clips(count, length, stride)
    last = numbers(iter_clips(frames(count), spec_of(length, stride)))[len(whole) :]
    rest = list(range(len(whole) * stride, count))
    unseen = set(rest) - {number for clip in whole for number in clip}
    if not whole or (unseen and 2 * len(rest) >= length):
        assert last == [rest + [count - 1] * (length - len(rest))]
    else:
        assert last == []


@pytest.mark.parametrize(
    ("count", "length", "stride", "expected"),
    [
        (4, 1, 1, [[0], [1], [2], [3]]),
        (5, 1, 2, [[0], [2], [4]]),
        (8, 4, 4, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        (8, 4, 2, [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]),
        (7, 4, 4, [[0, 1, 2, 3], [4, 5, 6, 6]]),
        (6, 4, 4, [[0, 1, 2, 3], [4, 5, 5, 5]]),
        (5, 4, 4, [[0, 1, 2, 3]]),
        (7, 4, 2, [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 6]]),
        (9, 2, 4, [[0, 1], [4, 5], [8, 8]]),
        (2, 4, 4, [[0, 1, 1, 1]]),
        (1, 4, 1, [[0, 0, 0, 0]]),
        (0, 4, 1, []),
    ],
)
def test_last_clip_repeats_its_frame(count: int, length: int, stride: int, expected: list[list[int]]) -> None:
    assert numbers(iter_clips(frames(count), spec_of(length, stride))) == expected


def test_features_have_the_times_of_their_clips(video: VideoInfo) -> None:
    extractor, _ = stand_in(spec_of(clip_frames=8, stride_frames=4))
    features = extract_features(frames(25), extractor, video)
    np.testing.assert_allclose(features.timestamps, [0, 0.4, 0.8, 1.2, 1.6, 2.0])
    np.testing.assert_array_equal(features.array, [[0, 7], [4, 11], [8, 15], [12, 19], [16, 23], [20, 24]])
    assert (features.step_s, features.covers_s) == (0.4, 0.8)


def test_features_have_the_facts_of_their_video(video: VideoInfo) -> None:
    features = extract_features(frames(25), stand_in(spec_of())[0], video)
    assert (features.duration_s, features.video_fps, features.video) == (2.5, 25.0, video)
    assert features.extractor == "stand-in"


def test_video_without_a_frame_is_refused(video: VideoInfo) -> None:
    with pytest.raises(InputError, match=r"film\.mp4: no frame"):
        extract_features(frames(0), stand_in(spec_of())[0], video)


def test_features_have_class_scores_where_they_are_asked_for(video: VideoInfo) -> None:
    weight = np.float32([[1, 2], [3, 4], [5, 6]])
    extractor = replace(stand_in(spec_of())[0], classify=lambda rows: rows @ weight.T)
    assert extract_features(frames(5), extractor, video).logits is None
    features = extract_features(frames(5), extractor, video, with_logits=True)
    assert features.logits is not None
    np.testing.assert_allclose(features.logits, features.array @ weight.T, rtol=1e-5)


def test_missing_class_scores_are_refused_after_the_first_batch(
    video: VideoInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "batch_size", lambda extractor: 5)
    extractor, batches = stand_in(spec_of())
    with pytest.raises(UsageError, match="no class scores"):
        extract_features(frames(50), extractor, video, with_logits=True)
    assert batches == [5]


@pytest.fixture
def batches_of_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract, "batch_size", lambda extractor: 10)


def test_progress_is_the_time_up_to_which_features_are_there(video: VideoInfo, batches_of_ten: None) -> None:
    calls: list[tuple[str, float, float]] = []
    extract_features(frames(25), stand_in(spec_of())[0], video, progress=lambda *call: calls.append(call))
    assert calls == [("extracting features", pytest.approx(done), 2.5) for done in (1.0, 2.0, 2.5)]


def test_no_more_than_a_batch_of_frames_is_held(video: VideoInfo, batches_of_ten: None) -> None:
    extractor, batches = stand_in(spec_of())
    ahead: list[int] = []

    def watched() -> Iterator[Frame]:
        for frame in frames(25):
            ahead.append(frame.index + 1 - sum(batches))
            yield frame

    extract_features(watched(), extractor, video)
    assert max(ahead) <= 11


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_features_are_the_same_in_any_batch(
    video: VideoInfo, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "batch_size", lambda extractor: batch_size)
    extractor, batches = stand_in(spec_of(clip_frames=3, stride_frames=2))
    features = extract_features(frames(20), extractor, video)
    np.testing.assert_array_equal(features.array[:, 0], [0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    assert sum(batches) == 10
    assert all(size == batch_size for size in batches[:-1])


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_picture_that_stays_is_encoded_once(
    video: VideoInfo, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "batch_size", lambda extractor: batch_size)
    extractor, batches = stand_in(spec_of())
    all_frames = list(frames(12))
    stays = [
        replace(frame, image=all_frames[number - number % 4].image) for number, frame in enumerate(all_frames)
    ]
    stays[5] = replace(stays[5], image=stays[5].image.copy())  # decoded again, to the same pixels
    features = extract_features(stays, extractor, video)
    assert sum(batches) == 3
    np.testing.assert_array_equal(features.timestamps, [frame.time_s for frame in all_frames])
    whole = extract_features(all_frames[::4], stand_in(spec_of())[0], video)
    np.testing.assert_array_equal(features.array, np.repeat(whole.array, 4, axis=0))


def test_picture_extractor_covers_its_step() -> None:
    spec = replace(spec_of(fps=2.0), clip_lengths=range(1, 2))
    assert spec.covers_s == spec.step_s == 0.5


def test_crop_is_the_middle_of_a_picture() -> None:
    image = np.arange(6 * 9 * 3, dtype=np.uint8).reshape(6, 9, 3)
    np.testing.assert_array_equal(spec_of().crop(image), image[2:4, 4:6])
