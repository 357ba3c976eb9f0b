"""Merges gitmem's hooks into Claude Code's settings of one worktree, and takes exactly them out again.

The file is `.claude/settings.local.json`: the person's own, for this project. A record in
`<common git dir>/gitmem/claude-hooks.json` remembers the bytes that were there before, so that leaving
gives them back as they were where nobody has changed the file since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand
from gitmem.ledger.files import read_theirs, replace_file
from gitmem.search.action import FILE_TOOLS, SHELL_TOOLS
from gitmem.values import dataclass

# Event to seconds. The client stops SessionEnd hooks after 1.5 s whatever they ask for.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "Stop": 10,
    "SubagentStop": 10,
    "SessionEnd": 5,
    "PreCompact": 10,
    "PreToolUse": 5,
    "PostToolUseFailure": 5,
}
MATCHERS = {
    "PreToolUse": "|".join((*FILE_TOOLS, *SHELL_TOOLS)),
    "PostToolUseFailure": "|".join(SHELL_TOOLS),
}
"""Tools of which an event is to tell, where not all: no other call waits for gitmem."""

SETTINGS = ".claude/settings.local.json"
EXCLUDE = f"/{SETTINGS}"
LARGEST = 4 * 1024 * 1024

FAIL_OPEN = ("||", "true")
"""Ends every command. The client shows the person what a failed SessionEnd hook printed, and takes exit
code 2, as of a gitmem that does not know the hook, for a refusal of the prompt."""


@dataclass(frozen=True)
class SettingsPlan:
    """What will be done to one worktree's settings.

    Attributes:
        path: the settings file.
        before: its bytes; None where there is none.
        after: what to write; None deletes the file. Equal to `before` where nothing is to do.
        exclude: the line to put into (install) or take out of (remove) `.git/info/exclude`; may be empty.
        by_hand: what a person has to do instead; empty where gitmem does it.
        common_dir: the common git directory, whose `gitmem/` holds the record.
        pristine: whether `before` holds no hook of gitmem.
        removal: whether this takes gitmem's hooks out.
        drop_folder: whether `.claude` goes too if it is empty then.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    common_dir: Path
    exclude: str = ""
    by_hand: str = ""
    pristine: bool = True
    removal: bool = False
    drop_folder: bool = False

    @property
    def changes(self) -> bool:
        """Whether carrying it out would change anything."""
        return not self.by_hand and (self.before != self.after or bool(self.exclude))

    def __str__(self) -> str:
        if self.by_hand:
            return self.by_hand
        if not self.changes:
            return f"{self.path} stays as it is"
        if self.removal:
            return (
                f"delete {self.path}" if self.after is None else f"take gitmem's hooks out of {self.path}"
            )
        return f"{'make' if self.before is None else 'add hooks to'} {self.path}"


def plan_claude_hooks(
    worktree: Path, common_dir: Path, argv: Sequence[str], git: GitCommand
) -> SettingsPlan:
    """Plans adding the hooks.

    Args:
        worktree: top of the worktree, absolute.
        common_dir: its common git directory.
        argv: the words that start gitmem from anywhere.
        git: tells whether the file is tracked.

    Raises:
        RepositoryError: the file, or a folder on its way, is a link, or it is not JSON as it should be.
    """
    path = worktree / SETTINGS
    before = _read(worktree)
    tracked = git.run(["ls-files", "--error-unmatch", "--", SETTINGS], cwd=worktree, check=False)
    if not tracked.returncode:
        text = (
            f"{path} is tracked by the code, so gitmem leaves it alone; untrack it first (git rm --cached)"
        )
        return SettingsPlan(path, before, before, common_dir, by_hand=text)
    settings = _parse(path, before)
    pristine = not _strip(_parse(path, before), argv, keep=False)
    _strip(settings, argv, keep=True)
    hooks = settings.setdefault("hooks", {})
    for event, seconds in EVENTS.items():
        wanted = {"type": "command", "command": command(argv, event), "timeout": seconds}
        if not _has(hooks, event, argv):
            matcher = {"matcher": MATCHERS[event]} if event in MATCHERS else {}
            hooks.setdefault(event, []).append({**matcher, "hooks": [wanted]})
    same = before is not None and settings == _parse(path, before)
    after = before if same else _dump(settings, before)
    excluded = EXCLUDE in _lines(common_dir / "info" / "exclude")
    exclude = "" if excluded else EXCLUDE
    return SettingsPlan(path, before, after, common_dir, exclude, pristine=pristine)


