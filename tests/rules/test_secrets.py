"""Credentials are found, look-alikes are not, and nothing that is reported holds one."""

from __future__ import annotations

import builtins
import re
from types import SimpleNamespace
from typing import Any

import pytest
from planted_secrets import GITHUB, UUID_TOKEN, Maker, Sample, look_alikes, planted

from gitmem.rules import secrets
from gitmem.rules.screen import refused_claims, screen
from gitmem.rules.secrets import DetectorUnavailable, Secret, find_secrets, nameable, redact, scan, values

PLANTED = planted()
HARD = [sample for sample in PLANTED if not sample.soft]
SOFT = [sample for sample in PLANTED if sample.soft]
LOOK_ALIKES = look_alikes()
OTHER = Maker(7).summed("gh" + "s")


def _stored(sample: Sample) -> bytes:
    return screen({}, {"main/a.md": sample.text.encode()}, frozenset()).files.get("main/a.md", b"")


def test_the_set_is_large_and_mixed_enough_to_say_something() -> None:
    assert len(HARD) >= 60
    assert len({sample.kind for sample in HARD}) >= 20
    assert len({sample.place for sample in HARD}) >= 12
    assert len(LOOK_ALIKES) >= 60


def test_nine_planted_credentials_in_ten_block() -> None:
    """The figures of the documentation; a new detector moves them, and must not lower them."""
    missed = [
        (sample.kind, sample.place)
        for sample in HARD
        if "block" not in [finding.severity for finding in find_secrets(sample.text)]
    ]
    assert len(missed) <= len(HARD) / 10, missed


@pytest.mark.parametrize("sample", SOFT, ids=lambda sample: sample.place)
def test_every_credential_in_a_url_or_in_prose_is_shown(sample: Sample) -> None:
    assert sample.secret not in repr(find_secrets(sample.text))
    assert find_secrets(sample.text)


def test_no_look_alike_blocks_and_few_warn() -> None:
    found = {sample.kind: find_secrets(sample.text) for sample in LOOK_ALIKES}
    assert [kind for kind, some in found.items() for one in some if one.severity == "block"] == []
    assert sum(bool(some) for some in found.values()) <= 2


@pytest.mark.parametrize("sample", HARD, ids=lambda sample: f"{sample.kind} {sample.place}")
def test_what_blocks_is_neither_stored_nor_reported(sample: Sample) -> None:
    screened = screen({}, {"main/a.md": sample.text.encode()}, frozenset())
    if not screened.refusals:
        assert find_secrets(sample.text) == () or "block" not in {
            finding.severity for finding in find_secrets(sample.text)
        }
        return
    parts = [part for part in re.split(r"\s+", sample.secret) if len(part) >= 16]
    stored = screened.files.get("main/a.md", b"").decode()
    assert not [part for part in parts if part in stored]
    assert not [part for part in parts if part in repr(screened.refusals)]


def test_a_key_with_blank_lines_is_refused_paragraph_by_paragraph() -> None:
    """Claims are judged one by one, and no rule knows the half of a key."""
    (sample,) = [one for one in HARD if one.place == "with headers"]
    kept = _stored(sample).decode()
    assert "The old key:" in kept
    assert not [line for line in sample.secret.splitlines() if line in kept]


def test_an_id_and_its_secret_in_two_items_are_both_refused() -> None:
    (sample,) = [one for one in HARD if (one.kind, one.place) == ("aws pair", "list")]
    assert sample.secret not in _stored(sample).decode()


def test_finding_says_where_it_is() -> None:
    text = f"é one\ntwo {GITHUB} x\nthree {GITHUB}"
    (finding,) = find_secrets(text)
    assert (finding.rule, finding.severity, finding.line) == ("github-pat", "block", 2)
    assert [text[start:end] for start, end in finding.spans] == [GITHUB, GITHUB]
    assert finding.redacted == "two [github-pat] x"
    assert redact(text, [finding]) == "é one\ntwo [github-pat] x\nthree [github-pat]"


def test_a_name_is_made_without_what_only_may_be_a_secret() -> None:
    """Wherever it stands, and in which order it is found."""
    one, other = "hunter2x", "sesame77"
    told = f"The staging password is {one}, the admin password is `{other}`: log in with {one}."
    assert nameable([told, f"Ask for {other}.", f"It is {GITHUB}.", "Plain."]) == (
        "The staging password is , the admin password is : log in with .",
        "Ask for .",
        f"It is {GITHUB}.",
        "Plain.",
    )


