"""Reads what is to be judged from git, within limits: a tree of a request is hostile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitmem.core.names import is_agent_folder
from gitmem.share.check.side import File, Side
from gitmem.store.git import GitCommand
from gitmem.store.repository import BLOB, EXECUTABLE, MissingObject, Repository
from gitmem.store.snapshots import STATE_FILE

MOST_FILES = 100_000
"""Lines of a tree that are read."""

FILE_BYTES = 1 << 20
"""Largest file that is read: ten times what a memory may have."""

MOST_BYTES = 256 << 20
"""Content that is read in all."""

_CHUNK = 1 << 16

Listing = dict[str, tuple[int, str]]
"""Path to mode and object name."""


@dataclass
class Reader:
    """Reads sides from one repository; a file that both sides have is read once.

    Attributes:
        git_dir: the git directory of the work tree that is meant, where its index lies.
        index: another index file than the usual one, which git names to a hook; None for none.
    """

    git: GitCommand
    repo: Repository
    git_dir: Path
    index: str | None = None
    _files: dict[tuple[int, str], File] = field(default_factory=dict)
    _bytes: int = 0

    def memory(self, tree: str, time: int) -> Side:
        """A memory tree: its agents' folders, and all else as a host's."""
        return self._memory(*self._listed(["ls-tree", "-r", "-z", "--full-tree", tree]), time)

    def snapshots(self, tree: str, parents: Sequence[str], time: int) -> Side:
        """The snapshots that a code tree holds in some folders."""
        words = ["ls-tree", "-r", "-z", "--full-tree", tree, "--", *parents]
        return self._snapshots(*self._listed(words), parents, time)

    def staged_memory(self, time: int) -> Side:
        """What is staged, as a memory tree."""
        return self._memory(*self._staged(()), time)

    def staged_snapshots(self, parents: Sequence[str], time: int) -> Side:
        """The snapshots among what is staged."""
        return self._snapshots(*self._staged(parents), parents, time)

    def stages(self, path: str) -> bool:
        """Whether a path is staged."""
        return bool(self._staged([path])[0])

    def _memory(self, listed: Listing, trouble: list[tuple[str, str]], time: int) -> Side:
        folders: dict[str, dict[str, File]] = {}
        host: dict[str, File] = {}
        files = dict(self._read(listed, trouble))
        for path, file in files.items():
            head, slash, rest = path.partition("/")
            if slash and not head.startswith(".") and is_agent_folder(head):
                folders.setdefault(head, {})[rest] = file
            else:
                host[path] = file
        return Side(folders, host, False, time, tuple(trouble))

    def _snapshots(
        self, listed: Listing, trouble: list[tuple[str, str]], parents: Sequence[str], time: int
    ) -> Side:
        folders: dict[str, Listing] = {}
        host: Listing = {}
        for path, line in listed.items():
            parent = next((parent for parent in parents if path.startswith(f"{parent}/")), "")
            agent, slash, _ = path.removeprefix(f"{parent}/").partition("/")
            if not parent:
                continue
            if slash:
                folders.setdefault(f"{parent}/{agent}", {})[path] = line
            elif parent == parents[0] or agent == ".gitattributes":
                host[path] = line
        # A folder `snapshots` at the root of a code tree may be anybody's.
        for folder in [f for f in folders if f"{f}/{STATE_FILE}" not in folders[f]]:
            if not folder.startswith(f"{parents[0]}/"):
                del folders[folder]
        wanted = {path: line for files in folders.values() for path, line in files.items()}
        read = dict(self._read({**wanted, **host}, trouble))
        return Side(
            {
                folder: {path.removeprefix(f"{folder}/"): read[path] for path in files}
                for folder, files in folders.items()
            },
            {path: read[path] for path in host},
            True,
            time,
            tuple(trouble),
        )

    def _listed(self, words: list[str]) -> tuple[Listing, list[tuple[str, str]]]:
        found: Listing = {}
        trouble: list[tuple[str, str]] = []
        for row in self._rows(words):
            # `<mode> <kind> <name>\t<path>`
            head, _, path = row.partition("\t")
            fields = head.split(" ")
            if len(fields) != 3 or not path:
                continue
            if path in found:
                trouble.append((path, "stands in its tree more than once"))
            elif len(found) == MOST_FILES:
                trouble.append((path, f"is beyond the first {MOST_FILES:,} files, which alone are judged"))
                break
            else:
                found[path] = (int(fields[0], 8), fields[2])
        return found, trouble

    def _staged(self, paths: Sequence[str]) -> tuple[Listing, list[tuple[str, str]]]:
        words = ["ls-files", "--stage", "-z", "--full-name", "--", *(f":(top,literal){p}" for p in paths)]
        extra = {"GIT_INDEX_FILE": self.index} if self.index else None
        done = self.git.run(words, git_dir=self.git_dir, env=extra)
        found: Listing = {}
        for row in done.text.split("\0"):
            # `<mode> <name> <stage>\t<path>`
            head, _, path = row.partition("\t")
            fields = head.split(" ")
            if len(fields) == 3 and len(found) < MOST_FILES:
                found[path] = (int(fields[0], 8), fields[1])
        return found, []

    def _rows(self, words: list[str]) -> Iterator[str]:
        """What git prints, a NUL after each, as it comes: whoever has enough stops it."""
        process = self.git.start(words, git_dir=self.git_dir)
        ended = False
        try:
            rest = b""
            while process.stdout and (chunk := os.read(process.stdout.fileno(), _CHUNK)):
                *whole, rest = (rest + chunk).split(b"\0")
                yield from (row.decode("utf-8", "surrogateescape") for row in whole)
            ended = True
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
            if not ended:
                process.kill()
            process.wait()
        if process.returncode:
            raise MissingObject("The tree that is to be judged is missing or damaged", "Run: git fsck")

    def _read(self, listed: Listing, trouble: list[tuple[str, str]]) -> Iterator[tuple[str, File]]:
        fresh = [oid for mode, oid in listed.values() if (mode, oid) not in self._files]
        sizes = self._sizes(dict.fromkeys(fresh))
        for path, (mode, oid) in listed.items():
            if (mode, oid) not in self._files:
                self._files[mode, oid] = self._file(path, mode, oid, sizes.get(oid), trouble)
            yield path, self._files[mode, oid]

    def _file(
        self, path: str, mode: int, oid: str, size: int | None, trouble: list[tuple[str, str]]
    ) -> File:
        if mode not in (BLOB, EXECUTABLE):
            return File(mode, oid)
        if size is None:
            trouble.append((path, "is missing from the repository"))
            return File(mode, oid)
        if size > FILE_BYTES:
            return File(mode, oid, size)
        if self._bytes + size > MOST_BYTES:
            trouble.append((path, f"is beyond the first {MOST_BYTES >> 20} MB, which alone are judged"))
            return File(mode, oid, size)
        self._bytes += size
        return File(mode, oid, size, self.repo.blob(oid))

    def _sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Object name to size, of the blobs among them: one process, however many."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        if not asked:
            return {}
        words = ["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
        rows = self.git.run(words, git_dir=self.git_dir, input=asked).text.split("\n")
        fields = (row.split(" ") for row in rows)
        return {row[0]: int(row[2]) for row in fields if len(row) == 3 and row[1] == "blob"}
