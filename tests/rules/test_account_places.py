"""Where the claims that an account names stand: lines of an index, and memories that were paged out."""

from __future__ import annotations

from gitmem.core.account import claims_at, reference
from gitmem.core.names import archive_path
from gitmem.core.trailers import Fate
from gitmem.rules.account import allowance, errors, line_of, listed, where_they_stand
from gitmem.rules.rule import Finding

MEMORY = b"---\nname: a\ndescription: A\ntype: project\n---\n\nPorts start at 4000.\n"


def test_all_lines_of_a_memory_speak_for_it() -> None:
    text = b"- [a](a.md) \xe2\x80\x94 Ports\n- [b](b.md)\n- [a](a.md): ask Ann\nProse on [a](a.md).\n"
    fates = [Fate("merged", "main/MEMORY.md#0123456789ab", "main/a.md#0123456789ab")]
    found = listed(fates, {"main/MEMORY.md": text}.get)
    assert found["main/a.md"].splitlines() == ["- [a](a.md) — Ports", "- [a](a.md): ask Ann"]
    for path in ("main/a.md", "main/x/MEMORY.md", "MEMORY.md"):
        assert listed([Fate("merged", f"{path}#0123456789ab", "")], lambda _: text) == {}


def test_a_tenth_of_all_claims_may_go_and_three_of_few() -> None:
    for number, may_go in ((0, 3), (39, 3), (40, 4), (109, 10)):
        body = "".join(f"- fact {n}\n" for n in range(number))
        assert allowance({"main/a.md": body.encode(), "main/MEMORY.md": b"- [b](b.md): x\n" * 99}) == may_go


def test_a_claim_is_found_where_its_memory_was_paged_to() -> None:
    cold = f"main/{archive_path('a.md')}"
    (claim,) = [one for one in claims_at("main/a.md", MEMORY) if "4000" in one.text]
    hot, there = reference("main/a.md", claim), reference(cold, claim)
    unknown = f"main/a.md#{'0' * 12}"
    (known, lost) = where_they_stand(
        [Fate("merged", hot, hot), Fate("merged", unknown, hot)], {cold: MEMORY}, {"main/a.md": MEMORY}
    )
    assert (known.source, known.target) == (there, hot)
    assert lost.source == unknown


def test_an_error_stops_a_change_and_a_notice_does_not() -> None:
    one = Finding("main/a.md", 1, "account", "it is gone")
    assert errors([Finding("main/a.md", 1, "loss", "one goes", "notice"), one]) == (one,)


def test_a_claim_is_told_with_its_line() -> None:
    data = b"\n\nPorts start at 4000.\n\nAsk Ann.\n\nDo Ask Ann.\n"
    claims = {one.text: one for one in claims_at("main/a.md", data)}
    assert line_of({"main/a.md": data}, "main/a.md", claims["Ports start at 4000."]) == 3
    assert line_of({"main/a.md": data}, "main/a.md", claims["Ask Ann."]) == 5
    assert (
        line_of({}, "main/a.md", claims["Ask Ann."]) == line_of({"main/a.md": data}, "main/a.md", None) == 1
    )
