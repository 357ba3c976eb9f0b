"""What was said: recorded conversations, read from the clients' own files."""
