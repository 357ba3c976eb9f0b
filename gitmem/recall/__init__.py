"""Prompt to memories: the few that help."""
