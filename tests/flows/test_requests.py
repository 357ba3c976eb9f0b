"""Requests of others as they wait here: shown claim by claim, judged again, and nobody's memory before."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from request_ground import PROJECT, Team, body, learn_all, memory, team

from gitmem.core import tombstone
from gitmem.integrations.request_body import LIMIT, Row, code, request_body, table_row
from gitmem.integrations.request_links import find_host
from gitmem.store.blame import blame_memory
from gitmem.store.workspace import SHARED_REF

__all__ = ["team"]
BEN = "gitmem/inbox/ben-example-com"
SECRET = "gh" + "p_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))


@pytest.fixture
def ann(team: Team):
    """Ann, who may push; Ben has sent three memories to his inbox."""

    def make():
        made = team.found(mode="direct")
        ben = team.machine("ben")
        ben.run("sync", "-y")
        learn_all(ben)
        ben.learn("first", "The first fact, as Ben has it.\n\nAnother first fact.", scope="project")
        ben.run("sync", "-y")
        made.run("sync", "-y")
        return [made, ben]

    return team.begin("with-ben", make)[0]


def waiting(machine) -> dict:
    (item,) = machine.run("review", "--json").json
    assert item["kind"] == "inbox"
    return item


def test_who_has_learned_nothing_asks_for_nothing(team: Team) -> None:
    """The memory branch of a team that only asks is empty: nobody is to review what gitmem puts there."""
    team.machine("ann").run("sync", "-y")
    assert team.reviewer.branches() <= {PROJECT}


def test_a_teammate_s_inbox_is_listed_and_taken_in_by_nobody(ann) -> None:
    item = waiting(ann)
    assert (item["branch"], item["remote"], item["closed"]) == (f"refs/heads/{BEN}", "origin", False)
    claims = {(one["kind"], one["path"], one["before"], one["after"]) for one in item["claims"]}
    assert ("added", "main/tea.md", None, "Meetings start at ten.") in claims
    assert ("changed", "main/first.md", "The first fact.", "The first fact, as Ben has it.") in claims
    shown = ann.run("review", "show", item["id"]).out
    assert "   - The first fact.\n   + The first fact, as Ben has it." in shown
    assert "main/tea.md" not in ann.memories("project")
    ann.run("sync", "-y")
    assert "main/tea.md" not in ann.memories("project")
    assert ann.run("list", "--json").out.count("tea") == 0


def test_accepting_merges_it_into_the_memory_branch(team: Team, ann) -> None:
    item = waiting(ann)
    done = ann.run("review", "accept", item["id"])
    here = ann.memories("project")
    assert body(here["main/first.md"]).startswith("The first fact, as Ben has it.")
    assert "](tea.md)" in here["main/MEMORY.md"] and "undo: git mem undo" in done.err
    assert ann.run("review", "--json").json == []
    assert "main/tea.md" in team.reviewer.host_files()
    repo = ann.workspace.code
    (*_, claim) = blame_memory(repo, repo.ref(SHARED_REF), "main/tea.md")
    assert repo.commit(claim.origins[0].commit).subject == "Add tea"


def test_taking_an_acceptance_back_is_asked_of_the_team(team: Team, ann) -> None:
    """It is on the memory branch by then, where nobody but the team takes anything out."""
    ann.run("share", "--mode", "review", "-y")
    ann.run("review", "accept", waiting(ann)["id"])
    ann.run("undo")
    assert "main/tea.md" not in ann.memories("project")
    ann.run("sync", "-y")
    assert {"main/tea.md", "main/ports.md"} <= team.reviewer.host_files().keys()
    assert "main/tea.md" not in team.reviewer.host_files("gitmem/inbox/ann-example-com")
    ben = team.machine("ben-again", "review")
    ben.run("sync", "-y")
    item = waiting(ben)
    assert ("deleted", "main/tea.md") in {(one["kind"], one["path"]) for one in item["claims"]}
    ben.run("review", "accept", item["id"])
    assert "main/tea.md" not in team.reviewer.host_files()


def test_some_memories_of_an_inbox_are_accepted_by_number(ann) -> None:
    item = waiting(ann)
    number = next(one["n"] for one in item["claims"] if one["path"] == "main/tea.md")
    ann.run("review", "accept", item["id"], number)
    here = ann.memories("project")
    assert "main/tea.md" in here and "main/ports.md" not in here
    assert "main/tea.md" not in {one["path"] for one in waiting(ann)["claims"]}
    assert "has no memory 9" in ann.run("review", "accept", item["id"], 9, code=2).err


def test_a_rejected_inbox_comes_back_with_a_change_alone(team: Team, ann) -> None:
    item = waiting(ann)
    ann.run("review", "reject", item["id"], "-m", "no")
    assert ann.run("review", "--json").json == []
    team.reviewer.edit(BEN, "main/tea.md", lambda text: text.replace("ten", "nine"))
    ann.run("sync", "-y", "--pull")
    assert "Meetings start at nine." in {one["after"] for one in waiting(ann)["claims"]}


def planted(team: Team, files: dict[str, str]) -> None:
    """Puts files on Ben's branch with plain git, as somebody who means no good."""
    reviewer = team.reviewer
    reviewer.at(BEN)
    for path, text in files.items():
        file = reviewer.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        reviewer.git("add", "-f", path)
    reviewer.git("commit", "-q", "-m", "Plant")
    reviewer.git("push", "-q", "origin", BEN)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"main/key.md": memory("key", f"The token is {SECRET} today.")}, "secret"),
        ({"main/me.md": memory("me", "Ann drinks tea.", "user")}, "about a person"),
        ({"main/con.md": memory("con", "A device.")}, "may not be in a memory tree"),
    ],
    ids=["secret", "person", "path"],
)
def test_what_may_not_be_stored_is_not_accepted(team: Team, ann, files, reason: str) -> None:
    planted(team, files)
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")
    before = ann.memories("project")
    item = waiting(ann)
    refused = ann.run("review", "accept", item["id"], code=3 if "tree" in reason else 1)
    assert reason in refused.err and ann.memories("project") == before


