"""A value recognised once is looked for in the whole change; what only may be one waits where asked."""

from __future__ import annotations

import shlex

import pytest
from planted_secrets import GITHUB, HEX, Maker

from gitmem.core.errors import CheckFailed
from gitmem.rules import screen as screening
from gitmem.rules.screen import new_warnings, refuse_secrets, refused_claims, screen, weigh
from gitmem.rules.secrets import find_secrets, scan_together

MAKE = Maker(20261124)
KEY = MAKE.some(32)
PASSWORD = MAKE.some(6, "bcdfghjk") + MAKE.some(3, "23456789")
STATED = f"The staging password is {PASSWORD}."
MEMORY = "---\nname: {0}\ndescription: {1}\nmetadata:\n  type: project\n---\n\n{2}\n"


def memory(name: str, description: str, body: str) -> bytes:
    return MEMORY.format(name, description, body).encode()


def test_a_value_refused_in_two_files_is_refused_in_the_other_two() -> None:
    """Only two of the four say that it is a key; the others just use it."""
    files = {
        "main/a.md": memory("a", "How CI signs", f"It reads `PAYMENTS_API_KEY={KEY}` from the shell."),
        "main/b.md": memory("b", "How staging signs", f'```json\n{{"api_key": "{KEY}"}}\n```'),
        "main/c.md": memory("c", "What support sends", f"Ask for {KEY} when they call."),
        "main/d.md": memory("d", "What the demo shows", f"The demo was run with {KEY}, twice."),
    }
    assert find_secrets(f"Ask for {KEY} when they call.") == ()
    screened = screen({}, files, frozenset())
    assert {one.path for one in screened.refusals} == set(files)
    assert KEY not in repr((screened.files, screened.refusals))
    assert b"How CI signs" in screened.files["main/a.md"]


def test_a_value_is_looked_for_in_index_lines_names_and_logs() -> None:
    slug = f"{KEY[:8]}-{KEY[8:16]}-{KEY[16:]}".lower()
    spelt = f"{KEY[:8]}_{KEY[8:16]}.{KEY[16:]}"
    files = {
        "main/a.md": memory("a", "How CI signs", f"It is `PAYMENTS_API_KEY={spelt}`."),
        "main/MEMORY.md": f"# Ours\n\n- [A](a.md) — signs with {spelt}\n- [B](b.md) — plain\n".encode(),
        f"main/{slug}.md": memory("plain", "Plain", "Plain."),
        f"{slug}/MEMORY.md": b"- [B](b.md)\n",
        "main/logs/2026/11/2026-11-20.md": f"- tried {spelt}\n- it worked\n- well\n".encode(),
    }
    screened = screen({}, files, frozenset())
    assert spelt not in repr((screened.files, screened.refusals)) and slug not in repr(screened.refusals)
    assert len(screened.refusals) == len(files), "one each, names among them"
    assert screened.files["main/MEMORY.md"] == "# Ours\n\n- [B](b.md) — plain\n".encode()
    assert screened.files["main/logs/2026/11/2026-11-20.md"] == b"- it worked\n- well\n"
    assert f"main/{slug}.md" not in screened.files and f"{slug}/MEMORY.md" not in screened.files


def test_what_only_warns_is_looked_for_as_well_and_warns_there() -> None:
    other = f"Log in at the door with {PASSWORD}, then call."
    found = scan_together([STATED, other])
    assert [[one.severity for one in some] for some in found] == [["warning"], ["warning"]]
    assert found[0][0].fingerprint == found[1][0].fingerprint
    assert scan_together([STATED, other], frozenset({found[0][0].fingerprint})) == ((), ())


@pytest.mark.parametrize("word", ["swordfish", "12345678", "pw1"])
def test_a_plain_word_a_number_and_a_short_value_are_looked_for_nowhere_else(word: str) -> None:
    """Each stands in many a text for something else."""
    texts = [f"The password is `{word}`.", f"See {word} in the manual."]
    assert scan_together(texts)[1] == ()


def test_a_short_value_is_not_found_inside_a_longer_word() -> None:
    assert scan_together(["The password is abc123x.", "The build zabc123xy failed."])[1] == ()


def test_what_stands_in_memory_already_is_not_judged_again() -> None:
    base = {"main/c.md": memory("c", "What support sends", f"Ask for {KEY} when they call.")}
    files = base | {"main/a.md": memory("a", "How CI signs", f"It is `PAYMENTS_API_KEY={KEY}`.")}
    screened = screen(base, files, frozenset())
    assert {one.path for one in screened.refusals} == {"main/a.md"}
    assert screened.files["main/c.md"] == base["main/c.md"]


def test_a_value_is_known_from_all_of_a_file_that_changes_and_from_no_other() -> None:
    said, other = (
        "It is `PAYMENTS_API_KEY=" + KEY + "`.",
        memory("b", "What support asks", f"Ask for {KEY}."),
    )
    base = {"main/a.md": memory("a", "How CI signs", f"{said}\n\nSince May.")}
    assert screen(base, {**base, "main/b.md": other}, frozenset()).refusals == ()
    less = {"main/a.md": memory("a", "How CI signs", said), "main/b.md": other}
    assert [one.path for one in screen(base, less, frozenset()).refusals] == ["main/b.md"]


