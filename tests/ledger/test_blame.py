"""A claim keeps its origin, whatever happens to its file afterwards."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from blame_ground import HOUR, PORTS, START, History, assert_together_as_alone, memory
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples
from memory_repository import MemoryRepository

from gitmem.core.errors import MissingObject
from gitmem.core.names import archive_path
from gitmem.core.trailers import Fate, FateKind, Provenance, Writer
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.ledger.blame import FEW, blame_memory
from gitmem.ledger.epochs import keep_former
from gitmem.ledger.log import entries_of
from gitmem.ledger.merge import merge_commits


def test_each_claim_has_the_commit_session_messages_writer_and_engine_that_taught_it(history) -> None:
    first = history.learn({PORTS: memory("ports", "Port 8080 is taken.")}, subject="Add ports")
    second = history.learn(
        {PORTS: memory("ports", "Port 8080 is taken.", "Port 9090 is free.")},
        first,
        who="Ben",
        writer="extract",
        session="s-2",
        messages=("a", "b"),
        engine="offline",
        code_commit="c" * 40,
    )
    lines = blame_memory(history.store, second, PORTS)
    assert [(line.claim.text, line.description) for line in lines] == [
        ("About ports", True),
        ("Port 8080 is taken.", False),
        ("Port 9090 is free.", False),
    ]
    assert [line.origins[0].commit for line in lines] == [first, first, second]
    (told,) = lines[2].origins[0].told
    assert (told.author, told.time) == ("Ben <ben@example.com>", START + 2 * HOUR)
    assert told.provenance == Provenance(
        "update", "extract", "s-2", ("a", "b"), code_commit="c" * 40, engine="offline"
    )
    assert lines[0].origins[0].told[0].subject == "Add ports"


def test_wrapping_order_and_marker_change_no_origin(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One long line of text.", "- an item")})
    second = history.learn({PORTS: memory("ports", "* an item", "One long\nline of text.")}, first)
    assert history.commit_of(second, "One long\nline of text.") == first
    assert history.commit_of(second, "* an item") == first


def test_a_claim_comes_through_a_merge_from_the_side_that_had_it(history: History) -> None:
    base = history.learn({PORTS: memory("ports", "Base.")})
    ours = history.learn({PORTS: memory("ports", "Base.", "Ours.")}, base)
    theirs = history.learn({PORTS: memory("ports", "Base.", "Theirs.")}, base, who="Ben")
    merge = merge_commits(history.store, ours, theirs).commit
    later = history.learn({"main/other.md": memory("other", "Else.")}, merge)
    assert {text: line.origins[0].commit for text, line in history.blame(later).items()} == {
        "About ports": base, "Base.": base, "Ours.": ours, "Theirs.": theirs,
    }  # fmt: skip


def test_many_memories_blamed_together_have_the_origins_that_each_has_alone(history: History) -> None:
    """With files that a straight history has, and an edit, a restore, a move and a merge of two lines."""
    said = {f"main/m{n}.md": memory(f"m{n}", f"Fact {n}.", f"Detail {n}.") for n in range(FEW + 2)}
    base = history.learn(said)
    steps: list[tuple[dict[str, str], str]] = [
        ({"main/m0.md": memory("m0", "Something else.")}, "update"),
        ({"main/m0.md": said["main/m0.md"]}, "restore"),
        (
            {"main/m1.md": memory("m1", "Fact 1."), "main/m2.md": memory("m2", "Fact 2.", "Detail 1.")},
            "update",
        ),
    ]
    for edits, op in steps:
        base = history.learn(edits, base, op=op)
    sides = [
        history.learn({"main/m3.md": memory("m3", "Fact 3.", said_here)}, base)
        for said_here in ("A.", "B.")
    ]
    merge = merge_commits(history.store, *sides).commit
    assert_together_as_alone(history.store, merge, said)


def test_what_both_sides_taught_was_taught_by_the_earlier(history: History) -> None:
    base = history.learn({PORTS: memory("ports", "Base.")})
    ours = history.learn({PORTS: memory("ports", "Base.", "Both.")}, base)
    theirs = history.learn({PORTS: memory("ports", "Base.", "Both.")}, base, who="Ben")
    theirs = history.learn({PORTS: memory("ports", "Base.", "Both.", "More.")}, theirs, who="Ben")
    for one, other in ((ours, theirs), (theirs, ours)):
        merge = history.learn({PORTS: memory("ports", "Base.", "Both.", "More.")}, one, other, op="merge")
        assert history.commit_of(merge, "Both.") == ours


def test_both_sides_of_a_dispute_are_named_with_who_and_when(history: History) -> None:
    base = history.learn({PORTS: memory("ports", "The proxy has port 8080.")})
    ours = history.learn({PORTS: memory("ports", "The proxy has port 8081.")}, base)
    theirs = history.learn({PORTS: memory("ports", "The proxy has port 9999.")}, base, who="Ben")
    merge = merge_commits(history.store, ours, theirs).commit
    one, other = [line for line in history.blame(merge).values() if line.claim.dispute]
    sides = {line.origins[0].commit: line.origins[0].told[0].author for line in (one, other)}
    assert sides == {ours: "Ann <ann@example.com>", theirs: "Ben <ben@example.com>"}
    assert one.against == (other.claim.short,) and other.against == (one.claim.short,)


def test_a_renamed_file_keeps_its_origins(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One.", "Two.")})
    moved = history.learn(
        {PORTS: None, "main/network.md": memory("network", "One.", "Two.", "New.")}, first
    )
    assert history.commit_of(moved, "Two.", "main/network.md") == first
    assert history.origin(moved, "Two.", "main/network.md").path == PORTS
    assert history.commit_of(moved, "New.", "main/network.md") == moved
    log = entries_of(history.store, moved, ["main/network.md"])
    assert [entry.commit for entry in log] == [moved, first]


def test_the_log_follows_a_name_and_half_of_the_claims_but_nothing_else(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One."), "main/x.md": memory("x", "Else.")})
    other = history.learn({PORTS: None, "main/b.md": memory("ports", "All new.")}, first)
    strange = history.learn({"main/x.md": None, "main/c.md": memory("c", "New.")}, other)
    assert [e.commit for e in entries_of(history.store, strange, ["main/b.md"])] == [other, first]
    assert [e.commit for e in entries_of(history.store, strange, ["main/c.md"])] == [strange]


def test_a_claim_that_moves_to_another_file_keeps_its_origin(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One.", "Two.")})
    both = history.learn(
        {PORTS: memory("ports", "One."), "main/b.md": memory("b", "Two.")}, first, who="Ben"
    )
    assert history.commit_of(both, "Two.", "main/b.md") == first
    copied = history.learn({"main/c.md": memory("c", "One.")}, both)
    assert history.commit_of(copied, "One.", "main/c.md") == copied, "the other file still says it"


def test_paging_out_and_back_keeps_origins(history: History) -> None:
    archived = f"main/{archive_path('ports.md')}"
    text = memory("ports", "One.")
    first = history.learn({PORTS: text})
    out = history.learn({PORTS: None, archived: text}, first, op="page")
    assert history.commit_of(out, "One.", archived) == first
    back = history.learn({PORTS: memory("ports", "One.", "Two."), archived: None}, out)
    assert history.commit_of(back, "One.") == first
    assert history.commit_of(back, "Two.") == back
    assert [entry.commit for entry in entries_of(history.store, back, [PORTS, archived])] == [
        back,
        out,
        first,
    ]


def test_a_dream_names_what_it_made_a_claim_of(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "Port 8080 is the proxy's.")})
    second = history.learn({"main/b.md": memory("b", "Port 9090 is the cache's.")}, first, who="Ben")
    new = "Port 8080 is the proxy's, 9090 the cache's."
    after = {PORTS: memory("ports", new), "main/b.md": None}
    target = history.claim(history.learn(after, second), PORTS, new)
    fates = (
        Fate("merged", history.claim(second, PORTS, "Port 8080 is the proxy's."), target),
        Fate("merged", history.claim(second, "main/b.md", "Port 9090 is the cache's."), target),
    )
    dreamt = history.learn(after, second, op="dream", writer="dream", claims=fates)
    tip = history.learn({"main/x.md": memory("x", "X.")}, dreamt)
    origins = history.blame(tip)[new].origins
    assert [(one.commit, one.path, one.via) for one in origins] == [
        (first, PORTS, (dreamt,)),
        (second, "main/b.md", (dreamt,)),
    ]


def test_a_chain_of_dream_changes_in_one_message_is_followed(history: History) -> None:
    """As a host leaves it that squashes a dream's commits into one."""
    first = history.learn({PORTS: memory("ports", "A first.")})
    steps = ["A first.", "A second.", "A third."]
    names = [
        history.claim(history.learn({PORTS: memory("ports", text)}, first), PORTS, text) for text in steps
    ]
    blocks = [
        f"* Change {n}\n\nGitmem-Op: dream\nGitmem-Writer: dream\nGitmem-Claim: superseded {old} -> {new}\n"
        for n, (old, new) in enumerate(pairwise(names))
    ]
    landed = history.learn(
        {PORTS: memory("ports", "A third.")}, first, message="Dream (#3)\n\n" + "\n".join(blocks)
    )
    (origin,) = history.blame(landed)["A third."].origins
    assert (origin.commit, origin.via) == (landed, ()), "nobody but the dream said that"
    assert [(one.commit, one.path) for one in origin.replaced] == [(first, PORTS)]


