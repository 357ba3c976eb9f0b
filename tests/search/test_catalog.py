"""The catalog and the search over it: what is indexed, when, and what happens to a file that is damaged."""

from __future__ import annotations

import os
import sqlite3
import string
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_repository import DAY, REF, START, MemoryRepository, follow, memory

from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, LINK, TREE, Signature, TreeEntry
from gitmem.ledger.files import CATALOG
from gitmem.search import database, postings, words
from gitmem.search.catalog import Catalog
from gitmem.search.query import search
from gitmem.search.text import read_memory
from gitmem.search.trees import Trees
from gitmem.search.words import indexed, terms

MOCKS = memory("no-mocks", "Tests use the real database", "Mocked queries hid a broken migration.")
DEPLOY = memory("deploy-window", "Deploys happen before noon", "The freeze starts on Fridays.", "project")
OTHER = "refs/heads/gitmem/other"
TABS = memory("tabs", "Indent with tabs", "Makefiles need them.")


def found(catalog: Catalog, query: str, **options: object) -> list[str]:
    return [c.path for c in search(catalog, query, [REF], **options)]  # type: ignore[arg-type]


def test_a_memory_is_found_by_name_description_and_body(catalog: Catalog, fake: MemoryRepository) -> None:
    tip = fake.put(
        {"main/a.md": MOCKS, "main/b.md": DEPLOY, "main/MEMORY.md": "- mocks\n", "README.md": "mocks"}
    )
    assert catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert found(catalog, "may I use mocks?") == ["main/a.md"]
    assert found(catalog, "which database do tests run on") == ["main/a.md"]
    assert found(catalog, "freezing") == ["main/b.md"]
    assert found(catalog, "kubernetes") == []
    (hit,) = search(catalog, "noon", [REF])
    assert (hit.agent, hit.file, hit.name, hit.type, hit.archived) == (
        "main", "b.md", "deploy-window", "project", False,
    )  # fmt: skip


def test_nobody_else_on_the_machine_can_read_it(tmp_path: Path) -> None:
    """It holds what private memories say; the folder around it need not be closed."""
    folder = tmp_path / "gitmem"
    Catalog.open(folder).close()
    (file,) = folder.glob("*.sqlite")
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o644)
    Catalog.open(folder).close()
    assert file.stat().st_mode & 0o077 == 0


def test_only_new_blobs_are_opened_when_the_ref_has_moved(catalog: Catalog, fake: MemoryRepository) -> None:
    first = follow(catalog, fake, {"main/a.md": MOCKS, "main/b.md": DEPLOY})
    second = fake.put(
        {"main/a.md": MOCKS, "main/c.md": TABS, "reviewer/b.md": DEPLOY}, first, time=START + DAY
    )
    fake.opened.clear()
    catalog.bring_up_to_date(fake, REF, second, read_memory)
    assert [fake.blobs[oid].decode() for oid in fake.opened] == [TABS]
    assert [place.path for place in catalog.places(REF)] == ["main/a.md", "main/c.md", "reviewer/b.md"]
    assert found(catalog, "deploys", agents=["main"]) == []
    assert found(catalog, "deploys", agents=["reviewer"]) == ["reviewer/b.md"]


def test_a_current_catalog_reads_nothing(catalog: Catalog, fake: MemoryRepository) -> None:
    tip = follow(catalog, fake, {"main/a.md": MOCKS})
    fake.opened.clear()
    fake.trees_read = 0
    assert catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert found(catalog, "mocks") == ["main/a.md"]
    assert (fake.opened, fake.trees_read) == ([], 0)


def test_equal_subtrees_are_not_read(fake: MemoryRepository) -> None:
    one = fake.put({f"a{n}/archive/0{n}/x.md": TABS + str(n) for n in range(8)})
    files = {f"a{n}/archive/0{n}/x.md": TABS + str(n) for n in range(8)} | {"a3/archive/03/x.md": MOCKS}
    two = fake.put(files, one)
    fake.trees_read = 0
    changes = list(Trees(fake).changes(fake.commit(one).tree, fake.commit(two).tree))
    assert [path for path, _, _ in changes] == ["a3/archive/03/x.md"]
    assert fake.trees_read == 8  # four levels on each side


