"""Installs, inspects and removes gitmem's git hooks: first a plan that can be printed, then its steps.

Where git runs hooks from its configuration (2.54 and later) they are configured beside everything else.
Before, a script in `<common git dir>/hooks` is made, or a fenced block put into the shell script that is
there, or a hook of another kind kept aside and run by ours. Where `core.hooksPath` names another folder,
that folder belongs to someone else: one line is offered that a person can add there.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Literal

import gitmem
from gitmem.app.file_edits import (
    ConfigEdit,
    Edit,
    FileEdit,
    blocks,
    fenced,
    has_fence,
    make_edits,
    read,
    with_fence,
    without_fence,
)
from gitmem.core.errors import RepositoryError
from gitmem.git.command import Configuration, GitCommand, read_configuration
from gitmem.git.config import config_get
from gitmem.values import dataclass

SHEBANG = b"#!/bin/sh\n"
# In a file that gitmem made, and in one that stands before a hook kept aside: what removal may do with it.
MADE = b"# This file is gitmem's: `git mem uninstall` removes it."
KEPT_MARK = b"# This file is gitmem's: `git mem uninstall` puts the hook that was here back."

EVENTS = {
    "post-commit": "commit",
    "post-merge": "merge",
    "post-checkout": "checkout",
    "post-rewrite": "rewrite",
    "pre-push": "",
}
READ_STDIN = frozenset({"post-rewrite", "pre-push"})
"""Hooks to which git says something on stdin."""

BESIDE_HOOKS = '"${0%/*}/../gitmem"'
INSIDE_STATE = '"${0%/*}/.."'

_PROGRAM = re.compile(rb"\[ -x ((?:'[^'\n]*'|\"'\"|[^\s'\"])+) \]")
# Shells that read the same script the same way; anything else is kept aside instead of edited.
_SH = re.compile(
    rb"#![ \t]*(?:/\S*/)?(?:env[ \t]+)?(?:/\S*/)?(?:sh|bash|dash|ash|ksh|zsh)(?:[ \t]+-[a-z]+)*[ \t]*\n"
)

HOOKS = tuple(EVENTS)
# The first git that runs `hook.<name>.command`.
CONFIG_HOOKS = (2, 54)
KEPT = ".gitmem-kept"
# Where pre-commit keeps the hook that was there before it, and runs it.
LEGACY = ".legacy"
PRE_COMMIT = b"hook-impl"
CALLS = b"/gitmem/hooks/"
"""In every hook of another tool's that calls ours, however it was written there."""

CHAIN = "git mem init --chain"

Standing = Literal["ours", "foreign", "missing", "outdated", "dead"]


@dataclass(frozen=True)
class HookStep:
    """One step of a plan.

    Attributes:
        hook: git's name of the hook.
        what: the step in words.
        edit: what it changes; None where it is for a person to do.
    """

    hook: str
    what: str
    edit: Edit | None = None

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class GitSetup:
    """What of git's version and configuration decides how hooks are installed.

    Attributes:
        version: e.g. `(2, 39)`.
        hooks_path: `core.hooksPath`, absolute; None where unset.
        config: `hook.gitmem-*` entries of the repository's own configuration.
    """

    version: tuple[int, int]
    hooks_path: Path | None = None
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HookState:
    """How one hook stands: `foreign` means that another's is there, and ours is not."""

    hook: str
    standing: Standing


def read_setup(git: GitCommand, worktree: Path, config: Configuration | None = None) -> GitSetup:
    """Asks git for its version and the configuration that matters.

    Args:
        config: the work tree's configuration, where it was read already.

    Raises:
        RepositoryError: git cannot be run, or its configuration not read.
    """
    major, minor = git.run(["version"]).text.split()[2].split(".")[:2]
    config = config or read_configuration(git, worktree)
    hooks_path = next(reversed(config.all("core.hookspath")), None)
    if hooks_path and hooks_path.startswith(("~", "%")):
        hooks_path = config_get(git, worktree, "core.hooksPath", kind="path")
    own = {
        key: value
        for scope, key, value in config.rows
        if scope == "local" and key.startswith("hook.gitmem-")
    }
    folder = (worktree / hooks_path).resolve() if hooks_path else None
    return GitSetup((int(major), int(minor)), folder, own)


