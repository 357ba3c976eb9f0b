"""What a change and a header say where nothing was said."""

from __future__ import annotations

import pytest

from gitmem.core.change import Change, ChangeOrigin, Edited, Header, Op


def test_a_change_that_nobody_placed_is_of_main_and_of_no_session() -> None:
    change = Change("add", "a", "A.", "project", "A.", "why", 1.0, False)
    assert (change.agent, change.file, change.edited) == ("main", "", None)
    assert change.origin == ChangeOrigin("", "", "", None)


@pytest.mark.parametrize(
    ("op", "edited", "gives_up"),
    [
        ("add", None, False),
        ("delete", None, True),
        ("add", Edited(None, b"A.\n"), False),
        ("update", Edited(b"A.\n", b"B.\n"), True),
    ],
)
def test_what_takes_away_or_rewrites_gives_something_up(
    op: Op, edited: Edited | None, gives_up: bool
) -> None:
    change = Change(op, "a", "A.", "project", "A.", "why", 1.0, False, edited=edited)
    assert change.gives_up is gives_up


def test_a_header_without_a_time_is_older_than_any() -> None:
    assert Header("project", "main", "a.md", "a", "A.", "project").time == 0
