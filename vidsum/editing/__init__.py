"""A page to correct a result by hand: its decisions, the server, what it saves."""
