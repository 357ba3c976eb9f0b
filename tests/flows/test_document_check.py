"""What living documents say that no longer holds, in real repositories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from docs_ground import Ground
from once import Once

from gitmem.app.context import real_edges
from gitmem.flows.document_check import checked_here

PYPROJECT = '[project]\nname = "app"\n[project.scripts]\napp = "app.cli:main"\n'
FILES = {
    "pyproject.toml": PYPROJECT,
    "Makefile": "lint:\n\truff check\n\ntest:\n\tpytest\n",
    "package.json": '{"scripts": {"build": "tsc -b", "lint": "eslint ."}}\n',
    "src/app/__init__.py": "",
    "src/app/cli.py": "def main(args):\n    verbs = {'serve': serve, 'stop': stop}\n"
    "    if '--fast' in args:\n        return load_all(args)\n    return verbs\n",
    "src/app/store/disk.py": "MAX_TRIES = 3\n\n\ndef load_all(args):\n    rows = read(args)\n"
    "    rows.sort()\n    rows.reverse()\n    return rows\n",
    "src/app/store/net.py": "".join(f"def call_{n}(x):\n    return x + {n}\n" for n in range(12)),
    "docs/guide.md": "# Guide\n\n## First steps\n\nText.\n\n## Later\n\nText.\n",
}
DOC = """# MAGIC DOC: The app
*Short.*

