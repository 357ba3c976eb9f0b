"""What a person keeps to themselves: private spans in every place, and patterns that cannot hang."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import Transcript, reasoned

from gitmem.core.errors import UsageError
from gitmem.transcripts.discover import read
from gitmem.transcripts.privacy import WINDOW, compile_ignore, without_private


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        (["a<private>x</private>b"], ["ab"]),
        (["a<PRIVATE>x"], ["a"]),
        (["a< private why='y'>x< /private >b"], ["ab"]),
        (["a<private>x<private>x</private>x</private>b"], ["ab"]),
        (["a<private>x", "x", "x</private>b"], ["a", "", "b"]),
        (["a<private>x", "x"], ["a", ""]),
        (["x", "x</private>b"], ["", "b"]),
        (["private parts <privateer> of a < b"], ["private parts <privateer> of a < b"]),
    ],
)
def test_private_spans_are_cut_from_block_to_block(parts: list[str], kept: list[str]) -> None:
    assert without_private(parts) == kept


@given(st.lists(st.lists(st.sampled_from(["<private>", "</private>", "x", "y "])).map("".join), max_size=4))
def test_nothing_is_left_between_tags(parts: list[str]) -> None:
    kept = without_private(parts)
    assert len(kept) == len(parts)
    assert "private>" not in "".join(kept)
    assert without_private(kept) == kept


def test_no_private_word_leaves_a_session_by_any_way(tmp_path: Path) -> None:
    span = "<private>SECRET</private>"
    talk = Transcript()
    talk.user(
        [{"type": "text", "text": "one <private>SECRET"}, {"type": "text", "text": "SECRET</private> two"}]
    )
    talk.agent("I <private>SECRET", id="m1")
    talk.agent("SECRET</private> see", id="m1")
    talk.call("t1", "Bash", command=f"echo {span}a", nested=[{"deep": f"<private>{'SECRET' * 50_000}"}])
    talk.result("t1", [{"type": "text", "text": "b<private>SECRET"}, {"type": "text", "text": "SECRET"}])
    talk.call("t2", "Edit", file_path="/a")
    talk.result("t2", reasoned(f"no, {span}ask first"), error=True)
    talk.call("t3", "AskUserQuestion", questions=[])
    talk.result("t3", "…", toolUseResult={"answers": {f"Which {span}?": f"this {span}one"}})
    talk.queue("enqueue", f"and {span}later")
    talk.queue("remove")
    talk.attachment(type="queued_command", prompt=f"then {span}that", commandMode="prompt")
    session = read(talk.write(tmp_path / "s.jsonl"))
    assert "SECRET" not in repr(session)
    said = [m.text for m in session.messages if m.role == "person"]
    assert said == ["one \ntwo".replace(" \n", "\n"), "no, ask first", "this one", "and later", "then that"]


def test_a_message_that_matches_is_left_out_wholly(tmp_path: Path) -> None:
    talk = Transcript()
    talk.user("Acme Corp wants tabs")
    talk.agent("fine")
    talk.call("t1", "Bash", command="ls")
    talk.result("t1", "deal with ACME corp")
    talk.user("ticket PRJ-1234 is closed")
    talk.user("use tabs")
    file = talk.write(tmp_path / "s.jsonl")
    kept = read(file, ignore=compile_ignore(["acme corp", r"/\bprj-\d+\b/", " "])).messages
    assert [m.text for m in kept] == ["fine", "use tabs"]
    assert len(read(file).messages) == 5


@pytest.mark.parametrize(
    "pattern",
    [
        r"/(a+)+b/", r"/(a|a)*b/", r"/(?:x{2,}y)*/", r"/.*.*.*x/", r"/(a)\1/", r"/(?=a)b/", r"/[/",
        r"/.*/", "x" * 201,
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_honoured_is_refused_by_name(pattern: str) -> None:
    """Passing it over would tell what it is there to keep."""
    with pytest.raises(UsageError, match=r"gitmem\.ignore"):
        compile_ignore([pattern])


def test_a_match_is_found_wherever_it_stands_in_a_long_text() -> None:
    ignore = compile_ignore([r"/deal \w+ with \w+/"])
    for at in range(0, 3 * WINDOW, 7):
        assert ignore.matches("-" * at + "Deal made with Ben" + "-" * 500)
    assert not ignore.matches("x " * 5_000)
    assert compile_ignore(["/^deal/"]).matches("deal with it")
