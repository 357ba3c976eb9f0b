"""What reading recorded sessions costs: `python tests/bench/session_read.py [MB] [--json FILE]`.

Writes sessions of 10 MB and of MB (100 unless given) to a temporary folder, made of the records that real
ones have (most bytes are results of tools), and prints

- the time of a first reading, as a ratio to `wc -l` plus parsing each line as JSON in the same run;
- the peak of memory (tracemalloc, in a run of its own), in one reading and in readings of 8 MB each;
- the time of reading 1 MB that was added at the end, as a ratio to parsing that 1 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from gitmem.transcripts.discover import read

MB = 1_000_000
RUNS = 5
PART = 8 * MB
TARGET = 2.0


def records(start: int = 0) -> Iterator[bytes]:
    """Turns of a prompt, six calls with results, and an answer; some 90 KB each, of which 4 are kept."""
    parent: str | None = None if start == 0 else f"{start - 1:08d}-0000-4000-8000-000000000000"
    number = start

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


def write(path: Path, size: int) -> int:
    """Writes records up to a size; returns their number."""
    count = written = 0
    with path.open("wb") as file:
        for line in records():
            if written >= size:
                return count
            written += file.write(line)
            count += 1
    return count


def best(action: Callable[[], object]) -> float:
    """Seconds of CPU of the cheapest of some runs, children's included."""
    found = []
    for _ in range(RUNS):
        begun = sum(os.times()[:4]), time.process_time()
        action()
        children = sum(os.times()[:4]) - begun[0] - (time.process_time() - begun[1])
        found.append(time.process_time() - begun[1] + max(0.0, children))
    return min(found)


def parse(path: Path, start: int = 0) -> None:
    """What any reader has to do."""
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            json.loads(line)


def in_parts(path: Path, marks: Path) -> None:
    """Reads all of a session, 8 MB at a time."""
    end, size = 0, path.stat().st_size
    while end < size:
        end = read(path, end, bookmarks=marks, most=PART).end


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


def add(path: Path, count: int) -> None:
    """Appends 1 MB of records."""
    added = 0
    with path.open("ab") as file:
        for line in records(count):
            added += file.write(line)
            if added >= MB:
                return


def measured(folder: Path, size: int) -> dict[str, float]:
    """Measures a session of so many MB; prints it and returns the figures."""
    path, marks = folder / f"{size}.jsonl", folder / f"marks-{size}"
    count = write(path, size * MB)
    least, took = best(partial(base, path)), best(partial(read, path))
    whole, parts = peak(partial(read, path)), peak(partial(in_parts, path, marks))
    end = path.stat().st_size
    add(path, count)
    kept = sum(mark.stat().st_size for mark in marks.iterdir()) / MB
    new, needed = best(partial(read, path, end, bookmarks=marks)), best(partial(parse, path, end))
    print(f"{size} MB, {count} records")
    print(f"  first reading    {took:.3f} s = {took / least:.2f} x wc -l and json ({least:.3f} s)")
    print(f"  peak of memory   {whole:.1f} MB in one reading, {parts:.1f} MB in readings of 8 MB")
    print(f"  1 MB more        {new * 1000:.1f} ms = {new / needed:.2f} x json ({needed * 1000:.1f} ms)")
    print(f"  bookmarks        {kept:.2f} MB")
    figures = {
        "megabytes": size,
        "records": count,
        "seconds": took,
        "base_seconds": least,
        "ratio": took / least,
        "peak_megabytes": whole,
        "peak_megabytes_in_parts": parts,
        "added_ratio": new / needed,
        "bookmark_megabytes": kept,
    }
    return {name: round(figure, 4) for name, figure in figures.items()}


def main() -> int:
    """Measures, prints, and fails where the large session's ratio is over the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", nargs="?", type=int, default=100)
    parser.add_argument("--json", type=Path, help="where the figures are written")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [measured(Path(folder), size) for size in (10, given.megabytes)]
    if given.json:
        given.json.write_text(json.dumps({"target": TARGET, "sessions": found}, indent=2) + "\n")
    return 0 if found[-1]["ratio"] <= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
