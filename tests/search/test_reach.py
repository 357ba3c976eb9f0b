"""The decision where a memory is told, and how git's words about changes are read."""

from __future__ import annotations

import itertools

from gitmem.search import reach

ONE, TWO = "1" * 40, "2" * 40
NONE = "0" * 40


def test_only_what_is_surely_elsewhere_is_not_told() -> None:
    """Of all that may be seen just one thing hides a memory."""
    seen = itertools.product([True, False], [True, False, None], ["", "refs/heads/x"], [True, False, None])
    hidden = [one for one in itertools.starmap(reach.Sight, seen) if not reach.is_told(one)]
    assert hidden == [reach.Sight(here=True, ancestor=False, holder="refs/heads/x", equal=False)]


def test_a_ref_as_a_person_names_it() -> None:
    assert reach.branch("refs/heads/feature/x") == "feature/x"
    assert reach.branch("refs/remotes/origin/x") == "origin/x"
    assert reach.branch("refs/tags/v1") == "v1"
    assert reach.branch("HEAD") == "HEAD"


def test_changes_are_read_in_the_order_asked_for() -> None:
    """One that changes nothing stands in its place; a path may look like anything."""
    output = (
        f"{ONE}\0:100644 100644 {ONE} {TWO} M\0a b\0:000000 100644 {NONE} {TWO} A\0:odd\n\xff\0"
        f"{TWO}\0{ONE}\0:100644 000000 {ONE} {NONE} D\0{TWO}\0"
    ).encode("utf-8", "surrogateescape")
    first, second, third = reach.read_changes(output)
    assert first == {"a b": (ONE, TWO), ":odd\n\xff": (NONE, TWO)}
    assert second == {}
    assert third == {TWO: (ONE, NONE)}
    assert reach.same_files(first, {"a b": ("", ""), ":odd\n\xff": ("", "")})
    assert not reach.same_files(first, third)
    assert not reach.same_blobs(first, {"a b": (ONE, TWO), ":odd\n\xff": (NONE, ONE)})


def test_lines_are_the_same_wherever_they_stand() -> None:
    patch = "diff --git a/x b/x\nindex {}..2 100644\n--- a/x\n+++ b/x\n@@ -{},2 +3 @@\n-old\n-older\n+new\n"
    output = f"{ONE}\n{patch.format(1, 3)}{TWO}\n{patch.format(7, 90)}{ONE}\n"
    first, second, third = reach.read_lines(output.encode())
    assert first == second == {"diff --git a/x b/x": ("-old", "-older", "+new")}
    assert third == {}
