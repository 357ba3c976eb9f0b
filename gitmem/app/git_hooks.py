"""Installs, inspects and removes gitmem's git hooks: first a plan that can be printed, then its steps.

Where git runs hooks from its configuration (2.54 and later) they are configured beside everything else.
Before, a script in `<common git dir>/hooks` is made, or a fenced block put into the shell script that is
there, or a hook of another kind kept aside and run by ours. Where `core.hooksPath` names another folder,
that folder belongs to someone else: one line is offered that a person can add there.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from gitmem.app import hook_scripts as scripts
from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand, config_get
from gitmem.git.config import config_set, config_unset
from gitmem.ledger.files import read_theirs, replace_file
from gitmem.values import dataclass

HOOKS = tuple(scripts.EVENTS)
# The first git that runs `hook.<name>.command`.
CONFIG_HOOKS = (2, 54)
BY_HAND = 'h=$(git rev-parse --git-common-dir)/gitmem/hooks/${0##*/}; [ ! -x "$h" ] || "$h" "$@" || exit'
KEPT = ".gitmem-kept"
LARGEST = 1024 * 1024

Kind = Literal["write", "delete", "rename", "configure", "unconfigure", "by-hand"]
Standing = Literal["ours", "foreign", "missing", "outdated", "dead"]


@dataclass(frozen=True)
class HookAction:
    """One step of a plan.

    Attributes:
        kind: what to do; `by-hand` is for a person and changes nothing.
        hook: git's name of the hook.
        what: the step in words.
        path: the file it is about; for configuration the file that git keeps it in.
        data, mode: what to write, and its permission bits.
        expected: bytes that the plan saw there; None where there was nothing, or it was not read.
        to: new name, of a rename.
        key, value: of a configuration entry.
    """

    kind: Kind
    hook: str
    what: str
    path: Path
    data: bytes = b""
    mode: int = 0o755
    expected: bytes | None = None
    to: Path | None = None
    key: str = ""
    value: str = ""

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
    path: Path


def read_setup(git: GitCommand, worktree: Path, common_dir: Path) -> GitSetup:
    """Asks git for its version and the configuration that matters.

    Raises:
        RepositoryError: git cannot be run, or its configuration not read.
    """
    major, minor = git.run(["version"]).text.split()[2].split(".")[:2]
    hooks_path = config_get(git, worktree, "core.hooksPath", kind="path")
    words = ["config", "--local", "-z", "--get-regexp", r"^hook\.gitmem-"]
    listed = git.run(words, git_dir=common_dir, check=False).text
    config = {
        key: value for key, _, value in (entry.partition("\n") for entry in listed.split("\0")) if key
    }
    folder = (worktree / hooks_path).resolve() if hooks_path else None
    return GitSetup((int(major), int(minor)), folder, config)


def plan_git_hooks(common_dir: Path, argv: Sequence[str], setup: GitSetup) -> tuple[HookAction, ...]:
    """Plans the installation.

    Args:
        common_dir: the common git directory, absolute.
        argv: the words that start gitmem from anywhere, e.g. `place.default_argv()`.
        setup: from `read_setup`.

    Returns:
        Steps in order; empty where everything stands as it should.

    Raises:
        RepositoryError: a hook cannot be read, or the words do not start with an absolute path.
    """
    configured = setup.version >= CONFIG_HOOKS
    elsewhere = _belongs_elsewhere(common_dir, setup)
    steps: list[HookAction] = []
    for hook in HOOKS:
        free = common_dir / "gitmem" / "hooks" / hook
        if configured or elsewhere:
            steps += _replace(hook, free, scripts.script(hook, argv), "write the script")
        else:
            steps += _delete(hook, free)
        for key, value in _entries(hook, free):
            if configured and setup.config.get(key) != value:
                what = f"configure {hook} ({key})"
                steps.append(
                    HookAction("configure", hook, what, common_dir / "config", key=key, value=value)
                )
        if configured:
            steps += _removal(hook, common_dir / "hooks" / hook) if not elsewhere else []
        else:
            steps += _remove_config(hook, common_dir, setup)
            if not elsewhere:
                steps += _install(hook, common_dir / "hooks" / hook, argv)
    if elsewhere and not configured:
        steps += _by_hand(setup.hooks_path or common_dir / "hooks")
    return tuple(steps)


def _by_hand(folder: Path) -> list[HookAction]:
    """The one line to add where the hooks are somebody else's; hooks that have it are left out."""
    # Husky makes the files in `_` anew; people write theirs beside it.
    theirs = folder.parent if folder.name == "_" else folder
    missing = [hook for hook in HOOKS if b"/gitmem/hooks/" not in (_read(theirs / hook) or b"")]
    if not missing:
        return []
    what = f"the hooks belong to {theirs}: add this line to {', '.join(missing)} there: {BY_HAND}"
    return [HookAction("by-hand", ",".join(missing), what, theirs, BY_HAND.encode())]


