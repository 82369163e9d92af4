"""HTTP servers of pages for a browser on this machine: bounded connections, checked requests."""
