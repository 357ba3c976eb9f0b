"""What a dream finds out before an engine is asked, and what is left out of what the engine proposes."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dream_ground import ANN, DAY, NOW, TWICE, Ground, memory, notes, planted
from dream_parked import DREAM_ID, Made, park, ref_of
from partial_engine import PartialEngine
from slices import often
from transcripts import Transcript

from gitmem.core.account import is_memory, path_of, references, reject_keys
from gitmem.core.tombstone import bury
from gitmem.core.trailers import Fate, Provenance, Usage
from gitmem.core.trailers import parse as parse_trailers
from gitmem.dream.gather import Sources, gather
from gitmem.dream.history import claims_to_date, look_back, said_when
from gitmem.dream.review import accept
from gitmem.dream.run import plan_dream, prune
from gitmem.engines import prompts
from gitmem.engines.engine import (
    ConsolidateInput,
    Consolidation,
    DreamChange,
    DreamProgress,
    Phase,
    Tell,
    untold,
)
from gitmem.engines.offline import OfflineEngine
from gitmem.flows import dream_sources as dream_said
from gitmem.flows.dream import dream
from gitmem.flows.dream_sources import code_facts, dream_sources
from gitmem.flows.sessions import sessions_here
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger import holdings
from gitmem.ledger.dreams import open_dreams
from gitmem.ledger.land import Write, land, read_tip
from gitmem.ledger.paging import page
from gitmem.ledger.restore import take_back
from gitmem.transcripts.model import SessionFile

ground = planted()


class Scripted(PartialEngine):
    """An engine that proposes what it is told to, and remembers what it was asked."""

    name = "scripted:1"
    reads_history = False

    def __init__(self, *changes: DreamChange, usage: Usage | None = None) -> None:
        self.changes = changes
        self.usage = usage
        self.given = ConsolidateInput({})

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        self.given = given
        tell(DreamProgress("consolidate", 1, 1))
        return Consolidation(self.changes, ("alike: look at these",), self.usage, ("tried",))


def asked(ground: Ground, scope: str = "project", sources: Sources | None = None) -> ConsolidateInput:
    place = ground.scope(scope)
    tip = read_tip(place.repo, place.ref)
    return gather(place, tip, read_files(place.repo, tip.tree), sources or Sources(NOW))


def as_bytes(ground: Ground) -> dict[str, bytes]:
    return {path: text.encode() for path, text in ground.tree().items()}


def observed(given: ConsolidateInput, kind: str) -> list[str]:
    return [one.text for one in given.observed if one.kind == kind]


def dropping(ground: Ground, path: str, text: str, reason: str = "no longer so") -> DreamChange:
    """Drops the claim of a memory that holds a text."""
    files = {path: ground.tree()[path].encode()}
    (ref,) = [ref for ref, claim in references(files).items() if claim.text == text]
    left = files[path].decode().replace(f"{text}\n\n", "").encode()
    assert left != files[path]
    return DreamChange("drop", {path: left}, (Fate("dropped", ref, "", reason),), reason, f"Drop {text}")


def test_each_phase_is_told_and_what_a_listener_raises_ends_the_dream(ground: Ground) -> None:
    ground.put(TWICE)
    seen: list[Phase] = []
    plan = plan_dream(ground.scope(), Scripted(), Sources(NOW), lambda step: seen.append(step.phase))
    assert seen == ["orient", "gather", "consolidate", "prune", "check"]
    assert (plan.engine, plan.notes, plan.log) == ("scripted:1", ("alike: look at these",), ("tried",))

    def stop(step: DreamProgress) -> None:
        if step.phase == "prune":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan_dream(ground.scope(), Scripted(), Sources(NOW), stop)


def test_what_a_dream_cost_is_said_once_on_its_summary(ground: Ground) -> None:
    ground.put(notes(ports=("Ports", "Staging is 8080.\n\nProduction is 8081.")))
    engine = Scripted(
        dropping(ground, "main/ports.md", "Staging is 8080."), usage=Usage(3, 100, output=20, dollars=0.5)
    )
    done = dream(ground.workspace, ground.edges, scope="project", force=True, engine=engine)
    (waiting,) = open_dreams(ground.workspace)
    assert waiting.id == done.id
    repo = ground.scope().repo
    costs = [parse_trailers(commit.message).usage for commit in repo.history(waiting.tip)]
    assert costs[0] == engine.usage and set(costs[1:]) == {None}


def test_a_claim_is_dated_by_its_first_commit_through_edits_renames_and_paging(ground: Ground) -> None:
    said = "We broke staging yesterday."
    ground.put({"main/staging.md": memory(said, "Staging")}, time=ANN.time)
    ground.put({"main/staging.md": memory(f"{said}\n\nAnd fixed it.", "Staging")}, time=ANN.time + DAY)
    ground.put(
        {"main/staging.md": None, "main/outage.md": memory(f"{said}\n\nAnd fixed it.", "Outage")},
        time=ANN.time + 2 * DAY,
        op="update",
    )
    ground.put({"main/adopted.md": memory("It began today.", "Adopted")}, op="adopt")
    known = asked(ground).said
    (ref,) = [ref for ref, claim in references(as_bytes(ground)).items() if claim.text == said]
    assert ref.startswith("main/outage.md#")
    assert known[ref] == datetime.fromtimestamp(ANN.time, UTC)
    assert not [ref for ref in known if ref.startswith("main/adopted.md#")]


@pytest.mark.parametrize(
    ("key", "value", "day"),
    [
        ("modified", "2026-03-04T10:00:00.000Z", "2026-03-04"),
        ("updated", '"2026-03-04"', "2026-03-04"),
        ("modified", "2199-01-01", "2026-11-01"),
        ("modified", "last week", "2026-11-01"),
        ("size", "2026-03-04", "2026-11-01"),
    ],
)
def test_what_was_adopted_was_said_when_its_file_says(ground, key: str, value: str, day: str) -> None:
    """What the file had on disk puts it in order where it does not say, and dates no "yesterday"."""
    saved = Signature("Ann", "ann@example.com", ANN.time)
    written = replace(saved, time=int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()))
    texts = {
        "main/deploys.md": memory("Deploy from the release branch.", "Deploys", "deploys"),
        "main/outage.md": memory("It broke yesterday.", "Outage", "outage"),
    }
    edits = {
        path: text.replace("  type:", f"  {key}: {value}\n  type:").encode() for path, text in texts.items()
    }
    write = Write(edits, "Adopt 2 memories of main", Provenance(op="adopt"), author=written)
    land(ground.scope(), lambda _: write, saved)
    # A later edit of the file, as by a client that keeps its time there, makes the claim no younger.
    now = edits["main/deploys.md"].decode().replace("2026-03-04", "2026-11-15") + "\nTag it.\n"
    ground.put({"main/deploys.md": now}, op="update")
    said = asked(ground).said
    known = {claim.text: said[ref] for ref, claim in references(as_bytes(ground)).items() if ref in said}
    assert known["Deploy from the release branch."].date().isoformat() == day
    assert ("It broke yesterday." in known) == (day == "2026-03-04")


@pytest.mark.parametrize("back", ["undo", "revert", "taught again"])
def test_what_an_undo_brings_back_is_as_old_as_it_was(ground: Ground, back: str) -> None:
    said = {"main/staging.md": memory("Staging runs on port 8080.", "Staging")}
    place = ground.scope()
    ground.put(said, time=ANN.time)
    ground.put({"main/staging.md": None}, time=ANN.time + DAY, op="delete")
    gone = read_tip(place.repo, place.ref).commit
    later = replace(ANN, time=ANN.time + 2 * DAY)
    if back == "undo":
        assert take_back(place, place.repo.commit(gone), later)
    else:
        ground.put(said, time=later.time)
    if back == "revert":
        tip = read_tip(place.repo, place.ref)
        message = f'Revert "Change"\n\nThis reverts commit {gone}.\n'
        made = place.repo.add_commit(tip.tree, (gone,), later, later, message)
        move_ref(place.repo, place.ref, made, tip.commit, "revert")
    when = later.time if back == "taught again" else ANN.time
    assert set(asked(ground).said.values()) == {datetime.fromtimestamp(when, UTC)}


def test_links_to_memories_of_old_are_told_what_became_of_them(ground: Ground) -> None:
    """Renamed by name, by claims or by an account, merged by hand, gone, and never there."""
    body = "Deploy from the release branch.\n\nTag it first."
    ground.put(
        notes(
            deploys=("Deploys", body),
            linters=("Linters", "Run the linter first."),
            hooks=("Hooks", "Install the hooks."),
            flaky=("Flaky tests", "Retry flaky tests twice."),
            old_port=("Port", "The port is 8080."),
            hints=(
                "Hints",
                "See [[deploys]], [[linters]], [[hooks]], [[flaky]], [[Old Port]], [[planned]].",
            ),
        )
    )
    gone = dict.fromkeys(["main/deploys.md", "main/linters.md", "main/hooks.md", "main/flaky.md"])
    hooks = references({"main/hooks.md": ground.tree()["main/hooks.md"].encode()})
    new = memory("Install them with make.", "Hooks", "tools")
    (target, *_) = references({"main/tools.md": new.encode()})
    ground.put(
        {
            **gone,
            "main/shipping.md": memory(body, "How we ship", "shipping"),
            "main/style.md": memory("Run the linter first.\n\nUse tabs.", "Style", "style"),
        }
        | {"main/hooks.md": ground.tree()["main/hooks.md"]},
        op="update",
    )
    place = ground.scope()
    fates = "\n".join(f"Gitmem-Claim: superseded {ref} -> {target} now by make" for ref in hooks)
    tip = read_tip(place.repo, place.ref)

    tree = write_tree(place.repo, tip.tree, {"main/hooks.md": None, "main/tools.md": new.encode()})
    message = f"Replace hooks\n\nGitmem-Op: dream\nGitmem-Writer: dream\n{fates}\n"
    made = place.repo.add_commit(tree, (tip.commit,), ANN, ANN, message)
    move_ref(place.repo, place.ref, made, tip.commit, "test")
    ground.put({"main/old-port.md": memory("The port is 8080.", "Port", "new-port")}, op="update")
    ground.put({"main/old-port.md": None, "main/new-port.md": memory("It moved.", "Port", "new-port")})
    assert asked(ground).renamed == {
        "deploys": "shipping",
        "linters": "style",
        "hooks": "tools",
        "flaky": "",
        "Old Port": "new-port",
    }


def test_history_is_not_walked_where_nothing_is_asked_of_it(ground, monkeypatch) -> None:
    ground.put(TWICE)
    place = ground.scope()

    def never(*_: object, **__: object) -> object:
        raise AssertionError("history was walked")

    monkeypatch.setattr(type(place.repo), "steps", never)
    past = look_back(place.repo, place.repo.ref(place.ref) or "", {}, (), ())
    files = {
        "main/a.md": b"One today.\n",
        "b/a.md": b"Two today.\n",
        "main/MEMORY.md": b"- [a](a.md) today\n",
    }
    assert {path_of(ref) for ref in claims_to_date(files)} == {"main/a.md", "b/a.md"}
    assert {path_of(ref) for ref in claims_to_date(files, {"b"})} == {"b/a.md"}
    assert past.became == {} and said_when({"main/a.md#0": ("main", "A.")}, past) == {}


def test_ages_are_looked_up_when_an_engine_asks(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model sees how old each memory is; whoever does not ask does not wait for history to be walked."""
    ground.put(TWICE)
    ground.put({"reviewer/style.md": memory("Return early.", "Style", "style")}, time=ANN.time + DAY)
    ground.put({"main/deploys.md": memory("Deploy.", "Deploys", "deploys")}, op="dream", writer="dream")
    looks, look = list[str](), holdings.taught
    monkeypatch.setattr(holdings, "taught", lambda *a, **k: (looks.append(a[2]), look(*a, **k))[1])
    given = asked(ground)
    assert OfflineEngine().consolidate(given).changes and looks == []
    assert "deploys.md [project, 2026-11-16, " in prompts.dream(given) and looks == ["main", "reviewer"]
    assert given.taught["reviewer/style.md"] == ANN.time + DAY and "main/MEMORY.md" not in given.taught
    assert len(looks) == 2 and len(given.taught) == 4


