"""Write the JSON schemas of documents, from the types of results: python -m docs.schemas

A field's description is its comment or the text below it. `Annotated` holds more keywords of JSON Schema
(`vidsum.types.rules`). A class becomes an object that has no other keys, unless it is in `_OPEN`.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import reduce
from inspect import cleandoc, getsource
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from vidsum.commands.result import SCHEMA as RESULT_SCHEMA
from vidsum.commands.result import Envelope
from vidsum.lab.evaluation.captions import CaptionFacts, CaptionProvenance, CaptionRow
from vidsum.lab.evaluation.evaluation_report import SCHEMAS, Task
from vidsum.lab.evaluation.highlight_metrics import HighlightRow
from vidsum.lab.evaluation.moment_evaluation import (
    HighlightEvaluationFacts,
    HighlightEvaluationProvenance,
    MomentEvaluationFacts,
    MomentEvaluationProvenance,
    MomentRow,
)
from vidsum.lab.evaluation.summary_evaluation import SummaryEvaluationFacts, SummaryEvaluationProvenance
from vidsum.lab.evaluation.summary_metrics import SummaryRow
from vidsum.pipelines.evidence_kinds import KINDS
from vidsum.results import provenance_types as sources
from vidsum.results.decisions import EditFacts
from vidsum.results.descriptions import DescriptionFacts
from vidsum.results.features import FeatureFacts
from vidsum.results.moments import GroundingFacts, HighlightFacts
from vidsum.results.reel import ReelFacts
from vidsum.results.result import Sealed
from vidsum.results.screen_text import ScreenTextFacts
from vidsum.results.shorts import ShortFacts
from vidsum.results.shots import ChapterFacts, ShotFacts
from vidsum.results.summary import SummaryFacts, TrimFacts
from vidsum.results.transcript import TranscriptFacts
from vidsum.types import OPTIONAL, VideoInfo, rules

FOLDER = Path(__file__).parents[1] / "vidsum" / "schemas"

Schema = dict[str, Any]

_OPEN = (
    sources.FeatureProvenance,
    sources.SummaryProvenance,
    sources.TrimProvenance,
    sources.Speech,
    sources.ComparedSpeech,
    sources.RecordedGrounding,
    SummaryEvaluationProvenance,
)
"""Types whose values may have keys that they do not list."""
_VERSIONED = Annotated[sources.FeatureProvenance, rules(required=("vidsum",))]
_EVIDENCE = ("extractions", *(kind.part for kind in KINDS.values()))
_FROM_EVIDENCE = rules(
    anyOf=(*(rules(required=("video", evidence)) for evidence in _EVIDENCE), rules(required=("extractor",)))
)
"""Moments come from features, or from a video and a kind of evidence."""

RESULTS: Mapping[str, tuple[Any, Any, Any]] = {
    "shots": (ShotFacts, _VERSIONED, VideoInfo | None),
    "summary": (
        SummaryFacts,
        Annotated[sources.SummaryProvenance, rules(required=("vidsum",))],
        VideoInfo | None,
    ),
    "trim": (TrimFacts, sources.TrimProvenance, VideoInfo | None),
    "chapters": (ChapterFacts, sources.ChapterProvenance, VideoInfo),
    "shorts": (ShortFacts, sources.ShortProvenance, VideoInfo),
    "moments": (GroundingFacts, Annotated[sources.MomentProvenance, _FROM_EVIDENCE], VideoInfo | None),
    "highlights": (HighlightFacts, sources.HighlightProvenance, VideoInfo | None),
    "descriptions": (DescriptionFacts, sources.DescriptionProvenance, VideoInfo | None),
    "transcript": (TranscriptFacts, sources.TranscriptProvenance, VideoInfo | None),
    "screen_text": (ScreenTextFacts, sources.ScreenTextProvenance, VideoInfo),
    "reel": (ReelFacts, sources.ReelProvenance, NoneType),
}
"""By kind: the facts, their provenance, and the video, which is null for features and for sound alone."""

EVALUATIONS: Mapping[Task, tuple[Any, Any, Any]] = {
    "summary": (
        SummaryEvaluationFacts,
        SummaryEvaluationProvenance,
        Annotated[list[SummaryRow], rules(minItems=4)],
    ),
    "moments": (
        MomentEvaluationFacts,
        MomentEvaluationProvenance,
        Annotated[list[MomentRow], rules(minItems=2)],
    ),
    "highlights": (
        HighlightEvaluationFacts,
        HighlightEvaluationProvenance,
        Annotated[list[HighlightRow], rules(minItems=3, maxItems=3)],
    ),
    "captions": (CaptionFacts, CaptionProvenance, Annotated[list[CaptionRow], rules(minItems=2)]),
}
"""By task: the facts, their provenance, and the rows."""


def schemas() -> dict[str, Schema]:
    """Return all schemas by the name of their file."""
    made = {}
    for kind, (facts, provenance, video) in RESULTS.items():
        types = {"provenance": provenance, "video": video}
        made[kind] = _document(f"vidsum.{kind}/1", facts, types, is_sealed=True)
    for task, (facts, provenance, rows) in EVALUATIONS.items():
        types = {"provenance": provenance, "task": Literal[task], "rows": rows}
        name = SCHEMAS[task].removeprefix("vidsum.").removesuffix("/1")
        made[name] = _document(SCHEMAS[task], facts, types, is_sealed=True)
    features = {"provenance": sources.FeatureProvenance, "video": VideoInfo | None, "warnings": list[str]}
    made["features"] = _document("vidsum.features/1", FeatureFacts, features)
    made["edits"] = _document("vidsum.edits/1", EditFacts, {})
    made["result"] = _document(RESULT_SCHEMA, Envelope, {})
    return {f"{name}.schema.json": schema for name, schema in made.items()}


def _document(name: str, facts: Any, types: Mapping[str, Any], *, is_sealed: bool = False) -> Schema:
    """Return the schema of a whole document, which the docstring of its facts describes."""
    title, _, description = cleandoc(facts.__doc__).partition("\n\n")
    definitions: Schema = {}
    parts = [_fields(facts, definitions)]
    parts += [_fields(Sealed, definitions)] if is_sealed else []
    properties = {
        "schema": {"const": name},
        **{key: _schema(kind, definitions) for key, kind in types.items()},
        **{key: rule for part in parts for key, rule in part["properties"].items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title.removesuffix("."),
        "description": " ".join(description.split()),
        "type": "object",
        "properties": properties,
        "required": ["schema", *types, *(key for part in parts for key in part["required"])],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _schema(kind: Any, definitions: Schema) -> Schema:
    """Return the schema of a type; classes with fields go to the definitions."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        value, *notes = arguments
        if OPTIONAL in notes and NoneType in get_args(value):  # then it is missing, not null
            value = get_args(value)[0]
        keywords = (_keywords(note) for note in notes if note is not OPTIONAL)
        return reduce(or_, keywords, _schema(value, definitions))
    if origin in (Union, UnionType):
        return _union([_schema(part, definitions) for part in arguments])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is not None:
        return _collection(origin, arguments, definitions)
    if kind is Any or kind in _NAMES:
        return {} if kind is Any else {"type": _NAMES[kind]}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # its place: in the order of use
        about = {"description": " ".join(cleandoc(kind.__doc__).split())}
        definitions[kind.__name__] = {**about, "type": "object", **_fields(kind, definitions)}
    return {"$ref": f"#/$defs/{kind.__name__}"}


