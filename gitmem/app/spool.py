"""Jobs that hooks leave for the worker: one small file each, written without waiting for anyone.

Hooks written in sh leave lines (`gitmem-job 1`, then `event=`, `args=`, any number of `pair=`, and last
`worktree=`, whose value runs to the end of the file, so that a path may hold anything). Python leaves JSON.
One reader takes both; what it cannot read still is a job, of event `unknown`.
"""

from __future__ import annotations

import json
import os
import time as clock
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gitmem.ledger.files import read_regular, replace_file
from gitmem.values import dataclass

UNKNOWN = "unknown"
SELECT = "select"
"""A prompt for which a model is to choose memories."""

HEADER = "gitmem-job 1"
# A rebase of 10,000 commits with SHA-256 names is 1.4 MB; more than this is no job of ours.
LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Job:
    """What a hook saw; every text is as the hook got it, so hostile.

    Attributes:
        event: `commit`, `merge`, `checkout`, `rewrite`, `stop`, `subagent-stop`, `session-end`,
            `pre-compact`, `session-start`, `select`, or `unknown`.
        worktree: the directory that it happened in; empty where unknown.
        session_path, session_id, agent: the conversation it is about; empty for git's own events.
        time: epoch seconds.
        args: the hook's arguments; the prompt, of `select`.
        rewritten: (old, new) commit names, of `rewrite`.
        parts: the jobs that were united in this one, oldest first; empty for a single job.
    """

    event: str
    worktree: str = ""
    session_path: str = ""
    session_id: str = ""
    agent: str = ""
    time: float = 0.0
    args: tuple[str, ...] = ()
    rewritten: tuple[tuple[str, str], ...] = ()
    parts: tuple[Job, ...] = ()

    @property
    def all(self) -> tuple[Job, ...]:
        """The united jobs, or this one alone."""
        return self.parts or (self,)

    @property
    def events(self) -> tuple[str, ...]:
        """Distinct events, in order."""
        return tuple(dict.fromkeys(job.event for job in self.all))

    @property
    def worktrees(self) -> tuple[str, ...]:
        """Distinct worktrees that are known, in order."""
        return tuple(dict.fromkeys(job.worktree for job in self.all if job.worktree))

    @property
    def named(self) -> dict[str, bool]:
        """Ids of the sessions that are named, each with whether it is about to be compacted."""
        pressing = {job.session_id for job in self.all if job.event == "pre-compact"}
        return {job.session_id: job.session_id in pressing for job in self.all if job.session_id}


def put(directory: Path, job: Job) -> Path:
    """Writes a job in one step: a reader sees all of it or nothing.

    Args:
        directory: the spool; made where it is missing.

    Returns:
        The job's file.

    Raises:
        OSError: it cannot be written.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{clock.time_ns()}-{os.getpid()}-{job.event}.json"
    fields = {key: value for key, value in asdict(job).items() if value and key != "parts"}
    replace_file(directory / name, json.dumps(fields).encode(), 0o600)
    return directory / name


def take(directory: Path) -> list[tuple[Path, Job]]:
    """Reads every job that waits, oldest first; takes nothing away.

    Folders, links, devices and dot files are left alone. A file that vanishes meanwhile is skipped.
    """
    found: list[tuple[float, str, Path, Job]] = []
    try:
        paths = [path for path in directory.iterdir() if not path.name.startswith(".")]
    except OSError:
        return []
    for path in paths:
        job = read(path)
        if job is not None:
            found.append((job.time, path.name, path, job))
    return [(path, job) for _, _, path, job in sorted(found, key=lambda row: row[:2])]


def read(path: Path) -> Job | None:
    """Reads one job file.

    Returns:
        The job; event `unknown` where the file is half-written, too large or not a job; None where it is
        gone or no regular file.
    """
    try:
        found = read_regular(path, LARGEST)
    except OSError:
        return Job(UNKNOWN)
    if found is None:
        return None
    data, changed = found
    text = os.fsdecode(data)
    if len(data) > LARGEST or not text.endswith(("\n", "}")):
        return Job(UNKNOWN, time=changed)
    job = _from_lines(text) if text.startswith(HEADER + "\n") else _from_json(text)
    return replace(job, time=job.time or changed)


def coalesce(jobs: Iterable[Job]) -> Job:
    """Unites jobs: the newest gives event, worktree and session, all of them the properties' lists.

    Raises:
        ValueError: there is no job.
    """
    parts = sorted((part for job in jobs for part in job.all), key=lambda part: part.time)
    if not parts:
        raise ValueError("no jobs to unite")
    if len(parts) == 1:
        return parts[0]
    rewritten = tuple(dict.fromkeys(pair for part in parts for pair in part.rewritten))
    return replace(parts[-1], rewritten=rewritten, parts=tuple(parts))


def _from_lines(text: str) -> Job:
    head, found, worktree = text.partition("\nworktree=")
    if not found:
        return Job(UNKNOWN)
    event, args = UNKNOWN, ""
    pairs: list[tuple[str, str]] = []
    for line in head.split("\n")[1:]:
        key, _, value = line.partition("=")
        if key == "event":
            event = value
        elif key == "args":
            args = value
        elif key == "pair":
            names = value.split()
            if len(names) >= 2:
                pairs.append((names[0], names[1]))
    return Job(event, worktree.removesuffix("\n"), args=tuple(args.split()), rewritten=tuple(pairs))


def _from_json(text: str) -> Job:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return Job(UNKNOWN)
    if not isinstance(fields, dict):
        return Job(UNKNOWN)

    def string(key: str) -> str:
        value = fields.get(key)
        return value if isinstance(value, str) else ""

    time: Any = fields.get("time")
    args = fields.get("args")
    return Job(
        event=string("event") or UNKNOWN,
        worktree=string("worktree"),
        session_path=string("session_path"),
        session_id=string("session_id"),
        agent=string("agent"),
        time=float(time) if isinstance(time, int | float) and 0 <= time < 1e12 else 0.0,
        args=tuple(arg for arg in args if isinstance(arg, str)) if isinstance(args, list) else (),
    )
