"""Each test of the programs can begin with the ground of the command line's tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from cli_ground import ground

__all__ = ["ground"]
