"""Daily logs in live directories: lines are added, and whatever goes or changes stands there again."""

from __future__ import annotations

import pytest
from live_ground import LiveGround

from gitmem.core import tombstone

LOG = "logs/2026/11/2026-11-20.md"
ONE, TWO = "- 10:00:00Z [project] One.\n", "- 11:00:00Z [project] Two.\n"


@pytest.mark.parametrize(
    ("now", "then", "lines"),
    [
        (TWO, ONE + TWO, "1 line"),
        (ONE.replace("One", "Else") + TWO, ONE.replace("One", "Else") + ONE + TWO, "1 line"),
        ("", ONE + TWO, "2 lines"),
        (None, ONE + TWO, "2 lines"),
    ],
)
def test_lines_that_go_or_change_stand_there_again_and_the_save_says_so(
    ground: LiveGround, now: str | None, then: str, lines: str
) -> None:
    ground.push({LOG: ONE + TWO})
    ground.save()
    path = ground.file(LOG)
    assert path.read_text() == ONE + TWO
    if now is None:
        path.unlink()
    else:
        path.write_text(now)
    saved = ground.save(delete=True)
    assert path.read_text() == ground.stored[LOG] == then
    assert saved.plan.held[LOG].startswith(f"is a log, which is only added to: {lines} ")
    assert not ground.save().plan.held


def test_an_added_line_is_saved_as_it_is(ground: LiveGround) -> None:
    ground.push({LOG: ONE})
    ground.save()
    with ground.file(LOG).open("a") as file:
        file.write("- 09:00 as the agent put it\n")
    assert not ground.save().plan.held
    assert ground.stored[LOG] == ground.file(LOG).read_text() == ONE + "- 09:00 as the agent put it\n"


def test_what_was_forgotten_goes_from_a_log_that_was_edited_meanwhile_and_may_not_come_back(ground) -> None:
    ground.push({LOG: ONE + TWO})
    ground.save()
    stone = tombstone.bury("One.", "a1" * 16, "2026-11-20", "forgot").line()
    ground.push({LOG: TWO, tombstone.FILE: stone})
    path = ground.file(LOG)
    path.write_text(ONE + TWO + "- 12:00:00Z [project] Three.\n")
    ground.save()
    assert ground.stored[LOG] == path.read_text() == TWO + "- 12:00:00Z [project] Three.\n"
    path.write_text(path.read_text() + "- 13:00:00Z [feedback ab] One.\n")
    assert "forgotten" in ground.save().plan.held[LOG]
    assert "One." not in ground.stored[LOG]
