"""Leaving: what `uninstall` takes away, and what stays."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.app.at_action import file_of
from gitmem.app.client_hooks import HookPlan, apply_hooks
from gitmem.app.client_setup import plan_clients_removal
from gitmem.app.file_edits import blocks, make_edits, take_out
from gitmem.app.git_drivers import MergeSetup, plan_merge_removal
from gitmem.app.git_hooks import HookStep, apply, plan_removal, read_setup
from gitmem.app.launcher import Launcher
from gitmem.app.setup import excludes
from gitmem.core.errors import GitmemError
from gitmem.core.names import ARCHIVE, hot_path
from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.flows.save import save_all
from gitmem.git.command import read_configuration
from gitmem.git.locks import writer_lock
from gitmem.git.repository import TREE
from gitmem.git.trees import read_files
from gitmem.ledger.files import has_link
from gitmem.ledger.layout import LiveDirectory, blob_name, live_directory, read_record, write_record
from gitmem.ledger.session_notes import FAMILY, ref_of
from gitmem.ledger.workspace import DECIDED, DOCS_REF, WAITING, Workspace

WORKER_SECONDS = 30.0
"""How long a worker that is at it is waited for: most jobs take less."""

NAMED = 5
"""Archived files of a folder that are named one by one; more are only counted."""


@dataclass(frozen=True)
class UninstallPlan:
    """What `uninstall` takes away, and what stays.

    Attributes:
        archived: files that are written out: directory, name and content.
        refs: (repository, ref) that remain.
        merging: how git merges and shows memory in this clone.
        hidden: lines of `.git/info/exclude` that go.
        configured: whether anything of gitmem's is set in this repository.
    """

    hooks: tuple[HookStep, ...]
    clients: tuple[HookPlan, ...]
    archived: tuple[tuple[LiveDirectory, str, bytes], ...]
    refs: tuple[tuple[Path, str], ...]
    state: Path
    merging: MergeSetup | None = None
    hidden: tuple[str, ...] = ()
    configured: bool = True

    def lines(self) -> list[str]:
        """What will be done, one line a thing."""
        found = [str(action) for action in self.hooks]
        found += [str(plan) for plan in self.clients if plan.before != plan.after or plan.exclude]
        if self.merging and self.merging.changes:
            found.append(str(self.merging))
        folders: dict[Path, list[str]] = {}
        for live, name, _ in self.archived:
            folders.setdefault(live.path, []).append(name)
        for folder, names in folders.items():
            if len(names) > NAMED:
                found.append(f"write {counted(len(names), 'archived file')} to {folder}")
            else:
                found += [f"write the archived {folder / name}" for name in names]
        if self.hidden:
            found.append(f"take {', '.join(self.hidden)} out of .git/info/exclude")
        if self.state.is_dir():
            found.append(f"delete {self.state}")
        if self.configured:
            found.append("unset gitmem.* in this repository's configuration")
        return found

    def remaining(self) -> list[str]:
        """The refs that stay, each in words: what it is, its name, and the repository that it is in."""
        return [f"{_what(ref)}: {ref} in {repo}" for repo, ref in self.refs]


def _what(ref: str) -> str:
    """What a person calls a ref of memory."""
    if ref.startswith("refs/gitmem/project"):
        return "memory of the project"
    if ref == DOCS_REF:
        return "the documentation branch"
    if ref.startswith((WAITING, DECIDED)):
        return "a proposal"
    return "session notes" if ref.startswith(FAMILY) else "your memory of this repository"


def plan_uninstall(workspace: Workspace) -> UninstallPlan:
    """Finds what `uninstall` has to do; memory files and refs stay."""
    common = workspace.layout.common_dir
    setup = read_setup(workspace.git, workspace.layout.worktree or common)
    archived, refs = [], []
    for scope in workspace.scopes if workspace.initialised else ():
        tip = scope.repo.ref(scope.ref)
        if tip is None:
            continue
        if scope.name != "user":  # memory of the person is all their repositories'
            refs.append((scope.repo.git_dir, scope.ref))
        tree = scope.repo.commit(tip).tree
        for agent, entry in scope.repo.tree(tree).items():
            live = live_directory(workspace, scope.name, agent) if entry.mode == TREE else None
            if live is None or live.tracked or has_link(live.anchor, live.path):
                continue
            for path, data in read_files(scope.repo, tree, f"{agent}/{ARCHIVE}").items():
                name = (hot_path(path) or "").removeprefix(f"{agent}/")
                at = live.path / name
                if name and not os.path.lexists(at) and not has_link(live.path, at.parent):
                    archived.append((live, name, data))
    if workspace.initialised and workspace.private.ref(notes := ref_of(workspace.project_id)):
        refs.append((workspace.private.git_dir, notes))
    if workspace.initialised:
        waits = (
            workspace.private.refs(f"{prefix}{workspace.project_id}/") for prefix in (WAITING, DECIDED)
        )
        refs += [(workspace.private.git_dir, ref) for some in waits for ref in some]
    if workspace.code.ref(DOCS_REF):
        refs.append((common, DOCS_REF))
    fenced = _fenced_lines(common / "info" / "exclude")
    settings = read_configuration(workspace.git, git_dir=common).rows
    return UninstallPlan(
        plan_removal(common, setup),
        plan_clients_removal(workspace, Launcher(workspace.around.data).argv),
        tuple(archived),
        tuple(refs),
        workspace.state,
        plan_merge_removal(workspace.git, common),
        tuple(line for line in excludes(workspace) if line in fenced),
        any(where == "local" and key.startswith("gitmem.") for where, key, _ in settings),
    )


def carry_out_uninstall(workspace: Workspace, edges: Edges, plan: UninstallPlan) -> None:
    """Removes gitmem's own entries from this repository; memory files and refs stay.

    Raises:
        Locked: a worker is still at it after a while; its hooks are gone, and the rest goes the next time.
    """
    kept = _last_save(workspace, edges)
    # What that paged out is written out, too.
    plan = plan_uninstall(workspace)
    apply(plan.hooks, workspace.git)
    for one in plan.clients:
        apply_hooks(one, workspace.git)
    if plan.merging:
        make_edits(plan.merging.edits, workspace.git)
    for live, name, data in plan.archived:
        (live.path / name).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), (live.path / name).open("xb") as file:
            file.write(data)
        if record := read_record(live.scope.state, live.key):
            # So that the next `init` takes it for what it is, and not for news of an agent.
            oid = blob_name(data, live.scope.repo.hex_length)
            write_record(live.scope.state, live.key, replace(record, files={**record.files, name: oid}))
    take_out(workspace.layout.common_dir / "info" / "exclude", excludes(workspace), fenced=True)
    # No hook starts a worker any more; one that is at it would write to the state that goes.
    with writer_lock(plan.state, "worker", timeout=WORKER_SECONDS) as held:
        workspace.git.run(
            ["config", "--local", "--remove-section", "gitmem"],
            git_dir=workspace.layout.common_dir,
            check=False,
        )
        for entry in plan.state.iterdir():
            if entry.name in kept or entry == held:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        with suppress(OSError):
            file_of(workspace.around.data, workspace.layout.common_dir).unlink(missing_ok=True)
        held.unlink(missing_ok=True)
        with suppress(OSError):
            plan.state.rmdir()


def _last_save(workspace: Workspace, edges: Edges) -> frozenset[str]:
    """Takes in what was written to files that layouts moved aside; returns what of the state must stay."""
    try:
        if workspace.initialised:
            save_all(workspace, edges, everywhere=True)
    except GitmemError:
        return frozenset({"rescued", "displaced"})
    return frozenset({"rescued"})


def _fenced_lines(path: Path) -> frozenset[str]:
    """The lines of our blocks in a file, which is none where there is no such file."""
    data = path.read_bytes() if path.is_file() else b""
    found = (block.decode(errors="surrogateescape") for block in blocks(data))
    return frozenset(line.strip() for block in found for line in block.splitlines())
