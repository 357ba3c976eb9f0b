"""Living documents are kept true: what is proposed stands on `gitmem/docs`, made anew on new code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.docs.check import documents, touched
from gitmem.docs.document import Doc
from gitmem.engines.engine import Engine
from gitmem.flows.context import Edges
from gitmem.flows.documents.asking import Answer
from gitmem.flows.documents.branch import Change, Standing, build, read_branch
from gitmem.flows.documents.code_branch import Place, changed_between, checked_out, place_of
from gitmem.flows.documents.planned import Plan, Request, Told, Updated
from gitmem.flows.documents.proposals import Answers, Look
from gitmem.flows.documents.state import Kept, change_kept
from gitmem.git.objects import object_name
from gitmem.git.refs import move_ref
from gitmem.git.repository import RefMoved, short_name
from gitmem.ledger.workspace import DOCS_REF, Workspace

ATTEMPTS = 5
"""Lost races after which another time is better: each of the others did the same work."""


class NotNow(RepositoryError):
    """HEAD is on no branch of the code, or git is in the middle of something."""

    kind = "not-now"


def update(
    workspace: Workspace,
    edges: Edges,
    engine: Callable[[], Engine],
    request: Request,
    *,
    dry_run: bool = False,
) -> Updated:
    """Looks at documents, asks for what makes them true, and moves the branch to it.

    Args:
        engine: makes the engine, where one is asked.
        dry_run: nothing is written; the engine is asked all the same.

    Raises:
        NotNow: nothing is to be built on the code as it stands.
        UsageError: a path that was asked for is no living document of HEAD.
        RepositoryError: the branch cannot be read or written, or others moved it all the time.
    """
    answers: Answers = {}
    for _ in range(ATTEMPTS):
        # The branch first: who then finds it where it was has seen the newest code, too.
        tip = workspace.code.ref(DOCS_REF)
        place = place_of(workspace)
        if isinstance(place, str):
            raise NotNow(f"Documents are left alone: {place}", "Run it again on a branch of the code.")
        plan = _plan(workspace, place, tip, Look(workspace, edges, engine, place, request, answers))
        got = [one for one in answers.values() if isinstance(one, Answer)]
        usage = tuple(one.usage for one in got if one.usage is not None)
        done = Updated(plan, tip or "", tip or "", usage, tuple(line for one in got for line in one.log))
        if dry_run:
            return done
        try:
            moved = _carry_out(workspace, edges, plan)
        except RefMoved:
            continue
        _note(workspace, plan, request, moved)
        return replace(done, tip=moved)
    raise RepositoryError(f"{short_name(DOCS_REF)} is moved by others all the time", "Run it again.")


def _plan(workspace: Workspace, place: Place, tip: str | None, look: Look) -> Plan:
    kept, repo, request = look.kept, workspace.code, look.request
    # Proposals are for one branch; where that is gone, they follow whoever commits.
    other = kept.branch not in ("", place.branch) and repo.ref(kept.branch) is not None
    standing = None
    if tip is not None:
        standing = read_branch(
            repo, workspace.git, tip, [place.head], lambda: workspace.person.email, kept.tip
        )
        why = _not_ours(workspace, place, standing)
        if why:
            return Plan(place, standing, (), (), left=why, branch=kept.branch, due=kept.due)
    docs = {doc.path: doc for doc in documents(workspace.git, place.top, place.head)}
    wanted = _wanted(workspace, place, request, kept, docs)
    had = {one.change.path: one.change for one in standing.proposals} if standing else {}
    tree = repo.commit(place.head).tree
    carried: list[Change] = []
    for path, change in had.items():
        entry = repo.entry(tree, path)
        if path not in docs or path in wanted or entry is None or entry.oid == change.after:
            continue
        if entry.oid != change.before or entry.mode != change.mode:
            wanted.add(path)
        elif other:
            if wanted:
                wanted.add(path)
        elif not kept.turned_down(path, change.after):
            carried.append(change)
    told = look.at([docs[path] for path in sorted(wanted)], had)
    changes = tuple(sorted([*carried, *look.changes], key=lambda one: one.path))
    told += tuple(Told(one.path, "kept", one.id) for one in carried)
    due = dict(kept.due)
    before = () if request.paths is None else kept.due.get(place.branch, ())
    due[place.branch] = (*(path for path in before if path not in wanted), *look.failed)
    plan = Plan(place, standing, changes, told, look.name, "", place.branch, due, request.paths is None)
    if other and standing is not None:
        taken = all(_has(workspace, tree, change) for change in had.values())
        if not changes and not taken:
            why = f"it is for {short_name(kept.branch)}"
            return replace(plan, left=why, branch=kept.branch)
        due[kept.branch] = tuple(dict.fromkeys([*kept.due.get(kept.branch, ()), *had]))
    return plan


def _not_ours(workspace: Workspace, place: Place, standing: Standing) -> str:
    """Why the branch may not be moved; empty where it may."""
    repo = workspace.code
    merged = repo.is_ancestor(standing.tip, place.head)
    if standing.whose and not merged:
        return standing.whose
    if not standing.proposals and not merged:
        return "it holds no proposal of gitmem's"
    at = checked_out(workspace.git, workspace.layout.common_dir)
    return f"it is checked out at {at}" if at is not None else ""


def _has(workspace: Workspace, tree: str, change: Change) -> bool:
    entry = workspace.code.entry(tree, change.path)
    return entry is not None and entry.oid == change.after


def _wanted(
    workspace: Workspace, place: Place, request: Request, kept: Kept, docs: Mapping[str, Doc]
) -> set[str]:
    """Paths of the documents to look at."""
    if request.all:
        return set(docs)
    if request.paths is not None:
        lacking = [path for path in request.paths if path not in docs]
        if lacking:
            raise UsageError(
                f"{lacking[0]} is no living document of {short_name(place.branch)}",
                "See which are: git mem docs list",
            )
        return set(request.paths)
    changed = _changed(workspace, place, kept.checked.get(place.branch, "")) if docs else frozenset()
    found = {path for path, doc in docs.items() if path in changed or touched(doc, changed)}
    return found | (docs.keys() & set(kept.due.get(place.branch, ())))


def _changed(workspace: Workspace, place: Place, since: str) -> frozenset[str]:
    """What the commits since the last look changed; without one, the newest commit."""
    found = changed_between(workspace.git, place.top, since, place.head) if since else None
    if found is None:
        empty = object_name("tree", b"", workspace.code.hex_length)
        parents = workspace.code.commit(place.head).parents
        found = changed_between(workspace.git, place.top, parents[0] if parents else empty, place.head)
    return found or frozenset()


def _carry_out(workspace: Workspace, edges: Edges, plan: Plan) -> str:
    """Moves the branch; returns where it is, empty for nowhere."""
    repo, before = workspace.code, plan.standing.tip if plan.standing else None
    if plan.outcome in ("left", "unchanged", "nothing"):
        return before or ""
    if plan.outcome == "deleted":
        move_ref(repo, DOCS_REF, None, before, "gitmem docs: nothing is proposed any more")
        return ""
    who = workspace.author(edges.now)
    tip = build(repo, workspace.git, plan.place.top, plan.place.head, plan.changes, who)
    move_ref(repo, DOCS_REF, tip, before, "gitmem docs: proposed")
    return tip


def _note(workspace: Workspace, plan: Plan, request: Request, tip: str) -> None:
    made = {(one.path, one.after) for one in plan.changes}

    def change(known: Kept) -> Kept:
        seen = _newest(known.checked, plan.place.branch, plan.place.head) if plan.seen else known.checked
        kept = replace(known, checked=seen, due={name: paths for name, paths in plan.due.items() if paths})
        if plan.left:
            return kept
        asked = request.paths is not None
        rejected = [one for one in known.rejected if not asked or (one.path, one.after) not in made]
        return replace(kept, tip=tip, branch=plan.branch if tip else "", rejected=tuple(rejected))

    change_kept(workspace.state, change)


def _newest(checked: Mapping[str, str], branch: str, head: str) -> dict[str, str]:
    return {name: oid for name, oid in checked.items() if name != branch} | {branch: head}
