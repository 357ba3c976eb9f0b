"""Which clients a person has here, and the hook files that `init`, a checkout and `uninstall` change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gitmem.app.client_hooks import (
    HookFile,
    HookPlan,
    apply_hooks,
    clients_of,
    is_tracked,
    own_place,
    plan_hooks,
    plan_removal,
    read_record,
    tree_place,
)
from gitmem.app.clients import CLAUDE, CLIENTS, Client
from gitmem.app.launcher import Launcher
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.flows.context import Edges
from gitmem.flows.engines import find_program
from gitmem.flows.memory_trees import is_memory_tree
from gitmem.flows.save import save_all
from gitmem.flows.snapshots import look_for_snapshots
from gitmem.ledger.workspace import Workspace


def find_clients(workspace: Workspace, environ: Mapping[str, str]) -> tuple[Client, ...]:
    """The clients that a person uses: those whose program is on PATH or whose folder is in their home, and
    Claude Code where none is, since its folder is where memory is laid out."""
    home = workspace.around.home
    found = tuple(
        client
        for client in CLIENTS.values()
        if client.home(environ, home).is_dir() or find_program(client.programs, workspace, environ)
    )
    return found or (CLAUDE,)


def named_clients(names: Sequence[str]) -> tuple[Client, ...]:
    """The clients of these names.

    Raises:
        UsageError: one is in no row of the table.
    """
    for name in names:
        if name not in CLIENTS:
            raise UsageError(f"There is no client {name!r}", f"Clients are: {', '.join(CLIENTS)}.")
    return tuple(CLIENTS[name] for name in dict.fromkeys(names))


def plan_clients(
    workspace: Workspace,
    environ: Mapping[str, str],
    argv: Sequence[str],
    named: Sequence[Client] = (),
    only: Sequence[Client] = (),
) -> tuple[HookPlan, ...]:
    """Plans the hooks of the clients that are here, of those that have them already, or of those named.

    A file that cannot be changed is no reason to leave out the others: its plan says what to do by hand.

    Args:
        argv: the words that start gitmem from anywhere.
        named: the clients that a person named; then a file of their own counts where the code tracks the
            work tree's.
        only: the clients to look at, where none is named; those that are here or have hooks where empty.
    """
    wanted = (
        named
        or only
        or tuple(
            client
            for client in CLIENTS.values()
            if client in (*find_clients(workspace, environ), *hooked_clients(workspace))
        )
    )
    found = []
    for client in wanted:
        place = place_of(workspace, environ, client, named=client in named)
        try:
            found.append(plan_hooks(place, argv, is_tracked(place, workspace)))
        except RepositoryError as error:
            text = f"{error.message}. {error.hint}"
            found.append(HookPlan(place, None, None, by_hand=text))
    return tuple(found)


def place_of(
    workspace: Workspace, environ: Mapping[str, str], client: Client, *, named: bool = False
) -> HookFile:
    """The hook file of a client that counts here: the work tree's, and the person's own only where the code
    tracks that and they named the client, now or before."""
    common = workspace.layout.common_dir
    place = tree_place(client, workspace.layout.worktree or common, common)
    folder, data = client.home(environ, workspace.around.home), workspace.around.data
    own = own_place(client, folder, data, common)
    # Where a home is a work tree, one file may be both; then it serves other repositories as well.
    if place.path == own.path:
        return own
    if not is_tracked(place, workspace):
        return place
    return own if named or client in clients_of(data / "state", str(common)) else place


def carry_out_clients(workspace: Workspace, plans: Sequence[HookPlan], argv: Sequence[str]) -> None:
    """Adds the hooks.

    Raises:
        RepositoryError: a file cannot be written.
    """
    for plan in plans:
        if not plan.changes:
            continue
        try:
            apply_hooks(plan, workspace.git)
        except RepositoryError:
            # The worker hooks a new work tree as well, and may have been first.
            again = plan_hooks(plan.place, argv, is_tracked(plan.place, workspace))
            if again.changes:
                apply_hooks(again, workspace.git)


def add_to_worktree(workspace: Workspace, argv: Sequence[str]) -> list[str]:
    """Adds the hooks that other work trees of a repository have to this one; says what was done, or not."""
    top, common = workspace.layout.worktree, workspace.layout.common_dir
    if top is None or is_memory_tree(top):
        return []
    lines = []
    for client in clients_of(common / "gitmem"):
        try:
            place = tree_place(client, top, common)
            plan = plan_hooks(place, argv, is_tracked(place, workspace))
            apply_hooks(plan, workspace.git)
        except RepositoryError as error:
            lines.append(error.message)
            continue
        lines += [str(plan)] if plan.changes or plan.by_hand else []
    return lines


def plan_clients_removal(workspace: Workspace, argv: Sequence[str]) -> tuple[HookPlan, ...]:
    """Plans taking the hooks of all clients out of all work trees, and of the person's own files that no
    other repository uses.

    Raises:
        RepositoryError: a file that has hooks of gitmem's cannot be read.
    """
    common = workspace.layout.common_dir
    recorded = read_record(common / "gitmem")
    shared = read_record(workspace.around.data / "state")
    found = []
    for tree in workspace.worktrees:
        for client in CLIENTS.values():
            place = tree_place(client, tree.path, common)
            if str(place.path) in shared:  # of a home that is a work tree: others may use it, see below
                continue
            try:
                found.append(plan_removal(place, argv))
            except RepositoryError:
                # What was never written to is nobody's business.
                if str(place.path) in recorded:
                    raise
    found += [plan_removal(place, argv) for place in _own_places(workspace)]
    return tuple(plan for plan in found if plan.changes)


def _own_places(workspace: Workspace) -> Iterator[HookFile]:
    """The files in the person's home that this repository uses."""
    data, common = workspace.around.data, workspace.layout.common_dir
    for path, known in read_record(data / "state").items():
        client = CLIENTS.get(str(known.get("client")))
        if client is None or str(common) not in known.get("users", ()):
            continue
        folder = Path(path).parents[len(Path(client.own_file).parts) - 1]
        yield own_place(client, folder, data, common)


def hooked_clients(workspace: Workspace) -> tuple[Client, ...]:
    """Clients whose hooks this repository has, wherever they stand, in the order of the table."""
    state, user = workspace.around.data / "state", str(workspace.layout.common_dir)
    found = (*clients_of(workspace.state), *clients_of(state, user))
    return tuple(client for client in CLIENTS.values() if client in found)


def after_checkout(workspace: Workspace, edges: Edges, *, new: bool = False) -> tuple[str, ...]:
    """Looks for snapshots and lays memory out, from what is here; the network is never used.

    Args:
        new: the work tree was just made: it gets clients' hooks, too, where another has them.

    Returns:
        What was done or waits, a line each.
    """
    # What stands in a live directory is memory already, and must not be taken for none.
    save_all(workspace, edges)
    lines, _ = look_for_snapshots(workspace, edges)
    if new:
        lines += add_to_worktree(workspace, Launcher(workspace.around.data).argv)
    save_all(workspace, edges, fresh=True)
    return tuple(lines)
