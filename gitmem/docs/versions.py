"""Since when documents say what they say: their versions, from the newest to the oldest."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from gitmem.docs.document import MOST_BYTES, Doc, statements
from gitmem.search.code_files import CodeFiles
from gitmem.search.code_history import MARK, pairs
from gitmem.values import dataclass

MOST_VERSIONS = 500
"""Versions of all documents together that are looked at."""

MOST_NAMES = 3
"""Names that a document had before, that are followed."""

_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "log.showRoot=true"),
    "--literal-pathspecs",
    *("log", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-color", "--no-ext-diff"),
    f"--format={MARK}%H",
)
_RAW = re.compile(r":\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([AMDT])")


@dataclass(frozen=True)
class Version:
    """A document as a commit left it.

    Attributes:
        path: where it stood.
        oid: its content.
    """

    commit: str
    path: str
    oid: str


def versions(files: CodeFiles, commit: str, paths: Collection[str]) -> dict[str, list[Version]]:
    """The commits that changed some documents, newest first, through renames of theirs."""
    found: dict[str, list[Version]] = {path: [] for path in paths}
    pending = {path: path for path in paths}
    tips = dict.fromkeys(paths, commit)
    for _ in range(MOST_NAMES + 1):
        born: dict[str, str] = {}
        for tip in dict.fromkeys(tips[path] for path in pending):
            group = {path: name for path, name in pending.items() if tips[path] == tip}
            rows = _changes(files, tip, set(group.values()))
            for path, name in group.items():
                for version, status in rows.get(name, ()):
                    found[path].append(version)
                    if status == "A":
                        born[path] = version.commit
                        break
        before = _names_before(files, set(born.values()))
        pending, old = {}, pending
        for path, birth in born.items():
            if former := before.get(birth, {}).get(old[path]):
                pending[path] = former
                tips[path] = f"{birth}^"
        if not pending:
            break
    return found


def _changes(files: CodeFiles, tip: str, names: Collection[str]) -> dict[str, list[tuple[Version, str]]]:
    seen = files.ask([*_LOG, f"-{MOST_VERSIONS}", tip, "--", *sorted(names)], 4 << 20)
    if seen.returncode != 0:
        files.complete = False
    found: dict[str, list[tuple[Version, str]]] = {}
    commit = ""
    fields = iter(seen.text.replace(MARK, f"\0{MARK}").split("\0"))
    for field in fields:
        word = field.strip("\n")
        if word.startswith(MARK):
            commit = word[1:].partition("\n")[0].strip()
            word = word.partition("\n")[2]
        if match := _RAW.match(word):
            path = next(fields, "")
            if match[3] != "D" and match[1] not in ("120000", "160000"):
                found.setdefault(path, []).append((Version(commit, path, match[2]), match[3]))
    return found


def _names_before(files: CodeFiles, commits: Collection[str]) -> dict[str, dict[str, str]]:
    """For commits that brought a document: new name to old, of what they renamed."""
    found = {}
    for commit in sorted(commits):
        words = ["diff-tree", "-r", "-z", "-M", "--no-commit-id", "--diff-filter=R", "--name-status"]
        seen = files.ask([*words, commit])
        found[commit] = {now: old for old, now in pairs(seen.text).items()}
    return found


class Said:
    """Since when each statement of some documents stands.

    Args:
        history: each document's versions, newest first, by its path now.
    """

    def __init__(self, files: CodeFiles, history: Mapping[str, list[Version]]) -> None:
        self._files = files
        self._history = history
        self._keys: dict[tuple[str, str], frozenset[tuple[str, str, str]]] = {}

    def since(self, doc: Doc, key: tuple[str, str, str]) -> tuple[Version, ...]:
        """The oldest of the versions in a row that make a statement, and the newest; none for a new one."""
        first = last = None
        for version in self._history.get(doc.path, ()):
            if key not in self._statements(version):
                break
            first, last = version, last or version
        if first is None or last is None:
            return ()
        return (first,) if first == last else (first, last)

    def _statements(self, version: Version) -> frozenset[tuple[str, str, str]]:
        place = version.path, version.oid
        if place not in self._keys:
            # Before it was marked as a living document it said the same.
            data = self._files.blob(version.oid)[:MOST_BYTES]
            self._keys[place] = frozenset(one.key for one in statements(data.decode("utf-8", "replace")))
        return self._keys[place]
