"""Weights registry and small checkpoints of our own; read with importlib.resources."""
