"""Which files of gitmem a run passes through: those of which a function ran, not what is only imported.

usage: python -P tests/bench/tracing.py REPORT WORD...     (runs gitmem with these words, and writes JSON)
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any


@contextmanager
def tracing() -> Iterator[dict[str, Any]]:
    """Watches what is done inside; the value is filled at its end.

    Yields:
        `ran` and `loaded`: files below the package, sorted; `passes`: how often one file called another.
    """
    import gitmem

    top = str(Path(str(gitmem.__file__)).parent) + os.sep
    ran: set[str] = set()
    last, passes, importing = "", 0, 0
    found: dict[str, Any] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal last, passes, importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += (event == "call") - (event == "return")
        # What runs while a module or a class is made (a decorator, a table) is no part of the work.
        if event != "call" or importing or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if code.co_filename.startswith(top):
            ran.add(code.co_filename)
            passes += code.co_filename != last
            last = code.co_filename

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)
        modules = [
            one.__file__
            for name, one in list(sys.modules.items())
            if name.partition(".")[0] == "gitmem" and one.__file__
        ]
        found["ran"] = sorted(path.removeprefix(top) for path in ran)
        found["loaded"] = sorted(path.removeprefix(top) for path in modules)
        found["passes"] = passes


def by_room(files: Iterable[str]) -> dict[str, list[str]]:
    """Files by the folder that they are in, below the package; those at its top are the room `faces`."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in files:
        room, _, rest = file.partition("/")
        found[room if rest else "faces"].append(rest or file)
    return found


def main() -> None:
    report, *words = sys.argv[1:]
    from gitmem.entry import main as run

    sys.argv = ["gitmem", *words]
    code: object = 0
    with tracing() as found:
        try:
            code = run()
        except SystemExit as end:
            code = end.code
    Path(report).write_text(json.dumps(found))
    sys.exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
