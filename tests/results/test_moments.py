"""Moments of queries: their verdicts and match probabilities, in words and in documents."""

from dataclasses import replace

import numpy as np
import pytest

from tests.results.made import MOMENTS
from vidsum.results.moments import (
    Grounding,
    Moment,
    QueryMoments,
    SeveralQueriesError,
    Verdict,
    format_match,
    quote_queries,
    shorten,
    verdict_on,
)

NO_CURVE = np.zeros(0, np.float32)


@pytest.mark.parametrize(
    ("verdict", "least", "most"),
    [
        ("yes", 0.7, 1.0),
        ("likely", 0.5, 0.699),
        ("unsure", 0.25, 0.499),
        ("unlikely", 0.1, 0.249),
        ("no", 0.0, 0.099),
    ],
)
def test_verdict_has_a_range_of_probabilities(verdict: Verdict, least: float, most: float) -> None:
    assert (verdict_on(least), verdict_on(most)) == (verdict, verdict)


@pytest.mark.parametrize(("present", "text"), [(0.0, "0 %"), (0.126, "13 %"), (0.999, "99 %"), (1.0, "99 %")])
def test_match_is_at_most_99_per_cent(present: float, text: str) -> None:
    assert format_match(present) == text


def test_best_match_of_a_query_is_of_any_evidence() -> None:
    said = Moment(1.0, 2.0, 1.0, "speech", present=0.8)
    assert QueryMoments("x", (said,), NO_CURVE, 0.3).best_present == 0.8
    assert QueryMoments("x", (said,), NO_CURVE, 0.9).best_present == 0.9


def test_query_of_unknown_match_has_no_verdict() -> None:
    query = QueryMoments("x", (Moment(1.0, 2.0, 1.0),), NO_CURVE)
    assert (query.best_present, query.verdict) == (None, None)


def test_moments_of_a_result_are_those_of_its_only_query() -> None:
    single = replace(MOMENTS, queries=MOMENTS.queries[:1])
    assert [moment.interval for moment in single.moments] == [(8.0, 9.5)]


def test_moments_of_several_queries_must_be_chosen() -> None:
    with pytest.raises(SeveralQueriesError, match="moments of 3 queries"):
        _ = MOMENTS.moments


def test_rows_of_moments_have_query_and_rank() -> None:
    assert [(row["query"], row["rank"]) for row in MOMENTS.rows()] == [("a\nbird & <b>", 1), ("snow", 1)]


def test_queries_of_a_document_without_saliency_are_read_back() -> None:
    document = MOMENTS.to_dict(with_saliency=False)
    assert all("saliency" not in query for query in document["queries"])
    assert Grounding.from_dict(document).queries == MOMENTS.queries


def test_result_of_pictures_alone_names_no_evidence() -> None:
    pictures = replace(MOMENTS, evidence=("picture",))
    assert all(
        "evidence" not in moment for query in pictures.to_dict()["queries"] for moment in query["moments"]
    )


def test_long_query_is_cut_with_an_ellipsis() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"


def test_first_queries_are_quoted_and_the_others_counted() -> None:
    assert quote_queries(["a", "b"]) == "'a', 'b'"
    quoted = quote_queries([str(number) for number in range(20)])
    n_quoted = quoted.count("'") // 2
    assert quoted.endswith(f" and {20 - n_quoted} more")
