"""What was chosen for a question is opened, held against the code, and becomes an answer.

With it goes who else taught a memory and who would change it. What is on a branch that nobody took in
counts as nobody's memory yet, and nobody has looked for secrets in it: none of it is recalled. But who
relies on a memory should know that another version of it waits. That is kept by where all the refs stand,
in a file that can be deleted at no loss.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import GitmemError, MissingObject
from gitmem.core.limits import PROMPT_SECONDS, RECALLED
from gitmem.flows.context import Edges
from gitmem.git.command import GitCommand, peek
from gitmem.git.ref_files import holds
from gitmem.ledger.files import read_json, write_atomically
from gitmem.ledger.workspace import BOUND, PRIVATE_REF, SHARED_REF, TURNED_DOWN, Scope, Workspace
from gitmem.search.content import Opened, open_content
from gitmem.search.gate import REFERENCE, Selection, explains, said_by, warns
from gitmem.search.query import Candidate, RecallSource
from gitmem.search.recall import (
    Later,
    NotShown,
    Recall,
    later_ones,
    plain_place,
    recall,
)
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.references import Named, NameFate
    from gitmem.flows.recalled_lines import Settled
    from gitmem.flows.rule_files import HeadRules
    from gitmem.git.repository import Commit, Repository
    from gitmem.ledger.taint import Tainted


MOST_COMMITS = 8
"""Commits that are looked at for the one that brought a memory."""

_TAUGHT = frozenset({"", "add", "update"})
"""What a commit did whose author taught the content; a merge, dream or paging only brings it."""

FETCHED = "a newer version of it is fetched and not merged yet (`git mem sync`)"
DREAMT = "a dream's change to it waits in `git mem review`"
SENT = "a change to it by someone else waits in `git mem review`"

MOST_REFS = 16
SECONDS = 1.0
FILE = "waiting-changes.json"
BYTES = 16 << 20
VERSION = 1

_FAMILIES = ("refs/remotes", "refs/heads/gitmem", "refs/gitmem", "refs/heads/dream")


@dataclass(frozen=True)
class RecallQuestion:
    """What an answer is made for.

    Attributes:
        shown: blobs that this session has seen already.
        limit: memories at most.
        agents: folders of the agents that count; None for all.
        patience: seconds that a look at the code may take.
        tools: names the tools in use: references that only explain one of them are left out.
        asked: whether somebody asked: then a memory that became a rule answers, too.
        amended: whether what amends a memory comes before it.
    """

    text: str
    shown: Set[str] = frozenset()
    limit: int = RECALLED
    agents: Set[str] | None = None
    patience: float = PROMPT_SECONDS
    tools: Callable[[], Set[str]] = field(default=frozenset)
    asked: bool = True
    amended: bool = True


def make_answer(
    workspace: Workspace,
    edges: Edges,
    sources: Sequence[RecallSource],
    scopes: Mapping[str, str],
    candidates: Sequence[Candidate],
    chosen: Selection,
    question: RecallQuestion,
) -> Recall:
    """Opens what was chosen among candidates, and what amends it."""
    held = {ref: source for source in sources for ref in source.scopes}
    now, patience = int(edges.now), question.patience
    selection, notes = divided(workspace, held, chosen, patience)
    known = _Known(workspace, sources, patience, notes)
    later = None
    if question.amended:
        later = _merged(workspace, held, later_ones(sources, question.agents, now), patience)
    return recall(
        question.text,
        candidates,
        _Reader(workspace, held, question.tools, asked=question.asked),
        now,
        scopes,
        question.shown,
        question.limit,
        known,
        selection,
        known.about,
        later,
    )


_Notes = Mapping[tuple[str, str], str]
"""What is to be said of memories for the code that they were taught on, by ref and path."""


def divided(
    workspace: Workspace,
    held: Mapping[str, RecallSource],
    selection: Selection,
    patience: float,
) -> tuple[Selection, _Notes]:
    """A choice without what was taught on code that is not here, and what is to be said of the rest."""
    if not any(one.type in BOUND and not one.commit for one in selection.chosen):
        return selection, {}
    from gitmem.flows.code_reach import divide

    return divide(workspace, held, selection, patience)


def _merged(workspace: Workspace, held: Mapping[str, RecallSource], later: Later, patience: float) -> Later:
    """The same, without what was taught on code that is not here: it amends nothing here."""

    def here(one: Candidate, text: str) -> Sequence[Candidate]:
        kept, _ = divided(workspace, held, Selection(tuple(later(one, text))), patience)
        return kept.chosen

    return here


class _Known:
    """Asks git about what is shown; loaded only where something is."""

    def __init__(
        self, workspace: Workspace, sources: Sequence[RecallSource], patience: float, notes: _Notes
    ) -> None:
        self._workspace, self._sources, self._patience = workspace, sources, patience
        self._notes = notes

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[NameFate]]:
        """See `references.Code`."""
        if not any(one.paths or one.words for one in asked):
            return [()] * len(asked)
        from gitmem.search.code import CodeNow  # most memories name nothing of the code

        place = self._workspace
        return CodeNow(place.git, place.top, place.layout.common_dir, place.state, self._patience).look(
            asked
        )

    def about(self, shown: Sequence[Candidate]) -> Sequence[Sequence[str]]:
        """See `recall.About`."""
        facts = _facts_on(self._workspace, self._sources, shown)
        notes = [self._notes.get((one.ref, one.path)) for one in shown]
        return [[*([note] if note else ()), *known] for note, known in zip(notes, facts, strict=True)]


class _Reader:
    """Opens what was chosen; what then proves not to be worth showing is refused.

    Args:
        asked: whether somebody asked: then a memory that became a rule answers, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        held: Mapping[str, RecallSource],
        tools: Callable[[], Set[str]],
        *,
        asked: bool,
    ) -> None:
        self._workspace, self._held, self._tools, self._asked = workspace, held, cache(tools), asked
        self._opened: list[tuple[Candidate, str]] = []
        self._settled: Settled = {}
        self._in_head: HeadRules | None = None
        self._tainted: Tainted | None = None

    def __call__(self, candidate: Candidate) -> Opened:
        if candidate.kind == "log":
            from gitmem.flows.recalled_lines import opened  # most scopes keep no log

            said = opened(self._workspace, self._held[candidate.ref], candidate, self._settled)
        else:
            said = self._open(candidate)
            if said.points and not candidate.commit and (file := self._rule_in(candidate)):
                if not self._asked:
                    raise NotShown("promoted", file)
                said = replace(said, known=(*said.known, f"now a rule in {plain_place(file)}"))
        shown = replace(candidate, name=said.name, description=said.description, type=said.type)
        in_use = shown.type == REFERENCE and explains(shown, self._tools())
        if in_use and not warns(f"{said.description}\n{said.body}"):
            raise NotShown("in-use")
        at = said_by(said.body, [body for _, body in self._opened])
        if at is not None:
            raise NotShown("duplicate", self._opened[at][0].path)
        self._opened.append((candidate, said.body))
        return said

    def _rule_in(self, candidate: Candidate) -> str:
        """The instruction file of HEAD that says what a memory says, which the agent reads anyway."""
        from gitmem.core.memory import parse  # few memories were promoted
        from gitmem.flows.rule_files import HeadRules

        self._in_head = self._in_head or HeadRules(self._workspace)
        source = self._held[candidate.ref]
        memory = parse(candidate.path, source.repo.blob(candidate.blob))
        return self._in_head.stands(candidate.path, memory, source.scopes[candidate.ref])

    def _open(self, candidate: Candidate) -> Opened:
        """What a memory says, without what holds a secret: as the index has kept it, else from its content.

        Raises:
            NotShown: nobody whom the person trusts signed it, and that is required.
            MissingObject: it cannot be read, or nothing of it may be shown.

        Everything of one's own was screened before it was stored; what others pushed was looked at by
        whoever wrote next: loading the detector costs more than the rest of a recall.
        """
        workspace, source, hidden = self._workspace, self._held[candidate.ref], False
        if candidate.ref == workspace.scope("project").ref:
            from gitmem.ledger.taint import read_tainted, without_secrets

            self._tainted = self._tainted or read_tainted(workspace.state)
            if workspace.settings.requires_signed:
                from gitmem.ledger.signatures import unproved_paths

                if unproved_paths(workspace, {candidate.path: candidate.blob}, candidate.commit):
                    raise NotShown("unsigned")
            hidden = bool(self._tainted.hides(candidate.blob, workspace.allowed))
        said = None if hidden else source.catalog.opened(candidate.blob)
        if said is not None and not holds(source.repo.git, source.repo.git_dir, candidate.blob):
            raise MissingObject(f"{candidate.path} is in the index alone")  # what git lost nobody can check
        if said is None:
            data = source.repo.blob(candidate.blob)
            if hidden:
                said = open_content(without_secrets(workspace, candidate.path, data))
            else:
                said = open_content(data)
                source.catalog.keep_opened(candidate.blob, said)
        return said if said.name else replace(said, name=candidate.name)


