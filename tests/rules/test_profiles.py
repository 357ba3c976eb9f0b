"""Which rule applies where, with what words, and how many claims may go unasked."""

from __future__ import annotations

import hashlib

import pytest

from gitmem.rules import profiles
from gitmem.rules.losses import judge_losses
from gitmem.rules.paths import judge_hosts
from gitmem.rules.rule import PLAIN, File, RuleContext, Side, compare

WORDS = {
    "write": "secret path size",
    "dream": "secret place instruction",
    "request": """
        limit path foreign secret encoding invisible instruction frontmatter type scope date
        dispute tombstone collision format host link index duplicate log dropped replaced account
        loss snapshot merge unsigned
    """,
}


@pytest.mark.parametrize("profile", WORDS)
def test_the_words_of_a_profile_are_those_that_the_documentation_names(profile) -> None:
    """People put them into settings and scripts: another word is another promise."""
    assert {word for rule in profiles.TABLE if rule.level(profile) for word in rule.words} == set(
        WORDS[profile].split()
    )
    assert {rule.level(profile) for rule in profiles.TABLE} == {"error", None}


def file(text: str) -> File:
    return File(PLAIN, hashlib.sha1(text.encode()).hexdigest(), len(text.encode()), text.encode())


def memory(*claims: str) -> Side:
    head = "---\nname: a\ndescription: About a\ntype: project\n---\n\n"
    return Side({"main": {"a.md": file(head + "\n\n".join(claims) + "\n")}}, {})


@pytest.mark.parametrize(
    ("stood", "gone", "level"),
    [(9, 3, "notice"), (9, 4, "error"), (39, 4, "notice"), (39, 5, "error"), (38, 4, "error")],
)
def test_three_claims_or_a_tenth_of_all_may_go_unasked(stood: int, gone: int, level: str) -> None:
    claims = [f"Fact {chr(97 + n // 26)}{chr(97 + n % 26)} about thing {n}." for n in range(stood)]
    before, after = memory(*claims), memory(*claims[gone:])
    found = list(judge_losses(before, after, compare(before, after, RuleContext())))
    (loss,) = (one for one in found if one.rule == "loss")
    assert loss.level == level
    assert loss.message.startswith(f"this request takes out {gone} of {stood + 1} claims")
    assert sum(one.rule == "dropped" for one in found) == gone
    allowed = RuleContext(frozenset(loss.fingerprints))
    (again,) = (
        one for one in judge_losses(before, after, compare(before, after, allowed)) if one.rule == "loss"
    )
    assert again.level == "notice"


@pytest.mark.parametrize(
    "name",
    [".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".lfsconfig", "CODEOWNERS", "codeowners"],
)
def test_what_git_or_a_host_acts_on_takes_a_person_in_any_folder(name: str) -> None:
    before, after = Side({"main": {}}, {}), Side({"main": {name: file("x")}}, {})
    (found,) = judge_hosts(before, after, RuleContext())
    assert (found.path, found.rule) == (f"main/{name}", "host") and "is added" in found.message
    assert "is removed" in next(judge_hosts(after, before, RuleContext())).message
    assert (
        "is changed"
        in next(judge_hosts(after, Side({"main": {name: file("y")}}, {}), RuleContext())).message
    )
    assert (
        list(judge_hosts(None, after, RuleContext()))
        == list(judge_hosts(after, after, RuleContext()))
        == []
    )


def test_a_memory_takes_nobody() -> None:
    assert (
        list(judge_hosts(Side({"main": {}}, {}), Side({"main": {"x.md": file("x")}}, {}), RuleContext()))
        == []
    )
