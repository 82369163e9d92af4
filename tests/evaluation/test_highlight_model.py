"""Answers of a DETR checkpoint on published features, against the model called by hand."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.datasets.highlights import HighlightQuery
from vidsum.errors import InputError, UsageError, WeightsError
from vidsum.evaluation import models as moment_model
from vidsum.evaluation.models import ModelRun, _to_clips, highlights_by
from vidsum.evaluation.submissions import QueryPrediction, read_highlight_predictions, write_predictions
from vidsum.features.resample import resample
from vidsum.grounding.text import TextEncoder
from vidsum.models.configs import DETRConfig
from vidsum.models.detr import Detections
from vidsum.models.detr_models import DETRModel, build
from vidsum.types import FloatArray, Moment

CLIPS, DIM, DIM_TEXT = 12, 6, 4
QUERIES = {
    "7": HighlightQuery("7", "a dog", "x", 20.0, ((0.0, 4.0),)),
    "8": HighlightQuery("8", "a cat on a mat", "x", 20.0, ((4.0, 10.0),)),
    "9": HighlightQuery("9", "a bird", "short", 15.0, ((0.0, 4.0),)),
    "10": HighlightQuery("10", "a cow", "long", 62.0, ((0.0, 4.0),)),
}


def words_of(text: str) -> FloatArray:
    """Made-up embeddings of its words."""
    rng = np.random.default_rng(list(text.encode()))
    rows = rng.normal(size=(len(text.split()), DIM_TEXT)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def encoders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A text encoder with no weights; lists the names that were asked for."""
    asked: list[str] = []

    def load(name: str, device: str) -> TextEncoder:
        asked.append(name)
        return TextEncoder(
            name,
            DIM_TEXT,
            encode=np.array,
            encode_words=lambda texts: list(map(words_of, texts)),
            count_tokens=len,
        )

    monkeypatch.setattr(moment_model, "load_text_encoder", load)
    return asked


@pytest.fixture
def model() -> DETRModel:
    """Small, untrained."""
    sizes = {"d": 16, "heads": 2, "d_ff": 16, "layers": 1, "decoder_layers": 1}
    config = DETRConfig(dim_video=DIM + 2, dim_query=DIM_TEXT, clips=CLIPS, words=3, **sizes)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build("qd-detr", config).eval()


@pytest.fixture
def run(tmp_path: Path, model: DETRModel) -> ModelRun:
    """Of the model, on features of two kinds; one video has a clip too few, one more than the model reads."""
    rng = np.random.default_rng(1)
    for kind, dim in (("slowfast", 4), ("clip", DIM - 4)):
        (tmp_path / kind).mkdir()
        for video, length in (("x", 10), ("short", 6), ("long", 32)):
            rows = 3 * rng.normal(size=(length, dim)).astype(np.float32)
            np.savez(tmp_path / kind / f"{video}.npz", features=rows)
    path = checkpoint(tmp_path / "detr.safetensors", model)
    return ModelRun(path, (tmp_path / "slowfast", tmp_path / "clip"), device="cpu")


def checkpoint(path: Path, model: DETRModel, **reads: Any) -> Path:
    """A file of it; clips are said to be sampled, as those of published models are."""
    told = {"space": "features", "text": "clip", "dim": DIM + 2, "clip_s": 2.0, "fps": 0.5, **reads}
    save_trained(path, Trained("qd-detr", asdict(model.config), told, {}, model.state_dict()))
    return path


def clips_of(run: ModelRun, video: str, length: int) -> FloatArray:
    """What the model should read of a video, by hand."""
    parts = []
    for folder in run.features:
        rows = np.load(folder / f"{video}.npz")["features"][:length]
        parts.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    rows = np.concatenate(parts, axis=1)
    rows = resample(rows, CLIPS) if len(rows) > CLIPS else rows
    times = np.arange(len(rows) + 1, dtype=np.float32) / len(rows)
    return np.concatenate([rows, times[:-1, None], times[1:, None]], axis=1)


def called(model: DETRModel, clips: FloatArray, words: FloatArray) -> Detections:
    is_clip, is_word = (torch.ones(1, len(rows), dtype=torch.bool) for rows in (clips, words))
    with torch.inference_mode():
        return model(torch.from_numpy(clips)[None], is_clip, torch.from_numpy(words)[None], is_word)


def edges(span: torch.Tensor, duration_s: float) -> tuple[float, float]:
    """A moment in whole clips of two seconds."""
    centre, width = span.double().tolist()
    start, end = (min(max(edge, 0), 1) * duration_s for edge in (centre - width / 2, centre + width / 2))
    return 2.0 * round(start / 2), min(2.0 * round(end / 2), duration_s)


def test_answers_are_the_models_own(run: ModelRun, model: DETRModel, encoders: list[str]) -> None:
    found = highlights_by(run, QUERIES)
    assert encoders == ["clip"]
    assert list(found) == list(QUERIES)
    for qid, length in (("7", 10), ("8", 10), ("9", 6), ("10", 31)):
        query, answer = QUERIES[qid], found[qid]
        clips = clips_of(run, query.video, length)
        by_hand = called(model, clips, words_of(query.text)[:3])
        assert (answer.qid, answer.query, answer.video) == (qid, query.text, query.video)
        chances = by_hand.logits[-1, 0].softmax(-1)[:, 0]
        assert answer.moments is not None
        assert [one.score for one in answer.moments] == pytest.approx(
            chances.sort(descending=True).values.tolist(), abs=1e-5
        )
        best = edges(by_hand.spans[-1, 0, chances.argmax()], query.duration_s)
        assert (answer.moments[0].start_s, answer.moments[0].end_s) == best
        by_clip = by_hand.saliency[0].numpy()
        borders = np.rint(np.arange(len(by_clip)) * length / len(by_clip))  # as features are averaged
        at = np.searchsorted(borders, np.arange(length), side="right") - 1
        ties = (np.arange(length) + 0.5) * len(by_clip) % length == 0  # a middle between two clips
        at, by_model = at[~ties], np.array(answer.saliency)[~ties]
        np.testing.assert_allclose(by_model, by_clip[at], atol=1e-4)


