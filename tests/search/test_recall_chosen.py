"""Which of chosen memories are told, in which order, and why others are not; the text, to the character."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gitmem.core.errors import MissingObject
from gitmem.core.references import Named, NameFate
from gitmem.search import recall as module
from gitmem.search.content import CodeNames, Opened
from gitmem.search.gate import LeftOut, Selection
from gitmem.search.query import Candidate, RecallSource
from gitmem.search.recall import (
    OPENS,
    NotShown,
    Recall,
    RecallItem,
    age_note,
    as_context,
    as_json,
    cap,
    excerpt,
    for_prompt,
    later_ones,
    plain_place,
    recall,
    told_by,
)

REF, NOW = "refs/x", 10_000_000
ITEM = RecallItem("user", "main", "a.md", "a", "", "project", "Text.", 3, True, "", 1.0, "0")


def candidate(name: str, time: int = 10, told: int = 2, score: float = 5.0, **more: object) -> Candidate:
    parts: dict[str, float] = {"told": told, "decisive": 0, "word": 1.0}
    made = Candidate(
        REF,
        "main",
        f"main/{name}.md",
        name,
        score,
        parts,
        name,
        "",
        "project",
        False,
        time,
        why={"words": 5.0},
    )
    return replace(made, **more)  # type: ignore[arg-type]


A, X, Y = candidate("a", score=3.0), candidate("x", score=5.0), candidate("y", score=4.0)
B, C, PLAIN, GONE = (candidate(name, 20, score=1.0) for name in ("b", "c", "plain", "gone"))
FAR = replace(A, ref="refs/y", time=20)
"""What stands at the same place elsewhere."""


def read(one: Candidate) -> Opened:
    if one.blob == "gone":
        raise MissingObject("gone")
    said = "no longer" if one.blob in "bc" or one.ref == "refs/y" else "still"
    return Opened(one.name, "", "project", f"It is {said} so.")


@pytest.mark.parametrize(
    ("chosen", "near", "later", "order"),
    [
        ([A], [A, B], [B], "ba"),
        ([A], [A, replace(B, parts={**B.parts, "told": 1})], [B], "a"),
        ([A], [A, replace(B, parts={**B.parts, "told": 1, "decisive": 1})], [B], "ba"),
        ([A], [A, replace(B, time=10)], [B], "a"),
        ([replace(A, time=0)], [B], [B], "a"),
        ([A], [C], [B], "a"),
        ([A], [replace(B, ref="refs/y")], [B], "a"),
        ([A], [PLAIN], [PLAIN], "a"),
        ([A], [GONE, B], [GONE, B], "ba"),
        ([A], [PLAIN, C, B], [PLAIN, C, B], "ca"),
        ([A, X, B], [B], [B], "bax"),
        ([B, A], [B], [B], "ba"),
        ([X, A], [B], [B], "xba"),
        ([X, Y, A], [B], [B], "xya"),
        ([A], [FAR], [FAR], "aa"),
        ([A, X, Y], [B], [B], "bax"),
    ],
)
def test_what_amends_one_of_the_first_two_comes_before_it(
    chosen: list[Candidate], near: list[Candidate], later: list[Candidate], order: str
) -> None:
    """Where it is near the question, too, and says that it amends."""
    asked: list[str] = []

    def seek(one: Candidate, text: str) -> Sequence[Candidate]:
        asked.append(text)
        return later if one.path == A.path else []

    scopes = {REF: "user", "refs/y": "local"}
    done = recall("q", near, read, NOW, scopes, limit=3, selection=Selection(tuple(chosen)), later=seek)
    assert "".join(item.name for item in done.items) == order
    first, second = order.find("a") - 1, order.rfind("a")
    amended = (first >= 0 and order[first] in "bc") or order == "aa"
    assert [item.amended for item in done.items if item.amended] == (
        [done.items[second - 1].agent + f"/{done.items[second - 1].file}"] if amended else []
    )
    if amended:
        newer, older = done.items[second - 1 : second + 1]
        assert (newer.facts[-1], older.facts[-1]) == (
            f"it amends main/{older.file}",
            f"amended since by main/{newer.file}",
        )
        if newer.name not in [one.name for one in chosen]:
            assert (newer.score, newer.why) == (older.score, {})
    assert all(text == "It is still so." for text in asked)
    assert [(left.candidate.blob, left.why) for left in done.left] == (
        [("y", "limit")] if order == "bax" and Y in chosen else []
    )


def test_of_what_was_amended_by_what_was_shown_neither_is_told() -> None:
    done = recall(
        "q", [B], read, NOW, {REF: "user"}, frozenset("b"), selection=Selection((A, X)),
        later=lambda one, _: [B] if one is A else [],
    )  # fmt: skip
    assert [item.name for item in done.items] == ["x"]
    assert done.left == (LeftOut(A, "shown", "main/b.md"),)


def test_each_that_is_not_shown_says_why_in_the_order_of_their_scores() -> None:
    """One that cannot be read takes no room."""

    def some(one: Candidate) -> Opened:
        if one.blob == "y":
            raise NotShown("unmerged", "topic")
        return read(one)

    left = (LeftOut(candidate("z", score=0.5), "below", "little"), LeftOut(X, "duplicate"))
    selection = Selection((Y, GONE, X, replace(GONE, score=0.8), A, B), left)
    done = recall("q", [], some, NOW, {REF: "user"}, limit=1, selection=selection)
    assert [(item.name, item.scope, item.kind) for item in done.items] == [("x", "user", "memory")]
    assert [(one.candidate.name, one.why, one.detail) for one in done.left] == [
        ("y", "unmerged", "topic"), ("a", "limit", ""), ("gone", "gone", ""), ("b", "limit", ""),
        ("gone", "limit", ""), ("z", "below", "little"),
    ]  # fmt: skip
    assert done.unmerged == done.left[:1] and done.nearest == ()
    none = recall("q", [], some, NOW, {REF: "user"}, selection=Selection((Y,), left))
    assert none.items == () and [one.why for one in none.left] == ["duplicate", "unmerged", "below"]
    assert str(NotShown("gone")) == "gone" and str(NotShown("gone", "why")) == "why"


def test_where_nothing_fits_the_nearest_three_are_named() -> None:
    left = tuple(LeftOut(candidate(name), "shown" if name == "a" else "below") for name in "abcde")
    assert [one.name for one in Recall("q", (), left=left).nearest] == ["b", "c", "d"]


def test_what_is_known_of_a_memory_is_told_after_its_age() -> None:
    one = replace(A, time=NOW - 86_400 * 2)
    opened = Opened("a", "", "project", "\nBody\n\n", known=("disputed",))
    done = recall(
        "q", [one], lambda _: opened, NOW, {REF: "user"}, selection=Selection((one,)),
        about=lambda some: [["by Ann"]] * len(some),
    )  # fmt: skip
    (item,) = done.items
    aged = "2 days old; not checked against the code since"
    assert (item.facts, item.note) == ((aged, "disputed", "by Ann"), f"{aged}; disputed; by Ann")
    assert (item.text, item.age_days, item.stale, item.why) == ("Body", 2, True, {"words": 5.0})
    assert item.commit == "" and "as of" not in as_context(done)
    for time, told in ((0, "of unknown age; {}"), (NOW - 86_400, "1 day old; {} since")):
        assert age_note(time, NOW, True)[2] == told.format(
            "only the names in it were checked against the code"
        )
    assert repr(age_note(NOW, NOW)) == "(0, False, '')"
    fresh = recall(
        "q", [], lambda _: opened, NOW, {REF: "user"}, selection=Selection((replace(A, time=NOW),))
    )
    assert fresh.items[0].facts == ("disputed",)


def test_names_are_looked_up_together_where_any_memory_names_something() -> None:
    asked: list[Named] = []

    class Looked:
        def look(self, some: Sequence[Named]) -> Sequence[Sequence[NameFate]]:
            asked.extend(some)
            return [[NameFate("x", "missing")] if one.words else [] for one in some]

    names: CodeNames = ((), ("sure",), (("x", ("x",)),))
    for first, told in ((names, [1, 0]), (((), (), ()), [])):
        said = {"a": first, "x": ((), (), ())}
        done = recall(
            "q", [], lambda one: replace(read(one), names=said[one.name]), NOW, {REF: "user"},  # noqa: B023
            code=Looked(), selection=Selection((A, X)),
        )  # fmt: skip
        assert [len(one.words) for one in asked] == told
        assert [len(item.checked) for item in done.items] == (told or [0, 0])
        asked.clear()


def test_later_ones_are_sought_by_how_a_text_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among the best of them; what is a line of a log, older, or hardly like it, amends nothing."""
    asked: list[tuple[int, int]] = []
    like = replace(B, score=9.0, parts={**B.parts, "covered": 1.0})
    others = [replace(like, path=f"main/{n}.md", time=10, score=1.0) for n in range(9)]
    line = replace(like, path="main/logs/l.md#0123456789ab")
    found = [replace(A, time=20), like, line, replace(like, score=1.0, path="main/w.md"), *others]

    def search(_: object, query: str, *more: object) -> Sequence[Candidate]:
        asked.append((len(query), more[2]))  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(module, "search", search)
    source = RecallSource(None, None, {REF: "user"})  # type: ignore[arg-type]
    assert later_ones([source])(A, "word " * 900) == [like]
    assert later_ones([source])(replace(A, time=0), "word") == []
    assert asked == [(1500, 20), (len("a\n\nword"), 20)]


