"""The tools: recall, show, log and blame, which only look; remember and forget, which change memory.

Each is a function of one call. Its arguments are at once the schema that a client is given, and its text is
for a model: facts, with whatever memories say fenced as data; the same comes as values, for programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, cast

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from gitmem.core.change import TYPES, Change, ChangeOrigin, Edited
from gitmem.core.errors import CheckFailed, MissingObject, UsageError
from gitmem.core.limits import RECALLED
from gitmem.core.memory import Memory, parse
from gitmem.core.names import file_address, kind
from gitmem.core.text import fence_for_model, iso
from gitmem.core.text import one_line as on_one_line
from gitmem.core.trailers import one_line
from gitmem.flows import blame as blaming
from gitmem.flows import code_commits, last_recalls
from gitmem.flows import show as showing
from gitmem.flows.agent_writes import ASKED, WriteOutcome, carry_out, may_write, remember_as_agent
from gitmem.flows.edit import Wanted, left_behind
from gitmem.flows.edit import forget as forget_anywhere
from gitmem.flows.json_values import entry_value, place_value, sound
from gitmem.flows.recall import RecallRequest, ask
from gitmem.flows.redaction import credentials, redact, value
from gitmem.git.trees import read_file
from gitmem.ledger.apply import Placed
from gitmem.ledger.forget import Holding, find_claim, without_claim
from gitmem.ledger.land import Written
from gitmem.ledger.log import log_entries
from gitmem.ledger.lookup import Ambiguous, FoundMemory, find
from gitmem.ledger.signatures import of_commits
from gitmem.ledger.taint import holds_secret, read_tainted, safe_content
from gitmem.ledger.workspace import MAIN, SCOPES
from gitmem.mcp.call import ABOUT, SHOWN_BYTES, SHOWN_LINES, Call
from gitmem.search.recall import as_context, as_json, cap, plain_place

RECALL_CHARS = 120_000
LOGGED = 20
SHORT = 12
CLAIM_CHARS = 400


# what they take; an empty text is one that was not given

_TYPES_SAID = (
    "user: about the person; feedback: how they want things done; project: about the project; reference: "
    "where something is to be found."
)
_SCOPES_SAID = "project: the team's; local: this person's, here; user: this person's, everywhere."


def _text(description: str, most: int = 300) -> Any:
    return Field(description=description, min_length=1, max_length=most)


def _one_of(names: Sequence[str], description: str) -> Any:
    return Field(description=description, json_schema_extra={"enum": list(names)})


Name = Annotated[
    str,
    _text("Name or file of a memory, or scope/agent/name; a date (2026-11-20) for that day's log."),
]
At = Annotated[
    str, _text("As of then: a date (2026-11-20, '2 days ago'), a tag, a commit of memory or code.")
]
InScope = Annotated[str, _one_of(SCOPES, _SCOPES_SAID)]
OfAgent = Annotated[str, _text("main, or the name of a subagent.")]


ITEM = (
    "kind", "scope", "agent", "file", "name", "description", "type", "age_days", "note", "commit", "text",
)  # fmt: skip
"""Of all that is known of a memory that was recalled, what helps a model."""

ENTRY = ("commit", "scope", "time", "author", "writer", "op", "session", "subject")
"""The same of a commit of memory."""


# those that only look


def recall(
    call: Call,
    query: Annotated[str, _text("A question, or words.", 4_000)],
    limit: Annotated[int, Field(ge=1, le=20, description="At most so many.")] = RECALLED,
    type: Annotated[str, _one_of(TYPES, f"Only those of one type. {_TYPES_SAID}")] = "",
    at: At = "",
    scope: InScope = "",
    agent: OfAgent = "",
) -> CallToolResult:
    """Finds the memories that help with a question.

    Raises:
        UsageError: `at` means nothing.
    """
    narrow = {"at": at or None, "scope": scope or None, "agent": agent or None, "type": type or None}
    asked = RecallRequest(query, limit, engine=None, **narrow)  # type: ignore[arg-type]
    found = ask(call.workspace, call.edges, asked)
    last_recalls.keep(call.workspace, call.edges, found)
    text = as_context(found, RECALL_CHARS) or "No recorded memory bears on this."
    items = cast(list[dict[str, Any]], as_json(found)["items"])
    notes = [on_one_line(note, 300) for note in found.notes]
    nearest = [plain_place(one.name) for one in found.nearest]
    if nearest:
        notes.append(f"nearest, though they may not fit: {', '.join(nearest)}")
    notes += [
        f"not told here: {plain_place(one.candidate.name)}: taught on branch {plain_place(one.detail)}, "
        "not merged here"
        for one in found.unmerged
    ]
    commits: Sequence[code_commits.ToldCommit] = ()
    # Where something narrows the question to some memories, commits do not answer it.
    if not any(narrow.values()) and call.workspace.settings.flag(code_commits.SETTING):
        commits = code_commits.find_commits(call.workspace, query, credentials, unasked=False)
    history = code_commits.as_context(commits)
    said = "\n".join([*(f"Note: {note}" for note in notes), text, *([history] if history else [])])
    told = [{key: item[key] for key in ITEM} for item in items]
    return _answer(
        said,
        {"about": ABOUT, "items": told, "notes": notes, "commits": code_commits.as_values(commits)},
    )


def show(call: Call, name: Name, at: At = "", scope: InScope = "", agent: OfAgent = "") -> CallToolResult:
    """Gives one memory whole.

    Raises:
        UsageError: there is none of that name, or several; or `at` means nothing.
    """
    whole = showing.show(
        call.workspace, call.edges, name, scope or None, agent or None, at or None, to_agent=True
    )
    parts = showing.as_value(whole)
    parts["content"] = content = cap(str(parts["content"]), SHOWN_LINES, SHOWN_BYTES)
    found, taught = whole.found, parts["taught"] or "at an unknown time"
    facts = [found.memory.type, f"taught {taught}"]
    if at:
        facts.append(f"as of {found.commit[:SHORT]}")
    if whole.proof is not None:
        facts.append(whole.proof.words)
    if whole.hidden:
        facts.append("something of it is not shown: a secret, or not signed as required")
    memory, disputed = whole.readable
    if disputed:
        content = cap(memory.render().decode("utf-8", "replace"), SHOWN_LINES, SHOWN_BYTES)
        facts.append("a line of its frontmatter is disputed, and not settled yet")
    text = fence_for_model(content, source=f"{plain_place(found.address)} ({'; '.join(facts)})")
    return _answer(text, {"about": ABOUT, **parts})


def log(
    call: Call,
    name: Name = "",
    limit: Annotated[int, Field(ge=1, le=200, description="At most so many.")] = LOGGED,
    scope: InScope = "",
    agent: OfAgent = "",
) -> CallToolResult:
    """Lists what was learned, newest first.

    Raises:
        UsageError: there is and was no such memory, or several have the name.
    """
    found = log_entries(call.workspace, name or None, scope or None, agent or None)
    some = [entry_value(where.name, entry) for where, entry in islice(found, limit + 1)]
    entries = [{key: str(one[key]) for key in ENTRY} for one in some[:limit]]
    more = len(some) > limit
    _hide_secrets(call, entries)
    _hide_unsigned(call, entries)
    lines = [
        f"{one['commit'][:SHORT]} {one['time']} {one['scope']} "
        + on_one_line(f"{one['author'].partition(' <')[0]}, {one['writer']}: {one['subject']}", 200)
        for one in entries
    ]
    if not lines:
        return _answer("Nothing was learned here yet.", {"about": ABOUT, "commits": [], "more": False})
    older = "Older commits are not shown.\n" if more else ""
    text = fence_for_model("\n".join(lines), source="git mem log") + older
    return _answer(text, {"about": ABOUT, "commits": entries, "more": more})


def blame(
    call: Call,
    name: Name = "",
    text: Annotated[str, _text("Words that a claim holds.", 2_000)] = "",
    at: At = "",
    scope: InScope = "",
    agent: OfAgent = "",
) -> CallToolResult:
    """Shows who taught each claim, when, and in which session.

    Raises:
        UsageError: not one of name and text; there is no such memory, or several; or `at` means nothing.
    """
    narrow = (scope or None, agent or None, at or None)
    lines = list(
        _sound(call, blaming.blame(call.workspace, call.edges, name or None, text or None, *narrow), at)
    )
    code = blaming.code_of(call.workspace, lines)
    signed = blaming.signed_by(call.workspace, lines)
    claims = [blaming.as_value(line, code, signed) for line in lines]
    if not claims:
        return _answer("No memory says this.", {"about": ABOUT, "claims": []})
    told = "\n".join(row for line in lines for row in _blamed(line))
    return _answer(fence_for_model(told, source="git mem blame"), {"about": ABOUT, "claims": claims})


def _blamed(line: blaming.BlameLine) -> Iterator[str]:
    place = f"{line.scope.name}/{line.agent}/{file_address(line.file)}"
    yield f"{on_one_line(place, 100)}: {on_one_line(line.blamed.text, CLAIM_CHARS)}"
    for origin in line.blamed.origins:
        for one in origin.told:
            when = iso(one.time) if one.time is not None else "at an unknown time"
            who = f"{one.author.partition(' <')[0]}, {one.provenance.writer}"
            session = f", session {one.provenance.session}" if one.provenance.session else ""
            yield "    " + on_one_line(f"{origin.commit[:SHORT]} {when} {who}{session}: {one.subject}", 300)
    if line.blamed.against:
        yield f"    disputed with {', '.join(line.blamed.against)}"


def _may_hide(call: Call) -> bool:
    """Whether some of shared memory may have to be hidden: it came with a secret, or unsigned."""
    workspace = call.workspace
    return bool(read_tainted(workspace.scope("project").state).blobs) or workspace.settings.requires_signed


def _sound(call: Call, lines: Sequence[blaming.BlameLine], at: str) -> Iterator[blaming.BlameLine]:
    """The claims of shared memory that hold no secret, and all of one's own."""
    if not _may_hide(call):
        yield from lines
        return
    kept: dict[str, frozenset[str]] = {}
    for line in lines:
        path = f"{line.agent}/{line.file}"
        if line.scope.name == "project" and path not in kept:
            kept[path] = _claims_shown(call, line, path, at)
        if line.scope.name != "project" or line.blamed.claim.id in kept[path]:
            yield line


