"""The tools that only look: recall, show, log and blame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from gitmem.core.limits import RECALLED
from gitmem.core.memory import parse
from gitmem.core.names import file_address
from gitmem.core.text import fence_for_model, iso, one_line
from gitmem.flows import blame as blaming
from gitmem.flows import code_commits, last_recalls
from gitmem.flows import show as showing
from gitmem.flows.code_commits import ToldCommit
from gitmem.flows.context import allowed_fingerprints
from gitmem.flows.exit import credentials
from gitmem.flows.recall import ask
from gitmem.flows.values import entry_value
from gitmem.flows.withholding import without_secrets
from gitmem.git.repository import MissingObject
from gitmem.git.trees import read_file
from gitmem.integrations.mcp.call import ABOUT, SHOWN_BYTES, SHOWN_LINES, Answer, Call
from gitmem.ledger.log import learned
from gitmem.ledger.tainted import read_tainted
from gitmem.search.display import as_context, as_json
from gitmem.search.recall import capped, plain_place

RECALL_CHARS = 120_000
RECALLED_KEYS = (
    "kind",
    "scope",
    "agent",
    "file",
    "name",
    "description",
    "type",
    "age_days",
    "note",
    "commit",
    "text",
)
"""Of each memory what helps a model: clients put the structured answer before it as it is."""

LOGGED_KEYS = ("commit", "scope", "time", "author", "writer", "op", "session", "subject")
LOGGED = 20
SHORT = 12
CLAIM_CHARS = 400


def recall(call: Call, given: Mapping[str, Any]) -> Answer:
    """Finds the memories that help with a question."""
    found = ask(
        call.workspace,
        call.edges,
        given["query"],
        limit=given.get("limit", RECALLED),
        at=given.get("at"),
        scope=given.get("scope"),
        agent=given.get("agent"),
        type=given.get("type"),
        engine=None,
    )
    last_recalls.keep(call.workspace, call.edges, found)
    text = as_context(found, RECALL_CHARS) or "No recorded memory bears on this."
    items: Any = as_json(found)["items"]
    told = [{key: item[key] for key in RECALLED_KEYS} for item in items]
    notes = [one_line(note, 300) for note in found.notes]
    nearest = [plain_place(one.name) for one in found.nearest]
    if nearest:
        notes.append(f"nearest, though they may not fit: {', '.join(nearest)}")
    notes += [
        f"not told here: {plain_place(one.candidate.name)}: taught on branch {plain_place(one.detail)}, "
        "not merged here"
        for one in found.unmerged
    ]
    commits = _commits(call, given)
    history = code_commits.as_context(commits)
    said = "\n".join([*(f"Note: {note}" for note in notes), text, *([history] if history else [])])
    answer = {"about": ABOUT, "items": told, "notes": notes, "commits": code_commits.as_values(commits)}
    return Answer(said, answer)


def _commits(call: Call, given: Mapping[str, Any]) -> Sequence[ToldCommit]:
    """Commits that answer, where nothing narrows the question to some memories."""
    narrow = any(given.get(key) is not None for key in ("at", "scope", "agent", "type"))
    if narrow or not call.workspace.settings.flag(code_commits.SETTING):
        return ()
    return code_commits.find_commits(call.workspace, given["query"], credentials, unasked=False)


def show(call: Call, given: Mapping[str, Any]) -> Answer:
    """Prints one memory."""
    shown = showing.show(
        call.workspace, call.edges, given["name"], given.get("scope"), given.get("agent"), given.get("at")
    )
    value = showing.as_value(shown)
    value["content"] = content = capped(str(value["content"]), SHOWN_LINES, SHOWN_BYTES)
    found, taught = shown.found, value["taught"] or "at an unknown time"
    facts = [found.memory.type, f"taught {taught}"]
    if given.get("at"):
        facts.append(f"as of {found.commit[:SHORT]}")
    if shown.hidden:
        facts.append("something of it holds a secret and is not shown")
    memory, disputed = shown.readable
    if disputed:
        content = capped(memory.render().decode("utf-8", "replace"), SHOWN_LINES, SHOWN_BYTES)
        facts.append("a line of its frontmatter is disputed, and not settled yet")
    text = fence_for_model(content, source=f"{plain_place(found.address)} ({'; '.join(facts)})")
    return Answer(text, {"about": ABOUT, **value})


def log(call: Call, given: Mapping[str, Any]) -> Answer:
    """Lists what was learned, newest first."""
    scope, agent = given.get("scope"), given.get("agent")
    commits = learned(call.workspace, given.get("name"), scope, agent)
    limit = given.get("limit", LOGGED)
    some: list[dict[str, Any]] = [
        entry_value(where.name, entry) for where, entry in islice(commits, limit + 1)
    ]
    values, more = [{key: one[key] for key in LOGGED_KEYS} for one in some[:limit]], len(some) > limit
    _hide_secrets(call, values)
    lines = [
        f"{value['commit'][:SHORT]} {value['time']} {value['scope']} "
        + one_line(f"{value['author'].partition(' <')[0]}, {value['writer']}: {value['subject']}", 200)
        for value in values
    ]
    if not lines:
        return Answer("Nothing was learned here yet.", {"about": ABOUT, "commits": [], "more": False})
    older = "Older commits are not shown.\n" if more else ""
    text = fence_for_model("\n".join(lines), source="git mem log") + older
    return Answer(text, {"about": ABOUT, "commits": values, "more": more})


def blame(call: Call, given: Mapping[str, Any]) -> Answer:
    """Shows who taught each claim, when, and in which session."""
    name, text = given.get("name"), given.get("text")
    lines = blaming.blame(
        call.workspace, call.edges, name, text, given.get("scope"), given.get("agent"), given.get("at")
    )
    lines = list(_sound(call, lines, given.get("at")))
    code = blaming.code_of(call.workspace, lines)
    values = [blaming.as_value(line, code) for line in lines]
    if not values:
        return Answer("No memory says this.", {"about": ABOUT, "claims": []})
    told = "\n".join(row for line in lines for row in _blamed(line))
    return Answer(fence_for_model(told, source="git mem blame"), {"about": ABOUT, "claims": values})


def _blamed(line: blaming.Line) -> Iterator[str]:
    place = f"{line.scope.name}/{line.agent}/{file_address(line.file)}"
    yield f"{one_line(place, 100)}: {one_line(line.blamed.text, CLAIM_CHARS)}"
    for origin in line.blamed.origins:
        for one in origin.told:
            when = iso(one.time) if one.time is not None else "at an unknown time"
            who = f"{one.author.partition(' <')[0]}, {one.provenance.writer}"
            session = f", session {one.provenance.session}" if one.provenance.session else ""
            yield "    " + one_line(f"{origin.commit[:SHORT]} {when} {who}{session}: {one.subject}", 300)
    if line.blamed.against:
        yield f"    disputed with {', '.join(line.blamed.against)}"


def _sound(call: Call, lines: list[blaming.Line], at: str | None) -> Iterator[blaming.Line]:
    """The claims of shared memory that hold no secret, and all of one's own."""
    if not read_tainted(call.workspace.scope("project").state).blobs:
        yield from lines
        return
    kept: dict[str, frozenset[str]] = {}
    for line in lines:
        path = f"{line.agent}/{line.file}"
        if line.scope.name == "project" and path not in kept:
            kept[path] = _claims_shown(call, line, path, at)
        if line.scope.name != "project" or line.blamed.claim.id in kept[path]:
            yield line


def _claims_shown(call: Call, line: blaming.Line, path: str, at: str | None) -> frozenset[str]:
    from gitmem.ledger.moments import resolve_at

    repo, now = line.scope.repo, call.edges.now
    commit = resolve_at(call.workspace, line.scope, at, now) if at else repo.ref(line.scope.ref)
    data = read_file(repo, repo.commit(commit).tree, path) if commit else None
    try:
        shown = without_secrets(call.workspace, line.file, data or b"")
    except MissingObject:
        return frozenset()
    return frozenset(claim.id for claim in parse(line.file, shown).claims)


def _hide_secrets(call: Call, values: list[dict[str, Any]]) -> None:
    """Subjects that others wrote may repeat a secret that came with their memory."""
    if not read_tainted(call.workspace.scope("project").state).blobs:
        return
    from gitmem.rules.secrets import redact, scan

    shared = [value for value in values if value["scope"] == "project"]
    subjects = [value["subject"] for value in shared]
    found = scan(subjects, allowed_fingerprints(call.workspace))
    for value, subject, each in zip(shared, subjects, found, strict=True):
        value["subject"] = redact(subject, each)
