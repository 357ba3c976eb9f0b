"""Suggestions that wait, were decided or were purged, as backups bring them to another machine."""

from __future__ import annotations

import pytest
from backup_ground import desk, laptop, refs, safe
from machines import Machine
from purge_ground import files_holding, holding
from slices import often

from gitmem.app.context import real_edges
from gitmem.core.change import Change
from gitmem.ledger.suggestions import open_suggestions, propose, suggest

__all__ = ["desk", "laptop", "safe"]


def test_suggestions_that_wait_are_merged(desk: Machine, laptop: Machine) -> None:
    both = {waits(desk, "hosts", "The host is alpha."), waits(laptop, "names", "Names are short.")}
    back_up(desk, laptop, desk)
    assert waiting_ids(desk) == waiting_ids(laptop) == both
    # An undo on another machine brings them back.
    desk.run("review", "accept", *sorted(both))
    back_up(desk, laptop)
    laptop.run("undo")
    assert waiting_ids(laptop) == both
    back_up(laptop, desk)
    assert waiting_ids(desk) == both


def test_a_suggestion_comes_along_and_goes_where_it_was_decided(desk, laptop, safe, git) -> None:
    id = waits(desk, "hosts", "The host is alpha.", "project")
    desk.run("backup")
    (ref,) = [ref for ref in refs(git, safe) if ref.startswith("refs/gitmem/")]
    laptop.run("backup")
    assert refs(git, laptop.private)[ref] == refs(git, safe)[ref]
    laptop.run("review", "accept", id)
    assert "deleted there, as here" in laptop.run("backup").err and ref not in refs(git, safe)
    assert "deleted here, as there" in desk.run("backup").err
    assert waiting_ids(desk) == set()


def test_what_two_machines_made_of_one_suggestion_is_one(desk, laptop, safe, git) -> None:
    """Else neither is deleted where the other is decided, and it comes back for ever."""
    (id,) = {
        waits(machine, "hosts", "The host is alpha.", later=number)
        for number, machine in enumerate((desk, laptop))
    }
    back_up(desk, laptop, desk)
    ref = f"refs/gitmem/proposal/{desk.workspace.project_id}/{id}"
    assert len({refs(git, where)[ref] for where in (desk.private, laptop.private, safe)}) == 1
    desk.run("review", "reject", id, "-m", "wrong")
    back_up(desk, laptop, desk)
    assert waiting_ids(desk) == waiting_ids(laptop) == set()


def back_up(*machines: Machine) -> None:
    for one in machines:
        one.run("backup")


def waits(one: Machine, name: str, text: str, scope: str = "local", later: int = 0) -> str:
    """Lets a suggestion wait; returns its id."""
    workspace = one.workspace
    change = Change("add", name, f"About {name}", "project", text, "said so", 0.9, asked=False)
    made = suggest(change, scope, "2026-11-20T10:00:00Z")
    assert propose(workspace, [made], workspace.author(real_edges().now + later))
    return made.id


def waiting_ids(one: Machine) -> set[str]:
    return {each.id for each in open_suggestions(one.workspace)}


def proposed(one: Machine) -> str:
    """All that suggestions say, waiting or decided, as plain git shows it."""
    return one.git("log", "-p", "--glob=refs/gitmem/proposal", "--glob=refs/gitmem/decided", private=True)


@pytest.mark.long
def test_what_was_purged_is_gone_from_what_another_machine_decided(desk, laptop, safe, git) -> None:
    """Else an undo lets it wait again, and the next backup brings it to where it was purged."""
    id = waits(desk, "hosts", "The word is durian-top here.")
    back_up(desk, laptop)
    laptop.run("review", "accept", id)
    back_up(laptop, desk)
    desk.run("purge", "-y", "durian-top")
    laptop.run("backup")
    assert holding(laptop.private, "durian-top") == []
    laptop.run("undo")
    assert waiting_ids(laptop) == {id}
    for one in (laptop, desk):
        one.run("backup")
        assert "durian-top" not in proposed(one)
        assert holding(one.private, "durian-top") == []
    assert "durian-top" not in git("--git-dir", safe, "log", "-p", "--all")


