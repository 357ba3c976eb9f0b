"""Consolidation without a model: what can be proved from the words, and notes for a person."""
