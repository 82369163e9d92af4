"""The feature extractors, a file each: its name is the extractor's, its `SPEC` says the rest."""
