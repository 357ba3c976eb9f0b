"""Which rule applies where, with what words, and how many claims may go unasked."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_secrets import GITHUB

from gitmem.rules import profiles
from gitmem.rules.losses import judge_losses
from gitmem.rules.rule import PLAIN, File, Revision, RuleContext, Side, compare, side_of

WORDS = """
    account budget collision date dispute dropped duplicate encoding epoch foreign format found frontmatter
    host index instruction invented invisible limit link log loss merge merged path place replaced scope
    secret size snapshot tombstone type unchecked unsigned unseen
"""


def words_of_findings(path: Path) -> Iterator[str]:
    """What a file has as the word of a finding, also by the name of a constant."""
    at = {"Finding": 2, "_between": 3}
    tree = ast.parse(path.read_text())
    named = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[node.targets[0].id] = node.value
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if len(args) > at.get(name, 99):
                words: ast.AST = args[at[name]]
            case ast.keyword(arg="rule", value=words):
                pass
            case _:
                continue
        for one in list(ast.walk(words)):
            found = named.get(one.id) if isinstance(one, ast.Name) else one
            yield from (each.value for each in ast.walk(found or one) if isinstance(each, ast.Constant))


def test_the_words_of_findings_are_those_that_are_promised() -> None:
    """People put them into settings and scripts: another word is another promise."""
    files = Path(profiles.__file__).parent.glob("*.py")
    found = {word for path in files for word in words_of_findings(path)}
    assert found == set(WORDS.split()), "take a word that is there, or promise the new one: add it to WORDS"


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
    marks = "\n".join(sorted(f"main {claim}" for claim in claims[:gone]))
    word = f"loss-{gone}-{hashlib.sha256(marks.encode()).hexdigest()[:12]}"
    assert loss.fingerprints == ((word,) if level == "error" else ())
    allowed = RuleContext(frozenset(loss.fingerprints))
    (again,) = (
        one for one in judge_losses(before, after, compare(before, after, allowed)) if one.rule == "loss"
    )
    assert (again.level, again.path, again.fingerprints) == ("notice", "", loss.fingerprints)


def test_a_write_is_judged_by_what_is_new_in_it() -> None:
    plain, token = {"main/b.md": b"B\n"}, {"main/a.md": f"Use {GITHUB}.\n".encode()}
    assert [one.rule for one in profiles.judge_files("write", plain, plain | token)] == ["secret"]
    assert [one.rule for one in profiles.judge("write", None, side_of(token))] == ["secret"]
    assert profiles.judge_files("write", token, plain | token) == ()


def test_each_way_in_which_a_claim_goes_has_its_word() -> None:
    """A commit drops one and replaces one; the third went with a merge, which says nothing of it."""
    sides = [memory(*said) for said in (("One.", "Port 80.", "Two."), ("Port 81.", "Two."), ("Port 81.",))]
    before, between, after = ({"main/a.md": one.files["main/a.md"]} for one in sides)
    commits = (
        Revision("1" * 40, ("Ann <a@x>",), "Drop it\n", (before,), between),
        Revision("2" * 40, ("Ann <a@x>",), "Merge\n", (between, between), after),
    )
    found = judge_losses(sides[0], sides[2], RuleContext(revisions=commits))
    assert {(one.rule, one.commit[:1]) for one in found} == {
        ("dropped", "1"), ("replaced", "1"), ("account", ""), ("loss", "")
    }  # fmt: skip
