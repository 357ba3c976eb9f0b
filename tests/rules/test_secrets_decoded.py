"""A credential that was decoded stands in no text as it is: its whole lines are taken out instead."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gitmem.rules import secrets
from gitmem.rules.secrets import find_secrets, redact

TEXT = "one\ntwo aGlkZGVu\nthree\n\nfive"


def decoded(monkeypatch: pytest.MonkeyPatch, first: int, last: int, **given: object) -> None:
    """Lets the detector answer that it decoded a credential in these lines of whatever it reads."""
    answer = {
        "rule_id": "some-rule",
        "secret": "hidden-3",
        "match": SimpleNamespace(full="hidden-3"),
        "location": SimpleNamespace(start_line=first, end_line=last),
        "component_sets": [],
        "tags": [],
    }
    monkeypatch.setattr(secrets, "_detector", lambda *_: lambda _: [SimpleNamespace(**answer | given)])


@pytest.mark.parametrize(
    ("first", "last", "line", "shown"),
    [
        (1, 1, 1, "[some-rule]\ntwo aGlkZGVu\nthree\n\nfive"),
        (2, 2, 2, "one\n[some-rule]\nthree\n\nfive"),
        (2, 3, 2, "one\n[some-rule]\n\nfive"),
        (5, 5, 5, "one\ntwo aGlkZGVu\nthree\n\n[some-rule]"),
        (1, 5, 1, "[some-rule]"),
        (0, 0, 1, "[some-rule]\ntwo aGlkZGVu\nthree\n\nfive"),
        (2, 1, 2, "one\n[some-rule]\nthree\n\nfive"),
        (9, 9, 5, "one\ntwo aGlkZGVu\nthree\n\n[some-rule]"),
        (4, 4, 1, "[some-rule]"),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
def test_the_lines_of_a_decoded_credential_are_taken_out(
    monkeypatch: pytest.MonkeyPatch, first: int, last: int, line: int, shown: str
) -> None:
    """All of the text where the detector names a line without a character: nothing else is known."""
    decoded(monkeypatch, first, last)
    (found,) = find_secrets(TEXT)
    assert redact(TEXT, [found]) == shown
    assert found.line == line and found.severity == "block"
    assert "aGlkZGVu" not in found.redacted and "hidden" not in found.redacted


def test_a_decoded_word_is_taken_out_with_its_line_though_the_text_has_it_elsewhere(monkeypatch) -> None:
    """An ordinary word counts only where it was given as a credential."""
    decoded(monkeypatch, 2, 2, secret="three", match=SimpleNamespace(full="password: three"))
    (found,) = find_secrets(TEXT)
    assert redact(TEXT, [found]) == "one\n[some-rule]\nthree\n\nfive"


def test_a_word_is_taken_out_where_it_was_given_as_a_credential_and_nowhere_else(monkeypatch) -> None:
    decoded(monkeypatch, 1, 1, secret="three", match=SimpleNamespace(full="pass three"))
    text = "three\npass three, pass three\nthree"
    assert redact(text, find_secrets(text)) == "three\npass [some-rule], pass [some-rule]\nthree"


def test_parts_of_a_credential_are_taken_out_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [{"components": [{"match": {"value": "aGlkZGVu"}}, {"match": None}, {}]}, {}]
    decoded(monkeypatch, 1, 1, component_sets=parts)
    assert redact(TEXT, find_secrets(TEXT)) == "[some-rule]\ntwo [some-rule]\nthree\n\nfive"


def test_what_overlaps_is_taken_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded(monkeypatch, 1, 3, component_sets=[{"components": [{"match": {"value": "aGlkZGVu"}}]}])
    assert redact(TEXT, find_secrets(TEXT)) == "[some-rule]\n\nfive"
