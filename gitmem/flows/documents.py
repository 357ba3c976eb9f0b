"""Living documents are kept true: an engine is asked for those whose code changed, and its answer proposed.

What is proposed stands on a branch (`document_branch`), which is made anew on new code; a work tree stays
as it is. The worker looks after commits, a person with `git mem docs update`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from gitmem.core.errors import EngineError, GitmemError, MissingObject, RepositoryError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Usage
from gitmem.engines.derivation import document_problems
from gitmem.engines.engine import Document, DocumentInput, Engine, Stale
from gitmem.flows.context import Edges, own_text
from gitmem.flows.document_branch import (
    NAME,
    DocumentChange,
    DocumentNotes,
    change_notes,
    code_branch,
    held,
    move,
    read_branch,
    read_notes,
    stale_line,
)
from gitmem.flows.document_check import Checked, check, documents
from gitmem.flows.document_text import Doc, linked
from gitmem.git.repository import short_name
from gitmem.git.trees import changed_files
from gitmem.ledger.job_record import RunTally
from gitmem.ledger.layout import blob_name
from gitmem.ledger.workspace import BRANCHES, DOCS_REF, Workspace
from gitmem.search.code_files import CodeFiles, Places, is_prose

WHAT = "living documents"

PROMPT = "docs-prompt.md"
"""What the person put in the place of the default task, in `$XDG_CONFIG_HOME/gitmem`."""

PROMPT_BYTES = 64 << 10
MOST_FILES = 20
MOST_DIFF = 64 << 10
"""Characters of all differences that an engine is given."""

MOST_LINES = 40
"""Lines that a commit's message says of a change."""

_DIFF = ("diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")

Outcome = Literal["proposed", "unchanged", "deleted", "nothing", "left"]
Result = Literal["proposed", "kept", "true", "open", "rejected", "refused", "failed"]


class NotNow(RepositoryError):
    """HEAD is on no branch of the code."""

    kind = "not-now"


