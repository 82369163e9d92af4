"""Kinds of input that are not video: how a damaged file of each is made, and what reads it."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.fuzz import arrays, good, reads
from tests.fuzz.mutations import damage_json, damage_values

Read = Callable[[Path], None]
"""Reads a file as a command does and asserts that what was read makes sense."""


class Case(NamedTuple):
    """The name of a damaged file, its content, and what reads it."""

    name: str
    content: bytes
    read: Read


def of_jsonl(rng: random.Random) -> Case:
    """A submission, as `evaluate highlights` and `evaluate moments` read it."""
    if rng.random() < 0.25:
        text_of = rng.choice([json.dumps, _over_lines])
        return Case("mine.json", damage_json(good.MOMENTS, rng, text_of), reads.read_moment_predictions)
    read = rng.choice([reads.read_highlight_predictions, reads.read_moment_predictions])
    return Case("mine.jsonl", damage_json(good.PREDICTIONS, rng, _lines_or_json), read)


def of_json(rng: random.Random) -> Case:
    """Annotations and captions of clips, as `evaluate` and `train` read them, and scores as PGL-SUM's."""
    layout = rng.randrange(6)
    if layout < 2:
        data = (good.ACTIVITYNET, good.TACOS)[layout]
        text_of = rng.choice([json.dumps, _over_lines])
        return Case("data.json", damage_json(data, rng, text_of), reads.read_moments)
    if layout < 4:
        read = (reads.read_moments, reads.read_highlights)[layout - 2]
        return Case("data.jsonl", damage_json(good.QUERIES, rng, _lines_or_json), read)
    if layout < 5:
        return Case("scores.json", damage_json(good.SCORES, rng), reads.read_scores)
    return Case("clips.jsonl", damage_json(good.CLIP_CAPTIONS, rng, _lines_or_json), reads.read_clip_captions)


def of_yaml(rng: random.Random) -> Case:
    """Splits and the options of `--config`."""
    if rng.random() < 0.5:
        suffix, text_of = rng.choice([("yml", yaml.safe_dump), ("json", json.dumps)])
        return Case(f"made_splits.{suffix}", damage_json(good.SPLITS, rng, text_of), reads.read_splits)
    return Case("own.yaml", damage_json(good.CONFIG, rng, yaml.safe_dump), reads.read_config)


def of_record(rng: random.Random) -> Case:
    """Files that vidsum wrote: a summary, a training run, the records of cached weights."""
    name, data, read = rng.choice(
        [
            ("summary.json", good.SUMMARY, reads.read_record),
            ("run.json", good.RUN, reads.read_run),
            ("record.json", good.RECORDS, reads.read_weights),
        ]
    )
    return Case(name, damage_json(data, rng, _over_lines), read)


def of_result(rng: random.Random) -> Case:
    """A summary, shots, moments or highlights that somebody edited, as `export` and `report` read them."""
    data = rng.choice(good.film_and_results()[1])
    if rng.random() < 0.7:
        content = json.dumps(damage_values(data, rng), indent=1).encode()
    else:
        content = damage_json(data, rng, _over_lines)
    return Case("result.json", content, reads.read_result)


def of_h5(rng: random.Random) -> Case:
    """Features and annotated videos, as `summarize`, `train` and `evaluate` read them."""
    return Case("made.h5", arrays.h5(rng), rng.choice([reads.read_features, reads.read_annotated]))


def _over_lines(data: Any) -> str:
    return json.dumps(data, indent=1)


def _lines_or_json(data: Any) -> str:
    return good.lines_of(data) if isinstance(data, list) else json.dumps(data)


KINDS: dict[str, Callable[[random.Random], Case]] = {
    "jsonl": of_jsonl,
    "json": of_json,
    "yaml": of_yaml,
    "record": of_record,
    "result": of_result,
    "safetensors": lambda rng: Case("own.safetensors", arrays.checkpoint(rng), reads.read_checkpoint),
    "npz": lambda rng: Case("features.npz", arrays.npz(rng), reads.read_features),
    "h5": of_h5,
}
"""Ways to make a case, by the names of the kinds."""
