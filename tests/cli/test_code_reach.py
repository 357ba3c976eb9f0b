"""Memory follows the code: what was taught on a branch is told where that branch is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_ground import Ground, memory
from once import Once
from ran import Command, Gitmem

from gitmem.app.session_start import session_start
from gitmem.core.trailers import Provenance
from gitmem.flows.code_commits import follow_commits

Git = Callable[..., str]

CACHE = "The render cache lives in redis under the prefix zulu"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a look at the code may come too late, and what is not found out counts as held."""
    monkeypatch.setattr("gitmem.cli.recall.PATIENT_SECONDS", 60.0)


@pytest.fixture
def on_feature(repo: Path, git: Git, gitmem: Command, once: Once[int]) -> Path:
    """A repository on `main`, with a memory that was taught on `feature`."""

    def make() -> int:
        gitmem("init", "-y")
        git("-C", repo, "switch", "-q", "-c", "feature")
        (repo / "cache.py").write_text("import redis\n")
        git("-C", repo, "add", "cache.py")
        git("-C", repo, "commit", "-q", "-m", "Render into redis")
        gitmem("remember", "--type", "project", CACHE)
        gitmem("remember", "--type", "feedback", "Say zulu before you render the cache into redis")
        git("-C", repo, "switch", "-q", "main")
        return gitmem.now

    gitmem.now = once("on-feature", make)
    gitmem.patch.chdir(repo)
    return repo


def test_told_on_its_branch_listed_elsewhere(on_feature: Path, git: Git, gitmem: Gitmem) -> None:
    """How a person wants to work is so everywhere; what a branch's code is like is not."""
    away = gitmem("recall", "redis zulu prefix of the render cache")
    assert "under the prefix zulu" not in away.out
    assert "taught on branch feature, not merged here" in away.err
    assert "Say zulu" in gitmem("recall", "say zulu before render cache redis").out
    listed = [line for line in gitmem("list").out.splitlines() if "not merged here" in line]
    assert len(listed) == 1
    assert "(taught on branch feature, not merged here) The render cache" in listed[0]
    assert {one["unmerged"] for one in gitmem("list", "--json").json} == {None, "feature"}
    (left,) = gitmem("recall", "--json", "redis zulu prefix of the render cache").json["unmerged"]
    assert (left["reason"], left["detail"]) == ("unmerged", "feature")
    git("-C", on_feature, "switch", "-q", "feature")
    here = gitmem("recall", "redis zulu prefix of the render cache")
    assert "under the prefix zulu" in here.out
    assert "not merged" not in here.err + gitmem("list").out


def test_appears_when_the_branch_lands(on_feature: Path, git: Git, gitmem: Gitmem) -> None:
    question = "redis zulu prefix of the render cache"
    assert "under the prefix zulu" not in gitmem("recall", question).out
    git("-C", on_feature, "merge", "-q", "--squash", "feature")
    git("-C", on_feature, "commit", "-q", "-m", "Render cache")
    assert "under the prefix zulu" in gitmem("recall", question).out


def test_a_branch_name_steers_no_terminal(on_feature: Path, git: Git, gitmem: Gitmem) -> None:
    git("-C", on_feature, "branch", "-q", "-m", "feature", "fea\u202etu\u200bre")
    found = gitmem("recall", "redis zulu prefix of the render cache")
    assert "not merged here" in found.err
    assert not {"\u202e", "\u200b"} & set(found.err + found.out + gitmem("list").out)


def on_branch(ground: Ground, git: Git) -> str:
    """The commit of a new branch of the code."""
    git("-C", ground.repo, "switch", "-q", "-c", "feature")
    git("-C", ground.repo, "commit", "-q", "--allow-empty", "-m", "Move the proxy")
    return git("-C", ground.repo, "rev-parse", "HEAD")


def test_what_was_changed_on_a_branch_is_not_told_elsewhere(ground: Ground, git: Git) -> None:
    path = "reviewer/proxy.md"
    main = git("-C", ground.repo, "rev-parse", "HEAD")
    told = Provenance(op="add", writer="agent", code_commit=main)
    ground.learn({path: memory("proxy", "The proxy listens on 8080.")}, told=told)
    told = Provenance(op="update", writer="agent", code_commit=on_branch(ground, git))
    ground.learn({path: memory("proxy", "The proxy listens on 9090.")}, told=told)
    assert "9090" in ground.run("recall", "where does the proxy listen").out
    git("-C", ground.repo, "switch", "-q", "main")
    found = ground.run("recall", "where does the proxy listen")
    assert found.out == ""
    assert "not shown here: proxy: taught on branch feature, not merged here" in found.err


