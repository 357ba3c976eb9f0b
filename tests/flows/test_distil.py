"""A week of daily logs becomes memories by a dream that is accepted; a claim leads to line and message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distil_ground import SESSION, line, tell, waits
from dream_ground import ANN, DAY, Ground, ground_once, memory, night, notes, waiting
from once import Once

from gitmem.core.account import account, log_references, references
from gitmem.core.claim import normal_form
from gitmem.core.tombstone import FILE, bury
from gitmem.core.trailers import Provenance, format_message, parse
from gitmem.dream.gather import unsettled
from gitmem.dream.review import Dream, accept, open_dreams, reject
from gitmem.flows.blame import as_value, blame
from gitmem.flows.dream import refresh_dream
from gitmem.flows.review_dream import tell as show
from gitmem.flows.review_edit import EditedFile, edit_dream
from gitmem.git.refs import move_ref
from gitmem.git.trees import read_files
from gitmem.ledger.restore import take_back

LINTER = line("Run the linter before every push. **Why:** CI takes ten minutes.")
AGAIN = line("always run the linter before every push", "2026-11-17T09:00:00")
MOVED = line("The staging cluster moved to Frankfurt yesterday.", "2026-11-17T09:00:01", "project")
DOWN = line("The staging server is down today.", "2026-11-19T09:00:02", "project")
TABS = line("Indent Makefiles with tabs. **Why:** make refuses spaces.", "2026-11-18T09:00:02", "project")
WEEK = (LINTER, AGAIN, MOVED, TABS, DOWN)
LEARNT = "main/run-linter-before-push.md"
FRANKFURT = "main/staging-cluster-moved-frankfurt-yesterday.md"


def logged(ground: Ground) -> None:
    tabs = notes(tabs=("Indent with tabs", "Indent Makefiles with tabs."))
    ground.put(tabs, "local", time=ANN.time - 30 * DAY)
    tell(ground, WEEK)


def dreamt(ground: Ground) -> None:
    logged(ground)
    waiting(ground, "local")


@pytest.fixture
def ground(repo: Path, once: Once[None], request: pytest.FixtureRequest) -> Ground:
    return ground_once(once, repo, then=dreamt if "found" in request.fixturenames else logged)


@pytest.fixture
def found(ground: Ground) -> Dream:
    (waits,) = open_dreams(ground.workspace)
    return waits


def logs(ground: Ground) -> dict[str, str]:
    return {path: text for path, text in ground.tree("local").items() if "/logs/" in path}


def blamed(ground: Ground, name: str) -> Iterator[dict[str, object]]:
    for one in blame(ground.workspace, ground.edges, name, None):
        yield as_value(one, {})


def test_a_weeks_log_becomes_memories_and_stays_as_it_is(ground: Ground, found: Dream) -> None:
    before = ground.tree("local")
    assert [change.subject for change in found.changes] == [
        "Complete tabs from the log",
        "Learn run-linter-before-push from the log",
        "Learn staging-cluster-moved-frankfurt-yesterday from the log",
    ]
    landed = accept(ground.workspace, found.id, None, ANN, ground.now)
    after = ground.tree("local")
    assert after[LEARNT].endswith(
        "\nAlways run the linter before every push.\n\n**Why:** CI takes ten minutes.\n"
    )
    assert "type: feedback" in after[LEARNT] and "type: project" in after[FRANKFURT]
    assert "moved to Frankfurt yesterday (2026-11-16)." in after[FRANKFURT]
    assert after["main/tabs.md"].endswith("with tabs.\n\n**Why:** make refuses spaces.\n")
    assert "(run-linter-before-push.md)" in after["main/MEMORY.md"]
    assert {path: before[path] for path in logs(ground)} == logs(ground) and len(logs(ground)) == 4
    assert landed.written is not None
    told = parse(found.scope.repo.commit(landed.written.commit).message)
    then, now = [{path: text.encode() for path, text in tree.items()} for tree in (before, after)]
    assert account(then, now, told.claims).fates == told.claims
    assert {fate.source for fate in told.claims} <= log_references(then).keys()
    assert {fate.target for fate in told.claims} <= references(now).keys()


def test_what_only_mattered_on_its_day_is_told_and_left_and_nothing_is_proposed_twice(
    ground: Ground, found: Dream
) -> None:
    assert "it only mattered on its day: “The staging server is down today.”" in found.summary
    assert night(ground, "local") is None, "it waits for a person already"
    accept(ground.workspace, found.id, None, ANN, ground.now)
    lasting, passing = waits(ground)
    assert lasting == [] and passing == [DOWN.text]
    assert waits(ground, ground.now + 20 * DAY) == ([], []), "two weeks on its log may leave the hot days"
    assert night(ground, "local") is None


def test_a_review_shows_line_time_and_session_of_each_new_claim(ground: Ground, found: Dream) -> None:
    told = show(ground.workspace, ground.edges, found)
    text = "\n".join(told.lines)
    assert "   + Always run the linter before every push." in told.lines
    assert f"     log 2026-11-16 14:05:33Z [feedback, session 258c7280]: {LINTER.text}" in told.lines
    assert f"     log 2026-11-17 09:00:00Z [feedback, session 258c7280]: {AGAIN.text}" in told.lines
    assert "     said by Ann, 2026-11-16, by extract (offline), session 258c7280" in told.lines
    assert "   = Indent Makefiles with tabs." in told.lines and "proved: no claim is lost" in text
    claims = [one for change in told.value["changes"] for one in change["claims"]]
    assert {one["line"]["text"] for one in claims} == {LINTER.text, AGAIN.text, MOVED.text, TABS.text}
    (moved,) = (one for one in claims if one["line"]["text"] == MOVED.text)
    assert (
        moved["line"]["time"].startswith("2026-11-17T09:00:01") and moved["line"]["session"] == "258c7280"
    )
    assert moved["fate"] == "merged" and moved["before"] == MOVED.text and "(2026-11-16)" in moved["after"]
    assert [one["session"] for one in moved["origins"]] == [SESSION]


def test_blame_leads_through_the_line_to_session_and_message(ground: Ground, found: Dream) -> None:
    accept(ground.workspace, found.id, None, ANN, ground.now)
    why = next(
        one for one in blamed(ground, "run-linter-before-push") if str(one["text"]).startswith("**Why")
    )
    origin: Any
    (origin,) = why["origins"]  # type: ignore[misc]
    assert origin["path"] == "main/logs/2026/11/2026-11-16.md" and origin["line"]["text"] == LINTER.text
    assert origin["told"][0]["session"] == SESSION and origin["told"][0]["messages"] == ["u-16140533-0"] * 2
    said = next(
        one for one in blamed(ground, "run-linter-before-push") if str(one["text"]).endswith("push.")
    )
    days = [origin["path"][-13:-3] for origin in said["origins"]]  # type: ignore[attr-defined]
    assert days == ["2026-11-16", "2026-11-17"], "two lines said it"


def test_blame_survives_a_squash_and_a_rename(ground: Ground, found: Dream) -> None:
    place = ground.scope("local")
    repo, tip = place.repo, ground.tip("local")
    claims = tuple(fate for change in found.changes for fate in change.fates)
    message = format_message("Dream", Provenance("dream", "dream", engine="offline", claims=claims))
    squashed = repo.add_commit(repo.commit(found.tip).tree, (tip,), ANN, ANN, message)
    move_ref(repo, place.ref, squashed, tip, "test")
    text = ground.tree("local")[LEARNT]
    ground.put({LEARNT: None, "main/linting.md": text.replace("name: run-linter", "name: linter")}, "local")
    (said, *_) = (one for one in blamed(ground, "linting") if str(one["text"]).endswith("push."))
    assert said["origins"][0]["line"]["text"] == LINTER.text  # type: ignore[index]
    assert waits(ground)[0] == [], "what a squash landed is settled"
    assert night(ground, "local") is None and open_dreams(ground.workspace) == ()


def test_an_undone_accept_leaves_the_facts_to_be_proposed_again(ground: Ground, found: Dream) -> None:
    landed = accept(ground.workspace, found.id, None, ANN, ground.now)
    assert landed.written is not None
    assert take_back(found.scope, found.scope.repo.commit(landed.written.commit), ANN)
    assert LEARNT not in ground.tree("local")
    assert waits(ground)[0] == [LINTER.text, AGAIN.text, MOVED.text, TABS.text]


def test_a_rejected_fact_is_settled_and_the_others_are_taken(ground: Ground, found: Dream) -> None:
    reject(ground.workspace, found.id, (3,), "moved back", ANN, ground.now)
    assert MOVED.text not in waits(ground)[0]
    accept(ground.workspace, found.id, (2,), ANN, ground.now)
    assert LEARNT in ground.tree("local") and FRANKFURT not in ground.tree("local")
    assert waits(ground)[0] == [TABS.text], "one change is still open"
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert waits(ground)[0] == [] and night(ground, "local") is None


def test_a_claim_that_a_person_rewords_on_the_branch_keeps_its_line(ground: Ground, found: Dream) -> None:
    made = found.changes[1].files[LEARNT][1]
    assert made is not None
    edited = made.decode().replace("ten minutes", "twelve minutes").encode()
    done = edit_dream(ground.workspace, ground.edges, found, 2, given=EditedFile(LEARNT, edited))
    assert done.failures == ()
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert "twelve minutes" in ground.tree("local")[LEARNT] and waits(ground)[0] == []
    why = next(one for one in blamed(ground, "run-linter-before-push") if "twelve" in str(one["text"]))
    # The line said ten: it is named as what was superseded, and did not say this.
    assert why["origins"][0]["line"] is None  # type: ignore[index]
    assert "ten minutes" in str(why["replaced"])


def test_a_dream_is_refreshed_onto_logs_that_grew(ground: Ground, found: Dream) -> None:
    more = line("Tag releases with a v, as in v1.2.0.", "2026-11-20T08:00:00", "project")
    tell(ground, [more])
    done = refresh_dream(ground.workspace, ground.edges, found.id)
    assert done.failures == () and done.overtaken == () and len(done.dream.open) == 3
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert waits(ground)[0] == [more.text]
    assert "Tag releases" in logs(ground)["main/logs/2026/11/2026-11-20.md"]


@pytest.mark.parametrize("kind", ["forgot", "rejected"])
def test_a_fact_that_a_person_forgot_or_rejected_waits_no_more(ground: Ground, kind: str) -> None:
    tell(ground, [line("Prefer early returns.", "2026-11-20T08:00:00")], agent="reviewer")
    assert "Prefer early returns." in waits(ground)[0]
    stone = bury(normal_form("Prefer early returns.", item=False), "00ff" * 4, "2026-11-20", kind)  # type: ignore[arg-type]
    ground.put({f"reviewer/{FILE}": f"{stone.line()}\n"}, "local")
    assert "Prefer early returns." not in waits(ground)[0]


def test_facts_of_one_second_wait_in_one_order(ground: Ground) -> None:
    when, what = "2026-11-20T08:00:00", ("tabs", "tea", "ports", "oak")
    tell(ground, [line(f"Prefer {one}.", when) for one in what])
    place, tip = ground.scope("local"), ground.tip("local")
    files = read_files(place.repo, place.repo.commit(tip).tree)
    found = [*unsettled(place.repo, tip, files, now=ground.now).lasting.items()]
    assert found == sorted(found, key=lambda one: (one[1].when, one[0])) and len(found) > 4


def test_facts_of_each_agent_go_to_its_own_memories(ground: Ground) -> None:
    tell(ground, [line("Prefer early returns.", "2026-11-20T08:00:00")], agent="reviewer")
    accept(ground.workspace, waiting(ground, "local").id, None, ANN, ground.now)
    assert "reviewer/prefer-early-returns.md" in ground.tree("local")


def test_a_fact_that_says_all_of_a_claim_and_more_takes_its_place(ground: Ground) -> None:
    more = "Indent Makefiles with tabs. Recipes have five lines."
    tell(ground, [line(more, "2026-11-20T08:00:00", "project")])
    found = waiting(ground, "local")
    assert sum("main/tabs.md" in change.files for change in found.changes) == 1, "one change a memory"
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert f"\n{more}\n\n**Why:** make refuses spaces.\n" in ground.tree("local")["main/tabs.md"]


def test_what_is_about_a_person_makes_no_memory_of_the_project(ground: Ground) -> None:
    tell(ground, [line("I am colour-blind.", type="user"), LINTER], "project")
    found = night(ground, "project")
    assert found is not None and [change.subject for change in found.changes] == [
        "Learn run-linter-before-push from the log"
    ]
    assert "it is about a person, and not for the project" in found.summary


def test_a_new_memory_gets_a_name_of_its_own(ground: Ground) -> None:
    taken = memory("Something else.", "Else", "run-linter-before-push")
    ground.put({LEARNT: taken}, "local")
    accept(ground.workspace, waiting(ground, "local").id, None, ANN, ground.now)
    after = ground.tree("local")
    assert after[LEARNT] == taken and "every push." in after["main/run-linter-before-push-2.md"]
