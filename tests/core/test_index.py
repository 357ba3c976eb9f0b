"""The index: cut and joined without losing a byte, in line with files, within what clients load."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, example, given
from hypothesis import strategies as st

from gitmem.core import index
from gitmem.core.claim import with_dispute
from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES
from gitmem.core.memory import create
from gitmem.core.names import is_memory_file

LINES = st.sampled_from(
    [
        "- [A](a.md) — one", "- [A](a.md) — two", "* [B](./b.md)", "- **[C](c.md#part)**: hook",
        "- `d.md` — plain", "- e.md: plain", "  - child of what is above", "# Heading", "", "   ",
        "Prose with [a link](x.md).", "- [web](https://example.com/x.md)", "- [spaced](my%20file.md)",
        "- [angled](<my file.md>)", "<!-- - [A](a.md) -->",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES | st.text(max_size=12), max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).flatmap(
        lambda end: st.booleans().map(lambda last: end.join(lines) + (end if last else ""))
    )
)
FILES = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
    .map(lambda stem: f"{stem}.md")
    .filter(is_memory_file)
)


def memory_of(name: str, description: str) -> bytes:
    return create(name, description, "project", "Body.", "x.md").render()


@given(TEXTS)
def test_an_index_is_cut_without_losing_a_byte(text: str) -> None:
    assert "".join(unit.text + unit.gap for unit in index.parse(text)) == text


@given(TEXTS, FILES, st.text(max_size=60), st.text(max_size=400))
@example("", "a (b).md", "n", "")
@example("", "a#b.md", "n", "")
@example("", "a%20b.md", "n", "")
@example("   ", "0.md", "0", "\x1b")
def test_an_entry_is_found_again_whatever_the_file_is_called(
    text: str, file: str, name: str, description: str
) -> None:
    line = index.entry(name, file, description)
    assert line.count("\n") == 1 and line.endswith("\n")
    memory = {file: memory_of(name, description)}
    assume(index.entry_of(file, memory[file]) == line)
    changed = index.reconcile(text, {}, memory)
    assert file in index.named(changed)
    assert index.reconcile(changed, {}, memory) == changed == index.reconcile(changed, memory, memory)
    gone = index.reconcile(changed, memory, {})
    if file not in index.named(text):
        assert file not in index.named(gone)


@given(st.text(max_size=300), st.text(max_size=600))
def test_an_entry_is_about_as_long_as_clients_ask(name: str, description: str) -> None:
    assert len(index.entry(name, "a.md", description)) <= ENTRY_CHARS + 1


@given(TEXTS, FILES)
def test_other_lines_stay_as_they_are(text: str, file: str) -> None:
    changed = index.reconcile(text, {}, {file: memory_of("x", "")})
    if file in index.named(text):
        assert changed == text
        return
    kept = [unit.text.strip() for unit in index.parse(changed) if unit.target != file]
    assert [line for line in kept if line] == [
        unit.text.strip() for unit in index.parse(text) if unit.text.strip()
    ]


def bare_lines(text: str) -> Counter[str]:
    """What stands in an index, line by line, without spacing and dispute marks."""
    return Counter(
        " ".join(line.split())
        for unit in index.parse(text)
        for line in with_dispute(unit.text.rstrip(), "").splitlines()
        if line.strip()
    )


@given(TEXTS, TEXTS, TEXTS)
@example("0", "- [A](a.md) — one", "0\n  - child of what is above")
@example("0\n", "0\n0\n", "")
def test_merge_is_symmetric_and_keeps_every_line(base: str, ours: str, theirs: str) -> None:
    merged = index.merge(base, ours, theirs)
    assert merged == index.merge(base, theirs, ours)
    before, one, other, there = map(bare_lines, (base, ours, theirs, merged))
    assert not (one | other) - before - there
    assert set(there) <= set(before) | set(one) | set(other)
    assert index.merge(base, ours, base) == ours
    for side in (ours, theirs):
        assert bare_lines(index.merge(base, merged, side)) == there


def test_what_fits_is_loaded_unchanged() -> None:
    text = "x\n" * INDEX_LINES
    assert index.as_loaded(text) == text
    assert index.as_loaded(text + "y") != text + "y"


def test_the_oldest_entries_are_left_out_first_and_named() -> None:
    text = "# Index\n" + "".join(f"- [M{n}](m{n}.md)\n" for n in range(300))
    shown = index.as_loaded(text, {f"m{n}.md": 1000 - n for n in range(300)})
    assert "- [M0](m0.md)" in shown and "- [M299](m299.md)" not in shown
    assert "103 oldest entries are not shown: m299.md, m298.md" in shown
    assert shown.count("\n") == INDEX_LINES


@given(
    st.lists(
        st.sampled_from(
            ["- [A](a{}.md) — " + "x" * 300 + "\n", "prose " * 30 + "\n", "é" * 5000 + "\n", "x"]
        ),
        max_size=300,
    )
)
def test_what_is_loaded_is_always_within_both_limits(lines: list[str]) -> None:
    text = "".join(line.replace("{}", str(number)) for number, line in enumerate(lines))
    shown = index.as_loaded(text)
    assert len(shown.encode()) <= INDEX_BYTES and len(shown.split("\n")) <= INDEX_LINES + 1


def test_an_entry_is_plain_text_whatever_the_memory_says() -> None:
    line = index.entry("na\u202eme", "x.md", "caf\udce9 \x1b[31mred")
    assert line == "- [na\ufffdme](x.md) — caf\ufffd \ufffd[31mred\n"
    line.encode("utf-8")
