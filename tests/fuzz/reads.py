"""Reading a file as a command does, and asserting that what was read makes sense.

What reads is imported where it is used: a process that tries one kind need not load what the others do.
"""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np

from tests.fuzz import good


def finite(*values: Any) -> None:
    """Assert that numbers can be reckoned with."""
    for value in values:
        assert np.isfinite(np.asarray(value, np.float64)).all(), f"not finite: {value!r:.200}"


def read_highlight_predictions(path: Path) -> None:
    from vidsum.lab.datasets.timed_sentences import read_highlights
    from vidsum.lab.evaluation.moment_evaluation import evaluate_highlights
    from vidsum.lab.evaluation.submissions import read_highlight_predictions

    data = path.with_name("good.jsonl")
    data.write_text(good.lines_of(good.QUERIES))
    queries = read_highlights(data)
    matches = read_highlight_predictions(path, queries)
    for item in matches.values():
        for moment in item.moments or ():
            finite(moment.start_s, moment.end_s, moment.score)
            assert moment.start_s <= moment.end_s
        finite(item.saliency or ())
    evaluate_highlights(queries, matches, n_seeds=1)


def read_moment_predictions(path: Path) -> None:
    from vidsum.lab.datasets.timed_sentences import read_moments
    from vidsum.lab.evaluation.moment_evaluation import evaluate_moments
    from vidsum.lab.evaluation.submissions import read_predictions

    of_grounding = path.suffix == ".json"
    data = path.with_name("good.json" if of_grounding else "good.jsonl")
    data.write_text(
        json.dumps({"v_a": good.ACTIVITYNET["v_a"]}) if of_grounding else good.lines_of(good.QUERIES)
    )
    videos = read_moments(data)
    matches = read_predictions(path, videos)
    for moment in (item for answers in matches.values() for moments in answers for item in moments):
        finite(moment.start_s, moment.end_s, moment.score)
        assert moment.start_s <= moment.end_s
    finite(
        [measures.miou for measures in evaluate_moments(videos, {"mine": matches}, n_seeds=1).rows.values()]
    )


def read_moments(path: Path) -> None:
    from vidsum.lab.datasets.timed_sentences import read_moments
    from vidsum.lab.evaluation.moment_evaluation import evaluate_moments

    videos = read_moments(path)
    for video in videos.values():
        source = (query.saliency for query in video.queries if query.saliency is not None)
        finite(video.duration_s, *source)
        for start, end in (window for query in video.queries for window in query.windows):
            assert 0 <= start < end <= video.duration_s
    if any(video.queries for video in videos.values()):
        finite([measures.miou for measures in evaluate_moments(videos, {}, n_seeds=1).rows.values()])


def read_highlights(path: Path) -> None:
    from vidsum.lab.datasets.timed_sentences import read_highlights

    for query in read_highlights(path).values():
        for start, end in query.windows:
            assert 0 <= start < end <= query.duration_s
        if query.saliency is not None:
            finite(query.saliency)


def read_scores(path: Path) -> None:
    from tests.lab.evaluation.annotated import dataset
    from vidsum.lab.evaluation.submissions import read_scores

    finite(*read_scores(path, dataset(2)).values())


def read_splits(path: Path) -> None:
    from vidsum.lab.datasets.splits import read_splits

    names = [f"made/video_{number}" for number in range(1, 5)]
    for split in read_splits(path, names):
        assert {*split.train, *split.test} <= set(names)


