"""Ages and frontmatter kept in the catalog: the same as read anew, at any revision, come what may."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_repository import DAY, REF, START, MemoryRepository

from gitmem.core.account import lines_at
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Signature
from gitmem.git.trees import write_tree
from gitmem.search.ages import told_at
from gitmem.search.catalog import Catalog
from gitmem.search.text import read_memory
from gitmem.search.trees import Trees

LESSON = format_message("Learn", Provenance(op="update", writer="agent"))
DREAM = format_message("Dream", Provenance(op="dream", writer="dream"))
PAGE = format_message("Page out", Provenance(op="page", writer="agent"))


def times(catalog: Catalog, repo: MemoryRepository, commit: str, ref: str = REF) -> dict[str, int]:
    changes = Trees(repo).changes(None, repo.commit(commit).tree)  # type: ignore[arg-type]
    files = {path: oid for path, _, oid in changes if oid}
    return catalog.times(repo, ref, commit, files)  # type: ignore[arg-type]


def memory(body: str, description: str = "") -> str:
    return f"---\nname: a\ndescription: {description}\n---\n\n{body}\n"


def test_age_is_that_of_the_last_lesson(catalog: Catalog, fake: MemoryRepository) -> None:
    """A dream that re-words a fact, or a merge that brings it, does not make it young."""
    first = fake.put({"main/a.md": "One.", "main/b.md": "One."})
    taught = fake.put({"main/a.md": "Two.", "main/b.md": "One."}, first, time=START + DAY)
    after = {"main/a.md": "Two!", "main/b.md": "One!", "reviewer/c.md": "x"}
    tip = fake.put(after, taught, time=START + 2 * DAY, message=DREAM)
    known = times(catalog, fake, tip)
    assert known == {"main/a.md": START + DAY, "main/b.md": START, "reviewer/c.md": START + 2 * DAY}
    assert times(catalog, fake, first) == {"main/a.md": START, "main/b.md": START}


def test_a_content_that_came_back_is_dated_as_of_the_revision(catalog: Catalog, fake) -> None:
    commits: list[str] = []
    for number, text in enumerate(("One.", "Two.", "One.")):
        commits.append(fake.put({"main/a.md": text}, *commits[-1:], time=START + number * DAY))
    known = [times(catalog, fake, commit)["main/a.md"] for commit in reversed(commits)]
    assert known == [START + 2 * DAY, START + DAY, START]


@pytest.mark.parametrize("steps", range(4))
def test_what_there_was_no_time_for_is_walked_by_whoever_asks_next(catalog, fake, steps: int) -> None:
    tip, commits = "", list[str]()
    for number, text in enumerate(("One.", "Two.", "Two!")):
        message = DREAM if number == 2 else LESSON
        tip = fake.put({"main/a.md": text}, *commits[-1:], time=START + number * DAY, message=message)
        commits.append(tip)
    left = iter([False] * steps)
    blob = fake.files(fake.commit(tip).tree)["main/a.md"]
    late = catalog.times(fake, REF, tip, {"main/a.md": blob}, late=lambda: next(left, True))  # type: ignore[arg-type]
    assert late == ({} if steps < 3 else {"main/a.md": START + DAY})
    assert times(catalog, fake, tip) == {"main/a.md": START + DAY}
    assert times(catalog, fake, commits[0]) == {"main/a.md": START}


@pytest.mark.parametrize("second", [START, START - DAY])
def test_a_clock_that_stands_still_or_goes_back_hides_no_lesson(catalog, fake, second: int) -> None:
    """Also where the same content came back, and something else was learned after it."""
    commits = [fake.put({"main/a.md": "One."}, time=START + DAY)]
    for time, files in (
        (START, {"main/a.md": "Two."}),
        (second, {"main/a.md": "One."}),
        (START + 2 * DAY, {"main/a.md": "One.", "main/b.md": "x"}),
    ):
        commits.append(fake.put(files, commits[-1], time=time))
    assert times(catalog, fake, commits[-1])["main/a.md"] == second
    assert [times(catalog, fake, commit)["main/a.md"] for commit in commits] == [
        START + DAY,
        START,
        second,
        second,
    ]


def test_what_a_merge_united_is_as_young_as_the_younger_side(catalog: Catalog, fake) -> None:
    base = fake.put({"main/a.md": "One.", "main/b.md": "One."})
    ours = fake.put({"main/a.md": "Two.", "main/b.md": "One."}, base, time=START + DAY)
    theirs = fake.put({"main/a.md": "Three.", "main/b.md": "Four."}, base, time=START + 2 * DAY)
    for parents in ((ours, theirs), (theirs, ours)):
        merged = fake.put(
            {"main/a.md": "Two.\n\nThree.", "main/b.md": "Four."}, *parents, time=START + 3 * DAY
        )
        assert times(catalog, fake, merged) == {"main/a.md": START + 2 * DAY, "main/b.md": START + 2 * DAY}
    assert times(catalog, fake, ours) == {"main/a.md": START + DAY, "main/b.md": START}


def test_refs_do_not_mix(catalog: Catalog, fake: MemoryRepository) -> None:
    """The same text learned in another scope later is no lesson of this one."""
    mine = fake.put({"main/a.md": "One."})
    other = fake.put({"main/a.md": "One."}, time=START - DAY)
    assert times(catalog, fake, other, "refs/heads/user") == {"main/a.md": START - DAY}
    assert times(catalog, fake, mine) == {"main/a.md": START}


def test_a_commit_is_walked_once_and_paging_opens_no_blob(tmp_path: Path, fake: MemoryRepository) -> None:
    first = fake.put({f"main/m{n}.md": f"Fact {n}." for n in range(50)})
    paged = {f"main/archive/ab/m{n}.md": f"Fact {n}." for n in range(50)}
    tip = fake.put(paged, first, time=START + DAY, message=PAGE)
    with closing(Catalog.open(tmp_path)) as catalog:
        known = times(catalog, fake, tip)
    assert set(known.values()) == {START} and fake.opened == []
    fake.steps = None  # type: ignore[assignment, method-assign]
    with closing(Catalog.open(tmp_path)) as catalog:
        assert times(catalog, fake, tip) == known
        assert set(times(catalog, fake, first).values()) == {START}


def test_a_history_that_ends_early_is_not_remembered(tmp_path: Path, fake: MemoryRepository) -> None:
    """A shallow clone that is deepened, or a repaired repository, tells the true age."""
    first = fake.put({"main/a.md": "One."})
    tip = fake.put({"main/a.md": "One!"}, first, time=START + DAY, message=DREAM)
    hidden, whole = fake.commits.pop(first), fake.history
    fake.history = lambda tip: iter([fake.commit(tip)])  # type: ignore[method-assign]
    with closing(Catalog.open(tmp_path)) as catalog:
        assert times(catalog, fake, tip) == {"main/a.md": START + DAY}
    fake.commits[first], fake.history = hidden, whole  # type: ignore[method-assign]
    with closing(Catalog.open(tmp_path)) as catalog:
        assert times(catalog, fake, tip) == {"main/a.md": START}


def test_readers_answer_while_another_process_writes(tmp_path: Path, fake: MemoryRepository) -> None:
    tip = fake.put({"main/a.md": memory("One.", "about")})
    (oid,) = fake.blobs
    with (
        closing(Catalog.open(tmp_path)) as catalog,
        closing(sqlite3.connect(tmp_path / "catalog.sqlite")) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        assert times(catalog, fake, tip) == {"main/a.md": START}
        assert catalog.heads(fake, [oid])[oid].description == "about"  # type: ignore[arg-type]


@pytest.mark.parametrize("broken", ["no file", "no database", "rows"])
def test_a_damaged_catalog_gives_the_same(tmp_path: Path, fake: MemoryRepository, broken: str) -> None:
    tip = fake.put({"main/a.md": memory("One.", "about")})
    (oid,) = fake.blobs

    def ask() -> tuple[object, object]:
        with closing(Catalog.open(tmp_path)) as catalog:
            return times(catalog, fake, tip), catalog.heads(fake, [oid], checked=True)  # type: ignore[arg-type]

    known = ask()
    file = tmp_path / "catalog.sqlite"
    if broken == "no file":
        file.unlink()
        file.mkdir()
    elif broken == "no database":
        file.write_bytes(b"x" * 5000)
    else:
        with closing(sqlite3.connect(file)) as raw, raw:
            raw.execute("UPDATE head SET value = '{'")
            raw.execute("DROP TABLE walked")
    assert ask() == ask() == known


def test_a_blob_is_opened_once_for_its_frontmatter(tmp_path: Path, fake: MemoryRepository) -> None:
    fake.put(
        {"main/a.md": memory("One.", "about"), "main/b.md": b"---\nname: b\xff\n---\n\n", "main/c.md": "x"}
    )
    for _ in range(2):
        with closing(Catalog.open(tmp_path)) as catalog:
            heads = catalog.heads(fake, list(fake.blobs))  # type: ignore[arg-type]
    assert {head.name for head in heads.values()} == {"a", "b\udcff", ""}
    assert len(fake.opened) == 3
    with closing(Catalog.open(tmp_path)) as catalog:
        catalog.heads(fake, list(fake.blobs), checked=True)  # type: ignore[arg-type]
        trouble = catalog.heads(fake, list(fake.blobs), checked=True).values()  # type: ignore[arg-type]
    assert len(fake.opened) == 6
    assert sorted(head.problems[0] for head in trouble if head.problems) == [
        "no frontmatter",
        "no type",
        "not UTF-8 at byte 11",
    ]


def test_a_search_leaves_nothing_to_open_for_a_list(tmp_path: Path, fake: MemoryRepository) -> None:
    tip = fake.put({"main/a.md": memory("One."), "main/b.md": memory("Two.")})
    with closing(Catalog.open(tmp_path)) as catalog:
        catalog.bring_up_to_date(fake, REF, tip, read_memory)  # type: ignore[arg-type]
        fake.opened.clear()
        assert catalog.heads(fake, list(fake.blobs)).keys() == fake.blobs.keys()  # type: ignore[arg-type]
        assert times(catalog, fake, tip) and fake.opened == []


def test_a_missing_blob_has_no_head(catalog: Catalog, fake: MemoryRepository) -> None:
    assert catalog.heads(fake, ["ab" * 20]) == {}  # type: ignore[arg-type]


@dataclass(frozen=True)
class Step:
    """One commit of a made-up history."""

    files: dict[str, str]
    message: str
    pause: int


PATHS = ("main/a.md", "main/b.md", "main/archive/ab/a.md")
TEXTS = tuple(memory(body, about) for body in ("One.", "Two.") for about in ("x", "y"))
STEPS = st.builds(
    Step,
    st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)),
    st.sampled_from([LESSON, DREAM, PAGE, "By hand\n"]),
    st.integers(-2, 3),
)


def slow_age(steps: list[Step], when: list[int], at: int, path: str) -> int:
    """The rule, told one commit at a time."""
    before = steps[at - 1].files if at else {}
    now = steps[at].files
    text, old = now[path], before.get(path)
    teaches = steps[at].message in (LESSON, "By hand\n")
    if old == text or (old and (not teaches or old.split("---")[2] == text.split("---")[2])):
        return slow_age(steps, when, at - 1, path)
    gone = sorted(set(before) - set(now))
    same = [p for p in gone if before[p] == text]
    moved = same or [p for p in gone if before[p].split("---")[2] == text.split("---")[2]]
    if not old and moved:
        return slow_age(steps, when, at - 1, moved[0])
    return when[at]


@given(st.lists(STEPS, min_size=1, max_size=8), st.data())
def test_ages_are_those_of_the_rule_in_whatever_order_they_are_asked(
    steps: list[Step], data: st.DataObject
) -> None:
    fake = MemoryRepository()
    when: list[int] = []
    commits: list[str] = []
    for number, step in enumerate(steps):
        when.append((when[-1] if when else START) + step.pause)
        message = f"{number} {step.message}"
        commits.append(fake.put(step.files, *commits[-1:], time=when[-1], message=message))
    expected = {
        at: {path: slow_age(steps, when, at, path) for path in step.files} for at, step in enumerate(steps)
    }
    nowhere = Path("/dev/null/nowhere")
    with closing(Catalog.open(nowhere)) as shared:
        assert shared.in_memory
        for at in data.draw(st.permutations(range(len(steps)))):
            assert times(shared, fake, commits[at]) == expected[at]
            with closing(Catalog.open(nowhere)) as fresh:
                assert times(fresh, fake, commits[at]) == expected[at]


LOG = "main/logs/2026/09/2026-09-15.md"
LINES = b"- 09:00:00Z [project] One.\n- 10:00:00Z [project] Two.\n- 11:00:00Z [project] Three.\n"
NINE = 1_789_462_800
"""Nine o'clock of that day."""


@pytest.mark.parametrize(
    ("time", "logs", "told"),
    [
        (START, {LOG: LINES}, {"main/a.md": NINE + 3600, "main/b.md": NINE + 7200}),
        (NINE + 60, {LOG: LINES}, {"main/a.md": NINE + 60, "main/b.md": NINE + 60}),
        (START, {}, {}),
    ],
)
def test_what_a_dream_made_of_lines_is_as_old_as_the_last_of_them(
    repo: Path, time: int, logs: dict[str, bytes], told: dict[str, int]
) -> None:
    """Whose place one took is no matter; a day that is yet to come makes nothing young."""
    store = open_repository(repo, GitCommand(dict(os.environ)))
    one, two, three = lines_at(LOG, LINES)
    a, b = (f"main/{name}.md#0123456789ab" for name in "ab")
    merged = tuple(Fate("merged", line, to) for line, to in ((two, a), (one, a), (three, b)))
    fates = (*merged, Fate("superseded", three, a, "it is newer"))
    message = format_message("Distil", Provenance("dream", "dream", claims=fates))
    who = Signature("Ann", "ann@example.com", time)
    commit = store.add_commit(write_tree(store, None, logs), (), who, who, message)
    assert told_at(store, store.commit(commit)) == told