def test_a_dispute_is_told_with_both_sides_and_who_said_them(ground: Ground) -> None:
    ground.put({"main/d.md": memory("Deploy on Friday.", "Deploys")})
    ground.put({"main/d.md": memory("Deploy on Monday.", "Deploys")}, time=ANN.time + DAY)
    both = "- Deploy on Friday. *(disputed 0123abcd)*\n- Deploy on Monday. *(disputed 0123abcd)*"
    ground.put({"main/d.md": memory(both, "Deploys")}, op="merge")
    (one,) = [one for one in asked(ground).observed if one.kind == "dispute"]
    assert "“- Deploy on Friday.”" in one.text and "against “- Deploy on Monday.” (Ann, 2026-1" in one.text
    assert len(one.claims) == 2 and all(ref.startswith("main/d.md#") for ref in one.claims)


def test_what_the_code_no_longer_has_is_told_once_a_memory(ground, git, monkeypatch) -> None:
    """A file that moved, one that went, a word that went; nothing of what never was or still is."""
    repo = ground.repo
    (repo / "bin").mkdir()
    for name in ("bin/ship.sh", "gone.sh", "kept.sh"):
        (repo / name).write_text(f"echo {name}\n" * 5)
    (repo / "app.py").write_text("def warm_cache():\n    pass\n")
    (repo / "rows.py").write_text("def load_rows():\n    return 1\n")
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-qm", "Scripts")
    made = int(git("-C", repo, "log", "-1", "--format=%ct"))
    (repo / "tools").mkdir()
    git("-C", repo, "mv", "bin/ship.sh", "tools/ship.sh")
    git("-C", repo, "rm", "-q", "gone.sh")
    (repo / "app.py").write_text("print(1)\n")
    (repo / "rows.py").write_text("def read_rows():\n    return 1\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{made + 9 * DAY} +0000")
    git("-C", repo, "commit", "-qam", "Move")
    ground.put(
        notes(
            ship=("Ship with `bin/ship.sh`", "Run `bin/ship.sh` to ship."),
            gone=("Old", "Run `gone.sh`, then `kept.sh`."),
            cache=("Cache", "Call `warm_cache()` and `never_was()`."),
            rows=("Rows", "Call `load_rows()`."),
        ),
        time=made,
    )
    code = code_facts(ground.workspace, ground.scope())
    given = asked(ground, sources=Sources(NOW, code=code))
    assert sorted(text.partition(" since")[0] for text in observed(given, "code")) == [
        "main/cache.md: `warm_cache()` is gone",
        "main/gone.md: `gone.sh` is gone",
        "main/rows.md: `load_rows()` became `read_rows()`",
        "main/ship.md: `bin/ship.sh` moved to `tools/ship.sh`",
    ]
    assert next(len(one.claims) for one in given.observed if "moved" in one.text) == 2
    hurried = code_facts(ground.workspace, ground.scope(), seconds=0.0)
    (cut,) = asked(ground, sources=Sources(NOW, code=hurried)).observed
    assert cut.text == "no time was left to look up what 4 of 4 memories name in the code"


