"""The JSON schemas: as generated, and strict: what they refuse is derived from stored documents."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.schemas import FOLDER, schemas, text_of

SCHEMAS = schemas()

STORED = Path(__file__).parent / "golden" / "documents"
PLACEHOLDERS = {"<digest>": "0" * 32, "<size>": 5}
"""What stored documents have in place of what differs between machines."""

Place = tuple[str | int, ...]


def test_files_are_as_generated() -> None:
    """`python -m docs.schemas` writes them."""
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == {
        name: text_of(schema) for name, schema in SCHEMAS.items()
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_valid(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_object_is_described(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["title"]
    assert schema["description"]
    assert all(rule["description"] for rule in schema["$defs"].values())


def stored_documents() -> dict[str, Any]:
    """The stored documents that have a schema, by the name of their file."""
    files = [path for path in STORED.glob("*.json") if not path.name.endswith(".result.json")]
    documents = {path.name: json.loads(path.read_text()) for path in sorted(files)}
    return {name: _filled(value) for name, value in documents.items() if schema_name(value) in SCHEMAS}


def schema_name(document: Any) -> str:
    return f"{document['schema'].removeprefix('vidsum.').removesuffix('/1')}.schema.json"


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _filled(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part) for part in value]
    if isinstance(value, str) and value.startswith("<sha256"):
        return "0" * 64
    return PLACEHOLDERS.get(value, value) if isinstance(value, str) else value


DOCUMENTS = stored_documents()


def validator(document: Any) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[schema_name(document)])


def places(value: Any, schema: Any, whole: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Each place of a document, of lists the first item, and its schema."""
    if "$ref" in schema:
        schema = {**whole["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
    for choice in schema.get("anyOf", ()):
        if "$ref" in choice and value is not None:
            schema = {**schema, **whole["$defs"][choice["$ref"].rpartition("/")[2]]}
    yield place, schema
    if isinstance(value, dict):
        for name, part in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if isinstance(rule, dict):
                yield from places(part, rule, whole, (*place, name))
    if isinstance(value, list) and value and "items" in schema:
        yield from places(value[0], schema["items"], whole, (*place, 0))


def changed(document: Any, place: Place, value: Any) -> Any:
    """A copy of a document with another value in a place; without this key if it is `...`."""
    copy = deepcopy(document)
    inner = copy
    for step in place[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return copy


@pytest.mark.parametrize("name", DOCUMENTS)
def test_stored_document_is_valid(name: str) -> None:
    document = DOCUMENTS[name]
    validator(document).validate(document)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_unknown_key_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    check, whole = validator(document), SCHEMAS[schema_name(document)]
    rules = places(document, whole, whole)
    closed = [place for place, rule in rules if rule.get("additionalProperties") is False]
    assert closed
    for place in closed:
        assert not check.is_valid(changed(document, (*place, "unknown"), 1)), place


@pytest.mark.parametrize("name", DOCUMENTS)
def test_missing_key_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    check, whole = validator(document), SCHEMAS[schema_name(document)]
    for place, rule in places(document, whole, whole):
        for key in rule.get("required", ()):
            assert not check.is_valid(changed(document, (*place, key), ...)), (place, key)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_value_of_another_type_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    check, whole = validator(document), SCHEMAS[schema_name(document)]
    for place, _ in places(document, whole, whole):
        if place:
            assert not check.is_valid(changed(document, place, object())), place


@pytest.mark.parametrize("name", DOCUMENTS)
def test_number_out_of_range_is_refused(name: str) -> None:
    document = DOCUMENTS[name]
    check, whole = validator(document), SCHEMAS[schema_name(document)]
    for place, rule in places(document, whole, whole):
        beyond = [rule[key] - 1 for key in ("minimum", "exclusiveMinimum") if key in rule]
        beyond += [rule["maximum"] + 1] if "maximum" in rule else []
        for value in beyond:
            assert not check.is_valid(changed(document, place, value)), (place, value)
