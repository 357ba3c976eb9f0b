"""Requests of others as they wait here: shown claim by claim, judged again, and nobody's memory before."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples
from machines import NOW, Machine
from markdown_it import MarkdownIt
from planted_secrets import GITHUB
from request_ground import PROJECT, Team, body, learn_all, memory, team
from slices import often
from sync_ground import refuse

from gitmem.app.context import real_edges
from gitmem.core import tombstone
from gitmem.core.account import references
from gitmem.core.trailers import Fate, Provenance
from gitmem.dream.cards import Card, CardSide
from gitmem.flows.exchange import after_merge
from gitmem.flows.notices import leave_proposal, take
from gitmem.flows.pull_request import LIMIT, find_host, inbox_cards, markdown, request_body
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_paths
from gitmem.ledger.blame import blame_memory
from gitmem.ledger.inbox import inboxes
from gitmem.ledger.land import Ref, Tip, Write, land
from gitmem.ledger.workspace import SHARED_REF

__all__ = ["team"]
BEN = "gitmem/inbox/ben-example-com"


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


def test_a_purge_before_anything_was_shared_keeps_nothing_from_the_team(team: Team) -> None:
    """The memory branch is empty by then: nothing of it was purged, so it stands on neither side."""
    ann = team.machine("ann")
    ann.learn("ports", "Ports start at 4000.", scope="project")
    ann.learn("word", "The word is xyzzyplugh.", scope="project")
    ann.run("purge", "xyzzyplugh", "--text", "--no-push", "-y")
    ann.run("sync", "-y")
    assert "2 memories of yours in gitmem/inbox/ann-example-com" in ann.run("status").out
    ben = team.machine("ben")
    ben.run("sync", "-y")
    ben.run("review", "accept", waiting(ben)["id"])
    assert {"main/ports.md", "main/word.md"} <= team.reviewer.host_files().keys()


def test_a_teammate_s_inbox_is_listed_and_taken_in_by_nobody_unasked(team: Team, ann) -> None:
    item = waiting(ann)
    assert (item["branch"], item["remote"], item["closed"]) == (f"refs/heads/{BEN}", "origin", False)
    claims = {(one["kind"], one["path"], one["before"], one["after"]) for one in item["claims"]}
    assert ("added", "main/tea.md", None, "Meetings start at ten.") in claims
    assert ("changed", "main/first.md", "The first fact.", "The first fact, as Ben has it.") in claims
    shown = ann.run("review", "show", item["id"])
    assert shown.err == f"decide: git mem review accept|reject {item['id']} [N...]\n"
    assert (
        "   - The first fact.\n   + The first fact, as Ben has it.\n     main/first.md: changed\n"
        in shown.out
    )
    ann.run("sync", "-y")
    assert "main/tea.md" not in ann.memories("project")
    assert ann.run("list", "--json").out.count("tea") == 0

    done = ann.run("review", "accept", item["id"])
    here = ann.memories("project")
    assert body(here["main/first.md"]).startswith("The first fact, as Ben has it.")
    assert "](tea.md)" in here["main/MEMORY.md"] and "undo: git mem undo" in done.err
    assert ann.run("review", "--json").json == []
    assert "main/tea.md" in team.reviewer.host_files()
    repo = ann.workspace.code
    (*_, claim) = blame_memory(repo, repo.ref(SHARED_REF), "main/tea.md")
    assert repo.commit(claim.origins[0].commit).subject == "Add tea"


def test_what_a_description_says_again_is_shown_once(team: Team) -> None:
    ann = team.machine("ann")
    ann.learn("tea", "About tea.", scope="project")
    ann.run("sync", "-y")
    ben = team.machine("ben")
    ben.run("sync", "-y")
    assert ben.run("review", "show", waiting(ben)["id"]).out.count("About tea") == 1
    (card,) = inbox_cards(ben.workspace.code, *inboxes(ben.workspace))
    assert [side.text for side in card.sides] == ["About tea."]


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
    ann.run("review", "reject", waiting(ann)["id"], "-m", "no")
    assert ann.run("review", "--json").json == []
    # What the team took since is none.
    ann.learn("other", "Something else.", scope="project")
    ann.run("sync", "-y")
    ann.run("sync", "-y")
    assert ann.run("review", "--json").json == []
    team.reviewer.edit(BEN, "main/tea.md", lambda text: text.replace("ten", "nine"))
    ann.run("sync", "-y", "--pull")
    item = waiting(ann)
    assert "Meetings start at nine." in {one["after"] for one in item["claims"]}
    assert {one["path"] for one in item["claims"]} == {"main/tea.md"}, "all else stays rejected"
    ann.run("review", "reject", item["id"], "-m", "no")
    ann.run("undo")
    assert waiting(ann) == item, "what was rejected before is none of this"
    ann.run("review", "accept", item["id"])
    assert ann.run("review", "--json").json == []
    kept = team.reviewer.host_files()
    assert "nine" in kept["main/tea.md"] and "main/ports.md" not in kept
    assert "as Ben has it" not in kept["main/first.md"]


@pytest.mark.parametrize("how", often(["named", "bare"], "named"))
def test_a_rejected_inbox_waits_again_when_that_is_undone(ann, how: str) -> None:
    ann.learn("mine", "Something of my own.")
    ann.run("save")
    item = waiting(ann)
    said = ann.run("review", "reject", item["id"], "-m", "no")
    assert f"undo: git mem undo {item['id']}" in said.err
    assert "waits again" in ann.run("undo", "--dry-run").out and ann.run("review", "--json").json == []
    ann.run("undo", *([item["id"]] if how == "named" else []))
    assert waiting(ann)["id"] == item["id"] and "main/mine.md" in ann.memories()
    ann.run("undo")
    assert "main/mine.md" not in ann.memories(), "what was decided is undone once"


def test_some_memories_of_an_inbox_are_rejected_by_number(team: Team, ann) -> None:
    """The rest is accepted without them, and each is taken back by itself."""
    item = waiting(ann)
    numbers = {one["path"]: one["n"] for one in item["claims"]}
    said = ann.run("review", "reject", item["id"], numbers["main/tea.md"], numbers["main/first.md"])
    left = waiting(ann)
    assert {one["path"] for one in left["claims"]} == {"main/hosts.md", "main/ports.md"}
    ann.run("review", "reject", left["id"], 2)
    ann.run("undo")
    assert waiting(ann) == left
    ann.run("review", "accept", left["id"])
    assert ann.run("review", "--json").json == [] and "main/tea.md" not in team.reviewer.host_files()
    ann.run(*said.err.split("undo: git mem ")[1].split())
    assert {one["path"] for one in waiting(ann)["claims"]} == {"main/first.md", "main/tea.md"}
    assert "has no memory 9" in ann.run("review", "reject", item["id"], 9, code=2).err


def test_what_its_writer_took_back_does_not_wait_again(team: Team, ann) -> None:
    item = waiting(ann)
    ann.run("review", "reject", item["id"], "-m", "no")
    team.reviewer.git("push", "-q", "origin", "--delete", BEN)
    ann.run("sync", "-y")
    assert "nothing waits again" in ann.run("undo").out and ann.run("review", "--json").json == []


def test_an_acceptance_that_the_host_decides_on_can_be_undone(team: Team, ann) -> None:
    refuse(team.host, f"refs/heads/{PROJECT}")
    item = waiting(ann)
    said = ann.run("review", "accept", item["id"])
    assert f"undo: git mem undo {item['id']}" in said.err and ann.run("review", "--json").json == []
    assert f"{BEN} waits again" in ann.run("undo").out
    assert waiting(ann)["id"] == item["id"]


def planted(team: Team, ann: Machine, files: dict[str, str]) -> None:
    """Puts files on Ben's branch with plain git, as somebody who means no good; Ann fetches them."""
    reviewer = team.reviewer
    reviewer.at(BEN)
    for path, text in files.items():
        file = reviewer.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        reviewer.git("add", "-f", path)
    reviewer.git("commit", "-q", "-m", "Plant")
    reviewer.git("push", "-q", "origin", BEN)
    ann.git("fetch", "-q", "origin", f"+{BEN}:refs/remotes/origin/{BEN}")


