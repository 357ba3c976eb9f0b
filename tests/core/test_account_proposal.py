"""What a branch asks for is found by content, and so is what a tree has of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.account import missing, proposals
from gitmem.core.names import archive_path

FRONT = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n"


def tree(**given: str) -> dict[str, bytes]:
    return {f"main/{name}.md": (FRONT.format(name) + text).encode() for name, text in given.items()}


def told(base: dict[str, bytes], branch: dict[str, bytes]) -> list[tuple[str, str, str, str]]:
    return [
        (one.kind, one.path, one.old.text if one.old else "", one.new.text if one.new else "")
        for one in proposals(base, branch)
    ]


def test_each_claim_is_added_changed_or_deleted() -> None:
    base = tree(ports="Ports start at 4000.\n\nTests take 5000.\n\nThe debugger takes 4999.\n")
    branch = tree(ports="Ports start at 4100.\n\nThe debugger takes 4999.\n\nLogs go to disk.\n")
    assert told(base, branch) == [
        ("changed", "main/ports.md", "Ports start at 4000.", "Ports start at 4100."),
        ("added", "main/ports.md", "", "Logs go to disk."),
        ("deleted", "main/ports.md", "Tests take 5000.", ""),
    ]


def test_a_claim_that_goes_to_another_memory_is_moved() -> None:
    base = tree(ports="Ports start at 4000.\n\nLogs go to disk.\n", logs="Logs rotate.\n")
    branch = tree(ports="Ports start at 4000.\n", logs="Logs rotate.\n\nLogs go to disk.\n")
    (one,) = proposals(base, branch)
    assert (one.kind, one.source, one.path) == ("moved", "main/ports.md", "main/logs.md")


def test_indexes_tombstones_and_files_of_hosts_ask_for_nothing() -> None:
    base = tree(ports="Ports start at 4000.\n")
    more = {"main/MEMORY.md": b"- x\n", "main/.tombstones": b"", "README.md": b"Hi.\n", ".gitmem": b""}
    assert proposals(base, base | more) == ()
    log = {"main/logs/2026/11/2026-11-20.md": b"- 10:00:00Z [project ab] Ship it.\n"}
    assert [one.kind for one in proposals(base, base | log)] == ["added"]


def test_line_ends_and_wrapping_make_no_difference() -> None:
    base, branch = tree(), tree(ports="Ports start\nat 4000.\n\n```\ncode\n```\n")
    wanted = proposals(base, branch)
    assert missing(wanted, base, tree(ports="Ports start at 4000.\r\n\r\n```\r\ncode\r\n```")) == ()


def test_a_claim_counts_where_the_reviewer_moved_it() -> None:
    base = tree(logs="Logs rotate.\n")
    wanted = proposals(base, base | tree(ports="Logs go to disk.\n"))
    landed = tree(logs="Logs rotate.\n\nLogs go to disk.\n\nAbout ports\n")
    assert missing(wanted, base, landed) == ()
    (changed,) = proposals(base, tree(logs="Logs rotate daily.\n"))
    assert missing([changed], base, tree(days="Logs rotate daily.\n")) == ()
    assert missing([changed], base, base | tree(days="Logs rotate daily.\n")) == (changed,)


def test_what_stands_several_times_counts_as_often_as_it_stands() -> None:
    """A link that one claim left behind is no sign that the next one went there, too."""
    see, port, logs = "See [[ports]].\n\n", "Ports start at 4000.\n\n", "Logs rotate.\n"
    base, branch = tree(logs=see + port + logs), tree(logs=see + see + logs)
    wanted = proposals(base, branch)
    assert missing(wanted, base, base | tree(more="More.\n")) == wanted
    assert missing(wanted, base, branch) == ()
    elsewhere = base | tree(more=see)
    changed = proposals(base | tree(more="More.\n"), base | tree(more="More.\n", logs=see + see + logs))
    assert missing(changed, base, elsewhere) == changed
    lone = tree(logs=port + logs)
    assert missing(proposals(lone, tree(logs=see + logs)), lone, lone | tree(more=see))
    twice, once = tree(logs=port + port + logs), tree(logs=port + logs)
    said_once = proposals(twice, once)
    assert missing(said_once, twice, twice) == said_once
    assert missing(said_once, twice, once) == ()


def test_a_claim_that_another_memory_had_all_along_does_not_count() -> None:
    base = tree(logs="Logs go to disk.\n")
    wanted = proposals(base, base | tree(ports="Logs go to disk.\n\nPorts start at 4000.\n"))
    assert [one.new.text for one in missing(wanted, base, base) if one.new] == [
        "Logs go to disk.",
        "Ports start at 4000.",
        "About ports",
    ]


CLAIMS = st.lists(st.sampled_from([f"Fact number {n} stands." for n in range(8)]), unique=True, max_size=6)
TREES = st.dictionaries(st.sampled_from(["one", "two", "three"]), CLAIMS.map("\n\n".join), max_size=3)


@given(TREES, TREES)
def test_a_tree_has_all_that_it_asks_for(base: dict[str, str], branch: dict[str, str]) -> None:
    before, after = tree(**base), tree(**branch)
    wanted = proposals(before, after)
    assert missing(wanted, before, after) == ()
    lacking = missing(wanted, before, before)
    assert len(lacking) >= sum(one.kind != "moved" for one in wanted)


def paged(files: dict[str, bytes], names: set[str]) -> dict[str, bytes]:
    """The tree with some memories in the archive."""
    return {
        f"main/{archive_path(path[5:])}" if path[5:-3] in names else path: data
        for path, data in files.items()
    }


def test_a_memory_that_was_paged_out_is_neither_deleted_nor_anew() -> None:
    """Else a request to delete one of its claims, or to say it elsewhere too, would count as granted."""
    base = tree(ports="Ports start at 4000.\n\nTests take 5000.\n", logs="Logs rotate.\n")
    branch = tree(ports="Ports start at 4000.\n", logs="Logs rotate.\n\nPorts start at 4000.\n")
    wanted = proposals(base, branch)
    assert sorted(one.kind for one in wanted) == ["added", "deleted"]
    assert missing(wanted, base, paged(base, {"ports"})) == wanted
    assert missing(wanted, base, paged(branch, {"ports", "logs"})) == ()


def test_what_asks_to_page_a_memory_out_is_granted_where_it_is_in_the_archive() -> None:
    base = tree(ports="Ports start at 4000.\n")
    wanted = proposals(base, paged(base, {"ports"}))
    assert wanted and missing(wanted, base, base) == wanted
    assert missing(wanted, base, paged(base, {"ports"})) == ()


@given(TREES, TREES, TREES, st.sets(st.sampled_from(["one", "two", "three"])))
def test_paging_grants_nothing_and_takes_nothing_back(
    base: dict[str, str], branch: dict[str, str], now: dict[str, str], names: set[str]
) -> None:
    before, there = tree(**base), tree(**now)
    wanted = proposals(before, tree(**branch))
    assert missing(wanted, before, paged(there, names)) == missing(wanted, before, there)
