"""Figures of the attention of trained models, as in the papers: `vidsum evaluate attention`."""
