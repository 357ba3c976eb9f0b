"""What `--at` means, what a change did to claims, and how old a memory is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from memory_files import ADDED, learned
from memory_repository import DAY, MemoryRepository

from gitmem.core.errors import UsageError
from gitmem.git.command import GitCommand
from gitmem.git.history import changed
from gitmem.ledger.land import root_commit
from gitmem.ledger.log import ClaimChange, claim_diff, entries
from gitmem.ledger.lookup import age, find, headers
from gitmem.ledger.moments import moment_of, resolve_all, resolve_at, revision
from gitmem.ledger.workspace import Scope, Workspace, open_workspace

NOON = 1_763_553_600
"""2025-11-19 12:00 UTC."""
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nThe {0} fact.\n"

Learn = Callable[..., str]


@pytest.fixture
def project(workspace: Workspace) -> Scope:
    return workspace.scope("project")


@pytest.fixture
def learn(workspace: Workspace) -> Learn:
    """Commits files to a memory ref at a time given in hours after noon of 2025-11-19."""

    def do(files: dict[str, str | None], hours: float = 0, scope: str = "project", **told: str) -> str:
        where, by = workspace.scope(scope), replace(ADDED, **told)  # type: ignore[arg-type]
        return learned(where, files, NOON + hours * 3600, told=by).commit

    return do


def test_a_revision_counts_from_the_memory_ref(workspace: Workspace, project: Scope, learn: Learn) -> None:
    first = learn({"main/a.md": "one"})
    second = learn({"main/a.md": "two"})
    third = learn({"main/a.md": "three"})
    for word, expected in (
        ("@", third),
        ("~1", second),
        ("~2", first),
        ("^", second),
        ("@~2", first),
        ("@{1}", second),
        (first[:8], first),
        (first, first),
        ("refs/gitmem/project~1", second),
    ):
        assert resolve_at(workspace, project, word) == expected, word


def test_head_and_branches_mean_the_code(workspace, project, learn, repo: Path, git, monkeypatch) -> None:
    """What did we know at v1.2: the newest memory that is no later than that commit."""
    first = learn({"main/a.md": "one"}, hours=0)
    second = learn({"main/a.md": "two"}, hours=2)
    for hours, tag in ((1, "v1.2"), (3, "v1.3")):
        date = f"{NOON + hours * 3600} +0000"
        monkeypatch.setenv("GIT_COMMITTER_DATE", date)
        git("-C", repo, "commit", "-q", "--allow-empty", "-m", tag)
        git("-C", repo, "tag", "-a", tag, "-m", tag)
    assert resolve_at(workspace, project, "v1.2") == first
    assert resolve_at(workspace, project, git("-C", repo, "rev-parse", "v1.2^{commit}")) == first
    assert resolve_at(workspace, project, "HEAD") == second
    assert resolve_at(workspace, project, "main~1") == first


def test_head_is_never_that_of_the_private_repository(workspace: Workspace, learn: Learn) -> None:
    """It names the branch of the scope `user`, whose commits are no answer to what the code's mean."""
    learn({"main/a.md": "one"}, scope="user")
    learn({"main/a.md": "two"}, scope="user")
    learn({"main/a.md": "three"}, scope="local")
    user, local = workspace.scope("user"), workspace.scope("local")
    assert resolve_at(workspace, user, "HEAD") == resolve_at(workspace, user, "main")
    assert revision(user, "HEAD~1") is None
    for scope in (user, local):
        with pytest.raises(UsageError, match="'HEAD~7' is no revision"):
            resolve_at(workspace, scope, "HEAD~7")
        with pytest.raises(UsageError, match="'HEAD~1' is no revision"):
            resolve_at(workspace, scope, "HEAD~1")


def test_head_is_that_of_the_present_work_tree(workspace, learn, repo, git, tmp_path, monkeypatch) -> None:
    known = learn({"main/a.md": "one"}, hours=-24 * 400)
    learn({"main/a.md": "two"}, hours=24 * 800)
    git("-C", repo, "worktree", "add", "-q", tmp_path / "old", "-b", "old")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2030-01-01T00:00:00Z")
    git("-C", repo, "commit", "-q", "--allow-empty", "-m", "young")
    old = open_workspace(workspace.around, tmp_path / "old")
    assert old.layout.git_dir != old.layout.common_dir
    second = resolve_at(workspace, workspace.scope("project"), "HEAD")
    assert resolve_at(old, old.scope("project"), "HEAD") == known != second


def test_a_date_takes_the_newest_that_is_no_later(workspace, project: Scope, learn: Learn) -> None:
    early, late = learn({"main/a.md": "one"}, hours=0), learn({"main/a.md": "two"}, hours=3)
    for expected, whens in {
        early: (
            "2025-11-19T13:00:00Z", "2025-11-19 13:00", "2025-11-19T15:30+02:00",
            "2025-11-19T12:00:00.000Z",
        ),
        late: ("2025-11-19", "2 days ago", "2.days.ago", "yesterday", "now"),
        root_commit(project.repo): ("2025-11-18", "4 days ago", "last week"),
    }.items():  # fmt: skip
        for when in whens:
            assert resolve_at(workspace, project, when, now=NOON + 3 * DAY) == expected, when


def test_a_day_ends_in_the_persons_time_zone(repo: Path) -> None:
    utc, tokyo = (
        moment_of(GitCommand({**os.environ, "TZ": zone}), "2025-11-19") for zone in ("UTC", "JST-9")
    )
    assert utc is not None and tokyo is not None and utc - tokyo == 9 * 3600


