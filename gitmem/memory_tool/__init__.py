"""The memory tool of the Anthropic API (`memory_20250818`) over git: every change is a commit.

`tool` is what the SDK is handed, and carries a command out; `commands` says what it would change.
"""
