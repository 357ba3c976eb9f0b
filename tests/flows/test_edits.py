"""What an engine that edits whole files proposes: merged into what stands by then, and accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from memory_files import proposed
from partial_engine import PartialEngine
from transcripts import Transcript

from gitmem.core import tombstone
from gitmem.core.change import Change, ChangeOrigin, Edited
from gitmem.core.claim import parse_body
from gitmem.core.memory import parse
from gitmem.core.trailers import Usage
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.flows.extract import run as extraction
from gitmem.flows.extract.plan import ExtractionPlan, Rules, plan_extraction
from gitmem.ledger.apply import apply
from gitmem.ledger.edits import claim_keys, fates, said_anew, taken_out
from gitmem.ledger.knowledge import KnownMemory
from gitmem.ledger.suggestions import change_from_json, change_to_json, digest, suggest
from gitmem.transcripts.claude_code import read_session

HEAD = "---\nname: ports\ndescription: Which ports\ntype: project\n---\n\n"
BEFORE = (HEAD + "API is 80.\n\nDatabase is 90.\n\nAsk Ann for more.\n").encode()
AFTER = (HEAD + "API is 80.\n\nDatabase is 91.\n\nQueues are 70.\n").encode()
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def edit(after: bytes = AFTER, before: bytes = BEFORE, **more: Any) -> Change:
    moved = "Database is 91.\n\nQueues are 70."
    told = ChangeOrigin("s", "u1", "u1", datetime(2026, 11, 20, 10, tzinfo=UTC))
    made = proposed("ports", op="update", body=moved, asked=True, origin=told, file="ports.md")
    return replace(made, **{"edited": Edited(before, after), **more})


class Editor(PartialEngine):
    """An engine that proposes what the test says."""

    name = "scripted"
    reads_history = True

    def __init__(self, *changes: Change, log: tuple[str, ...] = ()) -> None:
        self.changes, self.log = changes, log
        self.given: list[ExtractInput] = []

    def extract(self, given: ExtractInput) -> Extraction:
        self.given.append(given)
        return Extraction(self.changes, Usage(requests=1, input=10), self.log)


def plan(
    tmp_path: Path, *changes: Change, files: Mapping[str, bytes] | None = None, **rules: Any
) -> ExtractionPlan:
    made = Transcript()
    made.user("anything")
    read = read_session(made.write(tmp_path / "s.jsonl"))
    known = KnownMemory({"local": {"main/ports.md": BEFORE} if files is None else files})
    return plan_extraction(read, frozenset(), known, Editor(*changes), Rules(**rules))  # type: ignore[arg-type]


def carried(change: Change, current: bytes) -> tuple[str, dict[str, str]]:
    files = {"ports.md": current, "MEMORY.md": b"- [ports](ports.md)\n"}
    done = apply(change, files.keys(), files.get)
    assert done is not None
    words = {fate.source: str(fate.kind) for fate in done.fates}
    return (done.edits["ports.md"] or b"").decode(), words


def ref(text: str) -> str:
    (claim,) = parse_body(text).claims
    return f"main/ports.md#{claim.short}"


def test_an_edit_takes_out_what_it_took_out_and_says_so() -> None:
    text, words = carried(edit(), BEFORE)
    assert text == AFTER.decode()
    assert words == {ref("Database is 90."): "superseded", ref("Ask Ann for more."): "superseded"}
    only_less = edit((HEAD + "API is 80.\n\nDatabase is 90.\n").encode())
    text, words = carried(only_less, BEFORE)
    assert "Ann" not in text and words == {ref("Ask Ann for more."): "dropped"}
    assert apply(edit(), ["ports.md"], {"ports.md": AFTER}.get) is None, "nothing is left to change"


def test_what_was_written_meanwhile_stays_and_what_both_changed_stands_twice_as_disputed() -> None:
    meanwhile = BEFORE.replace(b"Ask Ann for more.", b"Ask Ann for more.\n\nLogs are 60.")
    text, words = carried(edit(), meanwhile)
    assert "Logs are 60." in text and "Queues are 70." in text and "Database is 90." not in text
    assert ref("Logs are 60.") not in words
    text, _ = carried(edit(), BEFORE.replace(b"Database is 90.", b"Database is 95."))
    assert "Database is 91. *(disputed" in text and "Database is 95. *(disputed" in text


def test_an_edit_of_a_memory_that_is_gone_keeps_what_it_said_anew() -> None:
    """A person's deletion stands; what was newly said is no part of it."""
    done = apply(edit(), ["other.md"], {"other.md": b"x"}.get)
    assert done is not None and done.op == "add"
    made = (done.edits["ports.md"] or b"").decode()
    assert "Queues are 70." in made and "API is 80." not in made