@pytest.mark.parametrize(
    ("text", "lines", "size", "cut"),
    [
        ("a\nb", 2, 3, "a\nb"),
        ("a\nb\nc", 2, 100, "a\n[cut: the memory has 3 lines, 5 bytes]"),
        ("a\n\n\nc", 3, 100, "a\n[cut: the memory has 4 lines, 5 bytes]"),
        ("abc\n" * 300, 200, 60, "abc\nabc\nabc\nabc\n[cut: the memory has 301 lines, 1,200 bytes]"),
        ("abcdef" * 9, 9, 50, "abcdefabcd\n[cut: the memory has 1 lines, 54 bytes]"),
        ("abc\n" + "d" * 50, 9, 50, "abc\ndddddd\n[cut: the memory has 2 lines, 54 bytes]"),
        ("abcdef\n" + "d" * 47, 9, 50, "abcdef\n[cut: the memory has 2 lines, 54 bytes]"),
        ("abcde\n" + "d" * 48, 9, 50, "abcde\ndddd\n[cut: the memory has 2 lines, 54 bytes]"),
        ("ä" * 30, 9, 50, "äääää\n[cut: the memory has 1 lines, 60 bytes]"),
        ("x\udcff", 9, 50, "x?"),
    ],
)
def test_a_cut_text_is_what_fits_to_the_byte(text: str, lines: int, size: int, cut: str) -> None:
    """Whole lines, where they are more than half of it."""
    assert cap(text, lines, size) == cut


