"""What is taken out where a text is purged, in every form that it may have been written in."""

from __future__ import annotations

import pytest

from gitmem.core import tombstone
from gitmem.core.purge import Purge, explain, unfit

TEXT = "Ann's old key is kept in /srv/keys & more"
SALT = "ab" * 16


def purge(*texts: str) -> Purge:
    return Purge(frozenset(texts))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", "fewer than 4"),
        ("a b  c", "fewer than 4"),
        ("abcd", None),
        ("a b c d", None),
        ("Feedback", "in every memory"),
        ("**WHY:**", "in every memory"),
        ("gitmem-op:  ADD", "in every memory"),
        ("Gitmem-Op: nothing", None),
        ("begin a memory", "in every memory"),
        ("agent extract", "in every memory"),
        ("Gitmem-Job:", "in every memory"),
        ("Merged Superseded", "in every memory"),
        ("archive.md", "in every memory"),
        ("sync archive", None),
    ],
)
def test_a_text_that_is_everywhere_may_not_be_purged(text: str, why: str | None) -> None:
    said = unfit(text)
    assert said is None if why is None else said and why in said


@pytest.mark.parametrize(
    "written",
    [
        "Ann's old key is kept in /srv/keys & more",
        "Ann's old\n  key is   kept in\r\n/srv/keys\t& more",
        "Ann''s old key is kept in /srv/keys & more",
        "Ann's old key is kept in /srv/keys &#38; more",
        "Ann's old key is kept\\n\\t in /srv/keys & more",
        "Ann's old key…",
        "Ann's old key ,;:. …",
        "Ann's old key\\u2026",
        "Ann's old key is kept in /srv/keys…",
        "Ann's old key is kept in /srv/keys & …",
        "anns-old-key-is-kept-in-srv-keys-more",
    ],
)
def test_a_text_goes_in_whatever_form_it_is_written(written: str) -> None:
    data = f"before {written} after".encode()
    assert purge(TEXT).holds(data)
    assert purge(TEXT).clean(data) == b"before [purged] after"
    assert purge(TEXT).clean(data, b"-") == b"before - after"


@pytest.mark.parametrize(
    "other",
    [
        "Ann's old…",
        "Ann's old keys are kept in /srv/keys & more",
        "ann's old key is kept in /srv/keys & more",
        "Ann's old key is lost…",
        "Ann'''s old key is kept in /srv/keys & more",
    ],
)
def test_another_text_stays(other: str) -> None:
    data = f"before {other} after".encode()
    assert not purge(TEXT).holds(data) and purge(TEXT).clean(data) == data


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("größer als", "größer als"),
        ("größer als", "gro\u0308ßer als"),
        ("gro\u0308ßer als", "größer als"),
        ("größer als", "gr\\u00f6\\u00dfer als"),
        ('say "so"', 'say \\"so\\"'),
        ("a < b and c", "a &#60; b and c"),
        ("C:\\path\\x", "C:\\\\path\\\\x"),
        ("bytes \udcff x", "bytes \udcff x"),
    ],
)
def test_letters_are_found_as_json_html_and_unicode_write_them(text: str, written: str) -> None:
    data = b"<" + written.encode("utf-8", "surrogateescape") + b">"
    assert purge(text).clean(data) == b"<[purged]>"


def test_longer_texts_go_as_a_whole_and_what_is_short_or_blank_stays() -> None:
    assert purge("the key", "the key is red").clean(b"the key is red; the key") == b"[purged]; [purged]"
    assert purge("One!").clean_name(b"one-two.md") == b"one-two.md"
    assert purge("Kiwi").clean_name(b"kiwi.md") == b"[purged].md"
    assert purge("One three").clean_name(b"one-three.md") == b"[purged].md"
    assert purge("one two x").clean_name(b"one-two-x") == b"[purged]"
    assert not purge(" ").holds(b"a b") and not Purge().holds(b"a")


def test_a_purge_of_texts_or_memories_is_one_and_two_are_one_of_all() -> None:
    assert purge("text") and Purge(memories=frozenset({"main/a.md"}))
    assert not Purge() and not Purge(said=frozenset({"x"}))
    one = Purge(frozenset("a"), frozenset("b"), frozenset({(b"c", b"d")}), frozenset("e"), frozenset("f"))
    other = Purge(frozenset("1"), frozenset("2"), frozenset({(b"3", b"4")}), frozenset("5"), frozenset("6"))
    both = one | other
    assert both.texts == {"a", "1"} and both.memories == {"b", "2"} and both.keys == {"e", "5"}
    assert both.others == {(b"c", b"d"), (b"3", b"4")} and both.said == {"f", "6"}


def test_what_stands_for_a_text_is_replaced_by_its_own() -> None:
    named = Purge(frozenset({"secret text"}), others=frozenset({(b"0a1b", b"2c3d"), (b"(x)", b"(y)")}))
    assert named.clean(b"#0a1b (x) 0a1") == b"#2c3d (y) 0a1"


def test_what_was_said_of_a_memory_goes_from_messages_alone() -> None:
    said = Purge(memories=frozenset({"main/a.md"}), said=frozenset({"About Ann"}))
    assert said.clean_message(b"Add About Ann\n") == b"Add [purged]\n"
    assert said.clean(b"About Ann") == b"About Ann"


