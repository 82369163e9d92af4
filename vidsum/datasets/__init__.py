"""Videos with annotations to train and to evaluate on: the field's files, and the splits of their videos."""

from vidsum.datasets.splits import SETTINGS, Setting, Split, read_splits, with_validation
from vidsum.datasets.summaries import AnnotatedVideo, read_annotated, write_annotated

__all__ = [
    "SETTINGS",
    "AnnotatedVideo",
    "Setting",
    "Split",
    "read_annotated",
    "read_splits",
    "with_validation",
    "write_annotated",
]