def test_archived_memories_are_marked_and_others_left_out(catalog: Catalog, fake: MemoryRepository) -> None:
    """Links, dot files, files outside an agent's folder and other kinds of file are no memories."""
    tip = fake.put(
        {
            "main/archive/ab/a.md": MOCKS, "main/logs/2026/11/2026-11-20.md": "Deployed before noon.\n",
            "main/link.md": "/etc/passwd", "main/.tombstones": "v1 x", "main/.hidden.md": MOCKS,
            ".github/x.md": MOCKS, "main/data.json": "{}",
        },
        modes={"main/link.md": LINK},
    )  # fmt: skip
    catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert [(p.path, p.archived) for p in catalog.places(REF)] == [("main/archive/ab/a.md", True)]


def test_a_ref_that_is_gone_leaves_nothing_to_find(catalog: Catalog, fake: MemoryRepository) -> None:
    follow(catalog, fake, {"main/a.md": MOCKS})
    assert catalog.bring_up_to_date(fake, REF, None, read_memory)
    assert found(catalog, "mocks") == []
    assert catalog.tip(REF) is None


def test_a_rewritten_ref_is_read_anew_where_the_old_tip_is_gone(catalog: Catalog, fake) -> None:
    old = follow(catalog, fake, {"main/a.md": MOCKS})
    del fake.commits[old]
    follow(catalog, fake, {"main/b.md": DEPLOY}, time=START + 5)
    assert [place.path for place in catalog.places(REF)] == ["main/b.md"]


def ages(catalog: Catalog) -> dict[str, int]:
    return {place.path: (place.time - START) // DAY for place in catalog.places(REF)}


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "commit by commit"])
def test_only_a_taught_body_makes_a_memory_young(fake, tmp_path: Path, at_once: bool) -> None:
    """A dream, a sync, a merge, a move to the archive and a change of frontmatter leave its age alone."""
    catalog = Catalog.open(tmp_path)
    commits: list[str] = []

    def commit(files: dict[str, str], *parents: str, trailers: str = "") -> str:
        parents = parents or tuple(commits[-1:])
        time = START + len(commits) * DAY
        commits.append(fake.put(files, *parents, time=time, message=f"x\n\n{trailers}\n"))
        if not at_once:
            catalog.bring_up_to_date(fake, REF, commits[-1], read_memory)
        return commits[-1]

    commit({})
    files = {"main/a.md": MOCKS, "main/b.md": DEPLOY, "main/c.md": TABS}
    commit(files, trailers="Gitmem-Op: add\nGitmem-Writer: extract")  # day 1
    commit(
        files | {"main/a.md": MOCKS + "By a dream.\n"}, trailers="Gitmem-Op: dream\nGitmem-Writer: dream"
    )
    dreamt = files | {"main/a.md": MOCKS + "By a dream.\n"}
    moved = {"main/archive/0f/b.md": DEPLOY, "main/a.md": dreamt["main/a.md"], "main/c.md": TABS}
    commit(moved, trailers="Gitmem-Op: page\nGitmem-Writer: agent")  # day 3
    commit(moved | {"main/c.md": TABS.replace("Indent with", "Always")})  # day 4: the description alone
    side = commit(moved | {"main/c.md": TABS + "By a person.\n"})  # day 5
    merged = moved | {"main/c.md": TABS + "By a person, merged.\n"}
    commit(merged, side, commits[-2], trailers="Gitmem-Op: merge\nGitmem-Writer: sync")
    catalog.bring_up_to_date(fake, REF, commits[-1], read_memory)
    assert ages(catalog) == {"main/a.md": 1, "main/archive/0f/b.md": 1, "main/c.md": 5}


def test_a_side_branch_merged_later_is_dated_by_its_own_commits(catalog: Catalog, fake) -> None:
    """The walk does not end at the stored tip: what was merged may be older than it."""
    root = fake.put({})
    tip = follow(catalog, fake, {"main/a.md": MOCKS}, root, time=START + 5 * DAY)
    side = fake.put({"main/b.md": DEPLOY}, root, time=START + 2 * DAY)
    follow(catalog, fake, {"main/a.md": MOCKS, "main/b.md": DEPLOY}, tip, side, time=START + 6 * DAY)
    assert ages(catalog) == {"main/a.md": 5, "main/b.md": 2}


