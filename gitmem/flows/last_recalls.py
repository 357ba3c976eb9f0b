"""The last recalls that showed something, for the next dream: what they showed must still be found.

Of a question only the words are kept that the shown memories have themselves: a credential, a name or
whatever else it held stays out, and what is asked of the search afterwards is what it was found by.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gitmem.ledger.files import read_regular, replace_file
from gitmem.search.words import words

if TYPE_CHECKING:
    from gitmem.flows.context import Edges
    from gitmem.ledger.workspace import Scope, Workspace
    from gitmem.rules.findable import RecallWitness
    from gitmem.search.recall import Recall, RecallItem

NAME = "recalls-"
"""Begins the name of a record; a purge (`ledger.scrub`) and `uninstall` take it away."""

KEPT = 200
"""Recalls that are read, the last ones."""

QUERY_CHARS = 300
"""Characters of one question that are kept."""

ASKED_CHARS = 1_000
SAID_CHARS = 500
"""Characters of a question, and of what each memory says besides its description, whose words are
compared: an agent waits for this."""

PATH_CHARS = 300
LARGEST = 128 * 1024
"""Bytes from which on the file is cut to its last half: the last 200 recalls are some 40 KB."""

_STEM = 6
_PRIVATE = re.compile(r"<\s*/?\s*private\b", re.IGNORECASE)


def keep(workspace: Workspace, edges: Edges, answer: Recall) -> None:
    """Notes what a recall showed; trouble is borne, for a person or an agent waits.

    Nothing is noted in a pause, where gitmem is switched off, of a question that holds `<private>` or that
    `gitmem.ignore` matches, nor of an answer as of the past, nor of lines of logs: no dream changes them.
    """
    items = [item for item in answer.items if not item.commit and item.kind == "memory"]
    if not items or _PRIVATE.search(answer.query):
        return
    from gitmem.flows.pause import is_paused
    from gitmem.flows.place import is_disabled

    if (
        is_disabled(edges.environ)
        or is_paused(workspace.state, edges.now)
        or _ignored(workspace, answer.query)
    ):
        return
    for scope in workspace.scopes:
        # Words of a private memory stay with it: each scope has a record, and only its own words there.
        theirs = [item for item in items if item.scope == scope.name]
        query = _in_their_words(answer.query, theirs)
        places = [place for item in theirs if len(place := f"{item.agent}/{item.file}") <= PATH_CHARS]
        if query and places:
            with suppress(OSError):
                _append(record_of(scope), {"query": query, "shown": places})


def record_of(scope: Scope) -> Path:
    """Where the recalls of a scope's memory are noted, beside the repository that has the memory."""
    return scope.state / f"{NAME}{quote(scope.ref, safe='')}.jsonl"


def last_shown(scope: Scope, most: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Lists what the last recalls asked, in words that memories have, and paths shown; the newest first.

    Args:
        most: recalls at most.
    """
    return tuple((query, tuple(places)) for query, places in islice(_rows(record_of(scope)), most))


def asked_before(scope: Scope, allow: frozenset[str] = frozenset()) -> tuple[RecallWitness, ...]:
    """Lists the last recalls that showed memories of a scope, the newest first.

    What looks like a credential is left out; without a detector, which no dream can do without, all is.

    Args:
        allow: fingerprints of secrets that the person accepted.
    """
    from gitmem.core.errors import RepositoryError
    from gitmem.rules.findable import RecallWitness
    from gitmem.rules.secrets import scan

    rows = list(_rows(record_of(scope)))
    try:
        secret = scan([query for query, _ in rows], allow)
    except RepositoryError:
        return ()
    return tuple(
        dict.fromkeys(
            RecallWitness(query, place)
            for (query, places), findings in zip(rows, secret, strict=True)
            for place in places
            if not findings
        )
    )


def _in_their_words(query: str, items: Iterable[RecallItem]) -> str:
    """The words of a question that memories have, in the form that these give them."""
    texts = (f"{item.name}\n{item.description}\n{item.text[:SAID_CHARS]}" for item in items)
    theirs = dict.fromkeys(words("\n".join(texts)))
    alike: dict[str, str] = {}
    for word in theirs:
        alike.setdefault(word.rstrip("s")[:_STEM], word)
    asked = (
        word if word in theirs else alike.get(word.rstrip("s")[:_STEM], "")
        for word in words(query[:ASKED_CHARS])
    )
    found = " ".join(filter(None, dict.fromkeys(asked)))
    return found if len(found) <= QUERY_CHARS else found[: found.rfind(" ", 0, QUERY_CHARS + 1)]


def _ignored(workspace: Workspace, query: str) -> bool:
    patterns = workspace.settings.all("ignore")
    if not patterns:
        return False
    from gitmem.core.errors import UsageError
    from gitmem.transcripts.privacy import compile_ignore

    try:
        return compile_ignore(patterns).matches(query)
    except UsageError:
        return True


def _append(path: Path, row: dict[str, Any]) -> None:
    line = json.dumps(row, separators=(",", ":")).encode("ascii") + b"\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, flags, 0o600)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return
        if found.st_mode & 0o077:
            os.fchmod(handle, 0o600)
        os.write(handle, line)
    finally:
        os.close(handle)
    if found.st_size > LARGEST:
        whole = read_regular(path, 2 * LARGEST)
        # What is longer than gitmem lets it become is nothing of its own, and no loss.
        ours = whole[0] if whole and len(whole[0]) <= 2 * LARGEST else b""
        replace_file(path, ours[-LARGEST // 2 :].partition(b"\n")[2] or line, 0o600)


def _rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Questions, and the paths of what was shown; the newest first."""
    try:
        found = read_regular(path, 2 * LARGEST)
    except OSError:
        return
    for line in reversed(found[0].splitlines()[-KEPT:] if found else []):
        try:
            row = json.loads(line)
            query, places = row["query"], row["shown"]
        except (ValueError, TypeError, LookupError, RecursionError):
            continue
        if _is_text(query, QUERY_CHARS) and isinstance(places, list):
            yield query, [place for place in places[:KEPT] if _is_text(place, PATH_CHARS)]


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()
