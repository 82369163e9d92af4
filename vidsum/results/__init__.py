"""Results, and their forms: JSON documents, feature files, tables, timelines for editors, the report page."""
