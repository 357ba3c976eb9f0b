"""remember, forget, move and save: file, index line and commit in one step."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from once import Once
from ran import Command


@pytest.fixture(autouse=True)
def started(gitmem: Command, repo: Path, home: Path, once: Once[int]) -> None:
    def make() -> int:
        (home / ".claude").mkdir()
        gitmem("init", "-y")
        return gitmem.now

    gitmem.now = once("started", make)
    gitmem.patch.chdir(repo)


def tip(git, home: Path, gitmem) -> tuple[str, str]:
    project = gitmem("status", "--json").json["project"]
    return f"--git-dir={home}/.local/share/gitmem/private.git", f"refs/heads/local/{project}"


def test_remember_writes_file_index_and_commit(gitmem, git, home: Path) -> None:
    ran = gitmem(
        "remember",
        "Never mock the database.",
        "--why",
        "It hid a bug.",
        "--how",
        "In every test.",
        "--json",
    ).json
    assert (ran["scope"], ran["file"]) == ("local", "never-mock-the-database.md")
    where, ref = tip(git, home, gitmem)
    text = git(where, "show", f"{ref}:main/{ran['file']}")
    assert text == (
        "---\nname: never-mock-the-database\ndescription: Never mock the database\nmetadata:\n"
        "  type: feedback\n---\n\nNever mock the database.\n\n**Why:** It hid a bug.\n\n"
        "**How to apply:** In every test."
    )
    assert "(never-mock-the-database.md)" in git(where, "show", f"{ref}:main/MEMORY.md")
    message = git(where, "log", "-1", "--format=%B", ref)
    assert "Gitmem-Op: add\nGitmem-Writer: human" in message
    (live,) = (home / ".claude/projects").glob("*/memory")
    assert (live / ran["file"]).read_text() == text + "\n"


def test_a_dry_run_says_what_remember_would_do_and_writes_nothing(gitmem, git, home: Path) -> None:
    gitmem("remember", "Run the linter.", "--name", "lint")
    where, ref = tip(git, home, gitmem)
    before = git(where, "rev-parse", ref)
    key = "token = ghp_0123456789abcdefghijABCDEFGHIJ012345"
    for words, out, code in (
        (("Use tabs.",), "would store local/main/use-tabs.md: Use tabs\n", 0),
        (("Run it twice.", "--name", "lint"), "would update local/main/lint.md: Run it twice\n", 0),
        (("Run the linter.",), "local/main/lint.md says so already\n", 0),
        ((key,), "", 1),
    ):
        ran = gitmem("remember", "-n", *words, ok=code == 0)
        assert (ran.out, ran.code) == (out, code)
    ran = gitmem("remember", "-n", "Use tabs.", "--json").json
    assert (ran["file"], ran["commit"], ran["dry_run"]) == ("use-tabs.md", None, True)
    assert git(where, "rev-parse", ref) == before


def test_the_same_name_again_updates_that_memory_and_leaves_its_type(gitmem, git, home: Path) -> None:
    """Where memory is shared, its type says who sees it next."""
    gitmem("remember", "Python 3.11 is the minimum.", "--name", "python", "--type", "project")
    gitmem("remember", "Python 3.12 is the minimum.", "--name", "python")
    where, ref = tip(git, home, gitmem)
    assert git(where, "ls-tree", "--name-only", f"{ref}:main").split() == ["MEMORY.md", "python.md"]
    assert "3.12" in git(where, "show", f"{ref}:main/python.md")
    assert git(where, "show", f"{ref}:main/MEMORY.md").count("python.md") == 1
    assert [one["type"] for one in gitmem("list", "--json").json] == ["project"]
    gitmem("remember", "Python 3.13 is the minimum.", "--name", "python", "--type", "user")
    gitmem("remember", "Use tabs.")
    assert [one["type"] for one in gitmem("list", "--json").json] == ["user", "feedback"]


def test_a_name_that_one_scope_has_means_that_memory_whatever_its_type_would_be(gitmem) -> None:
    """With sharing on, a person's word of a memory of the team's made a second one beside it."""
    gitmem("remember", "Python 3.11 is the minimum.", "--name", "python", "--scope", "project")
    ran = gitmem("remember", "Python 3.12 is the minimum.", "--name", "python").out
    assert "updated project/main/python.md" in ran and len(gitmem("list", "--json").json) == 1
    gitmem("remember", "I use 3.13.", "--name", "python", "--scope", "user")
    ran = gitmem("remember", "Python 3.14 is the minimum.", "--name", "python", ok=False)
    assert ran.code == 2 and "names 2 memories" in ran.err and "hint: Say which: name its scope." in ran.err
    assert gitmem("remember", "Python is fun.", "--name", "python", "--agent", "reviewer").code == 0


def test_what_memory_says_already_is_stored_again_only_where_it_is_asked_for(gitmem) -> None:
    gitmem("remember", "Run the linter before every push.", "--name", "lint-first", "--why", "CI is slow.")
    for words in ((), ("--name", "gate"), ("--scope", "local"), ("--type", "reference")):
        ran = gitmem("remember", "Run the linter  before every push", *words)
        assert ran.out == "local/main/lint-first.md says so already\n", words
    for words in (("--how", "By hand."), ("--scope", "user")):
        assert gitmem("remember", "Run the linter before every push.", *words, "--json").json["commit"]
    gitmem("remember", "Ann owns the parser.", "--scope", "project", "--name", "parser")
    ran = gitmem("remember", "Ann owns the parser.", "--json").json
    assert (ran["scope"], ran["name"], ran["commit"]) == ("project", "parser", None)
    assert gitmem("remember", "Ann owns the parser.", "--scope", "local", "--json").json["commit"]


def test_a_sentence_that_begins_like_another_takes_no_memorys_place(gitmem) -> None:
    """A name that nobody gave is no wish to change what stands under it."""
    for language in ("C++", "C#", "C"):
        assert "updated" not in gitmem("remember", f"Use {language} for the engine").out
    names = [one["name"] for one in gitmem("list", "--json").json]
    assert sorted(names) == [f"use-c-for-the-engine{end}" for end in ("", "-2", "-3")]
    assert "updated local/main/" in gitmem("remember", "Use Go.", "--name", "use-c-for-the-engine").out
    firsts = {gitmem("remember", f"{'x' * 59} {end}").out.split()[1] for end in ("one", "two", "three")}
    assert len(firsts) == 3, "a number fits into the longest name"


def test_remember_reads_standard_input_and_annotates_relative_dates(gitmem, git, home, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("The freeze began yesterday.\n"))
    ran = gitmem("remember", "-", "--type", "project").out
    assert "local/main/the-freeze-began-yesterday.md: The freeze began yesterday (2026-11-" in ran
    where, ref = tip(git, home, gitmem)
    text = git(where, "show", f"{ref}:main/the-freeze-began-yesterday.md")
    assert text.count("yesterday (2026-11-") == 2  # the description, too, which the index shows


def test_wrong_words_exit_2_and_say_what_is_right(gitmem) -> None:
    gitmem("remember", "Ann is a data engineer.", "--name", "ann", "--type", "user")
    for words, said in (
        (("remember", ""), "nothing to remember"),
        (("remember", "x", "--type", "odd"), "no type 'odd'"),
        (("remember", "x", "--scope", "odd"), "no scope 'odd'"),
        (("remember", "x", "--scope", "project", "--type", "user"), "never goes to the project"),
        (("move", "ann", "--to", "project"), "project"),
        (("forget", "nothing"), "no memory named 'nothing'"),
    ):
        ran = gitmem(*words, ok=False)
        assert ran.code == 2 and said in ran.err and "Traceback" not in ran.err, words


def test_forget_leaves_a_tombstone_that_a_person_lifts_who_says_it_again(gitmem, git, home: Path) -> None:
    gitmem("remember", "Never mock the database here.", "--name", "mocks")
    gitmem("forget", "mocks")
    where, ref = tip(git, home, gitmem)
    assert git(where, "ls-tree", "--name-only", f"{ref}:main").split() == [".tombstones", "MEMORY.md"]
    stones = git(where, "show", f"{ref}:main/.tombstones")
    assert "forgot" in stones and "mock" not in stones
    assert not list((home / ".claude/projects").glob("*/memory/mocks.md"))
    gitmem("remember", "Never mock the database here.", "--name", "mocks")
    assert "mocks.md" in git(where, "ls-tree", "--name-only", f"{ref}:main").split()
    assert "mocks" in gitmem("list").out


@pytest.mark.parametrize("words", [("big",), ("--claim", "The log is big"), ("--everywhere", "big")])
def test_forget_says_where_agents_read_what_was_not_saved(gitmem, home, words: tuple[str, ...]) -> None:
    gitmem("remember", "The log is big.", "--name", "big")
    (live,) = (home / ".claude/projects").glob("*/memory")
    text = (live / "big.md").read_text() + "\nOne more line of it.\n" * 10_000
    (live / "big.md").write_text(text)
    ran = gitmem("forget", *words)
    assert "forgot " in ran.out
    assert f"agents still read {live / 'big.md'}: it holds what memory does not" in ran.err
    assert f"rm {live / 'big.md'}" in ran.err
    assert (live / "big.md").read_text() == text


def test_move_takes_a_memory_to_another_scope_and_is_undone_whole(gitmem, git, repo: Path) -> None:
    gitmem("remember", "Deploy from the release branch.", "--name", "deploy", "--type", "project")
    gitmem("move", "deploy", "--to", "project")
    moved = git("-C", repo, "show", "refs/gitmem/project:main/deploy.md")
    assert "Deploy from the release branch." in moved
    assert [entry["scope"] for entry in gitmem("list", "--json").json] == ["project"]
    gitmem("undo")
    assert [entry["scope"] for entry in gitmem("list", "--json").json] == ["local"]


def test_save_commits_what_an_agent_wrote_and_says_how_to_undo(gitmem, repo: Path) -> None:
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "x.md").write_text("---\nname: x\ndescription: d\ntype: project\n---\n\nFact.\n")
    assert "reviewer/x.md" in gitmem("save", "-n").out
    ran = gitmem("save")
    assert "Add x" in ran.out and "undo: git mem undo" in ran.err
    assert gitmem("save").err == "nothing to save\n"
    gitmem("undo")
    assert not (folder / "x.md").exists()


def test_save_stores_a_file_with_broken_frontmatter_and_says_so(gitmem, repo: Path) -> None:
    gitmem("init", "-y")
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "ports.md").write_text(
        "---\nname: ports\ndescription: web: 4000\ntype: project\n---\n\nWeb: 4000.\n"
    )
    assert "hard to read: project/reviewer/ports.md: not valid YAML in line 3" in gitmem("save", "-n").err
    saved = gitmem("save", "--json").json
    assert [one["hard_to_read"].keys() for one in saved if one["agent"] == "reviewer"] == [
        {"reviewer/ports.md"}
    ]


def test_a_dry_run_names_what_a_save_would_lay_out_again(gitmem, home: Path) -> None:
    for name in ("one", "two"):
        gitmem("remember", f"The {name} fact of all.", "--name", name)
    (live,) = (home / ".claude/projects").glob("*/memory")
    shutil.rmtree(live)
    ran = gitmem("save", "-n")
    assert ran.out == "local/main: would lay out again MEMORY.md, one.md, two.md\n"
    assert "nothing to save" not in ran.err and not live.exists()
    for words in (("status",), ("review",)):
        ran = gitmem(*words)
        assert "save --delete takes it for deleted" in ran.out + ran.err, words
    assert gitmem("save", "-n", "--delete").out.count("local/main: main/") == 3
    ran = gitmem("save")
    assert ran.out == "local/main: laid out again MEMORY.md, one.md, two.md\n"
    assert ran.err.count("MEMORY.md") == 0 and (live / "two.md").exists()


def test_an_agent_cannot_lead_out_of_the_folder_of_agents(gitmem, repo: Path) -> None:
    before = sorted(path for path in repo.parent.rglob("*") if "gitmem" not in path.parts)
    for agent in ("..", "../..", "../../.git/hooks", "/abs", "a/b", "a\\b", ".hidden", "a\nb"):
        ran = gitmem("remember", "x", "--agent", agent, "--scope", "project", "--type", "project", ok=False)
        assert ran.code == 2 and "cannot be a folder's name" in ran.err, agent
        now = sorted(path for path in repo.parent.rglob("*") if "gitmem" not in path.parts)
        assert now == before, agent


def test_a_commit_of_one_scope_is_no_revision_of_another(gitmem) -> None:
    """Both scopes begin with one root commit, and live in one repository."""
    gitmem("remember", "A fact about the user.", "--scope", "user", "--name", "mine", "--type", "user")
    commit = gitmem("remember", "A local plan.", "--name", "plan", "--json").json["commit"]
    gitmem("restore", "--all", "--at", commit)
    listed = {(entry["scope"], entry["name"]) for entry in gitmem("list", "--json").json}
    assert listed == {("user", "mine"), ("local", "plan")}


def test_a_secret_is_refused_and_only_the_persons_own_word_lets_it_pass(gitmem, git, repo, home) -> None:
    """A repository that could vouch for a secret could have it published."""
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    words = ("remember", f"The deploy token is {key}", "--name", "token", "--description", "A token")
    refused = gitmem(*words, ok=False)
    assert refused.code == 1 and key not in refused.err + refused.out
    assert "Leave the secret out" in refused.err
    assert not list((home / ".claude/projects").glob("*/memory/*"))
    fingerprint = refused.err.split("gitmem.allow ")[1].split()[0]
    git("-C", repo, "config", "gitmem.allow", fingerprint)
    assert gitmem(*words, ok=False).code == 1
    git("config", "--global", "--add", "gitmem.allow", fingerprint)
    gitmem(*words)
