"""Two clones in log mode, for days: every line once, in order, on both, whoever merges what and when."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from machines import Machine
from partial_engine import PartialEngine
from purge_ground import MakeMachine
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.daily_log import LogLine, facts
from gitmem.core.trailers import Provenance
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.flows.context import initialised_at, workspace_at
from gitmem.flows.extract.run import ExtractWatch, extract_sessions
from gitmem.flows.extraction import context_of
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.apply import Placed, land_change
from gitmem.ledger.edits import as_logged, log_lines
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.workspace import Scope, store_project_id

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)


class Killed(BaseException):
    """The process dies here."""


class Listener(PartialEngine):
    """Takes each message for a fact of the project that was plainly asked for."""

    name = "scripted"
    reads_history = False

    def extract(self, given: ExtractInput) -> Extraction:
        return Extraction(
            tuple(
                Change(
                    *("add", said.text.split(".")[0].lower().replace(" ", "-"), said.text, "project"),
                    *(said.text, "said", 1.0, True),
                    ChangeOrigin(given.session, said.uuid, said.uuid, said.time),
                )
                for said in given.messages
                if said.role == "person"
            )
        )


class Clone:
    """One of the two: says things, extracts from some of it, syncs when it is online."""

    def __init__(self, machine: Machine, number: int) -> None:
        self.machine, self.number, self.sessions = machine, number, 0
        self.waiting: list[Path] = []

    def say(self, texts: list[tuple[str, datetime]]) -> Iterator[LogLine]:
        self.sessions += 1
        id = f"{self.number}{self.sessions:07d}-0000-4000-8000-000000000000"
        made = Transcript(id, str(self.machine.code))
        for text, at in texts:
            made.user(text, timestamp=at.isoformat().replace("+00:00", "Z"))
            yield LogLine(at, "project", id, text)
        self.waiting.append(made.write(self.machine.home / f"{id}.jsonl"))

    def extract(self, now: datetime, kill: int) -> None:
        """Extracts from all that was said, killed at a step, and once more."""
        self.machine.enter()
        self.machine.patch.setenv("GITMEM_NOW", str(int(now.timestamp())))
        self.machine.patch.chdir(self.machine.code)
        edges = real_edges(self.machine.code)
        steps = iter(range(10_000))

        def step(_: str) -> None:
            if next(steps) == kill:
                raise Killed

        with suppress(Killed):
            extract_sessions(
                context_of(initialised_at(edges), edges), Listener(), self.waiting, watch=ExtractWatch(step)
            )
        if kill >= 0:
            extract_sessions(context_of(initialised_at(edges), edges), Listener(), self.waiting)
        self.waiting = []

    def sync(self, now: datetime) -> None:
        self.machine.now = int(now.timestamp())
        self.machine.run("sync", "-y")

    def logs(self) -> dict[str, str]:
        return {path: text for path, text in self.machine.memories("project").items() if "/logs/" in path}


def live_for(days: int, seed: int, machine: MakeMachine) -> None:
    rng = random.Random(seed)
    clones = []
    for number, name in enumerate(("ann", "ben"), 1):
        made = machine(name)
        made.git("config", "gitmem.mode", "log")
        made.run("init", "-y")
        made.run("share", "--mode", "direct", "-y")
        made.run("sync", "-y")
        clones.append(Clone(made, number))
    told: set[LogLine] = set()
    offline = [0, 0]
    for day in range(days):
        for which, clone in enumerate(clones):
            at = BEGIN + timedelta(days=day)
            # The last is said close to midnight, often by both in the very same second.
            moments = sorted(rng.sample(range(86_300), rng.randrange(3))) + [86_399] * rng.randrange(2)
            texts = [
                (f"Clone {which} learned fact {day}-{n}.", at + timedelta(seconds=s))
                for n, s in enumerate(moments)
            ]
            if texts:
                told |= set(clone.say(texts))
            offline[which] = offline[which] - 1 if offline[which] else rng.choice([0, 0, 0, 4])
            if rng.random() < 0.7 and clone.waiting:
                clone.extract(at + timedelta(days=1), rng.choice([-1, 0, 1, 2, 4, 6]))
            if not offline[which] and rng.random() < 0.6:
                clone.sync(at + timedelta(days=1))
    end = BEGIN + timedelta(days=days)
    for clone in clones:
        if clone.waiting:
            clone.extract(end, -1)
    for clone in (*clones, clones[0]):
        clone.sync(end)
    one, other = (clone.logs() for clone in clones)
    assert one == other
    found = [line for path, text in sorted(one.items()) for _, line in facts(path, text.encode())]
    wanted = sorted(
        (replace(line, session=line.session[:8]) for line in told),
        key=lambda line: (line.when, line.render()),
    )
    assert found == wanted
    assert sum(text.count("\n") for text in one.values()) == len(told)
    assert not any(path.endswith("MEMORY.md") for path in clones[0].machine.memories("project"))


def test_two_refs_moved_for_thirty_days_have_every_line_once_and_in_order(repo) -> None:
    """The same without remotes: lines are stored and refs merged at random, jobs begun again."""
    rng = random.Random(1)
    found = store_project_id(workspace_at(real_edges(repo))).scope("project")
    scopes = [replace(found, ref=f"refs/heads/gitmem/{name}") for name in ("ann", "ben")]
    told: set[LogLine] = set()
    for number in range(45):
        day, which = BEGIN + timedelta(days=number * 2 // 3), rng.randrange(2)
        late = 86_399 if rng.random() < 0.2 else rng.randrange(86_400)
        text = f"Fact {number // 5}." if late == 86_399 else f"Fact {number} of {which}."
        said = day + timedelta(seconds=late) - timedelta(days=rng.choice([0, 0, 3]))
        change = Change("add", "f", text, "project", text, "said", 1.0, True, ChangeOrigin("s"))
        logged = as_logged(change, lambda _: False, said)
        assert logged is not None
        base = scopes[which].repo.ref(scopes[which].ref) or ""
        job = Provenance(op="add", writer="extract", session="s", job=f"{number:012d}.1")
        for _ in range(rng.choice([1, 1, 2])):
            land_change(scopes[which], Placed("project", logged), ANN, job, base=base)
        told |= set(log_lines(logged))
        if rng.random() < 0.3:
            merge(scopes[which], scopes[1 - which])
    for which in (0, 1):
        merge(scopes[which], scopes[1 - which])
    trees = []
    for scope in scopes:
        tip = scope.repo.ref(scope.ref)
        trees.append(read_files(scope.repo, scope.repo.commit(tip or "").tree))
    assert trees[0] == trees[1] and not any(path.endswith("MEMORY.md") for path in trees[0])
    lines = [line for path in sorted(trees[0]) for _, line in facts(path, trees[0][path])]
    assert lines == sorted(told, key=lambda line: (line.when, line.render()))


def merge(into: Scope, other: Scope) -> None:
    ours, theirs = into.repo.ref(into.ref), other.repo.ref(other.ref)
    if ours and theirs:
        move_ref(into.repo, into.ref, merge_commits(into.repo, ours, theirs).commit, ours, "merge")


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_two_clones_have_every_line_once_and_in_order_after_thirty_days(machine, seed: int) -> None:
    live_for(30, seed, machine)
