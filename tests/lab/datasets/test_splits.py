"""Splits: the published files, our own folds, the three settings, and the validation part."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets.splits import Split, by_dataset, k_fold, read_splits, settings, with_validation

PUBLISHED = "../datasets/eccv16_dataset_{}_google_pool5.h5/video_{}"


def names(dataset: str, count: int) -> list[str]:
    return [f"{dataset}/video_{number}" for number in range(1, count + 1)]


ALL = [*names("tvsum", 50), *names("summe", 25), *names("ovp", 50), *names("youtube", 50)]

key_names = st.sets(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=40)


any_folds = given(videos=key_names, seed=st.integers(0, 2**32), data=st.data())


def test_there_may_be_as_many_folds_as_videos() -> None:
    assert sorted(split.test for split in k_fold(["a", "b", "c"], 3)) == [("a",), ("b",), ("c",)]


@any_folds
def test_each_video_is_in_the_test_of_one_fold(videos: set[str], seed: int, data: st.DataObject) -> None:
    folds = data.draw(st.integers(2, len(videos)))
    splits = k_fold(videos, folds, seed)
    assert len(splits) == folds
    assert Counter(name for split in splits for name in split.test) == Counter(videos)


@any_folds
def test_training_of_a_fold_is_the_rest(videos: set[str], seed: int, data: st.DataObject) -> None:
    for split in k_fold(videos, data.draw(st.integers(2, len(videos))), seed):
        assert {*split.train, *split.test} == videos
        assert not {*split.train} & {*split.test}


@any_folds
def test_folds_are_of_nearly_one_size(videos: set[str], seed: int, data: st.DataObject) -> None:
    splits = k_fold(videos, data.draw(st.integers(2, len(videos))), seed)
    sizes = [len(split.test) for split in splits]
    assert max(sizes) - min(sizes) <= 1


def test_folds_depend_on_the_seed_and_not_on_the_order_of_videos() -> None:
    videos = names("tvsum", 50)
    assert k_fold(videos, seed=3) == k_fold(videos[::-1], seed=3)
    assert k_fold(videos, seed=3) != k_fold(videos, seed=4)


@pytest.mark.parametrize("folds", [0, 1, 51])
def test_number_of_folds_that_cannot_be_is_refused(folds: int) -> None:
    with pytest.raises(UsageError, match="50 videos cannot be split"):
        k_fold(names("tvsum", 50), folds)


@given(videos=key_names, fraction=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_validation_is_a_share_of_the_training_videos(videos: set[str], fraction: float, seed: int) -> None:
    split = Split("one", tuple(sorted(videos)), ("the test video",))
    held_out = with_validation(split, fraction, seed)
    assert held_out.test == split.test
    assert sorted(held_out.train + held_out.validation) == sorted(split.train)
    assert held_out.train
    assert held_out.validation
    assert abs(len(held_out.validation) - fraction * len(videos)) <= 1


def test_validation_that_cannot_be_held_out_is_refused() -> None:
    with pytest.raises(UsageError, match="one video cannot be split"):
        with_validation(Split("one", ("a",), ("c",)))


@pytest.mark.parametrize(
    ("train", "test", "reason"),
    [
        (("a", "b"), ("b",), "names b twice"),
        (("a", "a"), ("b",), "names a twice"),
        ((), ("b",), "no video to train on"),
        (("a",), (), "no video to test on"),
    ],
)
def test_split_that_leaks_or_lacks_a_part_is_refused(
    train: tuple[str, ...], test: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        Split("one", train, test)


OTHERS = [name for name in ALL if not name.startswith("summe")]


def test_canonical_setting_is_five_folds_of_the_data_set() -> None:
    splits = settings("canonical", by_dataset(ALL), "summe", seed=5)
    assert [split.name for split in splits] == [f"canonical-{number}" for number in range(1, 6)]
    assert all(sorted(split.train + split.test) == sorted(names("summe", 25)) for split in splits)


def test_augmented_setting_trains_on_the_other_data_sets_too() -> None:
    known = by_dataset(ALL)
    canonical, augmented = (settings(name, known, "summe", seed=5) for name in ("canonical", "augmented"))
    for plain, more in zip(canonical, augmented, strict=True):
        assert more.test == plain.test
        assert sorted(more.train) == sorted([*plain.train, *OTHERS])


def test_transfer_setting_trains_on_the_other_data_sets_alone() -> None:
    (split,) = settings("transfer", by_dataset(ALL), "summe")
    assert sorted(split.test) == sorted(names("summe", 25))
    assert sorted(split.train) == sorted(OTHERS)


@pytest.mark.parametrize("setting", ["augmented", "transfer"])
def test_setting_that_needs_other_data_sets_is_refused_without_them(setting: Any) -> None:
    with pytest.raises(UsageError) as refused:
        settings(setting, {"summe": names("summe", 25)}, "summe")
    assert "data" in str(refused.value.hint)


def write(path: Path, *splits: dict[str, object]) -> Path:
    path.write_text(json.dumps(splits), encoding="utf-8")  # JSON is YAML too
    return path


@pytest.mark.parametrize("suffix", ["yml", "json"])
@pytest.mark.parametrize("key", [PUBLISHED.format("tvsum", 2), "tvsum/video_2", "data/tvsum.h5/video_2"])
def test_keys_that_name_the_dataset_are_understood(tmp_path: Path, suffix: str, key: str) -> None:
    path = write(tmp_path / f"x.{suffix}", {"train_keys": [PUBLISHED.format("ovp", 1)], "test_keys": [key]})
    assert read_splits(path, ALL) == [Split("x-1", ("ovp/video_1",), ("tvsum/video_2",))]


def test_single_split_of_mr_hisum_is_read_without_its_validation(tmp_path: Path) -> None:
    parts = {"train_keys": ["video_1"], "val_keys": ["video_2"], "test_keys": ["video_3"]}
    (tmp_path / "mrsum_split.json").write_text(json.dumps(parts))
    (split,) = read_splits(tmp_path / "mrsum_split.json", names("mr_hisum", 3))
    assert split == Split("mrsum_split-1", ("mr_hisum/video_1",), ("mr_hisum/video_3",))


def test_keys_without_a_dataset_are_of_the_only_one_or_of_the_file_s_name(tmp_path: Path) -> None:
    content: dict[str, object] = {"train_keys": ["video_1"], "test_keys": ["video_2"]}
    (split,) = read_splits(write(tmp_path / "x.json", content), names("mine", 2))
    assert (split.train, split.test) == (("mine/video_1",), ("mine/video_2",))
    (split,) = read_splits(write(tmp_path / "summe_splits.json", content), ALL)
    assert split.test == ("summe/video_2",)
    with pytest.raises(InputError, match="which of ovp, summe, tvsum, youtube") as refused:
        read_splits(tmp_path / "x.json", ALL)
    assert refused.value.hint is not None


def test_missing_data_of_a_split_is_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.yml",
        {"train_keys": [PUBLISHED.format("ovp", 1)], "test_keys": [PUBLISHED.format("tvsum", 60)]},
    )
    with pytest.raises(InputError, match="names ovp/video_1, which is not in the data") as refused:
        read_splits(path, names("tvsum", 50))
    assert refused.value.hint == "add data='eccv16_dataset_ovp_google_pool5.h5'"
    with pytest.raises(InputError, match="tvsum/video_60, which is not in the data"):
        read_splits(path, ALL)


def test_a_split_that_tests_on_its_training_videos_is_refused_by_number(tmp_path: Path) -> None:
    good = {"train_keys": ["video_1"], "test_keys": ["video_2"]}
    path = write(tmp_path / "x.json", good, {**good, "test_keys": ["video_1"]})
    with pytest.raises(InputError, match=r"x\.json: split x-2: names mine/video_1 twice"):
        read_splits(path, names("mine", 2))


@pytest.mark.parametrize("suffix", ["yml", "json"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[", "cannot be read as"),
        ("[" * 2_000, "cannot be read as"),
        ("", "(cannot be read as JSON|is not a list of splits)"),
        ("[]", "is not a list of splits"),
        ("7", "is not a list of splits"),
        ("[7]", "split 1: train_keys must be a list of names"),
        ('[{"train_keys": ["made/é\\n"], "test_keys": ["made/b"]}]', r"names 'made/é\\n', which"),
        ('[{"train_keys": ["a"]}]', "split 1: test_keys must be a list of names"),
        ('[{"train_keys": [1], "test_keys": ["a"]}]', "split 1: train_keys must be a list of names"),
    ],
)
def test_file_without_splits_is_refused(tmp_path: Path, suffix: str, content: str, reason: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=rf"x\.{suffix}: {reason}"):
        read_splits(path, ALL)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "train", "test", "covered"),
    [
        ("tvsum/tvsum.yml", 40, 10, 32),
        ("tvsum/tvsum_aug.yml", 154, 10, 32),
        ("tvsum/tvsum_trans.yml", 114, 50, 50),
        ("tvsum/tvsum_splits.json", 40, 10, 34),
        ("summe/summe.yml", 20, 5, 16),
        ("summe/summe_aug.yml", 159, 5, 16),
        ("summe/summe_trans.yml", 139, 25, 25),
        ("summe/summe_splits.json", 20, 5, 18),
    ],
)
def test_published_splits_are_read(shared: Path, file: str, train: int, test: int, covered: int) -> None:
    """Sizes as counted in the files; 16 of 25 is what the field notes say of DSNet's SumMe splits."""
    splits = read_splits(shared / "data" / file, ALL)
    assert len(splits) == 5
    assert {(len(split.train), len(split.test)) for split in splits} == {(train, test)}
    assert len({name for split in splits for name in split.test}) == covered
