"""Daily logs in live directories: lines are added, and whatever goes or changes stands there again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitmem.core import tombstone
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land
from gitmem.ledger.live_directories import LiveDirectory
from gitmem.ledger.working_copy import Saved

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
LOG = "logs/2026/11/2026-11-20.md"
ONE, TWO = "- 10:00:00Z [project] One.\n", "- 11:00:00Z [project] Two.\n"
Run = Callable[..., Saved]


def put(live: LiveDirectory, files: dict[str, str | None]) -> None:
    edits = {
        f"{live.agent}/{name}": None if text is None else text.encode() for name, text in files.items()
    }
    land(live.scope, lambda _: Write(edits, "Put", Provenance(op="add")), ANN)


def stored(live: LiveDirectory) -> str | None:
    repo = live.scope.repo
    files = read_files(repo, repo.commit(repo.ref(live.scope.ref) or "").tree)
    found = files.get(f"{live.agent}/{LOG}")
    return None if found is None else found.decode()


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
    live: LiveDirectory, run: Run, now: str | None, then: str, lines: str
) -> None:
    put(live, {LOG: ONE + TWO})
    run()
    path = live.path / LOG
    assert path.read_text() == ONE + TWO
    if now is None:
        path.unlink()
    else:
        path.write_text(now)
    saved = run(delete=True)
    assert path.read_text() == stored(live) == then
    assert saved.plan.held[LOG].startswith(f"is a log, which is only added to: {lines} ")
    assert not run().plan.held


def test_an_added_line_is_saved_as_it_is(live: LiveDirectory, run: Run) -> None:
    put(live, {LOG: ONE})
    run()
    with (live.path / LOG).open("a") as file:
        file.write("- 09:00 as the agent put it\n")
    assert not run().plan.held
    assert stored(live) == (live.path / LOG).read_text() == ONE + "- 09:00 as the agent put it\n"


def test_what_was_forgotten_goes_from_a_log_that_was_edited_meanwhile_and_may_not_come_back(
    live: LiveDirectory, run: Run
) -> None:
    put(live, {LOG: ONE + TWO})
    run()
    stone = tombstone.bury("One.", "a1" * 16, "2026-11-20", "forgot").line()
    put(live, {LOG: TWO, tombstone.FILE: stone})
    path = live.path / LOG
    path.write_text(ONE + TWO + "- 12:00:00Z [project] Three.\n")
    run()
    assert stored(live) == path.read_text() == TWO + "- 12:00:00Z [project] Three.\n"
    path.write_text(path.read_text() + "- 13:00:00Z [feedback ab] One.\n")
    assert "forgotten" in run().plan.held[LOG]
    assert "One." not in (stored(live) or "")
