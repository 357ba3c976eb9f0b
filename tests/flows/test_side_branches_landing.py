"""Requests that a reviewer took in, by whichever button or editor of the host, are known for landed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest
from request_ground import FACTS, PROJECT, Team, body, learn_all, memory, team

from gitmem.core import tombstone
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import read_file
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.land import Write, land
from gitmem.ledger.side_branches import asked
from gitmem.ledger.workspace import SHARED_REF

__all__ = ["team"]
INBOX = "gitmem/inbox/ann-example-com"
HOWS = [
    pytest.param("merge", marks=pytest.mark.long),
    "squash",
    pytest.param("rebase", marks=pytest.mark.long),
]
"""Squash and rebase leave no trace for git to follow; the merge is the easy one."""


def without_debugger(text: str) -> str:
    return text.replace("\n\nThe debugger takes 4999.", "")


def project(machine) -> dict[str, str]:
    found = machine.memories("project")
    return {path: text for path, text in found.items() if not path.endswith("MEMORY.md")}


def stones(machine) -> frozenset[tombstone.Tombstone]:
    scope = machine.workspace.scope("local")
    tip = scope.repo.ref(scope.ref)
    data = read_file(scope.repo, scope.repo.commit(tip).tree, "main/.tombstones") or b""
    return tombstone.parse(data.decode())


def asked_here(machine) -> list[str]:
    return [one.branch for one in asked(machine.workspace.code)]


def at_host(team: Team) -> dict[str, str]:
    found = team.reviewer.host_files()
    return {path: text for path, text in found.items() if not path.endswith("MEMORY.md")}


@pytest.mark.parametrize("delete", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", HOWS)
def test_an_inbox_that_landed_is_closed_and_asks_for_nothing_more(team: Team, how: str, delete) -> None:
    ann = team.asking()
    assert asked_here(ann) == [f"refs/heads/{INBOX}"]
    team.reviewer.land(INBOX, how, delete=delete)
    done = ann.run("sync", "-y", "--json").json
    assert done["pushed"] == 0 and done["branch"] is None
    assert set(at_host(team)) == set(project(ann))
    assert asked_here(ann) == [] and INBOX not in team.reviewer.branches()
    again = ann.run("sync", "-y", "--json").json
    assert (again["fetched"], again["pushed"], again["branch"]) == (0, 0, None)


@pytest.mark.parametrize("how", HOWS)
def test_what_a_reviewer_took_out_on_the_web_stays_out(team: Team, how: str) -> None:
    """After a squash or rebase git itself would bring it back: the reviewer never merged Ann's commits."""
    ann = team.asking()
    team.reviewer.edit(INBOX, "main/tea.md", lambda _: None)
    team.reviewer.edit(INBOX, "main/ports.md", without_debugger)
    team.reviewer.land(INBOX, how)
    said = ann.run("sync", "-y")
    assert "not taken (added in main/tea.md): Meetings start at ten." in said.err
    assert "The debugger takes 4999." in said.err
    here = project(ann)
    assert "main/tea.md" not in here and body(here["main/ports.md"]) == "Ports start at 4000."
    assert here == {path: f"{text}\n" for path, text in at_host(team).items()}
    rejected = stones(ann)
    assert tombstone.matches(rejected, "Meetings start at ten.", "rejected")
    assert not tombstone.matches(rejected, FACTS["hosts"], "rejected")
    ann.learn("later", "A later fact.", scope="project")
    ann.run("sync", "-y")
    assert set(team.reviewer.host_files(INBOX)) - set(team.reviewer.host_files()) == {"main/later.md"}