def test_memory_of_moved_code_is_repaired_as_its_history_says(ground, git, gitmem, monkeypatch) -> None:
    """It names the commit, and is looked up again where it is accepted; no commit, no repair."""
    repo = ground.repo
    (repo / "rows.py").write_text("def load_rows():\n    return 1\n\n\ndef drop_rows():\n    return 2\n")
    (repo / "bin").mkdir()
    (repo / "bin/ship.sh").write_text("echo ship\n" * 5)
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-qm", "Rows")
    made = int(git("-C", repo, "log", "-1", "--format=%ct"))
    (repo / "tools").mkdir()
    git("-C", repo, "mv", "bin/ship.sh", "tools/ship.sh")
    (repo / "rows.py").write_text("def read_rows():\n    return 1\n\n\ndef drop_rows():\n    return 2\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{made + 9 * DAY} +0000")
    git("-C", repo, "commit", "-qam", "Move")
    commit = git("-C", repo, "rev-parse", "HEAD")[:9]
    ground.put(notes(rows=("Rows", "Call `load_rows()` once.\n\nShip with `bin/ship.sh`.")), time=made)
    plan = dream(ground.workspace, ground.edges, scope="project", force=True).plan
    assert plan is not None and [one.kind for one in plan.changes] == ["code"]
    assert plan.changes[0].reason.count(f"since {commit}, ") == 2
    (waiting,) = open_dreams(ground.workspace)
    gitmem("review", "accept", waiting.id)
    assert "Call `read_rows()` once.\n\nShip with `tools/ship.sh`." in ground.tree()["main/rows.md"]
    # Renamed by nobody, whatever the reason says.
    before, old, new = ground.tree()["main/rows.md"], "Call `read_rows()` once.", "Call `drop_rows()` once."
    fate = Fate(
        "superseded",
        ref_of("main/rows.md", before, old),
        ref_of("main/rows.md", before.replace(old, new), new),
        f"`read_rows()` became `drop_rows()` since {commit}, 2026-11-02",
    )
    park(ground, [Made({"main/rows.md": before.replace(old, new)}, [fate])])
    refused = gitmem("review", "accept", DREAM_ID, "1", ok=False)
    assert refused.code == 1 and "drop_rows" in refused.err and old in ground.tree()["main/rows.md"]


