"""Starting: what `init` finds to do, and does; and renewal of what an older gitmem installed here."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from gitmem.app.client_hooks import (
    HookPlan,
    apply_hooks,
    command,
    is_tracked,
    plan_hooks,
    plugin_text,
    stands_in,
    tree_place,
)
from gitmem.app.client_setup import carry_out_clients, named_clients, plan_clients
from gitmem.app.clients import CLIENTS
from gitmem.app.file_edits import FileEdit, add_text, fenced, has_fence, make_edits
from gitmem.app.git_drivers import (
    DRIVER_KEY,
    MergeSetup,
    merge_command,
    plan_merge_setup,
    text_command,
)
from gitmem.app.git_hooks import HOOKS, HookStep, apply, plan_git_hooks, read_setup, script
from gitmem.app.launcher import Launcher
from gitmem.core.attributes import CLONE
from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import parse
from gitmem.core.names import is_memory_file, kind
from gitmem.core.text import counted
from gitmem.flows.commit_trailers import begin_with_commits
from gitmem.flows.context import Edges
from gitmem.flows.edit import move
from gitmem.flows.save import adopt_folder, save_all, settle_old_places
from gitmem.git.config import config_get_all, config_set, config_unset
from gitmem.git.remote import without_credentials
from gitmem.ledger.backup import named_backup
from gitmem.ledger.files import replace_file
from gitmem.ledger.land import read_tip
from gitmem.ledger.layout import LIVE_FOLDERS, LiveDirectory, live_directories, read_record, taken_by
from gitmem.ledger.lookup import FoundMemory
from gitmem.ledger.paging import hot_memories
from gitmem.ledger.projects import ProjectChoice, choose_project, note_project, unite_projects
from gitmem.ledger.working_copy import Saved, moved_record, scan
from gitmem.ledger.workspace import PRIVATE_REF, Workspace, home, store_project_id


@dataclass(frozen=True)
class InitPlan:
    """All that `init` will touch, to be shown before anything is done.

    Attributes:
        project_id: name of this project in the private repository.
        new: whether it is not there yet.
        adopt: live directories that become first commits, with the number of memories in each.
        clients: the hook files of the clients that are here, or were named.
        merging: how git merges and shows memory in this clone.
        paged: the same, with the number of memories that leave the folder for the archive.
        problems: what is left alone in them, and why.
        engine: engine to be written to the person's configuration; empty to leave it.
        shared: whether sharing is set although gitmem was not here before.
        known: whether the private repository holds memory of this project already.
        others: projects that this may be, too; their memory is not laid out unasked.
        why: what speaks for, or against, those.
        left: project that this repository has been so far; what was learned as that comes along.
        backup: address of the backup to start from; empty for none.
        launcher: what hooks start, to be written; None where it stands.
        starts: what others taught, from which memory of the project will start.
    """

    project_id: str
    new: bool
    adopt: tuple[tuple[LiveDirectory, int], ...]
    hooks: tuple[HookStep, ...]
    clients: tuple[HookPlan, ...]
    merging: MergeSetup
    exclude: tuple[str, ...]
    engine: str = ""
    problems: tuple[str, ...] = ()
    tracked: tuple[Path, ...] = ()
    shared: bool = False
    known: bool = False
    paged: tuple[tuple[LiveDirectory, int], ...] = ()
    others: tuple[str, ...] = ()
    why: str = ""
    left: str = ""
    backup: str = ""
    launcher: Launcher | None = None
    starts: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        hooks = any(step.edit for step in self.hooks)
        here = self.new or self.left or self.backup
        hooks = hooks or self.launcher is not None
        clients = any(plan.changes for plan in self.clients)
        set_up = hooks or clients or self.merging.changes or self.exclude or self.engine
        return bool(here or self.adopt or set_up)

    @property
    def doubts(self) -> list[str]:
        """What is left alone until the person says which project this is, one line a project."""
        return [
            f"you keep memory for {id}, and {self.why}; it is left alone "
            f"(to use it: git mem init --project {id})"
            for id in self.others
        ]

    @property
    def lacks(self) -> list[str]:
        """What cannot be installed, a line each that ends with the command that mends it."""
        found = [str(step) for step in self.hooks if not step.edit]
        return [*found, *(plan.by_hand for plan in self.clients if plan.by_hand)]

    def lines(self, workspace: Workspace) -> list[str]:
        """What will be done, one line a thing."""
        found = []
        if self.backup:
            place = without_credentials(self.backup)
            found.append(f"start from the backup {place}: your own memory, and that of your projects")
            found.append("keep it as your backup: git mem sync will send there, too")
        if self.left:
            found.append(
                f"take this repository for {self.project_id}, with what was learned as {self.left}"
            )
        if self.new and self.shared:
            found.append("turn gitmem.share off, which this repository brought along (git mem share)")
        if self.new and self.known:
            kept = f"what you keep for {self.project_id} already"
            found.append(f"lay out {kept}, from before or from another clone")
        if self.new:
            found.append(f"keep private memory in {workspace.private_path} (yours alone, mode 0700)")
            found.append(f"keep project memory in {PRIVATE_REF} of this repository")
        for live, count in self.adopt:
            what = f"{counted(count, 'memory')} from {live.path} as they are"
            if not count:
                what = f"the index of {live.path} as it is"
            found.append(f"adopt {what} ({live.scope.name})")
        for live, count in self.paged:
            oldest = f"the {count} oldest" if count > 1 else "the oldest"
            found.append(
                f"take {oldest} of them out of {live.path} to the archive, where recall still finds them "
                f"(an agent keeps {HOT_MEMORIES} at hand)"
            )
        if self.launcher:
            found.append(f"write {self.launcher.path}, by which hooks find this gitmem")
        found += [str(step) for step in self.hooks if step.edit]
        found += [str(plan) for plan in self.clients if plan.changes]
        if self.merging.changes:
            found.append(str(self.merging))
        if self.exclude:
            found.append(f"list {', '.join(self.exclude)} in .git/info/exclude")
        if self.engine:
            found.append(f"set gitmem.engine = {self.engine} in your git configuration")
        for path in self.tracked:
            found.append(
                f"read {path} only: the code branch tracks it "
                f"(to let gitmem write there: git rm -r --cached {shlex.quote(str(path))})"
            )
        return [*found, *self.starts]


@dataclass(frozen=True)
class InitDone:
    """What `init` did.

    Attributes:
        adopted: results of the first commits.
        laid_out: directories that were filled from memory that was there already.
    """

    workspace: Workspace
    adopted: tuple[Saved, ...] = ()
    laid_out: tuple[Saved, ...] = ()
    notes: tuple[str, ...] = field(default=())


def plan_init(
    workspace: Workspace,
    environ: Mapping[str, str],
    engine: str = "",
    project: str = "",
    *,
    backup: str = "",
    started: bool = False,
    chain: bool = False,
    clients: Sequence[str] = (),
) -> InitPlan:
    """Finds what `init` has to do here; nothing is written.

    Args:
        environ: the person's environment, in which their clients are looked for.
        engine: engine to choose; empty to leave it.
        project: project that the person says this is; empty to find it.
        backup: address of the backup to start from; where empty, the one that is named counts on a machine
            that has no private memory yet.
        started: whether what the backup holds has been taken in.
        chain: whether hooks of another tool are to call gitmem's.
        clients: names of the clients to add hooks for; empty for those that are found.

    Raises:
        UsageError: no memory is kept for that project, or there is no such client.
    """
    top = workspace.layout.worktree
    assert top is not None  # noqa: S101 - `workspace_at` refuses a repository without one
    if not (backup or started or workspace.private_path.is_dir()):
        backup = named_backup(workspace)
    # What is kept for a project may only come with the backup.
    choice = ProjectChoice(project) if project and backup else choose_project(workspace, project)
    known = workspace.settings.get("projectId")
    named = workspace.with_settings(projectid=choice.id)
    adopt, paged, problems, tracked = [], [], [], []
    for live in live_directories(named):
        seen = scan(live)
        problems += [f"{live.path / name}: {why}" for name, why in seen.problems.items()]
        if live.tracked:
            tracked.append(live.path)
        new = read_record(live.scope.state, live.key) is None and moved_record(live) is None
        if new and seen.files:
            adopt.append((live, sum(kind(name) == "memory" for name in seen.files)))
            excess = 0 if live.tracked else _excess(named, live, seen.files)
            paged += [(live, excess)] if excess > 0 else []
    common = workspace.layout.common_dir
    if owner := taken_by(workspace):
        problems.append(_taken(owner))
    launcher = Launcher(workspace.around.data)
    starts = launcher.argv
    merging = plan_merge_setup(workspace.git, common, starts, workspace.settings.config)
    problems += [
        f"{key}: you have set it otherwise, so git does not use gitmem there" for key in merging.foreign
    ]
    problems += [merging.by_hand] if merging.by_hand else []
    setup = read_setup(workspace.git, top, workspace.settings.config)
    return InitPlan(
        project_id=choice.id,
        new=not workspace.initialised,
        adopt=tuple(adopt),
        hooks=plan_git_hooks(common, starts, setup, chain=chain),
        clients=plan_clients(workspace, environ, starts, named_clients(clients)),
        merging=merging,
        exclude=_missing_excludes(workspace, tracked),
        engine=engine if engine and engine != workspace.settings.get("engine") else "",
        problems=tuple(problems),
        tracked=tuple(tracked),
        shared=workspace.settings.get("share") != "off",
        known=_has_private_memory(named),
        paged=tuple(paged),
        others=choice.others,
        why=choice.why,
        left=known if workspace.initialised and known != choice.id else "",
        backup=backup,
        launcher=None if launcher.is_ours else launcher,
        starts=_starts(workspace, {live.agent for live, _ in adopt if live.scope.name == "project"}),
    )


def carry_out_init(workspace: Workspace, edges: Edges, plan: InitPlan) -> InitDone:
    """Does what was planned; doing it twice changes nothing."""
    who = workspace.author(edges.now)  # without an identity nothing must be half done, nor without a place
    for folder in (workspace.state / "spool", workspace.private_state):
        folder.mkdir(parents=True, exist_ok=True)
    if plan.new and plan.shared:
        # A copied or unpacked repository brings its configuration along; sharing is for the person to say.
        config_unset(workspace.git, None, "gitmem.share", git_dir=workspace.layout.common_dir)
        workspace = workspace.with_settings(share="off")
    if workspace.settings.get("projectId") != plan.project_id:
        if plan.left:
            save_all(workspace, edges, everywhere=True)
            unite_projects(workspace.private, plan.left, plan.project_id)
        workspace = store_project_id(workspace, plan.project_id)
    note_project(workspace, who)
    begin_with_commits(workspace)
    started = _start_from_remote(workspace)
    settle_old_places(workspace, edges)
    adopted = tuple(adopt_folder(workspace, edges, live) for live, _ in plan.adopt)
    placed = [note for live, _ in plan.adopt for note in _to_their_place(workspace, edges, live)]
    if plan.exclude:
        exclude = workspace.layout.common_dir / "info" / "exclude"
        add_text(exclude, fenced(*(line.encode() for line in plan.exclude)))
    if plan.engine:
        config_set(workspace.git, None, "gitmem.engine", plan.engine, scope="global")
    if plan.launcher:
        plan.launcher.write()
    apply(plan.hooks, workspace.git)
    carry_out_clients(workspace, plan.clients, Launcher(workspace.around.data).argv)
    make_edits(plan.merging.edits, workspace.git)
    # Before the look for snapshots, which lays out as well and does not say what.
    laid_out = tuple(saved for saved in save_all(workspace, edges, fresh=True) if saved.laid_out)
    notes = [*started, *placed, *_snapshots(workspace, edges)]
    return InitDone(workspace, adopted, laid_out, tuple(notes))


def _to_their_place(workspace: Workspace, edges: Edges, live: LiveDirectory) -> Iterator[str]:
    """Moves memories about a person out of an adopted folder of the project's: they are never shared."""
    if live.scope.name != "project" or live.tracked:
        return
    repo = live.scope.repo
    tip = read_tip(repo, live.scope.ref)
    for path in sorted(hot_memories(repo, tip.tree, live.agent)):
        entry = repo.entry(tip.tree, path)
        memory = parse(path.partition("/")[2], repo.blob(entry.oid)) if entry else None
        if entry is None or memory is None or memory.type != "user":
            continue
        to = home("user", workspace.sharing)
        found = FoundMemory("project", live.agent, memory.path, memory, entry.oid, tip.commit)
        try:
            move(workspace, edges, found, to)
        except GitmemError as error:
            yield f"{live.agent}/{memory.name} is about a person and stays here: {error.message}"
        else:
            yield f"{live.agent}/{memory.name} is about a person: it is in your {to} memory now"