def test_a_key_with_blank_lines_is_refused_whole() -> None:
    """Also its last line, which is too short to be looked for."""
    head, *body, end = Maker(3).pem("RSA ", 3).replace("==", "\n4k==").split("\n")
    bare = "\n\n".join([head, *body, end, "After."])
    assert screen({}, {"main/a.md": bare.encode()}, frozenset()).files["main/a.md"].strip() == b"After."
    split = f"# Use {GITHUB[:20]}\n{GITHUB[20:]}\n\nAfter.".encode()
    assert screen({}, {"main/a.md": split}, frozenset()).files["main/a.md"].strip() == b"After."
    files = {"main/a.md": memory("a", "How CI signs", f"Before.\n\n{bare}")}
    assert screen({}, files, frozenset()).files == {
        "main/a.md": memory("a", "How CI signs", "Before.\n\nAfter.")
    }


def test_claims_are_read_together_and_one_refuses_no_other() -> None:
    assert set(refused_claims([f"PAYMENTS_API_KEY={KEY}", "plain", f"with {KEY} it works"])) == {0, 2}
    assert refused_claims([f"{GITHUB} beside {KEY}."])[0].text == "[github-pat] beside […]."
    weighed = weigh(["fine", GITHUB, "the password is hunter2"])
    assert (list(weighed.refused), list(weighed.warned)) == ([1], [2])
    assert [finding.rule for finding in weighed.warned[2]] == ["password-in-prose"]


def test_what_may_be_a_secret_is_held_where_asked_and_says_how_it_passes() -> None:
    files = {"main/a.md": memory("a", "How staging is reached", f"{STATED}\n\nAsk Ann first.")}
    kept = screen({}, files, frozenset())
    assert kept.files == files and [one.level for one in kept.warnings] == ["notice"]
    held = screen({}, files, frozenset(), hold=True)
    assert b"Ask Ann first." in held.files["main/a.md"]
    assert PASSWORD.encode() not in held.files["main/a.md"]
    (finding,) = held.refusals
    assert (finding.line, finding.rule, finding.level) == (1, "secret", "error")
    assert finding.message == "may hold a secret (password-in-prose)"
    assert screen({}, files, frozenset(finding.fingerprints), hold=True).refusals == ()


def test_a_name_and_a_description_of_a_held_value_hold_the_whole_file() -> None:
    named = {f"main/staging-{PASSWORD}.md": memory("a", "How staging is reached", STATED)}
    described = {"main/a.md": memory("a", f"Staging, with {PASSWORD}", STATED)}
    for files in (named, described):
        held = screen({}, files, frozenset(), hold=True)
        assert held.files == {}
        assert PASSWORD not in repr(held.refusals)


@pytest.mark.parametrize("layout", [MEMORY, MEMORY.replace("metadata:\n  ", "")], ids=["nested", "flat"])
@pytest.mark.parametrize("name", ["prod-api-key", "deploy-token", "cloudflare-api"])
def test_a_value_that_only_the_name_above_it_gives_away_is_held(name: str, layout: str) -> None:
    """Neither line says it by itself."""
    value = MAKE.some(40)
    assert find_secrets(f"description: {value}") == ()
    files = {"main/a.md": layout.format(name, value, "See the vault.").encode()}
    made = screen({}, files, frozenset())
    assert [one.path for one in made.refusals] == ["main/a.md"] and not made.files
    assert value not in repr(made.refusals)


def test_what_only_warns_below_a_name_holds_nothing_back() -> None:
    files = {"main/a.md": memory("prod-api-key", Maker(5).some(40, HEX), "See the vault.")}
    assert [one.severity for one in find_secrets(files["main/a.md"].decode())] == ["warning"]
    made = screen({}, files, frozenset())
    assert (made.files, made.refusals) == (files, ())


def test_a_new_text_is_read_with_what_stood_beside_it_before() -> None:
    """A name says what the value is that is put below it later."""
    before, value = memory("prod-api-key", "Where it is kept", "See the vault."), MAKE.some(40)
    made = screen(
        {"main/a.md": before}, {"main/a.md": memory("prod-api-key", value, "See the vault.")}, frozenset()
    )
    assert [one.path for one in made.refusals] == ["main/a.md"] and made.files == {"main/a.md": before}