def test_what_may_not_be_stored_is_not_accepted(team: Team, ann) -> None:
    before = ann.memories("project")
    about = memory("me", "Ann drinks \x1b[2J tea\u202e.", "user")
    planted(team, ann, {"main/me.md": about})
    shown = ann.run("review", "show", waiting(ann)["id"]).out
    assert "\x1b" not in shown and "\u202e" not in shown and "\\x1b[2J" in shown, "written out"
    assert "about a person" in ann.run("review", "accept", waiting(ann)["id"], code=1).err
    key = memory("key", f"The token is {GITHUB} today.")
    planted(team, ann, {"main/me.md": about.replace("user", "project"), "main/key.md": key})
    refused = ann.run("review", "accept", waiting(ann)["id"], code=1).err
    assert "secret" in refused and GITHUB not in refused
    # All of the branch's history would be on the memory branch.
    planted(team, ann, {"main/key.md": memory("key", "The token is in the vault.")})
    refused = ann.run("review", "accept", waiting(ann)["id"], code=1).err
    assert "main/key.md" in refused and "it stays in history" in refused and GITHUB not in refused
    assert ann.memories("project") == before and "main/key.md" not in team.reviewer.host_files()


def test_a_file_that_has_no_place_in_memory_is_left_in_the_inbox(team: Team, ann) -> None:
    planted(team, ann, {"main/con.md": memory("con", "A device.")})
    done = ann.run("review", "accept", waiting(ann)["id"])
    assert "'main/con.md': the part 'con.md' is a device name on Windows" in done.out + done.err
    kept = ann.memories("project")
    assert "main/con.md" not in kept and "as Ben has it" in kept["main/first.md"]
    refused = ann.run("review", "accept", waiting(ann)["id"], code=3)
    assert "may not be in a memory tree" in refused.err


