"""Puts gitmem's hooks into a client's hook file as the table of clients says, and takes exactly them out.

The file is a work tree's where that is the person's own (`.claude/settings.local.json`,
`.codex/hooks.json`, …), else, where they name the client, the one in their home. A record,
`client-hooks.json`, remembers the bytes that were there before, so that leaving gives them back as they
were where nobody has changed the file since.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.app.clients import CLAUDE, CLIENTS, Client
from gitmem.app.file_edits import LARGEST, FileEdit, add_text, make_edits, take_out
from gitmem.app.git_hooks import hooks_folder
from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand
from gitmem.ledger.files import read_theirs, replace_file
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

RECORD = "client-hooks.json"

FAIL_OPEN = ("||", "true")
"""Ends every command. A client shows the person what a failed hook printed, and some take exit code 2, as
of a gitmem that does not know the hook, for a refusal of the prompt."""

PLUGINS = {"opencode": "opencode-plugin.js"}
_OURS = b"// This file is gitmem's"


@dataclass(frozen=True)
class HookFile:
    """A hook file, and what of it is remembered where.

    Attributes:
        anchor: folder below which nothing on the way may be a link: a work tree, or the client's own.
        state: folder of the record.
        exclude: `.git/info/exclude`; None for a file outside any work tree.
        user: the repository that needs it, of a file that serves several; empty for a work tree's.
    """

    client: Client
    path: Path
    anchor: Path
    state: Path
    exclude: Path | None = None
    user: str = ""

    @property
    def line(self) -> str:
        """The line of `.git/info/exclude` that hides it."""
        return f"/{self.client.file}" if self.exclude else ""


@dataclass(frozen=True)
class HookPlan:
    """What will be done to one hook file.

    Attributes:
        before: its bytes; None where there is none.
        after: what to write; None deletes the file. Equal to `before` where nothing is to do.
        exclude: the line to put into (install) or take out of (remove) `.git/info/exclude`; may be empty.
        by_hand: what a person has to do instead; empty where gitmem does it.
        pristine: whether `before` holds no hook of gitmem.
        removal: whether this takes gitmem's hooks out.
        folders: how many of the folders above it go too if they are empty then.
        joins: whether a file that others use already is noted to be used here, too.
    """

    place: HookFile
    before: bytes | None
    after: bytes | None
    exclude: str = ""
    by_hand: str = ""
    pristine: bool = True
    removal: bool = False
    folders: int = 0
    joins: bool = False

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def changes(self) -> bool:
        """Whether carrying it out would change anything."""
        return not self.by_hand and (self.before != self.after or bool(self.exclude) or self.joins)

    def __str__(self) -> str:
        if self.by_hand:
            return self.by_hand
        if not self.changes:
            return f"{self.path} stays as it is"
        if self.removal:
            return (
                f"delete {self.path}" if self.after is None else f"take gitmem's hooks out of {self.path}"
            )
        verb = "make" if self.before is None else "add hooks to"
        wide = ", for all your repositories; without gitmem in one they do nothing there"
        return f"{verb} {self.path} ({self.place.client.title}){wide if self.place.user else ''}"


def tree_place(client: Client, worktree: Path, common_dir: Path) -> HookFile:
    """The hook file of a work tree."""
    state, exclude = common_dir / "gitmem", common_dir / "info" / "exclude"
    return HookFile(client, worktree / client.file, worktree, state, exclude)


def own_place(client: Client, folder: Path, data: Path, common_dir: Path) -> HookFile:
    """The hook file in the person's home, which serves all repositories.

    Args:
        folder: the client's own folder.
        data: gitmem's private folder, which holds its record.
        common_dir: the repository that asks for it.
    """
    return HookFile(client, folder / client.own_file, folder, data / "state", None, str(common_dir))


def plan_hooks(place: HookFile, argv: Sequence[str], tracked: bool) -> HookPlan:
    """Plans adding the hooks.

    Args:
        argv: the words that start gitmem from anywhere.
        tracked: whether the code tracks the file.

    Raises:
        RepositoryError: the file, or a folder on its way, is a link, or it is not what it should be.
    """
    before = _read(place)
    if place.exclude and tracked:
        text = (
            f"{place.path} is tracked by the code, so gitmem leaves it alone; to have hooks of "
            f"{place.client.title} in your own folder instead: git mem init --client {place.client.name}"
        )
        return HookPlan(place, before, before, by_hand=text)
    known = read_record(place.state).get(str(place.path), {})
    joins = bool(place.user) and place.user not in known.get("users", ())
    line = place.line
    # A person's own file stays in git's sight: what git ignores it overwrites without a word.
    own = before is not None and not known.get("created")
    exclude = "" if own or not line or line in _lines(place.exclude) else line
    if place.client.form == "plugin":
        if before is not None and not before.startswith(_OURS):
            raise RepositoryError(
                f"{place.path} is not gitmem's, so it is left alone", "Give that file another name."
            )
        return HookPlan(place, before, plugin_text(place.client, argv), exclude, joins=joins)
    settings = _parse(place, before)
    pristine = not _strip(place.client, _parse(place, before), argv, keep=False)
    _strip(place.client, settings, argv, keep=True)
    if before is None or not before.strip():
        settings = {**place.client.top, **settings}
    hooks = settings.setdefault("hooks", {})
    for event in place.client.events:
        if not _has(place.client, hooks, event, argv):
            hooks.setdefault(event, []).append(_made(place.client, event, argv))
    same = before is not None and settings == _parse(place, before)
    after = before if same else _dump(settings, before)
    return HookPlan(place, before, after, exclude, pristine=pristine, joins=joins)


def plan_removal(place: HookFile, argv: Sequence[str]) -> HookPlan:
    """Plans taking gitmem's hooks out, whichever gitmem put them in.

    Raises:
        RepositoryError: as `plan_hooks`.
    """
    before = _read(place)
    record = read_record(place.state)
    known = record.get(str(place.path), {})
    if place.user and set(known.get("users", ())) - {place.user}:
        joins = place.user in known["users"]
        return HookPlan(place, before, before, removal=True, joins=joins)
    after = before
    if place.client.form == "plugin":
        after = None if before is not None and before.startswith(_OURS) else before
    elif before is not None:
        settings = _parse(place, before)
        if _strip(place.client, settings, argv, keep=False):
            after = _dump(settings, before)
        rest = _rest(place.client, settings)
        if rest in ({}, dict(place.client.top)) and known.get("created"):
            after = None
        text = known.get("before")
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else None
        same = place.client.adds and data is not None and rest == _rest(place.client, _parse(place, data))
        if data is not None and (same or known.get("after") == _digest(before)):
            after = data
    others = (path for path, one in record.items() if one.get("line", "") == place.line)
    last = set(others) <= {str(place.path)}
    exclude = place.line if known.get("excluded") and last else ""
    folders = int(known.get("folders", 0)) if after is None else 0
    return HookPlan(place, before, after, exclude, removal=True, folders=folders)


def apply_hooks(plan: HookPlan, git: GitCommand) -> None:
    """Carries a plan out.

    Raises:
        RepositoryError: the file changed meanwhile, or cannot be written.
    """
    if plan.by_hand or not (plan.changes or plan.removal):
        return
    _refuse_links(plan.place)
    above = _between(plan.place)
    missing = sum(not parent.is_dir() for parent in above)
    if plan.after is not None and (file := next(filter(Path.is_file, above), None)):
        raise RepositoryError(f"{file} is no folder", "Move that file away.")
    mode = 0o600 if plan.before is None else None
    make_edits([FileEdit(plan.path, plan.before, plan.after, mode)], git)
    try:
        for parent in above[: plan.folders]:
            with suppress(OSError):
                parent.rmdir()
        _exclude(plan)
        _remember(plan, missing)
    except OSError as error:
        raise RepositoryError(
            f"{plan.path}: {error.strerror or error}", "Make it writable, then run the command again."
        ) from error


def is_tracked(place: HookFile, workspace: Workspace) -> bool:
    """Whether the code tracks a work tree's hook file."""
    if not place.exclude:
        return False
    if place.client.file.startswith(f"{workspace.claude_folder}/"):
        return place.client.file in workspace.tracked_files(place.anchor)
    words = ["ls-files", "--error-unmatch", "--", place.client.file]
    return not workspace.git.run(words, cwd=place.anchor, check=False).returncode


