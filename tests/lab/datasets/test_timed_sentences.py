"""Timed sentences in the layouts of the field, good and bad."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import deep
from tests.lab.datasets.moment_layouts import highlight, in_seconds, with_saliency, write_json, write_lines
from vidsum.errors import InputError
from vidsum.lab.datasets.timed_sentences import (
    MomentVideo,
    Query,
    describe_repairs,
    read_highlights,
    read_moments,
)


@pytest.mark.parametrize("window", [(0, 2), (4, 9)], ids=["begins with it", "ends with it"])
def test_window_of_a_highlight_may_begin_and_end_with_its_video(
    tmp_path: Path, window: tuple[int, int]
) -> None:
    line = highlight(7, "x", "A girl", window) | {"duration": 9}
    assert read_highlights(write_lines(tmp_path / "val.jsonl", line))["7"].windows == (window,)


def test_activitynet_and_charades_are_in_seconds(tmp_path: Path) -> None:
    videos = {
        "v_b": in_seconds(55.15, (0.28, 55.15, "A lifting tutorial."), (13.79, 54.32, "  He helps.")),
        "v_a": in_seconds(30, (0, 6.9, "a person reads.")),
    }
    read = read_moments(write_json(tmp_path / "train.json", videos))
    assert [(name, video.name, video.duration_s, _queries(video)) for name, video in read.items()] == [
        ("v_b", "v_b", 55.15, [("A lifting tutorial.", ((0.28, 55.15),)), ("He helps.", ((13.79, 54.32),))]),
        ("v_a", "v_a", 30.0, [("a person reads.", ((0.0, 6.9),))]),
    ]
    assert [(one.video, one.duration_s, one.qid) for one in read["v_a"].queries] == [("v_a", 30.0, "")]


def test_spans_and_queries_of_timelens_bench_are_in_seconds(tmp_path: Path) -> None:
    entry = {"duration": 30.5, "spans": [[2.1, 8.0], [20, 30.5]], "queries": ["a person sits.", "a dog runs"]}
    read = read_moments(write_json(tmp_path / "charades-timelens.json", {"AO8RW": entry}))
    assert read["AO8RW"].duration_s == 30.5
    queries = [("a person sits.", ((2.1, 8.0),)), ("a dog runs", ((20.0, 30.5),))]
    assert _queries(read["AO8RW"]) == queries


def test_timelens_bench_with_more_spans_than_queries_is_refused(tmp_path: Path) -> None:
    path = write_json(
        tmp_path / "x.json", {"a": {"duration": 9, "spans": [[1, 2], [3, 4]], "queries": ["b"]}}
    )
    with pytest.raises(InputError, match="has 2 spans, but 1 queries"):
        read_moments(path)


def _queries(video: MomentVideo) -> list[tuple[Any, ...]]:
    return [(query.text, query.windows) for query in video.queries]


SPOKEN = {
    **in_seconds(20, (0, 5, "A dog."), (9, 4, "A cat."), (8, 12, "A cow.")),
    "audios": ["a_val_2_1.wav", "a_val_2_3.wav", "a_val_2_2.wav"],
}
"""Sentences with recordings, of which the second ends before its start."""


def test_recordings_of_sentences_are_named_as_mrnets_authors_do(tmp_path: Path) -> None:
    videos = read_moments(write_json(tmp_path / "test_audio_new.json", {"v_a": SPOKEN}))
    names = [(query.text, query.features_name) for query in videos["v_a"].queries]
    assert names == [("A dog.", "a_val_2_1"), ("A cow.", "a_val_2_2")]


def test_recordings_of_tacos_are_read(tmp_path: Path) -> None:
    entry = {
        "fps": 25.0,
        "num_frames": 1000,
        "timestamps": [[50, 100]],
        "sentences": ["She cuts."],
        "audios": ["s34-d28_val_1.wav"],
        "speaker": "cmu_us_clb",
        "speaker_id": 3390,
    }
    videos = read_moments(write_json(tmp_path / "test_audio_new.json", {"s34-d28.avi": entry}))
    assert videos["s34-d28.avi"].queries[0].audio == "s34-d28_val_1.wav"


def test_features_of_qvhighlights_are_named_by_the_number_of_the_query(tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "val.jsonl", highlight(7, "x_0_150", "A girl", (10, 20)))
    assert read_moments(lines)["x_0_150"].queries[0].features_name == "qid7"


@pytest.mark.parametrize(
    ("audios", "reason"), [(["a.wav"], "1 audios, but 3 sentences"), ([1, 2, 3], "not the name of a file: 1")]
)
def test_wrong_recordings_are_refused(tmp_path: Path, audios: list[Any], reason: str) -> None:
    path = write_json(tmp_path / "test.json", {"v_a": {**SPOKEN, "audios": audios}})
    with pytest.raises(InputError, match=f"v_a: has .*{reason}"):
        read_moments(path)


@pytest.mark.parametrize("indent", [None, 1])
def test_tacos_is_in_frames(tmp_path: Path, indent: int | None) -> None:
    entry = {"fps": 25.0, "num_frames": 1000, "timestamps": [[50, 100]], "sentences": ["She cuts."]}
    path = tmp_path / "tacos.json"
    path.write_text(json.dumps({"s1.avi": entry}, indent=indent))
    video = read_moments(path)["s1.avi"]
    assert (video.duration_s, _queries(video)) == (40.0, [("She cuts.", ((2.0, 4.0),))])


def test_qvhighlights_has_several_windows_and_numbers(tmp_path: Path) -> None:
    lines = (
        highlight(7, "x_0_150", "A girl\u2028cooks", (10, 20), (30, 44)),
        highlight(9, "y_0_150", "A dog", (0, 150)),
        highlight(8, "x_0_150", "A cat", (2, 4)),
    )
    videos = read_moments(write_lines(tmp_path / "val.jsonl", *lines))
    assert list(videos) == ["x_0_150", "y_0_150"]
    first, second = videos["x_0_150"].queries
    assert (first.text, first.windows) == ("A girl\u2028cooks", ((10.0, 20.0), (30.0, 44.0)))
    assert (first.qid, first.saliency) == ("7", None)
    assert second.qid == "8"


@pytest.fixture
def charades(tmp_path: Path) -> Path:
    """Charades-STA as first published, without lengths of videos."""
    path = tmp_path / "charades_sta_test.txt"
    path.write_text("3MSZA 24.3 30.4##person turn a light on.\nAO8RW 0.0 6.9##a person ## reads.\n\n")
    return path


def test_charades_as_first_published_takes_lengths_from_the_tables_of_charades(charades: Path) -> None:
    table = charades.with_name("Charades_v1_test.csv")
    table.write_text("id,subject,length\n3MSZA,P1,30.96\nAO8RW,P2,33.67\n")
    videos = read_moments(charades)
    assert videos["3MSZA"].duration_s == 30.96
    assert _queries(videos["3MSZA"]) == [("person turn a light on.", ((24.3, 30.4),))]
    assert videos["AO8RW"].queries[0].text == "a person ## reads."


def test_charades_as_first_published_is_refused_without_its_table(charades: Path) -> None:
    with pytest.raises(InputError, match=r"has no lengths of videos") as caught:
        read_moments(charades)
    assert "Charades_v1_test.csv" in str(caught.value.hint)


@pytest.fixture
def faulty(tmp_path: Path) -> dict[str, MomentVideo]:
    """Two videos with annotations of each fault."""
    path = write_json(
        tmp_path / "bad.json",
        {
            "v_a": in_seconds(10, (5, 3, "inverted"), (4, 4, "empty"), (-1, 12, "too long"), (1, 2, "good")),
            "v_b": in_seconds(10, (11, 12, "outside"), (-3, 0, "before"), (1, 2, " \n"), (6, 5, "inverted")),
        },
    )
    return read_moments(path)


def test_faulty_annotations_are_cut_or_left_out(faulty: dict[str, MomentVideo]) -> None:
    assert _queries(faulty["v_a"]) == [("too long", ((0.0, 10.0),)), ("good", ((1.0, 2.0),))]
    assert faulty["v_b"].queries == ()


def test_faulty_annotations_are_counted_by_their_fault(faulty: dict[str, MomentVideo]) -> None:
    assert describe_repairs(faulty) == (
        "annotations left out that end at or before their start: 3, first in v_a",
        "annotations cut that reach out of their video: 1, first in v_a",
        "annotations left out that lie outside their video: 2, first in v_b",
        "annotations left out whose sentence has no words: 1, first in v_b",
    )


def test_good_windows_of_several_stay(tmp_path: Path) -> None:
    lines = (highlight(1, "x", "A dog", (8, 4), (10, 20)), highlight(2, "x", "A cat"))
    videos = read_moments(write_lines(tmp_path / "val.jsonl", *lines))
    assert _queries(videos["x"]) == [("A dog", ((10.0, 20.0),))]
    assert [note.rpartition(":")[0] for note in describe_repairs(videos)] == [
        "annotations left out that end at or before their start",
        "annotations left out that have no window",
    ]


GOOD = in_seconds(10, (1, 2, "a"))
LINE = highlight(1, "x", "A dog", (1, 2))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "holds no annotation"),
        ("VIDEO one two", "line 1: is neither JSON nor"),
        ('{"v_a": ', "cannot be read as JSON"),
        (json.dumps({"v_a": {**GOOD, "duration": 10**400}}), "v_a: has no positive number duration"),
        (json.dumps({"v_a": {**GOOD, "duration": 1e9}}), "v_a: has a duration of more than"),
        (
            json.dumps({"v_a": {**GOOD, "fps": 25, "num_frames": 0.5}}),
            "v_a: has num_frames that are not a whole number: 0.5",
        ),
        (json.dumps(LINE)[:-9] + "}\n" + json.dumps(LINE), "line 1: cannot be read as JSON"),
        (
            json.dumps({**LINE, "relevant_clip_ids": [10**5], "saliency_scores": [[1]]}),
            "line 1: has clip 100000 in relevant_clip_ids, which begins after the end",
        ),
        (json.dumps({"v" * 5000: {**GOOD, "duration": 0}}), "vvv': has no positive number duration"),
        (json.dumps({"v_a": 3}), "v_a: is not a JSON object"),
        (json.dumps({"v_a": {**GOOD, "duration": 0}}), "v_a: has no positive number duration"),
        (json.dumps({"v_a": {**GOOD, "num_frames": 9}}), "v_a: has no positive number fps"),
        (json.dumps({"v_a": {**GOOD, "sentences": "a"}}), "v_a: has no list sentences"),
        (json.dumps({"v_a": {**GOOD, "sentences": [3]}}), "v_a: has a sentence that is not a text"),
        (json.dumps({"v_a": {**GOOD, "sentences": []}}), "v_a: has 1 timestamps, but 0 sentences"),
        (json.dumps({"v_a": {**GOOD, "timestamps": [[1]]}}), "v_a: has a window that is not a start and"),
        (json.dumps({"v_a": {**GOOD, "timestamps": [[1, float("nan")]]}}), "v_a: has a window"),
        (json.dumps(LINE) + "\n{", "line 2: cannot be read as JSON"),
        (json.dumps(LINE) + "\n[]", "line 2: is not a JSON object"),
        (json.dumps({**LINE, "query": None}), "line 1: has no text query"),
        (json.dumps({**LINE, "relevant_windows": None}), "line 1: has no list relevant_windows"),
        (
            json.dumps({"qid": 1, "vid": "x", "query": "a", "duration": 150}),
            "of a test split without annotations",
        ),
        (json.dumps(LINE) + "\n" + json.dumps({**LINE, "duration": 9}), "x: two of its entries"),
    ],
)
def test_fault_of_annotations_names_its_place(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_moments(path)
    assert str(caught.value).startswith(str(path))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("id,length\nOTHER,3\n", "no Charades_v1_"),
        ("id,length\nV1,long\n", "has no columns id and length"),
        ("name\nV1\n", "has no columns id and length"),
        ("id,length\nV1,0\n", "has no positive number length"),
    ],
)
def test_bad_table_of_charades_is_refused(tmp_path: Path, table: str, reason: str) -> None:
    path = tmp_path / "charades_sta_test.txt"
    path.write_text("V1 1 2##a person\n")
    (tmp_path / "Charades_v1_test.csv").write_text(table)
    with pytest.raises(InputError, match=reason):
        read_moments(path)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "n_videos", "n_queries", "n_repaired"),
    [
        deep("activitynet/train.json", 10009, 37417, 265),  # published: 37,417
        deep("activitynet/val.json", 4917, 17505, 134),  # val_1: 17,505
        ("activitynet/test.json", 4885, 17031, 111),  # val_2: 17,031
        deep("charades/charades_train.json", 5336, 12404, 0),  # 12,408 with four that the JSON leaves out
        ("charades/charades_test.json", 1334, 3720, 0),  # 3,720
        deep("tacos/train.json", 75, 9790, 43),  # as 2D-TAN split its sentences; TALL's have 10,146
        deep("tacos/val.json", 27, 4436, 0),
        ("tacos/test.json", 25, 4001, 5),
        deep("qvhighlights/highlight_train_release.jsonl", 7100, 7218, 0),
        ("qvhighlights/highlight_val_release.jsonl", 1519, 1550, 0),
    ],
)
def test_published_files_have_as_many_sentences_as_published(
    shared: Path, name: str, n_videos: int, n_queries: int, n_repaired: int
) -> None:
    videos = read_moments(shared / "data" / name)
    assert len(videos) == n_videos
    assert sum(len(video.queries) for video in videos.values()) == n_queries
    assert sum(len(video.repairs) for video in videos.values()) == n_repaired
    assert all(_is_sound(video) for video in videos.values())


def _is_sound(video: Any) -> bool:
    return bool(video.queries) and all(
        query.text.strip() == query.text != "" and 0 <= start < end <= video.duration_s
        for query in video.queries
        for start, end in query.windows
    )


@pytest.fixture
def queries(tmp_path: Path) -> dict[str, Query]:
    """Two queries of a video of nine seconds, with scores of two annotators."""
    lines = (
        with_saliency(highlight(7, "x", "A girl", (2, 6)) | {"duration": 9}, {2: (1, 4), 1: (0, 3)}),
        with_saliency(highlight(8, "x", "A dog", (0, 2), (4, 6)) | {"duration": 9}, {0: (2, 2), 2: (3, 4)}),
    )
    return dict(read_highlights(write_lines(tmp_path / "val.jsonl", *lines)))


def test_highlights_are_queries_by_their_numbers(queries: dict[str, Query]) -> None:
    assert list(queries) == ["7", "8"]
    first = queries["7"]
    assert (first.text, first.video, first.duration_s, first.n_clips) == ("A girl", "x", 9.0, 4)
    assert queries["8"].windows == ((0.0, 2.0), (4.0, 6.0))


def test_clips_without_scores_of_annotators_have_zeros(queries: dict[str, Query]) -> None:
    saliency = queries["7"].saliency
    assert saliency is not None
    assert saliency.tolist() == [[0, 0], [0, 3], [1, 4], [0, 0]]


def test_highlights_without_scores_have_no_saliency(tmp_path: Path) -> None:
    bare = read_highlights(write_lines(tmp_path / "val.jsonl", highlight(7, "x", "A girl", (2, 6))))
    assert bare["7"].saliency is None


def test_moments_without_numbers_are_no_highlights(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="v_a: has no qid"):
        read_highlights(write_json(tmp_path / "test.json", {"v_a": in_seconds(9, (1, 2, "A dog"))}))


STRICT = highlight(1, "x", "A dog", (0, 4))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "holds no annotation"),
        ([STRICT, STRICT], "line 2: has qid 1 again"),
        ([{key: value for key, value in STRICT.items() if key != "qid"}], "line 1: has no qid"),
        ([STRICT | {"relevant_windows": []}], "line 1: has no window"),
        ([STRICT | {"relevant_windows": [[4, 2]]}], "line 1: has a window that is inverted"),
        ([STRICT | {"relevant_windows": [[4, 4]]}], r"line 1: .* video of 150 s: \[4.0, 4.0\]"),
        ([STRICT | {"relevant_windows": [[0, 152]]}], "line 1: has a window that"),
        ([with_saliency(STRICT, {0: (1,)}) | {"relevant_clip_ids": [0, 1]}], "2 relevant_clip_ids, but 1"),
        ([with_saliency(STRICT, {-1: (1,)})], "line 1: has relevant_clip_ids that .*: -1"),
        (
            [with_saliency(STRICT | {"duration": 151}, {0: (1,), 75: (2,)})],
            "line 1: has clip 75 in .*; the last is 74",
        ),
        ([with_saliency(STRICT, {0: (1,), 1: (2, 3)})], "not one of each annotator for each clip"),
        ([with_saliency(STRICT, {0: ()})], "not one of each annotator for each clip"),
        ([with_saliency(STRICT, {0: (float("nan"),)})], "saliency_scores that are not finite numbers: nan"),
        ([with_saliency(STRICT, {0: ("a",)})], "saliency_scores that are not finite numbers: 'a'"),
        ([STRICT | {"saliency_scores": [[3]]}], "has no list relevant_clip_ids"),
        (
            [with_saliency(STRICT, {0: (1, 2)}), with_saliency(STRICT | {"qid": 2}, {0: (1,)})],
            "line 2: .*annotators",
        ),
        ([{key: value for key, value in STRICT.items() if key != "relevant_windows"}], "of a test split"),
    ],
)
def test_fault_of_highlights_names_its_line(tmp_path: Path, lines: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        read_highlights(write_lines(tmp_path / "val.jsonl", *lines))
    assert str(caught.value).startswith(str(tmp_path / "val.jsonl"))


@pytest.mark.shared
def test_published_scores_of_annotators_are_read_as_they_are(shared: Path) -> None:
    path = shared / "data" / "qvhighlights" / "highlight_val_release.jsonl"
    queries = read_highlights(path)
    assert len(queries) == 1550
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        saliency = queries[str(entry["qid"])].saliency
        assert saliency.shape == (entry["duration"] // 2, 3)
        assert saliency[entry["relevant_clip_ids"]].tolist() == entry["saliency_scores"]
        assert saliency.sum() == np.sum(entry["saliency_scores"])
