"""Pure values: claims, memories, merge and accounts; no git, no files, no clock."""
