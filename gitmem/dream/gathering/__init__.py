"""What a dream finds out before an engine is asked: from history, logs, disputes and the code."""
