"""The commit message that is proposed for rules that were written or taken out: `gitmem/promotion.txt`."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gitmem.core.memory import Memory
from gitmem.core.trailers import Provenance, one_line, subject_line
from gitmem.flows.context import Edges
from gitmem.flows.promotion.files import is_tracked, top_of
from gitmem.flows.promotion.pending import State
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.files import replace_file
from gitmem.ledger.workspace import Workspace
from gitmem.promote.moving import Place, place_of
from gitmem.values import dataclass

FILE = "promotion.txt"


@dataclass(frozen=True)
class Told:
    """What the message says of one rule.

    Attributes:
        title: a subject line for it, not cut.
        said: lines below it.
        trailers: lines at the end of the message.
    """

    title: str
    said: tuple[str, ...] = ()
    trailers: tuple[str, ...] = ()


def title_of(verb: str, memory: Memory) -> str:
    """A subject line for one memory, not cut.

    Args:
        verb: `Add` or `Take out`.
    """
    return f"{verb} the rule {memory.name}: {one_line(memory.description) or memory.name}"


def told_of(workspace: Workspace, at: Place, verb: str) -> Told:
    """What the message says of a memory: who taught it, when, in which session, where it is kept."""
    scope = workspace.scope(at.scope)
    tip = scope.repo.ref(scope.ref) or ""
    said = [at.address]
    if at.scope == "project":  # where a private one is kept is nobody else's business
        said[0] += f", kept by gitmem in {scope.ref} at {tip[:12]}"
    trailers = [f"Gitmem-Memory: {one_line(at.address)}"]
    blamed = blame_memory(scope.repo, tip, f"{at.agent}/{at.file}") if tip else ()
    told = next((o.told[0] for one in blamed if not one.description for o in one.origins if o.told), None)
    if told is not None:
        when = f" on {datetime.fromtimestamp(told.time, UTC):%Y-%m-%d}" if told.time is not None else ""
        who = one_line(told.author.partition(" <")[0])
        said.append(f"taught by {who}{when}{_session(told.provenance)}")
        trailers += _trailers(told.provenance)
    return Told(title_of(verb, at.memory), tuple(said), tuple(trailers))


def propose(workspace: Workspace, edges: Edges, state: State) -> tuple[Path | None, str]:
    """Writes the message for all that waits in the present work tree.

    Returns:
        The message's file and the command that commits it; None and empty where nothing waits.
    """
    top = str(top_of(workspace))
    waits = [
        (verb, address, one.file)
        for verb, rows in (("Add", state.pending), ("Take out", state.leaving))
        for address, one in sorted(rows.items())
        if one.worktree == top
    ]
    path = workspace.state / FILE
    if not waits:
        path.unlink(missing_ok=True)
        return None, ""
    told = [(verb, _told(workspace, verb, address)) for verb, address, _ in waits]
    replace_file(path, text_of(told).encode("utf-8", "replace"), 0o600)
    return path, _command(workspace, edges, sorted({file for _, _, file in waits}), path)


def text_of(told: Sequence[tuple[str, Told]]) -> str:
    """The message: a subject, what each rule was, and trailers.

    Args:
        told: `Add` or `Take out`, and what is told of the rule.
    """
    ones = [one for _, one in told]
    if len(ones) == 1:
        subject = subject_line(ones[0].title)
    else:
        counts = Counter(verb for verb, _ in told)
        named = " and ".join(f"{verb.lower()} {count}" for verb, count in counts.items())
        subject = f"{named.capitalize()} rules learned while working"
    parts = [subject]
    for one in ones:
        title = _plain(one.title)
        parts.append("\n".join([*([title] if title != subject else []), *map(_plain, one.said)]))
    trailers = dict.fromkeys(_plain(line) for one in ones for line in one.trailers)
    return "\n\n".join([*parts, "\n".join(trailers)]).rstrip("\n") + "\n"


def _told(workspace: Workspace, verb: str, address: str) -> Told:
    at = place_of(workspace, f"{address}.md")
    return told_of(workspace, at, verb) if at else Told(f"{verb} the rule {address.rpartition('/')[2]}")


def _session(told: Provenance) -> str:
    return f" in session {one_line(told.session)}" if told.session else ""


def _trailers(told: Provenance) -> list[str]:
    found = {
        "Session": told.session,
        "Messages": "..".join(told.messages) if told.messages else "",
        "Code-Commit": told.code_commit,
    }
    return [f"Gitmem-{key}: {one_line(value)}" for key, value in found.items() if value]


def _plain(line: str) -> str:
    """One line that git's clean-up keeps and that no hook takes for something to do."""
    text = one_line(line)
    lead = text.partition(":")[0].strip().lower()
    return f"- {text}" if text.startswith("#") or lead in ("remember", "forget") else text


def _command(workspace: Workspace, edges: Edges, files: list[str], message: Path) -> str:
    """What the person types, from the folder that they are in."""
    top, here = top_of(workspace), edges.cwd
    outside = [] if edges.person_in in (None, here) else ["-C", str(here)]
    paths = [os.path.relpath(top / file, here) for file in files]
    said = os.path.relpath(message, here) if message.is_relative_to(top) else str(message)
    fresh = [path for path, file in zip(paths, files, strict=True) if not is_tracked(workspace, file)]
    commands = [["git", *outside, "commit", "-eF", said, "--", *paths]]
    if fresh:
        commands.insert(0, ["git", *outside, "add", "--", *fresh])
    return " && ".join(shlex.join(words) for words in commands)
