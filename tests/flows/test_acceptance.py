"""Accepting inboxes of a teammate again and again, in part, out of reach, and over a purge."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from machines import Machine
from purge_ground import follow
from request_ground import PROJECT, Team, body, team
from sync_ground import refuse, teach

from gitmem.core.index import named
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.workspace import SHARED_REF

__all__ = ["team"]
ANN, BEN = "gitmem/inbox/ann-example-com", "gitmem/inbox/ben-example-com"
PATH = "reviewer/{}.md"


@pytest.fixture
def pair(team: Team) -> tuple[Machine, Machine]:
    """Ann and Ben, who share by review and have learned nothing yet."""

    def make() -> Iterable[Machine]:
        return [team.machine("ann"), team.machine("ben")]

    ann, ben = team.begin("pair", make)
    return ann, ben


def waiting(one: Machine) -> list[dict]:
    return one.run("review", "--json").json


def asks(one: Machine, other: Machine) -> dict:
    """Sends what one learned; gives the item that waits at the other."""
    one.run("sync", "-y")
    other.run("sync", "-y")
    (item,) = waiting(other)
    return item


def decide(one: Machine, other: Machine, *paths: str) -> None:
    """One sends, the other accepts it, or what of it is about some memories."""
    item = asks(one, other)
    wanted = {claim["n"] for claim in item["claims"] if claim["path"] in paths}
    other.run("review", "accept", item["id"], *sorted(wanted))


def text(one: Machine, name: str) -> str:
    return body(one.memories("project")[PATH.format(name)])


def authors(one: Machine, name: str) -> dict[str, str]:
    """Claims of a memory and who taught each."""
    repo = one.workspace.code
    return {
        blamed.claim.text: repo.commit(blamed.origins[0].commit).author.name
        for blamed in blame_memory(repo, repo.ref(SHARED_REF) or "", PATH.format(name))
        if not blamed.description
    }


def assert_settled(team: Team, *people: Machine) -> None:
    for one in (*people, *people):
        one.run("sync", "-y")
    for one in people:
        assert waiting(one) == [] and one.run("status", "--json").json["outgoing"] == []
    assert team.reviewer.branches() == {PROJECT}


@pytest.mark.long
def test_edits_follow_one_another_from_either_side(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 1000.\n\nThe debugger takes 4999.")
    decide(ben, ann)
    ben.run("sync", "-y")
    for number in (2, 3, 4):
        teach(ben, "ports", f"Ports start at {number}000.\n\nThe debugger takes 4999.")
        # The second is sent before Ben heard of the first decision, the others after.
        decide(ben, ann)
    assert text(ann, "ports") == "Ports start at 4000.\n\nThe debugger takes 4999."
    assert authors(ann, "ports")["Ports start at 4000."] == "Ben"
    teach(ann, "ports", "Ports start at 4000.\n\nThe debugger takes 6999.")
    decide(ann, ben)
    teach(ben, "ports", "Ports start at 5000.\n\nThe debugger takes 6999.")
    decide(ben, ann)
    assert_settled(team, ann, ben)
    said = {"Ports start at 5000.": "Ben", "The debugger takes 6999.": "Ann"}
    assert authors(ann, "ports") == said and authors(ben, "ports") == said


@pytest.mark.long
def test_what_one_wrote_into_the_index_stays_there_when_a_teammate_accepts(team: Team, pair) -> None:
    """The memory branch has gitmem's own lines; the clone that wrote others took these for withdrawn."""
    ann, ben = pair
    for name in ("ports", "hosts", "racks"):
        teach(ben, name)
    file = ben.code / ".claude/agent-memory/reviewer/MEMORY.md"
    grouped = "- [ports](ports.md) and [hosts](hosts.md): ask Ben\n"
    file.write_text(
        f"# What to know\n\n{grouped}- [racks](racks.md) — as the agent put it\n\nAsk Ben first.\n"
    )
    stood = file.read_text()
    decide(ben, ann)
    for _ in range(2):
        ben.run("sync", "-y")
        assert file.read_text() == stood
    teach(ben, "racks", "Racks have numbers.")
    decide(ben, ann, PATH.format("racks"))
    assert_settled(team, ann, ben)
    assert file.read_text() == stood
    assert {"ports.md", "hosts.md", "racks.md"} <= named(ann.memories("project")["reviewer/MEMORY.md"])