def record_path(state: Path) -> Path:
    """The file of the record, below the state of a repository or the person's own."""
    return state / RECORD


def read_record(state: Path) -> dict[str, dict[str, Any]]:
    """What is remembered of hook files, by path; empty where nothing is, or it is damaged."""
    try:
        record = json.loads(record_path(state).read_bytes())
    except (OSError, ValueError):
        return {}
    record = record if isinstance(record, dict) else {}
    return {key: value for key, value in record.items() if isinstance(value, dict)}


def clients_of(state: Path, user: str = "") -> tuple[Client, ...]:
    """The clients whose hooks were added, in the order of the table.

    Args:
        user: only those in files that this repository uses; empty for all.
    """
    named = {
        one.get("client") for one in read_record(state).values() if not user or user in one.get("users", ())
    }
    return tuple(client for client in CLIENTS.values() if client.name in named)


def command(client: Client, argv: Sequence[str], event: str) -> str:
    """The shell command of one hook, which never fails. One string, since older clients know no `args`."""
    return f"{shlex.join([*argv, 'hook', client.name, event])} {' '.join(FAIL_OPEN)}"


def installed(place: HookFile, argv: Sequence[str]) -> bool:
    """Whether all hooks are there as this installation would put them.

    Raises:
        RepositoryError: as `plan_hooks`.
    """
    data = _read(place)
    if place.client.form == "plugin":
        return data == plugin_text(place.client, argv)
    hooks = _parse(place, data).get("hooks", {})
    return all(_has(place.client, hooks, event, argv) for event in place.client.events)