def recorded(home: Path, cwd: Path, *said: tuple[str, str]) -> Path:
    """A recording of Claude Code: time and words of a person's prompts."""
    made = Transcript("0a1b2c3d-0000-4000-8000-000000000001", str(cwd))
    for time, text in said:
        made.user(text, timestamp=time)
    path = made.record(home)
    os.utime(path, (NOW, NOW))
    return path


def test_sessions_are_read_when_asked_for_and_without_what_is_private(ground, home, monkeypatch) -> None:
    monkeypatch.delenv("GITMEM_DISABLE")
    path = recorded(
        home,
        ground.repo.resolve(),
        ("2026-11-01T10:00:00Z", "said before the last dream"),
        ("2026-11-20T10:00:00Z", "we deploy on Mondays <private>the code is 1234</private>"),
        ("2026-11-20T10:01:00Z", "project zebra is late"),
    )
    ground.configure("ignore", "zebra")
    ground.put(TWICE)
    scans: list[int] = []

    def counted(*given: Any) -> tuple[SessionFile, ...]:
        scans.append(1)
        return sessions_here(*given)

    monkeypatch.setattr(dream_said, "sessions_here", counted)
    since = datetime(2026, 11, 10, tzinfo=UTC).timestamp()
    sessions = dream_said.SaidSince(ground.workspace, ground.edges, since)
    given = asked(ground, sources=Sources(NOW, sessions=sessions))
    assert not scans
    assert dict(given.sessions) == {path.stem: "2026-11-20T10:00Z person: we deploy on Mondays"}
    assert len(scans) == 1
    ground.configure("extract", "off")
    assert not dream_said.SaidSince(ground.workspace, ground.edges, since)


