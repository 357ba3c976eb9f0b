"""The pure half of the one exit: what goes, what stays, and that a second time changes nothing."""

from __future__ import annotations

import json
import string

import pytest
from hostile_set import CONTROLS, HARMLESS, NASTY, PEM, SECRETS, TAGS, leaks
from hypothesis import example, given
from hypothesis import strategies as st
from planted_secrets import planted

from gitmem.core.text import one_line
from gitmem.flows.redaction import credentials, shown_bytes
from gitmem.rules.redaction import cut, line, no_scan, redact, row, suspects, unredact, value
from gitmem.rules.rule import Finding
from gitmem.rules.secrets import find_secrets

PLAIN = (
    HARMLESS,
    "# Heading\n\n- `docs/2026-06-19-populator-design.md` at 369025b50883c74bc9a07de485f9ac03f2ab15fa.\n",
    "Keys: `feedback_react19_event_types`, exactOptionalPropertyTypes, x86_64.",
    "Session 550e8400-e29b-41d4-a716-446655440000.",
    "<?xml version='1.0'?>\n<project><system name='a'/><result>1</result><command>go</command></project>\n",
    "if a <system and b> c: invoke(parameter) # <T extends Tool<Result>>",
    "Größe — 10 µm, 日本語, 👩‍💻, नमस्ते\tTab\r\nNext line\r\n",
    "My password is in the vault; the token expires daily; the key is to ask Ann.",
)
PARTS = st.sampled_from(
    (*CONTROLS, *TAGS, *SECRETS, *PLAIN, "\n", " ", "password = ", "[github-pat]", "\\x3c", "<")
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert redact(text, credentials) == text
    assert shown_bytes(text.encode()) == text.encode()
    assert value({text: [text, 1, None, (text,)]}, credentials) == {text: [text, 1, None, (text,)]}


@given(st.lists(PARTS, max_size=8).map(" ".join))
@example("password =  \x1b]0;title\x07")
def test_a_second_time_changes_nothing_and_nothing_gets_out(text: str) -> None:
    once = redact(text, credentials)
    assert redact(once, credentials) == once
    assert not leaks(once, crlf=True)
    masked = redact(text, suspects)
    assert redact(masked, suspects) == masked
    assert json.loads(json.dumps(value([text], credentials))) == [once]
    assert value(Finding("a.md", 1, "x", text), credentials) == Finding("a.md", 1, "x", once)
    assert value(Finding, credentials) is Finding


def test_a_label_makes_suspects_of_what_stands_near_it() -> None:
    assert suspects("The token is ab12cd34.") and not suspects(f"The token {'is kept ' * 30}in ab12cd34.")


@given(st.text(), st.integers(1, 60))
def test_any_text_is_made_harmless_and_stays_so(text: str, width: int) -> None:
    once = redact(text, suspects)
    assert redact(once, suspects) == once
    assert not leaks(once, crlf=True)
    short = line(text, width, suspects)
    assert len(short.splitlines()) <= 1


@pytest.mark.parametrize("tag", TAGS)
def test_a_clients_tag_can_be_read_and_is_none(tag: str) -> None:
    safe = redact(tag, no_scan)
    assert not leaks(safe) and safe.replace("\\x3c", "<") == tag


def test_what_was_written_out_is_read_back() -> None:
    once = redact(NASTY, no_scan)
    assert unredact(once, once) == NASTY
    assert unredact("C:\\x86", "of another text") == "C:\\x86"
    assert suspects("\\x3cSystemReminder> and \\u202eabcDEF") == (), "nor is a code a part of a word"


def test_the_suspicion_misses_nothing_that_the_detector_finds() -> None:
    """Text without a suspicion is shown unjudged."""
    for seed in range(3):
        for one in planted(seed):
            for text in (one.text, one.secret, " ".join(one.text.split())):
                if any(found.severity == "block" for found in find_secrets(text)):
                    assert suspects(text), text


def test_a_key_that_is_shown_row_by_row_or_without_its_end_is_taken_out() -> None:
    rows, in_key = [], False
    for text in f"Before\n{PEM}\nAfter, as ever.\n".split("\n"):
        safe, in_key = row(f"+ {text}", no_scan, in_key=in_key)
        rows.append(safe)
    assert row(PEM.replace("\n", ""), no_scan, in_key=False) == ("[private-key]", False)
    begin, *_, end = PEM.strip().split("\n")
    assert row(f"{end} {begin}", no_scan, in_key=True)[1], "another one begins where the first one ends"
    assert not leaks("\n".join(rows)) and rows[0] == "+ Before" and rows[-2] == "+ After, as ever."
    assert not leaks(redact(PEM[:200], no_scan))
    assert not leaks(line(PEM, 120, no_scan))


@pytest.mark.parametrize("secret", SECRETS)
def test_no_token_leaves_behind_a_colour(secret: str) -> None:
    assert secret[:8] not in redact(f"\x1b[31m{secret}\x1b[0m", credentials)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("width", [30, 40, 50, 60])
def test_no_token_leaves_in_halves(secret: str, width: int) -> None:
    """Of a half no detector says that it is one."""
    cut_off = one_line(f"The token for the staging deploys is {secret}, as Ann said.", width)
    assert secret[:8] not in cut_off or secret in cut_off


def test_what_is_cut_is_cut_once_at_its_room_and_a_return_shown_only_in_a_line_end() -> None:
    assert cut("abcdef", [(5, 6, "z"), (1, 3, "x"), (2, 4, "y")]) == "a[x]e[z]"
    assert one_line(string.ascii_lowercase, 10) == "abcdefghi…"
    assert one_line("feedback_react19_event_types_of_forms.md", 20) == "feedback_react19_ev…"
    assert redact("a\r\nb\r", no_scan) == "a\r\nb\r" and redact("a\rb\r", no_scan) == "a\\x0db\\x0d"


LABELS = (
    "pass", "pwd", "psw", "pw", "secret", "token", "key", "auth", "cred", "login", "bearer", "curl",
    "user",
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *(f"our {label.title()} {{t5gh1k}}" for label in LABELS),
        "ftp://ann:{door}@host",
        "{-----BEGIN PRIVATE-----}",
        "{}our door t5gh1k",
    ],
)
def test_a_mixed_word_behind_any_label_is_suspect(text: str) -> None:
    hole = (text.index("{"), text.index("}") - 1, "unjudged")
    assert suspects(text.replace("{", "").replace("}", "")) == ((hole,) if hole[0] < hole[1] else ())


@pytest.mark.parametrize("between", ["\u200b", "\x00", "\x1b"])
def test_a_token_that_something_invisible_splits_is_suspect_with_what_splits_it(between: str) -> None:
    """Each half of it is too short to be one."""
    several = suspects("pass = abc123def456 of kI3dE6gH9jK2mN5pQ8 or kI3dE6gH9jK2mN5pQ7")
    assert len(several) > 2 and [*several] == sorted(several)
    assert suspects(f"e aBcDeF{between}gHiJkL x") == ((2, 15, "unjudged"),)


@pytest.mark.parametrize(
    "text", ["{} is [github-pat]", "[github-pat] is {}", "[github-pat] {} [github-pat]"]
)
def test_beside_what_was_taken_out_before_a_credential_goes_too(text: str) -> None:
    assert redact("password = [github-pat]", suspects) == "password = [github-pat]"
    said = text.format("password = abc123def456")
    assert redact(said, suspects) == text.format("password = [unjudged]")
