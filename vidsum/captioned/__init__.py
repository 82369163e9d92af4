"""Annotated videos that are known by captions of their frames: as text, or as a classifier would see them."""
