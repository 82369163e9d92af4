"""Training: one loop, and one recipe per model.

Examples of moments come from `examples`, which chooses between `annotated` (videos with features), `toy` and
`simulated` (no video: `scripts` decides what is shown when, and `sentences` embeds what is shown).
"""
