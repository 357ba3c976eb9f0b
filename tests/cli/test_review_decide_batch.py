"""`git mem review accept` and `reject` on many at once: each alone, one line, one undo."""

from __future__ import annotations

from dataclasses import replace

from cli_ground import Ground, memory
from memory_files import proposed
from waiting_ground import KEY, let_wait

from gitmem.core.change import Edited
from gitmem.core.trailers import parse
from gitmem.git.repository import Signature
from gitmem.ledger.suggestions import AGENT, open_suggestions, propose, suggest

DISPUTED = "- On Mondays.\n  3. On Sundays. *(disputed 01234567)*\n- On Fridays. *(disputed 01234567)*"


def waiting(ground: Ground) -> set[str]:
    return {one.change.name for one in open_suggestions(ground.workspace)}


def ids(ground: Ground, *names: str) -> list[str]:
    by_name = {one.change.name: one.id for one in open_suggestions(ground.workspace)}
    return [by_name[name] for name in names]


def names_in(ground: Ground, scope: str) -> set[str]:
    where = ground.workspace.scope(scope)
    if where.repo.ref(where.ref) is None:
        return set()
    return {path.rpartition("/")[2].removesuffix(".md") for path in ground.tree(scope)} - {
        "MEMORY",
        ".gitmem",
    }


def test_several_are_stored_with_one_line_and_taken_back_with_one_undo(ground: Ground) -> None:
    """Each keeps the session that it was said in."""
    let_wait(ground, "ports", session="one")
    let_wait(ground, "deploys", session="two")
    let_wait(ground, "lint")
    let_wait(ground, "coffee", scope="user", type="user")
    said = ground.run("review", "accept", *ids(ground, "ports", "coffee", "deploys"))
    assert said.out == "accepted 3 suggestions\n"
    assert said.err.count("undo: git mem undo ") == 1
    assert waiting(ground) == {"lint"}
    assert names_in(ground, "project") == {"ports", "deploys"} and names_in(ground, "user") == {"coffee"}
    where = ground.workspace.scope("project")
    told = [parse(commit.message) for commit in where.repo.history(ground.tip())]
    assert {one.session for one in told if one.writer == "extract"} == {"one", "two"}
    ground.run("undo", said.err.split()[-1])
    assert waiting(ground) == {"ports", "lint", "deploys", "coffee"}
    assert names_in(ground, "project") == names_in(ground, "user") == set()


def test_a_bare_undo_takes_the_batch_back_and_can_be_undone_itself(ground: Ground) -> None:
    let_wait(ground, "ports", "lint")
    ground.run("review", "accept", "--all")
    said = ground.run("undo")
    assert "with 1 change of the same command" in said.out
    assert waiting(ground) == {"ports", "lint"} and names_in(ground, "project") == set()
    ground.run("undo", said.err.split()[-1])
    assert waiting(ground) == set() and names_in(ground, "project") == {"ports", "lint"}


def test_what_cannot_be_stored_is_named_and_holds_up_no_other(ground: Ground) -> None:
    let_wait(ground, "ports")
    let_wait(ground, "secret", body=f"The key is {KEY}.")
    said = ground.run("review", "accept", *ids(ground, "secret", "ports"), "s-ffffff", code=2)
    assert said.out == "accepted 1 suggestion\n"
    (secret,) = ids(ground, "secret")
    assert f"{secret} was not decided: " in said.err and "s-ffffff was not decided: " in said.err
    assert KEY not in said.err and names_in(ground, "project") == {"ports"}
    said = ground.run("review", "accept", "--all", code=1)
    assert said.out == "nothing was decided\n" and "undo:" not in said.err


def test_rejecting_several_is_one_commit_and_one_undo(ground: Ground) -> None:
    let_wait(ground, "ports", "lint", "deploys")
    before = ground.workspace.scope("project").repo
    said = ground.run("review", "reject", *ids(ground, "ports", "lint"), "-m", "guessed")
    assert said.out == "rejected 2 suggestions\n" and waiting(ground) == {"deploys"}
    commit = before.commit(ground.tip())
    assert "guessed" in commit.message and "- ports" in commit.message
    assert "rejected" in ground.tree()["reviewer/.tombstones"]
    again = ground.run("undo")
    assert waiting(ground) == {"ports", "lint", "deploys"}
    assert "wait again" in again.err and "reviewer/.tombstones" not in ground.tree()


def test_all_takes_what_a_yes_decides_of_one_kind_and_from_one_source(ground: Ground) -> None:
    let_wait(ground, "ports", engine="anthropic:claude-sonnet")
    let_wait(ground, "lint")
    let_wait(ground, "agents", engine=AGENT)
    assert ground.run("review", "accept", "--all", "--kind", "dream").out == "nothing was decided\n"
    ground.run("review", "accept", "--all", "--from", "anthropic")
    assert waiting(ground) == {"lint", "agents"}
    ground.run("review", "reject", "--all", "--kind", "suggestion", "--from", "agent")
    assert waiting(ground) == {"lint"}


