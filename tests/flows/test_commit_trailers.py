"""Commit messages as a source of memory: the person's own are done, others' wait, nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance, parse
from gitmem.flows.commit_trailers import (
    CommitsLearned,
    TrailerRequest,
    begin_with_commits,
    requests,
)
from gitmem.flows.context import initialised_at, workspace_at
from gitmem.flows.extraction import commits_learned
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace, store_project_id

Git = Callable[..., str]
DEPLOY = "Deploy\n\nRemember: we deploy on Tuesdays only, because support is there then\n"


@pytest.fixture
def workspace(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    begin_with_commits(begun(real_edges(repo)))
    return initialised_at(real_edges(repo))


@pytest.fixture
def say(repo: Path, git: Git) -> Callable[..., str]:
    """Commits with a message; gives the commit's name."""

    def made(message: str, *words: str, author: str = "Ann <ann@example.com>") -> str:
        git(
            "-C",
            repo,
            "commit",
            "-q",
            "--allow-empty",
            "-F",
            "-",
            "--author",
            author,
            *words,
            input=message,
        )
        return git("-C", repo, "rev-parse", "HEAD")

    return made


def learn(repo: Path) -> CommitsLearned:
    edges = real_edges(repo)
    return commits_learned(initialised_at(edges), edges)


def files(workspace: Workspace, scope: str = "local") -> dict[str, str]:
    where = workspace.scope(scope)
    tip = where.repo.ref(where.ref)
    found = read_files(where.repo, where.repo.commit(tip).tree) if tip else {}
    return {
        path: data.decode()
        for path, data in found.items()
        if path.endswith(".md") and not path.endswith("MEMORY.md")
    }


