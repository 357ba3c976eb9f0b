"""Commit to memory: what a session taught."""
