"""Living documents are kept true: an engine is asked for those whose code changed, and its answer proposed.

What is proposed stands on a branch (`document_branch`), which is made anew on new code; a work tree stays
as it is. The worker looks after commits, a person with `git mem docs update`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from gitmem.core.errors import EngineError, GitmemError, RepositoryError, UsageError
from gitmem.core.text import counted, find_invisible, one_line
from gitmem.core.trailers import Usage
from gitmem.engines.engine import Document, DocumentInput, Engine, Stale
from gitmem.flows.context import Edges, own_text
from gitmem.flows.document_branch import (
    NAME,
    DocumentBranch,
    DocumentChange,
    DocumentNotes,
    build,
    change_kept,
    checked_out,
    has,
    key_of,
    read_branch,
    read_kept,
    stale_line,
)
from gitmem.flows.document_check import Checked, check, documents, touched
from gitmem.flows.document_text import MOST_BYTES, Doc, parse
from gitmem.git.objects import object_name
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, EXECUTABLE, RefMoved, short_name
from gitmem.ledger.job_record import RunTally
from gitmem.ledger.layout import blob_name
from gitmem.ledger.workspace import DOCS_REF, Workspace
from gitmem.rules.secrets import find_secrets

WHAT = "living documents"

ATTEMPTS = 5
"""Lost races after which another time is better: each of the others did the same work."""

PROMPT = "docs-prompt.md"
"""What the person put in the place of the default task, in `$XDG_CONFIG_HOME/gitmem`."""

PROMPT_BYTES = 64 << 10
MOST_FILES = 20
MOST_DIFF = 64 << 10
"""Characters of all differences that an engine is given."""

MOST_LINES = 40
"""Lines that a commit's message says of a change."""

MEMORY = "refs/heads/gitmem/"
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisect",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""Files of a git directory that show what is under way there."""

Outcome = Literal["proposed", "unchanged", "deleted", "nothing", "left"]
Result = Literal["proposed", "kept", "true", "open", "rejected", "refused", "failed"]


class NotNow(RepositoryError):
    """HEAD is on no branch of the code, or git is in the middle of something."""

    kind = "not-now"