def plan_claude_removal(worktree: Path, common_dir: Path, argv: Sequence[str]) -> SettingsPlan:
    """Plans taking gitmem's hooks out, whichever gitmem put them in.

    Raises:
        RepositoryError: as `plan_claude_hooks`.
    """
    path = worktree / SETTINGS
    before = _read(worktree)
    record = _record(common_dir).get(str(worktree), {})
    after = before
    if before is not None:
        settings = _parse(path, before)
        if _strip(settings, argv, keep=False):
            after = _dump(settings, before)
        if not settings and record.get("created"):
            after = None
        text = record.get("before")
        if isinstance(text, str) and record.get("after") == _digest(before):
            after = text.encode("utf-8", "surrogateescape")
    exclude = EXCLUDE if record.get("excluded") and len(_record(common_dir)) == 1 else ""
    drop = bool(record.get("folder")) and after is None
    return SettingsPlan(path, before, after, common_dir, exclude, removal=True, drop_folder=drop)


def apply_settings(plan: SettingsPlan) -> None:
    """Carries a plan out.

    Raises:
        RepositoryError: the file changed meanwhile, or cannot be written.
    """
    if not plan.changes and not plan.removal:
        return
    worktree = plan.path.parent.parent
    if plan.by_hand:
        return
    if _read(worktree) != plan.before:
        raise RepositoryError(f"{plan.path} changed meanwhile", "Run the command again.")
    had_folder = plan.path.parent.is_dir()
    try:
        if plan.after is None:
            plan.path.unlink(missing_ok=True)
            if plan.drop_folder:
                with suppress(OSError):
                    plan.path.parent.rmdir()
        elif plan.after != plan.before:
            if plan.path.parent.is_file():
                raise RepositoryError(f"{plan.path.parent} is no folder", "Move that file away.")
            plan.path.parent.mkdir(exist_ok=True)
            mode = stat.S_IMODE(plan.path.stat().st_mode) if plan.before is not None else 0o600
            replace_file(plan.path, plan.after, mode)
        _exclude(plan)
        _remember(plan, str(worktree), had_folder)
    except OSError as error:
        raise RepositoryError(
            f"{plan.path}: {error.strerror or error}", "Make it writable, then run the command again."
        ) from error


def has_hooks(common_dir: Path) -> bool:
    """Whether hooks were added in a work tree of this repository."""
    return bool(_record(common_dir))


def command(argv: Sequence[str], event: str) -> str:
    """The shell command of one hook, which never fails. One string, since older clients know no `args`."""
    return f"{shlex.join([*argv, 'hook', 'claude', event])} {' '.join(FAIL_OPEN)}"


def installed(worktree: Path, argv: Sequence[str]) -> bool:
    """Whether all hooks are there as this installation would put them.

    Raises:
        RepositoryError: as `plan_claude_hooks`.
    """
    hooks = _parse(worktree / SETTINGS, _read(worktree)).get("hooks", {})
    return all(_has(hooks, event, argv) for event in EVENTS)


def carries(worktree: Path) -> bool:
    """Whether a session in a work tree gives its prompts to gitmem, and so can be told something by it."""
    event = "UserPromptSubmit"
    try:
        hooks = _parse(worktree / SETTINGS, _read(worktree)).get("hooks", {})
    except RepositoryError:
        return False
    return any(
        _is_ours(entry, event, ())
        for group in hooks.get(event, [])
        if _is_group(group)
        for entry in group["hooks"]
    )


def _has(hooks: dict[str, Any], event: str, argv: Sequence[str]) -> bool:
    return any(
        isinstance(entry, dict) and entry.get("command") == command(argv, event)
        for group in hooks.get(event, [])
        if _is_group(group)
        for entry in group["hooks"]
    )


def _strip(settings: dict[str, Any], argv: Sequence[str], keep: bool) -> bool:
    """Takes our entries out; with `keep` those of this very installation stay. Tells whether any went."""
    hooks = settings.get("hooks", {})
    changed = False
    for event in [event for event in hooks if event in EVENTS]:
        groups = hooks[event]
        for group in [group for group in groups if _is_group(group)]:
            entries = group["hooks"]
            left = [
                entry
                for entry in entries
                if not _is_ours(entry, event, argv) or (keep and entry["command"] == command(argv, event))
            ]
            if left != entries:
                changed = True
                group["hooks"] = left
                if not left and {**group, "hooks": []} in ({"hooks": []}, _empty(event)):
                    groups.remove(group)
                if not groups:
                    del hooks[event]
    if changed and not hooks:
        del settings["hooks"]
    return changed


