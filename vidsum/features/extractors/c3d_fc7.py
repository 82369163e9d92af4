"""`c3d` with fc7 after ReLU, 4096-d."""

from vidsum.features.extractors.c3d import spec_of

SPEC = spec_of("c3d_fc7", "fc7")
