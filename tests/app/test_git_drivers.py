"""Drivers and attributes in a clone: git merges and shows memory by claim, and without gitmem as text."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gitmem.app.file_edits import BEGIN, LARGEST, make_edits
from gitmem.app.git_drivers import (
    DRIVER_KEY,
    TEXT_KEY,
    merge_command,
    plan_merge_removal,
    plan_merge_setup,
    text_command,
)
from gitmem.core.attributes import BRANCH_TEXT
from gitmem.flows.place import default_argv
from gitmem.git.command import GitCommand

ROOT = Path(__file__).parents[2]
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"
GONE = ("/nowhere at all/python", "-P", "-m", "gitmem")


@pytest.fixture
def argv(tmp_path: Path) -> tuple[str, ...]:
    """gitmem's own words, where it need not be installed; the folder's name has what a shell would read."""
    program = tmp_path / "a folder's $HOME 100%P" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{default_argv()[0]}" "$@"\n')
    program.chmod(0o755)
    return (str(program), "-m", "gitmem")


@pytest.fixture
def runner() -> GitCommand:
    return GitCommand(os.environ)


@pytest.fixture
def branch(repo: Path, git) -> Path:
    """A repository with a memory branch checked out: one memory, its index, its attributes."""
    git("-C", repo, "checkout", "-q", "--orphan", "gitmem/project")
    git("-C", repo, "rm", "-qrf", ".")
    (repo / "main").mkdir()
    (repo / ".gitattributes").write_text(BRANCH_TEXT)
    (repo / "main/MEMORY.md").write_text("- [a](a.md) — About a\n")
    (repo / "main/a.md").write_text(MEMORY.format("a", "The port is 80."))
    save(git, repo)
    return repo


def set_up(repo: Path, argv: tuple[str, ...], runner: GitCommand) -> None:
    make_edits(plan_merge_setup(runner, repo / ".git", argv).edits, runner)


def save(git, repo: Path) -> None:
    git("-C", repo, "add", "-A")
    git("-C", repo, "commit", "-qm", "learn")


def fork(git, repo: Path, ours: dict[str, str], theirs: dict[str, str]) -> None:
    """Lets `gitmem/project` and `other` write different texts to files."""
    git("-C", repo, "checkout", "-qb", "other")
    for path, text in theirs.items():
        (repo / path).write_text(text)
    save(git, repo)
    git("-C", repo, "checkout", "-q", "gitmem/project")
    for path, text in ours.items():
        (repo / path).write_text(text)
    save(git, repo)


def merge(repo: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", repo, "merge", "-q", "--no-edit", *(words or ("other",))],
        capture_output=True,
        text=True,
    )


PORTS = [{"main/a.md": MEMORY.format("a", f"The port is {port}.")} for port in ("8080", "9090")]


LOGS = ("main/logs/2026/11/2026-11-20.md", "logs/archive/logs/2026/11/2026-11-20.md")


def test_the_index_merges_by_entry_here_and_by_line_in_a_clone_without_gitmem(
    branch: Path, argv, runner, git
) -> None:
    """`gitmem-merge` is a macro where gitmem is, and nothing elsewhere: there `merge=union` counts."""
    for path in ("main/MEMORY.md", *LOGS):
        assert git("-C", branch, "check-attr", "merge", path).endswith("union")
    assert git("-C", branch, "check-attr", "merge", "logs/a.md").endswith(": gitmem"), "agent `logs`"
    set_up(branch, argv, runner)
    for path in ("main/MEMORY.md", "main/a.md", "main/.tombstones", *LOGS):
        assert git("-C", branch, "check-attr", "merge", path).endswith(": gitmem")
    assert git("-C", branch, "check-attr", "merge", "CODEOWNERS").endswith("unspecified")
    line = "- [a](a.md) — {}\n"
    fork(git, branch, *({"main/MEMORY.md": line.format(text)} for text in ("One", "Two")))
    assert merge(branch).returncode == 0
    merged = (branch / "main/MEMORY.md").read_text()
    mark = re.search(r" \*\(disputed [0-9a-f]{8}\)\*", merged)
    assert mark, "two people wrote two lines for one memory: neither is picked"
    assert merged == line.format(f"One{mark[0]}") + line.format(f"Two{mark[0]}")


def test_a_file_of_the_code_called_like_an_index_is_not_touched(repo: Path, argv, runner, git) -> None:
    set_up(repo, argv, runner)
    for path in ("MEMORY.md", "docs/MEMORY.md", "main/notes.md"):
        assert git("-C", repo, "check-attr", "merge", path).endswith("unspecified")
    assert git("-C", repo, "check-attr", "diff", "docs/a.md").endswith("unspecified")


@pytest.mark.parametrize("how", ["gone", "broken"])
def test_without_gitmem_git_merges_as_text_and_marks_both_sides(
    branch: Path, runner, git, tmp_path: Path, how: str
) -> None:
    """Were the driver just to fail, the file would hold our side alone, and `git add` would lose theirs."""
    words: tuple[str, ...] = GONE
    if how == "broken":
        (tmp_path / "python").write_text("#!/bin/sh\necho no module called gitmem >&2\nexit 1\n")
        (tmp_path / "python").chmod(0o755)
        words = (str(tmp_path / "python"), "-m", "gitmem")
    set_up(branch, words, runner)
    sides = [side | {"main/MEMORY.md": f"- [{n}]({n}.md)\n"} for n, side in zip("bc", PORTS, strict=True)]
    fork(git, branch, *sides)
    assert merge(branch).returncode == 1
    text = (branch / "main/a.md").read_text()
    assert all(word in text for word in ("8080", "9090", "<<<<<<< ours", ">>>>>>> theirs"))
    assert git("-C", branch, "diff", "--name-only", "--diff-filter=U") == "main/a.md"
    assert (branch / "main/MEMORY.md").read_text() == "- [b](b.md)\n- [c](c.md)\n"


def test_a_text_merge_that_fits_is_no_conflict_without_gitmem(branch: Path, runner, git) -> None:
    set_up(branch, GONE, runner)
    whole = MEMORY.format("a", "".join(f"Fact {number}.\n\n" for number in range(9)))
    (branch / "main/a.md").write_text(whole)
    assert "+Fact 3." in git("-C", branch, "diff"), "it is shown as it is"
    save(git, branch)
    sides = [whole.replace(*words) for words in (("Fact 0", "First 0"), ("Fact 8", "Last 8"))]
    fork(git, branch, *({"main/a.md": text} for text in sides))
    assert merge(branch).returncode == 0
    text = (branch / "main/a.md").read_text()
    assert "First 0" in text and "Last 8" in text


def test_git_merge_unites_claims_and_those_of_the_ancestor_of_a_criss_cross(
    branch: Path, argv, runner, git
) -> None:
    """`merge.gitmem.recursive` is unset: a text merge of the ancestors would put marks into the base."""
    set_up(branch, argv, runner)
    fork(git, branch, *PORTS)
    git("-C", branch, "tag", "mine")
    git("-C", branch, "tag", "yours", "other")
    done = merge(branch, "yours")
    assert done.returncode == 0, done.stderr
    text = (branch / "main/a.md").read_text()
    assert "8080" in text and "9090" in text and text.count("*(disputed ") == 2
    git("-C", branch, "checkout", "-q", "other")
    assert merge(branch, "mine").returncode == 0
    for name, words in (("other", "From other."), ("gitmem/project", "From mine.")):
        git("-C", branch, "checkout", "-q", name)
        text = (branch / "main/a.md").read_text()
        (branch / "main/a.md").write_text(f"{text}\n{words}\n")
        save(git, branch)
    assert len(git("-C", branch, "merge-base", "--all", "other", "gitmem/project").split()) == 2
    assert merge(branch).returncode == 0
    text = (branch / "main/a.md").read_text()
    assert all(text.count(word) == 1 for word in ("8080", "9090", "From other.", "From mine."))
    assert "<<<<<<<" not in text


def test_a_persons_own_driver_is_respected(branch: Path, argv, runner, git) -> None:
    git("config", "--global", DRIVER_KEY, "my-own %A")
    plan = plan_merge_setup(runner, branch / ".git", argv)
    assert plan.foreign == (DRIVER_KEY,)
    make_edits(plan.edits, runner)
    assert git("-C", branch, "config", DRIVER_KEY) == "my-own %A"
    assert plan_merge_setup(runner, branch / ".git", argv).changes is False


@pytest.mark.parametrize("there", [None, b"", b"main/*.md diff=mine\r\n*.bin binary"])
def test_a_persons_own_attributes_win_and_come_back_byte_for_byte(
    repo: Path, argv, runner, git, there: bytes | None
) -> None:
    """A file that gitmem made goes with it."""
    config, path = (repo / ".git" / name for name in ("config", "info/attributes"))
    path.unlink(missing_ok=True)
    if there is not None:
        path.write_bytes(there)
    before = config.read_bytes()
    set_up(repo, argv, runner)
    assert git("-C", repo, "check-attr", "diff", "main/a.md").endswith("mine" if there else "gitmem")
    assert plan_merge_setup(runner, repo / ".git", argv).changes is False
    make_edits(plan_merge_removal(runner, repo / ".git").edits, runner)
    assert config.read_bytes() == before
    assert (path.read_bytes() if path.exists() else None) == there


def test_what_an_older_gitmem_set_is_renewed(repo: Path, argv, runner, git) -> None:
    set_up(repo, GONE, runner)
    path = repo / ".git/info/attributes"
    path.write_bytes(path.read_bytes().replace(b"/main/*.md diff=gitmem\n", b""))
    set_up(repo, argv, runner)
    assert git("-C", repo, "config", "--get-all", DRIVER_KEY) == merge_command(argv)
    assert git("-C", repo, "config", "--get-all", TEXT_KEY) == text_command(argv)
    assert git("-C", repo, "check-attr", "diff", "main/a.md").endswith("gitmem")
    assert path.read_bytes().count(BEGIN) == 1


def test_attributes_that_are_a_link_or_too_long_to_be_read_whole_are_left_to_a_person(
    repo: Path, argv, runner, tmp_path: Path
) -> None:
    path = repo / ".git/info/attributes"
    path.write_bytes(mine := b"*.bin binary\n" * (LARGEST // 13 + 1))
    plan = plan_merge_setup(runner, repo / ".git", argv)
    assert plan.by_hand
    make_edits(plan.edits, runner)
    assert path.read_bytes() == mine
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("mine\n")
    plan = plan_merge_setup(runner, repo / ".git", argv)
    assert "no regular file" in plan.by_hand
    make_edits(plan.edits, runner)
    assert path.is_symlink() and path.read_text() == "mine\n"


def test_git_log_and_git_diff_tell_claims(branch: Path, argv, runner, git) -> None:
    set_up(branch, argv, runner)
    (branch / "main/a.md").write_text(MEMORY.format("a", "The port\nis 80.\n\n- Use the\n  real one."))
    shown = changed(git("-C", branch, "diff", "-U0", "--no-color"))
    assert shown == ["+ - Use the real one."], "wrapping is no change of a claim"
    save(git, branch)
    git("-C", branch, "checkout", "-q", "main")
    text = git("-C", branch, "log", "-p", "-1", "-U0", "--no-color", "--format=", "gitmem/project")
    assert changed(text) == shown, "beside the code, too"


def test_a_patch_for_others_is_of_the_bytes(branch: Path, argv, runner, git) -> None:
    set_up(branch, argv, runner)
    fork(git, branch, *PORTS)
    patch = git("-C", branch, "format-patch", "--stdout", "-1", "other") + "\n"
    git("-C", branch, "reset", "-q", "--hard", "HEAD~1")
    git("-C", branch, "apply", "-", input=patch)
    assert (branch / "main/a.md").read_text() == PORTS[1]["main/a.md"]


def changed(diff: str) -> list[str]:
    """The lines of a diff that came or went."""
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_init_doctor_and_uninstall_know_the_drivers(repo: Path, gitmem, git) -> None:
    config, path = (repo / ".git" / name for name in ("config", "info/attributes"))
    before = config.read_bytes(), path.read_bytes() if path.exists() else None
    assert "merge and show memory claim by claim" in gitmem("init", "-n").out
    assert (config.read_bytes(), path.read_bytes() if path.exists() else None) == before
    gitmem("init", "-y")
    assert "merge-driver %O %A %B %P" in git("-C", repo, "config", DRIVER_KEY)
    assert gitmem("doctor", "-n").out.strip() == "all is well"
    git("-C", repo, "config", "--unset", DRIVER_KEY)
    path.unlink()
    assert "git-merge" in gitmem("doctor", "-n", ok=False).out
    gitmem("doctor", "-y")
    assert "merge-driver" in git("-C", repo, "config", DRIVER_KEY) and BEGIN in path.read_bytes()
    gitmem("uninstall", "-y")
    assert (config.read_bytes(), path.read_bytes() if path.exists() else None) == before


def test_git_diff_and_git_mem_diff_tell_the_same(repo: Path, gitmem, git, argv, runner, tmp_path) -> None:
    gitmem("init", "-y")
    set_up(repo, argv, runner)
    gitmem("remember", "The port is 80.", "--scope", "project", "--name", "port")
    ref = "refs/gitmem/project"
    old = git("-C", repo, "rev-parse", ref)
    text = git("-C", repo, "show", "--no-textconv", f"{ref}:main/port.md")
    work = tmp_path / "work"
    git("-C", repo, "worktree", "add", "-q", "--detach", work, ref)
    new = text.replace("The port is 80.", "The port is\n8080.") + "\n\n```\nmake test\nmake all\n```\n"
    (work / "main/port.md").write_text(new)
    git("-C", work, "commit", "-qam", "edit")
    git("-C", repo, "update-ref", ref, git("-C", work, "rev-parse", "HEAD"))
    ours = gitmem("diff", old, "--scope", "project").out.splitlines()
    theirs = changed(git("-C", repo, "diff", "-U0", "--no-color", old, ref, "--", "main/port.md"))
    assert sorted(line for line in ours if line[:1] in "+-~") == sorted(theirs)
    assert "+ make test" in theirs