def test_all_leaves_a_dispute_to_be_decided_by_name(ground: Ground) -> None:
    text = "On Mondays. *(disputed 01234567)*\n\nOn Fridays. *(disputed 01234567)*"
    ground.learn({"reviewer/deploy.md": memory("deploy", text)})
    let_wait(ground, "ports")
    said = ground.run("review", "accept", "--all")
    assert said.out == "accepted 1 suggestion\n" and "by name: x-012345" in said.err
    said = ground.run("review", "accept", "x-", 1, "s-", code=2)
    assert said.out == "accepted 1 dispute\n"
    ground.run("undo")
    assert "On Fridays." in ground.tree()["reviewer/deploy.md"]


def test_a_dry_run_decides_nothing(ground: Ground) -> None:
    """Also where -n stands before the word: it used to be passed over."""
    let_wait(ground, "ports", "lint")
    for line in ("-n accept --all", "accept --all -n"):
        said = ground.run("review", *line.split())
        assert said.out.count("would accept s-") == 2 and waiting(ground) == {"ports", "lint"}


def test_a_program_reads_each_decision(ground: Ground) -> None:
    let_wait(ground, "ports")
    let_wait(ground, "secret", body=f"The key is {KEY}.")
    said = ground.run("review", "accept", "--all", "--json", code=1).json
    assert [(one["verdict"], bool(one["commit"])) for one in said["decided"]] == [("accept", True)]
    assert said["failed"][0]["kind"] == "check" and said["undo"] == [said["decided"][0]["commit"]]


def test_words_that_do_not_fit_exit_2(ground: Ground) -> None:
    let_wait(ground, "ports")
    for line in ("accept", "accept 1", "accept --all s-1", "reject --kind dream s-1",
                 "accept s-1 --from agent"):  # fmt: skip
        ground.run("review", *line.split(), code=2)
        assert waiting(ground) == {"ports"}, line


def test_undo_takes_nobody_elses_commit_along(ground: Ground) -> None:
    """A trailer can be forged: a teammate's commit with the batch's name stays."""
    let_wait(ground, "ports", "lint")
    ground.run("review", "accept", "--all")
    told = parse(ground.workspace.code.commit(ground.tip()).message)
    ground.learn({"reviewer/theirs.md": memory("theirs")}, told=told, who="Mallory")
    ground.run("undo", f"{ground.tip()}~1")
    assert names_in(ground, "project") == {"theirs"}


def test_a_line_feed_in_what_others_wrote_begins_no_row_of_its_own(ground: Ground) -> None:
    forged = "harmless\r\ns-000000   suggestion project: a row that nobody made\nwhy: the person said so"
    let_wait(
        ground, "forged", description=forged, session="one\nsaid in session two", body="It is so.\nTwice."
    )
    ground.learn({"reviewer/deploy.md": memory("deploy", DISPUTED)})
    rows = ground.run("review").out.splitlines()
    assert sorted(row.split()[1] for row in rows) == ["dispute", "suggestion"]
    ids = {row.split()[1]: row.split()[0] for row in rows}
    shown = ground.run("review", "show", ids["suggestion"]).out
    assert "\r" not in shown and shown.splitlines()[3:5] == ["It is so.", "Twice."]
    starts = [line.split(":")[0].split(" in ")[0] for line in shown.splitlines()]
    assert starts.count("why") == 1 and starts.count("said") == 1 and "s-000000" not in starts
    numbered = [
        line for line in ground.run("review", "show", ids["dispute"]).out.splitlines() if line[:1].isdigit()
    ]
    assert [line[0] for line in numbered] == ["1", "2"]


def test_review_tells_programs_of_an_edit_that_waits(ground: Ground) -> None:
    before, after = (memory("ports", text).encode() for text in ("Port 80.", "Port 81."))
    edit = proposed("ports", body="Port 81.", agent="reviewer", op="update", file="ports.md")
    edit = replace(edit, edited=Edited(before, after))
    waits = suggest(edit, "local", "2026-11-20T10:00:00Z")
    (one,) = propose(ground.workspace, [waits], Signature("Ann", "ann@example.com", ground.now))
    (value,) = ground.run("review", "--json").json
    told = {"id": one.id, "kind": "suggestion", "from": "offline", "title": "local: About ports"}
    told |= {"scope": "local", "agent": "reviewer", "op": "update", "name": "ports", "type": "project"}
    told |= {"description": "About ports", "body": "Port 81.", "reason": "said so", "session": "session-1"}
    assert value == told | {"confidence": 0.5, "takes_out": ["Port 80."]}
