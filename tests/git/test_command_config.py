"""The runner for git: its environment, its errors, and the small readers built on it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core.errors import RepositoryError
from gitmem.flows.place import clean_environment
from gitmem.git import command as runner
from gitmem.git import config
from gitmem.git.command import Configuration, GitCommand, Layout, layout, read_configuration
from gitmem.git.config import identity, worktrees
from gitmem.git.repository import Signature


@pytest.fixture
def command() -> GitCommand:
    return GitCommand(dict(os.environ))


def fake(tmp_path: Path, script: str) -> GitCommand:
    """A stand-in for git that says what no healthy machine makes the real one say."""
    path = tmp_path / "fake-git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return GitCommand(dict(os.environ), str(path))


def test_only_safe_variables_of_git_reach_git() -> None:
    safe = dict.fromkeys(runner.SAFE_VARIABLES, "kept")
    hostile = {f"GIT_{name}": "x" for name in ("DIR", "INDEX_FILE", "CONFIG_COUNT", "AUTHOR_NAME")}
    command = GitCommand({"PATH": "/bin", "GITMEM": "mine", "LC_ALL": "de_DE"} | safe | hostile)
    wanted = {"PATH": "/bin", "GITMEM": "mine"} | safe | runner.FIXED_VARIABLES
    assert command.environment() == wanted
    assert command.environment({"GIT_DIR": "asked"}) == wanted | {"GIT_DIR": "asked"}
    assert wanted["LC_ALL"] == "C"
    assert wanted["GIT_TERMINAL_PROMPT"] == "0"


def test_the_environment_is_the_one_given_not_the_process_s(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".gitconfig").write_text("[user]\n\tname = Ben\n\temail = ben@example.com\n")
    command = GitCommand({"PATH": os.environ["PATH"], "HOME": str(other), "GIT_CONFIG_NOSYSTEM": "1"})
    assert read_configuration(command, tmp_path).get("user.name") == "Ben"


def test_a_command_gives_its_bytes_and_code(tmp_path: Path, command: GitCommand) -> None:
    result = command.run(["hash-object", "--stdin"], input=b"x\n")
    assert result.text == "587be6b4c3f93f93c489c0111bba5596147a26cb"
    assert command.run(["rev-parse", "--git-dir"], cwd=tmp_path, check=False).returncode == 128


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("fatal: write error: No space left on device", "No space left on device", "disk space"),
        ("fatal: unable to write new index file: Disk quota exceeded", "quota", "disk space"),
        ("error: insufficient permission for adding an object", "insufficient permission", "writable"),
        ("error: could not lock config file x: Read-only file system", "Read-only", "writable"),
        ("fatal: detected dubious ownership in repository at x", "dubious", "safe.directory"),
        (
            "fatal: Unable to create '/r/.git/a b.lock': File exists.\\n\\nRemove it.",
            "a b.lock",
            "delete /r/.git/a b.lock",
        ),
        ("error: could not lock config file /r/x: File exists", "config file /r/x", "delete /r/x.lock"),
        ("error: insufficient permission\\nfatal: failed", "insufficient permission", "writable"),
        ("fatal: unable to create directory for /r/x", "/r/x", "writable"),
        ("hint: a\\nfatal: first\\nerror: bad \\033[31mred\\nhint: b", "bad [31mred", ""),
        ("only this", "only this", ""),
        ("", "git failed without a word", ""),
    ],
)
def test_a_failure_has_git_s_own_word_and_what_to_do(tmp_path, said: str, message: str, hint: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        fake(tmp_path, f"printf '%b\\n' \"{said}\" >&2; exit 128").run(["status"], cwd=tmp_path)
    assert message in caught.value.message
    assert not caught.value.message.startswith(("fatal", "error"))
    assert hint in caught.value.hint
    assert bool(hint) == bool(caught.value.hint)
    assert caught.value.exit_code == 3


def test_git_missing_hanging_or_called_from_nowhere_is_told(tmp_path: Path, command: GitCommand) -> None:
    with pytest.raises(RepositoryError, match="was not found") as caught:
        GitCommand({"PATH": str(tmp_path)}).run(["status"])
    assert "Install git" in caught.value.hint
    with pytest.raises(RepositoryError, match=r"No such folder: .*gone"):
        command.run(["status"], cwd=tmp_path / "gone")
    with pytest.raises(RepositoryError, match="cannot be run"):
        command.run(["rev-parse", "a\0b"])
    with pytest.raises(RepositoryError, match="git status took longer"):
        fake(tmp_path, "exec sleep 60").run(["status"], timeout=0.05)


# Identity


def who(repo: Path, environ: Mapping[str, str] | None = None) -> Signature:
    """The person in a repository; with an environment besides the process's."""
    git = GitCommand(dict(os.environ) | dict(environ or {}))
    return identity(git, read_configuration(git, repo), repo / ".git")


