"""Reading a session bit by bit: the same messages as in one go, at the cost of the new part."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rollouts import Rollout
from transcripts import Transcript, reasoned

from gitmem.transcripts import reader
from gitmem.transcripts.discover import read
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.reader import RecordLine, lines_of

TEXTS = ["fix it", "use tabs", "why?"]
STEPS = [
    "user",
    "user",
    "agent",
    "agent",
    "call",
    "result",
    "enqueue",
    "take",
    "pop",
    "compact",
    "again",
    "block",
]
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


def in_parts(
    folder: Path, lines: list[bytes], stops: list[int], most: int, keep: bool
) -> tuple[Session, ...]:
    """Reads while the file grows, at times in the middle of a line."""
    whole, path, bookmarks = b"".join(lines), folder / "s.jsonl", folder / "bookmarks"
    sessions: list[Session] = []
    end = 0
    for stop in [*sorted(min(stop, len(whole)) for stop in stops), len(whole)]:
        path.write_bytes(whole[:stop])
        while True:
            sessions.append(read(path, end, bookmarks=bookmarks if keep else None, most=most))
            assert sessions[-1].end >= end
            if sessions[-1].end == end:
                break
            end = sessions[-1].end
    return tuple(sessions)


@given(
    st.one_of(transcripts(), rollouts()),
    st.lists(st.integers(0, 6000), max_size=4),
    st.sampled_from([0, 0, 1, 700]),
    st.booleans(),
)
def test_any_readings_in_parts_tell_what_one_reading_tells(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], stops: list[int], most: int, keep: bool
) -> None:
    """A queued prompt can be handed out before it is taken back or becomes a record: then it stays."""
    folder = tmp_path_factory.mktemp("talk")
    parts = in_parts(folder, lines, stops, most, keep)
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


@given(transcripts(), st.data())
def test_a_bookmark_changes_nothing_but_the_cost(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject
) -> None:
    """With rewinds too: what is handed out on reading on is the same with a bookmark and without."""
    talk = Transcript()
    talk.lines = [line.decode().rstrip("\n") for line in lines]
    for _ in range(data.draw(st.integers(0, 3))):
        parents = [f"{n:08d}-0000-4000-8000-000000000000" for n in range(len(talk.lines))]
        talk.user(data.draw(st.sampled_from(TEXTS)), parent=data.draw(st.sampled_from([*parents, None])))
        talk.agent("so be it")
    folder = tmp_path_factory.mktemp("talk")
    file, marks = folder / "s.jsonl", folder / "bookmarks"
    count = data.draw(st.integers(0, len(talk.lines)))
    file.write_text("".join(f"{line}\n" for line in talk.lines[:count]))
    end = read(file, bookmarks=marks).end
    talk.write(file)
    assert read(file, end, bookmarks=marks) == read(file, end)


@pytest.fixture
def long(tmp_path: Path) -> Transcript:
    talk = Transcript()
    for number in range(40):
        talk.user(f"question {number}")
        talk.agent(f"answer {number}")
    return talk


def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where each later reading begins to parse."""
    places: list[int] = []

    def noting(file: Any, place: int = 0, skim: Any = None) -> Iterator[RecordLine]:
        if skim is not None:
            # A look at the first lines, which tells whose recording it is, does without.
            places.append(place)
        return lines_of(file, place, skim)

    monkeypatch.setattr(reader, "lines_of", noting)
    return places


def test_only_the_new_part_is_parsed(
    tmp_path: Path, long: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, marks = long.write(tmp_path / "s.jsonl"), tmp_path / "marks"
    end = read(file, bookmarks=marks).end
    places = parsed(monkeypatch)
    long.user("one more")
    assert [m.text for m in read(long.write(file), end, bookmarks=marks).messages] == ["one more"]
    # What follows a reading can fail: it is tried again from the same place.
    assert [m.text for m in read(file, end, bookmarks=marks).messages] == ["one more"]
    assert places == [end, end]
    assert len(list(marks.iterdir())) == 2


@pytest.mark.parametrize("damage", ["gone", "cut", "changed", "older rules"])
def test_without_a_sound_bookmark_the_file_is_read_whole(
    tmp_path: Path, long: Transcript, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    file, marks = long.write(tmp_path / "s.jsonl"), tmp_path / "marks"
    end = read(file, bookmarks=marks).end
    (mark,) = marks.iterdir()
    raw = mark.read_bytes()
    if damage == "gone":
        mark.unlink()
    elif damage == "cut":
        mark.write_bytes(raw[:-9])
    elif damage == "changed":
        mark.write_bytes(raw[:-9] + b"x" + raw[-8:])
    else:
        rest = raw[32:].replace(b'"claude-code 2"', b'"claude-code 1"')
        mark.write_bytes(hashlib.sha256(rest).digest() + rest)
    places = parsed(monkeypatch)
    long.user("one more")
    assert [m.text for m in read(long.write(file), end, bookmarks=marks).messages] == ["one more"]
    assert places == [0]


def test_a_file_that_was_replaced_is_read_from_its_beginning(tmp_path: Path, long: Transcript) -> None:
    """Also where the other one is longer."""
    file, marks = long.write(tmp_path / "s.jsonl"), tmp_path / "marks"
    end = read(file, bookmarks=marks).end
    other = Transcript("22222222-0000-4000-8000-000000000000")
    other.lines = [line.replace("question", "something else:") for line in long.lines]
    session = read(other.write(file), end, bookmarks=marks)
    assert session.messages[0].text == "something else: 0"
    assert session == read(file)


def test_a_bookmark_of_a_large_session_is_small(tmp_path: Path) -> None:
    talk = Transcript()
    for number in range(300):
        talk.user(
            "x" * 2000 if number % 10 == 0 else f"<task-notification>{'x' * 2000}</task-notification>"
        )
    file = talk.write(tmp_path / "s.jsonl")
    read(file, bookmarks=tmp_path / "marks")
    (mark,) = (tmp_path / "marks").iterdir()
    assert mark.stat().st_size < file.stat().st_size / 50


def test_reading_leaves_no_bookmark_where_it_is_not_to(tmp_path: Path, long: Transcript) -> None:
    file = long.write(tmp_path / "s.jsonl")
    whole = read(file, bookmarks=tmp_path / "marks", keep=False)
    assert not (tmp_path / "marks").exists()
    assert replace(whole, end=0) == replace(read(file), end=0)
