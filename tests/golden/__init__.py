"""Stored outputs of vidsum before a redesign: whatever moves inside, this stays the same."""
