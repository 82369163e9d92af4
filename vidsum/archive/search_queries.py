"""Make the search of an archive from a text and options: their vectors, and which of them form a step."""

import numpy as np

from vidsum.archive.like import embed_example
from vidsum.archive.search import ArchiveSearch
from vidsum.archive.settings import SearchOptions
from vidsum.archive.space_versions import embed_class_names
from vidsum.archive.store import Database
from vidsum.evidence.match_probability import (
    PICTURE_KIND,
    Condition,
    QueryKind,
    embed_background,
    kind_of,
    prepare_queries,
)
from vidsum.grounding.spaces import embed_queries
from vidsum.pipelines.queries import read_queries


def build_search(connection: Database, space: str, text: str | None, options: SearchOptions) -> ArchiveSearch:
    """Return the search for a text and the examples of `like`, for `then` after them, and not for `without`.

    Raises UsageError: a text has no words. InputError: an example cannot be read.
    """
    vectors = [embed_example(connection, space, like) for like in options.like]
    kinds: list[QueryKind] = [PICTURE_KIND] * len(vectors)
    if options.list_texts(text):
        texts = read_queries(options.list_texts(text)).texts
        vectors.append(embed_queries(space, texts, language=options.language))
        kinds += map(kind_of, texts)
    rows, names = np.concatenate(vectors), embed_class_names(space)
    after = len(rows) - len(options.then)
    first = after - len(options.without)
    steps = [Condition((*range(first),), (*range(first, after),))]
    steps += [Condition((number,)) for number in range(after, len(rows))]
    known = (part if len(part) else None for part in names)
    queries = prepare_queries(kinds, rows, embed_background(space), *known)
    return ArchiveSearch(connection, options, steps=tuple(steps), queries=queries, space=space, names=names)
