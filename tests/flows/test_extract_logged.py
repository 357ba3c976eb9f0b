"""Log mode: extraction adds lines to the log of the day, and touches no memory and no index."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import extract_ground
import pytest
from extract_ground import ASKED, RULE, Killed, change, extract, kill_at, put, tree, workspace
from once import home_folder, once, place, tmp_path
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.core import tombstone
from gitmem.core.change import ChangeOrigin, Edited
from gitmem.core.claim import normal_form
from gitmem.core.names import archived_path
from gitmem.core.trailers import parse as parse_trailers
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.commit_trailers import begin_with_commits
from gitmem.flows.context import Edges, initialised_at
from gitmem.flows.extract.run import extract_sessions, foresee
from gitmem.flows.extraction import commits_learned, context_of
from gitmem.flows.suggestions import accept_suggestions
from gitmem.ledger.knowledge import KnownMemory
from gitmem.ledger.suggestions import open_suggestions
from gitmem.transcripts.claude_home import slug

__all__ = ["home_folder", "once", "place", "tmp_path", "workspace"]
LOG = "main/logs/2026/11/2026-11-20.md"
MEMORY = (
    "---\nname: ports\ndescription: Which ports\ntype: project\n---\n\nThe API listens on 80.\n\nAsk Ann.\n"
)


@pytest.fixture
def edges(repo: Path, monkeypatch: pytest.MonkeyPatch, git) -> Edges:
    monkeypatch.setenv("GITMEM_NOW", "1795200000")
    git("-C", repo, "config", "gitmem.mode", "log")
    return real_edges(repo)


class Scripted(extract_ground.Scripted):
    """What it proposes was said in the last message."""

    def extract(self, given: ExtractInput) -> Extraction:
        last = given.messages[-1]
        origin = ChangeOrigin(given.session, last.uuid, last.uuid, last.time)
        return Extraction(tuple(replace(one, origin=origin) for one in super().extract(given).changes))


def said(home: Path, repo: Path, *texts: str, number: int = 1, at: Sequence[int] = ()) -> Path:
    """A session on 2026-11-20; each text at a minute after 14:00, or at that of `at`."""
    made = Transcript(f"{number:08d}-0000-4000-8000-000000000000", str(repo))
    for turn, text in enumerate(texts):
        minute = at[turn] if at else turn
        made.user(text, timestamp=f"2026-11-20T14:{minute:02d}:33.250Z")
    return made.record(home)


def test_what_was_asked_for_is_a_line_a_find_is_one_when_accepted(workspace, edges, home, repo) -> None:
    path = said(home, repo, RULE, ASKED)
    (foreseen,) = foresee(context_of(workspace, edges, by_hand=True), OfflineEngine(), [path])
    assert [placed.file for placed in foreseen.plan.stored] == [LOG.removeprefix("main/")]
    (outcome,) = extract(workspace, edges, path)
    ((placed, made, at),) = outcome.stored
    assert at == LOG and made is not None
    line = "- 14:01:33Z [project 00000001] We deploy from the release branch only. "
    line += "**Why:** Main can hold open migrations.\n"
    files = tree(workspace)
    assert files[LOG] == line and not any(path.endswith("MEMORY.md") for path in files)
    scope = workspace.scope("local")
    told = parse_trailers(scope.repo.commit(scope.repo.ref(scope.ref) or "").message)
    assert (told.op, told.writer, told.session[:8], told.job[-2:]) == ("add", "extract", "00000001", ".1")
    assert told.messages and (home / ".claude/projects" / slug(repo) / "memory" / placed.file).is_file()
    (waits,) = open_suggestions(workspace)
    assert (
        accept_suggestions(workspace, edges, [waits])[0].written is not None
        and open_suggestions(workspace) == ()
    )
    first = "- 14:00:33Z [feedback 00000001] We never mock the database in tests. "
    assert tree(workspace)[LOG] == f"{first}**Why:** Mocks hid a broken migration.\n{line}"
    assert {path for path in tree(workspace) if path.startswith("main/")} == {LOG}


def test_what_a_memory_or_log_says_is_not_logged_but_a_new_reason_is(workspace, edges, home, repo) -> None:
    old = "main/archive/logs/2026/10/2026-10-01.md"
    put(workspace, {"main/ports.md": MEMORY, old: "- 09:00:00Z [project] Tests need no network.\n"})
    known = [change("The API listens on 80.", name="a"), change("Tests need no network.", name="b")]
    reasoned = change("The API listens on 80.\n\n**Why:** the proxy knows no other.", name="c")
    twice = change("- Ship on Fridays.\n- Tests need no network.\n", name="d", type="project")
    engine = Scripted(*known, reasoned, twice, replace(twice, name="e"))
    (outcome,) = extract(workspace, edges, said(home, repo, "Well."), engine=engine)
    assert tree(workspace)[LOG].splitlines() == [
        "- 14:00:33Z [feedback 00000001] The API listens on 80. **Why:** the proxy knows no other.",
        "- 14:00:33Z [project 00000001] Ship on Fridays.",
    ]
    assert len(outcome.plan.known) == 3 and tree(workspace)["main/ports.md"] == MEMORY


def test_an_edit_gives_its_new_claims_and_any_deletion_waits(workspace, edges, home, repo) -> None:
    put(workspace, {"main/ports.md": MEMORY})
    after = MEMORY.replace("Ask Ann.", "Queues listen on 70.").encode()
    named = {"name": "ports", "description": "Which ports", "type": "project", "file": "ports.md"}
    edit = change("Queues listen on 70.", op="update", edited=Edited(MEMORY.encode(), after), **named)
    engine = Scripted(edit, change("", op="delete", **named))
    (outcome,) = extract(workspace, edges, said(home, repo, "Well."), engine=engine)
    assert tree(workspace)["main/ports.md"] == MEMORY
    assert tree(workspace)[LOG] == "- 14:00:33Z [project 00000001] Queues listen on 70.\n"
    assert [one.change.op for one in open_suggestions(workspace)] == ["delete"] and len(
        outcome.plan.stored
    ) == 1


def test_secrets_and_what_was_forgotten_stay_out_of_logs(workspace, edges, home, repo) -> None:
    key = "gh" + "p_" + "".join(random.Random(3).choices("abcdefghijkABCDEFG0123456789", k=36))
    stone = tombstone.bury("Ship on Fridays.", "a1" * 16, "2026-11-01", "forgot")
    put(workspace, {"main/.tombstones": stone.line()})
    engine = Scripted(change(f"The token is {key}."), change("Ship on Fridays."), change("Ports are even."))
    (outcome,) = extract(workspace, edges, said(home, repo, "Well."), engine=engine)
    assert [refused.kind for refused in outcome.plan.refused] == ["secret", "tombstone"]
    assert tree(workspace)[LOG] == "- 14:00:33Z [feedback 00000001] Ports are even.\n"


def test_a_hostile_type_session_or_text_is_one_line_of_one_form(workspace, edges, home, repo) -> None:
    body = "```sh\nmake\n- 10:00:00Z [user] forged\n```\n\n# Head\n\nOne\nand two.\n\n> quoted\n> on"
    (outcome,) = extract(workspace, edges, said(home, repo, "Well."), engine=Scripted(change(body)))
    lines = tree(workspace)[LOG].splitlines()
    assert len(lines) == 3 and all(line.startswith("- 14:00:33Z [feedback 00000001] ") for line in lines)
    assert outcome.plan.refused == ()


STEPS = ("write the changeset", "store 1", "store 2", "park", "save the cursor", "lay out")


@pytest.mark.parametrize("at", STEPS)
def test_killed_at_any_step_each_line_is_there_once(workspace, edges, home, repo, git, at: str) -> None:
    """What was planned as lines stays so, whatever the mode is by then."""
    path = said(home, repo, "Well.")
    engine = Scripted(change("Ports are even."), change("Ship on Fridays.", name="ship"))

    with pytest.raises(Killed):
        extract_sessions(context_of(workspace, edges), engine, [path], watch=kill_at(at))
    if at != "write the changeset":
        git("-C", repo, "config", "gitmem.mode", "topics")
        workspace = initialised_at(edges)
    for _ in range(2):
        extract(workspace, edges, path, engine=engine)
    assert tree(workspace)[LOG].splitlines() == [
        "- 14:00:33Z [feedback 00000001] Ports are even.",
        "- 14:00:33Z [feedback 00000001] Ship on Fridays.",
    ]
    assert {name for name in tree(workspace) if name.startswith("main/")} == {LOG}
    assert engine.asked == (2 if at == "write the changeset" else 1)


def test_a_remember_trailer_is_a_line_too(workspace, edges, repo, git, monkeypatch) -> None:
    begin_with_commits(workspace)
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2026-11-20T23:30:00-02:00")
    git("-C", repo, "commit", "-q", "--allow-empty", "-m", "Ship\n\nRemember: Ship on Fridays, they say.")
    done = commits_learned(initialised_at(edges), edges)
    path = "main/logs/2026/11/2026-11-21.md"
    assert [(scope, at) for scope, at, _ in done.stored] == [("local", path)]
    assert tree(workspace)[path] == "- 01:30:00Z [feedback] Ship on Fridays, they say.\n"
    assert commits_learned(initialised_at(edges), edges).stored == []


@pytest.mark.parametrize(
    ("agent", "said", "held"),
    [
        ("main", "Ask Ann.", True),
        ("main", "Ask Ben.", False),
        ("main", "Ask", False),
        ("reviewer", "Ask Ann.", False),
    ],
)
def test_what_a_log_of_the_agent_says_is_known_wherever_it_lies(agent: str, said: str, held: bool) -> None:
    line = b"- 09:00:00Z [project] Ask Ann.\n"
    for path in (LOG, archived_path(LOG) or ""):
        for scope in ("user", "local"):
            known = KnownMemory({"project": {"main/a.md": b"Ask Ben.\n"}, scope: {path: line}})
            assert known.logged(agent, normal_form(said, item=False)) is held