@dataclass(frozen=True)
class DocumentResult:
    """What came of one document.

    Attributes:
        result: `kept` where what was proposed before still stands, `open` where something does not hold
            and nothing is proposed.
        id: of the proposal; empty where there is none.
        why: for `refused` and `failed`.
        stale: what does not hold.
        before, after: the document, and what is proposed; equal where nothing is.
    """

    path: str
    result: Result
    id: str = ""
    why: str = ""
    stale: tuple[Stale, ...] = ()
    notes: tuple[str, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Update:
    """What was done, or would be.

    Attributes:
        outcome: what became of the branch, or would.
        head: commit of the code that it is for.
        before, tip: where the branch was, and is now; empty where it is not.
        changes: what it holds, or would.
        left: why it stays as it is, whatever was found; empty where it need not.
        engine: who was asked; empty for nobody.
        usage: what engines used.
        log: what they tried and were refused.
    """

    outcome: Outcome
    head: str
    before: str
    tip: str
    changes: tuple[DocumentChange, ...] = ()
    told: tuple[DocumentResult, ...] = ()
    left: str = ""
    engine: str = ""
    usage: tuple[Usage, ...] = ()
    log: tuple[str, ...] = ()


def keep_documents(workspace: Workspace, edges: Edges, tally: RunTally) -> None:
    """Proposes changes to documents that new commits made untrue, and tells of it.

    What fails is tried again after the next commit: the job itself is done.

    Args:
        workspace: of the work tree in which the commits were made.
    """
    if not workspace.settings.flag("docs"):
        return
    from gitmem.flows.engines import engine_for

    try:
        done = update(workspace, edges, lambda: engine_for(workspace, edges))
    except NotNow as reason:
        tally.skip(WHAT, reason.message.partition(": ")[2])
        return
    except (GitmemError, OSError) as error:
        tally.skip(WHAT, str(error))
        return
    for usage in done.usage:
        tally.spent(usage)
        tally.engine = tally.engine or done.engine
    tally.log += done.log
    if done.left:
        tally.skip(WHAT, f"{NAME} is left alone: {done.left}")
    for told in done.told:
        if told.result in ("refused", "failed"):
            tally.skip(told.path, told.why)
        elif told.result == "proposed" and done.outcome == "proposed":
            tally.log.append(f"{told.path}: a change waits in git mem review ({told.id})")
        elif told.result == "open":
            what = counted(len(told.stale), "statement")
            tally.log.append(f"{told.path}: {what} no longer true: git mem docs check")
    if done.outcome == "deleted":
        tally.log.append(f"{NAME} is deleted: nothing is proposed any more")


def update(
    workspace: Workspace,
    edges: Edges,
    engine: Callable[[], Engine],
    paths: tuple[str, ...] | None = None,
    *,
    all: bool = False,
    dry_run: bool = False,
) -> Update:
    """Looks at documents, asks for what makes them true, and moves the branch to it.

    Args:
        engine: makes the engine, where one is asked.
        paths: these documents, also where what was proposed for them was rejected; None for those that
            new commits may have made untrue.
        all: every document.
        dry_run: nothing is written; the engine is asked all the same.

    Raises:
        NotNow: nothing is to be built on the code as it stands.
        UsageError: a path that was asked for is no living document of HEAD.
        RefMoved: somebody moved the branch meanwhile.
        RepositoryError: the branch cannot be read or written.
    """
    with closing(CodeFiles(workspace.git, workspace.top)) as files:
        return _Look(workspace, edges, files, engine, paths, all).run(dry_run)


def _branch_of(workspace: Workspace) -> str:
    """The branch of the code that is checked out: a full ref name.

    Raises:
        NotNow: nothing is to be built on that.
    """
    branch, why = code_branch(workspace), ""
    if not branch:
        why = "HEAD is detached"
    elif branch.startswith(BRANCHES):
        why = f"{short_name(branch)} is checked out"
    elif not workspace.code_head():
        why = f"{short_name(branch)} has no commit yet"
    if why:
        raise NotNow(f"Documents are left alone: {why}", "Run it again on a branch of the code.")
    return branch


@dataclass
class _Look:
    """One look at the documents of a branch of the code.

    Attributes:
        paths, every: as for `update`.
        changes: what the engine made, and what of that it did before stays as it is.
        answered: ids of changes to keys of what they answer.
        failed: documents for which the engine could not do its work.
    """

    workspace: Workspace
    edges: Edges
    files: CodeFiles
    make: Callable[[], Engine]
    paths: tuple[str, ...] | None
    every: bool
    changes: list[DocumentChange] = field(default_factory=list)
    answered: dict[str, str] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    usage: list[Usage] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def run(self, dry_run: bool) -> Update:
        """Does it."""
        workspace, repo = self.workspace, self.workspace.code
        tip = repo.ref(DOCS_REF)  # before HEAD: who then finds it there has seen the newest code, too
        branch, head, notes = _branch_of(workspace), self.head, self.notes
        standing = read_branch(workspace, tip, [head], notes.made) if tip else None
        merged = tip is not None and repo.is_ancestor(tip, head)
        if standing and merged:
            standing = replace(standing, whose="")
        if standing and (left := held(workspace, standing)):
            return Update("left", head, standing.tip, standing.tip, left=left)
        docs = {doc.path: doc for doc in documents(self.files, head)}
        wanted = self._wanted(branch, docs)
        # Proposals are for one branch; where that is gone, they follow whoever commits.
        other = notes.branch not in ("", branch) and repo.ref(notes.branch) is not None
        had = {one.path: one for one in standing.changes} if standing and not other else {}
        for path, change in had.items():
            entry = repo.entry(self.tree, path)
            if path not in docs or path in wanted or entry is None or entry.oid == change.after:
                continue
            if (entry.oid, entry.mode) == (change.before, change.mode):
                self.changes.append(change)
            else:
                wanted.add(path)
        told = [DocumentResult(one.path, "kept", one.id) for one in self.changes]
        engine = self.make() if wanted else None
        checked = check(self.files, head, [docs[path] for path in sorted(wanted)])
        told = [*(self._told(engine, one, had.get(one.doc.path)) for one in checked if engine), *told]
        changes = tuple(sorted(self.changes, key=lambda one: one.path))
        left = (
            f"it is for {short_name(notes.branch)}"
            if other and standing and not (changes or merged)
            else ""
        )
        outcome: Outcome = (
            "left" if left else "proposed" if changes else "deleted" if standing else "nothing"
        )
        if (
            standing
            and standing.base == head
            and [(one.path, one.after) for one in standing.changes]
            == [(one.path, one.after) for one in changes]
        ):
            outcome = "unchanged"
        before = tip or ""
        if not dry_run:
            if outcome in ("proposed", "deleted"):
                why = "proposed" if changes else "nothing is proposed any more"
                tip = move(workspace, self.edges, standing, head, changes, why)
            replaced = [one.path for one in standing.changes] if other and standing and not left else []
            self._note(branch, wanted, replaced, tip or "", left)
        name = engine.name if engine else ""
        done = Update(outcome, head, before, tip or "", changes, tuple(told), left, name)
        return replace(done, usage=tuple(self.usage), log=tuple(self.log))

    @cached_property
    def head(self) -> str:
        """The commit of the code."""
        return self.workspace.code_head()

    @cached_property
    def tree(self) -> str:
        """Its tree."""
        return self.workspace.code.commit(self.head).tree

    @cached_property
    def notes(self) -> DocumentNotes:
        """What was noted before."""
        return read_notes(self.workspace.state)

    def _note(
        self, branch: str, wanted: Collection[str], replaced: Sequence[str], tip: str, left: str
    ) -> None:
        def change(known: DocumentNotes) -> DocumentNotes:
            due, checked = dict(known.due), dict(known.checked)
            waits = () if self.paths is None else due.get(branch, ())
            due[branch] = (*(path for path in waits if path not in wanted), *self.failed)
            if replaced:
                due[known.branch] = tuple(dict.fromkeys([*due.get(known.branch, ()), *replaced]))
            if self.paths is None:  # the newest one last
                checked.pop(branch, None)
                checked[branch] = self.head
            asked = {**known.asked, **self.answered}
            made = set(self.answered.values())
            rejected = {key: path for key, path in known.rejected.items() if key not in made}
            kept = replace(known, checked=checked, due=due, asked=asked, rejected=rejected)
            return kept if left else replace(kept, branch=branch if tip else "")

        change_notes(self.workspace.state, change)

    def _wanted(self, branch: str, docs: Mapping[str, Doc]) -> set[str]:
        """Paths of the documents to look at."""
        if self.every:
            return set(docs)
        if self.paths is not None:
            lacking = [path for path in self.paths if path not in docs]
            if lacking:
                raise UsageError(
                    f"{lacking[0]} is no living document of {short_name(branch)}",
                    "See which are: git mem docs list",
                )
            return set(self.paths)
        changed = self._changed(branch) if docs else set()
        found = {path for path, doc in docs.items() if _touched(doc, changed)}
        return found | (docs.keys() & set(self.notes.due.get(branch, ())))

    def _changed(self, branch: str) -> set[str]:
        """What the commits since the last look changed; without one, the newest commit."""
        since = self.notes.checked.get(branch, "")
        found = self._between(since) if since else None
        parents = self.workspace.code.commit(self.head).parents
        return found if found is not None else self._between(*parents[:1]) or set()

    def _between(self, old: str = "") -> set[str] | None:
        """Paths in which HEAD differs from a commit, or from nothing; None where that one is gone."""
        repo = self.workspace.code
        with suppress(MissingObject):
            return changed_files(repo, repo.commit(old).tree if old else None, self.tree)
        return None

    def _told(self, engine: Engine, checked: Checked, had: DocumentChange | None) -> DocumentResult:
        """Looks at one document; what is proposed for it is noted.

        Args:
            had: what is proposed already.

        Raises:
            DetectorUnavailable: nothing can be said of what may be a secret.
        """
        doc, stale, notes = checked.doc, checked.stale, (checked.note,) if checked.note else ()
        result: Result = "open" if stale else "true"
        told = DocumentResult(doc.path, result, "", "", stale, notes, doc.text, doc.text)
        entry = self.workspace.code.entry(self.tree, doc.path)
        changed = self._differences(checked) if engine.name != "offline" else {}
        if entry is None or not (stale or changed):
            return told
        key = _key(doc.path, entry.oid, stale, changed)
        if self.paths is None and key in self.notes.rejected:
            return replace(told, result="rejected")
        prompt = ""
        with suppress(OSError):
            prompt = own_text(self.edges, PROMPT, PROMPT_BYTES).strip()
        given = DocumentInput(doc.path, doc.text, doc.title, doc.instructions, prompt, stale, changed)
        try:
            made = engine.document(replace(given, worktree=self.workspace.top, now=self.edges.now))
        except EngineError as error:
            self.failed.append(doc.path)
            return replace(told, result="failed", why=error.message)
        self.usage += [made.usage] if made.usage else []
        self.log += made.log
        told = replace(told, notes=(*notes, *made.notes))
        if made.text == doc.text:
            return told
        if wrong := document_problems(given, made.text):
            return replace(told, result="refused", why=f"the proposal cannot be taken: {wrong[0]}")
        data = made.text.encode("utf-8")
        after = blob_name(data, self.workspace.code.hex_length)
        body, usage = _body(checked, made), made.usage
        change = DocumentChange(doc.path, entry.oid, after, entry.mode, engine.name, body, data, usage)
        self.changes.append(change)
        self.answered[change.id] = key
        result = "kept" if had is not None and had.after == after else "proposed"
        return replace(told, result=result, id=change.id, after=made.text)

    def _differences(self, checked: Checked) -> dict[str, str]:
        """What changed in files that a document names since it was last changed itself."""
        git, since = replace(self.workspace.git, fetches=False), checked.since
        paths = (self._between(since) if since else None) or set()
        named = [path for path in sorted(paths - {checked.doc.path}) if _touched(checked.doc, [path])]
        found: dict[str, str] = {}
        room = MOST_DIFF
        for path in named[:MOST_FILES]:
            words = [*_DIFF, since, self.head, "--", f":(top,literal){path}"]
            done = git.run(words, cwd=self.workspace.top, check=False)
            text = done.stdout.decode("utf-8", "replace")[:room]
            room -= len(text)
            if text:
                found[path] = text
        return found


def _key(path: str, oid: str, stale: Sequence[Stale], changed: Mapping[str, str]) -> str:
    """Names what an engine is asked: where that was answered by what a person rejected, nothing is new."""
    rows = sorted((one.kind, one.name, one.became) for one in stale)
    told = json.dumps([path, oid, rows, sorted(changed.items())])
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _body(checked: Checked, made: Document) -> str:
    # What an engine did about a name that is told of already says nothing more.
    more_said = [why for why in made.reasons if not any(one.name in why for one in checked.stale)]
    lines = [stale_line(one) for one in checked.stale]
    lines += [one_line(f"- {reason}", 160) for reason in more_said]
    more = len(lines) - MOST_LINES
    told = list(dict.fromkeys(lines[:MOST_LINES]))
    return "\n".join([*told, *([f"- and {more} more"] if more > 0 else [])])


def _touched(doc: Doc, changed_paths: Collection[str]) -> bool:
    """Whether a change of some files may make a document untrue.

    Any change of code may where the document names symbols, flags or commands.

    Args:
        changed_paths: from the top of the work tree; of a rename both.
    """
    if doc.path in changed_paths:
        return True
    changed = Places(dict.fromkeys(changed_paths, ""))
    by_words = any(one.parts for one in doc.statements)
    if by_words and any(not is_prose(path) for path in changed_paths):
        return True
    return any(
        changed.anywhere(linked(one, doc.path) if one.kind == "link" else one.target)
        or bool(changed.meant(one.target, doc.path.rpartition("/")[0]))
        for one in doc.statements
        if not one.parts
    )