@dataclass(frozen=True)
class CodeBranch:
    """A branch of the code, as a work tree has it.

    Attributes:
        branch: full ref name.
        head: its commit.
    """

    branch: str
    head: str


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
    """What would be done, and was unless it was only tried.

    Attributes:
        standing: the branch as it was read; None where there is none.
        changes: what the branch is to hold.
        left: why it stays as it is, whatever was found; empty where it need not.
        branch: the branch of the code that it is for.
        due: branch of the code to documents that its next commit has to look at.
        seen: whether all that new commits touched was looked at.
        tip: where the branch is now; empty where it is not.
        usage: what engines used.
        log: what they tried and were refused.
    """

    place: CodeBranch
    standing: DocumentBranch | None
    changes: tuple[DocumentChange, ...]
    told: tuple[DocumentResult, ...]
    engine: str = ""
    left: str = ""
    branch: str = ""
    due: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    seen: bool = False
    tip: str = ""
    usage: tuple[Usage, ...] = ()
    log: tuple[str, ...] = ()

    @property
    def before(self) -> str:
        """Where the branch was; empty where it was not."""
        return self.standing.tip if self.standing else ""

    @property
    def outcome(self) -> Outcome:
        """What carrying it out comes to."""
        now, wanted = self.standing, self.changes
        if self.left:
            return "left"
        if not wanted:
            return "deleted" if now else "nothing"
        same = now is not None and now.base == self.place.head and not now.whose
        have = [(one.path, one.after) for one in now.changes] if now else []
        return "unchanged" if same and have == [(one.path, one.after) for one in wanted] else "proposed"


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
        paths: these documents, also where what was proposed for them was turned down; None for those that
            new commits may have made untrue.
        all: every document.
        dry_run: nothing is written; the engine is asked all the same.

    Raises:
        NotNow: nothing is to be built on the code as it stands.
        UsageError: a path that was asked for is no living document of HEAD.
        RepositoryError: the branch cannot be read or written, or others moved it all the time.
    """
    answers: dict[tuple[str, str, str], _Answer | EngineError] = {}
    for _ in range(ATTEMPTS):
        # The branch first: who then finds it where it was has seen the newest code, too.
        tip = workspace.code.ref(DOCS_REF)
        plan = _Look(workspace, edges, engine, paths, all, answers).plan(tip)
        got = [one for one in answers.values() if isinstance(one, _Answer)]
        usage = tuple(one.usage for one in got if one.usage is not None)
        plan = replace(plan, tip=tip or "", usage=usage, log=tuple(line for one in got for line in one.log))
        if dry_run:
            return plan
        try:
            plan = replace(plan, tip=_carry_out(workspace, edges, plan))
        except RefMoved:
            continue
        _note(workspace, plan, asked=paths is not None)
        return plan
    raise RepositoryError(f"{NAME} is moved by others all the time", "Run it again.")


def _carry_out(workspace: Workspace, edges: Edges, plan: Update) -> str:
    """Moves the branch; returns where it is, empty for nowhere."""
    repo, before = workspace.code, plan.standing.tip if plan.standing else None
    if plan.outcome in ("left", "unchanged", "nothing"):
        return before or ""
    if plan.outcome == "deleted":
        move_ref(repo, DOCS_REF, None, before, "gitmem docs: nothing is proposed any more")
        return ""
    tip = build(workspace, plan.place.head, plan.changes, workspace.author(edges.now))
    move_ref(repo, DOCS_REF, tip, before, "gitmem docs: proposed")
    return tip


def _note(workspace: Workspace, plan: Update, *, asked: bool) -> None:
    made = {(one.path, one.after) for one in plan.changes}

    def change(known: DocumentNotes) -> DocumentNotes:
        checked = dict(known.checked)
        if plan.seen:  # the newest one last
            checked.pop(plan.place.branch, None)
            checked[plan.place.branch] = plan.place.head
        due = {name: paths for name, paths in plan.due.items() if paths}
        kept = replace(known, checked=checked, due=due)
        if plan.left:
            return kept
        rejected = [one for one in known.rejected if not asked or (one.path, one.after) not in made]
        branch = plan.branch if plan.tip else ""
        return replace(kept, tip=plan.tip, branch=branch, rejected=tuple(rejected))

    change_kept(workspace.state, change)


def _place_of(workspace: Workspace) -> CodeBranch:
    """Where the code stands.

    Raises:
        NotNow: nothing is to be built on that.
    """
    top, git_dir = workspace.top, workspace.layout.git_dir
    branch = workspace.git.run(["symbolic-ref", "--quiet", "HEAD"], cwd=top, check=False).text
    head = workspace.code_head()
    why = ""
    if busy := [what for name, what in UNDER_WAY.items() if (git_dir / name).exists()]:
        why = f"{busy[0]} is under way"
    elif not branch:
        why = "HEAD is detached"
    elif branch.startswith(MEMORY):
        why = f"{short_name(branch)} is checked out"
    elif not head:
        why = f"{short_name(branch)} has no commit yet"
    if why:
        raise NotNow(f"Documents are left alone: {why}", "Run it again on a branch of the code.")
    return CodeBranch(branch, head)


@dataclass(frozen=True)
class _Answer:
    """What an engine made of a document.

    Attributes:
        text: all of it; the document's own where nothing is to be changed.
        body: what is said of it, for a commit's message.
        refused: why it is not proposed; empty where it may be.
        notes: what the engine leaves for a person.
        log: what it tried and was refused.
    """

    text: str
    body: str = ""
    refused: str = ""
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    log: tuple[str, ...] = ()


class _Look:
    """One look at the documents of a branch of the code.

    Args:
        answers: path, blob and what does not hold, to what an engine made of it: after a lost race nobody
            is asked the same again.
    """

    def __init__(
        self,
        workspace: Workspace,
        edges: Edges,
        engine: Callable[[], Engine],
        paths: tuple[str, ...] | None,
        every: bool,
        answers: dict[tuple[str, str, str], _Answer | EngineError],
    ) -> None:
        self.workspace, self.edges, self.paths, self.every = workspace, edges, paths, every
        self.top = workspace.top
        self.place = _place_of(workspace)
        self.kept = read_kept(workspace.state)
        self.tree = workspace.code.commit(self.place.head).tree
        self._make, self._answers = engine, answers
        self._allow = workspace.allowed
        self._changes: list[DocumentChange] = []
        self._failed: list[str] = []

    def plan(self, tip: str | None) -> Update:
        """What the branch is to hold.

        Args:
            tip: where it stands; None where it is not there.
        """
        workspace, place, kept, repo = self.workspace, self.place, self.kept, self.workspace.code
        # Proposals are for one branch; where that is gone, they follow whoever commits.
        other = kept.branch not in ("", place.branch) and repo.ref(kept.branch) is not None
        standing = None
        if tip is not None:
            standing = read_branch(workspace, tip, [place.head], kept.tip)
            if why := self._not_ours(standing):
                return Update(place, standing, (), (), left=why, branch=kept.branch, due=kept.due)
        docs = {doc.path: doc for doc in documents(workspace.git, self.top, place.head)}
        wanted = self._wanted(docs)
        had = {one.path: one for one in standing.changes} if standing else {}
        carried: list[DocumentChange] = []
        for path, change in had.items():
            entry = repo.entry(self.tree, path)
            if path not in docs or path in wanted or entry is None or entry.oid == change.after:
                continue
            if entry.oid != change.before or entry.mode != change.mode:
                wanted.add(path)
            elif other:
                if wanted:
                    wanted.add(path)
            elif not kept.turned_down(path, change.after):
                carried.append(change)
        engine = self._make() if wanted else None
        checked = check(workspace.git, self.top, place.head, [docs[path] for path in sorted(wanted)])
        told = [self._told(engine, one, had.get(one.doc.path)) for one in checked if engine]
        told += [DocumentResult(one.path, "kept", one.id) for one in carried]
        changes = tuple(sorted([*carried, *self._changes], key=lambda one: one.path))
        due = dict(kept.due)
        before = () if self.paths is None else kept.due.get(place.branch, ())
        due[place.branch] = (*(path for path in before if path not in wanted), *self._failed)
        left, branch = "", place.branch
        if other and standing is not None:
            if not changes and not all(has(repo, self.tree, change) for change in had.values()):
                left, branch = f"it is for {short_name(kept.branch)}", kept.branch
            else:
                due[kept.branch] = tuple(dict.fromkeys([*kept.due.get(kept.branch, ()), *had]))
        name = engine.name if engine else ""
        seen = self.paths is None
        return Update(place, standing, changes, tuple(told), name, left, branch, due, seen)

    def _not_ours(self, standing: DocumentBranch) -> str:
        """Why the branch may not be moved; empty where it may."""
        merged = self.workspace.code.is_ancestor(standing.tip, self.place.head)
        if standing.whose and not merged:
            return standing.whose
        if not standing.changes and not merged:
            return "it holds no proposal of gitmem's"
        return checked_out(self.workspace.git, self.workspace.layout.common_dir)

    def _wanted(self, docs: Mapping[str, Doc]) -> set[str]:
        """Paths of the documents to look at."""
        if self.every:
            return set(docs)
        if self.paths is not None:
            lacking = [path for path in self.paths if path not in docs]
            if lacking:
                raise UsageError(
                    f"{lacking[0]} is no living document of {short_name(self.place.branch)}",
                    "See which are: git mem docs list",
                )
            return set(self.paths)
        changed = self._changed() if docs else frozenset()
        found = {path for path, doc in docs.items() if path in changed or touched(doc, changed)}
        return found | (docs.keys() & set(self.kept.due.get(self.place.branch, ())))

    def _changed(self) -> frozenset[str]:
        """What the commits since the last look changed; without one, the newest commit."""
        since = self.kept.checked.get(self.place.branch, "")
        found = self._between(since) if since else None
        if found is None:
            empty = object_name("tree", b"", self.workspace.code.hex_length)
            parents = self.workspace.code.commit(self.place.head).parents
            found = self._between(parents[0] if parents else empty)
        return found or frozenset()

    def _between(self, old: str) -> frozenset[str] | None:
        """Paths in which HEAD differs from a commit, of a rename both; None where that one is gone."""
        words = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", old, self.place.head, "--"]
        done = self.workspace.git.run(words, cwd=self.top, check=False)
        names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
        return None if done.returncode else frozenset(names) - {""}

    def _told(self, engine: Engine, checked: Checked, had: DocumentChange | None) -> DocumentResult:
        """Looks at one document; what is proposed for it is noted.

        Args:
            had: what is proposed already.
        """
        doc, stale = checked.doc, checked.stale
        entry = self.workspace.code.entry(self.tree, doc.path)
        notes = (checked.note,) if checked.note else ()
        told = DocumentResult(
            doc.path, "open" if stale else "true", "", "", stale, notes, doc.text, doc.text
        )
        if entry is None or entry.mode not in (BLOB, EXECUTABLE):
            return replace(told, result="refused", why="it is no regular file")
        asked = self.every or self.paths is not None
        if not asked and self.kept.settled(doc.path, entry.oid, stale):
            return replace(told, result="rejected")
        key = (doc.path, entry.oid, key_of(stale))
        if key not in self._answers:
            try:
                self._answers[key] = self._ask(engine, checked)
            except EngineError as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, EngineError):
            self._failed.append(doc.path)
            return replace(told, result="failed", why=answer.message)
        told = replace(told, notes=(*notes, *answer.notes))
        if answer.text == doc.text:
            return told
        if answer.refused:
            return replace(told, result="refused", why=answer.refused)
        data = answer.text.encode("utf-8")
        after = blob_name(data, self.workspace.code.hex_length)
        if self.paths is None and self.kept.turned_down(doc.path, after):
            return replace(told, result="rejected")
        made = DocumentChange(
            doc.path, entry.oid, after, entry.mode, engine.name, answer.body, data, answer.usage
        )
        self._changes.append(made)
        stands = had is not None and had.after == after
        return replace(told, result="kept" if stands else "proposed", id=made.id, after=answer.text)

    def _ask(self, engine: Engine, checked: Checked) -> _Answer:
        """Asks for one document.

        Raises:
            EngineError: the engine could not do its work.
            DetectorUnavailable: nothing can be said of what may be a secret.
        """
        doc = checked.doc
        changed = self._differences(checked) if engine.name != "offline" else {}
        if not checked.stale and not changed:
            return _Answer(doc.text)
        prompt = ""
        with suppress(OSError):
            prompt = own_text(self.edges, PROMPT, PROMPT_BYTES).strip()
        made = engine.document(
            DocumentInput(
                doc.path,
                doc.text,
                doc.title,
                doc.instructions,
                prompt,
                checked.stale,
                changed,
                self.top,
                self.edges.now,
            )
        )
        answer = _Answer(made.text, notes=made.notes, usage=made.usage, log=made.log)
        if made.text == doc.text:
            return answer
        refused = _refused(doc.path, doc.text, made.text, self._allow)
        return replace(answer, body=_body(checked, made), refused=refused)

    def _differences(self, checked: Checked) -> dict[str, str]:
        """What changed in files that a document names since it was last changed itself."""
        git, top, since = replace(self.workspace.git, fetches=False), self.top, checked.since
        paths = (self._between(since) if since else None) or frozenset()
        named = sorted(paths - {checked.doc.path})
        named = [path for path in named if touched(checked.doc, [path])]
        found: dict[str, str] = {}
        room = MOST_DIFF
        for path in named[:MOST_FILES]:
            words = [
                "diff-tree",
                "-r",
                "-p",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
                "--no-renames",
            ]
            words += [since, self.place.head, "--", f":(top,literal){path}"]
            text = git.run(words, cwd=top, check=False).stdout.decode("utf-8", "replace")[:room]
            room -= len(text)
            if text:
                found[path] = text
        return found


def _refused(path: str, before: str, after: str, allow: Collection[str]) -> str:
    """Why a text is not proposed: a document, or the code, may have told a model what to write."""
    data = after.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        return f"the proposal has {len(data)} bytes, more than a document may have"
    old, new = parse(path, before.encode("utf-8", "surrogatepass")), parse(path, data)
    if new is None or old is None or (new.title, new.instructions) != (old.title, old.instructions):
        return "the proposal changes its title or its instructions, which are the person's"
    hidden = {one.code for one in find_invisible(after)} - {one.code for one in find_invisible(before)}
    if hidden:
        return f"the proposal holds what no reader sees ({', '.join(sorted(hidden)[:5])})"
    known = {one.fingerprint for one in find_secrets(before)}
    found = [one for one in find_secrets(after, frozenset(allow)) if one.severity == "block"]
    new_ones = [one for one in found if one.fingerprint not in known]
    return f"the proposal holds a secret ({new_ones[0].rule})" if new_ones else ""


def _body(checked: Checked, made: Document) -> str:
    # What an engine did about a name that is told of already says nothing more.
    more_said = [why for why in made.reasons if not any(one.name in why for one in checked.stale)]
    lines = [stale_line(one) for one in checked.stale]
    lines += [one_line(f"- {reason}", 160) for reason in more_said]
    more = len(lines) - MOST_LINES
    told = list(dict.fromkeys(lines[:MOST_LINES]))
    return "\n".join([*told, *([f"- and {more} more"] if more > 0 else [])])
