"""What was rewound, from uuids and parents alone."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.transcripts.claude_code import Link, Tree


def prompt(uuid: str, parent: str = "", logical: str = "") -> Link:
    return Link(uuid, parent, logical, leaf=True, prompt=True)


def reply(uuid: str, parent: str = "") -> Link:
    return Link(uuid, parent, leaf=True)


def rewound(links: Iterable[Link]) -> set[str]:
    """The records that do not count as said, of all those of one file in its order."""
    tree = Tree()
    places: dict[str, int] = {}
    for link in links:
        places.setdefault(link.uuid, tree.add(link))
    gone = tree.rewound()
    return {uuid for uuid, number in places.items() if number in gone}


@pytest.mark.parametrize(
    ("links", "gone"),
    [
        ([], ""),
        ([prompt("p", "elsewhere"), reply("a", "p")], ""),
        # What stands before a compaction was said.
        ([prompt("p"), reply("a", "p"), Link("cut", "", logical="a"), prompt("q", "cut")], ""),
        # A rewound prompt goes with all that followed.
        (
            [prompt("p"), reply("a", "p"), prompt("old", "a"), reply("b", "old"), prompt("new", "a")],
            "old b",
        ),
        # Results of parallel calls hang beside the chain: a refusal with a reason can be one.
        (
            [
                prompt("p"), reply("c1", "p"), reply("c2", "c1"), reply("r1", "c1"), reply("r2", "c2"),
                reply("a", "r2"),
            ],
            "",
        ),
        # A compaction of a rewound past is rewound too.
        (
            [
                prompt("p"), prompt("old", "p"), Link("cut", "", logical="old"), prompt("after", "cut"),
                Link("cut2", "", logical="after"), prompt("later", "cut2"), prompt("new", "p"),
            ],
            "old cut after cut2 later",
        ),
        # A record that stands before its parent hangs on it all the same.
        ([reply("a", "old"), prompt("p"), prompt("old", "p"), prompt("new", "p")], "a old"),
    ],
)  # fmt: skip
def test_what_was_rewound_was_not_said(links: list[Link], gone: str) -> None:
    assert rewound(links) == set(gone.split())


def by_definition(links: list[Link]) -> set[str]:
    """The rule of the module's docstring, read record by record."""
    known = {link.uuid: link for link in links}

    def way(uuid: str) -> list[str]:
        up = []
        while uuid in known:
            up.append(uuid)
            uuid = known[uuid].parent
        return up

    root = {uuid: way(uuid)[-1] for uuid in known}
    ends = {root[link.uuid]: link.uuid for link in links if link.leaf}
    chain = {uuid for end in ends.values() for uuid in way(end)}

    def off(uuid: str) -> bool:
        for up in way(uuid):
            if up in chain:
                return False
            if known[up].prompt:
                return True
        return False

    gone = {uuid for uuid in known if off(uuid)}

    def fallen(uuid: str, seen: frozenset[str] = frozenset()) -> bool:
        past = known[root[uuid]].logical
        if past not in known or root[uuid] in seen:
            return False
        return past in gone or fallen(past, seen | {root[uuid]})

    return gone | {uuid for uuid in known if fallen(uuid)}


@st.composite
def sessions(draw: st.DrawFn) -> list[Link]:
    """Records without cycles, in any order in the file."""
    links: list[Link] = []
    for number in range(draw(st.integers(0, 14))):
        older = st.sampled_from(["", "elsewhere", *(link.uuid for link in links)])
        flags = draw(st.tuples(st.booleans(), st.booleans()))
        links.append(Link(f"u{number}", draw(older), draw(older), *flags))
    return draw(st.permutations(links))


@given(sessions())
def test_stretches_go_as_their_records_would_one_by_one(links: list[Link]) -> None:
    assert rewound(links) == by_definition(links)


names = st.sampled_from(["", *"abcdefgh"])


@given(st.lists(st.builds(Link, names, names, names, st.booleans(), st.booleans()), max_size=14))
def test_of_hostile_records_a_repeated_id_says_nothing_and_prompts_alone_take_back(
    links: list[Link],
) -> None:
    """Parents can form cycles, too."""
    first: dict[str, Link] = {}
    for link in links:
        first.setdefault(link.uuid, link)
    assert rewound(links) == rewound(first.values())
    assert rewound(link._replace(prompt=False) for link in links) == set()