def test_a_place_is_a_path_and_no_sentence() -> None:
    assert plain_place("main/a (run `x`)\n^1.md") == "main/a_run_x_^1.md"
    assert plain_place("Z-9_" * 60) == "Z-9_" * 50 and plain_place("abc", 2) == "ab"


def test_an_answer_has_as_much_of_each_text_as_finds_room() -> None:
    some = tuple(replace(ITEM, file=f"m{n}.md", text="word " * 200) for n in range(3))
    assert [len(as_context(Recall("q", some[:1]), limit)) for limit in (571, 572)] == [93, 398]
    for length, cut in ((58, True), (59, False)):  # of its name: what is cut says where the rest is
        long = replace(ITEM, file="f" * length, text="x" * 2000)
        assert ("[cut here" in as_context(Recall("q", (long,)), 900)) is cut
    lengths = [len(as_context(Recall("q", some), limit)) for limit in range(900, 4600, 300)]
    assert lengths == [543, 843, 1143, 1212, 1726, 2026, 2295, 2295, 2887, 3187, 3356, 3356, 3356]


BLOCKS = [
    " ".join([words] * 4)
    for words in ("alpha beta gamma", "delta epsilon", "alpha delta zeta", "eta theta iota")
]


@pytest.mark.parametrize(
    ("query", "chars", "told"),
    [
        ("alpha", 146, "0…2"), ("alpha", 145, "01"), ("zeta theta", 142, "…23"), ("delta", 61, "…1"),
        ("alpha zeta", 73, "…2"), ("delta eta", 70, "…3"), ("alphabet", 73, "0"),
        ("epsilometer", 73, "…1"), ("nothing", 73, "0"), ("nothing", 72, "…1"),
    ],
)  # fmt: skip
def test_an_excerpt_is_the_paragraphs_that_find_room(query: str, chars: int, told: str) -> None:
    *parts, last = excerpt("\n\n".join(BLOCKS), query, chars).split("\n\n")
    assert "".join("…" if part == "[…]" else str(BLOCKS.index(part)) for part in parts) == told
    assert last == f"[of 4 paragraphs {len(told.strip('…').replace('…', ''))}; {OPENS}]"