def test_what_a_session_corrected_is_offered_with_its_message(ground, home, gitmem, monkeypatch) -> None:
    """From the client's own recording to the memory: no part of it is handed on by hand."""
    monkeypatch.delenv("GITMEM_DISABLE")
    said = "No, we install with bun now, not pnpm."
    recorded(
        home,
        ground.repo.resolve(),
        ("2026-11-20T10:00:00Z", "Please fix the lint job."),
        ("2026-11-20T10:02:00Z", f"That is slow. {said}"),
    )
    ground.put(
        notes(tools=("How packages are installed", "We install with pnpm.\n\nThe lock file is kept."))
    )
    dream(ground.workspace, ground.edges, scope="project", force=True)
    (waiting,) = open_dreams(ground.workspace)
    shown = " ".join(gitmem("review", "show", waiting.id).out.split())
    assert f"On 2026-11-20 a person said: “{said}”" in shown and "1 question" in shown
    gitmem("review", "accept", waiting.id, "1")
    body = ground.tree()["main/tools.md"]
    assert "install with bun now, not pnpm." in body and "We install with pnpm." not in body
    assert "The lock file is kept." in body
    assert "session 0a1b2c3d" in gitmem("blame", "tools").out


def test_the_user_scope_is_not_compared_with_the_code(ground: Ground) -> None:
    ground.put({"main/u.md": memory("Ann uses `gone.sh`.", "Shell", type="user")}, scope="user")
    sources = dream_sources(ground.workspace, ground.edges, ground.scope("user"))
    assert sources.code({"main/u.md#000000000000": "`gone.sh`"}) == ()