def test_no_file_of_the_host_comes_with_an_inbox_nor_tombstones_of_what_stands(team, ann) -> None:
    """The others come along: what is left out of an ancestor would be lifted in the writer's clone."""
    mine, theirs = (
        tombstone.bury(key, "a" * 32, "2026-11-20", "forgot").line()
        for key in ("What Ben forgot.", "Another first fact.")
    )
    files = {
        ".github/workflows/run.yml": "on: push\n",
        ".gitattributes": "* filter=evil\n",
        "main/.tombstones": mine + theirs,
        "main/extra.md": memory("extra", "An extra fact."),
    }
    planted(team, ann, files)
    scope = ann.workspace.scope("project")

    def of_host() -> dict[str, object]:
        tree = scope.repo.tree(scope.repo.commit(scope.repo.ref(scope.ref)).tree)
        return {name: tree.get(name) for name in (".github", ".gitattributes")}

    before = of_host()
    assert "marks 1 text as forgotten" in ann.run("review", "accept", waiting(ann)["id"]).err
    assert of_host() == before and team.reviewer.text(PROJECT, "main/.tombstones") == mine.strip()
    kept = ann.memories("project")
    assert "main/extra.md" in kept and "Another first fact." in kept["main/first.md"]


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
    for dry in ([], ["-n"]):
        assert "Name it as it was shown" in ann.run("review", "accept", moved["id"][:8], *dry, code=2).err