@pytest.mark.parametrize("kind", ["kept", "merged", "superseded"])
@pytest.mark.parametrize("writer", ["dream", "human", "extract"])
def test_who_was_superseded_did_not_say_what_took_the_place(
    history: History, kind: FateKind, writer: Writer
) -> None:
    """A commit names whom it likes as the source of its words; the trees tell that they are others."""
    old, new = "Never run `reset` on staging.", "Always run `reset` on staging."
    first = history.learn({PORTS: memory("ports", old)})
    after = {PORTS: memory("ports", new)}
    target = history.claim(history.learn(after, first), PORTS, new)
    fate = Fate(kind, history.claim(first, PORTS, old), target, "says it better")
    landed = history.learn(after, first, op="dream", writer=writer, claims=(fate,), who="Mallory")
    (origin,) = history.blame(landed)[new].origins
    assert (origin.commit, origin.via) == (landed, ())
    assert origin.told[0].author.startswith("Mallory")
    assert [(one.commit, one.path) for one in origin.replaced] == [(first, PORTS)]


def test_a_rewording_that_says_the_same_is_followed(history: History) -> None:
    old, new = "Never mock the database in 2 suites.", "As agreed, in 2 suites never mock the database."
    first = history.learn({PORTS: memory("ports", old)})
    after = {PORTS: memory("ports", new)}
    target = history.claim(history.learn(after, first), PORTS, new)
    fate = Fate("merged", history.claim(first, PORTS, old), target)
    landed = history.learn(after, first, op="dream", writer="dream", claims=(fate,))
    (origin,) = history.blame(landed)[new].origins
    assert (origin.commit, origin.via) == (first, (landed,))


