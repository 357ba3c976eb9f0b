"""What was learned in one session stands side by side, however the index came to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_repository import DAY, START, MemoryRepository
from memory_repository import follow as indexed

from gitmem.search.candidates import SearchSpace
from gitmem.search.catalog import Catalog
from gitmem.search.query import Candidate, search
from gitmem.search.text import read_memory

REF, OTHER = "refs/gitmem/project", "refs/gitmem/local"
ASKED = "why is the gateway restarted at midnight"

TALK = {
    "main/gateway-1.md": ("s1", "The gateway in the basement has a fan that howls."),
    "main/gateway-2.md": ("s1", "At midnight it is restarted, for the lease ends."),
}
NOISE = {f"main/n{n:02}.md": ("", f"Paragraph {n} says nothing of note.") for n in range(12)}
ALONE = {"main/clock.md": ("", "At midnight it is restarted, for the lease ends there.")}


def texts(files: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {
        path: f"---\nname: {Path(path).stem}\nmetadata:\n  type: project\n"
        f"  originSessionId: {session}\n---\n\n{body}\n"
        if session
        else f"---\nname: {Path(path).stem}\ntype: project\n---\n\n{body}\n"
        for path, (session, body) in files.items()
    }


def follow(
    catalog: Catalog,
    fake: MemoryRepository,
    files: dict[str, tuple[str, str]],
    *parents: str,
    ref: str = REF,
    time: int = START,
) -> str:
    return indexed(catalog, fake, texts(files), *parents, ref=ref, time=time)


def asked(catalog: Catalog, query: str = ASKED, **options: object) -> dict[str, Candidate]:
    return {one.path: one for one in search(catalog, query, [REF], **options)}  # type: ignore[arg-type]


def test_words_split_over_a_session_find_its_memories_first(catalog: Catalog, fake) -> None:
    follow(catalog, fake, TALK | ALONE | NOISE)
    order = list(asked(catalog))
    assert order[0] == "main/gateway-2.md"
    assert order.index("main/clock.md") > 0


def test_a_memory_that_shares_no_word_is_found_beside_one_that_does(catalog: Catalog, fake) -> None:
    files = {"main/b.md": ("s1", "Who feeds the heron?"), "main/c.md": ("s1", "Ann, on Mondays.")}
    files |= {"main/a.md": ("s1", "At noon."), "main/d.md": ("s2", "Ben, on Fridays.")}
    files |= {"main/e.md": ("s1", "With fish."), "main/f.md": ("s1", "Too far off.")}
    follow(catalog, fake, files | NOISE)
    assert asked(catalog, "who feeds the heron").keys() == {f"main/{name}.md" for name in "abce"}
    # Another process takes their texts out between two looks.
    catalog.read(
        "DELETE FROM blob WHERE id IN (SELECT blob FROM entry WHERE path LIKE 'main/_.md')"
        " AND id <> (SELECT blob FROM entry WHERE path = 'main/b.md')"
    )
    assert asked(catalog, "who feeds the heron").keys() == {"main/b.md"}


def test_neighbours_do_not_depend_on_how_the_index_was_built(tmp_path: Path, fake) -> None:
    """Read at once, or one by one in another order: the answer is that of the tree and its times."""
    files = TALK | ALONE | NOISE
    once, grown = Catalog.open(tmp_path / "once"), Catalog.open(tmp_path / "grown")
    # Another ref has shown the catalog the same contents before, the last ones first.
    seen: dict[str, tuple[str, str]] = {}
    for path in sorted(files, reverse=True):
        seen[path] = files[path]
        follow(grown, fake, dict(seen), ref=OTHER)
    for catalog in (once, grown):
        follow(catalog, fake, files)
    of_both = [[(one.path, one.score) for one in search(c, ASKED, [REF])] for c in (once, grown)]
    assert of_both[0] == of_both[1]


@pytest.mark.parametrize("where", ["agent", "ref", "session"])
def test_only_the_same_session_agent_and_ref_is_beside(catalog: Catalog, fake, where: str) -> None:
    session, body = TALK["main/gateway-1.md"]
    rest = {"main/gateway-2.md": TALK["main/gateway-2.md"]} | ALONE | NOISE
    alone = dict(rest)
    if where == "agent":
        alone["reviewer/gateway-1.md"] = (session, body)
    elif where == "session":
        alone["main/gateway-1.md"] = ("s2", body)
    else:
        follow(catalog, fake, TALK, ref=OTHER)
    follow(catalog, fake, alone)
    ground = SearchSpace(catalog, (REF, OTHER), None, {})
    entries = list(ground.entries(range(1, 99)))
    ours = [one for one in entries if (one.ref, one.path) == (REF, "main/gateway-2.md")]
    assert [len(some) for some in ground.beside(ours, 8).values()] == [1]


def test_as_of_then_the_neighbours_of_then_count(catalog: Catalog, fake: MemoryRepository) -> None:
    old = {"main/gateway-2.md": TALK["main/gateway-2.md"]} | ALONE | NOISE
    then = follow(catalog, fake, old)
    before = asked(catalog)["main/gateway-2.md"].score
    follow(catalog, fake, old | TALK, then)
    # Their texts are known and counted either way; what stands beside them is not.
    catalog.lay_out(fake, REF, then, read_memory)
    past = asked(catalog, when={REF: then})
    assert "main/gateway-1.md" not in past
    assert past["main/gateway-2.md"].score < asked(catalog)["main/gateway-2.md"].score
    assert before > 0


def test_a_session_is_in_the_order_it_taught_in(catalog: Catalog, fake: MemoryRepository) -> None:
    first = {"main/z.md": ("s1", "One."), "main/y.md": ("s1", "Two.")}
    tip = follow(catalog, fake, first)
    follow(catalog, fake, first | {"main/a.md": ("s1", "Three.")}, tip, time=START + DAY)
    ground = SearchSpace(catalog, (REF,), None, {})
    (thread,) = ground.beside(ground.entries(range(1, 9)), 8).values()
    assert [one.path for one in thread] == ["main/y.md", "main/z.md", "main/a.md"]


def test_of_a_long_session_only_what_is_near_is_read(catalog: Catalog, fake: MemoryRepository) -> None:
    follow(catalog, fake, {f"main/m{n:03}.md": ("s1", f"Heron number {n}.") for n in range(200)})
    ground = SearchSpace(catalog, (REF,), None, {})
    (entry,) = [one for one in ground.entries(range(1, 300)) if one.path == "main/m100.md"]
    (thread,) = ground.beside([entry], 3).values()
    assert [one.path for one in thread] == [f"main/m{n:03}.md" for n in range(97, 104)]
