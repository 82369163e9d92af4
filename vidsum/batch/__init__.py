"""From inputs to results: here, in worker processes, or on a cluster."""
