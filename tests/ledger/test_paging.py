"""The archive: the hot set stays within its limit, and nothing is lost by what changes places."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from live_ground import LiveGround
from memory_files import ADDED, files_at, learned

from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees
from gitmem.core.names import archive_path, archived_path, hot_path, kind
from gitmem.core.trailers import Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository
from gitmem.git.trees import list_files
from gitmem.ledger.land import Written, read_tip
from gitmem.ledger.layout import record_path
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.paging import current_place, page
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.search.catalog import Catalog

START = 1_800_000_000
REF = "refs/gitmem/project"


def memory(name: str, body: str = "") -> str:
    text = body or f"The {name} fact."
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{text}\n"


def entry(name: str) -> str:
    return f"- [{name}]({name}.md) — About {name}\n"


def agent_tree(*names: str, agent: str = "reviewer") -> dict[str, str | None]:
    files: dict[str, str | None] = {f"{agent}/{name}.md": memory(name) for name in names}
    return files | {f"{agent}/MEMORY.md": "".join(entry(name) for name in names)}


def learn(
    scope: Scope, files: Mapping[str, str | None], time: int = START, told: Provenance = ADDED
) -> Written:
    return learned(scope, files, time, told=told)


def claims(files: Mapping[str, str]) -> set[str]:
    """The claims of all memories, wherever they stand."""
    return {
        claim.key
        for path, text in files.items()
        if kind(path) == "memory" and "/" in path
        for claim in parse(path, text.encode()).claims
    }


def where(files: Mapping[str, str], agent: str = "reviewer") -> tuple[set[str], set[str]]:
    """Stems of an agent's hot memories, and of its archived ones."""
    paths = [path for path in files if path.startswith(f"{agent}/") and kind(path) == "memory"]
    hot = {Path(path).stem for path in paths if hot_path(path) is None}
    return hot, {Path(path).stem for path in paths if hot_path(path)}


@pytest.fixture
def scope(workspace: Workspace) -> Scope:
    return workspace.scope("project")


@pytest.fixture(params=["pygit2", "git"])
def either(request: pytest.FixtureRequest, workspace: Workspace, repo: Path) -> Scope:
    """The project scope over each of the backends."""
    git = GitCommand(dict(os.environ))
    opened: Repository = workspace.code
    if request.param == "git":
        opened = GitRepository(git, layout(git, repo))
    return Scope("project", REF, workspace.state, lambda: opened, lambda: Catalog.open(workspace.state))


def test_the_oldest_go_by_author_time_then_path(either: Scope) -> None:
    learn(either, agent_tree("b", "c"), START + 10)
    learn(either, agent_tree("b", "c", "a", "d"), START + 20)
    made = page(either, "reviewer", limit=1)
    assert made is not None and made.subject == "Page 3 memories of reviewer to the archive"
    assert where(files_at(either)) == ({"d"}, {"a", "b", "c"})
    assert files_at(either)[f"reviewer/{archive_path('b.md')}"] == memory("b")
    assert files_at(either)["reviewer/MEMORY.md"] == entry("d")
    told = parse_trailers(either.repo.commit(made.commit).message)
    assert (told.op, told.writer) == ("page", "sync")


def test_a_hot_set_within_its_limit_is_left_alone(scope: Scope) -> None:
    assert page(scope, "reviewer") is None
    learn(scope, agent_tree(*(f"m{number:03}" for number in range(HOT_MEMORIES))))
    assert page(scope, "reviewer") is None
    learn(scope, {"reviewer/new.md": memory("new")}, START + 1)
    assert page(scope, "reviewer") is not None
    assert where(files_at(scope))[1] == {"m000"}


def test_agents_are_counted_apart_and_index_and_logs_do_not_count(scope: Scope) -> None:
    files = agent_tree("a", "b") | agent_tree("a", "b", agent="tester")
    learn(scope, {**files, "reviewer/logs/2026/11/2026-11-20.md": "- 10:00 x\n", "README.md": "hi\n"})
    assert page(scope, "reviewer", limit=2) is None and page(scope, "tester", limit=2) is None


def test_what_is_not_known_to_be_old_counts_as_oldest(scope: Scope) -> None:
    learn(scope, agent_tree("a", "b", "c"))
    page(scope, "reviewer", lambda _, hot: dict.fromkeys(set(hot) - {"reviewer/b.md"}, START), limit=2)
    assert where(files_at(scope))[1] == {"b"}


