"""Answers of MRNet and DETR checkpoints on published features, compared with the model called by hand."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.lab.datasets.made import unit
from tests.lab.datasets.moment_layouts import moment_video
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import InputError, UsageError
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.grounding.windows import resample
from vidsum.lab.datasets.published_features import open_features
from vidsum.lab.datasets.timed_sentences import Query
from vidsum.lab.evaluation import models
from vidsum.lab.evaluation.models import ModelRun, highlights_by, moments_by, snap_to_clips
from vidsum.lab.evaluation.submissions import read_highlight_predictions, write_predictions
from vidsum.models.configs import LIGHT_HEAD, DETRConfig, MRNetConfig
from vidsum.models.detr import DETR, Detections
from vidsum.models.detr_models import build
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, iou

CLIPS, DIMS, DIM_TEXT = 8, (4, 2), 4
ROWS = {"x": 10, "short": 6, "long": 32}
"""Features of each video: one has a clip too few, one more than the models read."""
QUERIES = {
    "7": Query("7", "a dog", "x", 20.0, ((0.0, 4.0),)),
    "8": Query("8", "a cat on a mat", "x", 20.0, ((4.0, 10.0),)),
    "9": Query("9", "a bird", "short", 15.0, ((0.0, 4.0),)),
    "10": Query("10", "a cow", "long", 62.0, ((0.0, 4.0),)),
}
VIDEOS = {
    "x": moment_video("x", 20.0, *((QUERIES[qid].text, (0.0, 4.0)) for qid in ("7", "8"))),
    "none": moment_video("none", 10.0),
    "long": moment_video("long", 7200.0, ("a cow", (0.0, 90.0))),
}


def words_of(text: str) -> FloatArray:
    """Simulated embeddings of its words."""
    rng = np.random.default_rng(list(text.encode()))
    return unit(rng.normal(size=(len(text.split()), DIM_TEXT)).astype(np.float32))


def encode(texts: Sequence[str]) -> FloatArray:
    """Simulated embeddings: the first word's."""
    return np.stack([words_of(text)[0] for text in texts])


@pytest.fixture(autouse=True)
def encoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A text encoder with no weights; lists the names that were loaded."""
    names: list[str] = []

    def load(name: str) -> TextEncoder:
        names.append(name)
        return TextEncoder(name, encode, lambda texts: list(map(words_of, texts)), list)

    monkeypatch.setattr(models, "load_text_encoder", load)
    return names


def small(family: str) -> MRNet | DETR:
    """A small model, untrained."""
    sizes = {"dim_query": DIM_TEXT, "clips": CLIPS, "d": 16, "heads": 2, "d_ff": 16}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if family == "mrnet":
            return MRNet(MRNetConfig(dim_video=sum(DIMS), **sizes, **LIGHT_HEAD)).eval()
        layers = {"layers": 1, "decoder_layers": 1, "words": 3}
        return build(family, DETRConfig(dim_video=sum(DIMS) + 2, **sizes, **layers)).eval()


@pytest.fixture(params=["mrnet", "qd-detr"])
def family(request: pytest.FixtureRequest) -> str:
    """Of models."""
    return str(request.param)


@pytest.fixture
def run(family: str, tmp_path: Path) -> ModelRun:
    """A checkpoint of the family, and features of two kinds."""
    rng = np.random.default_rng(1)
    sources = tuple(tmp_path / kind for kind in ("slowfast", "clip"))
    for folder, dim in zip(sources, DIMS, strict=True):
        folder.mkdir()
        for video, length in ROWS.items():
            np.savez(folder / f"{video}.npz", features=3 * rng.normal(size=(length, dim)).astype(np.float32))
    return ModelRun(checkpoint(tmp_path / "model.safetensors", family), sources, device="cpu")


def checkpoint(path: Path, family: str, **reads: Any) -> Path:
    """A file of a small model; clips are said to be sampled, as those of published models are."""
    model = small(family)
    facts = {"space": "features", "text": "clip", "clip_s": 2.0, "fps": 0.5, **reads}
    save_trained(path, Trained(family, asdict(model.config), facts, {}, model.state_dict()))
    return path


def clips_of(run: ModelRun, video: str, length: int) -> FloatArray:
    """What a DETR should read of a video, by hand."""
    parts = [np.load(folder / f"{video}.npz")["features"][:length] for folder in run.features]
    rows = np.concatenate([unit(part) for part in parts], axis=1)
    rows = resample(rows, CLIPS) if len(rows) > CLIPS else rows
    times = np.arange(len(rows) + 1, dtype=np.float32) / len(rows)
    return np.concatenate([rows, times[:-1, None], times[1:, None]], axis=1)


@torch.inference_mode()
def detected(clips: FloatArray, words: FloatArray) -> Detections:
    """A DETR's own answer."""
    is_clip, is_word = (torch.ones(1, len(rows), dtype=torch.bool) for rows in (clips, words))
    return small("qd-detr")(torch.from_numpy(clips)[None], is_clip, torch.from_numpy(words)[None], is_word)