def test_an_archived_memory_keeps_its_code(ground: Ground, git: Git) -> None:
    """A paging or a dream brings a memory to another place, and teaches it on no other code."""
    code = on_branch(ground, git)
    text = memory("proxy", "The proxy listens on 9090.")
    ground.learn({"reviewer/proxy.md": text}, told=Provenance(op="add", writer="agent", code_commit=code))
    git("-C", ground.repo, "switch", "-q", "main")
    moved = {"reviewer/proxy.md": None, "reviewer/archive/ab/proxy.md": text}
    ground.learn(moved, told=Provenance(op="page", writer="sync"))
    assert "9090" not in ground.run("recall", "where does the proxy listen").out
    assert "not merged here" in ground.run("list", "-a").out


def test_what_was_taught_on_a_branch_amends_nothing_elsewhere(ground: Ground, git: Git) -> None:
    """Else it would take the place of what holds here."""
    main = git("-C", ground.repo, "rev-parse", "HEAD")
    earlier = (
        "merge_records keys contacts on the lowercased email; of duplicates the newest timestamp wins."
    )
    later = (
        "Amends the rule for merge_records: of duplicate contacts with one email the record with "
        "more fields wins, no longer the newest timestamp."
    )
    told = Provenance(op="add", writer="agent", code_commit=main)
    others = {f"reviewer/other-{number}.md": memory(f"other-{number}") for number in range(6)}
    text = memory("merge-rule", earlier, "How merge_records joins duplicate contacts")
    ground.learn({"reviewer/merge-rule.md": text, **others}, told=told)
    text = memory("fuller-record", later, "merge_records prefers the fuller of duplicate contacts")
    told = Provenance(op="add", writer="agent", code_commit=on_branch(ground, git))
    ground.learn({"reviewer/fuller-record.md": text}, told=told)
    question = "why does the newest timestamp win in merge_records"
    assert "amended since by" in ground.run("recall", question).out
    git("-C", ground.repo, "switch", "-q", "main")
    found = ground.run("recall", question)
    assert "keys contacts on the lowercased email" in found.out
    assert "more fields wins" not in found.out
    assert "amended since by" not in found.out


def test_an_index_at_the_start_leaves_it_out(ground: Ground, git: Git) -> None:
    """What a person typed there, and what holds here, stays."""
    ground.patch.setattr("gitmem.core.limits.PROMPT_SECONDS", 60.0)
    lines = ["- [Proxy](proxy.md): the proxy listens on 9090", "- [Tea](tea.md): tea at four"]
    index = "\n".join([*lines, "Ask before a release.", ""])
    ground.learn({"main/tea.md": memory("tea"), "main/MEMORY.md": index})
    told = Provenance(op="add", writer="agent", code_commit=on_branch(ground, git))
    ground.learn({"main/proxy.md": memory("proxy")}, told=told)
    payload = {"source": "startup", "session_id": "5f0c52d4", "cwd": str(ground.repo)}
    assert "9090" in session_start(payload)
    git("-C", ground.repo, "switch", "-q", "main")
    started = session_start(payload)
    assert "tea at four" in started
    assert "Ask before a release." in started
    assert "9090" not in started


def test_a_reverted_commit_is_named(ground: Ground, git: Git) -> None:
    """It is history of HEAD, so that what was taught on it is told, with what became of it."""
    (ground.repo / "proxy.conf").write_text("listen 9090\n")
    git("-C", ground.repo, "add", "proxy.conf")
    git("-C", ground.repo, "commit", "-q", "-m", "Let the proxy listen on 9090")
    code = git("-C", ground.repo, "rev-parse", "HEAD")
    told = Provenance(op="add", writer="agent", code_commit=code)
    ground.learn({"reviewer/proxy.md": memory("proxy", "The proxy listens on 9090.")}, told=told)
    git("-C", ground.repo, "revert", "--no-edit", code)
    assert follow_commits(ground.workspace, 30)
    revert = git("-C", ground.repo, "rev-parse", "HEAD")
    found = ground.run("recall", "where does the proxy listen").out
    assert f"the commit that it was taught on was reverted since by {revert[:10]}" in found
    assert "The proxy listens on 9090." in found
