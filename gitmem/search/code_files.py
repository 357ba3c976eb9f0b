"""The files of commits: which a text means by a path, and what they define."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from gitmem.core.errors import GitmemError, MissingObject, RepositoryError
from gitmem.git.command import GitCommand, layout
from gitmem.git.objects import CommandObjects
from gitmem.search.code_history import defines
from gitmem.search.code_reader import NO_NUMBERS, NO_PROSE, PROSE, CodeReader

SECONDS = 60.0
"""For all questions that git could take longer for."""

LINES = 64 << 20
"""Bytes of lines that have some words."""

_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|fixtures?|testdata)/|(?:^|/)test_[^/]*$|[._]test\.\w+$"
)
_GIVEN = re.compile(r"[\"']([a-z][a-z0-9:_-]*)[\"']|\b(?:def|fn|func|function) +([a-z][a-z0-9_]*?)_?\b")
"""Words that code gives to a program: in quotes, or as functions of their own."""

_ASIDE = re.compile(
    r"(?:^|/)(?:tests?|fixtures?|testdata|examples?|samples?|vendor|third_party|node_modules)/",
    re.IGNORECASE,
)
"""Folders whose files a document means only where it names the folder."""

_OTHERS = re.compile(
    r"(?:^|/)(?:fixtures?|testdata|vendor|third_party|node_modules)/|\.min\.js$|\.lock$|"
    r"(?:^|/)package-lock\.json$",
    re.IGNORECASE,
)


_NOBODY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "gitmem"), ("EMAIL", "gitmem"), ("DATE", "@0 +0000"))
}
"""Whose the commit of what is staged is: git need know no identity, and the same has the same name."""


class Places:
    """The files and folders of a commit.

    Args:
        files: path to the object there.
        closed: paths below which nothing is known: submodules and links.
    """

    def __init__(self, files: Mapping[str, str], closed: Iterable[str] = ()) -> None:
        self.files = files
        self.closed = frozenset(closed)

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders that hold a file."""
        found: set[str] = set()
        for path in self.files:
            while path := path.rpartition("/")[0]:
                if path in found:
                    break
                found.add(path)
        return frozenset(found)

    @cached_property
    def _by_name(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in (*self.files, *self.folders, *self.closed):
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    def has(self, path: str) -> bool:
        """Whether something stands at a path, as far as is known."""
        return path in self.files or path in self.folders or self.is_closed(path)

    def is_closed(self, path: str) -> bool:
        """Whether a path is one below which nothing is known, or lies there."""
        while path:
            if path in self.closed:
                return True
            path = path.rpartition("/")[0]
        return False

    def meant(self, path: str, folder: str) -> tuple[str, ...]:
        """What a document means by a path that it names.

        From the top, or beside the document; else whatever ends so, as `memory/claim.py` does for
        `src/memory/claim.py`.

        Args:
            folder: that the document is in.
        """
        if full := self.exact(path, folder):
            return (full,)
        found = [
            other for other in self._by_name.get(path.rpartition("/")[2], ()) if other.endswith(f"/{path}")
        ]
        own = [other for other in found if not _ASIDE.search(other.removesuffix(path))]
        return tuple(sorted(own))

    def exact(self, path: str, folder: str) -> str:
        """What stands at a path, from the top or else beside the document; empty where nothing does."""
        return next((full for full in (path, below(folder, path)) if full and self.has(full)), "")

    def anywhere(self, path: str) -> bool:
        """Whether anything ends like a path."""
        name = path.rpartition("/")[2]
        return any(other == path or other.endswith(f"/{path}") for other in self._by_name.get(name, ()))

    @cached_property
    def _modules(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self.files:
            stem, dot, _ = path.rpartition(".")
            stem = stem.removesuffix("/__init__") if dot else ""
            if stem:
                found.setdefault(stem.rpartition("/")[2], []).append(path)
        return found

    def module(self, dotted: str) -> str:
        """The one file that a dotted name like `gitmem.core.claim` means as a module; else empty."""
        path = dotted.replace(".", "/")
        found = [
            file
            for file in self._modules.get(path.rpartition("/")[2], ())
            if module_name(file) == path or module_name(file).endswith(f"/{path}")
        ]
        found = [file for file in found if module_name(file) == path] or found
        return found[0] if len(found) == 1 else ""


def module_name(file: str) -> str:
    """A file's path as a module's: without its suffix, a package by its folder."""
    return file.rpartition(".")[0].removesuffix("/__init__")


def below(folder: str, path: str) -> str:
    """A path as it is meant in a folder, from the top; empty where it leads out of the tree."""
    full = posixpath.normpath(posixpath.join(folder, path))
    return "" if full.startswith(("../", "/")) or full in ("..", ".") else full


class CodeFiles(CodeReader):
    """Reads one repository's files; `close` ends its process.

    Args:
        top: top of the work tree, or a bare repository.
        seconds: for what git could take long for.

    Attributes:
        complete: whether all that was asked for was at hand so far.
    """

    def __init__(self, git: GitCommand, top: Path, seconds: float = SECONDS) -> None:
        self.git = replace(git, fetches=False)
        super().__init__(self.git, top, seconds)
        self.top = top
        where = layout(self.git, top)
        self._common = where.common_dir
        self._objects = CommandObjects(self.git, where.common_dir, where.hex_length)
        self._places: dict[str, Places] = {}
        self.worktree = where.worktree
        self.complete = True

    def close(self) -> None:
        """Ends what was started."""
        self._objects.close()

    @property
    def shallow(self) -> bool:
        """Whether the history is cut off somewhere."""
        try:
            return (self._common / "shallow").stat().st_size > 0
        except OSError:
            return False

    def commit(self, rev: str) -> str:
        """The commit that a revision means; empty for HEAD before the first.

        Raises:
            RepositoryError: there is no such revision.
        """
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
        result = self.git.run(words, cwd=self.top, check=False)
        if result.returncode and rev != "HEAD":
            raise RepositoryError(f"There is no commit {rev}", "git log shows those that there are.")
        return "" if result.returncode else result.text.strip()

    def places(self, rev: str) -> Places:
        """The files of a commit."""
        if rev not in self._places:
            self._places[rev] = self._listed(rev)
        return self._places[rev]

    def _listed(self, rev: str) -> Places:
        files: dict[str, str] = {}
        closed: list[str] = []
        listed = self.git.run(["ls-tree", "-r", "-z", "--full-tree", rev], cwd=self.top)
        for row in listed.text.split("\0"):
            about, _, path = row.partition("\t")
            if about.startswith(("120000", "160000")):
                closed.append(path)
            elif path:
                files[path] = about.split(" ")[2]
        return Places(files, closed)

    def having(self, rev: str, text: str, suffixes: Collection[str]) -> tuple[str, ...]:
        """Files with some suffixes that have a text."""
        names = [f":(top,icase)*.{suffix}" for suffix in suffixes]
        words = ["grep", "-a", "-l", "-z", "-F", "--full-name", "--no-color"]
        words += ["--no-recurse-submodules", "-e", text]
        result = self.git.run([*words, rev, "--", *names], cwd=self.top, check=False)
        if result.stderr:  # a partial clone may lack some of them
            self.complete = False
        return tuple(sorted(path.removeprefix(f"{rev}:") for path in result.text.split("\0") if path))

    def staged(self, index: str | None = None) -> str:
        """A commit of what is staged, on HEAD: no ref leads to it, and git takes it away in time.

        Args:
            index: another index file than the usual one, which git names to a hook.

        Raises:
            RepositoryError: a conflict is not resolved yet.
        """
        which = {"GIT_INDEX_FILE": index} if index else None
        tree = self.git.run(["write-tree", "--missing-ok"], cwd=self.top, env=which).text.strip()
        head = self.commit("HEAD")
        words = ["commit-tree", tree, *(["-p", head] if head else []), "-m", "staged"]
        return self.git.run(words, cwd=self.top, env=_NOBODY).text.strip()

    def blob(self, oid: str) -> bytes:
        """A file's content; nothing where it is not at hand, as in a partial clone."""
        try:
            return self._objects.read(oid)[1]
        except (MissingObject, GitmemError):
            self.complete = False
            return b""

    def text(self, oid: str) -> str:
        """A file's content as text."""
        return self.blob(oid).decode("utf-8", "replace")

    def words(self, commit: str, words: Collection[str]) -> tuple[dict[str, str], bool]:
        """See `CodeReader.words`."""
        found, whole = super().words(commit, words)
        self.complete &= whole
        return found, whole

    def defined(self, rev: str, words: Collection[str]) -> set[str]:
        """Which identifiers a line of code brings into being, and which flags there are."""
        flags = {word for word in words if word.startswith("--")}
        found = set(self.words(rev, flags)[0])
        for _, line in self._lines(rev, set(words) - flags):
            found |= {word for word in words if word not in found and word in line and defines(line, word)}
        return found

    def defining(self, rev: str, word: str) -> tuple[str, ...]:
        """The files of code, none of them a test, that bring a name into being."""
        found = {path for path, line in self._lines(rev, [word]) if defines(line, word)}
        return tuple(sorted(path for path in found if not _TESTS.search(path)))

    def given(self, rev: str, words: Collection[str]) -> set[str]:
        """Which of some words a file of code that is no test gives to a program."""
        found: set[str] = set()
        for path, line in self._lines(rev, {form for word in words for form in (word, f"{word}_")}):
            if not _TESTS.search(path):
                found |= {quoted or named for quoted, named in _GIVEN.findall(line)}.intersection(words)
        return found

    def _lines(self, rev: str, words: Collection[str]) -> Iterator[tuple[str, str]]:
        """Lines of code that have a whole word, each with its file."""
        if not words:
            return
        sought = [part for word in sorted(words) for part in ("-e", word)]
        options = ["-F", "-I", "-w", "-z", "--full-name", *NO_NUMBERS]
        seen = self.ask(["grep", *options, *sought, rev, "--", *NO_PROSE], LINES)
        self.complete &= seen.returncode in (0, 1)
        for row in seen.text.split("\n"):
            place, _, line = row.partition("\0")
            yield place.partition(":")[2], line


def is_aside(path: str) -> bool:
    """Whether a file is one of tests' data, or somebody else's."""
    return bool(_OTHERS.search(path))


def is_prose(path: str) -> bool:
    """Whether a file tells of code and is none, by its name."""
    return path.rpartition(".")[2].lower() in PROSE