def _facts_on(
    workspace: Workspace, sources: Sequence[RecallSource], shown: Sequence[Candidate]
) -> list[list[str]]:
    """Facts on each of some memories, whichever source they are from."""
    facts: list[list[str]] = [[] for _ in shown]
    for source in sources:
        for ref, name in source.scopes.items():
            places = {one.path: at for at, one in enumerate(shown) if one.ref == ref}
            if not places:
                continue
            memories = [shown[at] for at in places.values()]
            for path, found in _facts(workspace, source, workspace.scope(name), memories).items():
                facts[places[path]] += found
    return facts


def _facts(
    workspace: Workspace, source: RecallSource, scope: Scope, shown: Sequence[Candidate]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {one.path: [] for one in shown}
    with suppress(GitmemError, OSError, ValueError):
        # With sharing off nobody else teaches, but for a person who names whom they trust.
        if scope.name == "project" and (workspace.sharing != "off" or workspace.settings.get("trust")):
            for path, fact in _others(workspace, source, scope.ref, shown):
                found[path].append(fact)
        past = [one for one in shown if one.commit]
        for one in past:
            if fact := _since(source.repo, one):
                found[one.path].append(fact)
        present = {one.path: one.blob for one in shown if not one.commit and one.kind == "memory"}
        if present:
            changes = waiting(source.repo, workspace.git, scope.state, scope.ref, present)
            for path, facts in changes.items():
                found[path] += facts
    return found


def _others(
    workspace: Workspace, source: RecallSource, ref: str, shown: Sequence[Candidate]
) -> list[tuple[str, str]]:
    """Who taught a memory of the team: what is proved, or whom its commit names, where that is another."""
    from gitmem.core.trailers import parse
    from gitmem.ledger.signatures import plain_name, proofs, trusts  # most memory is nobody else's

    repo = source.repo
    if trusts(workspace):
        files = {one.path: _file(repo, ref, one) for one in shown}
        at = next((one.commit for one in shown), "")
        proved = proofs(workspace, dict(files.values()), at)
        return [(path, proved[file].words) for path, (file, _) in files.items()]
    blobs = {one.path: one.blob for one in shown if one.kind == "memory"}
    found = source.catalog.brought(ref, blobs) if blobs else {}
    commits = {path: _bringer(repo, some, path, blobs[path]) for path, some in found.items()}
    for one in shown:
        if one.kind == "log":
            from gitmem.flows.recalled_lines import bringer  # most scopes keep no log

            commits[one.path] = bringer(workspace, repo, one.commit or repo.ref(ref) or "", one)
    facts = []
    mine = ""
    with suppress(GitmemError):  # git may know no identity
        mine = workspace.person.email.lower()
    for path, commit in commits.items():
        if commit is None or len(commit.parents) > 1 or parse(commit.message).op not in _TAUGHT:
            continue
        if commit.author.email.lower() != mine and (name := plain_name(commit.author.name)):
            facts.append((path, f'taught by "{name}"'))
    return facts


def _file(repo: Repository, ref: str, one: Candidate) -> tuple[str, str]:
    """Path and blob of the file that is shown, or that has the line which is."""
    if one.kind == "memory":
        return one.path, one.blob
    from gitmem.core.daily_log import log_of  # most scopes keep no log

    path = log_of(one.path)
    entry = repo.entry(repo.commit(one.commit or repo.ref(ref) or "").tree, path)
    return path, entry.oid if entry else ""


def _bringer(repo: Repository, commits: Sequence[str], path: str, blob: str) -> Commit | None:
    """The first of some commits that brought a content to a path."""
    for oid in commits[:MOST_COMMITS]:
        with suppress(MissingObject):
            commit = repo.commit(oid)
            trees = [commit.tree, *(repo.commit(one).tree for one in commit.parents)]
            here, *before = ((entry := repo.entry(tree, path)) and entry.oid for tree in trees)
            if here == blob and blob not in before:
                return commit
    return None


def _since(repo: Repository, one: Candidate) -> str:
    """What became of a memory that is shown as of then."""
    tip = repo.ref(one.ref)
    if one.kind == "log":
        from gitmem.core.daily_log import fact_in, log_of, other_place  # most scopes keep no log
        from gitmem.git.trees import read_paths

        path = log_of(one.path)
        held = read_paths(repo, repo.commit(tip).tree, {path, other_place(path)}) if tip else {}
        there = any(fact_in(one.path, data) is not None for data in held.values())
        return "" if there else "no longer in its log"
    entry = repo.entry(repo.commit(tip).tree, one.path) if tip else None
    if entry is None:
        return "no longer in memory at this place: superseded, moved or forgotten since"
    return "" if entry.oid == one.blob else "changed since then"


def waiting(
    repo: Repository, git: GitCommand, state: Path, ref: str, blobs: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Facts on some memories of a ref.

    Args:
        state: folder for what can be deleted.
        blobs: path in the ref's tree to the blob that stands there.
    """
    with suppress(GitmemError, OSError, ValueError):
        refs = _refs(git, repo.git_dir)
        own = refs.get(ref, "")
        sides = dict(list(_sides(refs, ref).items())[:MOST_REFS])
        if not own or not sides:
            return {}
        key = hashlib.sha256(json.dumps([VERSION, ref, own, sides], sort_keys=True).encode()).hexdigest()
        known = _read(state / FILE, key)
        if known is None:
            known = {
                fact: _changes(repo, own, [side for side, of in sides.items() if of == fact])
                for fact in dict.fromkeys(sides.values())
            }
            value = json.dumps({"key": key, "changes": known}).encode()
            with suppress(OSError):
                write_atomically(state / FILE, value)
        return {
            path: tuple(
                fact for fact, changes in known.items() if any(b != blob for b in changes.get(path, ()))
            )
            for path, blob in blobs.items()
        }
    return {}


def _refs(git: GitCommand, git_dir: Path) -> dict[str, str]:
    words = [f"--git-dir={git_dir}", "for-each-ref", "--format=%(refname) %(objectname)", *_FAMILIES]
    seen = peek(git, words, cwd=git_dir, seconds=SECONDS, size=1 << 20)
    lines = seen.text.split("\n")[:-1] if seen.returncode == 0 else []
    return dict(line.split(" ", 1) for line in lines)


def _sides(refs: Mapping[str, str], ref: str) -> dict[str, str]:
    """Refs that hold changes to a ref's memory, without what the person turned down: commit to fact."""
    team = ref in (PRIVATE_REF, SHARED_REF)
    here = ("refs/heads/gitmem/dream/", "refs/gitmem/dream/") if team else ("refs/heads/dream/",)
    found: dict[str, str] = {}
    for name, oid in sorted(refs.items()):
        remote = name.split("/", 3)[3] if name.startswith("refs/remotes/") and name.count("/") > 2 else ""
        fact, id = "", name.rpartition("/")[2]
        if name.startswith(here) or (team and remote.startswith("gitmem/dream/")):
            fact = DREAMT
        elif remote == "gitmem/project" and ref == SHARED_REF:
            fact = FETCHED
        elif remote.startswith("gitmem/inbox/") and ref == SHARED_REF:
            from gitmem.core.names import inbox_id  # few repositories have an inbox

            fact, id = SENT, inbox_id(f"refs/heads/{remote}")
        if fact and oid != refs.get(ref) and refs.get(TURNED_DOWN + id) != oid:
            found.setdefault(oid, fact)
    return found


def _changes(repo: Repository, own: str, sides: Iterable[str]) -> dict[str, list[str]]:
    """What side branches made of memories since they parted: path to blobs, empty for one taken out."""
    from gitmem.git.trees import changed_files
    from gitmem.ledger.land import root_name  # most memory has no side branch

    changes: dict[str, list[str]] = {}
    for side in sides:
        with suppress(MissingObject):
            bases = repo.merge_bases(own, side)
            # What shares no more than the root that all memory has is another memory.
            if not bases or side in bases or root_name(repo) in bases:
                continue
            base, tree = repo.commit(bases[0]).tree, repo.commit(side).tree
            for path in changed_files(repo, base, tree):
                entry = repo.entry(tree, path)
                changes.setdefault(path, []).append(entry.oid if entry else "")
    return changes


def _read(file: Path, key: str) -> dict[str, dict[str, list[str]]] | None:
    value = read_json(file, BYTES)
    with suppress(KeyError, TypeError, AttributeError):
        if value["key"] == key:
            return {
                str(fact): {str(path): list(map(str, blobs)) for path, blobs in changes.items()}
                for fact, changes in value["changes"].items()
            }
    return None
