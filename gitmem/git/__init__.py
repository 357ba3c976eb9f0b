"""Git itself: its objects, refs and processes."""
