"""What a snapshot must say of itself, and when it is told."""

from __future__ import annotations

import hashlib
import json

import pytest

from gitmem.rules.rule import PLAIN, File, RuleContext, Side
from gitmem.rules.snapshot import FUTURE_SECONDS, MOST_FILES, STATE_BYTES, digest, judge_snapshots

MADE = 1_795_000_000
FILES = {"a.md": b"A\n", "MEMORY.md": b"- [a](a.md)\n"}
TIME = "2026-11-18T11:06:40+00:00"


def file(data: bytes | None, size: int = -1) -> File:
    return File(PLAIN, hashlib.sha1(data or b"").hexdigest(), len(data or b"") if size < 0 else size, data)


def side(state: object, files: dict[str, bytes] | None = None, folder: str = "snapshots/main") -> Side:
    held = {name: file(data) for name, data in (FILES if files is None else files).items()}
    if state is not None:
        raw = state if isinstance(state, bytes) else json.dumps(state).encode()
        held["snapshot.json"] = file(raw)
    return Side({folder: held}, {}, snapshots=True, time=MADE)


def found(after: Side, before: Side | None = None) -> list[tuple[str, str, str]]:
    judged = list(judge_snapshots(before, after, RuleContext()))
    assert all(one.path == f"{next(iter(after.folders))}/snapshot.json" and one.line == 1 for one in judged)
    return [(one.rule, one.level, one.message) for one in judged]


SOUND = {"format": 1, "updatedAt": TIME, "digest": digest(FILES)}


def test_a_digest_is_over_sorted_names_and_hashes() -> None:
    """A promise: snapshots of earlier versions are checked by it."""
    lines = (
        name.encode() + b"\0" + hashlib.sha256(FILES[name]).hexdigest().encode() + b"\n"
        for name in sorted(FILES)
    )
    assert digest(FILES) == hashlib.sha256(b"".join(lines)).hexdigest()


@pytest.mark.parametrize(
    "state",
    [
        SOUND,
        {"updatedAt": TIME},
        {"updatedAt": "2026-11-18", "digest": ""},
        {"updatedAt": " 2026-11-18T11:06:40 ", "digest": 7},
        {"updatedAt": "2026-11-19T11:06:40+00:00"},
        {"updatedAt": TIME.ljust(64)},
        {"updatedAt": "2026-11-19T13:06:40+02:00"},
    ],
)
def test_a_sound_snapshot_is_no_finding(state: dict[str, object]) -> None:
    assert found(side(state)) == found(side(state, folder="docs/snapshots/main")) == []


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "missing or cannot be read"),
        (b"{", "missing or cannot be read"),
        (b"[]", "missing or cannot be read"),
        (b"[" * 5000, "missing or cannot be read"),
        (b'{"updatedAt": "' + TIME.encode() + b'"}' + b" " * STATE_BYTES, "missing or cannot be read"),
        ({**SOUND, "format": 2}, "is in format 2,"),
        ({**SOUND, "format": "1"}, "is in format 1,"),
        ({**SOUND, "format": True}, "is in format True,"),
        ({"format": 1}, "has no updatedAt that is a time"),
        ({"updatedAt": "soon"}, "has no updatedAt that is a time"),
        ({"updatedAt": TIME.ljust(65)}, "has no updatedAt that is a time"),
        ({"updatedAt": 5}, "has no updatedAt that is a time"),
        ({"updatedAt": "2026-11-19T11:06:41+00:00"}, "in the future"),
        ({"updatedAt": "2026-11-19T11:06:41"}, "in the future"),
        ({"updatedAt": "2026-11-19T09:06:41-02:00"}, "in the future"),
    ],
)
def test_an_unsound_one_says_why_it_is_not_taken_in(state: object, said: str) -> None:
    ((rule, level, message),) = found(side(state))
    assert (rule, level) == ("snapshot", "error") and said in message


def test_a_state_of_just_the_largest_size_is_read() -> None:
    raw = json.dumps(SOUND).encode()
    assert found(side(raw + b" " * (STATE_BYTES - len(raw)))) == []
    assert (FUTURE_SECONDS, STATE_BYTES) == (24 * 3600, 65_536)


def test_a_digest_of_other_files_is_shown_and_only_memories_count() -> None:
    ((rule, level, message),) = found(side(SOUND, FILES | {"b.md": b"B\n"}))
    assert (rule, level) == ("snapshot", "notice") and "digest" in message
    assert found(side(SOUND, FILES | {"b.txt": b"B\n"})) == []
    unread = side(SOUND)
    folder = {**unread.folders["snapshots/main"], "c.md": file(None, 5)}
    assert found(Side({"snapshots/main": folder}, {}, snapshots=True, time=MADE)) == []
    folder["snapshot.json"] = file(None, 5)
    assert len(found(Side({"snapshots/main": folder}, {}, snapshots=True, time=MADE))) == 1


def test_a_folder_of_no_agent_and_one_of_too_many_files_are_told() -> None:
    ((rule, level, _),) = found(side(SOUND, FILES, "snapshots/" + "x" * 300))
    assert (rule, level) == ("path", "error")
    many = {f"{number}.txt": b"" for number in range(MOST_FILES - len(FILES))}
    ((rule, level, message),) = found(side(SOUND, FILES | many))
    assert (rule, level) == ("limit", "error") and "2,000 files" in message
    assert found(side(SOUND, FILES | dict(list(many.items())[1:]))) == []


def test_only_what_changed_is_judged_and_only_what_is_new_told() -> None:
    broken = side({"format": 3, "updatedAt": "soon"})
    assert len(found(broken)) == 2
    assert found(broken, broken) == []
    assert found(side({"format": 3, "updatedAt": "late"}), broken) == []
    assert [one[2][:12] for one in found(side({"format": 3}), side({"format": 3, "updatedAt": TIME}))] == [
        "has no updat"
    ]
    assert len(found(broken, Side({}, {}, snapshots=True))) == 2
    assert list(judge_snapshots(None, Side(broken.folders, {}), RuleContext())) == []
