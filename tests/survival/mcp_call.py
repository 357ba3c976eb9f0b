"""Calls one tool of an MCP server that speaks over its standard input, for adapters of `any_tool`.

    python mcp_call.py TOOL ARGUMENTS -- SERVER...

ARGUMENTS is JSON. Prints the text of the answer; exits with 1 where the tool or the server failed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

VERSION = "2025-03-26"


def main() -> int:
    """Starts the server, asks once, and ends it."""
    at = sys.argv.index("--")
    tool, arguments = sys.argv[1], json.loads(sys.argv[2])
    server = subprocess.Popen(
        sys.argv[at + 1 :],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        about = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "survival", "version": "1"},
        }
        _ask(server, 1, "initialize", about)
        _send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        answer = _ask(server, 2, "tools/call", {"name": tool, "arguments": arguments})
    except (OSError, EOFError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        server.kill()
        server.wait()
    result = answer.get("result", {})
    print("\n".join(part.get("text", "") for part in result.get("content", [])))
    return 1 if "error" in answer or result.get("isError") else 0


def _ask(server: subprocess.Popen[str], number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _send(server, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert server.stdout is not None
    for line in server.stdout:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and found.get("id") == number:
            return found
    raise EOFError("the server went away")


def _send(server: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


if __name__ == "__main__":
    sys.exit(main())
