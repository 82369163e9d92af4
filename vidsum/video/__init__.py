"""Video in and out: what a file holds (`probe`), its frames by time (`read`), and written clips (`write`)."""