def rewording(files: dict[str, bytes], path: str, old: str, new: str) -> DreamChange:
    """Supersedes one claim of a memory by another."""
    edited = files[path].decode().replace(old, new).encode()
    (source,) = references({path: files[path]}).keys() - references({path: edited}).keys()
    (target,) = references({path: edited}).keys() - references({path: files[path]}).keys()
    fates = (Fate("superseded", source, target, "told so"),)
    files[path] = edited
    return DreamChange("settle", {path: edited}, fates, "told so", f"{old} is {new}")


def test_a_rejected_or_waiting_change_is_left_out_with_those_to_the_same_memories() -> None:
    """They build on it; the rest is as it was."""
    path = "main/p.md"
    start = {path: memory("Port 1.\n\nHost a.\n\nUser u.", "Place").encode(), "main/q.md": b"Queue 5.\n"}
    start["main/r.md"] = b"Host b.\n"
    state = dict(start)
    first = rewording(state, path, "Port 1.", "Port 2.")
    builds = rewording(state, path, "Port 2.", "Port 3.")
    beside = rewording(state, path, "Host a.", "Host b.")
    (gone,) = references({"main/r.md": state["main/r.md"]})
    fate = Fate("merged", gone, beside.fates[0].target, "said there")
    into = DreamChange("merge", {"main/r.md": None}, (fate,), "said there", "r is p")
    other = rewording(state, "main/q.md", "Queue 5.", "Queue 6.")

    (key,) = reject_keys(first.fates, ())
    made = (first, builds, beside, into, other)
    waits = prune(ConsolidateInput(start, waiting=frozenset({key})), made)
    stone = bury(key, "ab" * 8, "2026-11-01", "rejected").line().encode()
    rejected = prune(ConsolidateInput(start | {"main/.tombstones": stone}), made)
    for left in (waits, rejected):
        assert left.changes == (other,)
    assert waits.log[0].endswith(": it waits for a person already")
    assert rejected.log[0].endswith(": a person rejected it")
    assert all(line.endswith(": it builds on what was left out") for line in rejected.log[1:])
    assert prune(ConsolidateInput(start), made).changes == made


@pytest.mark.parametrize("decided", [[None], [(1,), (2,)]])
@pytest.mark.parametrize("hot", often(["deploys", "real-database"], "deploys"))
def test_paging_and_a_dream_that_waits_do_not_fight(
    ground: Ground, hot: str, decided: list[tuple[int, ...] | None]
) -> None:
    """What goes to the archive meanwhile is changed all the same, and no change counts as decided."""
    ground.put(TWICE | {"main/staging.md": memory("We broke staging yesterday.", "Staging", "staging")})
    before = {claim.key for claim in references(as_bytes(ground)).values()}
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    ages = {f"main/{hot}.md": float(NOW)}

    def paged() -> None:
        page(ground.scope(), "main", lambda *_: ages, limit=1)

    paged()
    assert [change.subject for change in open_dreams(ground.workspace)[0].open] == [
        "Date what staging says",
        "Merge no-mocks into real-database",
    ]
    for numbers in decided:
        accept(ground.workspace, done.id, numbers, ANN, NOW)
        paged()
    memories = [path for path in ground.tree() if is_memory(path)]
    names = sorted(path.rpartition("/")[2] for path in memories)
    assert names == ["deploys.md", "real-database.md", "staging.md"]
    assert sum(path.count("/") == 1 for path in memories) == 1
    lost = before - {claim.key for claim in references(as_bytes(ground)).values()}
    assert lost == {"We broke staging yesterday."}
    again = dream(ground.workspace, ground.edges, scope="project", force=True)
    assert again.plan and again.plan.changes == ()