def _claims_shown(call: Call, line: blaming.BlameLine, path: str, at: str) -> frozenset[str]:
    from gitmem.ledger.moments import resolve_at

    repo, now = line.scope.repo, call.edges.now
    commit = resolve_at(call.workspace, line.scope, at, now) if at else repo.ref(line.scope.ref)
    data = read_file(repo, repo.commit(commit).tree, path) if commit else None
    try:
        kept = safe_content(call.workspace, path, data or b"", commit or "")
    except MissingObject:
        return frozenset()
    return frozenset(claim.id for claim in parse(line.file, kept).claims)


def _hide_secrets(call: Call, entries: Sequence[dict[str, str]]) -> None:
    """Subjects that others wrote may repeat a secret that came with their memory."""
    if not read_tainted(call.workspace.scope("project").state).blobs:
        return
    from gitmem.rules.secrets import redact, scan

    shared = [one for one in entries if one["scope"] == "project"]
    subjects = [one["subject"] for one in shared]
    found = scan(subjects, call.workspace.allowed)
    for one, subject, each in zip(shared, subjects, found, strict=True):
        one["subject"] = redact(subject, each)


def _hide_unsigned(call: Call, entries: Sequence[dict[str, str]]) -> None:
    """What a commit that nobody trusted signed says is as little for an agent as the memory it brought."""
    if not call.workspace.settings.requires_signed:
        return
    shared = [one for one in entries if one["scope"] == "project"]
    found = of_commits(call.workspace, [one["commit"] for one in shared])
    for one in shared:
        if found[one["commit"]].standing != "trusted":
            one |= {"subject": "(not shown: not signed as required)", "author": ""}