def test_a_new_description_supersedes_the_old_one() -> None:
    after = BEFORE.replace(b"Which ports", b"Which ports are taken")
    done = apply(edit(after), ["ports.md"], {"ports.md": BEFORE}.get)
    assert done is not None and b"Which ports are taken" in (done.edits["ports.md"] or b"")
    assert [fate.kind for fate in done.fates] == ["superseded"]
    assert taken_out(edit(after)) == ()


@pytest.mark.parametrize(
    ("mode", "asked", "after", "stored"),
    [
        ("auto", False, AFTER, False),
        ("auto", True, AFTER, True),
        ("auto", False, BEFORE + b"\nQueues are 70.\n", True),
        ("suggest", False, BEFORE + b"\nQueues are 70.\n", False),
    ],
)
def test_what_takes_claims_out_is_stored_only_when_asked(
    tmp_path: Path, mode: str, asked: bool, after: bytes, stored: bool
) -> None:
    done = plan(tmp_path, edit(after, asked=asked), mode=mode)
    assert [len(done.stored), len(done.suggested)] == ([1, 0] if stored else [0, 1])
    (placed,) = (*done.stored, *done.suggested)
    assert (placed.scope, placed.change.edited) == ("local", edit(after).edited)


def test_an_edit_is_refused_for_what_it_builds_on_and_for_what_it_brings(tmp_path: Path) -> None:
    """The content before is kept beside the change: a model must not write into it what it likes."""
    stone = tombstone.bury("Queues are 70.", "0" * 16, "2026-11-20", "forgot")
    buried = {"main/ports.md": BEFORE, "main/.tombstones": tombstone.with_stones("", [stone]).encode()}
    said = edit(BEFORE + f"\nThe token is {KEY}.\n".encode())
    front = edit(BEFORE.replace(b"type: project", b"type: project\ntoken: " + KEY.encode()))
    for change, files, kind in (
        (edit(before=BEFORE + b"\nInvented.\n"), None, "form"),
        (said, None, "secret"),
        (front, None, "secret"),
        (edit(), buried, "tombstone"),
    ):
        done = plan(tmp_path, change, files=files)
        assert [refused.kind for refused in done.refused] == [kind]
        assert KEY not in str(done.refused)


def test_a_secret_that_stands_there_already_keeps_no_edit_out(tmp_path: Path) -> None:
    """Only what is new is weighed: the rest is for `doctor` and `purge`."""
    before = BEFORE + f"\nThe token is {KEY}.\n".encode()
    change = edit(before + b"\nQueues are 70.\n", before)
    assert len(plan(tmp_path, change, files={"main/ports.md": before}).stored) == 1


def test_a_rejected_removal_is_not_proposed_again(tmp_path: Path) -> None:
    change = edit((HEAD + "API is 80.\n\nDatabase is 90.\n").encode())
    stones = [tombstone.bury(key, "0" * 16, "2026-11-20", "rejected") for key in claim_keys(change)]
    assert len(stones) == 1
    files = {"main/ports.md": BEFORE, "main/.tombstones": tombstone.with_stones("", stones).encode()}
    assert [refused.kind for refused in plan(tmp_path, change, files=files).refused] == ["tombstone"]
    other = edit(BEFORE + b"\nQueues are 70.\n")
    assert len(plan(tmp_path, other, files=files).stored) == 1


def test_a_rejected_deletion_is_not_proposed_again_and_buries_nothing_that_stays(tmp_path: Path) -> None:
    change = edit(op="delete", body="", edited=None, asked=False)
    assert [placed.change.op for placed in plan(tmp_path, change).suggested] == ["delete"]
    stones = [tombstone.bury(key, "0" * 16, "2026-11-20", "rejected") for key in claim_keys(change)]
    assert not any(tombstone.matches(stones, claim.key) for claim in parse("ports.md", BEFORE).claims)
    files = {"main/ports.md": BEFORE, f"main/{tombstone.FILE}": tombstone.with_stones("", stones).encode()}
    (refused,) = plan(tmp_path, change, files=files).refused
    assert refused.kind == "tombstone"
    # Said of another state of the memory, it is another proposal.
    assert plan(tmp_path, replace(change, description="Ports of old"), files=files).suggested


