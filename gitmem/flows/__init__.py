"""One file a feature: what gitmem does, as functions that return values and print nothing."""