def test_two_clones_that_page_the_same_tip_make_the_same_commit(scope: Scope) -> None:
    """Else every pair of clones would have something to merge, again and again."""
    tip = learn(scope, agent_tree("a", "b", "c")).commit
    first = page(scope, "reviewer", limit=1)
    assert first is not None
    move_ref(scope.repo, scope.ref, tip, first.commit, "as another clone")
    shutil.rmtree(scope.state)
    second = page(scope, "reviewer", limit=1)
    assert second is not None and second.commit == first.commit
    who = scope.repo.commit(first.commit).author
    assert (who.name, who.time) == ("gitmem", START)


def test_paging_loses_no_claim_and_makes_no_fact_young(scope: Scope) -> None:
    learn(scope, agent_tree("a"), START + 10)
    learn(scope, agent_tree("a", "b", "c"), START + 20)
    before = files_at(scope)
    made = page(scope, "reviewer", limit=1)
    assert made is not None
    after = files_at(scope)
    assert claims(after) == claims(before)
    hot = archived_path("reviewer/a.md") or ""
    blobs = list_files(scope.repo, scope.repo.commit(made.commit).tree)
    with closing(Catalog.open(scope.state)) as catalog:
        assert catalog.times(scope.repo, scope.ref, made.commit, {hot: blobs[hot]}) == {hot: START + 10}