def test_the_format_file_stays_and_only_a_memory_has_frontmatter() -> None:
    named = purge("format")
    assert named.clean_name(b".gitmem") == b".gitmem"
    assert named.clean_file(".gitmem", b"format = 1\n") == b"format = 1\n"
    assert purge("gitmem").clean_name(b".gitmem") == b".gitmem"
    data = b"---\nnote: the secret\n---\n"
    assert purge("the secret").clean_file("main/a.txt", data) == b"---\nnote: [purged]\n---\n"


def test_tombstones_of_the_text_go_and_others_stay() -> None:
    stones = [tombstone.bury(key, SALT, "2026-11-20", "forgot").line() for key in ("secret text", "other")]
    named = Purge(frozenset({"secret text"}), keys=frozenset({"secret text"}))
    assert named.clean_file("main/.tombstones", "".join(stones).encode()).decode() == stones[1]
    assert purge("secret text").clean_file("main/.tombstones", stones[0].encode()).decode() == stones[0]


INDEX = b"# Index\n\n- [A](a.md) \xe2\x80\x94 first\n- [B](b.md) \xe2\x80\x94 second\n"


def test_lines_about_memories_that_go_go_from_the_index_of_their_agent() -> None:
    named = Purge(memories=frozenset({"main/a.md", "other/b.md"}))
    assert named.clean_file("main/MEMORY.md", INDEX) == INDEX.replace(
        b"- [A](a.md) \xe2\x80\x94 first\n", b""
    )
    assert named.clean_file("third/MEMORY.md", INDEX) == INDEX
    assert Purge(memories=frozenset({"main/c.md"})).clean_file("main/MEMORY.md", INDEX) == INDEX


def test_a_title_of_an_index_gets_no_brackets() -> None:
    """`[[purged]](a.md)` is no link to most readers."""
    data = b"- [the secret](a.md) \xe2\x80\x94 the secret\n- [the secret](<b c.md>)\n- [the secret] alone\n"
    assert purge("the secret").clean_file("main/MEMORY.md", data) == (
        b"- [purged](a.md) \xe2\x80\x94 [purged]\n- [purged](<b c.md>)\n- [[purged]] alone\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("description: the secret\n", 'description: "[purged]"\n'),
        ('description: the secret is "so"\n', 'description: "[purged] is \\"so\\""\n'),
        ("description: the secret \\ x  \n", 'description: "[purged] \\\\ x"\n'),
        ("metadata:\n  note: the secret\n", 'metadata:\n  note: "[purged]"\n'),
        ("description: it is the secret\n", "description: it is [purged]\n"),
        ('description: "the secret"\n', 'description: "[purged]"\n'),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_frontmatter_stays_yaml(before: str, after: str, end: str) -> None:
    """A bare `[purged]` would be a list."""
    body = f"---\n{before}---\n\nkey: the secret\n".replace("\n", end).encode()
    clean = f"---\n{after}---\n\nkey: [purged]\n".replace("\n", end).encode()
    assert purge("the secret").clean_file("main/a.md", body) == clean


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        ("same", "same", ()),
        ("a secret b", "a [purged] b", ("secret",)),
        ("a secret b secret c", "a [purged] b [purged] c", ("secret",)),
        ("a secret b\nother c", "a [purged] b\n[purged] c", ("secret", "other")),
        ("secret", "[purged]", ("secret",)),
        ("secret end", "[purged] end", ("secret",)),
        ("a [purged] b secret", "a [purged] b [purged]", ("secret",)),
        ("a b", "a c", None),
        ("a secret b", "a [purged] c", None),
        ("a secret b", "c [purged] b", None),
        ("a secret b other", "a [purged] c [purged]", None),
        ("a  b", "a [purged] b", None),
        ("ab", "a[purged]b", None),
        ("ab", "a[purged]bb", None),
        ('n: secret "x"\n', 'n: "[purged] \\"x\\""\n', ("secret",)),
        ('a: b\nn: secret "x"\n', 'a: b\nn: "[purged] \\"x\\""\n', ("secret",)),
        ("ab ab", "ab[purged]", (" ab",)),
        ("x1y2y3z", "x[purged]y[purged]z", ("1", "2y3")),
        ("a secret", "a [purged] b", None),
        ("aa", "a[purged]a", None),
    ],
)
def test_what_was_taken_out_is_told_from_two_versions(
    old: str, new: str, texts: tuple[str, ...] | None
) -> None:
    assert explain(old.encode(), new.encode()) == texts


@pytest.mark.parametrize(
    ("written", "cleaned"),
    [
        ("the-pin-is-durian-for-deploys.md", "the-pin-is-[purged]-for-deploys.md"),
        ("durian.md", "[purged].md"),
        ("Forget the-pin-is-durian", "Forget the-pin-is-[purged]"),
        ("name: durian", "name: [purged]"),
        ("[[durian]]", "[[[purged]]]"),
        ("[durian](durian.md)", "[[purged]]([purged].md)"),
        ("a durian is no name", "a durian is no name"),
        ("the-durians-are-many.md", "the-durians-are-many.md"),
    ],
)
def test_a_short_text_goes_from_names_and_not_from_other_words(written: str, cleaned: str) -> None:
    assert purge("Durian").clean(written.encode()).decode() == cleaned