def test_the_identity_is_the_author_s(repo: Path, command: GitCommand) -> None:
    ann = who(repo)
    assert (ann.name, ann.email, ann.time, ann.offset) == ("Ann", "ann@example.com", 0, 0)
    command.run(["config", "committer.name", "Ann's machine"], cwd=repo)
    assert who(repo).name == "Ann"
    command.run(["config", "author.name", "Ann of the team"], cwd=repo)
    assert who(repo).name == "Ann of the team"


BOB = {"GIT_AUTHOR_NAME": "Bob", "GIT_AUTHOR_EMAIL": "bob@example.com"}

ODD = (
    "Ann", "J. Doe Jr.", "", " ", "Ann ", "\tAnn", "A <b> c", "<>", "A\nB", "A\rB", "\x7fAnn\x01", '"Ann"',
    "'", "Ann,", "ann@example.com", "<ann@example.com>", "Ünï ©", "A;b", ";", "A\\", "A  b", "Ann\u2028B",
    "-n", "A\x1b[31mB\x1b",
)  # fmt: skip
"""Names and addresses that git cleans up, refuses, or takes as they are."""


@pytest.mark.parametrize("where", ["environ", "user", "author"])
def test_no_odd_name_is_taken_for_another_than_git_takes_it_for(repo: Path, command, where: str) -> None:
    """Most are answered without git, which cleans names up as its version has it."""
    for name, email in [*((one, "a@b.example") for one in ODD), *(("Ann", one) for one in ODD)]:
        given = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email} if where == "environ" else {}
        if not given:
            command.run(["config", f"{where}.name", name], cwd=repo)
            command.run(["config", f"{where}.email", email], cwd=repo)
        said = {key: value for key, value in given.items() if value}
        words = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]
        told = command.run(words, cwd=repo, env=said, check=False)
        try:
            found = who(repo, given)
        except RepositoryError:
            assert told.returncode, (name, email)
        else:
            assert told.text.startswith(f"{found.name} <{found.email}> "), (name, email)


def test_a_plain_name_costs_no_process(repo: Path) -> None:
    git = GitCommand(dict(os.environ))
    said = read_configuration(git, repo)
    unable = GitCommand(git.environ, "no-such-git")
    assert identity(unable, said, repo / ".git").email == "ann@example.com"
    with pytest.raises(RepositoryError, match="was not found"):
        identity(unable, Configuration(), repo / ".git")


@pytest.mark.parametrize("configured", ["", "[user]\n\tname = Ann\n\temail = ann@example.com\n"])
def test_the_identity_of_the_environment_comes_first(home: Path, repo: Path, configured: str) -> None:
    (home / ".gitconfig").write_text(configured)
    bob = who(repo, BOB)
    assert (bob.name, bob.email) == ("Bob", "bob@example.com")


def test_the_author_of_the_commit_in_hand_is_not_the_person(repo: Path) -> None:
    """Git tells its hooks whose commit it is: with --author somebody else's."""
    in_a_hook = clean_environment(dict(os.environ) | BOB | {"GIT_INDEX_FILE": "index"})
    git = GitCommand(in_a_hook)
    assert identity(git, read_configuration(git, repo), repo / ".git").name == "Ann"


def test_no_identity_is_told_and_none_is_made_up(home: Path, repo: Path) -> None:
    """A name guessed from the host would stand in the history for ever; EMAIL may be anyone's."""
    (home / ".gitconfig").write_text("")
    for extra in ({}, {"EMAIL": "host@example.com"}, {"GIT_AUTHOR_NAME": "X"}):
        with pytest.raises(RepositoryError) as caught:
            who(repo, extra)
        assert "git config --global user.name" in caught.value.hint


# Settings


