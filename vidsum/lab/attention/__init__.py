"""Figures of the attention of a FullTransNet, as in its paper: `vidsum evaluate attention`."""
