"""The Model Context Protocol server: memory for any client that speaks the protocol, over stdio.

It needs the package `mcp` (the extra `gitmem-vcs[mcp]`), half a second of CPU: nothing here is imported but
by `gitmem mcp`. `tools` says what is offered besides memory itself, and `server` speaks.
"""
