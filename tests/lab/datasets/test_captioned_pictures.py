"""Pictures with sentences: each layout is read, the split is for good, each fault is named."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pictures import write_csv
from vidsum.errors import InputError
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures, split_pictures

SENTENCES = {"a.jpg": ["a dog runs", 'it, "runs"'], "b.jpg": ["a cat"], "c.jpg": ["snow"]}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder with the pictures; what is in them does not count here."""
    folder = tmp_path / "images"
    (folder / "val2014").mkdir(parents=True)
    for name in (*SENTENCES, "val2014/a.jpg"):
        (folder / name).write_bytes(b"")
    return folder


def read(captions: Path, images: Path) -> dict[str, list[str]]:
    return {each.file: list(each.sentences) for each in read_captioned_pictures(captions, images)[0]}


def splits(pictures: list[CaptionedPicture]) -> dict[str, str]:
    return {each.file: each.split for each in pictures}


@pytest.mark.parametrize("name", ["image", "file"])
def test_csv(tmp_path: Path, images: Path, name: str) -> None:
    path = write_csv(tmp_path / "c.csv", SENTENCES, (name, "caption"))
    assert read(path, images) == SENTENCES
    packed = tmp_path / "c.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed, images) == SENTENCES


def test_csv_with_frames_of_videos_and_a_split(tmp_path: Path, images: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text(
        "file,time_s,caption,split\na.jpg,1.5,later,test\nb.jpg,,whole,dev\na.jpg,0.5,early,test\n"
    )
    pictures, warnings = read_captioned_pictures(path, images)
    found = [(each.file, each.still.time_s, each.sentences, each.split) for each in pictures]
    early, late = (("a.jpg", time, (text,), "test") for time, text in ((0.5, "early"), (1.5, "later")))
    assert found == [early, late, ("b.jpg", None, ("whole",), "val")]
    assert warnings == []


def test_flickr8k_with_its_official_split(tmp_path: Path, images: Path) -> None:
    path = tmp_path / "Flickr8k.token.txt"
    path.write_text(
        "".join(f"{name}#{n}\t{text}\n" for name, own in SENTENCES.items() for n, text in enumerate(own))
    )
    assert read(path, images) == SENTENCES
    for part, name in (("train", "a"), ("dev", "c")):
        (tmp_path / f"Flickr_8k.{part}Images.txt").write_text(f"{name}.jpg\n")
    pictures, warnings = read_captioned_pictures(path, images)
    assert splits(pictures) == {"a.jpg": "train", "c.jpg": "val"}
    assert warnings == ["Flickr8k.token.txt: pictures that are in no split and are left out: 1"]


def test_karpathys_json(tmp_path: Path, images: Path) -> None:
    entries = [
        {"filename": name, "sentences": [{"raw": text} for text in own], "split": split}
        for (name, own), split in zip(SENTENCES.items(), ("restval", "val", "test"), strict=True)
    ]
    entries.append(
        {"filename": "a.jpg", "filepath": "val2014", "sentences": [{"raw": "COCO"}], "split": "test"}
    )
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps({"images": entries, "dataset": "made"}))
    assert read(path, images) == {**SENTENCES, "val2014/a.jpg": ["COCO"]}
    of_split = {"a.jpg": "train", "b.jpg": "val", "c.jpg": "test", "val2014/a.jpg": "test"}
    assert splits(read_captioned_pictures(path, images)[0]) == of_split


def test_a_folder_of_texts(tmp_path: Path, images: Path) -> None:
    for name, own in SENTENCES.items():
        (images / name).with_suffix(".txt").write_text("\n".join(own) + "\n\n")
    assert read(images, images) == SENTENCES


@given(st.sets(st.text("abc", min_size=1), min_size=1, max_size=80))
def test_every_eighth_name_is_for_testing_and_every_sixteenth_of_the_others_for_validation(
    names: set[str],
) -> None:
    found = split_pictures(dict.fromkeys(names))
    others = []
    for number, name in enumerate(sorted(names)):
        if number % 8 == 0:
            assert found[name] == "test"
        else:
            others.append(name)
    assert [found[name] for name in others] == ["val" if n % 16 == 0 else "train" for n in range(len(others))]


def test_the_split_does_not_depend_on_what_is_there(tmp_path: Path, images: Path) -> None:
    sentences = {f"{number:02}.jpg": ["x"] for number in range(40)}
    path = write_csv(tmp_path / "c.csv", sentences)
    for name in sentences:
        (images / name).write_bytes(b"")
    before = splits(read_captioned_pictures(path, images)[0])
    for number in (0, 3, 8, 17):
        (images / f"{number:02}.jpg").unlink()
    pictures, warnings = read_captioned_pictures(path, images)
    assert splits(pictures) == {name: before[name] for name in before if (images / name).exists()}
    assert warnings == [f"c.csv: pictures that are not in {images} and are left out: 4, such as 00.jpg"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("c.csv", "", "line 1: has the columns ''"),
        ("c.csv", "name,caption\na,b\n", "line 1: has the columns 'name, caption', not image or file"),
        ("c.csv", "image,caption\n", "holds no sentences"),
        ("c.csv", "image,caption\na.jpg,a,b\n", "line 2: does not have 2 fields"),
        ("c.csv", "image,caption\na.jpg, \n", "line 2: has no sentence for a.jpg"),
        ("c.csv", "image,caption\n,a\n", "line 2: has no name of a picture"),
        ("c.csv", 'image,caption\na.jpg,"a\n', "cannot be read as CSV"),
        ("c.csv", "image,caption\nz.jpg,a\n", "images: holds none of the 1 pictures of"),
        ("c.csv", "image,caption\na\0.jpg,a\n", "c.csv"),
        (
            "c.csv",
            "image,caption,split\na.jpg,a,mine\n",
            "line 2: has a split that is not train, val or test: 'mine'",
        ),
        ("c.csv", "image,caption,split\na.jpg,a,test\na.jpg,b,val\n", "line 3: a.jpg is in two splits"),
        ("c.csv", "image,caption,time_s\na.jpg,a,nan\n", "line 2: has a time_s that is not a number"),
        ("c.txt", "a.jpg a dog\n", "line 1: is not a name with the number of a sentence"),
        ("c.json", "[]", "is not a JSON object"),
        ("c.json", "{}", "has no list images"),
        ("c.json", '{"images": [{"filename": "a.jpg"}]}', "image 0: has no list sentences"),
        ("c.json", '{"images": [{"sentences": [{"raw": "a"}]}]}', "image 0: has no text filename"),
        (
            "c.json",
            '{"images": [{"filename": "a.jpg", "sentences": [{"raw": "\\ud800"}]}]}',
            "has no sentence",
        ),
        ("c.yaml", "a", "no layout of captions has such a name"),
        ("c.csv.gz", "text", "not a gzip file"),
    ],
)
def test_a_fault_is_named(tmp_path: Path, images: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as raised:
        read_captioned_pictures(tmp_path / name, images)
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_folders_that_are_not(tmp_path: Path, images: Path) -> None:
    path = write_csv(tmp_path / "c.csv", SENTENCES)
    (tmp_path / "empty").mkdir()
    for folder, reason in (
        ("none", "no such folder"),
        ("c.csv", "is not a folder"),
        ("empty", "holds none of"),
    ):
        with pytest.raises(InputError, match=reason):
            read_captioned_pictures(path, tmp_path / folder)
    with pytest.raises(InputError, match="holds no sentences"):
        read_captioned_pictures(tmp_path / "empty", images)