def test_as_of_then_answers_from_the_tree_then(catalog: Catalog, fake: MemoryRepository) -> None:
    old = fake.put({"main/a.md": memory("port", "The port is 8080"), "main/b.md": DEPLOY})
    follow(catalog, fake, {"main/a.md": memory("port", "The port is 9090")}, old, time=START + 9 * DAY)
    catalog.lay_out(fake, REF, old, read_memory)
    (now,) = search(catalog, "port", [REF])
    (then,) = search(catalog, "port", [REF], when={REF: old})
    assert (now.description, now.commit) == ("The port is 9090", "")
    assert (then.description, then.commit, then.time) == ("The port is 8080", old, START)
    assert found(catalog, "deploys") == []
    assert found(catalog, "deploys", when={REF: old}) == ["main/b.md"]


def test_as_of_then_opens_only_what_stands_nowhere_now(catalog: Catalog, fake: MemoryRepository) -> None:
    old = follow(catalog, fake, {"main/a.md": MOCKS, "main/b.md": TABS})
    follow(catalog, fake, {"main/b.md": TABS}, old, time=START + 1)
    fake.opened.clear()
    catalog.lay_out(fake, REF, old, read_memory)
    assert found(catalog, "mocks", when={REF: old}) == ["main/a.md"]
    assert found(catalog, "makefiles", when={REF: old}) == ["main/b.md"]
    assert len(fake.opened) == 1


def state_of(folder: Path) -> dict[str, object]:
    """What an index says about its texts, whatever numbers texts and words have."""
    with closing(sqlite3.connect(folder / CATALOG)) as connection:
        names = {number: text for text, number in connection.execute("SELECT text, number FROM word")}
        held = connection.execute("SELECT word, passages, labels, length(ids) FROM posting")
        facts = connection.execute("SELECT name, value FROM fact WHERE name <> 'words'")
        sizes = [
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("blob", "called", "link", "period", "entry")
        ]
        return {
            "lists": sorted((names[word], *counts) for word, *counts in held),
            "facts": sorted(facts),
            "sizes": sizes,
        }


def test_what_was_edited_often_counts_once(tmp_path: Path, fake: MemoryRepository) -> None:
    """An index that followed each edit says the same as one that is made now."""
    others = {f"main/m{n}.md": memory(f"m{n}", f"Fact {n}", "Who: a fact?\n\n!!!") for n in range(8)}
    commits: list[str] = []
    for edit in range(20):
        text = memory(
            "exporter", "The exporter", f"Exporter: edit {edit} on 2026-09-21, see [[m1]]?\n\n{edit}"
        )
        commits.append(fake.put(others | {"main/exporter.md": text}, *commits[-1:]))
    with closing(Catalog.open(tmp_path / "fresh")) as fresh:
        fresh.bring_up_to_date(fake, REF, commits[-1], read_memory)
        expected = search(fresh, "the exporter", [REF])
    with closing(Catalog.open(tmp_path / "long")) as long:
        for commit in commits:
            long.bring_up_to_date(fake, REF, commit, read_memory)
        again = search(long, "the exporter", [REF])
        long.lay_out(fake, REF, commits[3], read_memory)
        assert [c.blob for c in search(long, "edit", [REF], when={REF: commits[3]})][:1] != [again[0].blob]
        long.bring_up_to_date(fake, OTHER, commits[-2], read_memory)
        assert search(long, "edit", [REF], when={REF: commits[3]})
        long.bring_up_to_date(fake, OTHER, None, read_memory)
    assert [(c.path, c.score, c.parts) for c in again] == [(c.path, c.score, c.parts) for c in expected]
    assert state_of(tmp_path / "long") == state_of(tmp_path / "fresh")


def test_what_another_process_took_out_is_indexed_again(catalog: Catalog, fake, monkeypatch) -> None:
    """Between the texts and where they stand, another process may find that they stand nowhere."""
    tip = fake.put({"main/a.md": MOCKS})
    index_texts = postings.index_texts

    def taken_out(connection: sqlite3.Connection, *given: Any) -> dict[str, postings.Indexed]:
        ids = index_texts(connection, *given)
        with database.transaction(connection):
            postings.remove_texts(connection, [one.id for one in ids.values()])
        return ids

    with monkeypatch.context() as patch:
        patch.setattr(postings, "index_texts", taken_out)
        assert not catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert found(catalog, "mocks") == ["main/a.md"]