# those that change memory; of the project's they only ever propose


def remember(
    call: Call,
    text: Annotated[str, _text("The fact, in markdown.", 50_000)],
    type: Annotated[str, _one_of(TYPES, f"{_TYPES_SAID} Without it feedback, or what the memory is.")] = "",
    name: Annotated[str, _text("A slug; made from the text if not given.", 60)] = "",
    description: Annotated[str, _text("One line that would find it again.")] = "",
    why: Annotated[str, _text("The reason.", 2_000)] = "",
    how: Annotated[str, _text("When and how it applies.", 2_000)] = "",
    scope: Annotated[str, _one_of(SCOPES, f"{_SCOPES_SAID} Without it the name's, else its type's.")] = "",
    agent: OfAgent = MAIN,
) -> CallToolResult:
    """Stores one memory, or adds to the one of that name.

    Raises:
        UsageError: a memory about a person that should go to the team, or a name that several have.
        CheckFailed: it may not be stored, see `carry_out`.
    """
    wanted = Wanted(text, type, one_line(name), description, why, how, agent, scope)
    placed, done = remember_as_agent(call.workspace, call.edges, wanted, call.told)
    change, old = placed.change, placed.change.op == "update"
    file = _file_of(done.written) or change.file
    place = {
        "scope": placed.scope,
        "agent": sound(change.agent),
        "file": sound(file),
        "name": sound(change.name),
    }
    return _told(
        place,
        done,
        "Added to" if old else "Stored",
        "it says so already" if old else "",
    )


