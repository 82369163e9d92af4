"""Attention patterns, one file each."""
