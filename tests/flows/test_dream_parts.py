"""A dream before a team: two of its five changes are taken, by gitmem or by plain git, and judged in CI."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dream_parked import DREAM_ID, Made, park, ref_of
from machines import MEMORY, Machine
from request_ground import PROJECT, Team, team
from slices import often

from gitmem.core.trailers import Fate
from gitmem.rules.invention import UNSEEN

__all__ = ["team"]
SESSION = "0b5c8f8e-5d0e-4c59-9a52-1f6a1d1f0a01"
BRANCH = f"gitmem/dream/{DREAM_ID}"


def text(n: int) -> str:
    return MEMORY.format(f"part-{n}", f"Part {n} takes 9 minutes.\n\nPart {n} takes 9 minutes, it does.")


def change(n: int) -> Made:
    """The first two say what a session taught; the others say once what stood twice."""
    path, before = f"main/part-{n}.md", text(n)
    twice = ref_of(path, before, f"Part {n} takes 9 minutes, it")
    if n > 2:
        after = before.replace(f"\n\nPart {n} takes 9 minutes, it does.", "")
        fate = Fate("merged", twice, ref_of(path, after, f"Part {n}"), "It says the same.")
        return Made({path: after}, [fate], f"Say it once in part-{n}")
    after = before.replace("9 minutes, it does", "4 minutes, measured")
    fate = Fate("superseded", twice, ref_of(path, after, f"Part {n} takes 4"), "It was measured again.")
    return Made({path: after}, [fate], f"Say how long part {n} takes", session=SESSION)


@pytest.fixture
def ann(team: Team) -> Machine:
    """Ann, whose dream of five changes waits at the host."""

    def make() -> list[Machine]:
        made = team.found(mode="direct")
        for n in range(1, 6):
            made.learn(f"part-{n}", text(n).split("---\n", 2)[2].strip(), scope="project")
        made.run("sync", "-y")
        ground = SimpleNamespace(scope=made.workspace.scope, workspace=made.workspace)
        park(ground, [change(n) for n in range(1, 6)])  # type: ignore[arg-type]
        made.run("review", "--open", DREAM_ID, "-y")
        return [made]

    return team.begin("ann-dreamt", make)[0]


def wrong(team: Team, ann: Machine, base: str, ref: str) -> list[dict[str, str]]:
    """What `git mem check` stops on, in a clone that has no gitmem; that a session is not there is true."""
    team.reviewer.git("fetch", "-q", "--prune", "origin")
    found = ann.run("check", "--json", "--base", base, "--ref", ref, cwd=team.reviewer.folder, code=None)
    return [one for one in found.json["findings"] if one["level"] == "error" and one["rule"] != UNSEEN]


def taken(team: Team) -> set[int]:
    files = team.reviewer.host_files()
    return {n for n in range(1, 6) if "it does" not in files[f"main/part-{n}.md"]}


def left(ann: Machine) -> list[int]:
    items = ann.run("review", "--json").json
    return [
        one["n"]
        for item in items
        for one in ann.run("review", "show", item["id"], "--json").json["changes"]
        if one["decided"] is None
    ]


def test_two_of_five_taken_by_gitmem_are_sound_in_ci(team: Team, ann: Machine) -> None:
    """Each comes with its session, which one commit for both could not name."""
    team.reviewer.at(PROJECT)
    before = team.reviewer.git("rev-parse", "HEAD")
    ann.run("review", "accept", DREAM_ID, "1", "4", "-y")
    ann.run("sync", "-y")
    assert taken(team) == {1, 4} and left(ann) == [2, 3, 5]
    assert wrong(team, ann, before, f"origin/{PROJECT}") == []


@pytest.mark.parametrize("how", often(["merge", "pick"], "pick"))
def test_two_of_five_taken_by_plain_git_are_sound_in_ci(team: Team, ann: Machine, how: str) -> None:
    reviewer = team.reviewer
    reviewer.at(PROJECT)
    before = reviewer.git("rev-parse", "HEAD")
    reviewer.at(BRANCH)
    oids = reviewer.git("rev-list", "--reverse", "--no-merges", f"origin/{PROJECT}..{BRANCH}").splitlines()
    reviewer.at(PROJECT)
    if how == "merge":
        reviewer.git("merge", "-q", "--no-ff", "-m", "Take two", oids[1])
    else:
        reviewer.git("cherry-pick", oids[0], oids[1])
    reviewer.git("push", "-q", "origin", PROJECT)
    assert wrong(team, ann, before, f"origin/{PROJECT}") == [] and taken(team) == {1, 2}
    ann.run("sync", "-y")
    assert len(left(ann)) == 3
    ann.run("review", "accept", DREAM_ID, "-y")
    ann.run("sync", "-y")
    assert taken(team) == {1, 2, 3, 4, 5}
    assert wrong(team, ann, before, f"origin/{PROJECT}") == []


def test_a_part_that_a_host_squashed_with_other_commits_stays_accepted(team: Team, ann: Machine) -> None:
    ann.run("share", "--mode", "review", "-y")
    ann.learn("other", "The proxy listens on port 9000.", scope="project")
    ann.run("review", "accept", DREAM_ID, "3", "4")
    ann.learn("more", "The queue holds ten jobs.", scope="project")
    ann.run("sync", "-y")
    team.reviewer.land("gitmem/inbox/ann-example-com", "squash")
    ann.run("sync", "-y")
    shown = ann.run("review", "show", DREAM_ID).out
    assert "[rejected]" not in shown and shown.count("[accepted]") == 2
