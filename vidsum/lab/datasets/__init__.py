"""Videos with annotations to train and to evaluate on: the field's files, and the splits of their videos."""