def _excess(workspace: Workspace, live: LiveDirectory, files: Iterable[str]) -> int:
    """How many memories too many an agent would have with these files of its folder."""
    hot = {f"{live.agent}/{file}" for file in files if is_memory_file(file)}
    if live.scope.name == "project" or workspace.private_path.is_dir():
        tip = live.scope.repo.ref(live.scope.ref)
        hot |= (
            hot_memories(live.scope.repo, live.scope.repo.commit(tip).tree, live.agent).keys()
            if tip
            else set()
        )
    return len(hot) - HOT_MEMORIES


def _has_private_memory(workspace: Workspace) -> bool:
    if not workspace.private_path.is_dir():
        return False
    local = workspace.scope("local")
    return local.repo.ref(local.ref) is not None


def _taken(home: Path) -> str:
    return (
        f"the client's own memory folder shows the memory of {home}: the client takes both for one "
        "repository. What is local to this one is kept, and recalled, without that folder"
    )


def _start_from_remote(workspace: Workspace, *, dry_run: bool = False) -> list[str]:
    from gitmem.ledger.share import start_from_remote

    try:
        started = start_from_remote(workspace, dry_run=dry_run)
    except RepositoryError as error:
        # What stands there keeps nobody from a memory of their own.
        return [f"left alone: the remote's memory branch: {error.message}"]
    return ["project memory starts from the remote's memory branch"] if started else []