@pytest.mark.parametrize(
    "content",
    [b"", b"not a database at all" * 400, b"SQLite format 3\0" + b"\xff" * 5000],
    ids=["empty", "foreign", "header only"],
)
def test_a_file_that_is_no_catalog_is_made_anew(tmp_path: Path, fake, content: bytes) -> None:
    (tmp_path / "catalog.sqlite").write_bytes(content)
    catalog = Catalog.open(tmp_path)
    follow(catalog, fake, {"main/a.md": MOCKS})
    assert found(catalog, "mocks") == ["main/a.md"]
    assert not catalog.in_memory


def test_a_catalog_of_another_version_is_made_anew(tmp_path: Path, fake: MemoryRepository) -> None:
    tip = fake.put({"main/a.md": MOCKS})
    first = Catalog.open(tmp_path)
    first.bring_up_to_date(fake, REF, tip, read_memory)
    first.close()
    with sqlite3.connect(tmp_path / "catalog.sqlite") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    again = Catalog.open(tmp_path)
    assert again.tip(REF) is None
    again.bring_up_to_date(fake, REF, tip, read_memory)
    assert found(again, "mocks") == ["main/a.md"]


def test_damage_inside_a_file_heals_while_it_is_searched(tmp_path: Path, fake: MemoryRepository) -> None:
    tip = fake.put(
        {f"main/m{n}.md": memory(f"m{n}", f"fact {n} about mocks", "x " * 300) for n in range(300)}
    )
    first = Catalog.open(tmp_path)
    first.bring_up_to_date(fake, REF, tip, read_memory)
    first.close()
    file = tmp_path / "catalog.sqlite"
    data = bytearray(file.read_bytes())
    for at in range(4096 * 12, len(data), 4096):
        data[at : at + 4096] = b"\xa5" * len(data[at : at + 4096])
    file.write_bytes(data)
    again = Catalog.open(tmp_path)
    assert again.bring_up_to_date(fake, REF, tip, read_memory)
    assert found(again, "fact 7 about mocks", limit=1) == ["main/m7.md"]


def test_a_folder_that_cannot_be_written_gets_a_catalog_in_memory(tmp_path: Path, fake) -> None:
    (tmp_path / "file").write_text("")
    catalog = Catalog.open(tmp_path / "file" / "gitmem")
    assert catalog.in_memory
    follow(catalog, fake, {"main/a.md": MOCKS})
    assert found(catalog, "mocks") == ["main/a.md"]


def test_a_catalog_that_becomes_read_only_goes_on_in_memory(tmp_path: Path, fake: MemoryRepository) -> None:
    catalog = Catalog.open(tmp_path)
    one = follow(catalog, fake, {"main/a.md": MOCKS})
    catalog._connection.execute("PRAGMA query_only = 1")
    catalog.bring_up_to_date(
        fake, REF, fake.put({"main/a.md": MOCKS, "main/b.md": DEPLOY}, one), read_memory
    )
    assert found(catalog, "mocks") == ["main/a.md"]
    assert found(catalog, "deploys") == ["main/b.md"]


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path, fake: MemoryRepository) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    (tmp_path / "g").mkdir()
    (tmp_path / "g/catalog.sqlite").symlink_to(precious)
    catalog = Catalog.open(tmp_path / "g")
    follow(catalog, fake, {"main/a.md": MOCKS})
    assert precious.read_bytes() == b""