def test_answers_are_a_submission(run: ModelRun, tmp_path: Path) -> None:
    found = highlights_by(run, QUERIES)
    write_predictions(tmp_path / "mine.jsonl", found.values())
    again = read_highlight_predictions(tmp_path / "mine.jsonl", QUERIES)
    assert again == found


def test_published_words_take_the_place_of_a_text_encoder(
    run: ModelRun, tmp_path: Path, encoders: list[str]
) -> None:
    folder = tmp_path / "text"
    folder.mkdir()
    for qid, query in QUERIES.items():
        np.savez(folder / f"qid{qid}.npz", last_hidden_state=5 * words_of(query.text))
    by_encoder, by_file = (
        highlights_by(run, QUERIES),
        highlights_by(replace(run, text_features=folder), QUERIES),
    )
    assert encoders == ["clip"]
    for qid in QUERIES:
        np.testing.assert_allclose(by_file[qid].saliency, by_encoder[qid].saliency, atol=1e-5)
    (folder / "qid9.npz").unlink()
    with pytest.raises(InputError, match=r"has no words of query 9 \(qid9\.npz\)"):
        highlights_by(replace(run, text_features=folder), QUERIES)


@given(st.floats(0, 149), st.floats(0.01, 150), st.sampled_from([149.0, 149.9, 150.0]))
def test_moments_are_whole_clips_near_what_was_found(
    start_s: float, length_s: float, duration_s: float
) -> None:
    found = Moment(min(start_s, duration_s - 0.01), min(start_s + length_s, duration_s), 0.5)
    told = _to_clips(found, duration_s)
    assert 0 <= told.start_s < told.end_s <= duration_s
    for edge in (told.start_s, told.end_s):
        assert edge % 2 == 0 or edge == duration_s
    assert abs(told.start_s - found.start_s) <= 2
    assert abs(told.end_s - found.end_s) <= 2
    assert told.score == found.score


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
    told = _to_clips(Moment(*moment, 1.0), 150.0)
    assert (told.start_s, told.end_s) == expected


def test_progress_is_told_of_queries(run: ModelRun) -> None:
    told: list[tuple[float, float]] = []
    highlights_by(run, QUERIES, lambda _, done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_sources_are_given_in_the_order_of_the_training(
    run: ModelRun, model: DETRModel, tmp_path: Path
) -> None:
    told = replace(run, checkpoint=checkpoint(tmp_path / "told.safetensors", model, dims=[4, 2]))
    assert highlights_by(told, QUERIES) == highlights_by(run, QUERIES)
    with pytest.raises(
        UsageError, match=r"sources of \[4, 2\] numbers side by side, not of \[2, 4\]"
    ) as caught:
        highlights_by(replace(told, features=run.features[::-1]), QUERIES)
    assert caught.value.hint == "--features in the order of the training"


def test_without_a_text_encoder_the_words_of_queries_can_be_given(
    run: ModelRun, model: DETRModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, device: str) -> TextEncoder:
        raise WeightsError(f"{name}: clip.safetensors could not be fetched", hint="--extractor mobilenet_v2")

    monkeypatch.setattr(moment_model, "load_text_encoder", missing)
    with pytest.raises(WeightsError, match=r"clip: clip\.safetensors could not be fetched") as caught:
        highlights_by(run, QUERIES)
    words = "--text-features FOLDER has their words"
    assert caught.value.hint == f"{words}; or vidsum weights add FILE --as clip"
    silent = replace(run, checkpoint=checkpoint(tmp_path / "silent.safetensors", model, text=None))
    with pytest.raises(InputError, match="does not say what embeds its queries") as unsaid:
        highlights_by(silent, QUERIES)
    assert unsaid.value.hint == words


def test_what_cannot_be_run(run: ModelRun, model: DETRModel, tmp_path: Path) -> None:
    def ask(queries: dict[str, HighlightQuery] = QUERIES, **changes: Any) -> dict[str, QueryPrediction]:
        return highlights_by(replace(run, **changes), queries)

    with pytest.raises(InputError, match="does not say what embeds its queries"):
        ask(checkpoint=checkpoint(tmp_path / "silent.safetensors", model, text=None))
    with pytest.raises(UsageError, match="reads clips of 8 numbers, endpoints among them, not of 6"):
        ask(features=run.features[:1])
    with pytest.raises(UsageError, match="reads a guide"):
        ask(checkpoint=checkpoint(tmp_path / "guided.safetensors", model, guided=True))
    for duration_s, n_clips in ((20.0, 10), (6.0, 3)):  # features of another rate are not cut, but refused
        with pytest.raises(InputError, match=f"6 features of short, whose .* s are {n_clips} clips"):
            ask({"9": replace(QUERIES["9"], duration_s=duration_s)})
    (run.features[1] / "short.npz").unlink()
    with pytest.raises(InputError, match="has no features of 1 of 3 videos, such as short"):
        ask()
    with pytest.raises(InputError, match="no such file"):
        ask(checkpoint=tmp_path / "none.safetensors")
