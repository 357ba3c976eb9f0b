"""Credentials in what comes in: where each is told, once, and that nothing which is told shows one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planted_secrets import BASE32, GITHUB, Maker

from gitmem.rules.credentials import judge_secrets, safe_path, without_secrets
from gitmem.rules.rule import PLAIN, File, Finding, Revision, RuleContext, Side, compare
from gitmem.rules.secrets import find_secrets

OTHER = Maker(20261123).summed("gh" + "o")
AWS = "AK" + "IA" + Maker(7).some(16, BASE32)
OID = "0123456789abcdef0123"
PATH = "main/a.md"
MEMORY = "---\nname: a\ndescription: {}\ntype: project\n---\n\n{}\n"
PRINT = find_secrets(GITHUB)[0].fingerprint


def file(text: str) -> File:
    return File(PLAIN, str(hash(text)), len(text.encode()), text.encode())


def side(**files: str) -> Side:
    folders: dict[str, dict[str, File]] = {}
    for name, text in files.items():
        agent, _, rest = name.partition("__")
        folders.setdefault(agent, {})[f"{rest}.md"] = file(text)
    return Side(folders, {})


def memory(*claims: str, description: str = "About a") -> str:
    return MEMORY.format(description, "\n\n".join(claims))


def judged(before: Side | None, after: Side, **known: object) -> list[Finding]:
    context = compare(before, after, RuleContext(**known))  # type: ignore[arg-type]
    found = list(judge_secrets(before, after, context))
    shown = repr(without_secrets(found, frozenset()))
    assert GITHUB not in shown and OTHER not in shown
    return found


def places(found: list[Finding]) -> list[tuple[str, int, str, str]]:
    return [(one.path, one.line, one.level, one.commit) for one in found]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (memory("One.", f"The token is {GITHUB}."), 9),
        (memory(f"One\ntwo {GITHUB}."), 8),
        (memory("One.", description=f"uses {GITHUB}"), 3),
        (memory("One.").replace("name: a", f"name: {GITHUB}"), 2),
        (memory("One.").replace("type: project", f"type: project\nowner: {GITHUB}"), 5),
        (f"no frontmatter\n\n{GITHUB}\n", 3),
    ],
)
def test_a_credential_in_a_memory_is_told_with_its_line(text: str, line: int) -> None:
    (found,) = judged(None, side(main__a=text))
    assert (found.path, found.line, found.rule, found.level) == (PATH, line, "secret", "error")
    assert (found.fingerprints, found.commit, found.text) == ((PRINT,), "", "")
    assert found.message.startswith(f"github-pat {PRINT}: ") and "history" not in found.message


def test_what_was_accepted_or_stood_there_is_not_told() -> None:
    text = memory(f"The token is {GITHUB}.")
    assert judged(None, side(main__a=text), allow=frozenset({PRINT})) == []
    more = memory(f"The token is {GITHUB}.", "Another.")
    assert judged(side(main__a=text), side(main__a=more)) == []
    moved = memory(f"The token is {GITHUB}!", "Another.")
    assert len(judged(side(main__a=text), side(main__a=moved))) == 1


def test_one_that_stood_in_an_index_is_not_told_again_and_a_second_one_is() -> None:
    one, both = f"- [A](a.md) — {GITHUB}\n", f"- [A](a.md) — {GITHUB}, {OTHER}\n"
    assert judged(side(main__MEMORY=one), side(main__MEMORY=one + "- more\n")) == []
    (found,) = judged(side(main__MEMORY=one), side(main__MEMORY=both))
    told = judged(None, side(main__MEMORY=f"# Index\n\n{one}"))
    assert places(told) == [("main/MEMORY.md", 3, "error", "")]
    assert found.fingerprints != (PRINT,) and found.path == "main/MEMORY.md"


def test_each_place_is_told_once_and_the_end_before_its_commits() -> None:
    text = memory(f"The token is {GITHUB}.", f"Again {GITHUB}, {GITHUB}.")
    found = judged(None, side(main__a=text, main__b=text, main__c=memory("Plain.")))
    assert places(found) == [(PATH, 7, "error", ""), ("main/b.md", 7, "error", "")]
    text = memory(f"It is {GITHUB}.")
    found = judged(None, side(main__a=text), revisions=(revision({PATH: text}),))
    assert places(found) == [(PATH, 7, "error", "")]
    many = judged(None, side(**{f"main__{name}": text for name in "gfedcba"}))
    assert [one.path for one in many] == [f"main/{name}.md" for name in "abcdefg"]
    many = judged(None, side(**{f"main__{name}-{GITHUB}": "A.\n" for name in "gfedcba"}))
    assert [one.path for one in many] == [f"main/{name}-{GITHUB}.md" for name in "abcdefg"]


def test_a_key_that_lies_across_claims_is_told_where_it_begins() -> None:
    pem = Maker(3).pem("RSA ", 6)
    lines = pem.split("\n")
    text = memory("First.", *lines[:1], "\n".join(lines[1:4]), "\n".join(lines[4:]))
    found = judged(None, side(main__a=text))
    assert min((one.path, one.line) for one in found) == (PATH, 9)
    beside = memory(f"Use {GITHUB}.", lines[0], "\n".join(lines[1:]), f"Or {OTHER}.")
    rules = {one.message.partition(" ")[0] for one in judged(None, side(main__a=beside))}
    assert rules > {"private-key"} and len(rules) == 3, "beside others, too"
    before = side(main__a=memory("First."))
    added = judged(before, side(main__a=memory("First.", lines[0], "\n".join(lines[1:]))))
    assert added and {one.path for one in added} == {PATH}, "also of two claims alone"
    named = memory("One.", description=Maker(3).some(40)).replace("name: a", "name: prod-api-key")
    assert places(judged(None, side(main__a=named))) == [(PATH, 3, "error", "")]


@pytest.mark.parametrize("first", [True, False])
def test_a_token_that_lies_across_claims_is_told_where_it_begins_beside_another(first: bool) -> None:
    halves, whole = ["The github\noauth is " + OTHER[:20], OTHER[20:]], [f"Use\n{GITHUB}."]
    text = memory(*(halves + whole if first else whole + halves))
    found = {one.message.partition(" ")[0]: one.line for one in judged(None, side(main__a=text))}
    assert found == {"github-oauth": 8 if first else 11, "github-pat": 13 if first else 8}


def test_a_sure_one_is_told_though_a_part_of_it_by_itself_only_may_be_one() -> None:
    found = judged(None, side(main__a=memory(f"The token is {OTHER[:20]}", OTHER[20:], "More.")))
    assert [(one.message.partition(" ")[0], one.level) for one in found] == [
        ("password-in-prose", "notice"),
        ("github-oauth", "error"),
    ]
    value = Maker(20261123).some(48)
    (half,) = judged(None, side(main__a=memory(f"PAYMENTS_API_KEY={value[:30]}", value[30:], "More.")))
    assert (half.line, half.level) == (7, "error"), "once, where it begins"
    twice = judged(None, side(main__a=memory(f"The token is {GITHUB}.", "More.")))
    assert [one.level for one in twice] == ["error"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"main__{GITHUB}", "github-pat"),
        (f"main__use-{GITHUB}", "github-pat"),
        ("main__the-password-is-hunter2boat", "password-in-prose"),
        ("main__the_password_is_hunter2boat", "password-in-prose"),
        ("main__a", ""),
    ],
)
def test_a_name_that_is_a_credential_is_told_and_one_that_was_there_is_not(name: str, told: str) -> None:
    after = side(**{name: memory("A.")})
    found = judged(None, after)
    assert [one.message.split()[5] for one in found] == ([told] if told else [])
    assert all(one.message.startswith("its name holds a secret, ") and not one.commit for one in found)
    assert judged(after, side(**{name: memory("B.")})) == []
    assert judged(side(main__b=memory("B.")), side(main__b=memory("B."), **{name: memory("A.")})) == found


def test_a_name_that_spells_a_value_told_elsewhere_is_not_shown() -> None:
    """By itself nobody takes it for one."""
    value = Maker(5).some(32)
    slug = f"{value[:8]}-{value[8:16]}-{value[16:]}".lower()
    spelt = f"{value[:8]}_{value[8:16]}.{value[16:]}"
    found = judged(
        None, side(main__a=memory(f"It is `PAYMENTS_API_KEY={spelt}`."), **{f"main__{slug}": "A.\n"})
    )
    assert {one.path for one in found} == {PATH, f"main/{slug}.md"} and safe_path(slug) == slug
    assert slug not in repr(without_secrets(found, frozenset()))
    path = f"main/topics/{slug}.md"
    deep = judged(
        None,
        side(
            main__a=memory(f"It is `PAYMENTS_API_KEY={spelt}`."),
            **{path[:-3].replace("/", "__", 1): "A.\n"},
        ),
    )
    said = Finding("main/b.md", 1, "duplicate", f"as {path} does: {slug}.md, {slug}")
    assert without_secrets([*deep, said], frozenset())[-1].message == (
        "as main/topics/[generic-api-key] does: [generic-api-key], [generic-api-key]"
    )
    last = replace(said, path=f"old/{slug}.md")
    assert slug not in without_secrets([*deep, last], frozenset())[-1].message, "of another agent, too"


def test_the_name_of_the_branch_and_one_that_came_and_went_are_judged() -> None:
    (found,) = judged(None, side(), ref=f"add-{GITHUB}")
    assert (found.path, found.message) == ("", f"the name of the branch holds a secret, github-pat {PRINT}")
    assert judged(None, side(), ref="add-ports") == []
    one = revision({f"main/{GITHUB}.md": memory("A.")})
    (found,) = judged(None, side(), revisions=(one,))
    assert found.commit == OID and found.message.startswith("its name holds a secret, ")
    stood = {f"main/{GITHUB}.md": memory("A.")}
    assert judged(None, side(), revisions=(revision(stood, stood),)) == []


def test_what_a_commit_says_is_told_with_the_commit() -> None:
    one = Revision(OID, (f"Ann <{GITHUB}@x>", "Ben <b@x>"), f"Add {OTHER}\n", ({},), {})
    message, person = judged(None, side(), revisions=(one, one))
    assert message.message.startswith("the message of the commit holds ")
    assert person.message.startswith("the name of a person holds ")
    for found in (message, person):
        assert found.message.endswith(" (0123456789ab: it stays in history)")
        assert (found.path, found.line, found.commit, found.level) == ("", 1, OID, "error")
    people = [f"{name} <{Maker(at).summed('gh' + 'p')}@x>" for at, name in enumerate("abcdef")]
    told = judged(None, side(), revisions=(Revision(OID, (*people[::-1],), "Add\n", ({},), {}),))
    each = [judged(None, side(), revisions=(Revision(OID, (who,), "Add\n", ({},), {}),)) for who in people]
    assert told == [one for some in each for one in some] and len(told) == len(people)


def revision(files: dict[str, str], *parents: dict[str, str], oid: str = OID) -> Revision:
    read = [{path: file(text) for path, text in tree.items()} for tree in (files, *parents)]
    return Revision(oid, (), "Add\n", tuple(read[1:]) or ({},), read[0])


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (PATH, memory("One.", f"It is {GITHUB}."), 9),
        ("main/MEMORY.md", f"# Index\n\n- {GITHUB}\n", 3),
        (".gitmem", f"format = 1\n# {GITHUB}\n", 2),
    ],
)
def test_what_came_and_went_is_told_with_its_line_in_that_commit(path: str, text: str, line: int) -> None:
    one = revision({path: text})
    assert places(judged(None, side(main__a=memory("One.")), revisions=(one,))) == [
        (path, line, "error", OID)
    ]
    later = revision({path: text}, {path: text}, oid="f" * 20)
    assert places(judged(None, side(), revisions=(one, later))) == [(path, line, "error", OID)]
    grown = revision({path: f"{text}\nMore.\n"}, {path: text})
    assert judged(None, side(), revisions=(later, grown)) == [], "a parent had it"


def test_a_value_is_looked_for_in_all_that_a_change_brings() -> None:
    value = Maker(20261123).some(24)
    assert not find_secrets(f"Ask for {value}.")
    given = memory(f"Set `PAYMENTS_API_KEY={value}` first.")
    found = judged(None, side(main__a=given, main__b=memory("One.", f"Ask for {value}.")))
    assert places(found) == [(PATH, 7, "error", ""), ("main/b.md", 9, "error", "")]
    assert value not in repr(found) and found[0].fingerprints == found[1].fingerprints
    one = Revision(OID, (), f"Use {value}\n", ({},), {})
    assert "" in [found.path for found in judged(None, side(main__a=given), revisions=(one,))]


def test_findings_show_no_credential_in_any_part() -> None:
    plain = Finding("main/b.md", 1, "link", "leads nowhere")
    said = Finding(
        f"main/{GITHUB}.md", 2, "link", f"link {GITHUB}", text=f"[[{GITHUB}]]", claim=f"main/{GITHUB}.md#0"
    )
    shown = without_secrets([said, plain], frozenset())
    assert shown[1] == plain and GITHUB not in repr(shown)
    assert (shown[0].path, shown[0].message) == ("main/[github-pat]", "link [github-pat]")
    assert (shown[0].text, shown[0].line, shown[0].rule) == ("[[[github-pat]]]", 2, "link")
    assert without_secrets([said], frozenset({PRINT})) == (said,)
    assert without_secrets([plain], frozenset()) == (plain,)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("main/a.md", "main/a.md"),
        (f"main/{GITHUB}.md", "main/[github-pat]"),
        (f"main/logs/{GITHUB}/x.md", "main/logs/[github-pat]/x"),
        (f"main/key-{AWS}.md", "main/key-[aws-access-token]"),
    ],
)
def test_a_path_is_shown_without_credentials(path: str, shown: str) -> None:
    assert safe_path(path) == shown
    assert safe_path(path, frozenset({PRINT, find_secrets(AWS)[0].fingerprint})) == path
