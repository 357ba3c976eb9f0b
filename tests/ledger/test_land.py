"""One function lands a change: working copies around it, once for several; and what is made already."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace

import pytest
from planted_secrets import GITHUB, Maker

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.trailers import Fate, Provenance
from gitmem.git.objects import object_name
from gitmem.git.refs import move_ref
from gitmem.git.repository import RefMoved, Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger import land as module
from gitmem.ledger.land import (
    MakeCommit,
    Plan,
    Ref,
    Tip,
    Write,
    check_format,
    is_commit,
    is_memory,
    land,
    land_commit,
    memory_commit,
    root_commit,
    root_objects,
    safe_message,
    together,
)
from gitmem.ledger.workspace import Scope, Workspace

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
BEN = Signature("Ben", "ben@example.com", 1_800_000_000)


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
    assert land(
        workspace.scope("project"), writing(**{f"{agent}__one": "1\n" for agent in "dcbafe"}), ANN, seen
    )
    assert seen.calls == [([], False, False), (["a", "b", "c", "d", "e", "f"], True, True)]


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


REF = "refs/gitmem/test"


@pytest.mark.parametrize(
    ("shared", "author", "signed", "asked"),
    [
        (True, ANN, True, True),
        (False, ANN, True, False),
        (True, None, True, False),
        (True, ANN, False, False),
    ],
)
def test_a_person_signs_what_others_may_check_and_they_answer_for(
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    shared: bool,
    author: Signature | None,
    signed: bool,
    asked: bool,
) -> None:
    made: list[str] = []

    def signer(repo: Repository) -> MakeCommit:
        def sign(*given: object) -> str:
            made.append(repo.add_commit(*given))  # type: ignore[arg-type]
            return made[-1]

        return sign

    monkeypatch.setattr(module, "signer", signer)
    place = Ref(workspace.code, REF, shared)
    for name in "ab":
        write = writing(**{f"main__{name}": "1\n"})
        plan = lambda tip, write=write: replace(write(tip), signed=signed)  # noqa: E731
        written = land(place, plan, author)
        assert written and workspace.code.ref(REF) == written.commit
    assert bool(made) is asked


def test_what_cannot_be_signed_is_stored_all_the_same(workspace: Workspace, git) -> None:
    for key, value in {"commit.gpgSign": "true", "gpg.format": "ssh", "user.signingKey": "/none"}.items():
        git("-C", workspace.code.git_dir, "config", key, value)
    workspace.state.mkdir(exist_ok=True)
    written = land(Ref(workspace.code, REF, True), writing(main__a="1\n"), ANN)
    assert written and read_files(workspace.code, workspace.code.commit(written.commit).tree)["main/a.md"]
    assert "not signed: git could not sign" in (workspace.state / "log").read_text()


@pytest.mark.parametrize(("name", "asked"), [("project", True), ("local", False), ("user", False)])
def test_of_the_scopes_others_may_check_the_projects(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, name: str, asked: bool
) -> None:
    seen: list[Repository] = []
    monkeypatch.setattr(module, "signer", seen.append)
    assert land(workspace.scope(name), writing(main__a="1\n"), ANN)  # type: ignore[arg-type]
    assert seen == ([workspace.scope("project").repo] if asked else [])


def test_who_was_overtaken_plans_again_on_the_new_tip_until_it_is_enough(workspace, monkeypatch) -> None:
    """After some races it asks others to wait, and that turn ends with it."""
    repo, tips, pauses, turns = workspace.code, [], [], []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    place = Ref(repo, REF)

    def overtaken(times: int) -> Plan:
        def plan(tip: Tip) -> Write:
            tips.append(tip.commit)
            turns.append(any((repo.git_dir / "gitmem").glob("turn-*")))
            if len(tips) <= times:
                other = repo.add_commit(tip.tree, (tip.commit,), ANN, ANN, f"{len(tips)}\n")
                move_ref(repo, REF, other, repo.ref(REF), "another writer")
            return writing(**{f"main__{times}": "1\n"})(tip)  # type: ignore[return-value]

        return plan

    written = land(place, overtaken(6), ANN)
    assert written and (written.before, written.subject) == (tips[-1], "Learn")
    assert len(set(tips)) == 7 and len(pauses) == 6
    assert all(0 <= pause <= 0.002 * number for number, pause in enumerate(pauses, 1))
    assert not turns[0] and turns[-1]
    assert not list((repo.git_dir / "gitmem").glob("turn-*"))
    tips.clear()
    monkeypatch.setattr(module, "ATTEMPTS", 3)
    with pytest.raises(RepositoryError, match="kept moving under 3 attempts"):
        land(place, overtaken(99), ANN)
    assert len(tips) == 3


def test_a_commit_says_what_it_did_and_one_that_does_nothing_is_not_made(workspace: Workspace) -> None:
    repo, place = workspace.code, Ref(workspace.code, REF)
    assert land(place, lambda _: Write({}, "Nothing", Provenance("add")), ANN) is None
    assert repo.ref(REF) is None
    first = land(place, writing(main__a="1\n"), ANN)
    assert first and first.before == root_commit(repo)
    assert first.edits == {"main/a.md": b"1\n", ".gitmem": b"format = 1\n"}
    assert land(place, writing(main__a="1\n"), ANN) is None
    moved = Write(
        {"main/a.md": None}, "Move", Provenance("move"), moves={"main/a.md": "main/b.md"}, author=BEN
    )
    second = land(place, lambda _: moved, ANN)
    assert second and second.before == first.commit
    commit = repo.commit(second.commit)
    assert (commit.author, commit.committer, commit.parents) == (BEN, ANN, (first.commit,))
    assert read_files(repo, commit.tree)["main/b.md"] == b"1\n"
    assert repo.reflog(REF)[0].message == "gitmem move: Move"
    third = land(place, lambda _: Write({}, "Join", Provenance("merge"), parents=(root_commit(repo),)), ANN)
    assert third and repo.commit(third.commit).parents == (second.commit, root_commit(repo))
    last = land(place, writing(main__c="3\n"), None)
    assert last and repo.commit(last.commit).author == replace(module.ROOT_SIGNATURE, time=ANN.time)


def test_no_credential_gets_into_a_message_and_what_was_said_before_is_not_looked_at_again(
    workspace: Workspace,
) -> None:
    said = Provenance(
        "dream", claims=(Fate("dropped", "main/a.md#0", "", f"as {GITHUB}"), Fate("kept", "b", "c", "so"))
    )
    message = safe_message(f"Use {GITHUB}", said, f"Or {GITHUB}; the password is hunter2")
    assert GITHUB not in message and message.startswith("Use [github-pat]\n\nOr [github-pat]; the")
    assert "hunter2" in message and "as [github-pat]" in message and " so" in message
    key = Maker(3).pem("RSA ", 20)
    assert key[40:80] not in safe_message(key, said)
    place = Ref(workspace.code, REF)
    undo = Provenance("undo")
    for again, subject in (
        (Write({"main/a.md": b"1\n"}, f"Use {GITHUB}", undo, repeats=True), f"Use {GITHUB}"),
        (Write({"main/a.md": b"2\n"}, f"Use {GITHUB}", undo), "Use [github-pat]"),
    ):
        written = land(place, lambda _, again=again: again, ANN)  # type: ignore[misc]
        assert written and written.subject == subject


@pytest.mark.parametrize(
    ("text", "newer"),
    [
        ("format = 1\n", False),
        (" format\t=  2 \n", True),
        ("# x\nformat = 2", True),
        ("formats = 2\n", False),
        ("format = two\n", False),
        ("format 2\n", False),
        ("limit = 2\n", False),
    ],
)
def test_what_a_newer_gitmem_wrote_is_read_and_never_written(workspace, text: str, newer: bool) -> None:
    repo = workspace.code
    tree = write_tree(repo, None, {".gitmem": text.encode()})
    made = repo.add_commit(tree, (root_commit(repo),), ANN, ANN, "x\n")
    move_ref(repo, REF, made, None, "by hand")
    with pytest.raises(RepositoryError, match="format 2, which") if newer else nullcontext():
        check_format(repo, REF, Tip(made, tree))
    with pytest.raises(RepositoryError) if newer else nullcontext():
        land(Ref(repo, REF), writing(main__a="1\n"), ANN)
    assert memory_commit(repo, REF) == repo.ref(REF)


@pytest.mark.parametrize("hex_length", [40, 64])
def test_the_root_is_known_without_a_repository(workspace: Workspace, hex_length: int) -> None:
    found = root_objects(hex_length)
    assert [kind for kind, _ in found.values()] == ["tree", "commit"]
    assert [object_name(kind, data, hex_length) for kind, data in found.values()] == [*found]
    if hex_length == workspace.code.hex_length:
        assert not is_commit(workspace.code, [*found][1])
        assert root_commit(workspace.code) == [*found][1] and is_commit(workspace.code, [*found][1])


def test_memory_is_what_says_so_or_goes_back_to_the_root(workspace: Workspace) -> None:
    repo, head = workspace.code, workspace.code.resolve("HEAD")
    assert head and not is_memory(repo, head) and not is_memory(repo, "f" * len(head))
    bare = repo.add_commit(repo.add_tree({}), (root_commit(repo),), ANN, ANN, "x\n")
    made = land(Ref(repo, REF), writing(main__a="1\n"), ANN)
    assert made and is_memory(repo, bare) and is_memory(repo, made.commit)
    said = repo.add_commit(repo.commit(made.commit).tree, (), ANN, ANN, "x\n")
    assert is_memory(repo, said), "also without the root"
    assert memory_commit(repo, "refs/gitmem/none") is None
    move_ref(repo, "refs/gitmem/code", head, None, "by hand")
    with pytest.raises(RepositoryError, match="which is no memory"):
        memory_commit(repo, "refs/gitmem/code")


def test_a_ref_to_what_is_not_here_says_so(workspace: Workspace) -> None:
    repo = workspace.code
    path = repo.git_dir / "refs/gitmem/gone"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("f" * repo.hex_length + "\n")
    with pytest.raises(MissingObject):
        memory_commit(repo, "refs/gitmem/gone")
