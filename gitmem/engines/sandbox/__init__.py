"""What a model may do while it extracts or dreams: read the repository, and change a copy of the memory."""

from gitmem.engines.sandbox.edit import Writable
from gitmem.engines.sandbox.sandbox import Result, Sandbox
from gitmem.engines.sandbox.tools import TOOLS
from gitmem.engines.sandbox.view import Roots

__all__ = ["TOOLS", "Result", "Roots", "Sandbox", "Writable"]