The disk is `src/app/store/disk.py`: it has `load_all()` and `MAX_TRIES`; the net is `store/net.py`.
All of it is in `src/app/store/`, as `app.store.net`. Run `app serve --fast`, `make lint`, `npm run build`.
See the [guide](docs/guide.md#first-steps) and `dist/out.js`, `never_there()`, `os.fork()`, `pip install`.
"""


class Checked(Ground):
    """One whose documents are held against the code."""

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.repo / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new))

    def check(
        self, *paths: str, at: str = "HEAD", staged: bool = False, cwd: Path | None = None
    ) -> dict[str, str]:
        """Name to what became of it, of all that is told."""
        edges = real_edges(cwd or self.repo)
        found = checked_here(edges, at, tuple(map(Path, paths)), staged=staged)
        return {row.name: row.became for one in found for row in one.stale}


@pytest.fixture
def ground(repo: Path, git, once: Once[None]) -> Checked:
    made = Checked(repo, git)

    def begin() -> None:
        made.commit("begin", **FILES, **{"ARCHITECTURE.md": DOC})

    once("begun", begin)
    return made


def test_what_holds_and_what_never_was_is_not_told(ground: Checked, gitmem) -> None:
    assert gitmem("docs", "check", "--json").json["documents"][0]["stale"] == []
    strict = gitmem("docs", "check", "--json", "--strict", ok=False)
    assert (strict.code, strict.json["ok"]) == (1, False)
    assert {row["name"] for row in strict.json["documents"][0]["never"]} == {
        "dist/out.js",
        "never_there",
        "os.fork",
    }


def test_files_and_folders_are_followed_and_written_as_the_document_does(ground: Checked) -> None:
    ground.move("src/app/store/net.py", "src/app/store/wire.py")
    assert ground.check() == {"store/net.py": "store/wire.py", "app.store.net": "app.store.wire"}
    ground.move("src/app/store", "src/app/kept")
    assert ground.check() == {
        "src/app/store/disk.py": "src/app/kept/disk.py",
        "store/net.py": "kept/wire.py",
        "src/app/store/": "src/app/kept/",
        "app.store.net": "app.kept.wire",
    }


def test_a_deleted_file_is_told_with_its_commit_and_no_proposal(ground: Checked, gitmem) -> None:
    ground.git("rm", "-q", "src/app/store/disk.py")
    ground.commit("Take the disk out")
    gone = ground.git("rev-parse", "HEAD")
    assert ground.check()["src/app/store/disk.py"] == ""
    ran = gitmem("docs", "check", ok=False)
    assert ran.code == 1
    assert f"`src/app/store/disk.py` is gone since {gone[:9]}, 2026-11-20" in ran.out


def test_a_plain_rename_of_a_symbol_flag_or_word_is_proposed(ground: Checked) -> None:
    ground.replace("src/app/store/disk.py", "load_all", "read_all")
    ground.replace("src/app/cli.py", "load_all", "read_all")
    ground.replace("src/app/store/disk.py", "MAX_TRIES", "MOST_TRIES")
    ground.commit()
    ground.replace("src/app/cli.py", "--fast", "--quick")
    ground.commit()
    ground.replace("src/app/store/disk.py", "read_all", "take_all")
    ground.replace("src/app/cli.py", "read_all", "take_all")
    ground.replace("src/app/cli.py", "'serve': serve", "'listen': listen")
    ground.commit()
    assert ground.check() == {
        "load_all": "take_all",
        "MAX_TRIES": "MOST_TRIES",
        "--fast": "--quick",
        "app serve": "app listen",
    }


def test_one_thing_in_the_place_of_another_is_no_rename(ground: Checked) -> None:
    """The first line of both is alike, which proves nothing: all that was in it is another."""
    ground.write(
        "src/app/store/disk.py", "MAX_TRIES = 3\n\n\ndef drop_it(args):\n    import os\n    os.sync()\n"
    )
    ground.replace("src/app/cli.py", "load_all(args)", "None")
    ground.commit()
    assert ground.check() == {"load_all": ""}


def test_commands_are_followed_where_they_run_the_same(ground: Checked) -> None:
    ground.replace("Makefile", "lint:", "style:")
    ground.replace("package.json", '"build": "tsc -b"', '"compile": "tsc -b"')
    ground.replace("pyproject.toml", "app = ", "application = ")
    ground.commit()
    assert ground.check() == {
        "make lint": "make style",
        "npm run build": "npm run compile",
        "app serve": "application serve",
    }


def test_a_link_to_a_heading_leads_to_its_file(ground: Checked) -> None:
    """Whether the heading is there, any checker of links tells."""
    ground.replace("docs/guide.md", "## First steps", "## Beginning")
    ground.commit()
    assert ground.check() == {}
    ground.move("docs/guide.md", "docs/manual.md")
    assert ground.check() == {"docs/guide.md#first-steps": "docs/manual.md#first-steps"}


def test_a_document_that_moved_is_held_against_what_it_meant(ground: Checked) -> None:
    ground.write(
        "docs/x/more.md", "# MAGIC DOC: More\n\nSee the [guide](../guide.md), as it is meant here.\n"
    )
    ground.commit()
    ground.move("docs/x/more.md", "more.md")
    assert ground.check() == {"../guide.md": "docs/guide.md"}


def test_what_stays_stale_through_other_edits_is_told_till_a_person_writes_of_it(ground: Checked) -> None:
    """Who writes of what is gone by then means it so."""
    ground.git("rm", "-q", "src/app/store/disk.py")
    ground.commit()
    ground.replace("ARCHITECTURE.md", "All of it is in", "All of this is kept in")
    ground.replace("ARCHITECTURE.md", "; the net is `store/net.py`.", ";\nthe net is `store/net.py`.")
    ground.commit()
    assert set(ground.check()) == {"src/app/store/disk.py", "MAX_TRIES"}
    ground.replace("ARCHITECTURE.md", "The disk is `src", "We had `src")
    ground.commit()
    assert "src/app/store/disk.py" not in ground.check()


def test_what_lies_untracked_in_its_place_is_not_told(ground: Checked) -> None:
    ground.write("out/made.py", "x = 1\n")
    ground.replace("ARCHITECTURE.md", "The disk is", "It makes `out/made.py`. The disk is")
    ground.commit()
    ground.git("rm", "-q", "--cached", "out/made.py")
    ground.git("commit", "-q", "-m", "untrack")
    assert ground.check() == {}


def test_what_is_staged_is_checked_before_the_commit(ground: Checked, gitmem) -> None:
    ground.git("mv", "src/app/store/net.py", "src/app/store/wire.py")
    ground.replace("src/app/store/disk.py", "MAX_TRIES", "MOST_TRIES")
    ground.git("add", "-A")
    expected = {
        "store/net.py": "store/wire.py",
        "app.store.net": "app.store.wire",
        "MAX_TRIES": "MOST_TRIES",
    }
    assert ground.check(staged=True) == expected
    ran = gitmem("docs", "check", "--staged", "--json", ok=False)
    rows = [row for one in ran.json["documents"] for row in one["stale"]]
    assert {row["name"]: row["became"] for row in rows} == expected
    assert (ran.code, ran.json["ok"]) == (1, False) and all(row["evidence"] for row in rows)
    assert "write `store/wire.py`" in gitmem("docs", "check", "--staged", ok=False).out
    assert ground.check() == {}
    ground.commit()
    assert ground.check(at="HEAD~1") == {}
    assert ground.check() == expected


def test_a_shallow_clone_says_what_it_cannot_tell(ground: Checked, git, gitmem, tmp_path: Path) -> None:
    ground.move("src/app/store/net.py", "src/app/store/wire.py")
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth=1", f"file://{ground.repo}", clone)
    ran = gitmem("docs", "check", cwd=clone)
    assert "fetch-depth: 0" in ran.err
    git("-C", clone, "fetch", "-q", "--unshallow")
    assert ground.check(cwd=clone)["store/net.py"] == "store/wire.py"


def test_any_folder_and_chosen_documents_do_and_trouble_is_said_plainly(ground, gitmem, tmp_path) -> None:
    ground.write("docs/other.md", "# MAGIC DOC: Other\n\nUses `src/app/store/disk.py`.\n")
    ground.commit()
    ground.git("rm", "-q", "src/app/store/disk.py")
    ground.commit()
    assert set(ground.check("other.md", cwd=ground.repo / "docs")) == {"src/app/store/disk.py"}
    assert len(json.loads(gitmem("-C", ground.repo / "src", "docs", "list", "--json").out)) == 2
    (tmp_path / "plain").mkdir()
    for code, words, cwd in (
        (2, ["README"], None),
        (2, ["--at", "HEAD", "--staged"], None),
        (3, ["--at", "nowhere"], None),
        (3, [], tmp_path / "plain"),
    ):
        assert gitmem("docs", "check", *words, cwd=cwd, ok=False).code == code, words


def test_links_and_what_is_no_text_are_no_documents(ground: Checked, gitmem) -> None:
    (ground.repo / "linked.md").symlink_to("ARCHITECTURE.md")
    ground.write("notes.md", "Text\n# MAGIC DOC: Late\n")
    ground.commit()
    assert [row["path"] for row in json.loads(gitmem("docs", "list", "--json").out)] == ["ARCHITECTURE.md"]
