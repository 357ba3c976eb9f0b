"""Memory that a change of the code makes false: named with its repair, and silence otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_ground import Ground, memory

TOLD = {
    "main/parser.md": memory("parser", "Parsing lives in `src/app/parser.py`.\n\nIt never raises."),
    "main/limits.md": memory("limits", "Use `make_limits()` before a call."),
    "main/flags.md": memory("flags", "The tool takes `--dry-run` for a rehearsal."),
    "main/plain.md": memory("plain", "Be brief."),
}


@pytest.fixture
def code(ground: Ground) -> Ground:
    """Code of which memory tells, committed."""
    folder = ground.repo / "src/app"
    folder.mkdir(parents=True)
    (folder / "parser.py").write_text("def parse(text):\n    return text.split()\n\n\n" * 4)
    (folder / "limits.py").write_text(
        "def make_limits(size):\n    return size\n\n\nLIMIT = make_limits(4)\n"
    )
    (folder / "main.py").write_text(
        'import argparse\n\nparser.add_argument("--dry-run", action="store_true")\n'
    )
    commit(ground, "Begin the code")
    ground.learn(TOLD)
    return ground


def commit(ground: Ground, subject: str) -> None:
    git = ground.workspace.code.git
    git.run(["add", "-A", "src"], cwd=ground.repo)
    git.run(["commit", "-q", "-m", subject], cwd=ground.repo)


def edit(ground: Ground, name: str, old: str, new: str) -> None:
    path = ground.repo / "src/app" / name
    path.write_text(path.read_text().replace(old, new))


def test_a_change_that_touches_nothing_told_is_passed_in_silence(code: Ground) -> None:
    """Not a word, exit code 0: it may run on every pull request. What went before is not put on it."""
    edit(code, "limits.py", "make_limits", "build_limits")
    commit(code, "Rename")
    edit(code, "main.py", "store_true", "store_false")
    commit(code, "Turn it round")
    done = code.run("check", "--code", "HEAD~1..HEAD")
    assert (done.out, done.err) == ("", "")


def test_a_file_that_moved_is_told_with_the_claim_as_it_would_be_true(code: Ground) -> None:
    """And the exit code says that something was found."""
    source = code.repo / "src/app/parser.py"
    source.rename(source.with_name("reader.py"))
    commit(code, "Rename the parser")
    told = code.run("check", "--code", "HEAD~1..HEAD", code=1)
    assert "project/main/parser.md: `src/app/parser.py` becomes `src/app/reader.py`" in told.out
    assert "   - Parsing lives in `src/app/parser.py`." in told.out
    assert "   + Parsing lives in `src/app/reader.py`." in told.out
    assert "It never raises" not in told.out and "limits" not in told.out


def test_a_folder_that_moved_deeper_is_told_though_the_path_still_ends_so(code: Ground) -> None:
    """`app/parser.py` in the place of `src/app/parser.py` is another file for who opens it."""
    code.learn({"main/top.md": memory("top", "See `src/app/limits.py`.")})
    (code.repo / "src/lib/src").mkdir(parents=True)
    (code.repo / "src/app").rename(code.repo / "src/lib/src/app")
    commit(code, "Move all of it")
    told = code.run("check", "--code", "HEAD~1..HEAD", code=1).out
    assert "project/main/top.md: `src/app/limits.py` becomes `src/lib/src/app/limits.py`" in told
    edit_ = code.repo / "src/lib/src/app/main.py"
    edit_.write_text(edit_.read_text() + "\n")
    commit(code, "Touch it")
    assert code.run("check", "--code", "HEAD~1..HEAD").out == ""


def test_a_symbol_that_was_renamed_and_a_flag_that_went_are_told(code: Ground) -> None:
    """A rename needs a plain one in the patch; what merely goes has no repair."""
    edit(code, "limits.py", "make_limits", "build_limits")
    edit(code, "main.py", 'parser.add_argument("--dry-run", action="store_true")\n', "")
    commit(code, "Rename and remove")
    told = json.loads(code.run("check", "--code", "HEAD~1..HEAD", "--json", code=1).out)
    names = {one["name"]: each for one in told["memories"] for each in one["names"]}
    assert names.keys() == {"limits", "flags"}
    assert names["limits"]["now"].startswith("build_limits")
    assert names["limits"]["claims"][0]["after"] == "Use `build_limits()` before a call."
    assert names["flags"]["now"] is None and told["ok"] is False


def test_a_symbol_that_was_made_private_is_told_though_a_shim_still_names_it(code: Ground) -> None:
    """Its text is there, but nothing defines it any more."""
    path = code.repo / "src/app/limits.py"
    shim = '\n\ndef __getattr__(name):\n    if name == "make_limits":\n        return _make_limits\n'
    path.write_text(path.read_text().replace("make_limits", "_make_limits") + shim)
    commit(code, "Make it private")
    told = json.loads(code.run("check", "--code", "HEAD~1..HEAD", "--json", code=1).out)
    ((one,),) = (memory["names"] for memory in told["memories"])
    assert (one["name"], one["now"]) == ("make_limits()", "_make_limits()")


def test_a_comment_holds_the_project_s_memory_alone(code: Ground) -> None:
    """What is posted for others shows nothing private, and no text breaks out of its fence."""
    code.learn({"main/mine.md": memory("mine", "My note on `src/app/parser.py`.")}, "local")
    code.learn({"main/odd.md": memory("odd", "```\n<script>\n```\n\nSee `src/app/parser.py` ``` here.")})
    source = code.repo / "src/app/parser.py"
    source.rename(source.with_name("reader.py"))
    commit(code, "Rename the parser")
    assert "local/main/mine.md" in code.run("check", "--code", "HEAD~1..HEAD", code=1).out
    told = code.run("check", "--code", "HEAD~1..HEAD", "--comment", code=1).out
    assert told.startswith("This change makes 2 memories of the project false:")
    assert "mine" not in told and told.count("```") % 2 == 0
    noted = code.run("check", "--code", "HEAD~1..HEAD", "--github", code=1).out
    assert noted.count("::warning title=gitmem::") == 2 and "mine" not in noted


def test_what_cannot_be_asked_is_an_error_of_usage(code: Ground, tmp_path: Path) -> None:
    """A revision that is none, and options of the other check."""
    code.run("check", "--code", "nothing..HEAD", code=2)
    code.run("check", "--code", "HEAD~1..HEAD", "--staged", code=2)
    code.run("check", "--comment", code=2)


def test_a_checkout_of_ci_needs_no_init(code: Ground, tmp_path: Path) -> None:
    """The memory branch of the remote is what it holds the change against."""
    edit(code, "limits.py", "make_limits", "build_limits")
    commit(code, "Rename")
    git = code.workspace.code.git
    git.run(["branch", "gitmem/project", "refs/gitmem/project"], cwd=code.repo)
    git.run(["clone", "-q", str(code.repo), str(tmp_path / "ci")])
    code.patch.setenv("XDG_DATA_HOME", str(tmp_path / "empty"))
    told = code.run("-C", tmp_path / "ci", "check", "--code", "HEAD~1..HEAD", "--comment", code=1).out
    assert "`make_limits()` becomes" in told
    assert not (tmp_path / "empty").exists()