def test_a_dream_whose_acceptance_is_undone_after_it_was_sent_waits_through_a_sync(team: Team) -> None:
    """The memory branch has all of it until the undo is there, too."""
    ben = team.found("ben", "direct")
    for name in ("concern", "small"):
        ben.learn(name, "Keep requests small: one concern each.", scope="project")
    ben.run("sync", "-y")
    ben.run("dream", "--force", "--scope", "project")
    (item,) = ben.run("review", "--json").json
    ben.run("review", "--open", item["id"], "-y")
    ann = team.machine("ann", "direct")
    ann.run("sync", "-y")
    (seen,) = ann.run("review", "--json").json
    assert (seen["kind"], seen["id"], seen["incoming"]) == ("dream", item["id"], True)
    ann.run("review", "accept", item["id"])
    ann.run("sync", "-y")
    ben.run("sync", "-y")  # which removes the branch
    assert "waits again" in ann.run("undo").err
    refuse(team.host, f"refs/heads/{PROJECT}")  # so that the undo waits for review
    for _ in range(2):
        ann.run("sync", "-y")
        assert item["id"] in [one["id"] for one in ann.run("review", "--json").json]


def test_a_dream_whose_acceptance_was_undone_lands_when_a_teammate_accepts_it(team: Team, dreamt) -> None:
    """What the memory branch had for a while and took back says nothing against it."""
    ann, id = dreamt, dream_id(dreamt)
    ann.run("review", "accept", id, "1")
    for words in (("sync", "-y"), ("undo",), ("sync", "-y"), ("review", "reject", id, "3", "-m", "no")):
        ann.run(*words)
    ann.run("review", "open", id, "-y")
    ben = team.machine("ben", "direct")
    ben.run("sync", "-y")
    ben.run("review", "accept", id)
    assert "yesterday (2026-" in ben.memories("project")["main/build.md"]


@pytest.mark.parametrize("how", often(["merge", "squash"], "squash"))
def test_what_a_dream_asks_is_no_part_of_its_request(team: Team, dreamt, how: str) -> None:
    """A host would land the deletion that a question only proposes."""
    ann, id = dreamt, dream_id(dreamt)
    repo, ref = ann.workspace.code, f"refs/heads/gitmem/dream/{id}"
    asks(repo, ref, "main/first.md", "Another first fact.")
    whole, base = repo.ref(ref), repo.ref(SHARED_REF)
    done = ann.run("check", "--ref", ref, "--base", base, code=1)
    assert "nobody answered what a dream asks" in done.out + done.err
    dry = ann.run("review", "open", id, "-y", "--dry-run").out
    assert "1 question is asked on the machine that dreamt" in dry and "Ask whether" not in dry
    assert repo.ref(ref) == whole
    ann.run("review", "open", id, "-y")
    team.reviewer.land(f"gitmem/dream/{id}", how)
    assert "Another first fact." in team.reviewer.text(PROJECT, "main/first.md")
    assert "yesterday (2026-" in team.reviewer.text(PROJECT, "main/build.md")
    assert f"dream {id} was merged" in ann.run("sync", "-y").err
    (left,) = ann.run("review", "--json").json
    assert left["id"] != id
    assert "Ask whether another first fact holds" in ann.run("review", "show", left["id"]).out
    ann.run("review", "accept", left["id"], "1")
    assert "Another first fact." not in ann.memories("project")["main/first.md"]
    assert ann.run("check", "--ref", SHARED_REF, "--base", base).code == 0


def test_a_dream_merged_at_a_host_is_said_by_sync_though_the_worker_took_it_in(team: Team, dreamt) -> None:
    """Nobody reads what the worker says; the note that it waits goes."""
    ann, id = dreamt, dream_id(dreamt)
    ann.run("review", "open", id, "-y")
    leave_proposal(ann.workspace.state, id, 3)
    team.reviewer.land(f"gitmem/dream/{id}", "merge")
    ann.git("fetch", "-q", "origin", f"+{SHARED_REF}:refs/remotes/origin/gitmem/project")
    after_merge(ann.workspace, real_edges(ann.code))
    assert "yesterday (2026-" in ann.memories("project")["main/build.md"]
    assert f"dream {id} was merged" in ann.run("sync", "-y").err
    assert take(ann.workspace.state, "any", all_sessions=True) == ""