def test_a_write_made_whole_or_not_at_all_is_refused_where_asked() -> None:
    edits = {"main/a.md": memory("a", "How staging is reached", STATED), "main/b.md": None}
    assert [one.rule for one in refuse_secrets({}, edits, frozenset())] == ["password-in-prose"]
    with pytest.raises(CheckFailed, match="may hold a secret") as caught:
        refuse_secrets({}, edits, frozenset(), hold=True)
    assert PASSWORD not in caught.value.message and "--allow stores it this once" in caught.value.hint
    token = {"main/a.md": memory("a", "How CI signs", f"It is {GITHUB}.")}
    for base, where in (({}, "the text"), ({"main/a.md": memory("a", "How CI signs", "x")}, "main/a.md")):
        with pytest.raises(CheckFailed, match=f"^Not stored: {where} holds a secret") as caught:
            refuse_secrets(base, token, frozenset())
        assert "--allow" not in caught.value.hint
    both = {"main/a.md": memory("a", "How CI signs", f"It is {GITHUB} or {Maker(3).summed('gh' + 'o')}.")}
    with pytest.raises(CheckFailed) as caught:
        refuse_secrets({}, both, frozenset())
    *_, prints = shlex.split(caught.value.hint)
    assert caught.value.hint.count("'") == 2 and len(prints.split()) == 2, "git takes one word"
    with pytest.raises(CheckFailed, match=r"^Not stored: main/con\.md the part"):
        refuse_secrets({}, {"main/con.md": b"x"}, frozenset())


def test_what_leaves_is_told_again() -> None:
    files = {"main/a.md": memory("a", "How staging is reached", STATED), "main/b.md": b"Plain.\n"}
    (finding,) = new_warnings({}, files, frozenset())
    assert (finding.path, finding.line, finding.level) == ("main/a.md", 1, "notice")
    assert PASSWORD not in repr(finding)
    assert new_warnings({}, files, frozenset(finding.fingerprints)) == ()
    assert new_warnings(files, files, frozenset()) == ()


def test_a_value_that_blocks_is_found_beside_a_token_of_its_own() -> None:
    digest = MAKE.some(40, HEX)
    found = scan_together([f"token {GITHUB}", f"commit {digest} and {GITHUB}"])
    assert [len(some) for some in found] == [1, 1]


@pytest.mark.parametrize("where", ["main/{}.md", "{}/a.md", "main/archive/ab/{}.md"])
def test_a_secret_in_a_name_is_refused_and_not_told(where: str) -> None:
    path = where.format(GITHUB)
    (refusal,) = screen({}, {path: b"Fine.\n"}, frozenset()).refusals
    assert GITHUB not in repr(refusal)
    assert refusal.rule == "secret"
    assert screen({"main/con.md": b"Fine.\n"}, {"main/con.md": b"More.\n"}, frozenset()).refusals == ()
    (refusal,) = screen({}, {"main/con.md": b"Fine.\n"}, frozenset()).refusals
    assert (refusal.line, refusal.rule) == (1, "path")


@pytest.mark.parametrize(
    ("path", "size", "said"),
    [
        ("main/a.md", 102_400, None),
        ("main/a.md", 102_401, "is larger than 102,400 bytes"),
        ("main/MEMORY.md", 102_401, None),
        ("main/logs/2026/11/2026-11-20.md", 4_194_304, None),
        ("main/logs/2026/11/2026-11-20.md", 4_194_305, "is larger than 4,194,304 bytes"),
        ("main/notes.txt", 4_194_305, "is larger than 4,194,304 bytes"),
    ],
)
def test_a_file_may_be_just_as_large_as_its_limit(path: str, size: int, said: str | None) -> None:
    held = screening._too_large(path, None, bytes(size))
    assert (held and held.message) == said


def test_a_memory_that_is_too_large_is_held_whole_until_it_shrinks() -> None:
    large, larger = b"word " * 30_000, b"word " * 40_000
    (refusal,) = screen({}, {"main/a.md": large}, frozenset()).refusals
    assert (refusal.line, refusal.rule, "102,400" in refusal.message) == (1, "size", True)
    kept = screen({"main/a.md": larger}, {"main/a.md": large}, frozenset())
    assert kept.files == {"main/a.md": large}
    grown = screen({"main/a.md": large}, {"main/a.md": larger}, frozenset())
    assert grown.files == {"main/a.md": large}
    assert [one.rule for one in grown.refusals] == ["size"]


def test_what_warns_is_stored_and_told_without_the_credential() -> None:
    text = b"The password is hunter2.\n"
    screened = screen({}, {"main/a.md": text}, frozenset())
    assert screened.files == {"main/a.md": text}
    (caution,) = screened.warnings
    assert (caution.path, caution.rule) == ("main/a.md", "password-in-prose")
    assert "hunter2" not in caution.text
    again = screen({"main/a.md": text}, {"main/a.md": text + b"\nMore.\n"}, frozenset())
    assert again.warnings == ()
    assert screen({}, {"main/a.md": text}, frozenset(caution.fingerprints)).warnings == ()


def test_refusal_names_claim_reason_and_way_out() -> None:
    refused = refused_claims(["fine", f"the token\u202e is {GITHUB}"], path="main/a.md")
    assert list(refused) == [1]
    refusal = refused[1]
    assert (refusal.path, refusal.rule) == ("main/a.md", "secret")
    assert refusal.text == "the token\\u202e is [github-pat]"
    assert refusal.message == "holds a secret (github-pat)"
    beside = refused_claims([f"{STATED} The token is {GITHUB}."])[0]
    assert (beside.message, beside.fingerprints) == (refusal.message, refusal.fingerprints), "what blocks"
    assert refused_claims([GITHUB], frozenset(refusal.fingerprints)) == {}
