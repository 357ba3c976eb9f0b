"""Runs `gitmem` commands as processes of their own without loading Python and gitmem each time.

Reads one JSON object a line: `{"argv", "cwd", "env", "out"}`; answers with the new process's number, waits
for one more line before that process begins, and answers with its exit code (negative for a signal).
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import pkgutil
import sys
import threading
from contextlib import suppress

PR_SET_PTRACER = 0x59616D61


def main() -> None:
    import pygit2  # noqa: F401 - the point is that it is loaded

    import gitmem.app
    import gitmem.cli
    import gitmem.flows

    for package in (gitmem.cli, gitmem.app, gitmem.flows):
        for module in pkgutil.iter_modules(package.__path__):
            # What needs something that is not installed says so when it is used.
            with suppress(ImportError):
                importlib.import_module(f"{package.__name__}.{module.name}")
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    while line := sys.stdin.readline():
        asked = json.loads(line)
        waits, begins = os.pipe()
        child = os.fork()
        if not child:
            os.close(begins)
            run(asked, waits)
        os.close(waits)
        say(child)
        sys.stdin.readline()
        os.write(begins, b"x")
        os.close(begins)
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def run(asked: dict, waits: int) -> None:
    # Where only a parent may trace, anyone may trace this process.
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
    os.read(waits, 1)
    os.close(waits)
    nowhere, out = (
        os.open(os.devnull, os.O_RDONLY),
        os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    )
    for source, target in ((nowhere, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    sys.stdin, sys.stdout = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    sys.stderr = os.fdopen(os.dup(2), "w")
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv = ["gitmem", *asked["argv"]]
    from gitmem.entry import main as command

    code = 255
    try:
        code = command()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