def test_what_was_rejected_of_a_dream_is_no_part_of_its_request(team: Team, dreamt) -> None:
    """Who opens a request shares what is asked for, and not what they turned down before.

    The branch here moves when the host has taken it, so a request that was declined can be opened again.
    """
    ann, id = dreamt, dream_id(dreamt)
    repo, branch = ann.workspace.code, f"gitmem/dream/{id}"
    left_out = open_changes(ann, id)[2]
    asks(repo, f"refs/heads/{branch}", "main/first.md", "Another first fact.")
    for subject in ("Ask whether", left_out):
        if subject == left_out:
            ann.run("review", "reject", id, "2", "-m", "they do not care")
        hook = refuse(team.host, f"refs/heads/{branch}")
        before = repo.refs("refs/heads/gitmem/dream/"), repo.refs("refs/gitmem/rejected/")
        assert "refused" in ann.run("review", "open", id, "-y", code=None).err
        assert (repo.refs("refs/heads/gitmem/dream/"), repo.refs("refs/gitmem/rejected/")) == before
        hook.unlink()
        ann.run("review", "open", id, "-y")
        team.reviewer.git("fetch", "-q", "origin")
        sent = team.reviewer.git("log", "-p", f"origin/{PROJECT}..origin/{branch}")
        assert subject not in sent
        assert repo.ref(f"refs/heads/{branch}") == team.reviewer.git("rev-parse", f"origin/{branch}")
    assert f"{left_out.split()[1]} broke yesterday (2026" not in sent
    asked = open_changes(ann, id)
    assert sorted(asked) == [1, 3] and all(subject in sent for subject in asked.values())
    assert len(ann.run("review", "--json").json) == 2
    assert "waits again" in ann.run("undo").err
    listed = ann.run("review", "--json").json
    waits = [subject for one in listed for subject in open_changes(ann, one["id"]).values()]
    assert len(waits) == 4 and left_out in waits


@pytest.fixture
def dreamt(team: Team):
    """Ann, on whose machine a dream of three changes waits."""

    def make():
        made = team.found("ann", "direct")
        for name in ("build", "cache", "deploy"):
            made.learn(name, f"The {name} broke yesterday.", scope="project")
        made.run("sync", "-y")
        made.run("dream", "--force", "--scope", "project")
        return [made]

    return team.begin("dreamt", make)[0]


def dream_id(machine) -> str:
    (item,) = machine.run("review", "--json").json
    return item["id"]


def edit_by_hand(ann, id: str, old: str, new: str) -> None:
    ann.patch.setenv("GIT_EDITOR", f"sed -i 's/{old}/{new}/'")
    ann.run("review", "edit", id, "-m", "so it was")


@pytest.mark.parametrize("who", often(["ann", "a reviewer"], "a reviewer"))
def test_a_change_left_off_at_the_end_leaves_its_number_to_nobody(team: Team, dreamt, who: str) -> None:
    """A later edit under that number would count as rejected, and vanish."""
    ann, id = dreamt, dream_id(dreamt)
    changes = open_changes(ann, id)
    ann.run("review", "reject", id, "3", "-m", "they do not care")
    ann.run("review", "open", id, "-y")
    if who == "ann":
        edit_by_hand(ann, id, "^The build broke", "The nightly build broke")
    else:
        change = lambda text: text.replace("The build broke", "The nightly build broke")  # noqa: E731
        team.reviewer.edit(f"gitmem/dream/{id}", "main/build.md", change)
        ann.run("sync", "-y")
    now = open_changes(ann, id)
    assert sorted(now) == [1, 2, 4] and {n: now[n] for n in (1, 2)} == {n: changes[n] for n in (1, 2)}
    ann.run("review", "accept", id)
    assert "The nightly build broke" in ann.memories("project")["main/build.md"]