@torch.inference_mode()
def best_proposal(run: ModelRun, video: str, text: str) -> tuple[float, float]:
    """Start and end of MRNet's own best answer, as fractions of the video."""
    model = small("mrnet")
    rows = resample(np.concatenate(open_features(run.features, [video])(video), 1), CLIPS)
    clips, query = torch.from_numpy(rows)[None], torch.from_numpy(encode([text]))[None]
    scores = match_scores(model(clips, query))[0, 0]
    first, last = divmod(int(scores.masked_fill(~model.valid, -1).argmax()), CLIPS)
    return first / CLIPS, (last + 1) / CLIPS


def best_span(run: ModelRun, video: str, text: str, length: int) -> tuple[float, float]:
    """Start and end of a DETR's own best answer, as fractions of the video."""
    found = detected(clips_of(run, video, length), words_of(text)[:3])
    best = found.logits[-1, 0].softmax(-1)[:, 0].argmax()
    centre, width = found.spans[-1, 0, best].double().tolist()
    start, end = (min(max(edge, 0), 1) for edge in (centre - width / 2, centre + width / 2))
    return start, end


def best_of(run: ModelRun, family: str, video: str, text: str, length: int) -> tuple[float, float]:
    if family == "mrnet":
        return best_proposal(run, video, text)
    return best_span(run, video, text, length)


def test_best_moment_of_a_query_is_the_models_own(run: ModelRun, family: str) -> None:
    for name, answers in moments_by(run, VIDEOS, max_iou=0.5).items():
        video = VIDEOS[name]
        for query, moments in zip(video.queries, answers, strict=True):
            start, end = best_of(run, family, name, query.text, ROWS[name])
            expected = start * video.duration_s, end * video.duration_s
            assert (moments[0].start_s, moments[0].end_s) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_moments_of_a_query_are_five_at_most_and_overlap_little(run: ModelRun) -> None:
    for answers in moments_by(run, VIDEOS, max_iou=0.5).values():
        for moments in answers:
            spans = [(moment.start_s, moment.end_s) for moment in moments]
            assert np.triu(iou(spans, spans), 1).max() <= 0.5
            assert 1 <= len(moments) <= 5


def test_only_videos_with_queries_are_answered_and_counted(run: ModelRun, encoders: list[str]) -> None:
    progress: list[tuple[float, float]] = []
    answers = moments_by(run, VIDEOS, max_iou=0.5, progress=lambda _, *counts: progress.append(counts))
    assert list(answers) == ["x", "long"]
    assert progress == [(1, 2), (2, 2)]
    assert encoders == ["clip"]


def test_best_moment_of_a_highlight_is_the_models_own_in_whole_clips(run: ModelRun, family: str) -> None:
    answers = highlights_by(run, QUERIES)
    for qid, length in (("7", 10), ("8", 10), ("9", 6)):
        query, answer = QUERIES[qid], answers[qid]
        assert (answer.qid, answer.query, answer.video) == (qid, query.text, query.video)
        edges = best_of(run, family, query.video, query.text, length)
        start_s, end_s = (2.0 * round(edge * query.duration_s / 2) for edge in edges)
        assert answer.moments
        best = answer.moments[0]
        assert (best.start_s, best.end_s) == (start_s, min(end_s, query.duration_s))


def test_only_models_with_a_saliency_head_answer_with_saliency(run: ModelRun, family: str) -> None:
    answers = highlights_by(run, QUERIES)
    assert all((answer.saliency is None) == (family == "mrnet") for answer in answers.values())


