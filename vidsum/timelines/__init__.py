"""Results as timelines for editors, by OpenTimelineIO, and as lists: CSV, subtitles, chapters."""
