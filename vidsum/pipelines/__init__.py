"""What the public functions do: plan a result from its parts, then make it."""
