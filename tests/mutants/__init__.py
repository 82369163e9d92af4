"""A list of small faults, and a command that checks that the tests find each of them."""