HABITS: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "no-final-newline": lambda text: text.rstrip("\n"),
    "frontmatter": lambda text: text.replace("type: project", "type: project\nreviewed: yes"),
    "spaces": lambda text: text.replace("name: ports\n", "name: ports  \n").replace("\n\nThe", "\n\n\nThe"),
}
TOGETHER = {
    "ports": HABITS["spaces"],
    "hosts": HABITS["crlf"],
    "tea": lambda text: HABITS["no-final-newline"](HABITS["frontmatter"](text)),
}


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(TOGETHER, id="together"),
        *(pytest.param({"ports": one}, id=name, marks=pytest.mark.long) for name, one in HABITS.items()),
    ],
)
@pytest.mark.parametrize("how", HOWS[1:])
def test_a_web_editor_s_habits_do_not_hide_a_landing(team: Team, how: str, edits) -> None:
    ann = team.asking()
    for name, edit in edits.items():
        team.reviewer.edit(INBOX, f"main/{name}.md", edit)
    team.reviewer.land(INBOX, how)
    said = ann.run("sync", "-y")
    assert "not taken" not in said.err and asked_here(ann) == []
    done = ann.run("sync", "-y", "--json").json
    assert (done["pushed"], done["branch"]) == (0, None)
    texts = "".join(project(ann).values())
    for fact in FACTS.values():
        assert len(re.findall(fact.split("\n")[0], texts)) == 1


@pytest.mark.parametrize("how", HOWS[1:])
def test_an_edit_that_is_seen_in_the_result_alone_lands(team: Team, how: str) -> None:
    """The host deletes the branch as it merges it, so nobody else ever fetches the edit."""
    ann = team.asking("hosts")
    team.reviewer.edit(INBOX, "main/hosts.md", lambda text: text.replace("two hosts", "three hosts"))
    team.reviewer.edit(INBOX, "main/hosts.md", lambda text: text.replace("About hosts", "About all hosts"))
    team.reviewer.land(INBOX, how)
    said = ann.run("sync", "-y")
    assert f"{INBOX} was merged" in said.err and "Staging runs on two hosts." in said.err
    assert body(project(ann)["main/hosts.md"]) == "Staging runs on three hosts."
    assert ann.run("review", "--json").json == [] and INBOX not in team.reviewer.branches()


def test_an_index_that_a_reviewer_edited_is_taken_as_it_is(team: Team) -> None:
    ann = team.found()
    words = "The build needs Java 21.", "--name", "java", "--type", "reference", "--scope", "project"
    ann.run("remember", *words)
    ann.run("sync", "-y")
    team.reviewer.land(INBOX, "squash", delete=False)
    index = "# Ours\n\n- [java](java.md) — Java, by the reviewer\n"
    team.reviewer.edit(PROJECT, "main/MEMORY.md", lambda _: index)
    ann.run("sync", "-y")
    lines = ann.memories("project")["main/MEMORY.md"]
    assert "# Ours" in lines and lines.count("](java.md)") == 1
    assert asked_here(ann) == []


def test_a_squash_without_trailers_still_leads_to_who_taught_it(team: Team) -> None:
    ann = team.found()
    taught = ann.learn("ports", FACTS["ports"], scope="project")
    ann.run("sync", "-y")
    team.reviewer.land(INBOX, "squash", message="Take it all in")
    ann.run("sync", "-y")
    repo = ann.workspace.code
    for one in blame_memory(repo, repo.ref(SHARED_REF), "main/ports.md"):
        assert [origin.commit for origin in one.origins] == [taught]


def test_what_was_learned_while_a_request_waited_is_kept_and_asked_for(team: Team) -> None:
    ann = team.asking("ports")
    learn_all(ann, ("hosts",))
    ann.learn("ports", FACTS["ports"] + "\n\nTests take 5000.", scope="project")
    team.reviewer.edit(INBOX, "main/ports.md", without_debugger)
    team.reviewer.land(INBOX, "squash")
    ann.run("sync", "-y")
    assert body(project(ann)["main/ports.md"]) == "Ports start at 4000.\n\nTests take 5000."
    asked_for = team.reviewer.host_files(INBOX)
    assert "Tests take 5000." in asked_for["main/ports.md"] and "4999" not in asked_for["main/ports.md"]
    assert "main/hosts.md" in asked_for


def closed(team: Team):
    """Ann, whose request for two memories was closed at the host without merging, and who knows it."""

    def make():
        ann = team.asking("ports", "tea")
        team.reviewer.git("push", "-q", "origin", "--delete", INBOX)
        assert ann.run("sync", "-y", "--json").json["branch"] is None
        return [ann]

    return team.begin("closed", make)[0]


