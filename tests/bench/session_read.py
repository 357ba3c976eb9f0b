"""What reading recorded sessions costs, beside `wc -l` and parsing each line as JSON in the same run.

usage: python tests/bench/session_read.py [--megabytes N] [--json]

Sessions of 10 MB and of N are written, of the records that real ones have (most bytes are results of
tools). What a reading takes, and its peak of memory (tracemalloc, in a run of its own) beside the session's
size, in one reading and in readings of 8 MB each.
"""

from __future__ import annotations

import json
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from figures import Figure, bench, cpu

from gitmem.transcripts.discover import read

MB = 1_000_000
RUNS = 7
PART = 8 * MB


def records() -> Iterator[bytes]:
    """Turns of a prompt, six calls with results, and an answer; some 90 KB each, of which 4 are kept."""
    parent: str | None = None
    number = 0

    def record(kind: str, content: object, **more: object) -> bytes:
        nonlocal parent, number
        uuid = f"{number:08d}-0000-4000-8000-000000000000"
        message = {"role": kind, "content": content} | (
            {"id": f"msg_{number}"} if kind == "assistant" else {}
        )
        value = {
            "parentUuid": parent,
            "isSidechain": False,
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": f"2026-11-20T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
            "cwd": "/home/dev/app",
            "sessionId": "11111111-0000-4000-8000-000000000000",
            "version": "2.1.0",
            "gitBranch": "main",
            **more,
        }
        parent, number = uuid, number + 1
        return json.dumps(value).encode() + b"\n"

    source = "".join(
        f'{n:6d}\tdef f_{n}(a: int) -> int: return a + {n}  # \u2192 "quoted"\n' for n in range(130)
    )
    while True:
        yield record("user", f"question {number}: why does the upload fail for large files?")
        for _ in range(6):
            call = f"toolu_{number}"
            yield record(
                "assistant",
                [{"type": "thinking", "thinking": "Let me look. " * 30, "signature": "x" * 400}],
            )
            yield record(
                "assistant",
                [{"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/a"}}],
            )
            result = [{"type": "tool_result", "tool_use_id": call, "content": source}]
            yield record("user", result, toolUseResult={"file": {"content": source[:4000]}})
        yield record("assistant", [{"type": "text", "text": "It reads the whole file into memory. " * 8}])


def write(path: Path, size: int) -> None:
    """Writes records up to a size."""
    written = 0
    with path.open("wb") as file:
        for line in records():
            if written >= size:
                return
            written += file.write(line)


def beside(base: Callable[[], object], action: Callable[[], object]) -> tuple[float, float]:
    """Seconds of action and base, the cheapest of some runs in turn: whatever else runs burdens both."""
    pairs = [(cpu(action), cpu(base)) for _ in range(RUNS)]
    return min(took for took, _ in pairs), min(least for _, least in pairs)


def parse(path: Path) -> None:
    """What any reader has to do."""
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def in_parts(path: Path) -> None:
    """Reads all of a session, 8 MB at a time."""
    end, size = 0, path.stat().st_size
    while end < size:
        end = read(path, end, most=PART).end


def peak(action: Callable[[], object]) -> float:
    """MB allocated at the worst moment."""
    tracemalloc.start()
    action()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / MB


def base(path: Path) -> None:
    """What the reading is measured against."""
    subprocess.run(["wc", "-l", path], capture_output=True, check=True)
    parse(path)


def measure(megabytes: int, folder: Path) -> Iterator[Figure]:
    """The rows of a session of 10 MB, and of one of so many."""
    for size in dict.fromkeys((10, megabytes)):
        path = folder / f"{size}.jsonl"
        write(path, size * MB)
        title, of_json = f"session of {size} MB", "wc -l, json.loads"
        times = beside(partial(read, path), partial(base, path))
        yield Figure(f"{title}: a reading", "s CPU", *times, of_json)
        yield Figure(f"{title}: peak of memory", "MB", peak(partial(read, path)), size, "its size")
        yield Figure(f"{title}: peak in parts", "MB", peak(partial(in_parts, path)), size, "its size")


if __name__ == "__main__":
    bench(__doc__, measure, megabytes=100)