def forget(
    call: Call,
    name: Name = "",
    claim: Annotated[str, _text("What the claim says.", 4_000)] = "",
    reason: Annotated[str, _text("Why, for the person's review.")] = "",
    scope: InScope = "",
    agent: OfAgent = "",
) -> CallToolResult:
    """Takes out one memory, or one claim, and sees to it that it stays away.

    Raises:
        UsageError: not one of name and claim; there is none, or several.
        CheckFailed: it holds a secret that came with shared memory, or see `carry_out`.
    """
    may_write(call.edges)
    if bool(name) == bool(claim):
        raise UsageError("Say what to forget", "Give either name, or claim: what it says.")
    if claim:
        return _forget_claim(call, _holding(call, claim, scope, agent), reason)
    found = find(call.workspace, name, scope or None, agent or None, whole=True)
    place = place_value(found)
    if found.scope != "project":
        return _forgotten(call, found, place, "Forgot", "it is gone already")
    memory = found.memory
    _refuse_secrets(call, found.file, memory.render())
    change = _taken_out(call, found.agent, found.file, memory, reason)
    return _told(place, carry_out(call.workspace, call.edges, Placed("project", change), call.told))


def _forget_claim(call: Call, holding: Holding, reason: str) -> CallToolResult:
    place: dict[str, object] = {
        "scope": holding.scope,
        "agent": sound(holding.agent),
        "file": sound(holding.file),
        "name": sound(holding.name),
    }
    if holding.scope != "project":
        return _forgotten(call, holding, place, "Forgot a claim of", "it does not say so any more")
    scope = call.workspace.scope("project")
    tip = scope.repo.ref(scope.ref)
    path = f"{holding.agent}/{holding.file}"
    data = (read_file(scope.repo, scope.repo.commit(tip).tree, path) if tip else None) or b""
    memory = parse(holding.file, data)
    _refuse_secrets(call, holding.file, data)
    left = without_claim(memory, holding.claim.key)
    edited = Edited(data, left.render()) if left is not None else None
    change = _taken_out(call, holding.agent, holding.file, memory, reason, edited)
    return _told(place, carry_out(call.workspace, call.edges, Placed("project", change), call.told))


def _taken_out(
    call: Call, agent: str, file: str, memory: Memory, reason: str, edited: Edited | None = None
) -> Change:
    """A memory of the team's that should go, or with `edited` lose a claim."""
    return Change(
        op="update" if edited else "delete",
        name=memory.name,
        description=memory.description,
        type=next((type for type in TYPES if type == memory.type), "project"),
        body="",
        reason=reason or ASKED,
        confidence=1.0,
        asked=False,
        origin=ChangeOrigin(session=call.session),
        agent=agent,
        file=file,
        edited=edited,
    )


def _forgotten(
    call: Call, what: FoundMemory | Holding, place: dict[str, object], verb: str, otherwise: str
) -> CallToolResult:
    written = forget_anywhere(call.workspace, call.edges, what, call.told)
    whole = isinstance(what, FoundMemory) or what.whole
    left = left_behind(call.workspace, what) if written and whole else ()
    warnings = [
        f"agents still read {path}: it holds what memory does not. The person keeps what they need of it, "
        "and deletes it."
        for path in left
    ]
    return _told(place, WriteOutcome(written, warnings=tuple(warnings)), verb, otherwise)


def _holding(call: Call, claim: str, scope: str, agent: str) -> Holding:
    try:
        (holding,) = find_claim(call.workspace, claim, scope=scope or None, agent=agent or None)
    except Ambiguous:
        if not _may_hide(call):
            raise
        # The list would quote what came with a secret, or unsigned.
        hint = "Give more of the text, or narrow with scope and agent."
        raise Ambiguous("Several claims say that", hint) from None
    return holding