def plan_removal(common_dir: Path, setup: GitSetup) -> tuple[HookAction, ...]:
    """Plans taking out what gitmem installed and nothing else; what it chained or kept is as before."""
    steps: list[HookAction] = []
    for hook in HOOKS:
        steps += _remove_config(hook, common_dir, setup)
        steps += _delete(hook, common_dir / "gitmem" / "hooks" / hook)
        if not (common_dir / "hooks").is_symlink():
            steps += _removal(hook, common_dir / "hooks" / hook)
    return tuple(steps)


def inspect_git_hooks(common_dir: Path, argv: Sequence[str], setup: GitSetup) -> tuple[HookState, ...]:
    """Tells how each hook stands, as `doctor` shows it."""
    configured = setup.version >= CONFIG_HOOKS
    elsewhere = _belongs_elsewhere(common_dir, setup)
    planned = {step.hook for step in plan_git_hooks(common_dir, argv, setup)}
    states: list[HookState] = []
    for hook in HOOKS:
        standing: Standing = "ours"
        path = common_dir / "hooks" / hook
        if configured:
            path = common_dir / "gitmem" / "hooks" / hook
            present = any(key in setup.config for key, _ in _entries(hook, path))
        elif elsewhere:
            path = (setup.hooks_path or common_dir / "hooks") / hook
            present = b"/gitmem/hooks/" in (_read(path) or b"")
        else:
            present = scripts.has_fence(_read(path) or b"")
        if not present:
            standing = "foreign" if os.path.lexists(path) else "missing"
        elif (started := scripts.program(_read(path) or b"")) and not started.exists():
            standing = "dead"
        elif hook in planned:
            standing = "outdated"
        states.append(HookState(hook, standing, path))
    return tuple(states)


def apply(actions: Sequence[HookAction], git: GitCommand) -> None:
    """Carries a plan out.

    Raises:
        RepositoryError: a file is no longer as the plan saw it, or cannot be written. Nothing was changed
            in the first case; in the second earlier steps stand, and planning again goes on from there.
    """
    touched: set[Path | None] = set()
    for action in actions:
        if action.kind not in ("write", "delete", "rename"):
            continue
        if action.path not in touched and _read(action.path) != action.expected:
            raise RepositoryError(f"{action.path} changed meanwhile", "Run the command again.")
        touched |= {action.path, action.to}
    for action in actions:
        try:
            _carry_out(action, git)
        except OSError as error:
            raise RepositoryError(
                f"{action.path}: {error.strerror or error}", "Make it writable, then run the command again."
            ) from error


def _carry_out(action: HookAction, git: GitCommand) -> None:
    if action.kind == "write":
        action.path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(action.path, action.data, action.mode)
    elif action.kind == "delete":
        action.path.unlink(missing_ok=True)
    elif action.kind == "rename" and action.to is not None:
        action.path.rename(action.to)
    elif action.kind == "configure":
        config_set(git, None, action.key, action.value, git_dir=action.path.parent)
    elif action.kind == "unconfigure":
        config_unset(git, None, action.key, git_dir=action.path.parent)