@pytest.mark.long
def test_changes_keep_their_numbers_however_often_some_are_left_off(team: Team, dreamt) -> None:
    ann, id = dreamt, dream_id(dreamt)
    changes = open_changes(ann, id)
    for n in (2, 1):
        ann.run("review", "reject", id, n, "-m", "they do not care")
        ann.run("review", "open", id, "-y")
    assert open_changes(ann, id) == {3: changes[3]}
    edit_by_hand(ann, id, "^The deploy broke", "The nightly deploy broke")
    ann.run("review", "open", id, "-y")
    edited = open_changes(ann, id)
    assert sorted(edited) == [3, 4]
    ann.run("review", "reject", id, "4", "-m", "no")
    for _ in range(2):
        ann.run("review", "open", id, "-y")
        assert open_changes(ann, id) == {3: changes[3]}
    edit_by_hand(ann, id, "^The deploy broke", "The last deploy broke")
    assert sorted(open_changes(ann, id)) == [3, 5]


@pytest.mark.long
def test_an_edit_since_a_request_is_there_again_when_the_rejection_is_undone(team: Team, dreamt) -> None:
    """What was left off is kept by then under the dream's name, without the edit."""
    ann, id = dreamt, dream_id(dreamt)
    ann.run("review", "reject", id, "2", "-m", "they do not care")
    ann.run("review", "open", id, "-y")
    for at, words in enumerate(("The nightly build", "The weekly build")):
        edit_by_hand(ann, id, r"^The \w*\s*build broke", f"{words} broke")
        changes = open_changes(ann, id)
        assert sorted(changes) == [1, 3, *range(4, 5 + at)]
        ann.run("review", "reject", id, "-m", "none of it")
        shown = ann.run("review", "show", id[:-1]).out
        assert "[rejected]" in shown and f"{words} broke" in shown
        assert f"{id} waits again" in ann.run("undo").err
        assert open_changes(ann, id) == changes
    ann.run("review", "accept", id)
    assert "The weekly build broke" in ann.memories("project")["main/build.md"]


@pytest.mark.long
def test_what_was_left_off_twice_waits_again_when_both_rejections_are_undone(team: Team, dreamt) -> None:
    ann, id = dreamt, dream_id(dreamt)
    changes = open_changes(ann, id)
    for n in (2, 1):
        ann.run("review", "reject", id, n, "-m", "they do not care")
        ann.run("review", "open", id, "-y")
    for _ in range(2):
        ann.run("undo")
    listed = ann.run("review", "--json").json
    waits = {subject for one in listed for subject in open_changes(ann, one["id"]).values()}
    assert waits == set(changes.values())


@pytest.mark.long
def test_a_question_turned_down_before_a_request_waits_again_when_that_is_undone(team, dreamt) -> None:
    """One that waits apart, or was answered there, does not come back twice."""
    ann, id = dreamt, dream_id(dreamt)
    branch = f"refs/heads/gitmem/dream/{id}"
    asks(ann.workspace.code, branch, "main/first.md", "Another first fact.")

    def waiting() -> list[str]:
        listed = ann.run("review", "--json").json
        return [subject for one in listed for subject in open_changes(ann, one["id"]).values()]

    everything = waiting()
    ann.run("review", "accept", id, "4", "--different")
    ann.run("review", "open", id, "-y")
    assert len(waiting()) == len(everything) - 1
    ann.run("undo")
    assert sorted(waiting()) == sorted(everything)
    (apart,) = [one["id"] for one in ann.run("review", "--json").json if one["id"] != id]
    ann.run("review", "accept", apart, "1", "--different")
    turned = ann.run("review", "reject", id, "2", "-m", "they do not care")
    assert (
        f"origin still asks others about it; to take it out there: git mem review open {id}" in turned.err
    )
    ann.run("review", "open", id, "-y")
    ann.run("undo")
    assert sorted(waiting()) == sorted(one for one in everything if not one.startswith("Ask whether"))


