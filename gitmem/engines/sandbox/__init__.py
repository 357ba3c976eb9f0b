"""What a model may do while it extracts: read the repository's files, and change a copy of the memory."""

from gitmem.engines.sandbox.sandbox import Result, Sandbox
from gitmem.engines.sandbox.tools import TOOLS
from gitmem.engines.sandbox.view import Roots

__all__ = ["TOOLS", "Result", "Roots", "Sandbox"]
