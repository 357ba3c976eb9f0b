"""Session notes: when one session is summed up, what of it, and what a new session is told."""
