"""Results as files: JSON documents, tables, timelines for editors (OpenTimelineIO), lists, report page."""