@pytest.mark.parametrize("mode", often(["direct", "review"], "review"))
def test_what_a_person_edited_in_a_dream_is_accounted_for_in_its_request(team, dreamt, mode: str) -> None:
    """What the dream had said in between does not leave; what it was made of is told by the edit."""
    ann, id = dreamt, dream_id(dreamt)
    ann.run("share", "--mode", mode, "-y")
    edit_by_hand(ann, id, "^The build broke", "The nightly build broke")
    ann.run("review", "open", id, "-y")
    branch = f"gitmem/dream/{id}"
    team.reviewer.git("fetch", "-q", "origin")
    base, tip = (team.reviewer.git("rev-parse", f"origin/{name}") for name in (PROJECT, branch))
    sent = team.reviewer.git("log", "-p", f"{base}..{tip}")
    assert "-The build broke yesterday.\n" in sent and "+The nightly build broke yesterday (2026" in sent
    assert "+The build broke yesterday (2026" not in sent
    assert ann.run("check", "--ref", tip, "--base", base).code == 0
    team.reviewer.land(branch, "squash")
    team.reviewer.git("fetch", "-q", "origin")
    landed = team.reviewer.git("rev-parse", f"origin/{PROJECT}")
    ann.run("sync", "-y")
    assert ann.run("check", "--ref", landed, "--base", base).code == 0


def open_changes(machine, id: str) -> dict[int, str]:
    """Number to subject of what is open in a dream."""
    told = machine.run("review", "show", id, "--json").json
    return {one["n"]: one["subject"] for one in told["changes"] if not one["decided"]}


def asks(repo: Repository, ref: str, path: str, claim: str) -> None:
    """Puts a question on a dream's branch: whether a claim goes."""

    def plan(tip: Tip) -> Write:
        old = read_paths(repo, tip.tree, {path})[path]
        (gone,) = (ref for ref, one in references({path: old}).items() if one.text == claim)
        fates = (Fate("dropped", gone, "", "asked"),)
        told = Provenance(op="dream", writer="dream", claims=fates)
        return Write({path: old.replace(claim.encode(), b"")}, "Ask whether another first fact holds", told)

    land(Ref(repo, ref), plan, Signature("dream (offline)", "dream@gitmem", NOW))


HOSTILE = "@ann #1 GH-2 <img src=x> [a](http://x) | `b` **c** https://x.example !123 <!-- z -->"


@cache
def renderer() -> MarkdownIt:
    """What makes a page of Markdown, as hosts do."""
    return MarkdownIt("gfm-like", {"linkify": False})


def around(card: Card) -> str:
    """A card as a page shows it, without what stands in code."""
    page = renderer().render(markdown(card))
    return re.sub("<code.*?</code>", "", page, flags=re.DOTALL)


def card(text: str) -> Card:
    return Card(3, text, "merge", (CardSide("-", text, (text, text)), CardSide("+", text)), "", text)


def test_what_others_wrote_stands_in_code() -> None:
    """There hosts make no mention, link, image or HTML of it."""
    text = f"{HOSTILE}\n```\n# A heading\n- [ ] a task\n~~~\n@ann"
    assert "<img src=x>" in markdown(card(text))
    seen = re.sub(r"\s", "", around(card(text)))
    assert seen.replace("<br/>", "") == "<h3>3.</h3><p></p><pre></pre>"


@settings(max_examples=examples(100, share=0.1))
@given(st.text(max_size=200))
def test_no_text_leaves_its_code(text: str) -> None:
    seen = re.sub(r"\s|<br />|<p></p>", "", around(card(f"x{text}")))
    assert seen.replace("<p></p>", "") == "<h3>3.</h3><pre></pre>"


def test_a_secret_is_in_no_request() -> None:
    assert GITHUB not in markdown(card(f"The token is {GITHUB} today."))


def test_a_text_that_is_too_long_is_cut_at_a_card_and_the_rest_counted() -> None:
    cards = [replace(card(f"Claim {n} 💡 " + "long " * 40), n=n) for n in range(900)]
    text = request_body("Intro.", cards, "i-123456")
    assert len(text.encode("utf-16-le")) // 2 <= LIMIT
    shown = text.count("\n### ")
    assert 30 < shown < 900 and f"and {900 - shown} more changes" in text
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
