"""How good summaries, moments and highlights are: measures beside annotators, chance and other baselines."""
