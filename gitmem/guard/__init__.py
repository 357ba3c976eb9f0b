"""What may be stored: paths, secrets, exclusions, safe text."""
