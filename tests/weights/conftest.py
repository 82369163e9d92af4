"""Fixtures of the recipes' tests: pictures and random weights, as for extractors."""

from tests.features.conftest import random_clips, random_weights

__all__ = ["random_clips", "random_weights"]
