"""What may stand in memory: rules over what was before and what comes after, each answer a Finding."""