class Unable(GitCommand):
    """A git that is not to be asked."""

    def run(self, *words: object, **_: object) -> NoReturn:
        raise AssertionError(words)


LINES = (
    *(
        "[user]", '[Remote "a.B c"]', "[gitmem]\r", '[core ""]', "[a.b]", "  [user] # mine",
        "[user]name = x",
    ),
    *(
        "\tName = Ann Bee ",
        "url=a=b",
        "on",
        "x =",
        "n = a  b",
        "t = a\tb",
        'q = "a # b"',
        "c = a ; b",
        "e = a\\",
    ),
    *(
        "",
        " # note",
        "; note",
        "1x = y",
        "é = y",
        "v = é\udc80",
        "'s' = y",
        "a-b = 'y'",
        "[include]",
        "path = more",
    ),
)  # fmt: skip


@example(["[user]", "\tName = Ann Bee ", '[Remote "a.B c"]', "url=a=b", "n = a  b", "v = é\udc80"], 2, True)
@example(['[includeIf "gitdir:/"]', "path = more"], 0, False)
@given(st.lists(st.sampled_from(LINES), max_size=8), st.integers(0, 2), st.just(False))
def test_files_tell_what_git_would_say_or_nothing(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], where: int, plain: bool
) -> None:
    """The same from a git that is called by its path, for which no file is read here."""
    folder = tmp_path_factory.mktemp("told")
    environ = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": ""}
    command = GitCommand(environ)
    by_path = GitCommand(environ, shutil.which("git") or "")
    command.run(["init", "-q", "r"], cwd=folder)
    (folder / ".config/git").mkdir(parents=True)
    (folder / "more").write_text("[user]\n\tname = More\n")
    files = (folder / ".config/git/config", folder / ".gitconfig", folder / "r/.git/config")
    with files[where].open("ab") as file:
        file.write("\n".join(lines).encode("utf-8", "surrogateescape"))
    told = runner.plain_configuration(command, folder / "r", None)
    assert told == runner.plain_configuration(command, None, folder / "r/.git")
    assert told is not None or not plain
    if told is not None:
        assert told == read_configuration(by_path, folder / "r")
        for key in ("user.name", "Remote.a.B c.URL", "gitmem.none"):
            said = config.config_get_all(by_path, folder / "r", key)
            assert config.config_get_all(Unable(environ), folder / "r", key) == said


@pytest.mark.parametrize(
    "variables",
    [
        {"GIT_CONFIG_GLOBAL": "more"},
        {"GIT_CONFIG_NOSYSTEM": "0"},
        {"GIT_CONFIG_SYSTEM": "more", "GIT_CONFIG_NOSYSTEM": ""},
    ],
)
def test_git_says_which_files_variables_name(repo: Path, variables: dict[str, str]) -> None:
    assert runner.plain_configuration(GitCommand(os.environ | variables), repo, None) is None


def test_settings_are_read_written_and_removed(repo: Path, command: GitCommand) -> None:
    assert config.config_get(command, repo, "gitmem.engine") is None
    config.config_set(command, repo, "gitmem.engine", "-odd\nvalue ")
    assert config.config_get(command, repo, "gitmem.engine") == "-odd\nvalue "
    command.run(["config", "--add", "gitmem.engine", ""], cwd=repo)
    assert config.config_get_all(command, repo, "gitmem.engine") == ("-odd\nvalue ", "")
    assert config.config_get(command, None, "gitmem.engine", git_dir=repo / ".git") == ""
    config.config_set(command, repo, "gitmem.engine", "yes")
    assert config.config_get(command, repo, "gitmem.engine", kind="bool") == "true"
    config.config_set(command, repo, "gitmem.engine", "perhaps")
    with pytest.raises(RepositoryError, match=r"gitmem\.engine"):
        config.config_get(command, repo, "gitmem.engine", kind="bool")
    config.config_unset(command, repo, "gitmem.engine")
    config.config_unset(command, repo, "gitmem.engine")
    assert config.config_get_all(command, repo, "gitmem.engine") == ()


