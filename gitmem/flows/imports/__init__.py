"""Moving in: what people have in other tools, as memories that wait for review."""
