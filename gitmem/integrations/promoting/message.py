"""The commit message that is proposed for rules that were written or taken out: `gitmem/promotion.txt`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from gitmem.integrations.edges import Edges
from gitmem.integrations.place import replace_file
from gitmem.integrations.promoting.files import is_tracked, top_of
from gitmem.integrations.promoting.pending import State, Waiting
from gitmem.memory.trailers import Provenance, one_line, subject_line
from gitmem.promote.moving import Place
from gitmem.store.blame import blame_memory
from gitmem.store.workspace import Workspace

FILE = "promotion.txt"


def waiting_for(workspace: Workspace, at: Place, file: str, verb: str) -> Waiting:
    """What the message says of one memory: who taught it, when, in which session, and where it is kept.

    Args:
        verb: `Add` or `Take out`.
    """
    scope = workspace.scope(at.scope)
    tip = scope.repo.ref(scope.ref) or ""
    memory = at.memory
    about = one_line(memory.description) or memory.name
    said = [f"{at.address}, kept by gitmem in {scope.ref} at {tip[:12]}"]
    trailers = [f"Gitmem-Memory: {one_line(at.address)}"]
    blamed = blame_memory(scope.repo, tip, f"{at.agent}/{at.file}") if tip else ()
    told = next((o.told[0] for one in blamed if not one.description for o in one.origins if o.told), None)
    if told is not None:
        when = f" on {datetime.fromtimestamp(told.time, UTC):%Y-%m-%d}" if told.time is not None else ""
        who = one_line(told.author.partition(" <")[0])
        said.append(f"taught by {who}{when}{_session(told.provenance)}")
        trailers += _trailers(told.provenance)
    title = f"{verb} the rule {memory.name}: {about}"
    return Waiting(file, str(top_of(workspace)), title, tuple(said), tuple(trailers))


def propose(workspace: Workspace, edges: Edges, state: State) -> tuple[Path | None, str]:
    """Writes the message for all that waits in the present work tree.

    Returns:
        The message's file and the command that commits it; None and empty where nothing waits.
    """
    top = str(top_of(workspace))
    waits = [
        one
        for rows in (state.pending, state.leaving)
        for _, one in sorted(rows.items())
        if one.worktree == top
    ]
    path = workspace.state / FILE
    if not waits:
        path.unlink(missing_ok=True)
        return None, ""
    replace_file(path, text_of(waits, _counts(state, top)).encode("utf-8", "replace"), 0o600)
    return path, _command(workspace, edges, sorted({one.file for one in waits}), path)


def text_of(waits: Iterable[Waiting], counts: Mapping[str, int]) -> str:
    """The message: a subject, what each rule was, and trailers.

    Args:
        counts: `add` and `take out` to how many.
    """
    ones = list(waits)
    if len(ones) == 1:
        subject = subject_line(ones[0].title)
    else:
        named = [f"{verb} {counts[verb]}" for verb in ("add", "take out") if counts.get(verb)]
        subject = f"{' and '.join(named).capitalize()} rules learned while working"
    parts = [subject]
    for one in ones:
        title = _plain(one.title)
        parts.append("\n".join([*([title] if title != subject else []), *map(_plain, one.said)]))
    trailers = dict.fromkeys(_plain(line) for one in ones for line in one.trailers)
    return "\n\n".join([*parts, "\n".join(trailers)]).rstrip("\n") + "\n"


def _counts(state: State, top: str) -> dict[str, int]:
    both = {"add": state.pending, "take out": state.leaving}
    return {verb: sum(one.worktree == top for one in rows.values()) for verb, rows in both.items()}


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
    outside = [] if _is_here(here) else ["-C", str(here)]
    paths = [os.path.relpath(top / file, here) for file in files]
    said = os.path.relpath(message, here) if message.is_relative_to(top) else str(message)
    fresh = [path for path, file in zip(paths, files, strict=True) if not is_tracked(workspace, file)]
    commands = [["git", *outside, "commit", "-eF", said, "--", *paths]]
    if fresh:
        commands.insert(0, ["git", *outside, "add", "--", *fresh])
    return " && ".join(shlex.join(words) for words in commands)


def _is_here(folder: Path) -> bool:
    try:
        return Path.cwd().resolve() == folder.resolve()
    except OSError:
        return False
