"""The memory tool of the Anthropic API (`memory_20250818`) over git: every change is a commit."""
