"""An archive: many videos in one file, and the moments of all of them that a text or a picture describes."""
