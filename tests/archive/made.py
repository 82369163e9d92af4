"""Archives without weights: a second of a video is its mean colour, and so is a query."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
import pytest

from tests import media
from tests.grounding.colours import COLOURS, ENCODER, extractor_of_colours, use_colours
from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.stored_evidence import NewEvidence, make_evidence
from vidsum.evidence.passages import encode_passages
from vidsum.evidence.protocol import Passage
from vidsum.evidence.spoken import Spoken, iter_passages
from vidsum.evidence.written import Written
from vidsum.features.extractor import Extractor
from vidsum.features.settings import Extraction
from vidsum.grounding.spaces import SPACES, ClassMixture, ClipEmbeddings
from vidsum.grounding.windows import grid, to_grid
from vidsum.models.scaling import softmax, unit_rows
from vidsum.models.vse import CLASSES
from vidsum.pipelines.plan import Input
from vidsum.results.features import Features
from vidsum.results.settings import Evidence
from vidsum.types import FloatArray, Progress

NAMES = ENCODER.encode(list(COLOURS))
GREYS = unit_rows(1 + 0.3 * np.random.default_rng(1).standard_normal((9, 3)).astype(np.float32))
FILM = ("red", "green", "blue", "yellow", "yellow")
"""Two seconds each."""


def use_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let archives compare colours; nothing is fetched, no network runs."""
    use_colours(monkeypatch)
    rng = np.random.default_rng(0)
    tensors = {
        "cohort.mean": np.full(3, 0.5, np.float32),
        "cohort.weight": np.diag([0.16, 0.15, 0.14]).astype(np.float32),
        CLASSES: rng.random((16, len(COLOURS))).astype(np.float32),
    }
    monkeypatch.setattr("vidsum.pipelines.embedding.embed_video", embed_video)
    for module in ("archive.space_versions", "evidence.match_probability", "grounding.vse_map"):
        monkeypatch.setattr(f"vidsum.{module}.load_map", lambda: SimpleNamespace(tensors=tensors))
    monkeypatch.setattr("vidsum.archive.search_queries.embed_queries", embed_queries)
    for module in ("search_queries", "index", "migration"):
        monkeypatch.setattr(f"vidsum.archive.{module}.embed_background", lambda _: GREYS)
    monkeypatch.setattr("vidsum.archive.space_versions.name_embeddings", lambda: NAMES)
    monkeypatch.setattr("vidsum.archive.space_versions.embed_action_names", lambda: NAMES)
    spaces = {name: replace(space, dim=3) for name, space in SPACES.items()}
    monkeypatch.setattr("vidsum.grounding.spaces.SPACES", spaces)
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: ENCODER)
    monkeypatch.setattr("vidsum.evidence.passages.DIM", 3)


def use_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `vidsum watch` compare colours; its network gives the mean colour, and names it."""
    use_archive(monkeypatch)
    monkeypatch.setattr("vidsum.pipelines.watch.load_map", lambda: unit_rows)
    monkeypatch.setattr("vidsum.pipelines.watch.embed_background", lambda *_: GREYS)
    monkeypatch.setattr("vidsum.pipelines.watch.resolve_space", lambda name: "vse")
    monkeypatch.setattr("vidsum.pipelines.watch.name_embeddings", lambda: NAMES)
    monkeypatch.setattr("vidsum.pipelines.watch.load_extractor", namer_of_colours)
    monkeypatch.setattr("vidsum.pipelines.watch.LiveActions", lambda: None)  # colours do not act
    monkeypatch.setattr(
        "vidsum.pipelines.watch.embed_queries", lambda space, texts, *_: ENCODER.encode(texts)
    )


def namer_of_colours(options: Extraction) -> Extractor:
    """Mean colours with class scores; the probabilities of classes halve them."""
    return replace(extractor_of_colours(options), classify=lambda rows: 10 * unit_rows(rows) @ NAMES.T)


def embed_queries(space: str, texts: Sequence[str], **_: str) -> FloatArray:
    """Colours that the texts name; in the space `clip`, their axes are in another order."""
    rows = ENCODER.encode(texts)
    return rows if space == "vse" else np.roll(rows, 1, axis=1)


def embed_video(space: str, item: Features) -> ClipEmbeddings:
    """Mean colours on the grid of a second, and how near they are to each name."""
    times = grid(item.duration_s, 1.0)
    rows = unit_rows(to_grid(item.array, item, times, 1.0))
    if space != "vse":
        return ClipEmbeddings(np.roll(rows, 1, axis=1), times, 1.0, item.duration_s)
    mixture = ClassMixture(softmax(5 * rows @ NAMES.T), NAMES)
    return ClipEmbeddings(rows, times, 1.0, item.duration_s, mixture)


def film(path: Path, colours: Sequence[str] = FILM, seed: int = 0) -> Path:
    """Write a video of two seconds of each colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(film_bytes(tuple(colours), seed))
    return path


@cache  # dozens of tests have the same
def film_bytes(colours: Sequence[str], seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    marks = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)

    def paint(number: int, width: int, height: int) -> np.ndarray:
        picture = np.empty((height, width, 3), np.uint8)
        picture[:] = COLOURS[colours[min(number // 20, len(colours) - 1)]]
        picture[:8, :8] = marks
        return picture

    with TemporaryDirectory() as folder:
        made = media.make_video(Path(folder, "film.mp4"), n_frames=20 * len(colours), fps=10, paint=paint)
        return made.path.read_bytes()


def spoken(*texts: str) -> NewEvidence:
    """Sentences, five seconds apart."""
    sentences = [Passage(5.0 * place, 5.0 * place + 2, text) for place, text in enumerate(texts)]
    passages = encode_passages([*iter_passages(sentences)])
    return NewEvidence("speech", Spoken(sentences, passages).pack())


def written(*texts: str) -> NewEvidence:
    """Lines on the screen, two seconds each, five seconds apart."""
    lines = [Passage(5.0 * place, 5.0 * place + 2, text, certain=0.9) for place, text in enumerate(texts)]
    return NewEvidence("text", Written.of_lines(lines).pack())


Make = Callable[[str, bool], NewEvidence | None]
"""From the path of a video, and whether its evidence is wanted, to that evidence."""


def make_with(monkeypatch: pytest.MonkeyPatch, **by_kind: Make) -> None:
    """Let `index` make some kinds of evidence by functions."""

    def make(
        kind: Evidence, video_input: Input, progress: Progress | None, *, is_wanted: bool
    ) -> NewEvidence | None:
        if kind not in by_kind:
            return make_evidence(kind, video_input, progress, is_wanted=is_wanted)
        assert video_input.video is not None
        return by_kind[kind](video_input.video.path, is_wanted)

    monkeypatch.setattr("vidsum.archive.index.make_evidence", make)


def count(archive: Archive, table: str) -> int:
    """How many rows a table has, or those of a condition that follows its name."""
    return int(archive.rows(f"SELECT count(*) FROM {table}")[0][0])


def names(matches: Sequence[Match]) -> list[str]:
    return [Path(match.video).name for match in matches]


def claim(archive: Archive, video: Path, left_s: float, owner: str = "another") -> None:
    """Let another process claim a file for some seconds."""
    values = (os.fsencode(video.absolute()), owner, archive._connection.clock() + left_s)
    archive._connection.execute("INSERT INTO claims VALUES (?, ?, ?)", values)


def unit(rng: np.random.Generator, count: int, dim: int) -> FloatArray:
    """Random rows of length 1."""
    return unit_rows(rng.normal(size=(count, dim)).astype(np.float32))
