"""Credentials are found, look-alikes are not, and nothing that is reported holds one."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
from typing import Any

import pytest
from planted_secrets import GITHUB, LOOK_ALIKES, MISSED, PLANTED, UUID_TOKEN

from gitmem.guard.check import judge, refused_claims
from gitmem.guard.secrets import DetectorUnavailable, find_secrets, redact, scan


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_credential_blocks(kind: str) -> None:
    assert "block" in [
        finding.severity for finding in find_secrets(f"For staging use {PLANTED[kind]} please")
    ]


@pytest.mark.parametrize("kind", LOOK_ALIKES)
def test_look_alike_raises_no_alarm(kind: str) -> None:
    assert find_secrets(LOOK_ALIKES[kind]) == ()


@pytest.mark.parametrize("kind", MISSED)
def test_known_misses_of_the_detector(kind: str) -> None:
    """When a new detector finds one, move it to the planted ones: the figures in the docs change."""
    assert all(finding.severity != "block" for finding in find_secrets(MISSED[kind]))


@pytest.mark.parametrize("kind", PLANTED)
def test_no_report_holds_the_credential(kind: str) -> None:
    text = f"first line\n{PLANTED[kind]}\nlast line"
    findings = find_secrets(text)
    words = [
        word for word in re.findall(r"[A-Za-z0-9+/_\-.]{16,}", PLANTED[kind]) if not word.startswith("aws_")
    ]
    reported = repr(findings) + redact(text, findings) + repr(refused_claims([text]))
    assert words
    assert not [word for word in words if word in reported]
    assert redact(text, findings).startswith("first line\n")
    assert redact(text, findings).endswith("\nlast line")


def test_finding_says_where_it_is() -> None:
    text = f"é one\ntwo {GITHUB} x\nthree {GITHUB}"
    (finding,) = find_secrets(text)
    assert (finding.rule, finding.severity, finding.line) == ("github-pat", "block", 2)
    assert [text[start:end] for start, end in finding.spans] == [GITHUB, GITHUB]
    assert finding.redacted == "two [github-pat] x"
    assert redact(text, [finding]) == "é one\ntwo [github-pat] x\nthree [github-pat]"


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
    ],
)
def test_prose_about_credentials_is_none(text: str) -> None:
    assert find_secrets(text) == ()


def test_allow_list_lets_one_credential_pass_and_no_other() -> None:
    (finding,) = find_secrets(GITHUB)
    assert re.fullmatch(r"[0-9a-f]{12}", finding.fingerprint)
    assert find_secrets(GITHUB, frozenset({finding.fingerprint})) == ()
    other = PLANTED["github app"]
    assert find_secrets(other, frozenset({finding.fingerprint})) != ()


def test_each_text_is_scanned_by_itself() -> None:
    """An unclosed key block in one claim must not swallow the claims up to another."""
    header = "-----BEGIN RSA PRIVATE" + " KEY-----"
    assert (
        scan([f"A file begins with {header}", "", "harmless", header.replace("BEGIN", "END")]) == ((),) * 4
    )
    assert [len(found) for found in scan(["fine", GITHUB, "fine"])] == [0, 1, 0]


def test_refusal_names_claim_reason_and_way_out() -> None:
    refused = refused_claims(["fine", f"the token\u202e is {GITHUB}"], path="main/a.md")
    assert list(refused) == [1]
    refusal = refused[1]
    assert (refusal.path, refusal.kind) == ("main/a.md", "secret")
    assert refusal.claim_text_redacted == "the token\\u202e is [github-pat]"
    assert refusal.reason == "holds a secret (github-pat)"
    assert refused_claims([GITHUB], frozenset(refusal.fingerprints)) == {}


def test_verdict_keeps_the_good_claims_of_a_file() -> None:
    verdict = judge("main/a.md", ["fine", GITHUB, "the password is hunter2"])
    assert verdict.allowed == (0, 2)
    assert [refusal.kind for refusal in verdict.refused] == ["secret"]
    assert [finding.rule for finding in verdict.warnings] == ["password-in-prose"]


def test_unsafe_path_refuses_the_whole_file() -> None:
    verdict = judge("../a.md", ["fine"])
    assert verdict.allowed == ()
    assert [(refusal.kind, refusal.path) for refusal in verdict.refused] == [("path", "../a.md")]


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


def test_the_detector_is_loaded_only_when_something_is_scanned() -> None:
    code = (
        "import sys, gitmem.guard.check as c; assert 'betterleaks' not in sys.modules;"
        "c.refused_claims([]); c.refused_claims([' ']); assert 'betterleaks' not in sys.modules;"
        "c.refused_claims(['x']); assert 'betterleaks' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