def plan_git_hooks(
    common_dir: Path, argv: Sequence[str], setup: GitSetup, *, chain: bool = False
) -> tuple[HookStep, ...]:
    """Plans the installation.

    Args:
        common_dir: the common git directory, absolute.
        argv: the words that start gitmem from anywhere, e.g. `Launcher.argv`.
        setup: from `read_setup`.
        chain: the person wants the hooks of another tool to call ours, though code may track them.

    Returns:
        Steps in order; empty where everything stands as it should.

    Raises:
        RepositoryError: a hook cannot be read, or the words do not start with an absolute path.
    """
    configured = setup.version >= CONFIG_HOOKS
    elsewhere = _belongs_elsewhere(common_dir, setup)
    steps: list[HookStep] = []
    for hook in HOOKS:
        free = common_dir / "gitmem" / "hooks" / hook
        if configured or elsewhere:
            steps += _replace(hook, free, script(hook, argv), "write the script")
        else:
            steps += _delete(hook, free)
        for key, value in _entries(hook, free):
            if configured and setup.config.get(key) != value:
                edit = ConfigEdit(common_dir, key, value)
                steps.append(HookStep(hook, f"configure {hook} ({key})", edit))
        if configured:
            steps += _removal(hook, _place(common_dir, hook)) if not elsewhere else []
        else:
            steps += _remove_config(hook, common_dir, setup)
            if not elsewhere:
                steps += _install(hook, _place(common_dir, hook), argv)
    if elsewhere and not configured:
        theirs = _theirs(common_dir, setup)
        missing = [hook for hook in HOOKS if CALLS not in (read(theirs / hook) or b"")]
        if chain:
            steps += [step for hook in missing for step in _call(hook, theirs / hook)]
        elif missing:
            what = f"{theirs} has the hooks, and does not call gitmem for {', '.join(missing)}: {CHAIN}"
            steps.append(HookStep(",".join(missing), what))
    return tuple(steps)


def _theirs(common_dir: Path, setup: GitSetup) -> Path:
    """The folder in which people write their hooks, where it is not git's own."""
    folder = setup.hooks_path or common_dir / "hooks"
    # Husky makes the files in `_` anew; people write theirs beside it.
    return folder.parent if folder.name == "_" else folder


def _place(common_dir: Path, hook: str) -> Path:
    """The file that holds our block: the hook, or what pre-commit put aside when it came, and runs."""
    path = common_dir / "hooks" / hook
    aside, front = path.with_name(hook + LEGACY), read(path) or b""
    if PRE_COMMIT in front and not has_fence(front) and has_fence(read(aside) or b""):
        return aside
    return path


def _call(hook: str, path: Path) -> list[HookStep]:
    """Has another tool's hook call ours before all else that it does."""
    before = read(path)
    if before is None and os.path.lexists(path):
        return [HookStep(hook, f"{path} is no regular file: have it call gitmem")]
    if before is not None and before.startswith(b"#!") and not is_sh(before):
        what = f"{path} is no shell script: have it run .git/gitmem/hooks/{hook}"
        return [HookStep(hook, what)]
    text = SHEBANG if before is None else before
    at = text.index(b"\n") + 1 if text.startswith(b"#!") else 0
    mode = 0o755 if before is None else stat.S_IMODE(path.stat().st_mode)
    data = text[:at] + call(hook, made=before is None) + text[at:]
    return [HookStep(hook, f"call gitmem in {path}", FileEdit(path, before, data, mode))]


def plan_removal(common_dir: Path, setup: GitSetup) -> tuple[HookStep, ...]:
    """Plans taking out what gitmem installed and nothing else; what it chained or kept is as before."""
    steps: list[HookStep] = []
    for hook in HOOKS:
        steps += _remove_config(hook, common_dir, setup)
        steps += _delete(hook, common_dir / "gitmem" / "hooks" / hook)
        if not (common_dir / "hooks").is_symlink():
            steps += _removal(hook, _place(common_dir, hook))
        if _belongs_elsewhere(common_dir, setup):
            steps += _removal(hook, _theirs(common_dir, setup) / hook)
    return tuple(steps)