def test_a_part_is_its_author_s_and_the_rest_goes_on_waiting(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "hosts", "Staging runs on two hosts.")
    ben.run("save")
    teach(ben, "ports", "Ports start at 5000.")
    decide(ben, ann, PATH.format("ports"))
    assert authors(ann, "ports") == {"Ports start at 5000.": "Ben"}
    assert PATH.format("hosts") not in team.reviewer.host_files()
    (item,) = waiting(ann)
    assert {claim["path"] for claim in item["claims"]} == {PATH.format("hosts")}
    # Both go on with the part before Ben has heard that it was taken.
    teach(ann, "ports", "Ports start at 5000.\n\nThe debugger takes 4999.")
    teach(ben, "ports", "Ports start at 6000.")
    ben.run("sync", "-y")
    assert text(ben, "ports") == "Ports start at 6000." and "two hosts" in text(ben, "hosts")
    decide(ann, ben)
    decide(ben, ann)
    assert_settled(team, ann, ben)
    for one in pair:
        assert authors(one, "ports") == {"Ports start at 6000.": "Ben", "The debugger takes 4999.": "Ann"}
        assert authors(one, "hosts") == {"Staging runs on two hosts.": "Ben"}


def test_a_part_is_told_by_what_was_taken_alone_and_an_undo_takes_back_that_alone(team, pair) -> None:
    """The teammate's commits come as one merge, and who took it is who undoes it."""
    ann, ben = pair
    ann.learn("mine", "Something of my own.")
    ann.run("save")
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "hosts", "Staging runs on two hosts.")
    ben.run("save")
    teach(ben, "ports", "Ports start at 4000.\n\nThe debugger takes 4999.")
    decide(ben, ann, PATH.format("ports"))
    subjects = ann.git("log", "--format=%s", SHARED_REF)
    assert "ports" in subjects and "hosts" not in subjects
    # A trailer of somebody else does not say that it is undone already.
    team.reviewer.at(PROJECT)
    taken = ann.git("log", "-1", "--format=%H", "--grep=^Accept", SHARED_REF)
    forged = f"Tidy up\n\nGitmem-Undoes: {taken}"
    team.reviewer.git("commit", "-q", "--allow-empty", "-m", forged)
    team.reviewer.git("push", "-q", "origin", PROJECT)
    ann.run("sync", "-y")
    for _ in range(2):
        assert ", 0 pushed" in ben.run("sync", "-y").out, "the rest was sent before"
    ann.run("undo")
    assert PATH.format("ports") not in ann.memories("project")
    assert "main/mine.md" in ann.memories()


def test_a_move_is_undone_whole_after_it_was_sent(pair) -> None:
    """The commit that leaves does not say where the memory went; the one that it was made of does."""
    ann, ben = pair
    teach(ben, "hosts", "Staging runs on two hosts.")
    decide(ben, ann)
    ben.run("sync", "-y")
    ben.run("move", "hosts", "--to", "local")
    ben.run("sync", "-y")
    assert "Move" not in ben.git("log", "--format=%s", SHARED_REF)
    assert "with 1 change of the same command" in ben.run("undo").out
    assert PATH.format("hosts") in ben.memories("project") and not ben.memories().get(PATH.format("hosts"))


@pytest.mark.long
def test_a_part_that_was_changed_since_does_not_come_back_with_the_rest(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "hosts", "Staging runs on two hosts.")
    decide(ben, ann, PATH.format("ports"))
    ann.run("share", "--mode", "direct", "-y")
    teach(ann, "ports", "Ports start at 5000.")
    ann.run("sync", "-y")
    (item,) = waiting(ann)
    assert {claim["path"] for claim in item["claims"]} == {PATH.format("hosts")}
    ann.run("review", "accept", item["id"])
    assert_settled(team, ann, ben)
    assert text(ann, "ports") == text(ben, "ports") == "Ports start at 5000."
    assert authors(ben, "hosts") == {"Staging runs on two hosts.": "Ben"}


def test_what_is_accepted_out_of_reach_waits_again_when_that_is_undone(team: Team, pair) -> None:
    """Nothing older is undone in its place, and nobody else is said to be waited for."""
    ann, ben = pair
    teach(ben, "hosts", "Staging runs on two hosts.")
    decide(ben, ann)
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "paths", "Paths are short.")
    item = asks(ben, ann)
    team.host.rename(team.host.with_name("away.git"))
    ann.run("review", "accept", item["id"], 1)
    ann.run("review", "accept", item["id"])
    assert "waits again" in ann.run("undo").out
    assert waiting(ann) == [item] and ann.run("status", "--json").json["outgoing"] == []
    assert PATH.format("hosts") in ann.memories("project")
    # Both went with that one.
    assert "Accept" in ann.run("undo").out
    assert "nothing to undo" in ann.run("undo", code=1).err