def test_an_ordinary_word_is_replaced_only_where_it_is_the_credential() -> None:
    text = "Store postgres data; the test URL is postgres://postgres:postgres@db/app"
    shown = redact(text, find_secrets(text))
    assert (
        shown == "Store postgres data; the test URL is postgres://postgres:[generic-credential-uri]@db/app"
    )


@pytest.mark.parametrize("comment", ["gitleaks:allow", "# betterleaks:allow", "GITLEAKS:ALLOW"])
def test_text_cannot_excuse_itself(comment: str) -> None:
    """The detector skips lines with such a comment; in a memory anyone could have written it."""
    assert find_secrets(f"{GITHUB} {comment}")[0].severity == "block"


@pytest.mark.parametrize(
    "hidden",
    [
        GITHUB[:20] + "\u200b" + GITHUB[20:],
        "x\0" + GITHUB,
        "a \0 b " + GITHUB,
        GITHUB.replace("_", "\\_"),
        "x\u2060" + GITHUB,
        "\ud800 " + GITHUB,
        GITHUB + "\r\n",
    ],
)
def test_invisible_characters_do_not_hide_a_credential(hidden: str) -> None:
    """NUL would end the text for the detector, a zero-width space would end the token."""
    (finding,) = find_secrets(hidden)
    assert finding.severity == "block"
    assert GITHUB[-10:] not in redact(hidden, [finding])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("use postgres://bob:hunter2@db.internal/app", "generic-credential-uri"),
        ("the password is hunter2", "password-in-prose"),
        ("The DB password for staging is `swordfish`.", "password-in-prose"),
        (UUID_TOKEN, "generic-api-key"),
        (UUID_TOKEN.upper().replace("TOKEN", "token"), "generic-api-key"),
        ("password: required", "generic-password"),
    ],
)
def test_what_may_be_a_credential_is_a_warning(text: str, rule: str) -> None:
    assert [(finding.rule, finding.severity) for finding in find_secrets(text)] == [(rule, "warning")]
    assert refused_claims([text]) == {}


@pytest.mark.parametrize(
    "text",
    [
        "the token is expired",
        "the password is <secret>",
        "API key: $OPENAI_KEY2",
        "the token is DB_TOKEN_2",
        "The deploy token is /etc/app/token2.txt, which root reads.",
        "API secret: /var/run/secrets/api1",
        "password: '@DB_PASS@'",
        *(f"The password is `{word}`." for word in ("pass", "Passwd", "password", "secret", "TOKEN")),
        "PGPASSWORD=key psql -h localhost app",
    ],
)
def test_prose_about_credentials_is_none(text: str) -> None:
    assert find_secrets(text) == ()


def test_allow_list_lets_one_credential_pass_and_no_other() -> None:
    (finding,) = find_secrets(GITHUB)
    assert re.fullmatch(r"[0-9a-f]{12}", finding.fingerprint)
    assert find_secrets(GITHUB, frozenset({finding.fingerprint})) == ()
    assert find_secrets(OTHER, frozenset({finding.fingerprint})) != ()


def test_each_text_is_scanned_by_itself() -> None:
    """An unclosed key block in one claim must not swallow the claims up to another."""
    header = "-----BEGIN RSA PRIVATE" + " KEY-----"
    assert (
        scan([f"A file begins with {header}", "", "harmless", header.replace("BEGIN", "END")]) == ((),) * 4
    )
    assert [len(found) for found in scan(["fine", GITHUB, "fine"])] == [0, 1, 0]


