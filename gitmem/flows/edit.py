"""What a person changes by command: remember, forget, move, merge; file, index and commit in one step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core import tombstone
from gitmem.core.account import reference
from gitmem.core.change import TYPES
from gitmem.core.claim import Claim, repetition
from gitmem.core.dates import annotate
from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError, UsageError
from gitmem.core.limits import DESCRIPTION_CHARS, MEMORY_BYTES
from gitmem.core.memory import Memory, create, description_claim, parse, says
from gitmem.core.names import (
    agent_name,
    archive_path,
    file_name,
    hot_file,
    is_memory_file,
    numbered_names,
    slugify,
)
from gitmem.core.text import decode, encode
from gitmem.core.trailers import MOVE_JOB, Fate, Op, Provenance, one_line
from gitmem.flows.context import Edges
from gitmem.flows.save import copies_of
from gitmem.git.repository import Repository
from gitmem.git.trees import Edits
from gitmem.ledger.blame import blame_memory, carried
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land, read_tip, together
from gitmem.ledger.layout import Unwritable, live_directory
from gitmem.ledger.paging import archive_contents, current_place
from gitmem.ledger.rule_record import ruled_files
from gitmem.ledger.save_plan import agent_files
from gitmem.ledger.workspace import MAIN, Scope, Workspace, home
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refuse_secrets
from gitmem.rules.secrets import UNNAMED, nameable
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.ledger.forget import Holding
    from gitmem.ledger.lookup import FoundMemory


USUAL_TYPE = "feedback"
"""Of what is remembered and names none."""


@dataclass(frozen=True)
class Wanted:
    """What `remember` was told.

    Attributes:
        text: the fact.
        type: empty leaves that of the memory it updates; a new one is of the usual type.
        name, description, why, how: empty where not given.
        scope: empty takes that of the memory of this name, else the scope for its type.
        allowed: whether a person said that what may be a secret may go into the project scope.
    """

    text: str
    type: str = ""
    name: str = ""
    description: str = ""
    why: str = ""
    how: str = ""
    agent: str = MAIN
    scope: str = ""
    allowed: bool = False


@dataclass(frozen=True)
class EditOutcome:
    """What an edit did.

    Attributes:
        scope, memory: where it stands; of what memory says already, the memory that does.
        planned: whether anything is to be written.
        unwritten: why the agent's folder does not show it; empty where it does.
        updated: whether a memory of that name was there.
    """

    scope: Scope
    agent: str
    memory: Memory
    written: Written | None
    warnings: tuple[Finding, ...] = ()
    unwritten: str = ""
    updated: bool = False
    planned: bool = True


def scope_of(workspace: Workspace, wanted: Wanted) -> Scope:
    """The scope that something wanted goes to: a name that was given means the memory that has it.

    Raises:
        UsageError: no text, an unknown type or scope, or a `user` memory in the project scope.
        Ambiguous: several memories have the name.
    """
    type = wanted.type or USUAL_TYPE
    if type not in TYPES:
        raise UsageError(f"There is no type {type!r}", f"Types are: {', '.join(TYPES)}.")
    if not wanted.text.strip():
        raise UsageError("There is nothing to remember", "Give the text: git mem remember TEXT")
    named = None
    if wanted.name and not wanted.scope:
        with suppress(MissingObject):  # what is damaged elsewhere stops nothing here
            named = memory_named(workspace, wanted.name, None, wanted.agent)
    scope = workspace.scope(named.scope if named else wanted.scope or home(type, workspace.sharing))
    _may_enter(scope, type)
    return scope


def memory_named(workspace: Workspace, name: str, scope: str | None, agent: str) -> FoundMemory | None:
    """The memory that has a name; arguments and errors as for `lookup.find`, None where there is none."""
    from gitmem.ledger.lookup import Ambiguous, find

    try:
        return find(workspace, name, scope, agent, whole=True)
    except Ambiguous as error:
        if scope is None:  # a name that is to be kept is no address
            error.hint = "Say which: name its scope."
        raise
    except UsageError:
        return None


def composed(wanted: Wanted, now: float, allow: frozenset[str]) -> tuple[str, str, str]:
    """Name, description and body of something wanted; relative dates in the latter two are annotated.

    What may be a secret makes no name and no description: both are made of the text without it.

    Args:
        now: when it was said, seconds since the epoch.
        allow: fingerprints of accepted secrets.

    Raises:
        DetectorUnavailable: nothing can be said about the text.
    """
    said = datetime.fromtimestamp(now, UTC).astimezone()
    body = "\n\n".join(
        [
            annotate(wanted.text.strip(), said),
            *([f"**Why:** {annotate(wanted.why.strip(), said)}"] if wanted.why.strip() else []),
            *([f"**How to apply:** {annotate(wanted.how.strip(), said)}"] if wanted.how.strip() else []),
        ]
    )
    told = (wanted.text, wanted.name, wanted.description, wanted.why, wanted.how)
    text, named, described, *_ = nameable(told, allow)
    text = text.strip() or UNNAMED
    words = " ".join(_first_sentence(text).split()[:7])
    name = (named if named == wanted.name else slugify(named)).strip() or slugify(words)
    return name, one_line(described) or _first_sentence(annotate(text, said)), body


def remember(workspace: Workspace, edges: Edges, wanted: Wanted, *, dry_run: bool = False) -> EditOutcome:
    """Stores one memory; the same name again updates it, where it was given.

    What the agent's memory says already, as a rule of the code too, is not stored again: in any scope, or
    in the one that was named.

    Raises:
        UsageError: no text, an unknown type or scope, or a `user` memory in the project scope.
        CheckFailed: it holds a secret.
    """
    scope, agent = scope_of(workspace, wanted), agent_name(wanted.agent)
    allow, hold = workspace.allowed, scope.name == "project" and not wanted.allowed
    first, description, body = composed(wanted, edges.now, allow)
    claims = create(first, wanted.description, wanted.type or USUAL_TYPE, body, "").claims
    made: list[EditOutcome] = []
    seen: list[Finding] = []

    def plan(tip: Tip) -> Write | None:
        known = agent_files(scope.repo, agent, tip)
        if not wanted.name or _named(known, first) is None:
            for one in (scope,) if wanted.scope else workspace.scopes:
                with suppress(RepositoryError):  # what is damaged elsewhere stops nothing here
                    there = tip if one.name == scope.name else read_tip(one.repo, one.ref)
                    rules = _in_archive(one, agent, there, ruled_files(workspace.state, one.name, agent))
                    if (same := _saying(agent_files(one.repo, agent, there) | rules, claims)) is not None:
                        made[:] = [EditOutcome(one, agent, same, None, planned=False)]
                        return None
        for name in numbered_names(first):
            paged = _paged_out(scope, agent, tip, name)
            old = _named(known, name) or _named(paged, name)
            # Two sentences may begin alike: only who names a memory means to change it.
            if old is None or wanted.name or _says_all(old, claims):
                break
        type = wanted.type or (old.type if old else USUAL_TYPE)
        memory = _updated(old, name, description, type, body) if old else None
        if memory is None:
            file = _free_file(known, name, lambda file: bool(_in_archive(scope, agent, tip, [file])))
            memory = create(name, description, type, body, file)
        if len(memory.render()) > MEMORY_BYTES:
            raise UsageError(f"{name} would be larger than {MEMORY_BYTES:,} bytes", "Split it.")
        edits = _with_index(scope.repo, tip, agent, memory.path, memory)
        if memory.path in paged and memory.path not in known:
            edits[f"{agent}/{archive_path(memory.path)}"] = None
        _lift(edits, agent, known, memory)
        seen[:] = _refuse_secrets(edits, agent, paged | known, allow, hold)
        planned = old is None or memory.render() != old.render()
        made[:] = [EditOutcome(scope, agent, memory, None, updated=old is not None, planned=planned)]
        said = f"{'Update' if old else 'Remember'} {name}: {description}"
        return Write(edits, said, _human(workspace, "update" if old else "add"))

    unwritten: list[str] = []
    if dry_run:
        plan(read_tip(scope.repo, scope.ref))
        return replace(made[0], warnings=tuple(seen))
    copies = where_writable(copies_of(workspace, edges), unwritten)
    written = land(scope, plan, workspace.author(edges.now), copies, agent)
    doubts = tuple(seen) if written else ()
    return replace(made[0], written=written, warnings=doubts, unwritten=unwritten[-1] if unwritten else "")


def _says_all(memory: Memory, claims: Sequence[Claim]) -> bool:
    said = {repetition(claim.key) for claim in memory.claims}
    return all(repetition(claim.key) in said for claim in claims)


def _saying(known: Mapping[str, bytes], claims: Sequence[Claim]) -> Memory | None:
    """The first memory among an agent's files that says all of it, by whatever name."""
    # What lacks the longest word of it is not cut into claims.
    word = max((word for claim in claims for word in claim.key.casefold().split()), key=len, default="")
    for file in sorted(filter(is_memory_file, known)):
        if word in decode(known[file]).casefold() and _says_all(memory := parse(file, known[file]), claims):
            return memory
    return None


