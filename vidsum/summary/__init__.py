"""From features and shots to a summary: importance scores, the knapsack, and the segments to keep."""