def carries(worktree: Path) -> bool:
    """Whether a session in a work tree gives its prompts to gitmem, and so can be told something by it.

    Only a client that shows its agent the memory folder counts: what is told is to be written there.
    """
    for client in CLIENTS.values():
        place = HookFile(client, worktree / client.file, worktree, worktree)
        with suppress(RepositoryError):
            events = (client.events[event].means for event, *_ in entries_of(place))
            if client.loads_memory and "UserPromptSubmit" in events:
                return True
    return False


def entries_of(place: HookFile) -> Iterator[tuple[str, int, int, Mapping[str, Any], Any]]:
    """Our entries as they stand: event, place of the group, place in it, the entry, the group's matcher.

    Raises:
        RepositoryError: as `plan_hooks`.
    """
    hooks = _parse(place, _read(place)).get("hooks", {})
    for event in place.client.events:
        for number, group in enumerate(hooks.get(event, [])):
            for at, entry in enumerate(_entries(place.client, [group])):
                if _is_ours(place.client, entry, event, ()):
                    yield event, number, at, entry, group.get("matcher")


def stands_in(place: HookFile) -> bool:
    """Whether a hook file is there that has hooks of gitmem, whichever gitmem put them in.

    Raises:
        RepositoryError: as `plan_hooks`.
    """
    if place.client.form == "plugin":
        return place.path.is_file()
    return any(True for _ in entries_of(place))


def _made(client: Client, name: str, argv: Sequence[str]) -> dict[str, Any]:
    event = client.events[name]
    entry = {**client.entry, "command": command(client, argv, name)}
    if client.units:
        entry["timeout"] = event.seconds * client.units
    matcher = {"matcher": event.matcher} if event.matcher else {}
    return {**matcher, **entry} if client.form == "flat" else {**matcher, "hooks": [entry]}


def plugin_text(client: Client, argv: Sequence[str]) -> bytes:
    path = hooks_folder() / PLUGINS[client.name]
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RepositoryError(
            f"{path}: a program that gitmem installs is missing ({error.strerror})", "Install gitmem again."
        ) from error
    words = json.dumps([*argv, "hook", client.name])
    return text.replace('["@COMMAND@"]', words).encode(errors="surrogateescape")


def _entries(client: Client, groups: Any) -> Iterator[Any]:
    """The hooks in the lists of one event, whichever form the client's file has."""
    for group in groups if isinstance(groups, list) else ():
        if client.form == "flat":
            yield group
        elif _is_group(group):
            yield from group["hooks"]


def _has(client: Client, hooks: Mapping[str, Any], event: str, argv: Sequence[str]) -> bool:
    wanted = command(client, argv, event)
    found = _entries(client, hooks.get(event, []))
    return any(isinstance(entry, dict) and entry.get("command") == wanted for entry in found)


def _strip(client: Client, settings: dict[str, Any], argv: Sequence[str], keep: bool) -> bool:
    """Takes our entries out; with `keep` those of this very installation stay. Tells whether any went."""
    hooks = settings.get("hooks", {})
    changed = False

    def goes(entry: Any, event: str) -> bool:
        stays = keep and isinstance(entry, dict) and entry.get("command") == command(client, argv, event)
        return _is_ours(client, entry, event, argv) and not stays

    for event in [event for event in hooks if event in client.events]:
        groups, here = hooks[event], False
        for group in [*groups]:
            if client.form == "flat":
                gone = goes(group, event)
                empty = gone
            elif _is_group(group):
                left = [entry for entry in group["hooks"] if not goes(entry, event)]
                gone = left != group["hooks"]
                group["hooks"] = left
                ours = {"matcher": client.events[event].matcher, "hooks": []}
                empty = gone and not left and group in ({"hooks": []}, ours)
            else:
                continue
            here = here or gone
            if empty:
                groups.remove(group)
        if here and not groups:
            del hooks[event]
        changed = changed or here
    if changed and not hooks:
        del settings["hooks"]
    return changed