def test_dates_are_made_clear_in_what_is_new_alone(tmp_path: Path) -> None:
    before = BEFORE.replace(b"Ask Ann", b"Yesterday Ann left: ask Ann")
    change = edit(before + b"\nQueues move tomorrow.\n", before, body="Queues move tomorrow.")
    (placed,) = plan(tmp_path, change, files={"main/ports.md": before}).stored
    assert placed.change.edited is not None
    after = placed.change.edited.after.decode()
    assert "Queues move tomorrow (2026-11-21)." in after and "Yesterday Ann left" in after
    assert placed.change.body == "Queues move tomorrow (2026-11-21)."


def test_an_unclear_date_is_for_a_person_whatever_was_asked(tmp_path: Path) -> None:
    change = edit(BEFORE + b"\nQueues move next week.\n", body="Queues move next week.")
    done = plan(tmp_path, change, mode="auto")
    assert not done.stored and "unclear" in done.suggested[0].change.reason


def test_the_time_of_a_message_is_looked_up_where_the_engine_gives_none(tmp_path: Path) -> None:
    origin = ChangeOrigin(
        "s", "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000000"
    )
    change = edit(BEFORE + b"\nQueues move tomorrow.\n", origin=origin)
    (placed,) = plan(tmp_path, change).stored
    assert placed.change.edited is not None and b"(2026-11-21)" in placed.change.edited.after


def test_an_update_beats_a_near_duplicate_add_of_any_engine(tmp_path: Path) -> None:
    files = {
        "main/deploy.md": b"---\nname: deploy\ndescription: Deploy from the release branch only\n"
        b"type: project\n---\n\nOnly from release.\n"
    }
    new = edit(
        op="add", name="deploying", description="We deploy from the release branch", edited=None, file=""
    )
    new = replace(new, body="We deploy from the release branch, never from main.")
    (placed,) = plan(tmp_path, new, files=files).stored
    assert (placed.change.op, placed.file) == ("update", "deploy.md")
    apart = replace(new, name="lunch", description="Lunch is at noon", body="Lunch is at noon.")
    (placed,) = plan(tmp_path, apart, files=files).stored
    assert placed.change.op == "add"


def test_a_change_and_what_it_edits_survive_the_disk() -> None:
    change = edit(before=BEFORE.replace(b"\n", b"\r\n"))
    assert change_from_json(change_to_json(change)) == change
    assert change_from_json({**change_to_json(change), "edited": {"before": 3, "after": "x"}}) is None
    assert change_from_json(change_to_json(edit(AFTER + b"\xff"))) is None
    whole = extraction.ChangeSet(
        "j", "s", "anthropic:x", "", suggested=(suggest(change, "local", "2026-11-20T10:00:00Z", "a:x"),)
    )
    whole = replace(whole, usage="requests=1 input=10")
    assert extraction.from_json(extraction.to_json(whole)) == whole


def test_two_edits_that_bring_the_same_and_take_other_things_are_two() -> None:
    one, other = edit(AFTER), edit(BEFORE + b"\nDatabase is 91.\n\nQueues are 70.\n")
    assert digest(one) != digest(other)


def test_an_engine_gets_the_memory_and_the_history_it_asks_for(tmp_path: Path) -> None:
    made = Transcript()
    for text in ("one", "two", "three"):
        made.user(text)
        made.agent("Done.")
    read = read_session(made.write(tmp_path / "s.jsonl"))
    files = {"local": {"main/ports.md": BEFORE, "main/MEMORY.md": b"x", "reviewer/x.md": BEFORE}}
    engine = Editor(log=("Bash: refused",))
    handled = [message.uuid for message in read.messages[:3]]
    done = plan_extraction(read, handled, KnownMemory(files), engine, Rules(), worktree=tmp_path, now=7.0)
    (given,) = engine.given
    assert set(given.memory) == {"local/main/ports.md"}
    assert [message.text for message in given.messages if message.role == "person"] == ["three"]
    # Numbered over the whole session, each message keeps its place: none is left out, none comes twice.
    assert len({m.uuid for m in (*given.history, *given.messages)}) == len(read.messages)
    assert (given.transcript, given.worktree, given.now) == (tmp_path / "s.jsonl", tmp_path, 7.0)
    assert (done.usage, done.log) == (Usage(requests=1, input=10), ("Bash: refused",))


def test_every_claim_that_went_is_accounted_for() -> None:
    before, after = parse("ports.md", BEFORE), parse("ports.md", AFTER)
    gone = {claim.key for claim in before.claims} - {claim.key for claim in after.claims}
    assert len(fates(before, after, agent="main")) == len(gone) == 2
    assert [claim.text for claim in said_anew(edit())] == ["Database is 91.", "Queues are 70."]
