"""From queries to moments: spaces for text and video, similarity curves, proposals, trained grounders."""
