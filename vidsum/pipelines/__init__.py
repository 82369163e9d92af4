"""The public functions: each plans a result from its parts, then makes it."""
