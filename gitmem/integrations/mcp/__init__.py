"""The Model Context Protocol server: memory for any client that speaks the protocol, over stdio.

`serve` and `server` know the protocol (package `mcp`, the extra `gitmem-vcs[mcp]`); what a tool is and does
is written without it. Nothing here is imported but by `gitmem mcp`.
"""
