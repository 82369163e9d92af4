"""What people described, and captions of it, in the layouts of public data sets."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vidsum.errors import InputError
from vidsum.lab.datasets.described_items import Described, read_captions, read_described
from vidsum.results.descriptions import Description, Descriptions

EMPTY = Descriptions((), "words", 10.0)

PICTURES = {"7": Described(("a dog runs", "the dog")), "12": Described(("a cat",))}
MOMENTS = {
    "v_1#0": Described(("he opens a door",), "v_1", (0.0, 4.0)),
    "v_1#1": Described(("she sits",), "v_1", (6.0, 9.0)),
    "v_2#0": Described(("it rains",), "v_2", (1.0, 2.0)),
}
ROWS = [(7, "a dog runs"), (12, "a cat"), (7, " the dog\n")]
COCO = {"annotations": [{"image_id": name, "id": n, "caption": text} for n, (name, text) in enumerate(ROWS)]}
TIMES = {
    "v_1": {"duration": 10, "timestamps": [[0, 4], [6, 9]], "sentences": ["he opens a door", "she sits"]},
    "v_2": {"duration": 3, "timestamps": [[1, 2]], "sentences": ["it rains"]},
}
MAD_CSV = 'movie,start,end,text_unnamed\nv_1,0,4,"he opens a door"\nv_1,6.0,9,she sits\nv_2,1,2,it rains\n'
MAD = {
    str(number): {"movie": item.video, "timestamps": item.window, "sentence": item.sentences[0]}
    for number, item in enumerate(MOMENTS.values())
}


def written(name: str, content: Any) -> Path:
    path = Path(name)
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "items"),
    [
        ("coco.json", COCO, PICTURES),
        (
            "msrvtt.json",
            {"videos": [], "sentences": [{"sen_id": 0, "video_id": "video7", "caption": "a dog"}]},
            {"video7": Described(("a dog",))},
        ),
        ("flickr8k.csv", "image,caption\n7,a dog runs\n12,a cat\n7,the dog\n", PICTURES),
        ("activitynet.json", TIMES, MOMENTS),
        ("mad.csv", MAD_CSV, MOMENTS),
        ("mad.json", MAD, MOMENTS),
    ],
)
def test_sentences_of_each_layout_are_read(name: str, content: Any, items: dict[str, Described]) -> None:
    assert read_described(written(name, content)) == items


def test_packed_sentences_are_read() -> None:
    Path("mad.csv.gz").write_bytes(gzip.compress(MAD_CSV.encode()))
    assert read_described(Path("mad.csv.gz")) == MOMENTS


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results.json", [{"image_id": 7, "caption": "one"}, {"image_id": "12", "caption": ""}]),
        ("results.csv", "id,caption\n7,one\n12,\n"),
        ("results.csv", "image,score,text\n7,1,one\n12,1,\n"),
    ],
)
def test_captions_are_found_by_the_names_of_their_items(name: str, content: Any) -> None:
    assert read_captions(written(name, content), PICTURES) == {"7": "one", "12": ""}


SPOKEN = [("v_1", 0, 5, "one"), ("v_1", 5, 8, "two"), ("v_1", 8, 10, "three"), ("v_2", 2, 3, "none")]
OVERLAPPING = {"v_1#0": "one", "v_1#1": "two"}


def test_captions_of_a_table_meet_what_they_overlap_most() -> None:
    table = "".join(f"{video},{start},{end},{text}\n" for video, start, end, text in SPOKEN)
    path = written("results.csv", f"video,start,end,caption\n{table}")
    assert read_captions(path, MOMENTS) == OVERLAPPING


def test_captions_in_the_layout_of_activitynet_meet_what_they_overlap_most() -> None:
    results: dict[str, list[Any]] = {"v_1": [], "v_2": []}
    for video, start, end, text in SPOKEN:
        results[video].append({"sentence": text, "timestamp": [start, end]})
    assert read_captions(written("results.json", {"results": results}), MOMENTS) == OVERLAPPING


def test_descriptions_of_a_folder_meet_what_they_overlap_most() -> None:
    for video in ("v_1", "v_2"):
        said = tuple(Description(start, end, text, 0.5) for film, start, end, text in SPOKEN if film == video)
        document = replace(EMPTY, descriptions=said).to_dict()
        written(f"said/{video}_descriptions.json", {**document, "video": {"path": f"films/{video}.mp4"}})
    assert read_captions(Path("said"), MOMENTS) == OVERLAPPING


def test_descriptions_without_a_video_are_of_the_name_of_their_file() -> None:
    document = replace(EMPTY, descriptions=(Description(0, 5, "one", 0.5),)).to_dict()
    path = written("v_1_descriptions.json", document)
    assert read_captions(path, MOMENTS) == {"v_1#0": "one"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.csv", "picture,caption\n7,a\n", "has the columns 'picture, caption', not an id and a caption"),
        ("data.csv", "image,caption\n7\n", "line 2: does not have 2 fields, as the header has"),
        ("data.csv", "image,caption\n", "holds no sentences"),
        ("data.csv", "image,caption\n7, \n", "line 2: has no sentence for 7"),
        ("data.csv", "movie,start,end,text\n7,0,soon,a\n", "has a window that is not a start and an end"),
        ("data.csv", 'image,caption\n7,"a', "cannot be read as CSV"),
        ("data.csv.gz", "text", "not a gzip file"),
        ("data.json", {"annotations": [{"caption": "a"}]}, "annotations: has no number or text id"),
        ("data.json", {"annotations": []}, "holds no sentences"),
        ("data.json", {"annotations": [{"image_id": 1, "caption": "\ud800"}]}, "has no sentence for 1"),
        (
            "data.json",
            {"1": {"movie": "x", "sentence": "a"}},
            "1: has a window that is not a start and an end",
        ),
        ("data.json", [1], "is not a JSON object"),
    ],
)
def test_bad_sentences_are_one_clear_line(name: str, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_described(written(name, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"image_id": 8, "caption": "a"}], "entry 0: 8 is not in the data"),
        ([{"image_id": 7, "caption": "a"}] * 2, "entry 1: 7 has a second caption"),
        ([{"image_id": 7}], "entry 0: has no text caption"),
        ([], "has no caption of the data"),
        ({"captions": []}, "results.json: captions: is not a JSON object"),
        (
            {"descriptions": [{"start_s": 0, "end_s": 1, "text": "a"}]},
            "results has times, which the data has not",
        ),
    ],
)
def test_bad_captions_are_one_clear_line(content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_captions(written("results.json", content), PICTURES)


def test_captions_of_another_video_are_refused() -> None:
    results = {"v_3": [{"sentence": "", "timestamp": [0, 1]}]}
    with pytest.raises(InputError, match="v_3 is not in the data"):
        read_captions(written("results.json", {"results": results}), MOMENTS)


def test_folder_without_descriptions_is_refused() -> None:
    Path("empty").mkdir()
    with pytest.raises(InputError, match=r"holds no file NAME_descriptions\.json"):
        read_captions(Path("empty"), MOMENTS)