def test_highlights_are_counted_as_they_are_answered(run: ModelRun, encoders: list[str]) -> None:
    progress: list[tuple[float, float]] = []
    highlights_by(run, QUERIES, lambda _, *counts: progress.append(counts))
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert encoders == ["clip"]


def test_answers_to_highlights_are_a_submission(run: ModelRun, tmp_path: Path) -> None:
    answers = highlights_by(run, QUERIES)
    write_predictions(tmp_path / "mine.jsonl", answers.values())
    assert read_highlight_predictions(tmp_path / "mine.jsonl", QUERIES) == answers


@pytest.fixture
def with_words(run: ModelRun, tmp_path: Path) -> ModelRun:
    """The run with the words of its queries in files."""
    folder = tmp_path / "text"
    folder.mkdir()
    for qid, query in QUERIES.items():
        np.savez(folder / f"qid{qid}.npz", last_hidden_state=5 * words_of(query.text))
    return replace(run, text_features=folder)


only_mrnet = pytest.mark.parametrize("family", ["mrnet"], indirect=True)
only_detr = pytest.mark.parametrize("family", ["qd-detr"], indirect=True)


@only_mrnet
def test_words_of_files_are_refused_by_mrnet(with_words: ModelRun) -> None:
    with pytest.raises(UsageError, match="one vector per query"):
        highlights_by(with_words, QUERIES)


@only_detr
def test_words_of_files_are_read_by_detr_without_an_encoder(
    run: ModelRun, with_words: ModelRun, encoders: list[str]
) -> None:
    by_file = highlights_by(with_words, QUERIES)
    assert encoders == []
    by_encoder = highlights_by(run, QUERIES)
    for qid in QUERIES:
        np.testing.assert_allclose(by_file[qid].saliency, by_encoder[qid].saliency, atol=1e-5)


@only_detr
def test_missing_words_of_a_query_are_named(with_words: ModelRun) -> None:
    assert with_words.text_features is not None
    (with_words.text_features / "qid9.npz").unlink()
    with pytest.raises(InputError, match=r"no words of query 9 \(qid9\.npz\)"):
        highlights_by(with_words, QUERIES)


SPOKEN = {
    name: replace(
        video, queries=tuple(replace(query, audio=f"{name}_{query.text}.wav") for query in video.queries)
    )
    for name, video in VIDEOS.items()
}


@pytest.fixture
def with_queries(run: ModelRun, tmp_path: Path) -> ModelRun:
    """The run with the vectors of its queries in files."""
    folder = tmp_path / "spoken"
    folder.mkdir()
    for name, video in SPOKEN.items():
        for query in video.queries:
            np.save(folder / f"{name}_{query.text}.npy", encode([query.text]))
    return replace(run, query_features=folder)


@pytest.fixture
def trained_on_files(with_queries: ModelRun, family: str, tmp_path: Path) -> ModelRun:
    """A run whose model was trained on queries of files."""
    facts = {"text": None, "queries": {"dim": DIM_TEXT, "from": "spoken"}}
    return replace(with_queries, checkpoint=checkpoint(tmp_path / "spoken.safetensors", family, **facts))


def test_queries_of_files_are_refused_by_a_model_that_was_not_trained_on_such(
    with_queries: ModelRun, family: str
) -> None:
    reads = "the words of queries" if family == "qd-detr" else "that clip embeds"
    with pytest.raises(UsageError, match=reads):
        moments_by(with_queries, SPOKEN, max_iou=0.5)


@only_mrnet
def test_queries_of_files_are_read_without_an_encoder(
    run: ModelRun, trained_on_files: ModelRun, encoders: list[str]
) -> None:
    by_file = moments_by(trained_on_files, SPOKEN, max_iou=0.5)
    assert encoders == []
    assert by_file == moments_by(run, VIDEOS, max_iou=0.5)


@only_mrnet
@pytest.mark.parametrize("task", ["moments", "highlights"])
def test_model_that_reads_queries_from_files_needs_their_folder(
    trained_on_files: ModelRun, task: str
) -> None:
    with pytest.raises(InputError, match="reads queries from files") as caught:
        answer(task, trained_on_files, query_features=None)
    assert "QUERY_FEATURES=FOLDER" in str(caught.value.hint)


