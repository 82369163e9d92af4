"""Everyday activities that a network sees in movement, each as several of its classes.

    p(activity) = 1 / (1 + exp(-a log(s / (1 - s)) - c)),   s = the sum of its classes' probabilities

docs/algorithms/describe.md has the fit, and how right it is.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

import numpy as np

from vidsum.description.words import read_words
from vidsum.features.movinet import action_names
from vidsum.models.scaling import logistic
from vidsum.types import FloatArray

ACTION_CURVE: Final = (2.6, 2.9)  # the curve's a and c


@lru_cache(maxsize=1)
def read_activities() -> Mapping[int, tuple[int, ...]]:
    """Return the classes of each activity that movement shows, by the number of its word."""
    words = {word.text: number for number, word in enumerate(read_words()) if word.kind == "activity"}
    classes = {name: number for number, name in enumerate(action_names())}
    activities: dict[int, tuple[int, ...]] = {}
    for line in files("vidsum.description").joinpath("actions.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        text, _, names = line.partition(": ")
        number = words[text]
        for name in names.split("; "):
            above = words.get(name)
            added = activities[above] if above in activities and above != number else (classes[name],)
            activities[number] = (*activities.get(number, ()), *added)
    return MappingProxyType(activities)


def activity_probabilities(actions: FloatArray) -> FloatArray:
    """Return [N, P] how likely each word is right, by the actions [N, 600] of segments; 0 without classes."""
    chances = np.zeros((len(actions), len(read_words())), np.float32)
    slope, offset = ACTION_CURVE
    for number, classes in read_activities().items():
        share = np.clip(actions[:, classes].sum(axis=1, dtype=np.float64), 1e-6, 1 - 1e-6)
        chances[:, number] = logistic(slope * np.log(share / (1 - share)) + offset)
    return chances