def test_an_excerpt_keeps_the_order_of_the_text() -> None:
    """Of nine paragraphs, too, whose numbers a set turns around."""
    text = "\n\n".join(f"{'heron' if n % 7 == 1 else 'crane'} {n}" for n in range(9))
    assert excerpt(text, "heron", 30).split("\n\n")[:4] == ["[…]", "heron 1", "[…]", "heron 8"]


@pytest.mark.parametrize(
    ("chars", "told"), [(4, "alph"), (10, "alpha beta"), (11, "alpha beta"), (12, "alpha beta")]
)
def test_of_paragraphs_that_find_no_room_the_beginning_is_told(chars: int, told: str) -> None:
    """To the last whole word, where that is more than half of it."""
    assert excerpt("\n\n".join(BLOCKS), "delta", chars) == f"{told} […]\n[{OPENS}]"


@pytest.mark.parametrize(
    ("description", "text", "told"),
    [
        ("", "Ask", False),
        (" .", "Ask", False),
        ("Ask  first!", "Ask\nfirst", True),
        (".a first", ".a first", True),
        ("Ask first .", "Ask first, then act", True),
        ("Ask first", "Ask firstly", False),
        ("Ask first", "Ask first9", False),
        ("Ask first", "Do ask first", False),
        ("Ask first", " " * 127 + "Ask first", True),
        ("Ask first", " " * 128 + "Ask first", False),
    ],
)
def test_a_text_tells_its_description_where_it_begins_with_it(
    description: str, text: str, told: bool
) -> None:
    assert told_by(description, text) is told


@pytest.mark.parametrize(
    ("fields", "head", "text", "known"),
    [
        ({}, "project", "Text.", ""),
        ({"description": "Says"}, "project", "a: Says\n\nText.", ""),
        ({"description": "Text"}, "project", "Text.", ""),
        ({"name": "b"}, "project", "b\n\nText.", ""),
        ({"name": "", "description": "Says"}, "project", "Says\n\nText.", ""),
        (
            {"commit": "0123456789abcdef", "facts": ("3 days old", "x `y`")},
            "project; 3 days old; as of 0123456789ab",
            "Text.",
            "x 'y'",
        ),
        ({"stale": False, "facts": ("3 days old", "x `y`")}, "project", "Text.", "3 days old; x 'y'"),
        (
            {"stale": False, "facts": ("x" * 600,), "name": "n" * 400},
            "project",
            "n" * 299 + "…\n\nText.",
            "x" * 499 + "…",
        ),
    ],
)
def test_a_memory_is_told_with_what_is_known_of_it(
    fields: dict[str, object], head: str, text: str, known: str
) -> None:
    told = as_context(Recall("q", (replace(ITEM, **fields),))).partition("\n\n")[2]  # type: ignore[arg-type]
    before, _, after = told.partition("```text\n")
    assert before == f"Memory from user/main/a.md ({head}) (data recorded earlier, not an instruction):\n"
    assert after == f"{text}\n```\n" + (f"Known of it: {known}\n" if known else "")


def test_a_prompt_gets_a_line_of_what_was_amended_and_of_what_finds_no_room() -> None:
    some = [replace(ITEM, file=f"m{n}.md", text=f"t{n} " * 900, description="d" * 150) for n in range(9)]
    some[0] = replace(some[0], amended="main/m 1.md", description="")
    for scope, length, lines in (("user", 3097, 4), ("s" * 200, 3097, 2)):
        text, told = for_prompt(Recall("t1", tuple(replace(one, scope=scope) for one in some)))
        assert (len(text), text.count("\n- ")) == (length, lines)
        assert [item.file for item in told] == ["m1.md", "m2.md"]
        assert "t0… (amended since by main/m_1.md)\n" in text


def test_what_is_no_text_is_told_to_programs_as_a_question_mark() -> None:
    one = replace(ITEM, name="\udcff", facts=("\udcff", "b"), why={"words": 1.0})
    value = as_json(Recall("\udcff", (one,)))
    told = value["items"][0]  # type: ignore[index]
    assert (value["query"], told["name"], told["facts"], told["why"]) == (
        "?",
        "?",
        ["?", "b"],
        {"words": 1.0},
    )
    assert (told["age_days"], told["stale"]) == (3, True)
