"""Dreams with the outside world around them: sources, progress, kill, and what is said of them."""