def test_what_means_nothing_is_refused(workspace: Workspace, project: Scope, learn: Learn) -> None:
    """Git itself takes any word for a date: `git log --until=nonsense` is now."""
    learn({"main/a.md": "one"})
    words = ("", "nonsense", "2025-13-45", "~99", "@{77}", "^main", "a..b", "--all", "march", "deadbeef")
    for word in (*words, "\0"):
        with pytest.raises(UsageError) as caught:
            resolve_at(workspace, project, word)
        assert caught.value.exit_code == 2, word


def test_another_scopes_commit_means_its_time(workspace: Workspace, project: Scope, learn: Learn) -> None:
    first = learn({"main/a.md": "one"}, hours=0)
    private = learn({"main/a.md": "mine"}, hours=1, scope="local")
    learn({"main/a.md": "two"}, hours=2)
    assert resolve_at(workspace, project, private) == first
    assert revision(project, private) is None
    assert resolve_all(workspace, workspace.scopes, private) == {
        project.ref: first,
        workspace.scope("local").ref: private,
    }


def test_an_empty_scope_says_so(workspace: Workspace, project: Scope) -> None:
    with pytest.raises(UsageError, match="project memory is empty"):
        resolve_at(workspace, project, "now")


def test_the_log_names_what_each_commit_changed(project: Scope, learn: Learn) -> None:
    learn({"main/a.md": "one", "main/b.md": "one"})
    last = learn({"main/a.md": "two"}, writer="extract", session="s-1")
    tip = project.repo.ref(project.ref)
    assert tip is not None
    log = list(entries(project.repo, tip))
    assert [entry.paths for entry in log] == [("main/a.md",), (".gitmem", "main/a.md", "main/b.md")]
    assert (log[0].commit, log[0].author, log[0].time) == (last, "Ann <ann@example.com>", NOON)
    assert (log[0].provenance.writer, log[0].provenance.session) == ("extract", "s-1")
    assert len(list(entries(project.repo, tip, ["main/b.md"]))) == 1


def test_a_merge_changed_only_what_no_side_had() -> None:
    repo = MemoryRepository()
    base = repo.put({"main/a.md": "1", "main/b.md": "1"})
    ours = repo.put({"main/a.md": "2", "main/b.md": "1"}, base)
    theirs = repo.put({"main/a.md": "1", "main/b.md": "2"}, base)
    clean = repo.put({"main/a.md": "2", "main/b.md": "2"}, ours, theirs)
    mixed = repo.put({"main/a.md": "2", "main/b.md": "3"}, ours, theirs)
    assert changed(repo, repo.commit(clean)) == ()  # type: ignore[arg-type]
    assert changed(repo, repo.commit(mixed)) == ("main/b.md",)  # type: ignore[arg-type]


def diff(before: str | None, after: str | None, path: str = "main/a.md") -> list[tuple[str, str]]:
    changes = claim_diff(path, *(text.encode() if text is not None else None for text in (before, after)))
    return [(change.sign, change.text) for change in changes]


def test_claims_are_compared_one_by_one() -> None:
    assert diff("One.\n\n- two\n- three\n", "One.\n\n- two\n- four\n") == [
        ("-", "- three"),
        ("+", "- four"),
    ]
    assert diff("One\nline.\n\nTwo.\n", "Two.\n\nOne line.\n") == []
    assert diff("One.\n\nOne.\n", "One.\n") == [("-", "One.")]
    assert diff(None, "One.\n") == [("+", "One.")]
    assert diff("One.\n", None) == [("-", "One.")]
    assert diff("One.\n", "One. *(disputed 01234567)*\n") == [("~", "One. *(disputed 01234567)*")]
    assert diff("v1 a\n", "v1 b\n", "main/.tombstones") == []


def test_frontmatter_that_people_see_is_compared_too() -> None:
    before, after = (
        MEMORY.format("a"),
        MEMORY.format("a").replace("About a", "On a").replace("project", "user"),
    )
    assert diff(before, after) == [
        ("-", "description: About a"),
        ("+", "description: On a"),
        ("~", "type: project -> user"),
    ]
    assert ClaimChange("+", "x").sign == "+"


def test_bytes_that_are_no_text_can_be_compared() -> None:
    assert claim_diff("main/a.md", b"\xff\xfe", b"\xff\xfe\n\nMore.\n") == (ClaimChange("+", "More."),)


def test_memories_are_found_with_their_headers_and_ages(workspace: Workspace, learn: Learn) -> None:
    learn(
        {
            "main/ports.md": MEMORY.format("ports"),
            "main/MEMORY.md": "x",
            "main/logs/2025/11/2025-11-19.md": "x",
        }
    )
    learn({"^code-^reviewer/archive/ab/old.md": MEMORY.format("old")}, hours=1, scope="user")
    (header,) = headers(workspace)
    assert (header.scope, header.agent, header.file, header.name, header.time) == (
        "project", "main", "ports.md", "ports", NOON,
    )  # fmt: skip
    assert [entry.name for entry in headers(workspace, archived=True)] == ["ports", "old"]
    found = find(workspace, "old", agent="Code-Reviewer")
    assert (found.scope, found.agent, found.archived) == ("user", "^code-^reviewer", True)
    assert found.address == "user/^code-^reviewer/old"
    assert find(workspace, found.address) == found
    assert age(workspace, found.spot) == NOON + 3600


def test_a_hostile_name_is_a_usage_error(workspace: Workspace, learn: Learn) -> None:
    learn({"main/ports.md": MEMORY.format("ports")})
    for name in ("", "/", "a/b/c/d", "../x", "a//b", "nowhere/main/ports", "\0"):
        with pytest.raises(UsageError):
            find(workspace, name)