@only_mrnet
def test_queries_of_another_size_than_the_models_are_refused(trained_on_files: ModelRun) -> None:
    assert trained_on_files.query_features is not None
    for file in trained_on_files.query_features.iterdir():
        np.save(file, np.ones(DIM_TEXT + 1))
    with pytest.raises(UsageError, match=f"reads queries of {DIM_TEXT} numbers, not of {DIM_TEXT + 1}"):
        moments_by(trained_on_files, SPOKEN, max_iou=0.5)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ((2.9, 7.1), (2, 8)),
        ((2.9, 3.1), (2, 4)),
        ((3.2, 4.4), (2, 4)),  # nothing is left between 4 and 4
        ((0.2, 149.8), (0, 150)),
    ],
)
def test_edges_are_rounded_as_published(moment: tuple[float, float], expected: tuple[float, float]) -> None:
    rounded = snap_to_clips(Moment(*moment, 1.0), 150.0)
    assert (rounded.start_s, rounded.end_s) == expected


def answer(task: str, run: ModelRun, queries: dict[str, Query] = QUERIES, **changes: Any) -> Any:
    """The answers of a run to the queries of one of the tasks."""
    changed = replace(run, **changes)
    if task == "highlights":
        return highlights_by(changed, queries)
    return moments_by(changed, VIDEOS, max_iou=0.5)


tasks = pytest.mark.parametrize("task", ["moments", "highlights"])


@pytest.fixture
def ordered(run: ModelRun, family: str, tmp_path: Path) -> ModelRun:
    """A run whose checkpoint knows the sizes of its sources."""
    return replace(run, checkpoint=checkpoint(tmp_path / "ordered.safetensors", family, dims=list(DIMS)))


@tasks
def test_sources_in_the_order_of_the_training_are_read(task: str, run: ModelRun, ordered: ModelRun) -> None:
    assert answer(task, ordered) == answer(task, run)


@tasks
def test_sources_in_another_order_than_in_the_training_are_refused(task: str, ordered: ModelRun) -> None:
    with pytest.raises(UsageError, match=r"\[4, 2\] numbers side by side, not of \[2, 4\]") as caught:
        answer(task, ordered, features=ordered.features[::-1])
    assert caught.value.hint == "features in the order of the training"


@tasks
def test_checkpoint_that_does_not_name_its_encoder_is_refused(
    task: str, run: ModelRun, family: str, tmp_path: Path
) -> None:
    silent = checkpoint(tmp_path / "silent.safetensors", family, text=None)
    with pytest.raises(InputError, match="does not say what embeds its queries"):
        answer(task, run, checkpoint=silent)


@tasks
def test_features_of_another_size_than_the_models_are_refused(task: str, run: ModelRun) -> None:
    with pytest.raises(UsageError, match=r"reads clips of \d numbers.*, not of \d"):
        answer(task, run, features=run.features[:1])


@tasks
def test_model_that_reads_a_similarity_curve_is_refused(
    task: str, run: ModelRun, family: str, tmp_path: Path
) -> None:
    guided = checkpoint(tmp_path / "guided.safetensors", family, guided=True)
    with pytest.raises(UsageError, match="reads a similarity curve"):
        answer(task, run, checkpoint=guided)


@tasks
def test_missing_checkpoint_is_refused(task: str, run: ModelRun, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        answer(task, run, checkpoint=tmp_path / "none.safetensors")


@tasks
def test_video_without_features_of_a_source_is_named(task: str, run: ModelRun) -> None:
    (run.features[1] / "long.npz").unlink()
    with pytest.raises(InputError, match=r"has no features of 1 of \d videos, such as long"):
        answer(task, run)


@pytest.mark.parametrize(("duration_s", "n_clips"), [(20.0, 10), (6.0, 3)])
def test_features_of_another_rate_are_refused(run: ModelRun, duration_s: float, n_clips: int) -> None:
    with pytest.raises(InputError, match=f"6 features of short, whose .* s are {n_clips} clips"):
        answer("highlights", run, {"9": replace(QUERIES["9"], duration_s=duration_s)})
