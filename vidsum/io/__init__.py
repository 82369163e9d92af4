"""Readers and writers of files: text, YAML, arrays, outputs and their provenance, the cache, the network."""
