"""Which commits tell what became of claims: those that nobody took back, as far back as is asked."""

from __future__ import annotations

import pytest
from memory_repository import START, MemoryRepository

from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.ledger.accounts import LAG, accounts, fates_of_lines

LINE, OTHER = "main/logs/2026/11/2026-11-20.md#0123456789ab", "main/logs/2026/11/2026-11-21.md#0123456789ab"


def told(subject: str, undoes: str = "") -> str:
    claims = () if undoes else (Fate("dropped", "main/a.md#0123456789ab", "", "it is old"),)
    return format_message(subject, Provenance("dream", "dream", claims=claims, undoes=undoes))


def subjects(fake: MemoryRepository, tip: str, since: float = START) -> list[str]:
    return [commit.message.split("\n")[0] for commit in accounts(fake, tip, since)]


def test_what_was_taken_back_and_what_came_with_it_is_left_out(fake: MemoryRepository) -> None:
    base = fake.put({"a": "1"}, message=told("Base"))
    plain = fake.put({"a": "2"}, base, time=START + 1, message="By hand\n")
    side = fake.put({"a": "2", "b": "1"}, base, time=START + 2, message=told("Side"))
    merge = fake.put({"a": "2", "b": "1"}, plain, side, time=START + 3, message=told("Merge"))
    lone = fake.put({"a": "3"}, merge, time=START + 4, message=told("Lone"))
    assert subjects(fake, lone) == ["Lone", "Merge", "Side", "Base"]
    undone = fake.put({"a": "2"}, lone, time=START + 5, message=told("Undo", undoes=lone))
    assert subjects(fake, undone) == ["Merge", "Side", "Base"]
    undone = fake.put({"a": "1"}, lone, time=START + 5, message=told("Undo", undoes=merge))
    assert subjects(fake, undone) == ["Lone", "Base"]


@pytest.mark.parametrize(("older", "found"), [(LAG, True), (LAG + 1, False)])
def test_history_is_followed_until_so_many_in_a_row_are_older(
    fake: MemoryRepository, older: int, found: bool
) -> None:
    """Clocks differ."""
    tip = fake.put({"a": "0"}, time=START, message=told("First"))
    for number in range(older - 1):
        tip = fake.put({"a": f"{number}"}, tip, time=START, message=f"Learn {number}\n")
    assert subjects(fake, tip, START + 1) == (["First"] if found else [])
    assert subjects(fake, tip, START) == ["First"], "as old as is asked about is not older"
    among = fake.put({"a": "x"}, tip, time=START + 1, message="Learn\n")
    assert subjects(fake, among, START + 1) == (["First"] if found else [])


def test_lines_of_logs_that_became_one_were_not_decided_on() -> None:
    fates = (
        Fate("merged", LINE, "main/a.md#0123456789ab"),
        Fate("dropped", LINE, "", "it is old"),
        Fate("merged", LINE, OTHER),
        Fate("merged", "main/a.md#0123456789ab", "main/b.md#0123456789ab"),
    )
    fake = MemoryRepository()
    message = format_message("Dream", Provenance("dream", "dream", claims=fates))
    assert list(fates_of_lines(fake.commit(fake.put({}, message=message)))) == list(fates[:2])