def _as_shown(scope: Scope, tip: Tip, found: FoundMemory) -> tuple[str, bytes]:
    """Where a memory stands and what it holds, which is what a person was shown.

    Raises:
        CheckFailed: it changed since.
    """
    stands = current_place(scope.repo, tip.tree, found.agent, found.file)
    if stands is None or stands[1] != found.memory.render():
        raise CheckFailed(f"{found.address} changed since it was shown", "Look at it again.")
    return stands


def reword(
    workspace: Workspace, edges: Edges, found: FoundMemory, data: bytes, *, allowed: bool = False
) -> EditOutcome:
    """Stores a person's own wording of a memory in its place.

    Args:
        found: the memory as the person saw it.
        data: the whole file as they want it.
        allowed: whether a person said that what may be a secret may go into the project scope.

    Raises:
        UsageError: nothing is left of it, it is too large, or a `user` memory in the project scope.
        CheckFailed: it changed since it was seen, or it holds a secret.
    """
    scope = workspace.scope(found.scope)
    memory = parse(found.file, data)
    if not memory.body.strip():
        raise UsageError(f"No text of {memory.name} is left", "To delete it: git mem forget NAME")
    if len(data) > MEMORY_BYTES:
        raise UsageError(f"{memory.name} would be larger than {MEMORY_BYTES:,} bytes", "Split it.")
    _may_enter(scope, memory.type)
    allow, hold = workspace.allowed, scope.name == "project" and not allowed
    seen: list[Finding] = []

    def plan(tip: Tip) -> Write | None:
        stands = _as_shown(scope, tip, found)
        if stands[1] == memory.render():
            return None
        known = agent_files(scope.repo, found.agent, tip)
        edits = _with_index(scope.repo, tip, found.agent, hot_file(found.file), memory)
        if stands[0] != hot_file(found.file):
            edits[f"{found.agent}/{stands[0]}"] = None
        _lift(edits, found.agent, known, memory)
        seen[:] = _refuse_secrets(edits, found.agent, known, allow, hold)
        return Write(edits, f"Edit {memory.name}", _human(workspace, "update"))

    unwritten: list[str] = []
    copies = where_writable(copies_of(workspace, edges), unwritten)
    written = land(scope, plan, workspace.author(edges.now), copies, found.agent)
    return EditOutcome(scope, found.agent, memory, written, tuple(seen), unwritten[-1] if unwritten else "")