def inspect_git_hooks(common_dir: Path, argv: Sequence[str], setup: GitSetup) -> tuple[HookState, ...]:
    """Tells how each hook stands, as `doctor` shows it."""
    configured = setup.version >= CONFIG_HOOKS
    elsewhere = _belongs_elsewhere(common_dir, setup)
    planned = {step.hook for step in plan_git_hooks(common_dir, argv, setup)}
    states: list[HookState] = []
    for hook in HOOKS:
        standing: Standing = "ours"
        path = _place(common_dir, hook)
        if configured:
            path = common_dir / "gitmem" / "hooks" / hook
            present = any(key in setup.config for key, _ in _entries(hook, path))
        elif elsewhere:
            path = _theirs(common_dir, setup) / hook
            present = CALLS in (read(path) or b"")
        else:
            present = has_fence(read(path) or b"")
        if not present:
            standing = "foreign" if os.path.lexists(path) else "missing"
        elif (started := program(read(path) or b"")) and not started.exists():
            standing = "dead"
        elif hook in planned:
            standing = "outdated"
        states.append(HookState(hook, standing))
    return tuple(states)


def apply(steps: Sequence[HookStep], git: GitCommand) -> None:
    """Carries a plan out; errors as of `make_edits`."""
    make_edits([step.edit for step in steps if step.edit], git)


def _install(hook: str, path: Path, argv: Sequence[str]) -> list[HookStep]:
    kept = path.with_name(hook + KEPT)
    data = read(path)
    if not os.path.lexists(path):
        aside = os.path.lexists(kept)  # left by a process that died between the two steps below
        return _replace(hook, path, SHEBANG + fence(hook, argv, aside, not aside), "make the hook")
    state = path.lstat()
    if data is not None and has_fence(data):
        marks = blocks(data)
        if not marks:
            what = f"{path} holds half a gitmem block: take its mark lines out by hand"
            return [HookStep(hook, what)]
        kept_aside, made = KEPT_MARK in marks[0], MADE in marks[0]
        block = fence(hook, argv, kept=kept_aside, made=made)
        mode = state.st_mode | (0o111 if kept_aside or made else 0)
        return _replace(hook, path, with_fence(data, block), "renew the block in", mode)
    if data is not None and state.st_mode & stat.S_IXUSR and is_sh(data):
        text = with_fence(data, fence(hook, argv))
        return _replace(hook, path, text, "chain with the hook in", state.st_mode)
    if os.path.lexists(kept):
        what = f"{path} replaced gitmem's hook, and {kept.name} holds an older one: remove one of them"
        return [HookStep(hook, what)]
    text = SHEBANG + fence(hook, argv, kept=True)
    front = FileEdit(path, data, text, 0o755)
    what = f"keep the hook in {path} aside as {kept.name}"
    return [
        HookStep(hook, what, FileEdit(path, data, to=kept)),
        HookStep(hook, f"make a hook in {path} that runs {kept.name} too", front),
    ]


def _removal(hook: str, path: Path) -> list[HookStep]:
    data = read(path)
    kept = path.with_name(hook + KEPT)
    back = HookStep(hook, f"put the hook that was in {path} back", FileEdit(kept, read(kept), to=path))
    if not os.path.lexists(path) and os.path.lexists(kept):
        return [back]  # a process died behind the first of two steps, here or as it was kept
    marks = blocks(data or b"")
    if data is None or not marks:
        return []
    rest = without_fence(data)
    if KEPT_MARK in marks[0] and rest == SHEBANG and os.path.lexists(kept):
        return [*_delete(hook, path), back]
    if rest == SHEBANG and (MADE in marks[0] or KEPT_MARK in marks[0]):
        return _delete(hook, path)
    return _replace(hook, path, rest, "take gitmem's block out of", path.lstat().st_mode)


def _remove_config(hook: str, common_dir: Path, setup: GitSetup) -> list[HookStep]:
    return [
        HookStep(hook, f"remove {key} from git's configuration", ConfigEdit(common_dir, key))
        for key, _ in _entries(hook, common_dir)
        if key in setup.config
    ]


def _entries(hook: str, path: Path) -> tuple[tuple[str, str], ...]:
    name = f"hook.gitmem-{hook}"
    return (f"{name}.command", shlex.quote(str(path))), (f"{name}.event", hook)


