"""Damage to files: to their bytes, to the numbers in their text, and to the data that they hold."""

import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

ODD_NUMBERS = (
    "0", "-1", "-0.0", "0.5", "1e308", "-1e308", "1e999", "5e-324", "NaN", "Infinity", "-Infinity",
    "9007199254740993", "18446744073709551616", "1" + "0" * 400, "9" * 5000, "true", "null", '"1"',
    "0x_", "0b_", "2001-99-99", "1:99",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 0.5, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 10**18, 10**400, "",
    "x", "\x1b[31m\n", "1", "é" * 300, [], [[]], {}, {"": 0}, [0] * 1000, [None],
)  # fmt: skip

ODD_TIMES: tuple[Any, ...] = (
    0, -1, -0.0, 0.5, 1e-9, 5e-324, 1e4, 1e7, 1e12, 1e300, 1e308, float("nan"), 10**18, 10**400,
)  # fmt: skip
ODD_TEXTS = (
    "", "\0", "film\0.mp4", "\ud800", "caf\udce9", "\x1b[31m\r\n", "\u2028", "]]>&<'\"", "x" * 10_000,
    "/dev/zero", "..",
)  # fmt: skip

_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def damage(content: bytes, rng: random.Random) -> bytes:
    """One to three changes to the bytes: bits, ends, chunks."""
    for _ in range(rng.randint(1, 3)):
        start, place = (rng.randrange(len(content) + 1) for _ in range(2))
        end = min(len(content), start + rng.choice([1, 4, 16, 64, 512]))
        size = end - start
        filler = rng.choice([rng.randbytes(size), b"\xff" * size, bytes(size)])
        flipped = bytearray(content)
        for _ in range(rng.choice([1, 1, 4, 32]) if content else 0):
            flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        content = rng.choice(
            [
                bytes(flipped),
                content[:start],
                content[:start] + content[end:],  # a chunk is lost
                content[:end] + content[start:],  # or doubled
                content[:place] + content[start:end] + content[place + size :],  # or copied elsewhere
                content[:start] + filler + content[end:],
            ]
        )
    return content


def damage_text(text: str, rng: random.Random) -> bytes:
    """A number put in place of another, a depth that no reader follows, or damage to the bytes."""
    chosen = rng.random()
    numbers = list(_NUMBER.finditer(text))
    if chosen < 0.4 and numbers:
        for _ in range(rng.randint(1, 3)):
            at = rng.choice(list(_NUMBER.finditer(text)) or numbers)
            text = text[: at.start()] + rng.choice(ODD_NUMBERS) + text[at.end() :]
        return text.encode()
    if chosen < 0.5:
        at_place = rng.randrange(len(text) + 1)
        return (
            text[:at_place] + rng.choice("[{(") * rng.choice([10, 900, 100_000]) + text[at_place:]
        ).encode()
    return damage(text.encode(), rng)


def damage_data(data: Any, rng: random.Random) -> Any:
    """One to three changes to JSON-ready data: a value of another kind, a key left out, renamed or moved."""
    data = deepcopy(data)
    for _ in range(rng.randint(1, 3)):
        places = list(_places(data))
        if not places:
            return rng.choice(ODD_VALUES)
        holder, key = rng.choice(places)
        change = rng.randrange(6)
        if change == 0:
            del holder[key]
        elif change == 1 and isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        elif change == 2:
            other, other_key = rng.choice(places)
            holder[key] = deepcopy(other[other_key])
        elif change == 3:
            deep: Any = holder[key]
            for _ in range(rng.choice([1, 2, 70, 100])):
                deep = [deep]
            holder[key] = deep
        else:
            holder[key] = deepcopy(rng.choice(ODD_VALUES))
    return data


def damage_values(data: Any, rng: random.Random) -> Any:
    """One to three changes that leave the layout as it is: to numbers, texts, the length of lists."""
    data = deepcopy(data)
    for _ in range(rng.randint(1, 3)):
        holder, key = _place_below(data, rng)
        value = holder[key]
        if isinstance(value, list):
            holder[key] = rng.choice(_OF_LISTS)(value, rng)
        elif isinstance(value, str):
            holder[key] = rng.choice(ODD_TEXTS)
        elif isinstance(value, int | float):
            other, other_key = _place_below(data, rng)
            holder[key] = rng.choice([-value, 1000 * value, deepcopy(other[other_key]), *ODD_TIMES])
    return data


def _place_below(data: Any, rng: random.Random) -> tuple[Any, Any]:
    """(container, key) of a value on a random way down: one of a long list is not likelier than a name."""
    while True:
        names = [name for name in data if name not in ("schema", "digest")] if isinstance(data, dict) else []
        key = rng.choice(names or range(len(data)))
        is_end = not isinstance(data[key], dict | list) or not data[key]
        if is_end or (isinstance(data[key], list) and rng.random() < 0.3):
            return data, key
        data = data[key]


_OF_LISTS: tuple[Callable[[list[Any], random.Random], list[Any]], ...] = (
    lambda items, rng: items[:-1],
    lambda items, rng: items[::-1],
    lambda items, rng: items[:1] + items,
    lambda items, rng: items[:1] * 2000,
    lambda items, rng: rng.sample(items, len(items)),
    lambda items, rng: [],
)


def damage_json(data: Any, rng: random.Random, text_of: Callable[[Any], str] = json.dumps) -> bytes:
    """Either of the above on a file that holds data as text."""
    if rng.random() < 0.5:
        return text_of(damage_data(data, rng)).encode("utf-8", "surrogatepass")
    return damage_text(text_of(data), rng)


def _places(data: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value inside data."""
    result: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        holder = waiting.pop()
        keys = range(len(holder)) if isinstance(holder, list) else holder if isinstance(holder, dict) else ()
        for key in keys:
            result.append((holder, key))
            waiting.append(holder[key])
    return result
