"""Starting and leaving: what `init` writes, and what `uninstall` takes away again."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.guard.text import counted
from gitmem.integrations.claude_hooks import (
    SettingsPlan,
    apply_settings,
    plan_claude_hooks,
    plan_claude_removal,
)
from gitmem.integrations.edges import Edges, author
from gitmem.integrations.git_hooks import HookAction, apply, plan_git_hooks, plan_removal, read_setup
from gitmem.integrations.place import default_argv
from gitmem.integrations.saving import request_for, save_all
from gitmem.memory.merge import kind
from gitmem.memory.names import archive_path, is_memory_file
from gitmem.store.git import config_set, config_unset
from gitmem.store.live import Saved, save
from gitmem.store.record import read_record
from gitmem.store.replace import replace_file
from gitmem.store.repository import TREE
from gitmem.store.scan import label, scan
from gitmem.store.trees import read_files
from gitmem.store.workspace import (
    LIVE_FOLDERS,
    PRIVATE_REF,
    LiveDirectory,
    Workspace,
    linked,
    make_project_id,
    store_project_id,
)

FENCE = ("# >>> gitmem >>>", "# <<< gitmem <<<")


@dataclass(frozen=True)
class InitPlan:
    """All that `init` will touch, to be shown before anything is done.

    Attributes:
        project_id: name of this project in the private repository.
        new: whether it is not there yet.
        adopt: live directories that become first commits, with the number of memories in each.
        problems: what is left alone in them, and why.
        engine: engine to be written to the person's configuration; empty to leave it.
        shared: whether sharing is set although gitmem was not here before.
        known: whether the private repository holds memory of this project already.
    """

    project_id: str
    new: bool
    adopt: tuple[tuple[LiveDirectory, int], ...]
    hooks: tuple[HookAction, ...]
    settings: SettingsPlan
    exclude: tuple[str, ...]
    engine: str = ""
    problems: tuple[str, ...] = ()
    tracked: tuple[Path, ...] = ()
    shared: bool = False
    known: bool = False

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        hooks = any(action.kind != "by-hand" for action in self.hooks)
        return bool(self.new or self.adopt or hooks or self.settings.changes or self.exclude or self.engine)

    def lines(self, workspace: Workspace) -> list[str]:
        """What will be done, one line a thing."""
        found = []
        if self.new and self.shared:
            found.append("turn gitmem.share off, which this repository brought along (git mem share)")
        if self.new and self.known:
            found.append(f"lay out what you keep for {self.project_id} already, from another clone of it")
        if self.new:
            found.append(f"keep private memory in {workspace.private_path} (yours alone, mode 0700)")
            found.append(f"keep project memory in {PRIVATE_REF} of this repository")
        for live, count in self.adopt:
            number = counted(count, "memory")
            found.append(f"adopt {number} from {live.path} as they are ({live.scope.name})")
        found += [str(action) for action in self.hooks]
        if self.settings.changes or self.settings.by_hand:
            found.append(str(self.settings))
        if self.exclude:
            found.append(f"list {', '.join(self.exclude)} in .git/info/exclude")
        if self.engine:
            found.append(f"set gitmem.engine = {self.engine} in your git configuration")
        for path in self.tracked:
            found.append(
                f"read {path} only: the code branch tracks it "
                f"(to let gitmem write there: git rm -r --cached {shlex.quote(str(path))})"
            )
        return found


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


def plan_init(workspace: Workspace, engine: str = "") -> InitPlan:
    """Finds what `init` has to do here; nothing is written."""
    top = workspace.layout.worktree
    assert top is not None  # noqa: S101 - `workspace_at` refuses a repository without one
    known = workspace.settings.get("projectId")
    named = workspace if known else workspace.with_project_id(make_project_id(workspace))
    adopt, problems, tracked = [], [], []
    for live in named.live_directories():
        seen = scan(live)
        problems += [f"{live.path / name}: {why}" for name, why in seen.problems.items()]
        if live.tracked:
            tracked.append(live.path)
        if read_record(live.scope.state, live.key) is None and seen.files:
            adopt.append((live, sum(kind(name) == "memory" for name in seen.files)))
    common = workspace.layout.common_dir
    setup = read_setup(workspace.git, top, common)
    return InitPlan(
        project_id=known or make_project_id(workspace),
        new=not workspace.initialised,
        adopt=tuple(adopt),
        hooks=plan_git_hooks(common, default_argv(), setup),
        settings=plan_claude_hooks(top, common, default_argv(), workspace.git),
        exclude=_missing_excludes(workspace, tracked),
        engine=engine if engine and engine != workspace.settings.get("engine") else "",
        problems=tuple(problems),
        tracked=tuple(tracked),
        shared=workspace.settings.get("share") != "off",
        known=_has_private_memory(named),
    )


def carry_out_init(workspace: Workspace, edges: Edges, plan: InitPlan) -> InitDone:
    """Does what was planned; doing it twice changes nothing."""
    author(workspace, edges)  # without an identity nothing must be half done
    if plan.new and plan.shared:
        # A copied or unpacked repository brings its configuration along; sharing is for the person to say.
        config_unset(workspace.git, None, "gitmem.share", git_dir=workspace.layout.common_dir)
        workspace = workspace.with_settings(share="off")
    if not workspace.settings.get("projectId"):
        workspace = store_project_id(workspace)
    for folder in (workspace.state / "spool", workspace.private_state):
        folder.mkdir(parents=True, exist_ok=True)
    _ = workspace.private
    started = _start_from_remote(workspace)
    adopted = tuple(save(request_for(workspace, live, edges, adopt=True)) for live, _ in plan.adopt)
    _exclude(workspace, plan.exclude)
    if plan.engine:
        config_set(workspace.git, None, "gitmem.engine", plan.engine, scope="global")
    apply(plan.hooks, workspace.git)
    if plan.settings.changes:
        apply_settings(plan.settings)
    notes = [*started, *_snapshots(workspace, edges)]
    laid_out = tuple(saved for saved in save_all(workspace, edges, fresh=True) if saved.laid_out)
    return InitDone(workspace, adopted, laid_out, tuple(notes))


@dataclass(frozen=True)
class UninstallPlan:
    """What `uninstall` takes away, and what stays.

    Attributes:
        archived: files that are written out: path to content.
        refs: (repository, ref) that remain.
    """

    hooks: tuple[HookAction, ...]
    settings: tuple[SettingsPlan, ...]
    archived: tuple[tuple[Path, bytes], ...]
    refs: tuple[tuple[Path, str], ...]
    state: Path

    def lines(self) -> list[str]:
        """What will be done, one line a thing."""
        found = [str(action) for action in self.hooks]
        found += [str(plan) for plan in self.settings if plan.changes]
        found += [f"write the archived {path}" for path, _ in self.archived]
        return [*found, f"delete {self.state}", "unset gitmem.* in this repository's configuration"]

    def remaining(self) -> list[str]:
        """The refs that stay, each with the command that deletes it."""
        return [f"git --git-dir={repo} update-ref -d {ref}" for repo, ref in self.refs]


def plan_uninstall(workspace: Workspace) -> UninstallPlan:
    """Finds what `uninstall` has to do; memory files and refs stay."""
    common = workspace.layout.common_dir
    setup = read_setup(workspace.git, workspace.layout.worktree or common, common)
    settings = [plan_claude_removal(tree.path, common, default_argv()) for tree in workspace.worktrees]
    archived, refs = [], []
    for scope in workspace.scopes if workspace.initialised else ():
        tip = scope.repo.ref(scope.ref)
        if tip is None:
            continue
        refs.append((scope.repo.git_dir, scope.ref))
        tree = scope.repo.commit(tip).tree
        for agent, entry in scope.repo.tree(tree).items():
            live = workspace.live_directory(scope.name, agent) if entry.mode == TREE else None
            if live is None or live.tracked or linked(live.anchor, live.path):
                continue
            for path, data in read_files(scope.repo, tree, f"{agent}/archive").items():
                target = live.path / Path(path).name
                known = archive_path(target.name) == path.removeprefix(f"{agent}/")
                if known and is_memory_file(target.name) and not os.path.lexists(target):
                    archived.append((target, data))
    return UninstallPlan(
        plan_removal(common, setup),
        tuple(plan for plan in settings if plan.changes),
        tuple(archived),
        tuple(refs),
        workspace.state,
    )


def carry_out_uninstall(workspace: Workspace, plan: UninstallPlan) -> None:
    """Removes gitmem's own entries from this repository; memory files and refs stay."""
    apply(plan.hooks, workspace.git)
    for settings in plan.settings:
        apply_settings(settings)
    for path, data in plan.archived:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, plan.state / "displaced" / "uninstall", label(path.name, ""))
    _unexclude(workspace)
    workspace.git.run(
        ["config", "--local", "--remove-section", "gitmem"],
        git_dir=workspace.layout.common_dir,
        check=False,
    )
    shutil.rmtree(plan.state, ignore_errors=True)


