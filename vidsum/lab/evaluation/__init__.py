"""Measures of summaries, moments and highlights, with annotators, chance and other baselines."""
