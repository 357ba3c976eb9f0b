"""Promotion: a memory that becomes a rule in a file of the code tree, and back."""
