"""Over random trees, edits and words: the proof says of claims what docs/formats.md says, read plainly."""

from __future__ import annotations

from collections.abc import Sequence

from dream_ground import memory
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.account import path_of
from gitmem.core.facts import about, added, akin, missing_facts
from gitmem.core.memory import parse
from gitmem.core.trailers import Fate
from gitmem.rules.account import DreamGround, ReplayedCommit
from gitmem.rules.proof import costs, ends, prove

Tree = dict[str, tuple[str, ...]]
"""Path to the claims of its body."""

CLAIMS = (
    "Run the linter before you commit.",
    "Before you commit, run the linter.",
    "Run the linter before you commit, at most 3 times.",
    "Never push on Friday.",
    "Ann reviews migrations.",
    "See https://example.com/a for the linter.",
)
PATHS = ("main/a.md", "main/b.md", "main/archive/ab/c.md", "reviewer/a.md")
BODIES = st.lists(st.sampled_from(CLAIMS), max_size=4).map(tuple)
TREES = st.dictionaries(st.sampled_from(PATHS), BODIES, max_size=4)


def written(tree: Tree) -> dict[str, bytes]:
    # The description is the first claim too, so that it does not count by itself.
    return {
        path: memory("\n\n".join(said), said[0] if said else "", path).encode()
        for path, said in tree.items()
    }


def named(tree: Tree) -> dict[str, str]:
    """Every claim by the name that docs/formats.md gives it, to its words."""
    found = {}
    for path, said in sorted(written(tree).items()):
        for claim in parse(path, said).claims:
            found[f"{path}#{claim.short}"] = claim.key
    return found


@st.composite
def dreams(draw: st.DrawFn) -> tuple[list[Tree], list[tuple[Fate, ...]]]:
    trees = [draw(TREES)]
    words = []
    for _ in range(draw(st.integers(1, 3))):
        tree = dict(trees[-1])
        for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=2)):
            how = draw(st.sampled_from(["delete", "write", "move"]))
            if how == "write":
                tree[path] = draw(BODIES)
            elif path in tree:
                said = tree.pop(path)
                if how == "move":
                    tree[draw(st.sampled_from(PATHS))] = said
        before, after = named(trees[-1]), named(tree)
        ends = sorted({*before, *after})
        fates = []
        for source in sorted(before.keys() - after.keys()) if ends else ():
            kind = draw(st.sampled_from(["", "kept", "merged", "merged", "superseded", "dropped"]))
            target = draw(st.sampled_from(["", *ends]))
            if kind:
                reason = draw(st.sampled_from(["", "why"]))
                fates.append(Fate(kind, source, "" if kind == "dropped" else target, reason))  # type: ignore[arg-type]
        trees.append(tree)
        words.append(tuple(fates))
    return trees, words


def agent(name: str) -> str:
    return name.split("/", 1)[0]


def followed(source: str, mine: dict[str, str], fates: Sequence[Fate]) -> tuple[str, str, str]:
    """What is said of a claim in the end: the worst of what befell it, where it is, and why."""
    last = {fate.source: fate for fate in fates}
    fate, seen = last.get(source), {source}
    if fate is None:
        return "", "", ""
    worst, reason = str(fate.kind), fate.reason
    while fate.target and fate.target not in mine and fate.target in last and fate.target not in seen:
        seen.add(fate.target)
        fate = last[fate.target]
        worst = max(worst, fate.kind, key=["kept", "merged", "superseded", "dropped"].index)
        reason = reason or fate.reason
    return worst, fate.target, reason


def lost(before: Tree, after: Tree, fates: Sequence[Fate], *, one: bool) -> set[str]:
    """The claims that went without a true account; of one commit, or of several in a row."""
    old, new = named(before), named(after)
    found = set()
    for source in old.keys() - new.keys():
        mine = {name: words for name, words in new.items() if agent(name) == agent(source)}
        worst, target, reason = followed(source, mine, fates)
        if worst in ("", "kept"):
            true = old[source] in mine.values()
        elif worst == "dropped":
            true = bool(reason)
        else:
            true = target in mine
            if true and worst == "merged":
                true = not missing_facts(old[source], mine[target]) and (
                    not one or akin(old[source], mine[target])
                )
        if not true:
            found.add(source)
    return found