def test_a_request_that_is_closed_without_merging_is_not_asked_again(team: Team) -> None:
    ann = closed(team)
    assert INBOX not in team.reviewer.branches() and "main/tea.md" in project(ann)
    (item,) = ann.run("review", "--json").json
    assert (item["kind"], item["closed"]) == ("inbox", True)
    assert "closed at origin without merging" in item["title"]
    assert "accept asks again" in (shown := ann.run("review", "show", item["id"])).out and not shown.err
    ann.run("review", "accept", item["id"])
    ann.run("sync", "-y")
    assert INBOX in team.reviewer.branches() and ann.run("review", "--json").json == []


def test_a_request_is_asked_for_again_where_the_remote_moved_to_a_host_without_memory(team: Team) -> None:
    ann = team.asking("ports")
    subprocess.run(["git", "clone", "-q", "--bare", team.repo, team.tmp / "new.git"], check=True)
    ann.git("remote", "set-url", "origin", team.tmp / "new.git")
    assert ann.run("sync", "-y", "--json").json["branch"] == f"refs/heads/{INBOX}"
    assert ann.run("review", "--json").json == []


@pytest.mark.parametrize("sent", [False, True], ids=["at once", "after a sync"])
def test_what_was_closed_can_be_withdrawn_and_is_back_when_that_is_undone(team: Team, sent: bool) -> None:
    """Also that it is not to be learned again, which the local scope notes; a sync leaves the rest out."""
    ann = closed(team)
    before = project(ann)
    (item,) = ann.run("review", "--json").json
    ann.run("review", "reject", item["id"], "-m", "no")
    assert stones(ann) and set(project(ann)) == {"main/first.md"}
    assert ann.run("review", "--json").json == []
    if sent:
        ann.run("sync", "-y")
        assert INBOX not in team.reviewer.branches()
    assert "with 1 change of the same command" in ann.run("undo").out
    assert project(ann) == before and not stones(ann)


def test_more_to_ask_opens_a_closed_request_again(team: Team) -> None:
    ann = closed(team)
    learn_all(ann, ("hosts",))
    ann.run("sync", "-y")
    assert "main/hosts.md" in team.reviewer.host_files(INBOX)


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_what_was_picked_of_a_request_leaves_the_rest_open_unless_closed(team, closed: bool) -> None:
    """Picked before it was closed, it is all that was taken."""
    ann, reviewer = team.asking("ports", "tea"), team.reviewer
    reviewer.at(PROJECT)
    reviewer.git("checkout", "-q", f"origin/{INBOX}", "--", "main/ports.md")
    reviewer.git("commit", "-q", "-m", "Take one")
    reviewer.git("push", "-q", "origin", PROJECT, *([f":{INBOX}"] if closed else []))
    said = ann.run("sync", "-y")
    assert ("not taken (added in main/tea.md)" in said.err) is closed
    assert asked_here(ann) == ([] if closed else [f"refs/heads/{INBOX}"])
    here = {"main/first.md", "main/ports.md"}
    assert set(project(ann)) == (here if closed else here | {"main/tea.md"})
    if not closed:
        assert "not taken" not in said.err
        assert set(reviewer.host_files(INBOX)) - set(reviewer.host_files()) == {"main/tea.md"}


TWICE = {
    "no-mocks": (
        "Integration tests use the real database",
        "Never mock the database in integration tests.",
    ),
    "real-database": (
        "Never mock the database",
        "Never mock the database in integration tests.\n\n**Why:** a mock hid a broken migration.",
    ),
    "hint": ("A hint on the build", "The build broke yesterday."),
}


def told(name: str) -> str:
    description, text = TWICE[name]
    return memory(name, text).replace(f"About {name}", description)


def write(machine, files: dict[str, str]) -> None:
    """Commits files to project memory, as a person's edit."""
    scope = machine.workspace.scope("project")
    edits = {path: text.encode() for path, text in files.items()}
    ann = Signature("Ann", "ann@example.com", machine.now - 86_400)
    land(scope, lambda _: Write(edits, "Learn", Provenance(op="add")), ann)


