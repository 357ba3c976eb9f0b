"""What every engine owes, whoever thinks: each of the four jobs, done where there is something to do.

Engines that ask a model are given one that says nothing of use, which is the least that may be counted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from messages_api import Answer, MessagesApi
from talk import NOW, Counting, agent, engine, memory, person

from gitmem.core.account import references
from gitmem.core.session_notes import TEMPLATE
from gitmem.core.trailers import Provenance, format_message, parse
from gitmem.dream.proof import prove_plan
from gitmem.engines.agent import AgentEngine
from gitmem.engines.engine import ConsolidateInput, DocumentInput, Engine, ExtractInput, NotesInput, Stale
from gitmem.engines.offline import OfflineEngine

SAID = (person(1, "Remember: port 4000 is for the docs."), agent(2, "I will."))
SESSION = ExtractInput(SAID, session="s1", now=NOW)
TWICE = "Never mock the database in integration tests."
FILES = {f"main/{name}.md": memory(name, TWICE) for name in ("mocks", "tests")}
FILES["main/ports.md"] = memory("ports", "Ports begin at 4000.")
TEXT = "# MAGIC DOC: Layers\n\nThe store (`src/store.py`) holds it.\nPorts begin at 4000.\n"
RENAMED = Stale(3, "src/store.py", "file", "src/base.py", "git saw it renamed")


@dataclass(frozen=True)
class Asked:
    """An engine, and the server that it asks; None where it asks none."""

    engine: Engine
    api: MessagesApi | None = None


def unhelpful(body: Mapping[str, object]) -> Answer:
    """Finds all in order."""
    return Answer("nothing\n\n```json\n[]\n```")


@pytest.fixture(params=["offline", "agent", "anthropic"])
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    if request.param == "anthropic":
        with MessagesApi(unhelpful) as api:
            yield Asked(engine(api, Counting()), api)
    else:
        yield Asked(OfflineEngine() if request.param == "offline" else AgentEngine())


def test_a_commit_can_name_it(asked: Asked) -> None:
    message = format_message("Learn", Provenance(op="add", writer="extract", engine=asked.engine.name))
    assert parse(message).engine == asked.engine.name != ""


def test_what_was_plainly_asked_for_is_stored(asked: Asked) -> None:
    (kept,) = [one for one in asked.engine.extract(SESSION).changes if one.op != "noop"]
    assert (kept.op, kept.asked, kept.origin.session, kept.origin.first) == ("add", True, "s1", "u1")
    assert "4000" in kept.body


def test_a_dream_loses_no_claim_and_tells_of_its_phases(asked: Asked) -> None:
    phases = set()
    made = asked.engine.consolidate(ConsolidateInput(FILES, now=NOW), lambda step: phases.add(step.phase))
    assert [one.kind for one in made.changes] == ["merge"] and not prove_plan(FILES, made.changes)
    files = dict(FILES)
    made.changes[0].apply_to(files)
    assert {claim.text for claim in references(files).values()} == {
        claim.text for claim in references(FILES).values()
    }
    assert "consolidate" in phases


def test_notes_keep_their_form(asked: Asked) -> None:
    text = asked.engine.sum_up(NotesInput("s1", SAID, 0, TEMPLATE, now=NOW)).text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        line for line in TEMPLATE.splitlines() if line.startswith("#")
    ]


def test_a_document_changes_where_it_is_stale_alone(asked: Asked) -> None:
    made = asked.engine.document(
        DocumentInput("docs/layers.md", TEXT, "Layers", "", "", (RENAMED,), now=NOW)
    )
    # The scripted model leaves all as it is.
    assert made.text == (TEXT if asked.api else TEXT.replace("src/store.py", "src/base.py"))


def test_where_there_is_nothing_to_do_nobody_is_asked(asked: Asked) -> None:
    idle = asked.engine
    assert idle.extract(ExtractInput(())).changes == ()
    assert idle.consolidate(ConsolidateInput({}, scope="local")).changes == ()
    assert idle.consolidate(ConsolidateInput({"main/MEMORY.md": b""})).changes == ()
    assert idle.sum_up(NotesInput("s1", (), 0, TEMPLATE)).text == TEMPLATE
    assert asked.api is None or asked.api.requests == []