def test_without_the_detector_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform without a wheel must not store secrets: the caller gets an error, not an empty list."""
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "betterleaks":
            raise ImportError("no wheel")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DetectorUnavailable) as caught:
        refused_claims(["anything"])
    assert "betterleaks" in caught.value.message
    assert caught.value.hint


def test_many_harmless_texts_are_asked_about_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def detect(text: str) -> list[Any]:
        asked.append(text)
        return []

    monkeypatch.setattr(secrets, "_detector", lambda *_: detect)
    texts = [f"Service {number} reads queue q{number}, *always*." for number in range(1000)]
    assert scan([*texts, *texts, "", "  "]) == ((),) * 2002
    assert len(asked) < 10


def test_among_many_texts_each_is_found_as_it_is_by_itself() -> None:
    """Looked at together first, none is missed, and what is found in one is told of that one alone."""
    texts = [sample.text for sample in [*PLANTED, *LOOK_ALIKES]]
    texts += [line for sample in PLANTED for line in sample.text.splitlines()]
    harmless = [f"Service {number} reads queue q{number}." for number in range(8)]
    for some in (texts[at : at + 7] for at in range(0, len(texts), 7)):
        mixed = [*harmless[:4], *some, *harmless[4:], *some[:1]]
        assert scan(mixed) == tuple(find_secrets(text) for text in mixed)


@pytest.mark.parametrize(
    "said",
    ["pass", "passwd", "password", "pw", "pwd", "secret", "token", "key", "KEY", "<hunter2>", "{hunter2}",
     "[hunter2]", "(hunter2)", "*hunter2", "xxxx2", "...2", "…2", "your2-pw", "your-pw2", "my-pw2",
     "some-pw2", "the-pw2", "example-2", "dummy-2", "placeholder-2", "changeme-2", "redacted-2",
     "MY_PASSWORD2", "••••", "****"],
)  # fmt: skip
def test_a_word_that_stands_for_a_password_is_none(said: str) -> None:
    assert (find_secrets(f"The password is `{said}`.") == ()) is (said != "your2-pw")


@pytest.mark.parametrize(
    "text",
    ["postgres://ann:${PW1}@db/x", "postgres://ann:$(pass a1b2c3)@db/x", "postgres://ann:{{ pw_x1 }}@db/x",
     "mysql://ann:${A1:-${B2}c}@db/x", "API_KEY=${{ secrets.aB3dE6gH9jK2mN5pQ8xyz }}",
     "export API_KEY=$(vault read secret/abc123def456ghi789)"],
)  # fmt: skip
def test_what_a_shell_or_a_template_puts_a_value_in_for_is_none(text: str) -> None:
    assert find_secrets(text) == ()


LONG, SHORT = "abcdefghijklmnopqrstuvw1", "abcdefghijklmnopqrstuv1"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('"abc123"', ["abc123"]),
        ("a: 'Pw_1234'", ["Pw_1234", "a-pw-1234", "a: 'Pw_1234", "a:Pw_1234", "pw-1234"]),
        ("\u201cx1 y2 z3\u201d", ["x1 y2 z3", "x1-y2-z3", "x1y2z3"]),
        ("ab:cd:ef1", ["ab-cd-ef1", "ab:cd:ef1", "cd-ef1", "cd:ef1"]),
        (f" {LONG} \n{SHORT}", [f" {LONG} \n{SHORT}", LONG, f"{LONG}-{SHORT}", LONG + SHORT]),
        ("abc12", []),
        ("abcdef", []),
        ("123456", []),
    ],
)
def test_what_is_looked_for_elsewhere_is_no_word_number_or_short(text: str, known: list[str]) -> None:
    said = f"It is {text}."
    found = Secret("rule", "block", 1, ((6, 6 + len(text)),), "", "0")
    assert sorted(values(said, [found])) == known


@pytest.mark.parametrize(
    ("first", "last", "span"),
    [(1, 1, (0, 1)), (2, 2, (2, 4)), (1, 3, (0, 5)), (4, 4, (6, 7)), (0, 0, (0, 1)), (9, 9, (6, 7)),
     (2, 1, (2, 4)), (3, 3, (0, 7))],
)  # fmt: skip
def test_what_was_decoded_stands_in_whole_lines(first: int, last: int, span: tuple[int, int]) -> None:
    """An empty one shows nothing, so all of it is meant."""
    found = secrets._lines("a\nbc\n\nd", SimpleNamespace(start_line=first, end_line=last))
    assert found == (span,)


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("xab1234567y", False),
        ("xab12345678y", True),
        (" a1 ", True),
        ("xa1 ", False),
        (" a1x", False),
        (" a1x y", False),
        ("x-1-y", True),
    ],
)
def test_a_short_value_is_no_part_of_a_word(text: str, alone: bool) -> None:
    end = 1 + len(text.strip("xy "))
    assert secrets._stands_alone(text, (1, end)) is alone