def where_writable(copies: Copies, unwritten: list[str]) -> Copies:
    """The same, where a folder that cannot be written keeps nothing from being stored.

    It is laid out when the folder can be written again.

    Args:
        unwritten: gets why.
    """

    def run(shown: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        try:
            copies(shown, agents, lay_out)
        except Unwritable as error:
            unwritten.append(error.message)

    return run


def forget(
    workspace: Workspace, edges: Edges, what: FoundMemory | Holding, told: Provenance | None = None
) -> Written | None:
    """Deletes a memory, or takes one claim out of it, and buries what it says.

    Args:
        told: who carries it out, for the trailers; a person unless given.

    Returns:
        The commit; None where it does not stand any more.
    """
    from gitmem.ledger.forget import forget

    who = workspace.author(edges.now)
    told = replace(told or Provenance(writer="human"), code_commit=workspace.code_head())
    return forget(workspace, what, who, told, copies_of(workspace, edges))


def left_behind(workspace: Workspace, what: FoundMemory | Holding) -> tuple[Path, ...]:
    """Files of a memory that was just forgotten and that agents can read all the same.

    Such a file was edited to something that may not be saved, so nothing but it holds that.
    """
    scope = workspace.scope(what.scope).name
    trees = [live_directory(workspace, scope, what.agent, one.path) for one in workspace.worktrees]
    files = [live.path / hot_file(what.file) for live in trees if live is not None]
    return tuple(path for path in dict.fromkeys(files) if path.is_file())


def move(
    workspace: Workspace, edges: Edges, found: FoundMemory, to: str, *, allowed: bool = False
) -> EditOutcome:
    """Moves a memory to another scope: it is added there before it is taken out here.

    Args:
        allowed: whether a person said that what may be a secret may go into the project scope.

    Raises:
        UsageError: it is there already, or its type may not go there.
        CheckFailed: it holds a secret, or may hold one and goes to the project scope.
    """
    target = workspace.scope(to)
    if target.name == found.scope:
        raise UsageError(f"{found.memory.name} is in {to} already")
    _may_enter(target, found.memory.type)
    source = workspace.scope(found.scope)
    both = f"{MOVE_JOB}{found.blob[:8]}-{int(edges.now)}"
    file = hot_file(found.file)
    taught = carried(blame_memory(source.repo, found.commit, found.path), f"{found.agent}/{file}")
    seen: list[Finding] = []

    def add(tip: Tip) -> Write:
        known = agent_files(target.repo, found.agent, tip)
        stands = current_place(target.repo, tip.tree, found.agent, file)
        if stands is not None and stands[1] != found.memory.render():
            raise UsageError(f"{to} holds another {file} already", "Rename one of them, or forget it.")
        edits = _with_index(target.repo, tip, found.agent, file, found.memory)
        if stands is not None and stands[0] != file:
            edits[f"{found.agent}/{stands[0]}"] = None
        hold = target.name == "project" and not allowed
        seen[:] = _refuse_secrets(edits, found.agent, known, workspace.allowed, hold)
        provenance = replace(_human(workspace, "add"), job=both, claims=taught)
        return Write(edits, f"Move {found.memory.name} here from {found.scope}", provenance)

    who = workspace.author(edges.now)

    def take(tip: Tip) -> Write | None:
        stands = current_place(source.repo, tip.tree, found.agent, found.file)
        if stands is None or stands[1] != found.memory.render():
            return None
        edits = _with_index(source.repo, tip, found.agent, stands[0], None)
        provenance = replace(_human(workspace, "delete"), job=both)
        return Write(edits, f"Move {found.memory.name} to {to}", provenance)

    with together(copies_of(workspace, edges)) as copies:
        # Both before anything is moved: one that cannot be saved must not leave half a move behind.
        copies(source, [found.agent], False)
        written = land(target, add, who, copies, found.agent)
        land(source, take, who, copies, found.agent)
    return EditOutcome(target, found.agent, found.memory, written, tuple(seen))


def _human(workspace: Workspace, op: Op) -> Provenance:
    return Provenance(op=op, writer="human", code_commit=workspace.code_head())


def _may_enter(scope: Scope, type: str) -> None:
    if scope.name == "project" and type == "user":
        raise UsageError(
            "A memory of type user never goes to the project scope", "Use --scope user or --scope local."
        )


def _named(known: dict[str, bytes], name: str) -> Memory | None:
    for file in sorted(filter(is_memory_file, known)):
        memory = parse(file, known[file])
        if memory.name == name or file == f"{name}.md":
            return memory
    return None


def _updated(old: Memory, name: str, description: str, type: str, body: str) -> Memory:
    if old.front is None:
        return create(name, description, type, body, old.path)
    front = old.front.with_value("description", description).with_value("type", type)
    return replace(old, front=front, body="\n" + body + "\n")


def _paged_out(scope: Scope, agent: str, tip: Tip, name: str) -> dict[str, bytes]:
    """What the archive holds under the files that a memory of this name would have."""
    return _in_archive(scope, agent, tip, [f"{name}.md", file_name(name)])


def _in_archive(scope: Scope, agent: str, tip: Tip, files: Iterable[str]) -> dict[str, bytes]:
    found = archive_contents(scope.repo, tip.tree, [f"{agent}/{file}" for file in files])
    return {path.partition("/")[2]: data for path, data in found.items()}


def _free_file(known: dict[str, bytes], name: str, taken: Callable[[str], bool]) -> str:
    files = map(file_name, numbered_names(name))
    return next(file for file in files if file not in known and not taken(file))


def _with_index(
    repo: Repository, tip: Tip, agent: str, file: str, memory: Memory | None
) -> dict[str, bytes | None]:
    """Edits that write one memory, or take it away with what the index says of it alone."""
    path = f"{agent}/{file}"
    edits = {path: memory.render() if memory else None}
    # One that was paged out may still have its line.
    home = f"{agent}/{hot_file(file)}"
    return with_indexes(repo, tip.tree, edits, () if memory else {home})


def _lift(edits: dict[str, bytes | None], agent: str, known: dict[str, bytes], memory: Memory) -> None:
    """A person who states a thing again lifts the tombstone on it."""
    text = decode(known.get(tombstone.FILE, b""))
    lifted = tombstone.without_keys(text, [claim.key for claim in memory.claims])
    if lifted != text:
        edits[f"{agent}/{tombstone.FILE}"] = encode(lifted) if lifted else None


def _refuse_secrets(
    edits: Edits, agent: str, known: dict[str, bytes], allow: frozenset[str], hold: bool
) -> tuple[Finding, ...]:
    before = {f"{agent}/{file}": data for file, data in known.items()}
    return refuse_secrets(before, edits, allow, hold=hold)


def _first_sentence(text: str) -> str:
    line = one_line(text.strip().splitlines()[0])
    for end in (". ", "; ", " because "):
        head = line.partition(end)[0]
        if len(head) >= 12:
            line = head
    line = line.rstrip(".")
    return line if len(line) <= DESCRIPTION_CHARS else line[: DESCRIPTION_CHARS - 1].rsplit(" ", 1)[0] + "…"


def united(first: Memory, second: Memory) -> Memory:
    """The first memory with what the second says and it does not; its frontmatter stays.

    The description of the second becomes a claim of the body where nothing else says it.
    """
    known = {claim.key for claim in first.claims}
    come = [claim for claim in second.parsed.claims if claim.key not in known]
    described = description_claim(second.description)
    keys = {*known, *(claim.key for claim in come)}
    if described and not any(says(key, second.description) for key in keys):
        come.append(described)
    if not come:
        return first
    return replace(first, body=f"{first.body.rstrip()}{_joined(come, first.parsed.claims[-1:])}\n")


def _joined(come: Iterable[Claim], before: Iterable[Claim]) -> str:
    """Claims as text behind others: items of a list stand close to each other, paragraphs apart."""
    text, last = "", next(iter(before), None)
    for claim in come:
        close = last is not None and last.item and claim.item
        text += ("\n" if close else "\n\n") + claim.text.strip("\n")
        last = claim
    return text


def merge_memories(
    workspace: Workspace, edges: Edges, first: FoundMemory, second: FoundMemory, *, dry_run: bool = False
) -> tuple[Memory, Written | None]:
    """Puts one memory into another of the same agent and scope, as one commit of the person's.

    What linked to the second by its name, the first one too, links to the first.

    Returns:
        The memory as it is afterwards, and the commit; None for a dry run.

    Raises:
        UsageError: they are one memory, or of different agents or scopes, or too large together; one alone
            is about a person; or a claim would stand otherwise in the other's text.
        CheckFailed: one of them changed meanwhile, or the result holds a secret.
    """
    if first.address == second.address:
        raise UsageError(f"{first.address} is one memory", "Name two: git mem merge INTO FROM")
    if (first.scope, first.agent) != (second.scope, second.agent):
        hint = f"Bring it there first: git mem move {second.memory.name} --to {first.scope}"
        raise UsageError(f"{first.address} and {second.address} do not stand together", hint)
    if (first.memory.type == "user") != (second.memory.type == "user"):
        # What is about a person is never shared, which its type says.
        about = first if first.memory.type == "user" else second
        hint = "Keep them apart, or give both one type: git mem show NAME"
        raise UsageError(f"{about.address} is about a person (type user), and the other is not", hint)
    names = (second.memory.name, first.memory.name)
    into_it, from_it = (
        parse(one.file, _leading_on(one.memory.render(), *names)) for one in (first, second)
    )
    after = united(into_it, from_it)
    keys = {claim.key: claim for claim in after.claims}
    if any(claim.key not in keys for one in (into_it, from_it) for claim in one.parsed.claims):
        hint = f"Is a code block open at its end? Close it: git mem show {first.memory.name}"
        raise UsageError(f"The claims of both cannot be put one after the other in {first.address}", hint)
    if len(after.render()) > MEMORY_BYTES:
        raise UsageError(f"Both are larger than {MEMORY_BYTES:,} bytes", "Keep them apart, or shorten one.")
    if dry_run:
        return after, None
    scope, agent = workspace.scope(first.scope), first.agent
    into, gone = f"{agent}/{hot_file(first.file)}", f"{agent}/{second.file}"
    fates = tuple(
        Fate("merged", reference(gone, claim), reference(into, keys[same.key]), "merged by hand")
        for claim, same in zip(second.memory.parsed.claims, from_it.parsed.claims, strict=True)
    )

    def plan(tip: Tip) -> Write:
        for one in (first, second):
            _as_shown(scope, tip, one)
        known = agent_files(scope.repo, agent, tip)
        edits: dict[str, bytes | None] = {into: after.render(), gone: None}
        if first.file != hot_file(first.file):
            edits[f"{agent}/{first.file}"] = None
        for file, data in known.items():
            led = _leading_on(data, *names) if is_memory_file(file) else data
            if led != data and f"{agent}/{file}" not in edits:
                edits[f"{agent}/{file}"] = led
        edits = with_indexes(scope.repo, tip.tree, edits, {f"{agent}/{hot_file(second.file)}"})
        before = {f"{agent}/{file}": data for file, data in known.items()}
        refuse_secrets(before, edits, workspace.allowed, hold=scope.name == "project")
        told = Provenance("update", "human", code_commit=workspace.code_head(), claims=fates)
        return Write(edits, f"Merge {second.memory.name} into {first.memory.name}", told)

    written = land(scope, plan, workspace.author(edges.now), copies_of(workspace, edges), agent)
    return after, written


def _leading_on(data: bytes, name: str, to: str) -> bytes:
    """A memory whose links by one name lead to another."""
    return encode(decode(data).replace(f"[[{name}]]", f"[[{to}]]"))