def test_files_of_the_host_do_not_come_with_an_inbox(team: Team, ann) -> None:
    planted(
        team,
        {
            ".github/workflows/run.yml": "on: push\n",
            ".gitattributes": "* filter=evil\n",
            "main/extra.md": memory("extra", "An extra fact."),
        },
    )
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")
    scope = ann.workspace.scope("project")
    before = {
        name: scope.repo.tree(scope.repo.commit(scope.repo.ref(scope.ref)).tree).get(name)
        for name in (".github", ".gitattributes")
    }
    ann.run("review", "accept", waiting(ann)["id"])
    tree = scope.repo.commit(scope.repo.ref(scope.ref)).tree
    assert {name: scope.repo.tree(tree).get(name) for name in before} == before
    assert "main/extra.md" in ann.memories("project")


def stone(key: str) -> str:
    return tombstone.bury(key, "a" * 32, "2026-11-20", "forgot").line()


def test_tombstones_come_with_an_inbox_but_for_those_that_take_what_stands(team: Team, ann) -> None:
    """The writer's commits become ancestors: what is left out would be lifted in the writer's clone."""
    mine, theirs = stone("What Ben forgot."), stone("Another first fact.")
    planted(team, {"main/.tombstones": mine + theirs, "main/extra.md": memory("extra", "An extra fact.")})
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")
    done = ann.run("review", "accept", waiting(ann)["id"])
    assert "marks 1 text as forgotten" in done.err
    assert team.reviewer.text(PROJECT, "main/.tombstones") == mine.strip()
    assert "Another first fact." in ann.memories("project")["main/first.md"]


def test_an_acceptance_is_of_what_was_shown(team: Team, ann) -> None:
    shown = waiting(ann)
    team.reviewer.edit(BEN, "main/tea.md", lambda text: text.replace("ten", "nine"))
    ann.run("review", "accept", shown["id"])
    assert "Meetings start at ten." in ann.memories("project")["main/tea.md"]
    moved = waiting(ann)
    assert [(one["before"], one["after"]) for one in moved["claims"]] == [
        ("Meetings start at ten.", "Meetings start at nine.")
    ]
    refused = ann.run("review", "accept", shown["id"], code=2)
    assert f"{BEN} changed since it was shown" in refused.err and moved["id"] in refused.err
    assert "Name it as it was shown" in ann.run("review", "accept", moved["id"][:8], code=2).err


def test_a_rejected_inbox_does_not_come_back_with_what_the_team_took_since(team: Team, ann) -> None:
    ann.run("review", "reject", waiting(ann)["id"], "-m", "no")
    ann.learn("other", "Something else.", scope="project")
    ann.run("sync", "-y")
    ann.run("sync", "-y")
    assert waiting_ids(ann) == []


def waiting_ids(machine) -> list[str]:
    return [item["id"] for item in machine.run("review", "--json").json]


def test_an_earlier_version_with_a_secret_is_not_accepted(team: Team, ann) -> None:
    """All of the branch's history would be on the memory branch."""
    planted(team, {"main/key.md": memory("key", f"The token is {SECRET} today.")})
    planted(team, {"main/key.md": memory("key", "The token is in the vault.")})
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")
    refused = ann.run("review", "accept", waiting(ann)["id"], code=1)
    assert (
        "main/key.md" in refused.err and "it stays in history" in refused.err and SECRET not in refused.err
    )
    assert "main/key.md" not in team.reviewer.host_files()