def _starts(workspace: Workspace, adopted: Collection[str]) -> tuple[str, ...]:
    """What others taught, from which memory that is not there yet will start, a line each."""
    from gitmem.flows.snapshots import first_snapshots

    if workspace.initialised:
        return ()
    return tuple(_start_from_remote(workspace, dry_run=True) or first_snapshots(workspace, adopted))


def _snapshots(workspace: Workspace, edges: Edges) -> Sequence[str]:
    from gitmem.flows.snapshots import look_for_snapshots

    lines, taken = look_for_snapshots(workspace, edges)
    if taken:
        save_all(workspace, edges, fresh=True)
    return lines


def excludes(workspace: Workspace) -> list[str]:
    """Lines of `.git/info/exclude` that keep live directories out of the code."""
    return [f"/{workspace.claude_folder}/{folder}/" for folder in LIVE_FOLDERS.values()]


def _missing_excludes(workspace: Workspace, tracked: Sequence[Path]) -> tuple[str, ...]:
    path = workspace.layout.common_dir / "info" / "exclude"
    lines = path.read_text(errors="surrogateescape").splitlines() if path.is_file() else []
    inside = {folder.parent.name for folder in tracked}
    return tuple(
        line
        for line in excludes(workspace)
        if line not in lines and Path(line.strip("/")).name not in inside
    )