def silently_fewer(before: Tree, after: Tree, fates: Sequence[Fate]) -> set[tuple[str, str]]:
    """Words that an agent has in fewer places than before, though still somewhere, more than was told."""
    old, new = named(before), named(after)
    told = {fate.source for fate in fates}
    found = set()
    for who, words in {(agent(name), words) for name, words in old.items()}:
        places = [name for name, said in old.items() if agent(name) == who and said == words]
        left = [name for name, said in new.items() if agent(name) == who and said == words]
        if left and len(places) - len(left) > len(told & set(places)):
            found.add((who, words))
    return found


@given(dreams())
def test_a_proof_passes_if_and_only_if_a_plain_account_does(
    made: tuple[list[Tree], list[tuple[Fate, ...]]],
) -> None:
    trees, words = made
    pairs = list(zip(trees, trees[1:], words, strict=False))
    steps = [ReplayedCommit(written(old), written(new), fates) for old, new, fates in pairs]
    failures = prove(written(trees[0]), steps, DreamGround())
    told = {failure.claim for failure in failures if failure.rule in ("account", "merged")}
    naive: set[str] = set()
    doubtful = False
    for old, new, fates in pairs:
        naive |= lost(old, new, fates, one=True)
        doubtful = doubtful or bool(silently_fewer(old, new, fates))
    naive |= lost(trees[0], trees[-1], [fate for fates in words for fate in fates], one=False)
    assert bool(told) == (bool(naive) or doubtful)
    # Each is named, where it was lost first or in the whole.
    digits = {claim.rpartition("#")[2] for claim in told}
    assert {claim.rpartition("#")[2] for claim in naive} <= digits
    assert ends(written(trees[0]), steps) == written(trees[-1])


@given(dreams())
@example(
    (
        [{"main/a.md": (CLAIMS[1],), "main/b.md": (CLAIMS[3],)}, {"main/b.md": (CLAIMS[3],)}],
        [(Fate("merged", "main/a.md#90447a406a5e", "main/b.md#2c8d291c39ff"),)],
    )
)
def test_what_is_given_up_is_what_no_claim_says_any_more(
    made: tuple[list[Tree], list[tuple[Fate, ...]]],
) -> None:
    trees, words = made
    old, new = named(trees[0]), named(trees[1])
    step = ReplayedCommit(written(trees[0]), written(trees[1]), words[0])
    given_up = costs(step.before, [step], step.after)
    bad = lost(trees[0], trees[1], words[0], one=False)
    ends = {}
    for source in old.keys() - new.keys() - bad:
        mine = {name: words for name, words in new.items() if agent(name) == agent(source)}
        worst, target, _ = followed(source, mine, words[0])
        if worst in ("", "kept"):
            # It went where its words stand now, whatever is said of it.
            target = next(name for name, text in mine.items() if text == old[source])
        ends[source] = (mine, worst, target)
    expected = set()
    for source, (mine, worst, target) in ends.items():
        free = worst in ("", "kept") or old[source] in mine.values()
        if worst in ("merged", "superseded") and not free:
            around = [text for name, text in old.items() if path_of(name) == path_of(target)]
            into = [old[other] for other, end in ends.items() if end[2] == target]
            said = mine[target]
            # A trailer permits nothing: what is called merged is given up where it went into another thing.
            free = not missing_facts(old[source], said) and akin(old[source], said)
            same = about(said) <= about("\n\n".join([*into, *around])) or about(old[source]) <= about(said)
            free = free and (same if worst == "merged" else not added(said, [*into, *around]))
        if not free:
            expected.add((agent(source), old[source]))
    assert given_up == expected