def _empty(event: str) -> dict[str, Any]:
    """What is left of a group of ours without its hook."""
    return {"matcher": MATCHERS.get(event), "hooks": []}


def _is_ours(entry: Any, event: str, argv: Sequence[str]) -> bool:
    text = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(text, str):
        return False
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    if words[-2:] == [*FAIL_OPEN]:
        del words[-2:]
    if words[-3:] != ["hook", "claude", event]:
        return False
    head = words[:-3]
    return head == list(argv) or any("gitmem" in Path(word).name for word in head)


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and isinstance(group.get("hooks"), list)


def _parse(path: Path, data: bytes | None) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a key stands twice")
        return dict(pairs)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    if data is None or not data.strip():
        return {}
    try:
        settings = json.loads(data.decode("utf-8-sig"), object_pairs_hook=once, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise RepositoryError(
            f"{path}: not valid JSON, so gitmem leaves it alone ({error})", "Mend the file, then run again."
        ) from error
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(
        isinstance(groups, list) for event, groups in hooks.items() if event in EVENTS
    ):
        raise RepositoryError(
            f"{path}: not the settings of Claude Code, so gitmem leaves it alone",
            "`hooks` has to be an object whose events are lists.",
        )
    return dict(settings)


def _dump(settings: dict[str, Any], like: bytes | None) -> bytes:
    text = (like or b"").decode("utf-8-sig", "replace")
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    indent: str | int = found.group(1) if found else 2
    dumped = json.dumps(settings, indent=indent, ensure_ascii=False)
    if text.endswith("\n") or not text:
        dumped += "\n"
    if "\r\n" in text:
        dumped = dumped.replace("\n", "\r\n")
    try:
        data = dumped.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate, which JSON can escape and UTF-8 cannot hold.
        data = json.dumps(settings, indent=indent).encode() + b"\n"
    return b"\xef\xbb\xbf" + data if (like or b"").startswith(b"\xef\xbb\xbf") else data


def _read(worktree: Path) -> bytes | None:
    for path in (worktree / ".claude", worktree / SETTINGS):
        if path.is_symlink():
            raise RepositoryError(
                f"{path} is a link, and gitmem writes settings through none",
                "Replace it by what it points at.",
            )
    path = worktree / SETTINGS
    found = read_theirs(path, LARGEST)
    if found is None and os.path.lexists(path):
        raise RepositoryError(f"{path} is no regular file", "Move it away, then run again.")
    if found and len(found) > LARGEST:
        raise RepositoryError(f"{path}: over {LARGEST} bytes", "Make it smaller, then run again.")
    return found


def _exclude(plan: SettingsPlan) -> None:
    path = plan.common_dir / "info" / "exclude"
    if not plan.exclude or path.is_symlink():
        return
    text = path.read_bytes() if path.exists() else b""
    line = plan.exclude.encode()
    if plan.removal:
        kept = [row for row in text.splitlines(keepends=True) if row.rstrip(b"\r\n") != line]
        replace_file(path, b"".join(kept), 0o644)
    else:
        path.parent.mkdir(exist_ok=True)
        gap = b"" if not text or text.endswith(b"\n") else b"\n"
        replace_file(path, text + gap + line + b"\n", 0o644)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _record(common_dir: Path) -> dict[str, dict[str, Any]]:
    try:
        record = json.loads((common_dir / "gitmem" / "claude-hooks.json").read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(record, dict):
        return {}
    return {key: value for key, value in record.items() if isinstance(value, dict)}


def _remember(plan: SettingsPlan, worktree: str, had_folder: bool) -> None:
    path = plan.common_dir / "gitmem" / "claude-hooks.json"
    record = _record(plan.common_dir)
    known = record.pop(worktree, {})
    if not plan.removal:
        if not known or known.get("after") != _digest(plan.before or b""):
            created = plan.before is None or bool(known.get("created"))
            text = None
            if plan.before is not None and plan.pristine:
                text = plan.before.decode("utf-8", "surrogateescape")
            folder = not had_folder or bool(known.get("folder"))
            known = {**known, "created": created, "folder": folder, "before": text}
        known["after"] = _digest(plan.after or b"")
        known["excluded"] = bool(plan.exclude) or bool(known.get("excluded"))
        record[worktree] = known
    elif known.get("excluded") and not plan.exclude:
        # Another worktree still needs the line; whoever leaves last takes it out.
        for other in list(record.values())[:1]:
            other["excluded"] = True
    if record:
        path.parent.mkdir(exist_ok=True)
        replace_file(path, json.dumps(record, indent=2).encode(), 0o600)
    else:
        path.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
