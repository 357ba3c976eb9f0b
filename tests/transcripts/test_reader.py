"""Reading a session bit by bit: the same messages as in one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import Rollout
from transcripts import Transcript, reasoned

from gitmem.transcripts.discover import read
from gitmem.transcripts.model import Message, Session

TEXTS = ["fix it", "use tabs", "why?"]
STEPS = [
    "user", "user", "agent", "agent", "call", "result", "enqueue", "take", "pop", "compact", "again",
    "block",
]  # fmt: skip
DAMAGE = [b"{cut\n", b"\n", b'{"type": "future"}\n', b"[1]\n"]


def told(messages: Iterable[Message]) -> list[tuple[object, ...]]:
    """What may not depend on where readings ended: a reply may be told in halves, and without results."""
    found: list[tuple[object, ...]] = []
    for one in messages:
        if one.role == "person":
            found.append((one.uuid, one.text, one.source, one.context, one.time, one.branch))
        else:
            found += [(one.role, text) for text in one.text.split("\n") if text]
            found += [(call.id, call.name, call.input) for call in one.tools]
    return sorted(found, key=repr)


@st.composite
def transcripts(draw: st.DrawFn) -> list[bytes]:
    """Sessions without rewinds: with all else that one record tells of another."""
    talk = Transcript()
    waiting: list[str] = []
    calls = 0
    for number, step in enumerate(draw(st.lists(st.sampled_from(STEPS), max_size=16))):
        text = draw(st.sampled_from(TEXTS))
        if step == "user":
            talk.user(text)
        elif step == "agent":
            talk.agent(f"reply {number}", id=f"m{number % 3}-{number // 6}")
        elif step == "block":
            talk.user([{"type": "text", "text": "[Request interrupted by user]"}])
        elif step == "call":
            calls += 1
            talk.call(f"t{calls}", draw(st.sampled_from(["Bash", "AskUserQuestion"])), command="ls")
        elif step == "result" and calls:
            error = draw(st.booleans())
            answers = {"answers": {"Which?": f"this {number}"}}
            talk.result(
                f"t{calls}", reasoned(f"no {number}") if error else "ok", error, toolUseResult=answers
            )
        elif step == "enqueue":
            talk.queue("enqueue", text)
            waiting.append(text)
        elif step == "take" and waiting:
            talk.user(waiting.pop(0))
        elif step == "pop":
            talk.queue("popAll", text)
            waiting = [one for one in waiting if one != text]
        elif step == "compact":
            talk.compact()
            talk.user(f"summary {number}", isCompactSummary=True)
    lines = [f"{line}\n".encode() for line in talk.lines]
    for at in draw(st.lists(st.integers(0, 16), max_size=2)):
        lines.insert(at, draw(st.sampled_from(DAMAGE)))
    return lines


@st.composite
def rollouts(draw: st.DrawFn) -> list[bytes]:
    """Codex recordings with and without events."""
    talk = Rollout()
    events = draw(st.booleans())
    for number, step in enumerate(draw(st.lists(st.sampled_from(STEPS), max_size=14))):
        text = draw(st.sampled_from(TEXTS))
        if step in ("user", "again"):
            talk.user(text) if events else talk.item("user", text)
        elif step == "agent":
            talk.agent(f"reply {number}") if events else talk.item("assistant", f"reply {number}")
        elif step == "call":
            talk.call(f"c{number}", "shell", command=["ls", f"{number}"])
        elif step == "block" and events:
            talk.event("turn_aborted")
    return [f"{line}\n".encode() for line in talk.lines]


def in_parts(folder: Path, lines: list[bytes], stops: list[int], most: int) -> tuple[Session, ...]:
    """Reads while the file grows, at times in the middle of a line."""
    whole, path = b"".join(lines), folder / "s.jsonl"
    sessions: list[Session] = []
    end = 0
    for stop in [*sorted(min(stop, len(whole)) for stop in stops), len(whole)]:
        path.write_bytes(whole[:stop])
        while True:
            sessions.append(read(path, end, most=most))
            assert sessions[-1].end >= end
            if sessions[-1].end == end:
                break
            end = sessions[-1].end
    return tuple(sessions)


@given(
    st.one_of(transcripts(), rollouts()),
    st.lists(st.integers(0, 6000), max_size=4),
    st.sampled_from([0, 0, 1, 700]),
)
def test_any_readings_in_parts_tell_what_one_reading_tells(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], stops: list[int], most: int
) -> None:
    """A queued prompt can be handed out before it is taken back or becomes a record: then it stays."""
    folder = tmp_path_factory.mktemp("talk")
    parts = in_parts(folder, lines, stops, most)
    whole = read(folder / "s.jsonl")
    handed_out = [message for part in parts for message in part.messages]
    if any(b"queue-operation" in line for line in lines):
        assert set(prompts(whole.messages)) <= set(prompts(handed_out))
        handed_out, wanted = (
            [m for m in some if not prompts([m])] for some in (handed_out, whole.messages)
        )
        assert told(handed_out) == told(wanted)
    else:
        assert told(handed_out) == told(whole.messages)
    assert sum(part.skipped for part in parts) == whole.skipped
    assert (parts[-1].id, parts[-1].cwd, parts[-1].end) == (whole.id, whole.cwd, whole.end)


def prompts(messages: Iterable[Message]) -> Counter[str]:
    """How often what was prompted."""
    return Counter(one.text for one in messages if one.source in ("prompt", "queued"))


def test_a_file_that_was_replaced_by_a_shorter_one_is_read_from_its_beginning(tmp_path: Path) -> None:
    long, other = Transcript(), Transcript("22222222-0000-4000-8000-000000000000")
    for number in range(40):
        long.user(f"question {number}")
    other.user("something else")
    file = long.write(tmp_path / "s.jsonl")
    end = read(file).end
    session = read(other.write(file), end)
    assert session == read(file)
    assert [one.text for one in session.messages] == ["something else"]