def test_hostile_text_of_an_inbox_is_written_out(team: Team, ann) -> None:
    planted(team, {"main/esc.md": memory("esc", "Look \x1b[2J here\u202e.")})
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")
    shown = ann.run("review", "show", waiting(ann)["id"]).out
    assert "\x1b" not in shown and "\u202e" not in shown and "\\x1b[2J" in shown


@pytest.mark.long
def test_a_teammate_s_dream_can_be_shown_and_accepted(team: Team) -> None:
    ben = team.found("ben", "direct")
    ben.learn("hint", "The build broke yesterday.", scope="project")
    ben.run("sync", "-y")
    ben.run("dream", "--force", "--scope", "project")
    (item,) = ben.run("review", "--json").json
    ben.run("review", "--open", item["id"], "-y")
    ann = team.machine("ann", "direct")
    ann.run("sync", "-y")
    (seen,) = ann.run("review", "--json").json
    assert (seen["kind"], seen["id"], seen["incoming"]) == ("dream", item["id"], True)
    assert "The build broke yesterday (2026-" in ann.run("review", "show", item["id"]).out
    ann.run("review", "accept", item["id"])
    assert ann.run("review", "--json").json == []
    ann.run("sync", "-y")
    assert "yesterday (2026-" in team.reviewer.text(PROJECT, "main/hint.md")
    ben.run("sync", "-y")
    assert ben.run("review", "--json").json == []
    assert ben.workspace.code.ref(f"refs/heads/gitmem/dream/{item['id']}") is None
    ann.run("sync", "-y")
    assert f"gitmem/dream/{item['id']}" not in team.reviewer.branches()


HOSTILE = "@ann #1 GH-2 <img src=x> [a](http://x) | `b` **c** https://x.example !123 <!-- z -->"


def test_what_others_wrote_stands_in_code_spans() -> None:
    """In a code span hosts make no mention, link, image or HTML of it."""
    row = table_row(Row(HOSTILE, "added", HOSTILE, HOSTILE, HOSTILE))
    assert row.count("\n") == 1 and row.replace("\\|", "").count("|") == 6
    assert row.count("``") == 8 and "<img src=x>" in row


@given(st.text(max_size=200))
def test_no_text_leaves_its_cell(text: str) -> None:
    from markdown_it import MarkdownIt

    cell = code(text, 120)
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(
        f"| a | b |\n| --- | --- |\n| {cell} | end |\n"
    )
    assert rendered.count("<td>") == 2 and "<td>end</td>" in rendered
    inside = rendered.split("<tbody>")[1].split("<td>")[1].split("</td>")[0]
    assert inside == "" or (inside.startswith("<code>") and inside.count("<") == 2)


def test_a_text_that_is_too_long_is_cut_at_a_row_and_the_rest_counted() -> None:
    rows = [Row(f"Claim {n} 💡 " + "long " * 40, "added", "main/x.md", "why " * 50) for n in range(900)]
    text = request_body("Intro.", rows, "i-123456")
    assert len(text.encode("utf-16-le")) // 2 <= LIMIT
    shown = text.count("| `Claim ")
    assert 100 < shown < 900 and f"and {900 - shown} more claims" in text
    assert text.rstrip().endswith("data, not instructions.")


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("git@github.com:ann/code.git", "https://github.com/ann/code/compare/a...b/c?expand=1"),
        ("ssh://git@ssh.github.com:443/ann/code", "https://github.com/ann/code/compare/a...b/c?expand=1"),
        ("https://x:y@github.com/ann/code", "https://github.com/ann/code/compare/a...b/c?expand=1"),
        (
            "https://gitlab.com/team/sub/code.git",
            "https://gitlab.com/team/sub/code/-/merge_requests/new?merge_request%5Bsource_branch%5D=b%2Fc"
            "&merge_request%5Btarget_branch%5D=a",
        ),
        (
            "git@bitbucket.org:team/code.git",
            "https://bitbucket.org/team/code/pull-requests/new?source=b%2Fc&dest=a",
        ),
        ("https://codeberg.org/ann/code", "https://codeberg.org/ann/code/compare/a...b/c"),
        ("http://gitea.local:3000/ann/code", "http://gitea.local:3000/ann/code/compare/a...b/c"),
        ("/srv/git/code.git", None),
        ("https://example.com/ann/code", None),
        ("https://github.com/ann/code/../../evil/x", None),
        ("https://github.com/-x/--repo", None),
        ("ext::sh -c evil% github.com/ann/code", None),
    ],
)
def test_the_page_is_known_by_the_remote_s_address(url: str, page: str | None) -> None:
    host = find_host(url)
    assert (host.link("a", "b/c") if host else None) == page


def test_a_host_s_words_never_hold_a_person_s_credentials() -> None:
    host = find_host("https://ann:token@github.com/ann/code.git")
    assert host is not None and "token" not in host.link("a", "b") + host.repository
    assert Path(host.path).name == "code"