def _has_private_memory(workspace: Workspace) -> bool:
    if not workspace.private_path.is_dir():
        return False
    local = workspace.scope("local")
    return local.repo.ref(local.ref) is not None


def _start_from_remote(workspace: Workspace) -> list[str]:
    from gitmem.integrations.sharing import start_from_remote

    return ["project memory starts from the remote's memory branch"] if start_from_remote(workspace) else []


def _snapshots(workspace: Workspace, edges: Edges) -> Sequence[str]:
    from gitmem.integrations.refresh import after_checkout

    return [str(line) for line in after_checkout(workspace, edges) or ()]


def _excludes(workspace: Workspace) -> list[str]:
    return [f"/{workspace.claude_folder}/{folder}/" for folder in LIVE_FOLDERS.values()]


def _missing_excludes(workspace: Workspace, tracked: Sequence[Path]) -> tuple[str, ...]:
    path = workspace.layout.common_dir / "info" / "exclude"
    lines = path.read_text(errors="surrogateescape").splitlines() if path.is_file() else []
    inside = {folder.parent.name for folder in tracked}
    return tuple(
        line
        for line in _excludes(workspace)
        if line not in lines and Path(line.strip("/")).name not in inside
    )


def _exclude(workspace: Workspace, lines: Sequence[str]) -> None:
    if not lines:
        return
    path = workspace.layout.common_dir / "info" / "exclude"
    path.parent.mkdir(exist_ok=True)
    text = path.read_text(errors="surrogateescape") if path.is_file() else ""
    gap = "" if not text or text.endswith("\n") else "\n"
    block = "\n".join([FENCE[0], *lines, FENCE[1]])
    path.write_text(f"{text}{gap}{block}\n", errors="surrogateescape")


def _unexclude(workspace: Workspace) -> None:
    path = workspace.layout.common_dir / "info" / "exclude"
    if not path.is_file():
        return
    ours = {*FENCE, *_excludes(workspace)}
    lines = path.read_text(errors="surrogateescape").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.strip() not in ours), errors="surrogateescape")