_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def _collection(origin: Any, arguments: tuple[Any, ...], definitions: Schema) -> Schema:
    """Return the schema of a mapping from texts, or of a sequence; a pair has two items."""
    if issubclass(origin, Mapping):
        values = _schema(arguments[1], definitions)
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    items = _schema(arguments[0], definitions)
    rule = {"type": "array", "items": items} if items else {"type": "array"}
    if origin is not tuple or arguments[-1] is Ellipsis:
        return rule
    return {**rule, "minItems": len(arguments), "maxItems": len(arguments)}


def _keywords(note: tuple[tuple[str, Any], ...]) -> Schema:
    """Return the result of `rules` as JSON has it."""
    keywords = {key: list(value) if isinstance(value, tuple) else value for key, value in note}
    if "anyOf" in keywords:
        keywords["anyOf"] = [_keywords(choice) for choice in keywords["anyOf"]]
    return keywords


def _union(choices: list[Schema]) -> Schema:
    """Return the schema of one of several; of a number or text, or null, in short."""
    first, *others = choices
    if others == [{"type": "null"}] and "enum" in first:
        return {**first, "enum": [*first["enum"], None]}
    if others == [{"type": "null"}] and "type" in first:
        return {**first, "type": [first["type"], "null"]}
    return {"anyOf": choices}


def _fields(kind: Any, definitions: Schema) -> Schema:
    """Return the properties of a class with fields, and which of them are required."""
    descriptions = _descriptions(kind)
    properties, required = {}, []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        is_optional = get_origin(hint) is NotRequired or OPTIONAL in getattr(hint, "__metadata__", ())
        required += [] if is_optional else [name]
        value = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        properties[name] = _schema(value, definitions)
        if name in descriptions:
            properties[name] |= {"description": descriptions[name]}
    if kind is sources.MomentProvenance:
        for evidence in KINDS.values():  # a kind may have no facts of its own there
            properties.setdefault(evidence.part, _schema(sources.Parameters, definitions))
    closed = {} if kind in _OPEN else {"additionalProperties": False}
    return {"properties": properties, "required": required, **closed}


def _descriptions(kind: Any) -> dict[str, str]:
    """Return the comment of each field of a class and its bases, or the text below it."""
    described: dict[str, str] = {}
    bases = kind.__mro__[1:] if is_dataclass(kind) else getattr(kind, "__orig_bases__", ())
    for base in (kind, *(base for base in bases if getattr(base, "__annotations__", None))):
        source = getsource(base)
        comments = {
            token.start[0]: token.string.removeprefix("# ")
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        (definition,) = ast.parse(source).body
        assert isinstance(definition, ast.ClassDef)
        for statement, following in zip(definition.body, [*definition.body[1:], None], strict=True):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            text = comments.get(statement.end_lineno or 0, "")
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                text = str(following.value.value)
            if text:
                described.setdefault(statement.target.id, _sentence(text))
    return described


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def text_of(schema: Schema) -> str:
    """Return a schema as the text of its file; lists and objects without others in them take one line."""
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    return re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda match: " ".join(match[0].split()), text) + "\n"


if __name__ == "__main__":
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, schema in schemas().items():
        (FOLDER / name).write_text(text_of(schema), encoding="utf-8")
