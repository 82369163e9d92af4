"""The feature extractors: a file has a `SPEC` named like the file, or `SPECS` with variants."""
