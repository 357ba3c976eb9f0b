"""One function lands a change: working copies around it, once for several; and what is made already."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import Provenance
from gitmem.git.repository import RefMoved, Signature
from gitmem.ledger.land import Plan, Ref, Tip, Write, land, land_commit, root_commit, together
from gitmem.ledger.workspace import Scope, Workspace

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)


def writing(**files: str) -> Plan:
    """A plan that stores files, given as `agent__name`."""
    edits = {f"{path.replace('__', '/')}.md": text.encode() for path, text in files.items()}
    return lambda _: Write(edits, "Learn", Provenance(op="add"))


class Seen:
    """Working copies that only note what is asked of them, and how far the ref was then."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], bool, bool]] = []

    def __call__(self, scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        self.calls.append(([*agents], lay_out, scope.repo.ref(scope.ref) is not None))


def test_copies_are_saved_before_and_those_that_it_touched_shown_after(workspace: Workspace) -> None:
    seen = Seen()
    assert land(workspace.scope("project"), writing(a__one="1\n", b__two="2\n"), ANN, seen)
    assert seen.calls == [([], False, False), (["a", "b"], True, True)]


def test_what_is_about_one_agent_asks_for_its_copies_alone(workspace: Workspace) -> None:
    """Also where nothing changed: the folder may be missing."""
    seen = Seen()
    assert land(workspace.scope("project"), lambda _: None, ANN, seen, "reviewer") is None
    assert seen.calls == [(["reviewer"], False, False), (["reviewer"], True, False)]


def test_several_changes_save_once_and_show_once(workspace: Workspace) -> None:
    seen, scope = Seen(), workspace.scope("project")
    with together(seen) as copies:
        land(scope, writing(a__one="1\n"), ANN, copies, "a")
        land(scope, writing(a__two="2\n", b__two="2\n"), ANN, copies)
        land(scope, writing(c__three="3\n"), ANN, copies, "c")
        assert not any(lay_out for _, lay_out, _ in seen.calls)
    assert [agents for agents, lay_out, _ in seen.calls if not lay_out] == [["a"], []]
    assert [agents for agents, lay_out, _ in seen.calls if lay_out] == [["a", "b", "c"]]


def test_where_one_of_several_fails_the_next_save_shows_the_rest(workspace: Workspace) -> None:
    seen, scope = Seen(), workspace.scope("project")

    def broken(_: Tip) -> Write:
        raise RepositoryError("no")

    with pytest.raises(RepositoryError), together(seen) as copies:
        land(scope, writing(a__one="1\n"), ANN, copies, "a")
        land(scope, broken, ANN, copies, "b")
    assert not any(lay_out for _, lay_out, _ in seen.calls)


def test_gitmem_itself_makes_the_same_commit_on_the_same_tip(workspace: Workspace) -> None:
    refs = [Ref(workspace.code, f"refs/gitmem/{name}") for name in ("one", "two")]
    made = [land(ref, writing(a__one="1\n"), None) for ref in refs]
    assert made[0] and made[1] and made[0].commit == made[1].commit


def test_what_is_made_already_lands_where_the_ref_was_read(workspace: Workspace) -> None:
    repo, ref = workspace.code, "refs/gitmem/project"
    made = land(Ref(repo, "refs/gitmem/other"), writing(a__one="1\n"), ANN)
    assert made
    land_commit(repo, ref, made.commit, None, "gitmem test")
    assert repo.ref(ref) == made.commit
    with pytest.raises(RefMoved):
        land_commit(repo, ref, root_commit(repo), None, "gitmem test")


def test_a_commit_of_code_never_becomes_memory(workspace: Workspace) -> None:
    repo, ref = workspace.code, "refs/gitmem/project"
    head = repo.resolve("HEAD")
    assert head
    with pytest.raises(RepositoryError, match="no memory"):
        land_commit(repo, ref, head, None, "gitmem test")
    assert repo.ref(ref) is None