class Reads:
    """Objects that a repository read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.blobs: list[str] = []
        self.trees: list[str] = []
        for name, seen in (("blob", self.blobs), ("tree", self.trees)):
            self._watch(monkeypatch, name, seen)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, name: str, seen: list[str]) -> None:
        read = getattr(GitRepository, name)

        def watched(repo: GitRepository, oid: str) -> Any:
            seen.append(oid)
            return read(repo, oid)

        monkeypatch.setattr(GitRepository, name, watched)


def test_nothing_of_a_large_archive_is_read(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {f"reviewer/{archive_path(f'old{n}.md')}": memory(f"old{n}") for n in range(2000)}
    learn(scope, {**old, **agent_tree("a", "b", "c")})
    learn(scope, {"reviewer/new.md": memory("new")}, START + 1)
    page(scope, "reviewer", limit=3)  # the catalog has seen it all now
    learn(scope, {"reviewer/newer.md": memory("newer")}, START + 2)
    archive = scope.repo.commit(scope.repo.ref(scope.ref) or "").tree
    archived = {oid for path, oid in list_files(scope.repo, archive).items() if hot_path(path)}
    reads = Reads(monkeypatch)
    made = page(scope, "reviewer", limit=3)
    assert made is not None and not archived & set(reads.blobs)
    assert len(set(reads.trees)) < 30  # of the 256 folders of the archive, those on the way


def test_what_stands_in_both_places_is_united_where_it_is_hot(scope: Scope) -> None:
    """Hosts that merge without gitmem know nothing of archives."""
    learn(scope, agent_tree("a", "b"))
    place = archived_path("reviewer/a.md") or ""
    learn(scope, {place: memory("a", "Said in the archive.")}, START + 1)
    made = page(scope, "reviewer")
    assert made is not None and made.subject == "Unite 1 memory of reviewer with the archive"
    assert place not in files_at(scope)
    assert {"Said in the archive.", "The a fact."} <= set(files_at(scope)["reviewer/a.md"].splitlines())


def test_what_is_paged_out_over_an_archived_twin_does_not_overwrite_it(scope: Scope) -> None:
    place = archived_path("reviewer/a.md") or ""
    learn(scope, {**agent_tree("a", "b"), place: memory("a", "Said in the archive.")})
    learn(scope, agent_tree("c"), START + 1)  # the tip says nothing of `a` any more
    before = claims(files_at(scope))
    page(scope, "reviewer", limit=2)
    assert claims(files_at(scope)) == before
    assert where(files_at(scope)) == ({"a", "c"}, {"b"})


def test_what_just_came_back_is_not_the_next_to_go(scope: Scope) -> None:
    """Restored as it was, it is as old as it was; another one makes room for it."""
    learn(scope, agent_tree("a"), START)
    learn(scope, agent_tree("a", "b", "c"), START + 1)
    page(scope, "reviewer", limit=2)
    place = archived_path("reviewer/a.md") or ""
    told = Provenance(op="restore", writer="human")
    learn(scope, {place: None, "reviewer/a.md": memory("a")}, START + 2, told)
    page(scope, "reviewer", limit=2)
    assert where(files_at(scope)) == ({"a", "c"}, {"b"})


def test_where_a_memory_stands_is_found_after_it_moved(scope: Scope) -> None:
    learn(scope, agent_tree("a", "b"))
    page(scope, "reviewer", limit=1)
    at = scope.repo.commit(scope.repo.ref(scope.ref) or "").tree
    assert current_place(scope.repo, at, "reviewer", "a.md") == (archive_path("a.md"), memory("a").encode())
    assert current_place(scope.repo, at, "reviewer", archive_path("b.md")) == ("b.md", memory("b").encode())
    assert current_place(scope.repo, at, "reviewer", "c.md") is None


# Live directories


def test_paged_files_leave_the_folder_and_are_not_taken_for_a_loss(ground: LiveGround) -> None:
    ground.write(*(f"m{number:02}" for number in range(12)))
    ground.save()
    assert page(ground.live.scope, "reviewer", limit=2) is not None
    saved = ground.save()
    assert ground.shown.keys() == {"MEMORY.md", "m10.md", "m11.md"}
    assert not saved.plan.held and not saved.written
    assert ground.shown["MEMORY.md"] == entry("m10") + entry("m11")
    assert not ground.save().laid_out


EDITED = memory("a", "The a fact.\n\nAnd one more.")


@pytest.mark.parametrize(
    ("seen", "text", "stands", "lines"),
    [
        pytest.param(False, EDITED, ({"a", "b"}, set()), "And one more.", id="edited before it was seen"),
        pytest.param(True, memory("a", "Again."), ({"a", "b"}, set()), "Again.", id="learned again"),
        pytest.param(True, memory("other", "Else."), None, "Else.", id="another memory of its name"),
        pytest.param(False, None, ({"b"}, set()), "", id="deleted before it was seen"),
    ],
)
def test_what_an_agent_does_with_a_paged_file_reaches_its_memory(
    ground: LiveGround, seen: bool, text: str | None, stands: object, lines: str
) -> None:
    ground.write("a", "b")
    ground.save()
    page(ground.live.scope, "reviewer", limit=1)
    if seen:
        ground.save()
    ground.put("a.md", text) if text else ground.file("a.md").unlink()
    (written,) = ground.save().written
    files = files_at(ground.live.scope)
    assert where(files) == stands if stands else not where(files)[1]
    if text:
        said = {line for one in files.values() for line in one.splitlines()}
        assert {"The a fact.", lines} <= said
    if text and stands:
        assert written.subject == "Update a" and entry("a") in ground.shown["MEMORY.md"]
        assert {"The a fact.", lines} <= ground.claims()


def test_without_its_record_a_folder_does_not_bring_back_what_is_archived(ground: LiveGround) -> None:
    """The record can be deleted at any time; what stands in the archive word for word is no news."""
    ground.write("a", "b")
    ground.save()
    page(ground.live.scope, "reviewer", limit=1)
    record_path(ground.live.scope.state, ground.live.key).unlink()
    ground.save()
    assert "a.md" not in ground.shown and where(files_at(ground.live.scope)) == ({"b"}, {"a"})


# Merges


def branch(scope: Scope, name: str, files: Mapping[str, str | None], base: str, page_to: int = 0) -> str:
    """A commit on a ref of its own that begins at `base`, paged to `page_to` where that is not 0."""
    other = Scope("project", f"refs/gitmem/{name}", scope.state, lambda: scope.repo, scope.catalog)
    move_ref(scope.repo, other.ref, base, None, "branch")
    if files:
        learn(other, files, START + 100)
    if page_to:
        page(other, "reviewer", limit=page_to)
    return scope.repo.ref(other.ref) or ""


@pytest.mark.parametrize(
    ("theirs", "stands"),
    [
        ({"reviewer/a.md": memory("a", "The a fact.\n\nMore.")}, ({"a", "b"}, set())),
        ({"reviewer/b.md": memory("b", "Changed.")}, ({"b"}, {"a"})),
        ({"reviewer/a.md": None}, ({"b"}, set())),
    ],
    ids=["an edit wins and gets its line back", "what nobody touched stays", "a deletion reaches it"],
)
def test_what_one_side_paged_meets_what_the_other_did(
    scope: Scope, theirs: dict[str, str | None], stands: tuple[set[str], set[str]]
) -> None:
    base = learn(scope, agent_tree("a", "b")).commit
    sides = branch(scope, "ours", {}, base, page_to=1), branch(scope, "theirs", theirs, base)
    merged = merge_commits(scope.repo, *sides)
    assert merged == merge_commits(scope.repo, *sides[::-1])
    files = files_at(scope, merged.commit)
    assert where(files) == stands and (stands[0] == {"b"} or "More." in files["reviewer/a.md"])
    assert sorted(files["reviewer/MEMORY.md"].splitlines(True)) == [entry(one) for one in sorted(stands[0])]


def test_one_file_learned_on_both_sides_and_paged_on_one_is_one_memory(scope: Scope) -> None:
    base = learn(scope, agent_tree("b")).commit
    ours = branch(scope, "ours", {"reviewer/a.md": memory("a", "Ours.")}, base, page_to=1)
    place = archived_path("reviewer/a.md") or ""
    ours = branch(scope, "paged", {"reviewer/a.md": None, place: memory("a", "Ours.")}, ours)
    theirs = branch(scope, "theirs", {"reviewer/a.md": memory("a", "Theirs.")}, base)
    files = files_at(scope, merge_commits(scope.repo, ours, theirs).commit)
    assert place not in files and {"Ours.", "Theirs."} <= set(files["reviewer/a.md"].splitlines())


def test_clones_that_page_different_sets_agree(scope: Scope) -> None:
    base = learn(scope, agent_tree("a", "b", "c", "d")).commit
    one = branch(scope, "one", {"reviewer/a.md": memory("a", "The a fact.\n\nSeen.")}, base, page_to=2)
    two = branch(scope, "two", {"reviewer/b.md": memory("b", "The b fact.\n\nSeen.")}, base, page_to=2)
    files = files_at(scope, merge_commits(scope.repo, one, two).commit)
    assert claims(files) == claims(files_at(scope, one)) | claims(files_at(scope, two))
    hot, archived = where(files)
    assert hot == {"a", "b", "d"} and archived == {"c"}
    assert set(files["reviewer/MEMORY.md"].splitlines(True)) == {entry(name) for name in hot}


NAMES = ("a", "b", "c")
state = st.sampled_from(["gone", "hot", "archived", "hot edited", "archived edited"])
states = st.fixed_dictionaries(dict.fromkeys(NAMES, state))


def side(chosen: Mapping[str, str], who: str) -> dict[str, bytes]:
    """A tree in which each memory is where and as a state says."""
    files: dict[str, bytes] = {"main/MEMORY.md": b""}
    for name, how in chosen.items():
        text = memory(name, f"The {name} fact." + (f"\n\nSaid by {who}." if "edited" in how else ""))
        place = archive_path(f"{name}.md") if how.startswith("archived") else f"{name}.md"
        if how != "gone":
            files[f"main/{place}"] = text.encode()
            if "/" not in place:
                files["main/MEMORY.md"] += entry(name).encode()
    return files


@given(states, states, states)
def test_however_two_sides_paged_no_memory_is_in_both_places_and_no_edit_is_lost(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]
) -> None:
    sides = [side(chosen, who) for chosen, who in ((base, "base"), (ours, "ours"), (theirs, "theirs"))]
    merged = merge_trees(*sides)
    assert merged == merge_trees(sides[0], sides[2], sides[1])
    assert merge_trees(sides[1], merged.files, sides[1]).files == merged.files
    files = {path: data.decode() for path, data in merged.files.items()}
    hot, archived = where(files, "main")
    assert not hot & archived
    for who, chosen in (("ours", ours), ("theirs", theirs)):
        for name, how in chosen.items():
            if "edited" in how:
                at = f"main/{name}.md" if name in hot else f"main/{archive_path(f'{name}.md')}"
                assert f"Said by {who}." in files[at]
    listed = set(files["main/MEMORY.md"].splitlines(True))
    moved = {
        name for name in NAMES if any(how[name].startswith("archived") for how in (base, ours, theirs))
    }
    assert listed & {entry(name) for name in moved} == {entry(name) for name in hot & moved}


def test_paging_goes_on_where_a_tip_was_read_and_another_wrote(scope: Scope, monkeypatch) -> None:
    learn(scope, agent_tree("a", "b"))
    raced: list[str] = []

    def ages(_: object, hot: Mapping[str, str]) -> dict[str, float]:
        if not raced:
            raced.append(learn(scope, {"reviewer/c.md": memory("c")}, START + 1).commit)
        return dict.fromkeys(hot, float(START)) | {"reviewer/b.md": START + 9.0}

    made = page(scope, "reviewer", ages, limit=1)
    assert made is not None and made.before == raced[0]
    assert where(files_at(scope)) == ({"b"}, {"a", "c"})
    assert read_tip(scope.repo, scope.ref).commit == made.commit
