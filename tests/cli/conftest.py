"""Each test of the command line can begin with the ground."""

from __future__ import annotations

from cli_ground import ground

__all__ = ["ground"]