def _replace(hook: str, path: Path, data: bytes, what: str, mode: int = 0o755) -> list[HookStep]:
    before = read(path)
    if before == data and stat.S_IMODE(path.lstat().st_mode) == stat.S_IMODE(mode):
        return []
    return [HookStep(hook, f"{what} {path}", FileEdit(path, before, data, stat.S_IMODE(mode)))]


def _delete(hook: str, path: Path) -> list[HookStep]:
    before = read(path)
    return [HookStep(hook, f"delete {path}", FileEdit(path, before, None))] if before is not None else []


def _belongs_elsewhere(common_dir: Path, setup: GitSetup) -> bool:
    hooks = common_dir / "hooks"
    if setup.hooks_path is not None:
        return setup.hooks_path != hooks.resolve() or hooks.is_symlink()
    return hooks.is_symlink()


def hooks_folder() -> Path:
    """The folder of shipped scripts: inside an installed package, beside it in a checkout."""
    package = Path(gitmem.__file__).parent
    inside = package / "_hooks"
    return inside if inside.is_dir() else package.parent / "hooks"


def fence(hook: str, argv: Sequence[str], kept: bool = False, made: bool = False) -> bytes:
    """Renders the block that stands in `<common git dir>/hooks/<hook>`.

    Args:
        hook: git's name of the hook.
        argv: the words that start gitmem; the first is an absolute path.
        kept: the hook that was there before stands aside and is run at the end.
        made: nothing was there before.
    """
    lines = [KEPT_MARK if kept else MADE if made else b"", _body(hook, argv, BESIDE_HOOKS)]
    if kept:
        lines.append(template("git-kept.sh").replace("@HOOK@", hook).encode().rstrip(b"\n"))
    return fenced(*filter(None, lines))


def script(hook: str, argv: Sequence[str]) -> bytes:
    """Renders the free-standing script in `<common git dir>/gitmem/hooks/<hook>`, for git's own hook
    configuration and for a line in another tool's hook."""
    return SHEBANG + _body(hook, argv, INSIDE_STATE) + b"\n"


def call(hook: str, made: bool = False) -> bytes:
    """Renders the block that stands in another tool's hook of this name: it names no path of this machine,
    since such hooks are often tracked, and does nothing in a clone without gitmem.

    Args:
        made: nothing was there before.
    """
    text = template("git-call-stdin.sh" if hook in READ_STDIN else "git-call.sh").replace("@HOOK@", hook)
    return fenced(*([MADE] if made else []), text.encode().rstrip(b"\n"))


def program(data: bytes) -> Path | None:
    """The program that a script or block of ours starts; None where it names none, as for pushes."""
    found = _PROGRAM.search(data)
    words = shlex.split(found[1].decode(errors="surrogateescape")) if found else []
    return Path(words[0]) if len(words) == 1 else None


def is_sh(data: bytes) -> bool:
    """Whether a hook is a shell script that a block can be put into."""
    return _SH.match(data) is not None and b"\0" not in data and b"\r" not in data[: data.index(b"\n") + 1]


def _body(hook: str, argv: Sequence[str], state: str) -> bytes:
    if not argv or not Path(argv[0]).is_absolute():
        raise RepositoryError(
            f"a git hook cannot start gitmem as {shlex.join(argv)!r}: it needs an absolute path",
            "Run `git mem init` with the gitmem of an installed environment.",
        )
    names = ["git-pre-push.sh"] if hook == "pre-push" else ["git-post.sh"]
    if hook == "post-rewrite":
        names.insert(0, "git-rewrite-stdin.sh")
    text = "".join(template(name) for name in names)
    filled = {
        "@STATE@": state,
        "@EVENT@": EVENTS[hook],
        "@PROGRAM@": shlex.quote(argv[0]),
        "@COMMAND@": shlex.join(argv),
    }
    return (
        re.sub("@[A-Z]+@", lambda found: filled[found.group()], text)
        .encode(errors="surrogateescape")
        .rstrip(b"\n")
    )


@cache
def template(name: str) -> str:
    """The text of a shipped script.

    Raises:
        RepositoryError: it is not there.
    """
    path = hooks_folder() / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RepositoryError(
            f"{path}: a script that gitmem installs is missing ({error.strerror})", "Install gitmem again."
        ) from error
