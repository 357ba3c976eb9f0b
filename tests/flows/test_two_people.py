"""Two people who share by review: what each changes lands, is its author's, and leaves nothing waiting.

The table, a row a way in which inboxes reach the memory branch, is printed by

    python -m pytest -n 0 -s -m "long or not long" tests/flows/test_two_people.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from machines import Machine
from purge_ground import follow
from request_ground import PROJECT, Team, team
from sync_ground import live, refuse, teach

from gitmem.ledger.blame import blame_memory
from gitmem.ledger.workspace import SHARED_REF

__all__ = ["team"]
FOLDER = ".claude/agent-memory/reviewer"
MARK = re.compile(r" \*\(disputed [0-9a-f]{8}\)\*$")
BASE = {
    "both": "Ports start at 4000.\n\nThe debugger takes 4999.",
    "spared": "Staging runs on two hosts.",
    "deleted": "The old build needs Java 8.",
    "forgotten": "The door code changes on Mondays.",
    "moved": "The lamp on the left desk is broken.",
    "disputed": "Releases are cut on Tuesdays.",
}
CELLS = {
    "add": ("added", {"Logs are kept for ten days.": "Ben"}),
    "edit by both": ("both", {"Ports start at 5000.": "Ben", "The debugger takes 6999.": "Ann"}),
    "delete, edit": ("spared", {"Staging runs on three hosts.": "Ann"}),
    "delete": ("deleted", {}),
    "forget": ("forgotten", {}),
    "move": ("moved", {}),
    "contradiction": (
        "disputed",
        {
            "Releases are cut on Mondays. (disputed)": "Ben",
            "Releases are cut on Fridays. (disputed)": "Ann",
        },
    ),
    "user-type": ("person", {}),
}
"""What is done: which memory, and its claims in both clones and at the remote with who taught each."""

ROWS = ("no host", "merge", "squash", "rebase", "edit", "protected")


def drop(one: Machine, name: str) -> None:
    """Lets an agent delete a memory and its line."""
    (one.code / FOLDER / f"{name}.md").unlink()
    index = one.code / FOLDER / "MEMORY.md"
    lines = index.read_text().splitlines(keepends=True)
    index.write_text("".join(line for line in lines if f"({name}.md)" not in line))


def begun(team: Team) -> tuple[Machine, Machine]:
    """Ann and Ben, who have the same memory of the team's."""

    def make() -> Iterable[Machine]:
        ann = team.machine("ann", "direct")
        for name, text in BASE.items():
            teach(ann, name, text)
        ann.run("sync", "-y")
        ann.run("share", "--mode", "review", "-y")
        ben = team.machine("ben", "review")
        ben.run("sync", "-y")
        return [ann, ben]

    ann, ben = team.begin("two-people", make)
    return ann, ben


def of_project(one: Machine, verb: str, name: str, *words: str) -> None:
    one.run(verb, name, "--scope", "project", "--agent", "reviewer", *words)


def change(ann: Machine, ben: Machine) -> None:
    """What each does while neither knows of the other's."""
    teach(ben, "added", "Logs are kept for ten days.")
    teach(ben, "both", "Ports start at 5000.\n\nThe debugger takes 4999.")
    teach(ann, "both", "Ports start at 4000.\n\nThe debugger takes 6999.")
    drop(ben, "spared")
    teach(ann, "spared", "Staging runs on three hosts.")
    drop(ben, "deleted")
    of_project(ben, "forget", "forgotten")
    of_project(ben, "move", "moved", "--to", "local")
    teach(ben, "disputed", "Releases are cut on Mondays.")
    teach(ann, "disputed", "Releases are cut on Fridays.")
    teach(ben, "person", "Ben likes short answers.")
    person = ben.code / FOLDER / "person.md"
    person.write_text(person.read_text().replace("type: project", "type: user"))


class Way:
    """How inboxes reach the memory branch, and what the host of that row does."""

    def __init__(self, team: Team, row: str) -> None:
        self.team, self.row = team, row
        if row == "protected":
            refuse(team.host, "*/gitmem/project")

    def land(self, one: Machine, by: Machine) -> None:
        """Gets what somebody asks for onto the memory branch, by the other's decision or the host's.

        Args:
            one: who asks, and has sent it.
        """
        name = one.home.name
        branch = f"gitmem/inbox/{name}-example-com"
        if self.row in ("no host", "protected"):
            by.run("sync", "-y")
            (item,) = (item for item in waiting(by) if item["kind"] == "inbox")
            done = by.run("review", "accept", item["id"])
            if self.row == "no host":
                return
            assert f"a request from {branch} into {PROJECT}" in done.err
            assert f"{branch}: " in by.run("status").out
            assert not [item for item in waiting(by) if item["kind"] == "inbox"]
            # What the host cannot merge by itself, its writer's next sync has merged.
            one.run("sync", "-y")
            with self.unprotected():
                self.team.reviewer.land(branch, "merge")
            return
        one.run("sync", "-y")
        if self.row == "edit":
            self.edit(branch)
        how = "squash" if self.row == "edit" else self.row
        author = f"{name.title()} <{name}@example.com>"
        if how == "rebase" and not self.team.reviewer.rebases(branch):
            # A host that finds a conflict in it offers its other buttons alone.
            how = "squash"
        self.team.reviewer.land(branch, how, author=author)

    @contextmanager
    def unprotected(self) -> Iterator[None]:
        """The host's own buttons are not stopped by its rule."""
        hook = self.team.host / "hooks/update"
        if self.row == "protected":
            hook.rename(hook.with_name("lifted"))
        yield
        if self.row == "protected":
            hook.with_name("lifted").rename(hook)

    def edit(self, branch: str) -> None:
        """What a reviewer changes on the web: a line under the frontmatter."""
        files = self.team.reviewer.host_files(branch)
        path = next(path for path in sorted(files) if path.endswith(("added.md", "both.md")))
        self.team.reviewer.edit(branch, path, lambda text: text.rstrip("\n") + "\n\nSeen by Rae.\n")