def _rest(client: Client, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says besides what the client adds to it by itself, and besides empty hooks."""
    found = {key: value for key, value in settings.items() if key not in client.adds}
    return {key: value for key, value in found.items() if key != "hooks" or value}


def _is_ours(client: Client, entry: Any, event: str, argv: Sequence[str]) -> bool:
    text = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(text, str):
        return False
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    if words[-2:] == [*FAIL_OPEN]:
        del words[-2:]
    # Before gitmem had hooks for a client, people wrote Claude Code's into its file.
    if len(words) < 3 or words[-3] != "hook" or words[-2] not in (client.name, CLAUDE.name):
        return False
    head = words[:-3]
    said = words[-1] in (event, client.events[event].means)
    return said and (head == list(argv) or any("gitmem" in Path(word).name for word in head))


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and isinstance(group.get("hooks"), list)


def _parse(place: HookFile, data: bytes | None) -> dict[str, Any]:
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
            f"{place.path}: not valid JSON, so gitmem leaves it alone ({error})",
            "Mend the file, then run again.",
        ) from error
    hooks = settings.get("hooks", {}) if isinstance(settings, dict) else None
    if not isinstance(hooks, dict) or not all(
        isinstance(groups, list) for event, groups in hooks.items() if event in place.client.events
    ):
        raise RepositoryError(
            f"{place.path}: not the hooks of {place.client.title}, so gitmem leaves it alone",
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


def _between(place: HookFile) -> list[Path]:
    """The folders between a file and its anchor, the nearest first; of the person's own it is one, too."""
    parents = [one for one in place.path.parents if one.is_relative_to(place.anchor)]
    return parents if place.user else [one for one in parents if one != place.anchor]


def _refuse_links(place: HookFile) -> None:
    for path in (*_between(place), place.path):
        if path.is_symlink():
            raise RepositoryError(
                f"{path} is a link, and gitmem writes hooks through none",
                "Replace it by what it points at.",
            )


def _read(place: HookFile) -> bytes | None:
    _refuse_links(place)
    found = read_theirs(place.path, LARGEST)
    if found is None and os.path.lexists(place.path):
        raise RepositoryError(f"{place.path} is no regular file", "Move it away, then run again.")
    if found and len(found) > LARGEST:
        raise RepositoryError(f"{place.path}: over {LARGEST} bytes", "Make it smaller, then run again.")
    return found


def _exclude(plan: HookPlan) -> None:
    path = plan.place.exclude
    if not plan.exclude or path is None or path.is_symlink():
        return
    if plan.removal:
        take_out(path, (plan.exclude,))
    else:
        add_text(path, f"{plan.exclude}\n".encode())


def _lines(path: Path | None) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines() if path else []
    except OSError:
        return []


def _remember(plan: HookPlan, missing: int) -> None:
    place = plan.place
    record = read_record(place.state)
    known = record.pop(str(place.path), {})
    users = set(known.get("users", ()))
    if not plan.removal:
        if not known or known.get("after") != _digest(plan.before or b""):
            text = None
            if plan.before is not None and plan.pristine:
                text = plan.before.decode("utf-8", "surrogateescape")
            known = {
                "client": place.client.name,
                "created": plan.before is None or bool(known.get("created")),
                "folders": missing or int(known.get("folders", 0)),
                "before": text,
                "excluded": bool(known.get("excluded")),
                "line": place.line,
            }
        known["after"] = _digest(plan.after or b"")
        known["excluded"] = bool(plan.exclude) or bool(known.get("excluded"))
        users |= {place.user} - {""}
        record[str(place.path)] = {**known, "users": sorted(users)}
    elif left := sorted(users - {place.user}):
        record[str(place.path)] = {**known, "users": left}
    elif known.get("excluded") and not plan.exclude:
        # Another work tree still needs the line; whoever leaves last takes it out.
        for other in [one for one in record.values() if one.get("line") == place.line][:1]:
            other["excluded"] = True
    path = record_path(place.state)
    if record:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(record, indent=2).encode(), 0o600)
    else:
        path.unlink(missing_ok=True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