def _refuse_secrets(call: Call, file: str, data: bytes) -> None:
    """Lets a memory through that may be copied into what waits for review.

    Raises:
        CheckFailed: something in it is a secret.
    """
    if holds_secret(call.workspace, file, data):
        raise CheckFailed(
            f"{file} holds a secret that came with shared memory", "A person runs: git mem purge"
        )


def _file_of(written: Written | None) -> str:
    """The memory that a commit wrote, inside its agent's folder."""
    edits = written.edits if written else {}
    paths = [path for path, data in edits.items() if data is not None and kind(path) == "memory"]
    return paths[0].partition("/")[2] if paths else ""


def _told(
    place: Mapping[str, object], done: WriteOutcome, verb: str = "", otherwise: str = ""
) -> CallToolResult:
    where = plain_place(f"{place['scope']}/{place['agent']}/{place['file'] or place['name']}")
    parts: dict[str, object] = {
        **place,
        "commit": None,
        "waiting": None,
        "undo": None,
        "warnings": list(done.warnings),
    }
    if done.waiting:
        parts["waiting"] = done.waiting
        shared = place["scope"] == "project"
        why = "project memory changes through review" if shared else "it may hold a secret"
        text = (
            f"Nothing changed yet in {where}: {why}. It waits in review as {done.waiting}; "
            "the person decides with git mem review."
        )
    elif done.written:
        undo = f"git mem undo {done.written.commit[:12]}"
        parts |= {"commit": done.written.commit, "undo": undo}
        text = f"{verb} {where} in commit {done.written.commit[:12]}. Undo: {undo}"
    else:
        text = f"Nothing changed in {where}: {otherwise or 'memory says so already'}."
    return _answer("\n".join([text, *(f"Tell the person: {one}" for one in done.warnings)]), parts)


# what a server offers


@dataclass(frozen=True)
class Offered:
    """One tool.

    Attributes:
        run: takes the call and the arguments; its name is the tool's.
        writes: it may change memory; offered with `--write` alone.
        destroys: it may take something out.
    """

    run: Callable[..., CallToolResult]
    title: str
    description: str
    writes: bool = False
    destroys: bool = False


TOOLS = (
    Offered(
        recall,
        "Recall memories",
        "Finds what was recorded earlier that bears on a question: preferences and corrections of the "
        "person, decisions and facts of the project that its code does not tell. Few and right: an empty "
        "answer means that nothing fits. Each memory comes with its age and with what it names that is "
        "gone from the code. An item of kind log is a line of a daily log of which no memory was made yet. "
        "Commits of the code's own history that decided it come beside them, and what undid them.",
    ),
    Offered(show, "Show a memory", "Gives one memory whole, now or as of then."),
    Offered(
        log,
        "Log of what was learned",
        "Lists what was learned, when and from whom, newest first: of all memory, or of one.",
    ),
    Offered(
        blame,
        "Who taught it",
        "Shows for each claim of a memory, or for everything that says a text, the commit, the author and "
        "the session that it comes from. Takes either name or text.",
    ),
    Offered(
        remember,
        "Remember a fact",
        "Stores one lasting fact, as a commit. For what the person wants or corrected, and for facts that "
        "neither the code, its history nor CLAUDE.md or AGENTS.md tells; not for the task at hand. The "
        "name of a memory that is there adds to it; what no longer holds is taken out with forget. Project "
        "memory changes only once the person accepts it in review. Tell the person each warning.",
        writes=True,
    ),
    Offered(
        forget,
        "Forget",
        "Takes out one memory, or one claim of it, and keeps merges and extractions from bringing it back. "
        "Takes either name or claim. History keeps it, and git mem undo takes it back. Project memory "
        "changes only once the person accepts it in review. Tell the person each warning.",
        writes=True,
        destroys=True,
    ),
)


def _answer(text: str, parts: object) -> CallToolResult:
    """What a tool gives back, as it may leave.

    Args:
        text: for a model.
        parts: the same for programs.
    """
    content = TextContent(type="text", text=redact(text))
    return CallToolResult(content=[content], structured_content=cast(dict[str, Any], value(parts)))