def read_config(path: Path) -> None:
    """Through the whole command line, up to the input, which is missing."""
    from vidsum.commands.app import main
    from vidsum.errors import UsageError

    message = io.StringIO()
    words = ["vidsum", "summarize", "missing.npz", "--config", str(path)]
    code: Any = 0
    try:
        with (
            patch.object(sys, "argv", words),
            contextlib.redirect_stderr(message),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            main()
    except SystemExit as left:
        code = left.code
    assert code in (2, 3), f"exit code {code}: {message.getvalue()[:300]}"
    assert "internal fault" not in message.getvalue(), message.getvalue()[:300]
    assert "Traceback" not in message.getvalue(), message.getvalue()[-300:]
    if code == 2:
        raise UsageError("refused")


def read_record(path: Path) -> None:
    from vidsum.outputs.output_records import read_document
    from vidsum.results.result import to_text

    document, _ = read_document(path)
    to_text(document)
    assert document == good.SUMMARY, "a record that was changed is trusted"


def read_result(path: Path) -> None:
    """Through every format of `export`, and a page with another result of the video."""
    from vidsum.errors import VidsumError
    from vidsum.outputs.pages import report_text
    from vidsum.outputs.timelines import timeline_text
    from vidsum.results.load import read_result, result_of
    from vidsum.results.settings import ExportFormat

    film, matches = good.film_and_results()
    if not path.with_name("film.mp4").exists():
        path.with_name("film.mp4").write_bytes(film)
    result = read_result(path)
    assert all(entry["start_s"] <= entry["end_s"] for entry in _segments(result.to_dict())), "it is inverted"
    page, _ = report_text(
        [(path.name, result), ("good.json", result_of(matches[0]))], path.with_suffix(".html")
    )
    drawn = re.findall(r" (?:d|x|width|data-duration)=\"([^\"]*)\"", page)
    assert not [entry for entry in drawn if "n" in entry], "a drawing with infinite numbers"
    refused: VidsumError | None = None
    for format in get_args(ExportFormat):
        try:
            timeline_text(result, format, path.with_suffix(f".{format}"))[0].encode()
        except VidsumError as error:
            if "YouTube wants" not in error.message:  # a short film has too few chapters
                refused = error
    if (
        refused and result.video and "\n" in result.video.path
    ):  # a file may have such a name, which is said as it is
        raise VidsumError("refused by name")
    if refused:
        raise refused


def _segments(value: Any) -> Iterator[dict[str, Any]]:
    """All that has a start and an end."""
    if isinstance(value, dict):
        if {"start_s", "end_s"} <= set(value):
            yield value
        for name, entry in value.items():
            if name != "provenance":
                yield from _segments(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _segments(entry)


def read_run(path: Path) -> None:
    from vidsum.lab.training.run import read_run

    assert isinstance(read_run(path.parent), dict)


def read_weights(path: Path) -> None:
    from vidsum.checkpoints import registry
    from vidsum.checkpoints.registry import status_of

    folder = path.parent / "weights" / "mobilenet_v2"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / path.name).write_bytes(path.read_bytes())
    with patch.dict(os.environ, VIDSUM_HOME=str(path.parent)):
        assert status_of(registry.get("mobilenet_v2"), hashed=True).state in ("missing", "bad")


def read_checkpoint(path: Path) -> None:
    from vidsum.checkpoints.trained import read_trained
    from vidsum.grounding.moment_model import build_moment_model

    grounder = build_moment_model(read_trained(path), str(path), "cpu")
    finite(*(weights.detach().numpy() for weights in grounder.model.parameters()))


def read_features(path: Path) -> None:
    from vidsum.results.feature_files import read_features

    video = "video_1" if path.suffix == ".h5" else None
    features = read_features(path, video)
    assert features.array.ndim == 2
    finite(features.array, features.timestamps, features.step_s, features.duration_s)
    assert (np.diff(features.timestamps) > 0).all()


def read_annotated(path: Path) -> None:
    from vidsum.lab.datasets.annotated_videos import read_annotated

    for video in read_annotated(path).values():
        finite(
            video.features.array,
            video.features.timestamps,
            *([] if video.gtscore is None else [video.gtscore]),
        )


def read_clip_captions(path: Path) -> None:
    from vidsum.lab.datasets.clip_captions import read_clip_captions

    for captions in read_clip_captions(path).values():
        assert all(caption.encode() is not None for caption in captions)
        assert captions
