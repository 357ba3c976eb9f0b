"""Who taught each claim of a memory, or what says a thing, and the way back to session and code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitmem.core.daily_log import LogLine
from gitmem.core.errors import MissingObject, UsageError
from gitmem.core.names import kind
from gitmem.core.text import iso
from gitmem.core.trailers import Telling
from gitmem.flows.context import Edges
from gitmem.flows.json_values import sound
from gitmem.ledger.blame import Blamed, Former, blame_memory
from gitmem.ledger.holdings import Spot
from gitmem.ledger.lookup import FoundMemory, find, find_index
from gitmem.ledger.moments import Became, became
from gitmem.ledger.sayings import ReplacedClaim, replaced, sayings
from gitmem.ledger.signatures import SignatureVerdict
from gitmem.ledger.workspace import Scope, Workspace


@dataclass(frozen=True)
class BlameLine:
    """One claim with its place: scope, agent's folder, and file inside it.

    Attributes:
        gone: what became of it, where memory does not say it any more.
        replaced: the claims in whose place it was put, without saying the same, each with who taught it.
    """

    scope: Scope
    agent: str
    file: str
    blamed: Blamed
    gone: ReplacedClaim | None = None
    replaced: tuple[tuple[Former, Blamed], ...] = ()


def blame(
    workspace: Workspace,
    edges: Edges,
    name: str | None,
    text: str | None,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
) -> list[BlameLine]:
    """Blames the claims of one memory, or those of all memories that say something, or said it once.

    Args:
        name: a memory or daily log, as for `lookup.find`, or an agent's MEMORY.md; None where a text is
            given.
        text: what claims say; None where a name is given.

    Raises:
        UsageError: both are given, or neither; or as for `lookup.find` and `sayings`.
    """
    if (name is None) == (text is None):
        raise UsageError("Blame takes the name of a memory, or --text", "For example: git mem blame NAME")
    if text is not None:
        lines = list(_saying(workspace, edges, text, at, scope, agent))
        return lines + list(_said_once(workspace, edges, text, at, scope, agent, lines))
    if kind(name or "") == "index":
        found: FoundMemory | Spot = find_index(workspace, name or "", scope, agent, at, edges.now)
    else:
        found = find(workspace, name or "", scope, agent, at, edges.now, logs=True)
    where = workspace.scope(found.scope)
    blamed = blame_memory(where.repo, found.commit, found.path)
    return [_line(where, found.agent, found.file, one) for one in blamed]


def _line(scope: Scope, agent: str, file: str, blamed: Blamed) -> BlameLine:
    """A claim with those that it took the place of."""
    former = dict.fromkeys(one for origin in blamed.origins for one in origin.replaced)
    found = []
    for one in former:
        try:
            found += [(one, said) for said in blame_memory(scope.repo, one.commit, one.path, {one.id})]
        except MissingObject:
            continue
    return BlameLine(scope, agent, file, blamed, None, tuple(found))


def code_of(workspace: Workspace, lines: Sequence[BlameLine]) -> dict[str, Became]:
    """What is known of the code commits that these claims were taught at, by the name that they go by."""
    told = (one for line in lines for origin in line.blamed.origins for one in origin.told)
    return became(workspace, (one.provenance.code_commit for one in told))


def signed_by(workspace: Workspace, lines: Sequence[BlameLine]) -> dict[str, SignatureVerdict]:
    """What is proved of the commits of the code repository that introduced these claims."""
    from gitmem.ledger.signatures import of_commits

    shared = (line for line in lines if line.scope.name == "project")
    return of_commits(workspace, (origin.commit for line in shared for origin in line.blamed.origins))


def as_value(
    line: BlameLine, code: dict[str, Became], signed: Mapping[str, SignatureVerdict] | None = None
) -> dict[str, object]:
    """One claim as a value; empty strings where a trailer is missing.

    Args:
        code: what is known of the code commits that are named.
        signed: what is proved of the commits that introduced claims.
    """
    proved = signed or {}
    blamed = line.blamed
    return {
        "scope": line.scope.name,
        "agent": sound(line.agent),
        "file": sound(line.file),
        "claim": blamed.claim.short,
        "text": sound(blamed.claim.text),
        "description": blamed.description,
        "disputed": blamed.claim.dispute,
        "key": sound(blamed.key),
        "against": list(blamed.against),
        "origins": [
            {
                "commit": origin.commit,
                "path": sound(origin.path),
                "claim": origin.claim,
                "line": line_value(origin.line) if origin.line else None,
                "via": list(origin.via),
                "beyond": origin.beyond,
                "signed": proved[origin.commit].value if origin.commit in proved else None,
                "told": [_told_value(one, code) for one in origin.told],
            }
            for origin in blamed.origins
        ],
        "gone": _gone_value(line.gone) if line.gone else None,
        "replaced": [_replaced_value(former, said, code) for former, said in line.replaced],
    }


def line_value(line: LogLine) -> dict[str, object]:
    """A fact of a daily log, as a value."""
    return {
        "time": iso(int(line.when.timestamp())),
        "type": line.type,
        "session": sound(line.session),
        "text": sound(line.text),
    }


def _replaced_value(former: Former, said: Blamed, code: dict[str, Became]) -> dict[str, object]:
    return {
        "commit": former.commit,
        "path": sound(former.path),
        "claim": said.claim.short,
        "text": sound(said.claim.text),
        "told": [_told_value(one, code) for origin in said.origins for one in origin.told],
    }


def _gone_value(gone: ReplacedClaim) -> dict[str, object]:
    return {
        "fate": gone.fate.kind,
        "dream": gone.dream,
        "commit": gone.commit,
        "by": sound(gone.by),
        "time": iso(gone.time),
        "into": sound(gone.fate.target) or None,
        "into_text": sound(gone.into.text) if gone.into else None,
        "reason": sound(gone.fate.reason),
    }


def _told_value(one: Telling, code: dict[str, Became]) -> dict[str, object]:
    told = one.provenance
    known = code.get(told.code_commit)
    return {
        "subject": sound(one.subject),
        "author": sound(one.author),
        "time": iso(one.time) if one.time is not None else None,
        "op": told.op,
        "writer": told.writer,
        "engine": sound(told.engine),
        "session": sound(told.session),
        "messages": [sound(uuid) for uuid in told.messages or ()],
        "code_commit": sound(told.code_commit),
        "code_commit_now": known.oid if known else "",
        "code_subject": sound(known.subject) if known else "",
    }


def _saying(
    workspace: Workspace, edges: Edges, text: str, at: str | None, scope: str | None, agent: str | None
) -> Iterator[BlameLine]:
    for said in sayings(workspace, text, scope, agent, at, edges.now):
        found = blame_memory(said.scope.repo, said.commit, f"{said.agent}/{said.file}", said.claims)
        # A description mostly repeats the body, which is where the thing was said.
        in_body = [one for one in found if not one.description]
        for one in in_body or found:
            yield _line(said.scope, said.agent, said.file, one)


def _said_once(
    workspace: Workspace,
    edges: Edges,
    text: str,
    at: str | None,
    scope: str | None,
    agent: str | None,
    said: Sequence[BlameLine],
) -> Iterator[BlameLine]:
    """Claims that a dream took out, each blamed where it stood last."""
    known = {(line.scope.name, line.agent, line.blamed.claim.key) for line in said}
    for one in replaced(workspace, text, scope, agent, at, edges.now, known):
        folder, _, file = one.path.partition("/")
        for blamed in blame_memory(one.scope.repo, one.before, one.path, {one.claim.id})[:1]:
            yield BlameLine(one.scope, folder, file, blamed, one)