def dreaming(team: Team):
    """Ann with a dream of two changes, pushed; returns her machine and the dream's id."""

    def make():
        ann = team.found(mode="direct")
        write(ann, {f"main/{name}.md": told(name) for name in TWICE})
        ann.run("sync", "-y")
        ann.run("dream", "--force", "--scope", "project")
        (item,) = ann.run("review", "--json").json
        ann.run("review", "--open", item["id"], "-y")
        return [ann]

    (ann,) = team.begin("dreaming", make)
    (ref,) = ann.git("for-each-ref", "--format=%(refname)", "refs/heads/gitmem/dream").splitlines()
    return ann, ref.rpartition("/")[2]


@pytest.mark.parametrize("delete", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", [*HOWS, "bare squash"])
def test_a_dream_that_landed_is_closed(team: Team, how: str, delete: bool) -> None:
    ann, id = dreaming(team)
    branch = f"gitmem/dream/{id}"
    message = "Consolidate" if how == "bare squash" else ""
    team.reviewer.land(branch, how.split()[-1], message=message, delete=delete)
    ann.run("sync", "-y")
    repo = ann.workspace.code
    assert repo.ref(f"refs/heads/{branch}") is None and branch not in team.reviewer.branches()
    assert ann.run("review", "--json").json == []
    here = project(ann)
    assert "main/no-mocks.md" not in here and "yesterday (2026-" in here["main/hint.md"]
    assert ann.run("dream", "--force", "--scope", "project", "--json").json[0]["id"] is None


def test_a_look_knows_a_landed_dream_before_the_next_sync(team: Team) -> None:
    ann, id = dreaming(team)
    team.reviewer.land(f"gitmem/dream/{id}", "squash", message="Consolidate", delete=False)
    ann.git("fetch", "-q", "origin", "gitmem/project")
    ann.git("update-ref", SHARED_REF, "FETCH_HEAD")
    before = ann.git("for-each-ref")
    assert ann.run("review", "--json").json == [] and ann.git("for-each-ref") == before


@pytest.mark.parametrize("how", HOWS)
def test_a_change_of_a_dream_that_was_taken_out_on_the_web_does_not_come_back(team: Team, how: str) -> None:
    ann, id = dreaming(team)
    branch = f"gitmem/dream/{id}"
    text = told("no-mocks")
    team.reviewer.edit(branch, "main/no-mocks.md", lambda _: text)
    team.reviewer.land(branch, how)
    said = ann.run("sync", "-y")
    assert "not taken, and not proposed again: Merge no-mocks into real-database" in said.err
    here = project(ann)
    assert here["main/no-mocks.md"] == text and "yesterday (2026-" in here["main/hint.md"]
    assert ann.run("review", "--json").json == []
    assert ann.run("dream", "--force", "--scope", "project", "--json").json[0]["id"] is None
    assert ann.workspace.code.ref(f"refs/heads/{branch}") is None


@pytest.mark.long
def test_a_dream_on_memory_that_was_squashed_asks_for_its_own_changes_alone(team: Team) -> None:
    """Its ground and the memory branch have nothing in common; only records say they are one."""
    ann = team.found()
    ann.learn("hint", "The build broke yesterday.", scope="project")
    ann.run("sync", "-y")
    id = ann.run("dream", "--force", "--scope", "project", "--json").json[0]["id"]
    ann.learn("later", "The dream knows nothing of this.", scope="project")
    ann.run("sync", "-y")
    team.reviewer.land("gitmem/inbox/ann-example-com", "squash", message="Taken in")
    ann.run("sync", "-y")
    ann.run("review", "--open", id, "-y")
    ben = team.machine("ben")
    ben.run("sync", "-y")
    for one in (ann, ben):
        (item,) = one.run("review", "--json").json
        assert item["id"] == id and item["title"].endswith("1 change proposed")
        shown = one.run("review", "show", id).out
        assert "\n1. Date what hint says" in shown and "\n2. " not in shown and "proved" in shown
    asked = team.reviewer.host_files(f"gitmem/dream/{id}")["main/hint.md"]
    assert "yesterday (2026-" in asked and "yesterday." not in asked and "disputed" not in asked
    ben.run("review", "reject", id, "1", "-m", "It was the day before.")
    assert ben.run("review", "--json").json == []