def test_a_restored_claim_keeps_its_origin_and_one_taught_again_does_not(history: History) -> None:
    text = memory("ports", "One.")
    first = history.learn({PORTS: text})
    gone = history.learn({PORTS: None}, first, op="delete")
    other = history.learn({"main/x.md": memory("x", "X.")}, gone)
    assert history.commit_of(history.learn({PORTS: text}, other, op="restore"), "One.") == first
    assert history.commit_of(history.learn({PORTS: text}, other, undoes=gone), "One.") == first
    again = history.learn({PORTS: text}, other, who="Ben")
    assert history.commit_of(again, "One.") == again
    new = memory("ports", "One.", "Two.")
    mixed = history.learn({PORTS: new}, other, op="restore")
    assert history.commit_of(mixed, "Two.") == mixed


def test_a_claim_restored_from_a_history_that_was_left_keeps_its_origin(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One.")})
    there = history.learn({PORTS: memory("ports", "One.", "Two.")}, first, who="Ben")
    left = history.learn({PORTS: None}, there, op="delete")
    begun = history.learn({"main/x.md": memory("x", "X.")}, who="Eve")
    told = {"op": "restore", "writer": "human"}
    back = history.learn({PORTS: memory("ports", "One.", "Two.")}, begun, **told)
    # Replaced a second time, and restored from that: the record goes on where the first one ends.
    anew = history.learn({"main/y.md": memory("y", "Y.")}, who="Eve")
    again = history.learn({PORTS: memory("ports", "One.", "Two.")}, anew, **told)
    keep_former(history.store, "refs/gitmem/project", back, START)
    for tip in (back, again):
        assert [line.origins[0].beyond for line in history.blame(tip).values()] == [True] * 3
    keep_former(history.store, "refs/gitmem/project", left, START - 86_400)
    for tip in (back, again):
        assert history.commit_of(tip, "One.") == first
        assert history.origin(tip, "Two.").told[0].author.startswith("Ben")
        assert not history.origin(tip, "Two.").beyond


def two_lessons(history: History) -> tuple[str, str]:
    """A branch off a base, on which Ann and then Ben taught."""
    base = history.learn({"README": "x\n"})
    one = history.learn(
        {PORTS: memory("ports", "Port 8080.")}, base, subject="Add ports", session="s-1", engine="offline"
    )
    two = history.learn(
        {"main/db.md": memory("db", "Use it.")}, one, who="Ben", subject="Add db", session="s-2"
    )
    history.git("update-ref", "refs/heads/side", two)
    history.git("checkout", "-q", "-b", "target", base)
    return base, two


def test_a_squash_by_git_keeps_author_date_and_session_of_the_part_that_names_the_memory(history) -> None:
    two_lessons(history)
    history.git("merge", "-q", "--squash", "side")
    history.git("commit", "-q", "--no-edit", GIT_AUTHOR_NAME="Cy", GIT_AUTHOR_EMAIL="cy@example.com")
    tip = history.git("rev-parse", "HEAD")
    origin = history.origin(tip, "Port 8080.")
    (told,) = origin.told
    assert origin.commit == tip
    assert (told.author, told.time, told.subject) == (
        "Ann <ann@example.com>",
        START + 2 * HOUR,
        "Add ports",
    )
    assert (told.provenance.session, told.provenance.engine) == ("s-1", "offline")
    (told,) = history.origin(tip, "Use it.", "main/db.md").told
    assert (told.author, told.provenance.session) == ("Ben <ben@example.com>", "s-2")


def test_a_squash_by_a_host_keeps_the_session_of_the_part_that_names_the_memory(history: History) -> None:
    base, side = two_lessons(history)
    texts = [history.store.commit(oid).message for oid in (history.store.commit(side).parents[0], side)]
    message = "Learn from Ben (#7)\n\n" + "\n".join(f"* {text}" for text in texts)
    message += "\n---------\n\nCo-authored-by: Ben <ben@example.com>\n"
    files = {PORTS: memory("ports", "Port 8080."), "main/x.md": memory("x", "Nobody says which.")}
    tip = history.learn(files, base, who="Cy", message=message)
    (told,) = history.origin(tip, "Port 8080.").told
    assert (told.subject, told.provenance.session) == ("Add ports", "s-1")
    assert (told.author, told.time) == ("Cy <cy@example.com>", history.time)
    both = history.origin(tip, "Nobody says which.", "main/x.md").told
    assert [one.provenance.session for one in both] == ["s-1", "s-2"], "all that it could be"


def test_a_rebase_by_git_keeps_author_date_and_session(history: History) -> None:
    base, _ = two_lessons(history)
    other = history.learn({"main/y.md": memory("y", "Y.")}, base)
    history.git("checkout", "-q", "-B", "side", "side")
    history.git("rebase", "-q", "--onto", other, base, "side")
    tip = history.git("rev-parse", "HEAD")
    origin = history.origin(tip, "Port 8080.")
    assert origin.commit != tip and history.store.is_ancestor(other, origin.commit)
    assert (origin.time, origin.told[0].provenance.session) == (START + 2 * HOUR, "s-1")


def test_history_that_is_missing_is_no_origin_and_no_crash(history: History) -> None:
    first = history.learn({PORTS: memory("ports", "One.")})
    second = history.learn({PORTS: memory("ports", "One.", "Two.")}, first)
    third = history.learn({PORTS: memory("ports", "One.", "Two.", "Three.")}, second)
    (history.path / ".git/objects" / first[:2] / first[2:]).unlink()
    fresh = open_repository(history.path, GitCommand(dict(os.environ)))
    lines = {one.claim.text: one for one in blame_memory(fresh, third, PORTS)}
    assert lines["Three."].origins[0].commit == third
    assert lines["One."].origins[0].commit == second, "the oldest that can be read"


def test_a_chain_of_moves_is_followed_only_so_far(history: History, monkeypatch) -> None:
    """A hostile history could make blame walk for ever."""
    monkeypatch.setattr("gitmem.ledger.blame.MOST_WALKS", 3)
    tip = history.learn({"main/m0.md": memory("m", "One.")})
    made = [tip]
    for n in range(6):
        files = {f"main/m{n}.md": None, f"main/m{n + 1}.md": memory("m", "One.")}
        made.append(history.learn(files, made[-1]))
    assert history.commit_of(made[-1], "One.", "main/m6.md") in made[1:]


TEXTS = ["One.", "Two.", "Three.", "- four", "**Why:** five"]
BODIES = st.lists(st.sampled_from(TEXTS), max_size=4, unique=True)


class Torn(MemoryRepository):
    """In memory, so that many histories can be tried: blame walks it as it does a damaged one."""

    def lineage(self, tip: str, paths: object) -> dict[str, tuple[str, ...]]:
        raise MissingObject("walk by hand")

    def entry(self, tree: str, path: str):  # type: ignore[no-untyped-def]
        found = None
        for name in path.split("/"):
            found = self.trees[tree].get(name)
            if found is None:
                return None
            tree = found.oid
        return found


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(BODIES, BODIES, st.integers(0, 9)), min_size=1, max_size=6), BODIES)
def test_what_later_commits_leave_alone_keeps_its_blame(
    steps: list[tuple[list[str], list[str], int]], extra: list[str]
) -> None:
    repo = Torn()
    tip = ""
    made: list[str] = []
    for number, (ports, other, side) in enumerate(steps):
        files = {PORTS: memory("ports", *ports), "main/b.md": memory("b", *other)}
        parents = list(dict.fromkeys([made[-1], made[side % len(made)]])) if made else []
        tip = repo.put(files, *parents, time=START + number)
        made.append(tip)
    before = {one.claim.id: one.origins for one in blame_memory(repo, tip, PORTS)}  # type: ignore[arg-type]
    assert all(len(origins) == 1 for origins in before.values())
    ports = steps[-1][0]
    added = [text for text in extra if text not in ports]
    files = {PORTS: memory("ports", *added, *ports), "main/c.md": memory("c", "C.")}
    files |= {"main/b.md": memory("b", *steps[-1][1])}
    later = repo.put(files, tip, time=START + 99)
    after = {one.claim.id: one.origins for one in blame_memory(repo, later, PORTS)}  # type: ignore[arg-type]
    assert {id: origins for id, origins in after.items() if id in before} == before
    assert_together_as_alone(repo, later, files)  # type: ignore[arg-type]
