"""Evidence in addition to pictures, merged with them."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.evidence.protocol import Found, TextQuery
from vidsum.grounding.settings import Retrieval
from vidsum.pipelines.evidence_kinds import KINDS, PlannedEvidence, Search, search_kind
from vidsum.pipelines.queries import parse_queries
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.settings import Evidence


def test_the_default_list_is_part_of_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default, lists of several kinds of evidence follow the limits of a single kind."""

    def search(kind: Evidence, *scores: float) -> Callable[..., list[QueryMoments]]:
        moments = [Moment(at, at + 1, score, kind, score % 1, score >= 1) for at, score in enumerate(scores)]
        return lambda _, wanted: [QueryMoments("q", tuple(moments[: wanted.retrieval.most_moments]), flat)]

    flat = np.zeros(3, np.float32)
    searches = {"speech": search("speech", 1.9, 0.8, 0.7, 0.6), "text": search("text", 0.9, 0.6, 0.55, 0.3)}
    monkeypatch.setattr(
        "vidsum.pipelines.evidence_kinds.search_kind",
        lambda kind, made, wanted: searches[kind](made, wanted),
    )
    monkeypatch.setattr("vidsum.pipelines.evidence_kinds.encode_queries", lambda *_: [])
    seen = QueryMoments("q", (Moment(7, 8, 1.6, present=0.3),), flat, 0.3)
    found = Grounding((seen,), np.arange(3.0), 1.0, 9.0, "similarity", "vse")
    planned = PlannedEvidence(("picture", "speech", "text"), {})
    others = dict.fromkeys(searches, SimpleNamespace(warnings=(), spoken=[]))

    def listed(top_k: int | None) -> list[Moment]:
        added = planned.add_to(found, others, parse_queries("q"), Retrieval(top_k=top_k))
        return [replace(moment, score=0.0) for moment in added.moments]

    assert len(listed(None)) == 5
    assert [moment.present for moment in listed(None)] == pytest.approx([0.9, 0.9, 0.8, 0.7, 0.6])
    searches["speech"] = search("speech", 0.9, 0.8, 0.7, 0.1)
    assert [moment.present for moment in listed(None)] == pytest.approx([0.3, 0.9, 0.9, 0.8, 0.7])
    assert [moment for moment in listed(20) if moment in listed(None)] == listed(None)


def test_moments_of_a_kind_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new kind may find its moments by functions of another, which label them as their own."""

    class Evidence:
        @classmethod
        def of(cls, made: object) -> "Evidence":
            return cls()

        def search(self, query: TextQuery, most: int) -> list[Found]:
            return [Found(Moment(1, 2, 0.5, "speech", 0.5))]

    kind = KINDS["text"]._replace(evidence=Evidence)
    monkeypatch.setattr("vidsum.pipelines.evidence_kinds.KINDS", {"text": kind})
    query = TextQuery("q", np.ones(3, np.float32))
    (answer,) = search_kind("text", None, Search([query], np.arange(3.0), Retrieval()))
    assert [moment.evidence for moment in answer.moments] == ["text"]
