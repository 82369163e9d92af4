"""Training: one loop, and one recipe per model."""
