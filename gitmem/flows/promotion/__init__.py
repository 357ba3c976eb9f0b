"""Memories that become rules of the repository's instruction files, and back."""