@pytest.mark.parametrize("value", ["true", "false", "yes", "TRUE", "", "/a b", "~/x", "x"])
@pytest.mark.parametrize("kind", ["bool", "path"])
def test_a_value_of_a_type_is_what_git_makes_of_it(repo, kind: Literal["bool", "path"], value: str) -> None:
    with (repo / ".git/config").open("a") as file:
        file.write(f"[gitmem]\n\tx = {value}\n")

    def told(git: GitCommand) -> str | None:
        try:
            return config.config_get(git, repo, "gitmem.x", kind=kind)
        except RepositoryError as error:
            return error.message

    assert told(GitCommand(os.environ)) == told(GitCommand(os.environ, shutil.which("git") or ""))
    plain = {"bool": ("true", "false"), "path": ("/a b",)}[kind]
    # Names by SHA-256 are an extension, and what has one is git's to read.
    if value in plain and not os.environ.get("GIT_DEFAULT_HASH"):
        assert told(Unable(os.environ)) == value


def test_what_only_the_person_may_decide_is_never_read_from_the_repository(home, repo, command) -> None:
    config.config_set(command, repo, "gitmem.endpoint", "http://evil.example")
    assert config.config_get(command, repo, "gitmem.endpoint", scope="global") is None
    (home / "more").write_text("[gitmem]\n\tendpoint = http://mine.example\n")
    config.config_set(command, repo, "include.path", str(home / "more"), scope="global")
    assert config.config_get(command, repo, "gitmem.endpoint", scope="global") == "http://mine.example"
    assert config.config_get(command, repo, "gitmem.endpoint") == "http://evil.example"
    assert config.config_get_all(command, repo, "gitmem.endpoint") == (
        "http://mine.example",
        "http://evil.example",
    )


def test_the_person_s_settings_are_read_outside_a_repository(tmp_path: Path, command: GitCommand) -> None:
    config.config_set(command, tmp_path, "gitmem.engine", "offline", scope="global")
    assert config.config_get(command, tmp_path, "gitmem.engine", scope="global") == "offline"


def test_a_broken_configuration_is_told(repo: Path, command: GitCommand) -> None:
    (repo / ".git/config").write_text("[core\n")
    with pytest.raises(RepositoryError, match="config"):
        config.config_get(command, repo, "gitmem.engine")


# Layout


def test_the_layout_from_everywhere_in_a_repository(tmp_path: Path, repo: Path, git, command) -> None:
    (repo / "a b/ü").mkdir(parents=True)
    top = layout(command, repo)
    assert (top.worktree, top.git_dir, top.common_dir, top.bare) == (
        repo,
        repo / ".git",
        repo / ".git",
        False,
    )
    assert top.object_format == os.environ.get("GIT_DEFAULT_HASH", "sha1")
    assert layout(command, repo / "a b/ü") == top
    assert layout(command, repo / ".git").worktree is None
    assert not layout(command, repo / ".git").bare
    git("-C", repo, "worktree", "add", "-q", "-b", "other", tmp_path / "linked")
    linked = layout(command, tmp_path / "linked")
    assert (linked.worktree, linked.common_dir) == (tmp_path / "linked", repo / ".git")
    assert linked.git_dir == repo / ".git/worktrees/linked"
    git("init", "-q", "--bare", "--object-format=sha256", tmp_path / "bare")
    bare = layout(command, tmp_path / "bare")
    assert (bare.worktree, bare.git_dir, bare.bare) == (None, tmp_path / "bare", True)
    assert bare.object_format == "sha256"


def test_the_layout_of_an_unborn_branch_is_known(tmp_path: Path, git, command: GitCommand) -> None:
    git("init", "-q", tmp_path / "new")
    assert layout(command, tmp_path / "new").worktree == tmp_path / "new"


