"""What of a session's notes can be read off the session, without supposing anything."""