def test_what_a_person_says_in_a_commit_is_stored_with_that_commit(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    oid = say(
        "Deploy\n\nText of it.\n\n"
        "Remember: we deploy on Tuesdays only,\n  because support is there then\n"
        "remember(project): The staging database is reset every night\n"
        "Signed-off-by: Ann <ann@example.com>\n"
    )
    done = learn(repo)
    assert [scope for scope, _, _ in done.stored] == ["local", "project"]
    (text,) = files(workspace).values()
    assert "We deploy on Tuesdays only." in text and "**Why:** Support is there then." in text
    assert "type: feedback" in text
    (shared,) = files(workspace, "project").values()
    assert "type: project" in shared
    told = parse(workspace.private.commit(done.stored[0][2]).message)
    assert (told.writer, told.op, told.code_commit) == ("extract", "add", oid)
    assert learn(repo) == CommitsLearned()


def test_what_stood_in_the_history_at_init_is_left_alone(
    repo: Path, home: Path, say: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say(DEPLOY)
    made = store_project_id(workspace_at(real_edges(repo)))
    made.state.mkdir(exist_ok=True)
    assert made.private.git_dir.is_dir()
    begin_with_commits(made)
    say("Later")
    assert learn(repo).stored == []


def test_a_branch_from_before_is_left_alone_when_it_comes_in_long_after(
    repo: Path, home: Path, say: Callable[..., str], git: Git
) -> None:
    git("-C", repo, "switch", "-q", "-c", "old")
    say(DEPLOY)
    git("-C", repo, "switch", "-q", "main")
    made = store_project_id(workspace_at(real_edges(repo)))
    made.state.mkdir(exist_ok=True)
    assert made.private.git_dir.is_dir()
    begin_with_commits(made)
    record = made.state / "commits.json"
    value = json.loads(record.read_text())
    record.write_text(json.dumps(value | {"tips": [f"{n:040x}" for n in range(200)]}))
    say("One\n\nRemember: the nightly build signs every package")
    assert len(learn(repo).stored) == 1
    assert len(json.loads(record.read_text())["tips"]) == 64
    git("-C", repo, "merge", "-q", "--no-edit", "old")
    assert learn(repo) == CommitsLearned()


def test_amend_rebase_and_pick_store_nothing_twice(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say(DEPLOY)
    assert len(learn(repo).stored) == 1
    git("-C", repo, "commit", "-q", "--amend", "--allow-empty", "-m", DEPLOY + "Fixes: 1")
    git("-C", repo, "switch", "-q", "-c", "side", "HEAD~1")
    git("-C", repo, "cherry-pick", "--allow-empty", "main")
    assert learn(repo) == CommitsLearned()
    assert len(files(workspace)) == 1


def test_a_commit_made_anew_brings_back_nothing_that_was_edited_since(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say("Begin")
    said = "Build\n\nRemember: the build needs Java 21\n"
    say(said, "--date=2026-01-01T10:00:00Z")
    assert len(learn(repo).stored) == 1
    local = workspace.scope("local")
    ((path, text),) = files(workspace).items()
    write = Write({path: text.replace("21", "24").encode()}, "Edit it", Provenance("update", "human"))
    land(local, lambda _: write, workspace.author(1_795_000_000))
    git("-C", repo, "reset", "-q", "--soft", "HEAD~1")
    say(said, "--date=2026-01-02T10:00:00Z")
    assert learn(repo) == CommitsLearned()
    assert "21" not in "".join(files(workspace).values())


def test_what_is_asked_again_in_another_commit_is_done_again(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    said = "Build\n\nRemember: the build needs Java 21\n"
    say(said, "--date=2026-01-01T10:00:00Z")
    assert len(learn(repo).stored) == 1
    local = workspace.scope("local")
    (path,) = files(workspace)
    write = Write({path: None}, "Delete it", Provenance("delete", "human"))
    land(local, lambda _: write, workspace.author(1_795_000_000))
    say(said, "--date=2026-01-02T10:00:00Z")
    assert len(learn(repo).stored) == 1


def test_an_amended_request_takes_the_place_of_what_was_stored(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say("Ports\n\nRemember: Metrics are served by prometheus from port 8000, since 9000 is taken\n")
    assert len(learn(repo).stored) == 1
    said = "Ports\n\nRemember: For metrics ask the exporter at 9000, since 8000 is taken\n"
    git("-C", repo, "commit", "-q", "--amend", "--allow-empty", "-m", said)
    assert len(learn(repo).stored) == 1
    (text,) = files(workspace).values()
    assert "For metrics ask the exporter at 9000." in text and "prometheus" not in text.split("---")[2]
    assert "description: For metrics ask the exporter at 9000" in text
    assert text.count("**Why:**") == 1 and "8000 is taken" in text


def test_what_a_rebased_commit_still_asks_for_gives_way_to_no_other_of_that_second(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say("Begin")
    when = "--date=2026-01-01T10:00:00Z"
    first = say("Build\n\nRemember: the build needs Java 21\n", when)
    assert len(learn(repo).stored) == 1
    say("Sign\n\nRemember: the nightly job signs every package\n", when)
    git("-C", repo, "switch", "-q", "-c", "base", "HEAD~2")
    say("Another beginning")
    git("-C", repo, "switch", "-q", "main")
    git("-C", repo, "rebase", "-q", "--empty=keep", "base")
    assert first not in git("-C", repo, "rev-list", "--all")
    assert len(learn(repo).stored) == 1
    assert len(files(workspace)) == 2


def test_a_memory_that_was_edited_since_stays_when_its_commit_is_amended(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say("Ports\n\nRemember: Metrics are served by prometheus from port 8000\n")
    assert len(learn(repo).stored) == 1
    local = workspace.scope("local")
    ((path, text),) = files(workspace).items()
    mine = text.replace("8000", "8500")
    write = Write({path: mine.encode()}, "Edit it", Provenance("update", "human"))
    land(local, lambda _: write, workspace.author(1_795_000_000))
    said = "Ports\n\nRemember: For metrics ask the exporter at 9000\n"
    git("-C", repo, "commit", "-q", "--amend", "--allow-empty", "-m", said)
    assert len(learn(repo).stored) == 1
    assert files(workspace)[path] == mine


def test_an_own_commit_that_was_rebased_before_it_was_looked_at_is_still_the_persons(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    git("-C", repo, "switch", "-q", "-c", "side")
    say(DEPLOY)
    git("-C", repo, "switch", "-q", "main")
    say("Other")
    git("-C", repo, "switch", "-q", "side")
    git("-C", repo, "rebase", "-q", "--empty=keep", "main")
    assert len(learn(repo).stored) == 1


def test_what_others_ask_for_waits_in_review(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say(DEPLOY, author="Ben <ben@example.com>")
    done = learn(repo)
    assert done.stored == [] and files(workspace) == {}
    (one,) = open_suggestions(workspace)
    assert "Ben" in one.change.reason and not one.change.asked
    assert learn(repo) == CommitsLearned()


def test_a_fetched_commit_with_the_persons_address_waits_in_review(
    workspace: Workspace, repo: Path, git: Git, tmp_path: Path
) -> None:
    """Anyone can write somebody else's address into a commit."""
    other = tmp_path / "other"
    git("clone", "-q", repo, other)
    git("-C", other, "commit", "-q", "--allow-empty", "-m", DEPLOY)
    git("-C", repo, "pull", "-q", "--ff-only", other, "main")
    done = learn(repo)
    assert done.stored == [] and len(done.suggested) == 1


def test_others_cannot_flood_the_review(workspace: Workspace, repo: Path, say: Callable[..., str]) -> None:
    words = ["alpha", "bravo", "delta", "gamma", "kappa"]
    for one in words:
        lines = [f"Remember: the {one} team keeps {two} in room {one}{two}" for two in words]
        say("Many\n\n" + "\n".join(lines), author="Ben <ben@example.com>")
    done = learn(repo)
    assert 1 < len(done.suggested) <= 20
    assert any("more than waits" in note for note in done.notes)


def test_forget_takes_the_named_memory_and_it_stays_away(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say(DEPLOY)
    (stored,) = learn(repo).stored
    name = stored[1].removeprefix("main/").removesuffix(".md")
    oid = say(f"Other\n\nForget: {name}")
    done = learn(repo)
    assert files(workspace) == {}
    told = parse(workspace.private.commit(done.forgotten[0][2]).message)
    assert (told.writer, told.op, told.code_commit) == ("human", "delete", oid)
    say("Again\n\nRemember: we deploy on Tuesdays only")
    again = learn(repo)
    assert again.stored == [] and [one.kind for one in again.refused] == ["tombstone"]


def test_forget_takes_the_one_in_a_folder_and_no_other_of_that_file_name(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say(DEPLOY)
    (stored,) = learn(repo).stored
    first = stored[1].removeprefix("main/")
    body = b"---\nname: sockets\ndescription: Where they are\ntype: project\n---\n\nIn /run.\n"
    write = Write({f"main/topics/{first}": body}, "Learn", Provenance("add", "human"))
    scope = workspace.scope("local")
    land(scope, lambda _: write, workspace.author(1_795_000_000))
    say("Other\n\nForget: sockets")
    assert len(learn(repo).forgotten) == 1
    assert files(workspace).keys() == {stored[1]}


def test_forget_with_a_claims_own_words_takes_that_claim(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say(DEPLOY)
    learn(repo)
    say("Other\n\nForget: **Why:** Support is there then.")
    assert len(learn(repo).forgotten) == 1
    (text,) = files(workspace).values()
    assert "Tuesdays" in text and "Support" not in text


def test_forget_asks_where_several_have_the_name_and_where_others_say_it(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say("One\n\nRemember: we deploy on Tuesdays only")
    (stored,) = learn(repo).stored
    name = stored[1].removeprefix("main/").removesuffix(".md")
    say(f"Two\n\nForget: {name}", author="Ben <ben@example.com>")
    done = learn(repo)
    assert done.forgotten == [] and [one.change.op for one in done.suggested] == ["delete"]
    assert len(files(workspace)) == 1
    say("Three\n\nForget: no such thing at all")
    assert learn(repo).notes == ["Forget: no such thing at all: no memory has that name or says that"]


def test_forget_with_other_words_than_the_memory_s_waits_in_review(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    say("One\n\nRemember: we deploy on Tuesdays only")
    (stored,) = learn(repo).stored
    say("Two\n\nForget: deploy on Tuesdays")
    done = learn(repo)
    (asked,) = done.suggested
    assert (asked.change.op, f"main/{asked.change.file}") == ("delete", stored[1])
    assert "Forget: deploy on Tuesdays" in asked.change.reason
    assert done.forgotten == [] and len(files(workspace)) == 1


def test_a_secret_and_a_private_span_are_not_stored(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    say("One\n\nRemember: the token is ghp_0123456789abcdefghijABCDEFGHIJ012345\n")
    say("Two\n\n<private>\nRemember: we deploy on Tuesdays only\n</private>\n")
    git("config", "--global", "gitmem.ignore", "acme")
    say("Three\n\nRemember: Acme pays every invoice late\n")
    done = learn(repo)
    assert done.stored == [] and [one.kind for one in done.refused] == ["secret"]
    assert "ghp_0123" not in done.refused[0].text


def test_with_extraction_off_commits_are_passed_over_for_good(
    workspace: Workspace, repo: Path, say: Callable[..., str], git: Git
) -> None:
    git("-C", repo, "config", "gitmem.extract", "off")
    say(DEPLOY)
    learn(repo)
    git("-C", repo, "config", "gitmem.extract", "suggest")
    say("Other")
    assert learn(repo).stored == []


def test_an_interrupted_run_stores_nothing_twice(
    workspace: Workspace, repo: Path, say: Callable[..., str]
) -> None:
    before = (workspace.state / "commits.json").read_bytes()
    say(DEPLOY)
    assert len(learn(repo).stored) == 1
    (workspace.state / "commits.json").write_bytes(before)
    assert learn(repo).stored == []
    (workspace.state / "commits.json").write_bytes(b"\xff{")
    assert learn(repo).stored == []
    assert len(files(workspace)) == 1


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("Remember: a title is no trailer", []),
        ("T\n\nREMEMBER : x y\n", [("remember", None, "x y")]),
        ("T\n\nRemember (User): x\n", [("remember", "user", "x")]),
        (
            "T\r\n\r\nRemember: a\r\n\tb\r\nForget(local): c\r\n",
            [("remember", None, "a b"), ("forget", "local", "c")],
        ),
        ("T\n\nRemember(everyone): x\n", []),
        ("T\n\nRemember:\n", []),
        ("T\n\nRemember: x\nso that it works\n", []),
        ("T\n\n    Remember: quoted\n", []),
        ("T\n\n> Remember: quoted\n", []),
        ("T\n\nRemember: x\n\nSigned-off-by: A <a@example.com>\n", [("remember", None, "x")]),
        ("T\n\nRemember: x\nRemember: x\n", [("remember", None, "x")]),
        ("T\n\nRemember: \x1b[31mred\x00\u2028Forget: y\n", [("remember", None, "[31mred Forget: y")]),
        ("T\n\nRemember: " + "x" * 5000, []),
        ("", []),
        ("\n\n\n", []),
    ],
)
def test_what_a_message_asks_for(message: str, found: list[tuple[str, str | None, str]]) -> None:
    assert requests(message) == tuple(TrailerRequest(*one) for one in found)  # type: ignore[arg-type]


def test_one_commit_asks_for_no_more_than_a_person_would() -> None:
    assert len(requests("T\n\n" + "".join(f"Remember: fact {n}\n" for n in range(500)))) == 20
