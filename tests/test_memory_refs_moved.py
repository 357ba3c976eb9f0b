"""Memory lands in one place, `ledger/land.py`: all other calls that move a ref are listed with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest
from package_source import modules

MOVES = {"move_ref", "move_refs", "try_move_ref"}
"""Calls that move a ref, or several at once."""

ORDERS = {"update-ref", "symbolic-ref"}
"""Commands of git's that do."""

LINES_OF_MEMORY = {
    "ledger/land.py": "lands a change, and a commit that is made already",
    "ledger/purge.py": "all refs of memory in one transaction, and refs of its own",
    "ledger/replay.py": "memory that another machine's purge of proposals has to reach",
    "ledger/share.py": "the private ref, deleted once the shared one holds what it held",
    "app/doctor_memory.py": "a ref that was lost or damaged, brought back; what it held is kept",
}
"""Modules that move a line of memory itself."""

NO_MEMORY = {
    "ledger/acceptance.py": "what was accepted, which waits to be sent",
    "ledger/arrival.py": "side branches and proposals that follow a purge",
    "ledger/backup.py": "proposals and dreams as another machine has them",
    "ledger/dream_branch.py": "a dream's branch, from an edit to its return; an unsent acceptance",
    "ledger/departure.py": "side branches that follow what left; what it told before, kept",
    "ledger/epochs.py": "a history that somebody else's purge replaced, kept",
    "ledger/erase.py": "replaced histories that were kept long enough; what remotes had before a purge",
    "ledger/foreign_commits.py": "a commit that its ref lost, kept from git's gc",
    "ledger/inbox.py": "which branches of teammates are turned down",
    "ledger/push_plan.py": "what was there before memory was shared, kept",
    "ledger/proposals.py": "a proposal's own ref",
    "ledger/session_notes.py": "session notes",
    "ledger/side_branches.py": "a branch of a request, asked for, kept up to date, closed",
    "ledger/stores.py": "what a hosted memory store held when it was last seen",
    "flows/document_branch.py": "the branch of living documents",
    "flows/pull_request.py": "a dream's branch, as it was pushed",
}
"""Modules that move refs that hold no memory, or none yet."""

READS = {
    "flows/document_branch.py": "which branch HEAD is",
}
"""Modules that give git an order of those names and move nothing."""


def moving(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Lines of a module that move a ref, or have git do it."""
    for node in nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in MOVES:
                yield node.lineno
        elif isinstance(node, ast.List) and node.elts:
            words = {one.value for one in node.elts if isinstance(one, ast.Constant)}
            if words & ORDERS:
                yield node.lineno


def found() -> dict[str, list[int]]:
    """Modules that move refs, the room of git itself left out: file to lines."""
    lines = {
        path: list(moving(every))
        for path, every in modules(*MOVES, *ORDERS).items()
        if not path.startswith("git/")
    }
    return {path: where for path, where in lines.items() if where}


def test_nothing_moves_a_ref_that_is_not_listed_with_its_reason() -> None:
    listed = {*LINES_OF_MEMORY, *NO_MEMORY, *READS}
    unknown = {path: lines for path, lines in found().items() if path not in listed}
    assert unknown == {}, "land a change by gitmem.ledger.land, or list the module and say why"


def test_each_module_that_is_listed_still_does() -> None:
    assert sorted({*LINES_OF_MEMORY, *NO_MEMORY, *READS} - found().keys()) == []
    assert not LINES_OF_MEMORY.keys() & NO_MEMORY.keys()


@pytest.mark.parametrize(
    "code",
    [
        "move_ref(repo, ref, new, old, 'x')",
        "refs.move_ref(self.repo, ref, new, old, 'x')",
        "move_refs(repo, moves, 'x')",
        "try_move_ref(repo, ref, new, old, 'x')",
        "git.run(['update-ref', ref, new])",
        "words = ['-c', 'a=b', 'update-ref', '--stdin']",
    ],
)
def test_a_move_is_seen_however_it_is_written(code: str) -> None:
    assert list(moving(ast.walk(ast.parse(code))))


WITHOUT_COPIES = {
    "flows/commit_trailers.py": "seen to after it, and at worst by the next save",
    "flows/extract/run.py": "seen to after all changes of a session, and at worst by the next save",
    "app/bench_dream.py": "memory that is made up for a benchmark",
    "flows/memory_trees.py": "a checked-out branch, which is a working copy itself",
    "app/host_files.py": "files of a host, no agent's",
    "ledger/forget.py": "tombstones of what was rejected, which no working copy shows",
    "ledger/acceptance.py": "what waits to be sent: a ref of its own",
    "ledger/dream_branch.py": "a dream's branch",
    "ledger/foreign_commits.py": "part of what brings copies up to date",
    "ledger/sync.py": "part of a sync, which brings all of them up to date",
    "ledger/paging.py": "part of what brings copies up to date",
    "ledger/projects.py": "a note of where a project is: a ref of its own",
    "ledger/session_notes.py": "session notes: a ref of their own",
    "ledger/share.py": "attributes, no agent's",
    "ledger/snapshot_intake.py": "a note of the snapshot that was made: no edit",
    "ledger/working_copy.py": "a working copy itself",
}
"""Modules that land a change without bringing working copies up to date."""

LANDS = {"land": 4, "land_change": None}
"""Calls that land a change, and how many arguments they take with copies, where these have a place."""


def landing_alone(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Lines of a module that land a change and pass no `copies`."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LANDS:
            place = LANDS[node.func.id]
            given = place is not None and len(node.args) >= place
            if not given and not any(one.arg == "copies" for one in node.keywords):
                yield node.lineno


def test_whoever_lands_a_change_brings_working_copies_up_to_date() -> None:
    alone = {path for path, every in modules(*LANDS).items() if any(landing_alone(every))}
    assert alone == WITHOUT_COPIES.keys()


def test_what_is_made_already_lands_in_one_place_too() -> None:
    """Merges with what was fetched, a replay of what may leave, one project's memory in another's."""
    found = {
        path
        for path, every in modules("land_commit").items()
        for node in every
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "land_commit"
    }
    assert found == {f"ledger/{name}.py" for name in ("arrival", "departure", "projects", "share")}