def _odd(repo: Path, git: Callable[..., str], how: str) -> Path:
    """Makes something of a repository; returns the folder to look from."""
    inside, dot = repo / "inside", repo / ".git"
    inside.mkdir()
    match how:
        case "as made":
            pass
        case "detached":
            git("-C", repo, "checkout", "-q", "--detach")
        case "through a link":
            (repo / "link").symlink_to(inside)
            return repo / "link"
        case ".git is a link":
            dot.rename(repo / "real")
            dot.symlink_to("real")
        case ".git is a file":
            dot.rename(repo / "real")
            dot.write_text("gitdir: real\n")
        case "nothing in .git":
            (inside / ".git").mkdir()
        case "no objects":
            (dot / "objects").rename(dot / "elsewhere")
        case "HEAD is no ref":
            (dot / "HEAD").write_text("nowhere\n")
        case "another work tree":
            git("-C", repo, "config", "core.worktree", inside)
        case "said to be bare":
            git("-C", repo, "config", "core.bare", "true")
        case "bare twice":
            git("-C", repo, "config", "--add", "core.bare", "true")
        case "of a later version":
            git("-C", repo, "config", "core.repositoryFormatVersion", "9")
        case "an extension":
            git("-C", repo, "config", "core.repositoryFormatVersion", "1")
            git("-C", repo, "config", "extensions.worktreeConfig", "true")
        case "bare in bare":
            git("init", "-q", "--bare", inside)
        case "in .git":
            return dot / "refs"
        case "submodule":
            words = "-c", "protocol.file.allow=always", "submodule", "--quiet", "add"
            git("-C", repo, *words, f"{dot}", "sub")
            return repo / "sub"
        case "gone":
            inside.rmdir()
    return inside


@pytest.mark.parametrize(
    "how",
    [
        "as made", "detached", "through a link", ".git is a link", ".git is a file", "nothing in .git",
        "no objects", "HEAD is no ref", "another work tree", "said to be bare", "bare twice",
        "of a later version", "an extension", "bare in bare", "in .git", "submodule", "gone",
    ],
)  # fmt: skip
def test_a_repository_is_found_as_git_finds_it(repo: Path, git, command: GitCommand, how: str) -> None:
    """What its files tell is what git says, who alone is asked where a search has a ceiling."""
    folder = _odd(repo, git, how)
    asked = GitCommand({**command.environ, "GIT_CEILING_DIRECTORIES": "/nowhere"})

    def told(by: GitCommand) -> Layout | str:
        try:
            return layout(by, folder)
        except RepositoryError as error:
            return error.message

    assert told(command) == told(asked)
    if how in ("as made", "detached", "through a link") and not os.environ.get("GIT_DEFAULT_HASH"):
        assert layout(GitCommand(command.environ, "no-git"), folder).worktree == repo


def test_a_path_with_a_line_break_is_refused_not_misread(tmp_path: Path, git, command: GitCommand) -> None:
    git("init", "-q", tmp_path / "two\nlines")
    with pytest.raises(RepositoryError, match="line break"):
        layout(command, tmp_path / "two\nlines")


def test_a_layout_without_a_repository_is_told(tmp_path: Path, command: GitCommand) -> None:
    with pytest.raises(RepositoryError, match="not a git repository"):
        layout(command, tmp_path)


def test_work_trees_are_listed(tmp_path: Path, repo: Path, git, command: GitCommand) -> None:
    head = git("-C", repo, "rev-parse", "HEAD")
    git("-C", repo, "worktree", "add", "-q", "--detach", tmp_path / "with space")
    git("-C", repo, "worktree", "add", "-q", "-b", "gone", tmp_path / "gone")
    (tmp_path / "gone/.git").unlink()
    found = worktrees(command, repo)
    assert found[0].path == repo
    assert {(w.path, w.head, w.branch, w.prunable) for w in found} == {
        (repo, head, "refs/heads/main", False),
        (tmp_path / "with space", head, None, False),
        (tmp_path / "gone", head, "refs/heads/gone", True),
    }
    git("init", "-q", "--bare", tmp_path / "bare")
    assert [(w.head, w.bare) for w in worktrees(command, None, git_dir=tmp_path / "bare")] == [(None, True)]


@pytest.mark.parametrize("how", [["--index-version", "2"], ["--index-version", "4"], ["--split-index"]])
def test_an_index_of_any_form_hides_no_tracked_file(repo: Path, command, how: list[str]) -> None:
    """Where names are not whole the one before says how one begins; of a split index most is elsewhere."""
    (repo / ".agent").mkdir()
    (repo / ".agent/one.md").write_text("1")
    (repo / ".agents").write_text("2")
    for names in (["README"], ["README", ".agent/one.md", ".agents"]):
        command.run(["read-tree", "--empty"], cwd=repo)
        command.run(["update-index", "--add", *names], cwd=repo)
        command.run(["update-index", *how], cwd=repo)
        listed = command.run(["ls-files", "--", ".agents"], cwd=repo).text
        none = config.lists_none(config.index_file(repo), [".agents"])
        assert not (none and listed)
        assert none or listed or how[-1] != "2", "told without git where names are whole"
