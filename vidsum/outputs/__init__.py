"""A result and its files: names, ownership, media, timelines, pages."""
