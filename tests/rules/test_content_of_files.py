"""What files hold, judged beside what they held before: sizes, frontmatter, links, hidden characters."""

from __future__ import annotations

import pytest

from gitmem.core import tombstone
from gitmem.core.limits import ENTRY_CHARS, FRONTMATTER_LINES, MEMORY_BYTES
from gitmem.rules.content import (
    judge_content,
    judge_lines,
    judge_links,
    judge_logs,
    judge_names,
    judge_size,
    judge_tombstones,
    judge_trouble,
)
from gitmem.rules.instructions import judge_hidden
from gitmem.rules.rule import Finding, Judge, RuleContext, Side, compare, in_texts, side_of

LOG = "Notes.\n- 11:00:00Z [user cd] Ann likes tea.\n"
LARGE = b"x" * (MEMORY_BYTES + 1)
INDEX = {"main/MEMORY.md": b"- [a](a.md)\n"}


def fronted(lines: int) -> bytes:
    """A memory whose frontmatter, with its marks, has so many lines."""
    head = "name: a\ndescription: A\ntype: project\n" + "".join(f"k{n}: v\n" for n in range(lines - 5))
    return f"---\n{head}---\n\nA fact.\n".encode()


@pytest.mark.parametrize(
    ("rule", "before", "after", "line"),
    [
        (judge_size, {"main/a.md": b"A"}, {"main/a.md": LARGE[1:]}, 0),
        (judge_size, {"main/a.md": LARGE[1:]}, {"main/a.md": LARGE}, 1),
        (judge_size, {"main/a.md": LARGE}, {"main/a.md": LARGE + b"x"}, 0),
        (judge_size, {"main/b.md": LARGE}, {"main/a.md": LARGE}, 0),
        (in_texts(judge_content), {}, {"main/a.md": fronted(FRONTMATTER_LINES)}, 0),
        (in_texts(judge_content), {}, {"main/a.md": fronted(FRONTMATTER_LINES + 1)}, FRONTMATTER_LINES + 1),
        (judge_links, {}, INDEX | {"main/a.md": b"```\n``` sh\n```\n[[none]]\n"}, 4),
        (judge_links, {}, INDEX | {"main/a.md": b"```\n``` sh\n[[none]]\n```\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"[[a.md ]]\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"[[none.md ]]\n"}, 1),
        (judge_links, {}, INDEX | {"main/a.md": b"[`x`[none]] [[a]]\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"``[[none]] `x`\n"}, 1),
        (judge_links, {}, INDEX | {"main/a.md": b"a ```x\n[[none]]\n"}, 2),
        (judge_links, {}, INDEX | {"main/a.md": b"`a``[[none]]` [[a]]\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"[[none|some words]]\n"}, 1),
        (judge_links, {}, INDEX | {"main/a.md": b"[[none#]]\n"}, 1),
        (judge_links, {}, INDEX | {"main/a.md": b"[[none]]" + b"x" * (MEMORY_BYTES - 8)}, 1),
        (judge_links, {}, INDEX | {"main/a.md": b"\n[[none]]\n"}, 2),
        (in_texts(judge_hidden), {}, {"main/a.md": "\ufeffA".encode()}, 0),
        (in_texts(judge_hidden), {}, {"main/a.md": "A\n\ufeff".encode()}, 2),
        (in_texts(judge_hidden), {}, {"main/a.md": "A\0\nB\u200b".encode()}, 1),
        (in_texts(judge_hidden), {}, {"a.png": "A\0\nB\u200b".encode()}, 0),
        (in_texts(judge_hidden), {}, {"a.txt": "A\nB\u200b".encode()}, 2),
    ],
)
def test_a_file_is_judged_by_what_it_holds_and_held(
    rule: Judge, before: dict[str, bytes], after: dict[str, bytes], line: int
) -> None:
    """Line 0 is none."""
    was, now = side_of(before), side_of(after)
    found = {(one.path, one.line) for one in rule(was, now, compare(was, now, RuleContext()))}
    assert found & {(path, line) for path in after} if line else not found, found


def test_a_day_that_stands_in_two_places_has_the_lines_of_both() -> None:
    """Also where the first of them does not end its last line."""
    day, cold = "main/logs/2026/11/2026-11-20.md", "main/archive/logs/2026/11/2026-11-20.md"
    was = side_of({day: b"- 10:00:00Z [project ab] A."})
    for after, lost in (({cold: b"- 10:00:00Z [project ab] A.", day: b"- 11:00:00Z [project ab] B.\n"}, 0),
                        ({cold: b"", day: b"- 11:00:00Z [project ab] B.\n"}, 1),
                        ({day[:-5] + "1.md": b"- 10:00:00Z [project ab] A.\n"}, 1)):  # fmt: skip
        now = side_of(after)
        assert len([*judge_logs(was, now, compare(was, now, RuleContext()))]) == lost


def test_memories_of_one_name_name_each_other() -> None:
    after = side_of({f"main/{name}.md": fronted(5) for name in "gfedcba"})
    (found,) = judge_names(None, after, compare(None, after, RuleContext()))
    others = ", ".join(f"main/{name}.md" for name in "abcdef")
    assert found == Finding("main/g.md", 2, "duplicate", f"has the name a, as {others} does")
    before = side_of({path: file.data or b"" for path, file in after.files.items() if path != "main/a.md"})
    (found,) = judge_names(before, after, compare(before, after, RuleContext()))
    assert found.path == "main/a.md"


def test_a_link_that_a_request_wrote_is_an_error_and_one_that_it_left_behind_a_notice() -> None:
    """One that led nowhere before is not told again, whatever else changed there."""
    before = INDEX | {"main/a.md": b"[[b]]\n", "main/b.md": b"B\n", "main/c.md": b"[[e]]\n"}
    was, now = side_of(before), side_of(INDEX | {"main/a.md": b"[[b]]\n", "main/c.md": b"[[e]] [[d]]\n"})
    found = judge_links(was, now, compare(was, now, RuleContext()))
    links = [(one.path, one.message, one.level) for one in found if one.rule == "link"]
    assert links == [
        ("main/a.md", "link [[b]] leads nowhere", "notice"),
        ("main/c.md", "link [[d]] leads nowhere", "error"),
    ]


def test_a_line_of_a_log_about_a_person_is_told_where_it_stands() -> None:
    after = side_of({"main/logs/2026/11/2026-11-20.md": LOG.encode()})
    (found,) = in_texts(judge_content)(None, after, compare(None, after, RuleContext()))
    assert (found.line, found.rule, found.level) == (2, "scope", "error")
    assert found.message.startswith("is about a person (type user), which is never shared with a project: ")
    assert found.message.endswith("Ann likes tea.")


DAY = "main/logs/2026/11/2026-11-20.md"
STONES = {
    kind: tombstone.bury("A fact.", "00" * 16, "2026-11-20", kind).line() for kind in ("forgot", "rejected")
}
ENTRY = b"- [a](a.md) ".ljust(ENTRY_CHARS, b"x")
TELLS = "is marked as forgotten, so the next merge takes it: "


@pytest.mark.parametrize(
    ("rule", "after", "told"),
    [
        (judge_trouble, {}, [("main/x.md", 1, "limit", "error", "it cannot be read")]),
        (
            in_texts(judge_content),
            {"main/a.md": fronted(FRONTMATTER_LINES + 1)},
            [("main/a.md", FRONTMATTER_LINES + 1, "limit", "notice",
              f"frontmatter ends behind line {FRONTMATTER_LINES}, where agents stop to look for its end")],
        ),
        (
            in_texts(judge_content),
            {"main/a.md": b"---\nmetadata:\n  type: ' User '\n---\n\nIt broke last Saturday.\n"},
            [
                ("main/a.md", 1, "frontmatter", "error", "has no name"),
                ("main/a.md", 1, "frontmatter", "error", "has no description"),
                ("main/a.md", 3, "scope", "error",
                 "is about a person (type user), which is never shared with a project"),
                ("main/a.md", 6, "date", "notice", "\u201clast Saturday\u201d may be a relative date"),
            ],
        ),
        (
            in_texts(judge_content),
            {"main/a.md": b"---\nk: v\n---\n\nA fact.\n"},
            [("main/a.md", 1, "frontmatter", "error", f"has no {key}")
             for key in ("name", "description", "type")],
        ),
        (
            in_texts(judge_content),
            {"main/a.md": fronted(5).replace(b"type: project\n", b"").ljust(MEMORY_BYTES, b"x")},
            [("main/a.md", 1, "frontmatter", "error", "has no type")],
        ),
        (
            in_texts(judge_content),
            {"main/a.md": fronted(5).replace(b"A fact.", b"Ship it by Friday, or by Wednesday.")},
            [("main/a.md", 7, "date", "error",
              f"\u201cby {day}\u201d will mean another day tomorrow: write the date behind it, "
              "(YYYY-MM-DD)") for day in ("Friday", "Wednesday")],
        ),
        (
            in_texts(judge_content),
            {"main/a.md": fronted(5).replace(b"description: A", b"description: Note: it: breaks")},
            [("main/a.md", 3, "frontmatter", "error",
              "not valid YAML: mapping values are not allowed here")],
        ),
        (in_texts(judge_content), {"main/MEMORY.md": b"- [a](a.md)\n" + b"x\n" * 199}, []),
        (
            in_texts(judge_content),
            {"main/MEMORY.md": b"- x\n" * 300 + ENTRY + b"\n" + ENTRY + b"x"},
            [
                ("main/MEMORY.md", 201, "limit", "error",
                 "is over 200 lines or 25,000 bytes: agents are not shown all of it"),
                ("main/MEMORY.md", 302, "limit", "notice", "entry of a.md is longer than 150 characters"),
            ],
        ),
        (
            in_texts(judge_content),
            {"main/.tombstones": (STONES["forgot"] + "\n \nx\n").encode()},
            [("main/.tombstones", 4, "tombstone", "error",
              "is no tombstone: a line is `v1 <salt> <hash> <date> forgot|rejected`")],
        ),
        (
            judge_links,
            {"main/MEMORY.md": b"- [[b]]\n- [a](archive/ab/a.md)\n", "main/archive/ab/a.md": fronted(5)},
            [
                ("main/MEMORY.md", 1, "link", "error", "link [[b]] leads nowhere"),
                ("main/MEMORY.md", 2, "link", "error", "entry archive/ab/a.md leads nowhere"),
            ],
        ),
        (
            judge_lines,
            {"main/MEMORY.md": b"- Ask Ann. *(disputed 01234567)*\n- Ask Ben. *(disputed 01234567)*\n"},
            [("main/MEMORY.md", 1, "dispute", "error",
              "is disputed: keep one side and take its mark off: - Ask Ann.")],
        ),
        (
            judge_tombstones,
            {
                "main/.tombstones": "".join(STONES.values()).encode(),
                "main/a.md": b"One.\n\nA fact.\n\nNot\nA fact.\n",
                DAY: b"- 10:00:00Z [project ab] B.\n- 10:00:00Z [project ab] A fact.\n",
            },
            [
                ("main/.tombstones", 1, "tombstone", "notice",
                 "marks 1 change as rejected: no dream proposes them again"),
                ("main/.tombstones", 1, "tombstone", "notice",
                 "marks 1 text as forgotten: merges delete what says it"),
                ("main/a.md", 3, "tombstone", "error", f"{TELLS}A fact."),
                (DAY, 2, "tombstone", "error", f"{TELLS}- 10:00:00Z [project ab] A fact."),
            ],
        ),
        (
            judge_tombstones,
            {"main/.tombstones": STONES["rejected"].encode(), "main/a.md": b"A fact.\n"},
            [("main/.tombstones", 1, "tombstone", "notice",
              "marks 1 change as rejected: no dream proposes them again")],
        ),
    ],
)  # fmt: skip
def test_what_is_found_in_files_is_told_with_its_line_and_weight(
    rule: Judge, after: dict[str, bytes], told: list[tuple[str, int, str, str, str]]
) -> None:
    side = side_of(after)
    now = Side(side.folders, side.host, trouble=(("main/x.md", "it cannot be read"),))
    found = rule(None, now, compare(None, now, RuleContext()))
    assert [(one.path, one.line, one.rule, one.level, one.message) for one in found] == told
