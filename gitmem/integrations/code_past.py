"""What became of files that HEAD no longer has: followed from deletion to deletion through renames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from gitmem.integrations.code_looks import ANSWER, Looker

MOST_RENAMES = 12
"""Renames in a row that are followed."""

RENAME_LIMIT = 200
"""New and deleted files of one commit whose contents git compares; beyond them only equal ones count."""

_MARK = "\x01"
_HEADER = re.compile(r"([0-9a-f]{40,64}) (\d{1,15})")
_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "diff.renames=false"),
    *("--literal-pathspecs", "log", "-z", "--no-color", "--no-ext-diff", "--full-history", "--no-renames"),
    *("--diff-filter=D", "--name-only", f"--format={_MARK}%H %ct"),
)
_PAIRS = (  # all empty files are alike: which one became which would be a guess
    *("diff-tree", "--stdin", "-r", "-z", "--no-ext-diff", "--no-rename-empty"),
    *("--diff-filter=R", "--name-status"),
)


@dataclass(frozen=True)
class Fate:
    """What became of a path.

    Attributes:
        commit, time: the last commit that took it away, and its committer time.
        now: the name it had at last; empty where it never had another.
        exists: whether `now` is in HEAD.
    """

    commit: str
    time: int
    now: str = ""
    exists: bool = False


@dataclass(frozen=True)
class _Deletion:
    commit: str
    time: int


def fates(look: Looker, head: str, paths: Collection[str]) -> tuple[dict[str, Fate], bool]:
    """Follows files and folders that are not in a commit.

    Args:
        paths: not in `head`.

    Returns:
        What became of each that history knows; and whether the others surely were never there.
    """
    found: dict[str, Fate] = {}
    pending = {path: path for path in paths}
    complete = True
    for _ in range(MOST_RENAMES):
        deleted, whole = _deletions(look, head, frozenset(pending.values()))
        complete &= whole
        pending = {path: name for path, name in pending.items() if name in deleted}
        if not pending:
            break
        renamed = _renamed(look, {name: deleted[name] for name in pending.values()})
        here = look.entries(head, renamed.values()) or {}
        following = {}
        for path, name in pending.items():
            last = deleted[name]
            now = renamed.get(name, "")
            found[path] = Fate(last.commit, last.time, name if name != path else "")
            if now and now in here:
                found[path] = replace(found[path], now=now, exists=True)
            elif now:
                found[path] = replace(found[path], now=now)
                following[path] = now
        pending = following
        if not pending:
            break
    return found, complete


def _deletions(look: Looker, head: str, paths: Collection[str]) -> tuple[dict[str, _Deletion], bool]:
    """The newest commit that took each path away; of a folder, its last file."""
    found: dict[str, _Deletion] = {}
    names = [path.encode("utf-8", "surrogateescape") for path in paths]
    seen = look.ask(
        [*_LOG, head, "--", *sorted(paths)],
        enough=lambda said: all(name + b"\0" in said or name + b"/" in said for name in names),
    )
    last: _Deletion | None = None
    # Only the order tells which files a commit's line belongs to; the last name may be cut off.
    for part in seen.text.replace(_MARK, f"\0{_MARK}").split("\0"):
        text = part.strip("\n")
        if part.startswith(_MARK):
            header = _HEADER.fullmatch(text[1:])
            last = _Deletion(header[1], int(header[2])) if header else None
        elif last is not None and text:
            for path in paths:
                if text == path or text.startswith(f"{path}/"):
                    found.setdefault(path, last)
    return found, seen.returncode == 0 or len(found) == len(paths)


def _renamed(look: Looker, deleted: Mapping[str, _Deletion]) -> dict[str, str]:
    """Where the commits that took names away moved them, by git's own reckoning."""
    order = "".join(f"{commit}\n" for commit in sorted({one.commit for one in deleted.values()}))
    seen = look.ask([*_PAIRS, "-M", f"-l{RENAME_LIMIT}"], 4 * ANSWER, order.encode())
    if seen.returncode:  # a partial clone lacks the contents: equal ones are told by their names
        seen = look.ask([*_PAIRS, "-M100%"], 4 * ANSWER, order.encode())
    moved: dict[str, dict[str, str]] = {}
    commit, fields = "", iter(seen.text.split("\0"))
    for field in fields:
        word = field.strip("\n")
        if re.fullmatch(r"R\d{3}", word):
            old, now = next(fields, ""), next(fields, "")
            moved.setdefault(commit, {})[old] = now
        elif re.fullmatch(r"[0-9a-f]{40,64}", word):
            commit = word
    found = {}
    for name, one in deleted.items():
        pairs = moved.get(one.commit, {})
        if now := pairs.get(name) or folder_moved(name, pairs):
            found[name] = now
    return found


def folder_moved(name: str, pairs: Mapping[str, str]) -> str:
    """Where most of a folder's files went, if they went to one."""
    targets = Counter(
        now[: -len(rest)]
        for old, now in pairs.items()
        if old.startswith(f"{name}/") and now.endswith(rest := old[len(name) :])
    )
    if not targets:
        return ""
    (target, count), total = targets.most_common(1)[0], sum(targets.values())
    return target if target and 2 * count > total else ""