def test_a_reader_answers_while_another_process_writes(tmp_path: Path, fake: MemoryRepository) -> None:
    one = fake.put({"main/a.md": MOCKS})
    catalog = Catalog.open(tmp_path)
    catalog.bring_up_to_date(fake, REF, one, read_memory)
    writer = sqlite3.connect(tmp_path / "catalog.sqlite", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM entry")
    two = fake.put({"main/a.md": MOCKS, "main/b.md": DEPLOY}, one)
    assert not catalog.bring_up_to_date(fake, REF, two, read_memory)
    assert found(catalog, "mocks") == ["main/a.md"]
    other = Catalog.open(tmp_path)
    assert found(other, "mocks") == ["main/a.md"]
    writer.execute("ROLLBACK")
    writer.close()
    assert catalog.bring_up_to_date(fake, REF, two, read_memory)
    assert found(other, "deploys") == ["main/b.md"]


@pytest.mark.long
def test_processes_that_build_one_catalog_at_once_agree(tmp_path: Path) -> None:
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from pathlib import Path
from memory_repository import MemoryRepository
from gitmem.search.catalog import Catalog
from gitmem.search.text import read_memory
fake = MemoryRepository()
tip = fake.put({{f"main/m{{n}}.md": f"fact {{n}}" for n in range(3000)}})
catalog = Catalog.open(Path(sys.argv[1]))
while not catalog.bring_up_to_date(fake, "r", tip, read_memory):
    pass
print(catalog.in_memory, len(catalog.places("r")), catalog.read("select count(*) from blob")[0][0])
"""
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=120)[0].split() for process in running] == [
        ["False", "3000", "3000"]
    ] * 4


def test_a_missing_blob_is_passed_over(catalog: Catalog, fake: MemoryRepository) -> None:
    tip = fake.put({"main/a.md": MOCKS, "main/b.md": DEPLOY})
    oid = next(oid for oid, data in fake.blobs.items() if data == MOCKS.encode())
    del fake.blobs[oid]
    assert catalog.bring_up_to_date(fake, REF, tip, read_memory)
    assert [place.path for place in catalog.places(REF)] == ["main/b.md"]


def test_any_bytes_can_be_indexed(catalog: Catalog, fake: MemoryRepository) -> None:
    files = {
        "main/a.md": b"\xff\xfe mocks \x00 \xed\xa0\x80",
        "main/b.md": b"",
        "main/c.md": b"---\nname: [\n",
    }
    assert follow(catalog, fake, files)
    assert found(catalog, "mocks") == ["main/a.md"]
    assert len(catalog.places(REF)) == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is the port of the database?", ("port", "database")),
        ("don't use foo_bar here", ("use", "foo bar", "foo", "bar")),
        ("pass --no-cache", ("pass", "no cache", "cache")),
        ("open src/app.py:12.", ("open", "src app py 12", "src", "app", "py", "12")),
        ("the UserPromptSubmit hook", ("userpromptsubmit", "user", "prompt", "submit", "hook")),
        ("parse HTTPServer", ("parse", "httpserver", "http", "server")),
        ("Ann's tests", ("ann", "tests")),
        ("what is it?", ("what", "is", "it")),
        ("数据库", ("数 据", "据 库")),
        ("", ()),
        ("?!", ()),
    ],
)
def test_questions_are_cut_into_telling_terms(query: str, expected: tuple[str, ...]) -> None:
    assert terms(query) == expected


def test_a_pasted_log_asks_no_more_than_its_ends() -> None:
    asked = terms(" ".join(f"w{n}" for n in range(5000)))
    assert len(asked) == 48
    assert {asked[0], asked[-1]} == {"w0", "w4999"}


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call foo_bar first", "foo_bar"),
        ("call foo_bar first", "what does bar do"),
        ("build with --no-cache", "--no-cache"),
        ("see src/app.py", "app.py"),
        ("see src/app.py", "src/app.py"),
        ("a UserPromptSubmit hook", "prompt"),
        ("a user prompt", "UserPrompt"),
        ("migrations run first", "migrating"),
        ("the kubernetes cluster", "kube"),
        ("数据库迁移很慢", "数据库"),
        ("café opening", "cafe"),
    ],
)
def test_wholes_and_parts_find_each_other(catalog: Catalog, fake, text: str, query: str) -> None:
    catalog.bring_up_to_date(
        fake, REF, fake.put({"main/a.md": text, "main/b.md": "another fact"}), read_memory
    )
    assert found(catalog, query) == ["main/a.md"]


def test_the_whole_identifier_ranks_above_its_parts(catalog: Catalog, fake: MemoryRepository) -> None:
    files = {"main/a.md": "the bar beside a foo is nice", "main/b.md": "the foo_bar beside a car is nice"}
    follow(catalog, fake, files)
    assert found(catalog, "foo_bar") == ["main/b.md", "main/a.md"]


def test_name_and_description_weigh_more_than_the_body(catalog: Catalog, fake: MemoryRepository) -> None:
    """Holds in a catalog of three texts too, where bm25 by itself is zero."""
    files = {
        "main/a.md": memory("x", "something else", "rollback"),
        "main/b.md": memory("y", "how to rollback", "something else"),
        "main/c.md": TABS,
    }
    follow(catalog, fake, files)
    assert found(catalog, "rollback") == ["main/b.md", "main/a.md"]


def test_equal_scores_are_ordered_by_path(catalog: Catalog, fake: MemoryRepository) -> None:
    files = {f"{agent}/same.md": MOCKS for agent in ("zoe", "main", "abc")}
    follow(catalog, fake, files)
    assert found(catalog, "mocks") == ["abc/same.md", "main/same.md", "zoe/same.md"]


def test_a_term_that_is_everywhere_finds_nothing_beside_a_rare_one(catalog: Catalog, fake) -> None:
    files = {f"main/m{n:03}.md": f"project fact {n}" for n in range(300)}
    follow(catalog, fake, files | {"main/x.md": "flamingo"})
    assert found(catalog, "project flamingo") == ["main/x.md"]
    assert len(found(catalog, "project", limit=7)) == 7
    assert len(found(catalog, "project unicorn", limit=7)) == 7


def test_what_stands_elsewhere_does_not_crowd_out_what_does(catalog: Catalog, fake) -> None:
    """Texts that stand elsewhere are indexed too: the search looks below them."""
    now = {"main/a.md": "a long text in which the word mocks comes up once and nothing else does at all"}
    follow(catalog, fake, now)
    new = fake.put({f"main/m{n:03}.md": f"mocks mocks {n}" for n in range(400)})
    catalog.bring_up_to_date(fake, OTHER, new, read_memory)
    assert found(catalog, "mocks", limit=5) == ["main/a.md"]


@given(st.text(max_size=60) | st.text(alphabet=string.punctuation + "aAND OR NEAR*\0", max_size=40))
def test_no_question_is_query_syntax(query: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fake = MemoryRepository()
        catalog = Catalog.open(Path(folder))
        follow(catalog, fake, {"main/a.md": "a NEAR b OR c"})
        search(catalog, query, [REF])
        assert not catalog.in_memory
        assert catalog.tip(REF)
        catalog.close()


@given(st.text(max_size=80))
def test_what_is_indexed_keeps_every_word(text: str) -> None:
    assert set(text.split()) <= set(indexed(text).split()) or any(ord(c) > 0xDFF for c in text)


@pytest.mark.parametrize("prefer", ["auto", "git"])
def test_it_follows_a_real_repository(repo: Path, tmp_path: Path, prefer: Literal["auto", "git"]) -> None:
    real = open_repository(repo, GitCommand(os.environ), prefer)
    who = Signature("Ann", "ann@example.com", START)
    tip: str | None = None
    for time, content in ((START, MOCKS), (START + DAY, MOCKS + "Ask Ben.\n")):
        folder = real.add_tree({"a.md": TreeEntry(BLOB, real.add_blob(content.encode()))})
        who = replace(who, time=time)
        root = real.add_tree({"main": TreeEntry(TREE, folder)})
        new = real.add_commit(root, (tip,) if tip else (), who, who, "Learn\n")
        move_ref(real, REF, new, tip, "test")
        first, tip = tip, new
        with closing(Catalog.open(tmp_path / "gitmem")) as catalog:
            assert catalog.bring_up_to_date(real, REF, real.ref(REF), read_memory)
            (hit,) = search(catalog, "mocks", [REF])
            assert (hit.path, hit.time, real.blob(hit.blob)) == ("main/a.md", time, content.encode())
    with closing(Catalog.open(tmp_path / "gitmem")) as catalog:
        assert first is not None
        catalog.lay_out(real, REF, first, read_memory)
        (hit,) = search(catalog, "mocks", [REF], when={REF: first})
        assert (hit.time, real.blob(hit.blob)) == (START, MOCKS.encode())
    real.close()


def test_without_fts5_whole_words_are_found_and_with_it_their_stems_again(
    tmp_path: Path, fake: MemoryRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some builds of SQLite lack it; a file made by the one is no file for the other."""
    tip = fake.put({"main/a.md": MOCKS, "main/b.md": DEPLOY})

    def deploying() -> list[str]:
        with closing(Catalog.open(tmp_path)) as catalog:
            assert catalog.bring_up_to_date(fake, REF, tip, read_memory)
            assert not catalog.in_memory
            assert found(catalog, "window") == ["main/b.md"]
            return found(catalog, "migrating")

    with monkeypatch.context() as without:
        without.setattr(words, "PROBE", "CREATE VIRTUAL TABLE temp.probe USING fts0(text);")
        words.has_stems.cache_clear()
        assert deploying() == []
    words.has_stems.cache_clear()
    assert deploying() == ["main/a.md"]