@pytest.mark.long
def test_a_purge_reaches_suggestions_that_only_another_machine_has(desk, laptop, safe, git) -> None:
    desk.learn("word", "The word is durian-top now.")
    back_up(desk, laptop)
    waiting = waits(laptop, "hosts", "Hosts are called durian-top as well.")
    decided = waits(laptop, "names", "Names end in durian-top, all of them.")
    laptop.run("review", "reject", decided, "-m", "wrong")
    desk.run("purge", "-y", "durian-top")
    back_up(laptop, desk)
    assert waiting_ids(desk) == waiting_ids(laptop) == {waiting}
    for one in (laptop, desk):
        assert "durian-top" not in proposed(one)
        assert holding(one.private, "durian-top") == []
    assert "durian-top" not in git("--git-dir", safe, "log", "-p", "--all")


@pytest.mark.long
def test_an_older_suggestion_never_takes_the_place_of_the_purged_one(desk, laptop, safe, git) -> None:
    """A machine that does not know of the purge may send it."""
    id = waits(desk, "hosts", "The word is durian-top here.")
    desk.run("backup")
    ref = f"refs/gitmem/proposal/{desk.workspace.project_id}/{id}"
    git("--git-dir", safe, "update-ref", "refs/old/kept", refs(git, safe)[ref])
    desk.run("review", "reject", id, "-m", "wrong")
    desk.run("purge", "-y", "durian-top")
    desk.run("backup")
    git("--git-dir", safe, "update-ref", ref, "refs/old/kept")
    git("--git-dir", safe, "update-ref", "-d", "refs/old/kept")
    desk.run("backup")
    assert waiting_ids(desk) == {id} and "durian-top" not in proposed(desk)
    assert "durian-top" not in git("--git-dir", safe, "log", "-p", "--all")


@pytest.mark.long
def test_what_was_decided_does_not_wait_again_after_a_purge_elsewhere(desk, laptop) -> None:
    yes, no = waits(desk, "hosts", "The word is durian-top."), waits(desk, "names", "Not durian-top.")
    back_up(desk, laptop)
    laptop.run("review", "accept", yes)
    laptop.run("review", "reject", no, "-m", "wrong")
    desk.run("purge", "-y", "durian-top")
    for one in (laptop, desk, laptop):
        one.run("backup")
        assert "durian-top" not in proposed(one)
    assert waiting_ids(desk) == waiting_ids(laptop) == set()


@pytest.mark.parametrize("first", often(["accepted", "purged"], "accepted"))
def test_a_purge_of_a_suggestion_reaches_the_memory_made_of_it(desk, laptop, safe, git, first: str) -> None:
    """No memory of the machine that purged had it yet, so that nothing but the suggestion tells of it."""
    id = waits(desk, "hosts", "The word is durian-top here.")
    back_up(desk, laptop)
    laptop.run("review", "accept", id)
    late = waits(laptop, "names", "Names end in durian-top, all of them.")
    if first == "accepted":
        laptop.run("backup")
    desk.run("purge", "-y", "durian-top", "--no-push")
    back_up(desk, laptop, desk, laptop)
    for one in (laptop, desk):
        assert "The word is [purged] here." in one.memories()["main/hosts.md"]
        assert late in waiting_ids(one)
        assert holding(one.private, "durian-top") == [] and files_holding(one.home, "durian-top") == []
    assert "durian-top" not in git("--git-dir", safe, "log", "-p", "--all")


@pytest.mark.long
def test_a_purge_of_a_suggestion_says_what_stands_in_the_projects_memory(desk, laptop) -> None:
    """That may have been shared: nobody but the person takes it out there."""
    id = waits(desk, "hosts", "The word is durian-top here.", "project")
    back_up(desk, laptop)
    laptop.run("review", "accept", id)
    desk.run("purge", "-y", "durian-top", "--no-push")
    desk.run("backup")
    assert "git mem purge" in laptop.run("backup").err
    assert "durian-top" in laptop.memories("project")["main/hosts.md"]
    assert "git mem purge" not in laptop.run("backup").err
