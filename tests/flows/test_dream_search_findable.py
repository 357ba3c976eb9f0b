"""What a dream made unfindable is told; what it moved is looked for where it went."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from dream_ground import ANN, Ground, make_ground, memory
from slices import often

from gitmem.core.account import references
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.dream.proof import prove_branch
from gitmem.dream.search import SearchPair
from gitmem.git.repository import Repository
from gitmem.git.trees import write_tree
from gitmem.rules import findable
from gitmem.rules.findable import RecallWitness
from gitmem.rules.rule import Finding
from gitmem.search.query import search
from gitmem.search.tree_catalog import LooseCatalog

lost_to_search = partial(findable.lost_to_search, search=SearchPair)

THINGS = [
    "invoice", "ledger", "broker", "courier", "catalogue", "warehouse", "refund", "voucher",
    "tariff", "parcel", "customs", "label",
]  # fmt: skip
PLACES = ["staging", "production", "Lisbon", "Oslo", "Nairobi", "Quito"]


def corpus(**more: str) -> dict[str, bytes]:
    """Seventy-two memories that each say something of a thing in a place, and others besides."""
    found = {
        f"main/{thing}-{place.lower()}.md": memory(
            f"The {thing} job in {place} runs before noon.\n\n**Why:** {place} closes early.",
            f"When the {thing} job in {place} runs",
            f"{thing}-{place.lower()}",
        )
        for thing in THINGS
        for place in PLACES
    }
    found |= {f"main/{name.replace('_', '-')}.md": text for name, text in more.items()}
    return {path: text.encode() for path, text in found.items()}


DEPLOYS = memory("Use `make ship` from the release branch.", "Deploys go out with make ship", "procedure")
CARDS = memory(
    "Sandbox cards begin with 4242.\n\nThe vault rotates quarterly.", "Payment test cards", "cards"
)


def changed(files: Mapping[str, bytes], **edits: str | None) -> dict[str, bytes]:
    after = dict(files)
    for name, text in edits.items():
        path = f"main/{name.replace('_', '-')}.md"
        if text is None:
            del after[path]
        else:
            after[path] = text.encode()
    return after


def told(failures: tuple[Finding, ...]) -> list[str]:
    return [failure.path for failure in failures if failure.rule == "found"]


def test_a_blurred_description_is_told_with_the_words_that_no_longer_find() -> None:
    before = corpus(deploys=DEPLOYS)
    after = changed(before, deploys=memory("See the runbook.", "Job details", "procedure"))
    found = lost_to_search(before, after)
    assert told(found) == ["main/deploys.md"]
    assert '"Deploys go out with make ship", no longer finds it' in str(found[0])
    turned = [dict(reversed(list(tree.items()))) for tree in (before, after)]
    assert lost_to_search(turned[0], turned[1]) == found, "the answer is the same each time"
    general = changed(before, deploys=DEPLOYS.replace("Deploys go out with make ship", "The noon job runs"))
    found = lost_to_search(before, general)
    assert ['"The noon job runs", no longer finds it; main/' in str(one) for one in found] == [True]


def test_what_is_found_as_before_was_paged_out_or_dropped_is_not_missed() -> None:
    before = corpus(deploys=DEPLOYS)
    assert lost_to_search(before, dict(before), asked=[RecallWitness("deploys", "main/deploys.md")]) == ()
    edited = changed(before, deploys=DEPLOYS.replace("branch.", "branch since yesterday (2026-11-20)."))
    assert lost_to_search(before, edited) == ()
    without = changed(before, deploys=None)
    archived = without | {"main/archive/1f/deploys.md": before["main/deploys.md"]}
    assert lost_to_search(before, archived) == ()
    gone = references({"main/deploys.md": before["main/deploys.md"]})
    fates = [Fate("dropped", ref, reason="no longer so") for ref in gone]
    assert lost_to_search(before, without, fates) == ()


@pytest.mark.parametrize(
    ("kept", "lost"),
    [
        ("Deploy with `make ship` from the release branch.", []),
        ("The release branch is protected.", ["main/deploys.md"]),
    ],
)
def test_what_was_merged_away_is_found_where_its_claims_went(kept: str, lost: list[str]) -> None:
    target = memory("Tag each release.", "How releases are tagged", "releases")
    before = corpus(deploys=DEPLOYS, releases=target)
    after = changed(before, deploys=None, releases=f"{target}\n{kept}\n")
    gone = references({"main/deploys.md": before["main/deploys.md"]})
    (into,) = (
        ref
        for ref, claim in references({"main/releases.md": after["main/releases.md"]}).items()
        if kept in claim.text
    )
    found = lost_to_search(before, after, [Fate("merged", ref, into) for ref in gone])
    assert told(found) == lost
    assert not lost or "nor main/releases.md, which took its claims" in found[0].message


def test_a_neighbour_that_rewritten_memories_crowd_out_is_told() -> None:
    """Five that now say of themselves what it says come before it: none of them has changed it."""
    plain = {f"fare_{n}": memory(f"Fare {n} is fixed.", f"Fare table {n}", f"fare-{n}") for n in range(6)}
    quiet = memory("Zone tickets.", "Which fare table holds for zone tickets", "zones")
    loud = "Which fare table holds for zone tickets"
    before = corpus(**plain, zones=quiet)
    after = changed(
        before,
        **{
            name: memory(
                f"Zone tickets: the fare table for zone tickets is {name}.", loud, "zone-tickets-fare-table"
            )
            for name in plain
        },
    )
    assert "main/zones.md" in told(lost_to_search(before, after))
    one = changed(before, fare_0=after["main/fare-0.md"].decode())
    assert told(lost_to_search(before, one)) == [], "one that comes before it leaves it among the five"


def test_a_recall_that_showed_a_touched_memory_must_still_show_it() -> None:
    before = corpus(cards=CARDS)
    after = changed(before, cards=CARDS.replace("\n\nThe vault rotates quarterly.", ""))
    recall = RecallWitness("vault rotates", "main/cards.md")
    assert told(lost_to_search(before, after, asked=[recall, recall])) == ["main/cards.md"]
    assert lost_to_search(before, after, asked=[RecallWitness("sandbox cards", "main/cards.md")]) == ()
    assert lost_to_search(before, after) == (), "without that recall nothing is lost"
    elsewhere = [
        RecallWitness("invoice Oslo", "main/invoice-oslo.md"),
        RecallWitness("vault", "main/none.md"),
    ]
    assert lost_to_search(before, after, asked=elsewhere) == ()


def test_what_was_not_found_before_is_not_missed() -> None:
    """Eight of one description cannot all be among five: their dream is not at fault."""
    same = {f"twin_{n}": memory(f"Number {n}.", "When jobs run", f"twin-{n}") for n in range(8)}
    before = corpus(**same)
    after = changed(before, **{name: text.replace("Number", "Figure") for name, text in same.items()})
    assert told(lost_to_search(before, after)) == []


def test_odd_files_do_no_harm() -> None:
    before = {
        "main/\udcff.md": b"\xff\xfe\0",
        "main/none.md": b"",
        "main/MEMORY.md": b"- x\n",
        "README.md": b"# Hello\n",
        "main/logs/2026/11/2026-11-20.md": b"A log.\n",
        "main/long.md": memory("x" * 300_000, "long " * 5_000, "long").encode(),
        "main/quote.md": memory(
            '"; DROP TABLE entry; --', "a\x00b\x1b[31m *(disputed 1) OR NEAR", "q"
        ).encode(),
    }
    after = {path: data + b"more\n" for path, data in before.items()}
    assert lost_to_search(before, after) == ()
    assert lost_to_search({}, after) == ()
    assert lost_to_search(before, {}) == ()


def _found(files: Mapping[str, bytes], asked: Mapping[str, str]) -> set[str]:
    """The memories that are found by what is asked for each, in a catalog of this tree alone."""
    catalog = LooseCatalog()
    catalog.add("tree", files)
    found = {
        path: [one.path for one in search(catalog, query, ("tree",), limit=5)]
        for path, query in asked.items()
    }
    return {path for path, first in found.items() if path in first}


@pytest.mark.parametrize("seed", often(range(4), 0))
def test_what_a_catalog_of_each_tree_alone_misses_is_told(seed: int) -> None:
    """Every description is asked of either tree in a catalog of its own."""
    chance = random.Random(seed)

    def said() -> str:
        return " ".join(chance.sample(THINGS, 3))

    before = {
        f"main/n{n}.md": memory(
            f"Number {n}: {chance.choice(PLACES)}, [[n{n % 7}]].", said(), f"n{n}"
        ).encode()
        for n in range(60)
    }
    target = _said(before["main/n0.md"])
    after = dict(before)
    for path in chance.sample(sorted(before)[1:], 9):
        loud = memory(f"The {target}: {target}.", target, target.replace(" ", "-"))
        after[path] = chance.choice([loud, loud, memory("Nothing.", said(), "nothing")]).encode()
    touched = {path for path in before if before[path] != after[path]}
    asked = {path: _said(data) for path, data in before.items()}
    lost = _found(before, asked) - _found(after, asked)
    found = set(told(lost_to_search(before, after)))
    first = SearchPair(before, after).first(target, after=False)
    near = set([path for path in first if path not in touched][:5])
    assert lost & touched, "the ground is poor"
    assert lost & near, "the ground is poor"
    assert lost & (touched | near) <= found


def _said(data: bytes) -> str:
    match = re.search("description: (.*)", data.decode())
    assert match
    return match[1]


def _dreamt(ground: Ground) -> tuple[Repository, str, str]:
    """A dream's branch that drops a claim, with its reason: base and tip."""
    base = ground.put({path: data.decode() for path, data in corpus(cards=CARDS).items()})
    repo, path = ground.scope().repo, "main/cards.md"
    kept = CARDS.replace("\n\nThe vault rotates quarterly.", "")
    fates = tuple(
        Fate("dropped", ref, reason="it moved to the runbook")
        for ref, claim in references({path: CARDS.encode()}).items()
        if "vault" in claim.text
    )
    said = format_message("Drop it", Provenance(op="dream", writer="dream", claims=fates))
    tree = write_tree(repo, repo.commit(base).tree, {path: kept.encode()})
    return repo, base, repo.add_commit(tree, (base,), ANN, ANN, said)


def test_recalls_count_where_they_are_known_and_nowhere_else(repo: Path) -> None:
    """CI and teammates know none: what a person asked of their own memory never leaves the machine."""
    where, base, tip = _dreamt(make_ground(repo))
    assert prove_branch(where, base, tip) == ()
    asked = [RecallWitness("vault rotates", "main/cards.md")]
    (failure,) = prove_branch(where, base, tip, asked=asked)
    assert (failure.rule, failure.path) == ("found", "main/cards.md")
    assert 'a recall that showed it, "vault rotates", no longer finds it' in failure.message