def _install(hook: str, path: Path, argv: Sequence[str]) -> list[HookAction]:
    kept = path.with_name(hook + KEPT)
    data = _read(path)
    if not os.path.lexists(path):
        return _replace(hook, path, scripts.SHEBANG + scripts.fence(hook, argv, made=True), "make the hook")
    state = path.lstat()
    if data is not None and scripts.has_fence(data):
        marks = scripts.blocks(data)
        if not marks:
            what = f"{path} holds half a gitmem block: take its mark lines out by hand"
            return [HookAction("by-hand", hook, what, path)]
        kept_aside, made = scripts.KEPT in marks[0], scripts.MADE in marks[0]
        block = scripts.fence(hook, argv, kept=kept_aside, made=made)
        mode = state.st_mode | (0o111 if kept_aside or made else 0)
        return _replace(hook, path, scripts.with_fence(data, block), "renew the block in", mode)
    if data is not None and state.st_mode & stat.S_IXUSR and scripts.is_sh(data):
        text = scripts.with_fence(data, scripts.fence(hook, argv))
        return _replace(hook, path, text, "chain with the hook in", state.st_mode)
    if os.path.lexists(kept):
        what = f"{path} replaced gitmem's hook, and {kept.name} holds an older one: remove one of them"
        return [HookAction("by-hand", hook, what, path)]
    text = scripts.SHEBANG + scripts.fence(hook, argv, kept=True)
    what = f"keep the hook in {path} aside as {kept.name}"
    return [
        HookAction("rename", hook, what, path, expected=data, to=kept),
        HookAction("write", hook, f"make a hook in {path} that runs {kept.name} too", path, text),
    ]


def _removal(hook: str, path: Path) -> list[HookAction]:
    data = _read(path)
    marks = scripts.blocks(data or b"")
    if data is None or not marks:
        return []
    rest = scripts.without_fence(data)
    kept = path.with_name(hook + KEPT)
    if scripts.KEPT in marks[0] and rest == scripts.SHEBANG and os.path.lexists(kept):
        what = f"put the hook that was in {path} back"
        return [*_delete(hook, path), HookAction("rename", hook, what, kept, expected=_read(kept), to=path)]
    if rest == scripts.SHEBANG and (scripts.MADE in marks[0] or scripts.KEPT in marks[0]):
        return _delete(hook, path)
    return _replace(hook, path, rest, "take gitmem's block out of", path.lstat().st_mode)


def _remove_config(hook: str, common_dir: Path, setup: GitSetup) -> list[HookAction]:
    return [
        HookAction(
            "unconfigure", hook, f"remove {key} from git's configuration", common_dir / "config", key=key
        )
        for key, _ in _entries(hook, common_dir)
        if key in setup.config
    ]


def _entries(hook: str, path: Path) -> tuple[tuple[str, str], ...]:
    name = f"hook.gitmem-{hook}"
    return (f"{name}.command", shlex.quote(str(path))), (f"{name}.event", hook)


def _replace(hook: str, path: Path, data: bytes, what: str, mode: int = 0o755) -> list[HookAction]:
    before = _read(path)
    if before == data and stat.S_IMODE(path.lstat().st_mode) == stat.S_IMODE(mode):
        return []
    return [HookAction("write", hook, f"{what} {path}", path, data, stat.S_IMODE(mode), expected=before)]


def _delete(hook: str, path: Path) -> list[HookAction]:
    before = _read(path)
    return (
        [HookAction("delete", hook, f"delete {path}", path, expected=before)] if before is not None else []
    )


def _belongs_elsewhere(common_dir: Path, setup: GitSetup) -> bool:
    hooks = common_dir / "hooks"
    if setup.hooks_path is not None:
        return setup.hooks_path != hooks.resolve() or hooks.is_symlink()
    return hooks.is_symlink()


def _read(path: Path) -> bytes | None:
    """A hook's bytes; None where there is none, or none that a block could be put into."""
    found = read_theirs(path, LARGEST)
    return found if found is not None and len(found) <= LARGEST else None