def waiting(one: Machine) -> list[dict]:
    return one.run("review", "--json").json


def said(one: Machine, name: str) -> dict[str, str]:
    """The claims of a memory of the team's, disputed ones marked so, and who taught each."""
    repo = one.workspace.code
    tip = repo.ref(SHARED_REF) or ""
    path = f"reviewer/{name}.md"
    if repo.entry(repo.commit(tip).tree, path) is None:
        return {}
    found = {}
    for blamed in blame_memory(repo, tip, path):
        (origin,) = blamed.origins
        if not blamed.description:
            found[MARK.sub(" (disputed)", blamed.claim.text)] = repo.commit(origin.commit).author.name
    return found


def sent(one: Machine) -> None:
    """Sends what somebody learned; a memory about a person stays, and goes where it belongs then."""
    done = one.run("sync", "-y", "--json").json
    if (one.code / FOLDER / "person.md").exists():
        assert [held["name"] for held in done["held"]] == ["person"]
        of_project(one, "move", "person", "--to", "local")
        one.run("sync", "-y")


def settle(one: Machine, way: Way, by: Machine) -> None:
    """Settles the dispute, as a person does, and has that taken in."""
    (item,) = (item for item in waiting(one) if item["kind"] == "dispute")
    one.run("review", "accept", item["id"], 1)
    sent(one)
    way.land(one, by)


def assert_nothing_waits(team: Team, *people: Machine) -> None:
    for one in people:
        one.run("sync", "-y")
    for one in dict.fromkeys(people):
        assert waiting(one) == []
        assert one.run("status", "--json").json["outgoing"] == []
        assert "project memory" not in one.run("status").out
    assert team.reviewer.branches() == {PROJECT}


@pytest.mark.parametrize(
    "row", [row if row == "no host" else pytest.param(row, marks=pytest.mark.long) for row in ROWS]
)
def test_what_two_people_change_lands_and_leaves_nothing_waiting(team, row: str, capsys) -> None:
    ann, ben = begun(team)
    way = Way(team, row)
    change(ann, ben)
    sent(ann)
    sent(ben)
    way.land(ann, ben)
    way.land(ben, ann)
    for one in (ben, ann):
        one.run("sync", "-y")
    cells = {}
    for cell, (name, expected) in CELLS.items():
        seen = [said(one, name) for one in (ann, ben)]
        for found in seen:
            found.pop("Seen by Rae.", None)
        cells[cell] = "lands" if seen == [expected, expected] else f"FAILS: {seen}"
    settle(ann, way, ben)
    assert_nothing_waits(team, ann, ben, ann)
    assert len(said(ann, "disputed")) == 1 and said(ben, "disputed") == said(ann, "disputed")
    for seen in (here := live(ann)), (there := live(ben)):
        seen.pop("MEMORY.md")
    assert here == there
    with capsys.disabled():
        print("\n" + "\n".join(f"{row:10} {cell:14} {outcome}" for cell, outcome in cells.items()))
    assert set(cells.values()) == {"lands"}


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS)
def test_what_is_asked_for_over_a_purge_lands_without_what_was_purged(team, row: str, capsys) -> None:
    """Whoever may push the memory branch purges; in review mode nobody can be asked to."""
    ann, ben = begun(team)
    way = Way(team, row)
    teach(ben, "both", "Ports start at 5000.\n\nThe debugger takes 4999.")
    sent(ben)
    with way.unprotected():
        ann.run("share", "--mode", "direct", "-y")
        ann.run("purge", "The old build needs Java 8.", "-y")
        ann.run("sync", "-y")
        ann.run("share", "--mode", "review", "-y")
    follow(ben)
    sent(ben)
    way.land(ben, ann)
    assert_nothing_waits(team, ann, ben, ann)
    for one in (ann, ben):
        found = said(one, "both")
        found.pop("Seen by Rae.", None)
        assert found == {"Ports start at 5000.": "Ben", "The debugger takes 4999.": "Ann"}
    team.reviewer.git("fetch", "-q", "--prune", "origin")
    assert "Java 8" not in team.reviewer.git("log", "-p", "-m", f"origin/{PROJECT}")
    with capsys.disabled():
        print(f"\n{row:10} {'purge':14} lands")
