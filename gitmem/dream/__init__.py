"""Night to branch: consolidation as a reviewable diff."""
