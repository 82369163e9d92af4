"""The laboratory: data sets, training recipes and measures. Only `vidsum train` and `evaluate` need it."""