FILE = "renewed"
"""In the working state: the digest of all that this clone was last brought to."""


def renew_hooks(workspace: Workspace) -> list[str]:
    """Brings hooks, settings and drivers of an older gitmem to this one's form.

    Where they were renewed to this form before, nothing is read but one small file. What is missing stays
    so: `init` and `doctor` install, and they ask.

    Returns:
        What failed, a line each.
    """
    argv = Launcher(workspace.around.data).argv
    common, git = workspace.layout.common_dir, workspace.git
    texts = [script(hook, argv).decode(errors="surrogateescape") for hook in HOOKS]
    for client in CLIENTS.values():
        if client.form == "plugin":
            texts.append(plugin_text(client, argv).decode(errors="surrogateescape"))
        else:
            texts += [command(client, argv, event) for event in client.events]
    texts += [merge_command(argv), text_command(argv), *CLONE]
    wanted = hashlib.sha256("\0".join(texts).encode(errors="surrogateescape")).hexdigest().encode()
    try:
        if (workspace.state / FILE).read_bytes() == wanted:
            return []
    except OSError:
        pass  # never renewed yet
    troubles = []
    try:
        steps = plan_git_hooks(common, argv, read_setup(git, workspace.top))
        apply([step for step in steps if _is_there(step)], git)
        if config_get_all(git, None, DRIVER_KEY, git_dir=common):
            make_edits(plan_merge_setup(git, common, argv).edits, git)
    except GitmemError as error:
        # Not tried again with every job: `doctor` says what is wrong.
        troubles.append(f"hooks of an older gitmem: {error.message}")
    for tree, client in product(workspace.worktrees, CLIENTS.values()):
        place = tree_place(client, tree.path, common)
        try:
            if stands_in(place):
                apply_hooks(plan_hooks(place, argv, is_tracked(place, workspace)), git)
        except GitmemError as error:
            troubles.append(f"hooks of an older gitmem: {error.message}")
    replace_file(workspace.state / FILE, wanted, 0o600)
    return troubles


def _is_there(step: HookStep) -> bool:
    """Whether a step renews what gitmem wrote before: a block of ours, or a script in our own folder."""
    edit = step.edit
    if not isinstance(edit, FileEdit) or edit.before is None or edit.after is None:
        return False
    return edit.path.parts[-3:-1] == ("gitmem", "hooks") or has_fence(edit.before)