@pytest.mark.long
def test_what_is_accepted_out_of_reach_is_sent_by_the_next_sync(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    item = asks(ben, ann)
    away = team.host.rename(team.host.with_name("away.git"))
    done = ann.run("review", "accept", item["id"])
    assert "git mem sync sends it" in done.err and waiting(ann) == []
    assert "to be sent: git mem sync" in ann.run("status").out
    away.rename(team.host)
    teach(ben, "hosts", "Staging runs on two hosts.")
    ben.run("sync", "-y")
    assert "sent 1 memory that you accepted" in ann.run("sync", "-y").err
    assert PATH.format("ports") in team.reviewer.host_files()
    assert text(ann, "ports") == "Ports start at 4000."
    assert [claim["path"] for claim in waiting(ann)[0]["claims"]] == [PATH.format("hosts")] * 2
    decide(ben, ann)
    assert_settled(team, ann, ben)


def test_a_purge_that_a_protected_branch_refused_holds_once_it_may_be_sent(team: Team, pair) -> None:
    """What the remote still has is known for what was purged: it is not carried over."""
    ann, ben = pair
    teach(ann, "lock", "The lock opens with 8812.\n\nThe lock is blue.")
    decide(ann, ben)
    ann.run("sync", "-y")
    hook = refuse(team.host, "*/gitmem/project")
    ann.run("purge", "The lock opens with 8812.", "-y")
    hook.unlink()
    ann.run("sync", "-y", code=3)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    assert text(ann, "lock") == "[purged]\n\nThe lock is blue."
    team.reviewer.at(PROJECT)
    assert "opens with" not in team.reviewer.git("log", "-p", f"origin/{PROJECT}")


@pytest.mark.long
def test_what_a_protected_branch_refuses_later_waits_for_the_host(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    item = asks(ben, ann)
    away = team.host.rename(team.host.with_name("away.git"))
    ann.run("review", "accept", item["id"])
    away.rename(team.host)
    hook = refuse(team.host, "*/gitmem/project")
    assert "what you accepted waits for its reviewers" in ann.run("sync", "-y").err
    assert f"{BEN}: 1 memory that you accepted, for origin's reviewers" in ann.run("status").out
    assert waiting(ann) == [] and PATH.format("ports") not in ann.memories("project")
    hook.unlink()
    team.reviewer.land(BEN, "merge")
    assert_settled(team, ann, ben)


@pytest.mark.long
def test_a_part_that_a_protected_branch_refuses_is_asked_for_by_who_chose_it(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "hosts", "Staging runs on two hosts.")
    item = asks(ben, ann)
    hook = refuse(team.host, "*/gitmem/project")
    number = next(claim["n"] for claim in item["claims"] if claim["path"] == PATH.format("ports"))
    undo = re.findall("undo: git mem (.*)", ann.run("review", "accept", item["id"], number).err)
    for words in undo:
        ann.run(*words.split())
    assert PATH.format("ports") not in ann.memories("project")
    assert "your own inbox asks for it" in ann.run("review", "accept", item["id"], number).err
    assert "leaves for the first time" not in ann.run("sync").err, "it is there, in his"
    assert authors(ann, "ports") == {"Ports start at 4000.": "Ben"}
    assert PATH.format("hosts") not in team.reviewer.host_files(ANN)
    hook.unlink()
    team.reviewer.land(ANN, "merge")
    decide(ben, ann)
    assert_settled(team, ann, ben)


@pytest.mark.long
def test_a_memory_about_a_person_that_another_client_sent_is_left_where_it_is(team: Team, pair) -> None:
    """What else the inbox brings can be accepted by number."""
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.")
    teach(ben, "person", "Ben likes short answers.")
    ben.run("sync", "-y")
    team.reviewer.edit(BEN, PATH.format("person"), lambda text: text.replace("type: project", "type: user"))
    ann.run("sync", "-y")
    (item,) = waiting(ann)
    assert (
        "is about a person (type user), which is never shared"
        in ann.run("review", "accept", item["id"], code=1).err
    )
    decide(ben, ann, PATH.format("ports"))
    ann.run("review", "reject", waiting(ann)[0]["id"], "-m", "not for the team")
    assert waiting(ann) == []
    assert {name for name in team.reviewer.host_files() if "MEMORY" not in name} == {PATH.format("ports")}


@pytest.mark.long
def test_an_inbox_that_waits_over_a_purge_is_accepted_after_it(team: Team, pair) -> None:
    ann, ben = pair
    teach(ben, "ports", "Ports start at 4000.\n\nThe lock opens with 8812.")
    decide(ben, ann)
    ben.run("sync", "-y")
    teach(ben, "ports", "Ports start at 5000.\n\nThe lock opens with 8812.")
    item = asks(ben, ann)
    ann.run("share", "--mode", "direct", "-y")
    ann.run("purge", "The lock opens with 8812.", "-y")
    ann.run("sync", "-y")
    ann.run("share", "--mode", "review", "-y")
    ann.run("review", "accept", item["id"], code=2)
    follow(ben)
    decide(ben, ann)
    assert_settled(team, ann, ben)
    for one in pair:
        assert authors(one, "ports") == {"Ports start at 5000.": "Ben", "[purged]": "Ben"}
    team.reviewer.git("fetch", "-q", "--prune", "origin")
    assert "opens with" not in team.reviewer.git("log", "-p", f"origin/{PROJECT}")
