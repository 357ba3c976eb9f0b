"""The live conversation and what was rewound, from uuids and parents alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.sessions.chain import Link, live_chain, rewound


def prompt(uuid: str, parent: str = "") -> Link:
    return Link(uuid, parent, leaf=True, prompt=True)


def reply(uuid: str, parent: str = "") -> Link:
    return Link(uuid, parent, leaf=True)


def test_live_chain_ends_at_the_last_leaf_and_passes_through_other_records() -> None:
    links = [prompt("p"), Link("progress", "p"), reply("a", "progress"), Link("system", "a")]
    assert live_chain(links) == ("p", "progress", "a")


def test_live_chain_does_not_cross_a_compaction() -> None:
    links = [prompt("p"), reply("a", "p"), Link("cut", "", logical="a"), reply("summary", "cut")]
    assert live_chain(links) == ("cut", "summary")


def test_what_stands_before_a_compaction_was_said() -> None:
    links = [prompt("p"), reply("a", "p"), Link("cut", "", logical="a"), prompt("q", "cut")]
    assert rewound(links) == frozenset()


def test_a_rewound_prompt_goes_with_all_that_followed() -> None:
    links = [prompt("p"), reply("a", "p"), prompt("old", "a"), reply("b", "old"), prompt("new", "a")]
    assert rewound(links) == {"old", "b"}


def test_results_of_parallel_calls_beside_the_chain_are_not_rewound() -> None:
    """A refusal with a reason can hang there."""
    links = [
        prompt("p"),
        reply("call1", "p"),
        reply("call2", "call1"),
        reply("result1", "call1"),
        reply("result2", "call2"),
        reply("a", "result2"),
    ]
    assert "result1" not in live_chain(links)
    assert rewound(links) == frozenset()


def test_a_compaction_of_a_rewound_past_is_rewound_too() -> None:
    links = [
        prompt("p"),
        prompt("old", "p"),
        Link("cut", "", logical="old"),
        prompt("after", "cut"),
        Link("cut2", "", logical="after"),
        prompt("later", "cut2"),
        prompt("new", "p"),
    ]
    assert rewound(links) == {"old", "cut", "after", "cut2", "later"}


def test_a_parent_outside_the_file_is_a_root() -> None:
    links = [prompt("p", "elsewhere"), reply("a", "p")]
    assert live_chain(links) == ("p", "a")
    assert rewound(links) == frozenset()


def test_no_records_make_no_chain() -> None:
    assert live_chain([]) == ()
    assert rewound([]) == frozenset()


names = st.sampled_from(["", *"abcdefgh"])


@given(st.lists(st.builds(Link, names, names, names, st.booleans(), st.booleans()), max_size=12))
def test_any_links_end_and_the_live_chain_is_never_rewound(links: list[Link]) -> None:
    """Records are hostile: parents can form cycles, and ids can repeat."""
    unique = list({link.uuid: link for link in reversed(links) if link.uuid}.values())[::-1]
    chain = live_chain(unique)
    assert len(set(chain)) == len(chain)
    assert rewound(unique) <= {link.uuid for link in unique}
    if not any(link.logical for link in unique):
        assert not rewound(unique) & set(chain)
